"""Distances on disk, in chunks, so that hours of work survive a kill.

A store is a folder::

    manifest.json     what the distances are of: fingerprint of graphs, pairs, costs and method
    chunk-000000.npz  lower, upper, value and expanded of the first pairs, and so on

Each file appears whole or not at all. A job that starts on an existing store computes only the chunks that are missing;
a chunk that cannot be read is computed again. Graphs, costs or a method other than the manifest's are refused.
"""

from __future__ import annotations

import json
import logging
import zipfile
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.atomic import atomic_write, make_folder
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.labels import LabelColumn, label_to_json

FORMAT = 1

logger = logging.getLogger(__name__)


class PairResults(NamedTuple):
    """What a method found for each of some pairs, in units of cost."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    value: NDArray[np.float64]
    """The method's own answer: one of the bounds, or an estimate that is neither."""
    expanded: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ChunkStore:
    """The folder of one job."""

    folder: Path

    @classmethod
    def open(cls, folder: str | Path, description: dict[str, Any]) -> ChunkStore:
        """Start a store, or go on with one that has the same description."""
        store = cls(Path(folder))
        make_folder(store.folder)
        wanted = {"format": FORMAT, **description}
        if not store.manifest.exists():
            with atomic_write(store.manifest) as file:
                file.write(json.dumps(wanted, indent=2).encode())
            return store
        found = store.describe()
        if different := [key for key in wanted if found.get(key) != wanted[key]]:
            raise InvalidArgument(
                f"{store.folder} holds distances of another job: its {', '.join(different)} differ; "
                "choose another folder, or remove this one"
            )
        return store

    @property
    def manifest(self) -> Path:
        return self.folder / "manifest.json"

    def describe(self) -> dict[str, Any]:
        """What the manifest says."""
        try:
            data = json.loads(self.manifest.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise FileError(f"not a readable manifest: {error}", self.manifest) from None
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise FileError(f"not a manifest of format {FORMAT}", self.manifest)
        return data

    def path(self, chunk: int) -> Path:
        return self.folder / f"chunk-{chunk:06d}.npz"

    def write(self, chunk: int, results: PairResults) -> None:
        """Put one chunk on disk."""
        with atomic_write(self.path(chunk)) as file:
            np.savez(file, **results._asdict())

    def read(self, chunk: int, size: int) -> PairResults | None:
        """One chunk, or None when it is not there, cut or damaged."""
        path = self.path(chunk)
        try:
            with open(path, "rb") as file, np.load(file, allow_pickle=False) as data:
                results = PairResults(*(data[name] for name in PairResults._fields))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            logger.warning("%s is damaged and will be computed again", path)
            return None
        if any(column.shape != (size,) for column in results):
            logger.warning("%s has another size than expected and will be computed again", path)
            return None
        return results


def fingerprint(graphs: GraphCollection) -> str:
    """A digest of everything in a collection that a distance can depend on."""
    digest = blake2b(digest_size=16)
    columns = graphs.columns
    for name in ("node_ptr", "edge_ptr", "flags", "edges", "edge_weights", "node_features", "node_images"):
        _add_array(digest, name, getattr(columns, name))
    for name in ("node_labels", "edge_labels", "node_texts"):
        column: LabelColumn | None = getattr(columns, name)
        if column is not None:
            used, codes = np.unique(column.codes, return_inverse=True)  # the vocabulary may hold more than is used
            words = [label_to_json(column.vocabulary[code]) for code in used.tolist()]
            order = np.argsort(np.array([json.dumps(word) for word in words], dtype=object), kind="stable")
            rank = np.empty(len(order), dtype=np.int64)
            rank[order] = np.arange(len(order))
            _add_array(digest, name, rank[codes])
            digest.update(json.dumps([words[k] for k in order]).encode())
    return digest.hexdigest()


def _add_array(digest: Any, name: str, array: NDArray[Any] | None) -> None:
    if array is not None:
        digest.update(f"{name}{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
