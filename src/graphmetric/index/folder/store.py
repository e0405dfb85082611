"""The folder of an index, safe to read while it is being written.

::

    index.json          which model and which segments belong together, and its own digest
    model-<digest>/     the model, as GraphDistance.save writes it, if the index has one
    segments/<name>/    graphs and their vectors; a folder never changes once it has its name
    map-<digest>        places of the graphs in the plane, if a map was built

A writer adds new folders beside the old ones, then replaces ``index.json`` in one step, then removes what is no longer
needed. A reader, or a crash, meets the old index or the new one. Files that a reader has mapped stay readable after
they were removed. A lock keeps two writers apart; the later one gets an error that the index has changed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from graphmetric._foundation.atomic_files import make_folder, system_errors_named, write_file
from graphmetric._foundation.options import parse_json
from graphmetric.edit_distance import EditCosts
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.formats.molecules import MoleculeOptions
from graphmetric.index.building import SegmentBuilder
from graphmetric.index.folder.lists import InvertedLists
from graphmetric.index.folder.segment_files import SegmentFolder, read_segment
from graphmetric.index.graphs import IndexedGraphs, OpenSegment
from graphmetric.index.segment import StoredSegment
from graphmetric.index.store import Chosen, IndexRecord, Make, Manifest, Part

try:
    import fcntl
except ImportError:  # not a POSIX system: writers are not kept apart
    fcntl = None  # type: ignore[assignment]

FORMAT, VERSION, READABLE = "graphmetric index", 3, (2, 3)
"""Version 3 records how molecules were read, which earlier programs would ignore."""
MANIFEST, SEGMENTS, LOCK = "index.json", "segments", ".lock"
_UNFINISHED = ".part"
_OURS = re.compile(r"segments|\.lock|\.?model-.*|\.?(remembered|map)-.*|index\.json|\.index\.json\..*")
"""Names in the folder of an index; hidden ones are files under way, and earlier versions kept proofs (remembered)."""
_ATTEMPTS = 20
"""Attempts to open an index that is being replaced at the same time."""


class IndexFolder:
    """The folder of one index."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).resolve()
        self.place, self.name = str(self.path), self.path.name

    def open(self, choose: Callable[[Manifest], Chosen], verify: bool | None) -> tuple[Chosen, Manifest, IndexedGraphs]:
        """Open the present edition; ``choose`` loads its model and other parts, and is called at each attempt."""
        for _ in range(_ATTEMPTS):
            manifest = self.read()
            try:
                return choose(manifest), manifest, self._open_graphs(manifest, verify)
            except (FileNotFoundError, FileError) as error:
                if self.read().edition == manifest.edition:
                    if isinstance(error, FileError):
                        raise
                    raise FileError(f"is missing: {error.filename}", self.path) from None
        raise FileError("is replaced faster than it can be opened; try again later", self.path)

    def replace(
        self, make: Make, record: Callable[[], IndexRecord], base: str | None
    ) -> tuple[Manifest, IndexedGraphs]:
        """Write a whole index, with a few thousand graphs in memory at a time.

        Args:
            make: Gives all graphs to a writer.
            record: Returns the other parts to write; called after all graphs are written.
            base: The edition that the new one comes from; raises FileError if that is no longer the present one. None
                replaces any index.
        """
        with self.writing():
            self._is_at(base)
            with self.new_segment() as part:
                segment = make(SegmentBuilder(part.open_rows))
                stored = self.adopt(part, part.finish(segment, InvertedLists.worthwhile(segment)))
            manifest = self._describe((stored,), record())
            return manifest, self._open_graphs(manifest, verify=False)

    def save(self, graphs: IndexedGraphs, record: IndexRecord, base: str | None) -> Manifest:
        """Write what is not there yet: all that is new since the base, or the whole index."""
        with self.writing():
            at_home = self._is_at(base)
            stored = tuple(self._store(one, at_home) for one in graphs.segments)
            manifest = self._describe(stored, record)
            for one, own in zip(graphs.segments, stored, strict=True):  # now that it is published
                one.stored = own
            return manifest

    def _store(self, one: OpenSegment, at_home: bool) -> StoredSegment:
        """Return the entry of a segment in the description, after writing the segment unless it exists."""
        stored = one.stored if at_home else None
        if stored is None:
            with self.new_segment() as part:
                part.write(one.segment)
                stored = self.adopt(part, part.finish(one.segment, one.lists))
        return replace(stored, removed=tuple(np.flatnonzero(~one.alive).tolist()))

    @contextmanager
    def model(self, digest: str) -> Iterator[Path]:
        """The folder of the model with this digest; FileNotFoundError if it is gone."""
        folder = self._model(digest)
        if not folder.exists():
            raise FileNotFoundError(2, "no such folder", str(folder))
        yield folder

    def segment(self, name: str) -> Path:
        """The folder of a segment."""
        return self.path / SEGMENTS / name

    def part(self, part: Part, digest: str) -> Path:
        """The file of a part."""
        return self.path / f"{part}-{digest[:16]}"

    def exists(self) -> bool:
        """Return whether there is an index."""
        return (self.path / MANIFEST).exists()

    def size(self) -> int:
        """Bytes on the disk."""
        return sum(path.stat().st_size for path in self.path.rglob("*") if path.is_file())

    def read(self) -> Manifest:
        """Read the description; raises FileError where there is no index, or one that cannot be read."""
        path = self.path / MANIFEST
        if not self.exists():
            if (self.path / SEGMENTS).exists():
                raise FileError("holds an index whose building was not finished; build it again", self.path)
            raise FileError(f"is not a folder of an index: it has no {MANIFEST}", self.path)
        try:
            plain = parse_json(path.read_bytes())
        except (OSError, ValueError) as error:
            raise FileError(f"cannot be read, it may be cut or damaged: {error}", path) from None
        if not isinstance(plain, dict) or plain.get("format") != FORMAT:
            raise FileError("is not the description of a graphmetric index", path)
        if plain.get("version") not in READABLE:
            known = " and ".join(map(str, READABLE))
            raise FileError(
                f"has version {plain.get('version')!r}; this graphmetric reads versions {known}: build the index again",
                path,
            )
        if plain.pop("sha256", None) != _digest(plain):
            raise FileError("was changed after it was written: its SHA-256 does not match", path)
        try:
            segments = tuple(
                StoredSegment(_file_name(item["name"]), str(item["digest"]), tuple(map(int, item["removed"])))
                for item in plain["segments"]
            )
            model, costs, reading = plain["model"], plain["costs"], plain.get("reading")
            return Manifest(
                model=None if model is None else _file_name(model),
                next_number=int(plain["next_number"]),
                segments=segments,
                costs=None if costs is None else EditCosts.from_dict(costs),
                reading=None if reading is None else MoleculeOptions.from_dict(reading),
                parts={part: _file_name(plain[part]) for part in get_args(Part) if plain.get(part) is not None},
                edition=str(plain["edition"]),
            )
        except InvalidArgument as error:
            raise FileError(f"cannot be used: {error}", path) from None
        except (KeyError, TypeError, ValueError) as error:
            raise FileError(f"does not describe an index: {error!r}", path) from None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep other writers out; raises where the folder holds anything that does not belong to an index."""
        if self.path.exists() and not self.path.is_dir():
            raise FileError("is a file; an index is a folder", self.path)
        if strange := [name for name in self._entries() if not _OURS.fullmatch(name)]:
            raise FileError(
                f"holds {', '.join(strange[:3])}, which do not belong to an index; choose another folder", self.path
            )
        is_new = not self.path.exists()
        make_folder(self.path / SEGMENTS)
        with system_errors_named(self.path), (self.path / LOCK).open("w") as lock:
            if fcntl is not None:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    raise FileError("is being written by another process; try again later", self.path) from None
            try:
                yield
            except BaseException:
                self._remove_unfinished(is_new)
                raise

    def read_part(self, part: Part, digest: str) -> bytes:
        """The content of a part; raises FileError where it cannot be read, is cut or changed."""
        path = self.part(part, digest)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise FileError(f"cannot be read: {error.strerror}", path) from None
        if hashlib.sha256(content).hexdigest() != digest:
            raise FileError("was changed after it was written: its SHA-256 does not match", path)
        return content

    def write_part(self, part: Part, content: bytes) -> str:
        """Write a part; returns its digest, for the description."""
        digest = hashlib.sha256(content).hexdigest()
        write_file(self.part(part, digest), content)
        return digest

    def new_segment(self) -> SegmentFolder:
        """A folder with a provisional name; :meth:`adopt` gives it its own."""
        return SegmentFolder(self.segment(f"{secrets.token_hex(8)}{_UNFINISHED}"))

    def adopt(self, part: SegmentFolder, digest: str) -> StoredSegment:
        """Give a finished segment its name."""
        name = part.folder.name.removesuffix(_UNFINISHED)
        os.rename(part.folder, self.segment(name))
        return StoredSegment(name, digest)

    def publish(self, manifest: Manifest) -> Manifest:
        """Replace the index by this one, then remove what only the old one needed; returns what is written."""
        plain = {
            "format": FORMAT,
            "version": VERSION,
            "edition": secrets.token_hex(8),
            "model": manifest.model,
            "costs": None if manifest.costs is None else manifest.costs.to_dict(),
            "reading": None if manifest.reading is None else manifest.reading.to_dict(),
            **{part: manifest.parts.get(part) for part in get_args(Part)},
            "next_number": manifest.next_number,
            "segments": [asdict(segment) for segment in manifest.segments],
        }
        write_file(self.path / MANIFEST, json.dumps({**plain, "sha256": _digest(plain)}))
        self._remove_unused(manifest)
        return self.read()

    def _is_at(self, base: str | None) -> bool:
        """Return whether the folder holds this edition; raises if it was changed meanwhile."""
        if base is None or not self.exists():
            return False
        if self.read().edition != base:
            raise FileError("was changed by another process since this index was read: load it again", self.path)
        return True

    def _describe(self, segments: tuple[StoredSegment, ...], record: IndexRecord) -> Manifest:
        """Write what belongs to these segments, and publish all of it."""
        digest = None if record.model is None else record.model.digest
        if record.model is not None and not (folder := self._model(record.model.digest)).exists():
            record.model.save(folder)
        parts = {part: self.write_part(part, content) for part, content in record.parts.items()}
        return self.publish(Manifest(digest, record.next_number, segments, record.costs, record.reading, parts))

    def _open_graphs(self, manifest: Manifest, verify: bool | None) -> IndexedGraphs:
        graphs = IndexedGraphs()
        for stored in manifest.segments:
            folder = self.segment(stored.name)
            segment, lists = read_segment(folder, stored.digest, verify, with_model=manifest.model is not None)
            graphs.append(OpenSegment(segment, lists, stored))
        return graphs

    def _model(self, digest: str) -> Path:
        return self.path / f"model-{digest[:16]}"

    def _remove_unused(self, manifest: Manifest) -> None:
        used = {MANIFEST, LOCK, SEGMENTS, *(self.part(*named).name for named in manifest.parts.items())}
        if manifest.model is not None:
            used.add(self._model(manifest.model).name)
        unused = [self.path / name for name in self._entries() if name not in used and _OURS.fullmatch(name)]
        kept = {segment.name for segment in manifest.segments}
        unused += [entry for entry in (self.path / SEGMENTS).iterdir() if entry.name not in kept]
        for entry in unused:
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)

    def _remove_unfinished(self, folder: bool) -> None:
        """Remove what no index needs, so that a full disk does not stay full because of it."""
        if self.exists():
            with contextlib.suppress(FileError):
                self._remove_unused(self.read())
        elif folder:
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            for name in self._entries():
                shutil.rmtree(self.path / name, ignore_errors=True)
            (self.path / LOCK).unlink(missing_ok=True)

    def _entries(self) -> list[str]:
        with contextlib.suppress(FileNotFoundError):
            return sorted(entry.name for entry in self.path.iterdir())
        return []


def _file_name(value: Any) -> str:
    """Check that a name consists of hexadecimal digits, so that it cannot lead out of the folder."""
    int(value, 16)
    return str(value)


def _digest(plain: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
