"""The folder of an index, safe to read while it is being written.

::

    index.json          which model and which segments belong together, and its own digest
    model-<digest>/     the model, as GraphDistance.save writes it, if the index has one
    segments/<name>/    graphs and their vectors; a folder never changes once it has its name
    remembered-<digest> what searches have proven, if they were asked to remember it

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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from graphmetric._foundation.atomic_files import atomic_write, make_folder, system_errors_named
from graphmetric.edit_distance import EditCosts
from graphmetric.errors import FileError
from graphmetric.index.segment_folder import SegmentFolder

try:
    import fcntl
except ImportError:  # not a POSIX system: writers are not kept apart
    fcntl = None  # type: ignore[assignment]

FORMAT, VERSION, READABLE = "graphmetric index", 2, (1, 2)
"""In version 1 every index had a model, and the costs were those of the model."""
MANIFEST, SEGMENTS, LOCK = "index.json", "segments", ".lock"
_UNFINISHED = ".part"
_OURS = re.compile(r"segments|\.lock|\.?model-.*|\.?remembered-.*|index\.json|\.index\.json\..*")
"""Names in the folder of an index; hidden ones are files under way."""


@dataclass(frozen=True, slots=True)
class StoredSegment:
    """A segment on disk."""

    name: str
    digest: str
    """The digest of its description, which has the digests of its files."""
    removed: tuple[int, ...] = ()
    """Positions of graphs that were removed."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What ``index.json`` says."""

    model: str | None
    """The digest of the model; None if the index has none."""
    next_number: int
    """The id for the next graph that has none."""
    segments: tuple[StoredSegment, ...]
    costs: EditCosts | None = None
    """The edit costs of certified searches; None for those of the model, or unit costs without one."""
    remembered: str | None = None
    """The digest of what searches have proven; None if nothing is remembered."""
    edition: str = ""
    """A new random text each time the index is written."""


class IndexFolder:
    """The folder of one index."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).resolve()

    def model(self, digest: str) -> Path:
        """The folder of the model with this digest."""
        return self.path / f"model-{digest[:16]}"

    def segment(self, name: str) -> Path:
        """The folder of a segment."""
        return self.path / SEGMENTS / name

    def remembered(self, digest: str) -> Path:
        """The file of what searches have proven."""
        return self.path / f"remembered-{digest[:16]}"

    def read(self) -> Manifest:
        """Read the description; raises FileError where there is no index, or one that cannot be read."""
        path = self.path / MANIFEST
        if not path.exists():
            if (self.path / SEGMENTS).exists():
                raise FileError("holds an index whose building was not finished; build it again", self.path)
            raise FileError(f"is not a folder of an index: it has no {MANIFEST}", self.path)
        try:
            plain = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise FileError(f"cannot be read, it may be cut or damaged: {error}", path) from None
        if not isinstance(plain, dict) or plain.get("format") != FORMAT:
            raise FileError("is not the description of a graphmetric index", path)
        if plain.get("version") not in READABLE:
            known = " and ".join(map(str, READABLE))
            raise FileError(f"has version {plain.get('version')!r}; this graphmetric reads versions {known}", path)
        if plain.pop("sha256", None) != _digest(plain):
            raise FileError("was changed after it was written: its SHA-256 does not match", path)
        try:
            segments = tuple(
                StoredSegment(_file_name(item["name"]), str(item["digest"]), tuple(map(int, item["removed"])))
                for item in plain["segments"]
            )
            model, costs = plain["model"], plain.get("costs")
            return Manifest(
                model=None if model is None else _file_name(model),
                next_number=int(plain["next_number"]),
                segments=segments,
                costs=None if costs is None else EditCosts.from_dict(costs),
                remembered=None if (remembered := plain.get("remembered")) is None else _file_name(remembered),
                edition=str(plain["edition"]),
            )
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

    def read_remembered(self, digest: str) -> bytes:
        """The file of what searches have proven; raises FileError where it is missing, cut or changed."""
        path = self.remembered(digest)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise FileError(f"cannot be read: {error.strerror}", path) from None
        if hashlib.sha256(content).hexdigest() != digest:
            raise FileError("was changed after it was written: its SHA-256 does not match", path)
        return content

    def write_remembered(self, content: bytes) -> str:
        """Write the file of what searches have proven; returns its digest, for the description."""
        digest = hashlib.sha256(content).hexdigest()
        with atomic_write(self.remembered(digest)) as file:
            file.write(content)
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
            "remembered": manifest.remembered,
            "next_number": manifest.next_number,
            "segments": [asdict(segment) for segment in manifest.segments],
        }
        with atomic_write(self.path / MANIFEST) as file:
            file.write(json.dumps({**plain, "sha256": _digest(plain)}).encode())
        self._remove_unused(manifest)
        return self.read()

    def _remove_unused(self, manifest: Manifest) -> None:
        used = {segment.name for segment in manifest.segments}
        unused = [entry for entry in (self.path / SEGMENTS).iterdir() if entry.name not in used]
        kept = None if manifest.model is None else self.model(manifest.model)
        unused += [entry for entry in self.path.glob("model-*") if entry != kept]
        remembered = None if manifest.remembered is None else self.remembered(manifest.remembered)
        unused += [entry for entry in self.path.glob("remembered-*") if entry != remembered]
        for name in (MANIFEST, "remembered-"):
            unused += self.path.glob(f".{name}*{_UNFINISHED}")
        for entry in unused:
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)

    def _remove_unfinished(self, folder: bool) -> None:
        """Remove what no index needs, so that a full disk does not stay full because of it."""
        if (self.path / MANIFEST).exists():
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
