"""The folder of a segment: a file per array, and ``segment.json``, which describes them.

Checks when a segment is opened:

* always: every file exists and has the size of its type and shape; ``segment.json`` has the digest that the index
  records;
* unless ``verify`` is False: the digest of every file up to :data:`LAZY_BYTES`, and that the columns are those of
  packed graphs;
* only if ``verify`` is True: the digests of larger files, since reading gigabytes would defeat memory-mapping.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance.collection_bounds import COUNT_LAYOUT, GRAPHS_PER_TILE
from graphmetric.errors import FileError, GraphMetricError
from graphmetric.graphs.columns import COLUMNS, LABEL_COLUMNS, assemble_columns
from graphmetric.graphs.labels import label_from_json, label_to_json
from graphmetric.index.folder.lists import InvertedLists
from graphmetric.index.segment import Segment

DESCRIPTION, LISTS = "segment.json", "lists.faiss"
LAZY_BYTES = 1 << 28
"""Larger files are verified only on request."""
_ROWS = 1 << 16
"""Rows written at a time."""
_DIGEST_BYTES = 16
_TYPES = {
    **dict.fromkeys(("node_ptr", "edge_ptr", "note_ptr"), ("<i8", 1)),
    **dict.fromkeys(("flags", "notes"), ("|u1", 1)),
    **dict.fromkeys(LABEL_COLUMNS, ("<i4", 1)),
    **dict.fromkeys(("vectors", "projected", "states", "axes", "basis"), ("<f4", 2)),
    "edges": ("<i4", 2),
    "edge_weights": ("<f8", 1),
    "node_features": ("<f8", 2),
    "node_images": ("|u1 <f4", 4),
    "to_empty": ("<f4", 1),
    **dict.fromkeys(("certificates", "seen"), ("|u1", 2)),
    "histograms": ("<i2", 3),
    "branches": ("<u4", 1),
    "id_keys": ("<u8", 1),
}
_BY_MODEL = {"vectors", "to_empty"}
"""Arrays of the segments of an index with a model."""
_OPTIONAL = {*COLUMNS, *_BY_MODEL, "seen", "projected", "states", "axes", "basis"}
_PER_GRAPH = ("vectors", "projected", "to_empty", "certificates", "seen", "id_keys")
_PER_NODE = ("states", "axes", "branches")


class FileRows:
    """Rows in a file, little-endian, nothing else; the description of the segment has their type and shape."""

    def __init__(self, path: Path, kind: NDArray[Any]) -> None:
        self.kind, self._path = kind, path
        self._file = path.open("xb")
        self._digest = blake2b(digest_size=_DIGEST_BYTES)
        self._rows = 0

    def append(self, rows: NDArray[Any]) -> None:
        data = np.ascontiguousarray(rows, dtype=rows.dtype.newbyteorder("<")).tobytes()
        self._file.write(data)
        self._digest.update(data)
        self._rows += len(rows)

    def close(self) -> NDArray[Any]:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return _map_array(self._path, self.kind.dtype.str, self._shape)

    def abandon(self) -> None:
        """Close the file, finished or not; what the disk has no room for is of no use any more."""
        with suppress(OSError):
            self._file.close()

    def describe(self) -> dict[str, Any]:
        """Return the description for readers, as plain data."""
        kind = self.kind.dtype.newbyteorder("<").str
        return {"type": kind, "shape": list(self._shape), "digest": self._digest.hexdigest()}

    @property
    def _shape(self) -> tuple[int, ...]:
        return (self._rows, *self.kind.shape[1:])


class SegmentFolder:
    """A new folder that a segment is written into; as a context it closes the files of one that was not finished."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.folder = folder
        self._files: dict[str, FileRows] = {}

    def __enter__(self) -> SegmentFolder:
        return self

    def __exit__(self, *problem: object) -> None:
        for file in self._files.values():
            file.abandon()

    def open_rows(self, name: str, kind: NDArray[Any]) -> FileRows:
        """Make the file for the array of this name."""
        self._files[name] = FileRows(self.folder / f"{name}.bin", kind)
        return self._files[name]

    def write(self, segment: Segment) -> None:
        """Copy the arrays of a finished segment, a block of rows at a time."""
        for name, array in segment.arrays.items():
            file = self.open_rows(name, array[:0])
            for start in range(0, len(array), _ROWS):
                file.append(array[start : start + _ROWS])
            file.close()

    def finish(self, segment: Segment, lists: InvertedLists | None) -> str:
        """Write the description, everything through to the disk; returns its digest."""
        described: dict[str, Any] = {
            "graphs": len(segment),
            "arrays": {name: file.describe() for name, file in self._files.items()},
            "vocabularies": {
                name: [label_to_json(label) for label in labels] for name, labels in segment.vocabularies.items()
            },
            "lists": None,
        }
        if lists is not None:
            path = self.folder / LISTS
            lists.write(path)
            _flush(path)
            described["lists"] = {"bytes": path.stat().st_size, "digest": _digest_of_file(path)}
        text = json.dumps(described).encode()
        with (self.folder / DESCRIPTION).open("xb") as file:
            file.write(text)
        _flush(self.folder / DESCRIPTION)
        _flush(self.folder)
        return _digest_of(text)


def read_segment(
    folder: Path, digest: str, verify: bool | None, with_model: bool
) -> tuple[Segment, InvertedLists | None]:
    """Read the segment of a folder; FileNotFoundError if it is gone, FileError if anything is wrong."""
    path = folder / DESCRIPTION
    text = path.read_bytes()
    if _digest_of(text) != digest:
        raise FileError("was changed after it was written: its digest is not that of the index", path)
    described = json.loads(text)
    try:
        arrays = {name: _open_array(folder, name, about, verify) for name, about in described["arrays"].items()}
        vocabularies = {
            name: tuple(label_from_json(label) for label in labels)
            for name, labels in described["vocabularies"].items()
        }
        segment = Segment(arrays, vocabularies)
        _check_shapes(segment, described["graphs"], with_model)
        if verify is not False:
            _check_columns(segment)
        return segment, _open_lists(folder, described["lists"], arrays["vectors"].shape) if with_model else None
    except (KeyError, TypeError, AttributeError, GraphMetricError) as error:
        if isinstance(error, FileError) and error.path is not None:
            raise
        raise FileError(f"does not describe a segment of graphs: {error}", path) from None


def _open_array(folder: Path, name: str, about: dict[str, Any], verify: bool | None) -> NDArray[Any]:
    path = folder / f"{name}.bin"
    kind, shape = about["type"], tuple(about["shape"])
    kinds, dimensions = _TYPES[name]
    if kind not in kinds.split() or len(shape) != dimensions or not all(isinstance(n, int) and n >= 0 for n in shape):
        raise FileError(f"is described as {kind} of shape {shape}, which an index never has", path)
    expected, found = math.prod(shape) * np.dtype(kind).itemsize, path.stat().st_size
    if found != expected:
        raise FileError(f"has {found} bytes instead of {expected}: it was cut or exchanged", path)
    if verify or (verify is None and found <= LAZY_BYTES):
        _check_digest(path, about["digest"])
    return _map_array(path, kind, shape)


def _open_lists(folder: Path, about: dict[str, Any] | None, shape: tuple[int, ...]) -> InvertedLists | None:
    """Read the lists. faiss trusts its files, so their digest is always checked."""
    if about is None:
        return None
    _check_digest(folder / LISTS, about["digest"])
    return InvertedLists.read(folder / LISTS, shape)


def _check_digest(path: Path, digest: str) -> None:
    if _digest_of_file(path) != digest:
        raise FileError("was changed after it was written: its digest is wrong", path)


def _check_shapes(segment: Segment, graphs: int, with_model: bool) -> None:
    arrays = segment.arrays
    required = _TYPES.keys() - _OPTIONAL | (_BY_MODEL if with_model else set())
    if missing := required - arrays.keys():
        raise FileError(f"lacks {', '.join(sorted(missing))}; build the index again")
    nodes, edges, notes = (int(arrays[name][-1]) for name in ("node_ptr", "edge_ptr", "note_ptr"))
    expected = dict.fromkeys(_PER_GRAPH, graphs) | dict.fromkeys(_PER_NODE, nodes) | {"flags": graphs}
    expected |= {"edges": edges, "notes": notes, **dict.fromkeys(("node_ptr", "edge_ptr", "note_ptr"), graphs + 1)}
    tiles = (-(-graphs // GRAPHS_PER_TILE), COUNT_LAYOUT.length, GRAPHS_PER_TILE)
    if arrays["histograms"].shape != tiles:
        raise FileError(f"histograms have the shape {arrays['histograms'].shape}")
    for name, rows in expected.items():
        if name in arrays and len(arrays[name]) != rows:
            raise FileError(f"{name} has {len(arrays[name])} rows instead of {rows}")


def _check_columns(segment: Segment) -> None:
    """Check the contents, since a right digest does not prove that they are valid."""
    note_ptr, packed = segment.arrays["note_ptr"], segment.graphs.columns
    if note_ptr[0] != 0 or (np.diff(note_ptr) < 0).any():
        raise FileError("note_ptr must start at 0 and never decrease")
    columns, flags = packed.present(), np.asarray(packed.flags)
    assemble_columns(packed.node_ptr, packed.edge_ptr, packed.edges, flags=flags, in_order=True, **columns)


def _map_array(path: Path, kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """A file as an array that is read when touched; copy on write, so that nothing written reaches the file."""
    if 0 in shape:
        return np.empty(shape, dtype=kind)  # there is nothing to map
    return np.asarray(np.memmap(path, dtype=kind, mode="c", shape=shape))


def _digest_of(data: bytes) -> str:
    return blake2b(data, digest_size=_DIGEST_BYTES).hexdigest()


def _digest_of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: blake2b(digest_size=_DIGEST_BYTES)).hexdigest()


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
