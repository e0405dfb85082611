"""Distances written to disk as they are computed, so that a job that is killed loses nothing.

A store is a folder::

    manifest.json     what was computed: fingerprints of graphs and pairs, costs and method
    results.rows      one row of 56 bytes for each finished pair, in the order in which they were finished
    lock              there while a job works in the folder

Rows are added about once a second. Each has a checksum: a row that was cut or damaged is computed again, and the others
are kept. A job that starts on an existing store computes only what is missing. A job with other
graphs, pairs, costs or method than the manifest is refused, and so is a second job while the first is at work.

A job whose pairs are solved by an executor has a folder of blocks instead, since rows of 10^9 pairs would fill the
memory of the one who reads them::

    manifest.json         the same, how wide a block is, and a digest of all that
    00003-00007.block     the bounds of all pairs of two runs of graphs; written whole, with a checksum
"""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import operator
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.atomic_files import atomic_write, make_folder, system_errors_named, write_file
from graphmetric._foundation.options import parse_json, same_description
from graphmetric.errors import FileError, InvalidArgument

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FORMAT = 2
BLOCK_FORMAT = 3
_MAGIC, _ALIGNED, _DIGEST = b"GMBLOCK\x01", 64, 16
_LONGEST_HEADER = 1 << 16

logger = logging.getLogger(__name__)

Places = NDArray[np.intp]


class PairResults(NamedTuple):
    """Results of a method for some pairs, in costs, one entry for each pair."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    value: NDArray[np.float64]
    """The method's own answer: one of the bounds, or an estimate that is neither."""
    expanded: NDArray[np.int64]
    seconds: NDArray[np.float64]
    """CPU time; pairs that were computed together share theirs equally."""

    @classmethod
    def room(cls, count: int) -> PairResults:
        """Room for ``count`` pairs."""
        integers = np.zeros(count, dtype=np.int64)
        return cls(np.zeros(count), np.zeros(count), np.zeros(count), integers, np.zeros(count))

    def put(self, places: Places, results: PairResults) -> None:
        """Write results to some places."""
        for column, new in zip(self, results, strict=True):
            column[places] = new

    def take(self, places: Places) -> PairResults:
        """The results at some places."""
        return PairResults(*(column[places] for column in self))  # type: ignore[arg-type]


_ROW = np.dtype(
    [("place", "<i8"), ("lower", "<f8"), ("upper", "<f8"), ("value", "<f8"), ("expanded", "<i8"), ("seconds", "<f8"),
     ("check", "<u8")]
)  # fmt: skip
_MULTIPLIERS = np.array(
    [0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 0xFF51AFD7ED558CCD,
     0xC4CEB9FE1A85EC53], dtype=np.uint64
)  # fmt: skip


class PairStore:
    """The folder of one job, while it is open; see :func:`open_store`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def rows(self) -> Path:
        """Where the finished pairs are."""
        return self.folder / "results.rows"

    def read(self, results: PairResults) -> NDArray[np.bool_]:
        """Fill in the stored results; returns for each pair whether it has one."""
        count = len(results.lower)
        there = np.zeros(count, dtype=np.bool_)
        rows = np.fromfile(self.rows, dtype=_ROW) if self.rows.exists() else np.empty(0, dtype=_ROW)
        sound = (rows["check"] == _checksums(rows)) & (rows["place"] >= 0) & (rows["place"] < count)
        if not sound.all():
            logger.warning("%s: %d rows are damaged and will be computed again", self.rows, np.count_nonzero(~sound))
        rows = rows[sound]
        results.put(rows["place"], PairResults(*(rows[name] for name in PairResults._fields)))
        there[rows["place"]] = True
        return there

    def add(self, places: Places, results: PairResults) -> None:
        """Put finished pairs on disk."""
        rows = np.empty(len(places), dtype=_ROW)
        rows["place"] = places
        for name, column in results._asdict().items():
            rows[name] = column
        rows["check"] = _checksums(rows)
        with system_errors_named(self.rows), open(self.rows, "ab") as file:
            whole = file.tell() - file.tell() % _ROW.itemsize
            if whole < file.tell():
                file.truncate(whole)  # the last row was cut
            file.write(rows.tobytes())
            file.flush()
            os.fsync(file.fileno())


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Arrays of results in the smallest types that hold them exactly, as they travel and as they lie on disk."""

    arrays: Mapping[str, NDArray[Any]]
    """Whole numbers as unsigned integers, of which the largest stands for infinity; others as float32 or float64."""
    codes: Mapping[str, str]
    """What each array holds: "number", "infinite" (numbers with that sign for infinity), or the name of another array
    that is the same."""
    expanded: int = 0
    """Search-tree nodes of all pairs together."""
    seconds: float = 0.0
    """CPU time of all pairs together."""

    @classmethod
    def of(cls, columns: Mapping[str, NDArray[Any]], expanded: int = 0, seconds: float = 0.0) -> Block:
        """Pack arrays; one that equals an earlier one is kept once."""
        arrays: dict[str, NDArray[Any]] = {}
        codes: dict[str, str] = {}
        for name, column in columns.items():
            same = (other for other in arrays if np.array_equal(columns[other], column))
            codes[name] = next(same, "")
            if not codes[name]:
                arrays[name], codes[name] = _small(column)
        return cls(arrays, codes, expanded, seconds)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """An array as it was given: numbers as float64, integers and truth values as they are."""
        code = self.codes[name]
        if code not in ("number", "infinite"):
            return self[code]
        array = self.arrays[name]
        if code == "number":
            return array.astype(np.float64) if array.dtype.kind == "f" else array
        numbers = array.astype(np.float64)
        numbers[array == np.iinfo(array.dtype).max] = np.inf
        return numbers

    def write(self, path: Path, job: str) -> None:
        """Write the block to a file, whole, with the job that it is part of."""
        places, end = {}, 0
        for name, array in self.arrays.items():
            places[name] = (array.dtype.str, list(array.shape), end)
            end += -(-array.nbytes // _ALIGNED) * _ALIGNED
        about = {"job": job, "arrays": places, "codes": dict(self.codes)}
        header = json.dumps(about | {"expanded": self.expanded, "seconds": self.seconds}).encode()
        start = len(_MAGIC) + 4 + len(header)
        digest = blake2b(digest_size=_DIGEST)
        parts = [_MAGIC, len(header).to_bytes(4, "little"), header, bytes(-start % _ALIGNED)]
        for array in self.arrays.values():
            parts += [np.ascontiguousarray(array).tobytes(), bytes(-array.nbytes % _ALIGNED)]
        with atomic_write(path) as file:
            for part in parts:
                digest.update(part)
                file.write(part)
            file.write(digest.digest())

    @classmethod
    def read(cls, path: Path, job: str | None = None) -> Block:
        """A block with its arrays mapped; raises FileError if any bit of it changed, or if it is of another job."""
        with system_errors_named(path, "read"):
            data = np.memmap(path, np.uint8, "r") if path.stat().st_size else np.empty(0, np.uint8)
        whole, digest = data[:-_DIGEST], data[-_DIGEST:]
        if blake2b(whole.data, digest_size=_DIGEST).digest() != digest.tobytes() or whole[:8].tobytes() != _MAGIC:
            raise FileError("is cut or damaged: its checksum does not match", path)
        length = int.from_bytes(whole[8:12].tobytes(), "little")
        try:
            if length > _LONGEST_HEADER:
                raise ValueError(f"a header of {length} bytes")
            header = json.loads(whole[12 : 12 + length].tobytes())
            start = -(-(12 + length) // _ALIGNED) * _ALIGNED
            arrays = {name: _array_at(whole[start:], *place) for name, place in header["arrays"].items()}
            found = cls(arrays, header["codes"], int(header["expanded"]), float(header["seconds"]))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise FileError(f"is not a block of distances: {error!r}", path) from None
        if job is not None and header.get("job") != job:
            raise FileError("belongs to another job", path)
        return found


def _small(column: NDArray[Any]) -> tuple[NDArray[Any], str]:
    """The array in a smaller type that holds the same, and what that is called."""
    if column.dtype.kind == "b":
        return column, "number"
    if column.dtype.kind in "iu":
        fits = [kind for kind in (np.uint8, np.uint16, np.uint32) if column.min(initial=0) >= 0
                and column.max(initial=0) <= np.iinfo(kind).max]  # fmt: skip
        return column.astype(fits[0] if fits else np.int64), "number"
    largest = column.max(initial=0.0, where=np.isfinite(column))
    if (column >= 0).all() and (np.isinf(column) | (column == np.floor(column))).all():
        for kind in (np.uint8, np.uint16):
            if largest < np.iinfo(kind).max:
                infinite = np.isinf(column)
                return np.where(infinite, np.iinfo(kind).max, np.where(infinite, 0, column)).astype(kind), "infinite"
    with np.errstate(over="ignore"):
        single = column.astype(np.float32)
    return (single if np.array_equal(single, column, equal_nan=True) else column.astype(np.float64)), "number"


def _array_at(data: NDArray[np.uint8], kind: str, shape: list[int], start: int) -> NDArray[Any]:
    dtype, count = np.dtype(kind), int(np.prod(shape, dtype=np.int64))
    if dtype.kind not in "biuf" or min([start, *shape], default=0) < 0 or start + count * dtype.itemsize > len(data):
        raise ValueError(f"an array {kind} of shape {shape} at {start}")
    return data[start : start + count * dtype.itemsize].view(dtype).reshape(shape)


class BlockStore:
    """A folder of blocks; see :func:`open_blocks`."""

    def __init__(self, folder: Path, manifest: dict[str, Any]) -> None:
        self.folder, self.manifest = folder, manifest
        self.width = int(manifest["width"])
        """The most graphs on each side of a block."""

    @classmethod
    def at(cls, folder: Path) -> BlockStore:
        """The store in a folder, to be read."""
        return cls(folder, _read_manifest(folder / "manifest.json", BLOCK_FORMAT))

    def path(self, name: str) -> Path:
        """Where a block is."""
        return self.folder / f"{name}.block"

    def read(self, name: str) -> Block:
        """A block; raises FileError if it is missing or damaged."""
        return Block.read(self.path(name), self.manifest["digest"])

    def find(self, name: str) -> Block | None:
        """A block; None if it has to be computed, since it is missing or damaged."""
        if not self.path(name).exists():
            return None
        try:
            return self.read(name)
        except FileError as error:
            logger.warning("%s; it will be computed again", error)
            return None

    def write(self, name: str, block: Block) -> None:
        """Put a finished block on disk."""
        block.write(self.path(name), self.manifest["digest"])


@contextmanager
def open_blocks(
    folder: str | os.PathLike[str], description: dict[str, Any], choose_width: Callable[[], int]
) -> Iterator[BlockStore]:
    """Start a store of blocks, or continue one of the same description; nobody else can open it meanwhile.

    How wide blocks are is chosen once: a job that continues has the same blocks.
    """
    place = make_folder(folder)
    with locked(place):
        path = place / "manifest.json"
        if path.exists():
            check_same_job(place, _read_manifest(path, BLOCK_FORMAT), description, "distances", ("method", "costs"))
        else:
            write_description(path, {"format": BLOCK_FORMAT, **description, "width": choose_width()})
        yield BlockStore.at(place)


@contextmanager
def open_store(folder: str | os.PathLike[str], description: dict[str, Any]) -> Iterator[PairStore]:
    """Start a store, or continue one that has the same description; nobody else can open it meanwhile."""
    place = make_folder(folder)
    with locked(place):
        store, manifest = PairStore(place), place / "manifest.json"
        if manifest.exists():
            check_same_job(place, _read_manifest(manifest, FORMAT), description, "distances", ("method", "costs"))
        else:
            write_file(manifest, json.dumps({"format": FORMAT, **description}, indent=2))
        yield store


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other jobs out of a folder. The lock ends with the process, however that ends."""
    path = folder / "lock"
    file = _lock(path)
    if file is None:
        raise InvalidArgument(
            f"another job is at work in {folder}{_owner_of(path)}; wait until it has finished, or choose another folder"
        )
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()
        file.close()


def _lock(path: Path) -> IO[bytes] | None:
    """The lock file, locked; None if another process has it."""
    while True:
        with system_errors_named(path):
            file = open(path, "ab+", buffering=0)  # noqa: SIM115 - it stays open as long as the lock is held
        try:
            if not _try_lock(file):
                file.close()
                return None
            if not path.exists() or not os.path.samestat(os.fstat(file.fileno()), path.stat()):
                file.close()  # its owner has just removed it
                continue
        except OSError:
            logger.warning("%s cannot be locked: let only one job work in that folder at a time", path)
            return file
        with contextlib.suppress(OSError):  # the number is for messages only, and the disk may be full
            file.truncate(0)
            file.write(str(os.getpid()).encode())
        return file


def _try_lock(file: IO[bytes]) -> bool:
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        else:
            import msvcrt

            file.seek(1 << 30)  # far behind the number that is in the file, which others may read
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            return False
        raise
    return True


def _owner_of(path: Path) -> str:
    try:
        return f" (process {int(path.read_bytes())})"
    except (OSError, ValueError):
        return ""


def _checksums(rows: NDArray[Any]) -> NDArray[np.uint64]:
    """A number for each row that depends on every bit of it, and is not zero for a row of zeros."""
    words = np.ascontiguousarray(rows).view(np.uint64).reshape(len(rows), 7)[:, :6]
    mixed: NDArray[np.uint64] = ((words + np.uint64(1)) * _MULTIPLIERS).sum(axis=1, dtype=np.uint64)
    return mixed ^ (mixed >> np.uint64(29))


def write_description(path: Path, description: dict[str, Any]) -> None:
    """Write what a folder is for, with a digest."""
    write_file(path, json.dumps({**description, "digest": _digest_of(description)}, indent=2))


def read_description(path: Path) -> dict[str, Any]:
    """What a folder is for; raises FileError if that was changed after it was written."""
    try:
        data = parse_json(path.read_bytes())
        is_whole = not isinstance(data, dict) or data.get("digest") in (None, _digest_of(data))
    except (OSError, ValueError) as error:
        raise FileError(f"cannot be read: {error}", path) from None
    if not isinstance(data, dict):
        raise FileError("is not a description of a job", path)
    if not is_whole:
        raise FileError("was changed after it was written: its digest does not match", path)
    return data


def _digest_of(description: dict[str, Any]) -> str:
    rest = {key: value for key, value in description.items() if key != "digest"}
    return blake2b(json.dumps(rest, sort_keys=True).encode(), digest_size=_DIGEST).hexdigest()


def _read_manifest(path: Path, wanted: int) -> dict[str, Any]:
    data = read_description(path)
    if data.get("format") == 1:
        raise FileError("holds distances of format 1, which is no longer read: remove the folder and start again", path)
    if data.get("format") != wanted or (wanted == BLOCK_FORMAT and "digest" not in data):
        raise FileError(
            f"not a manifest of format {wanted}, the only one that this job reads: {FORMAT} is for a job without an "
            f"executor, {BLOCK_FORMAT} for one with it; choose another folder",
            path,
        )
    return data


def check_same_job(
    folder: Path, found: dict[str, Any], wanted: dict[str, Any], what: str, shown: tuple[str, ...]
) -> None:
    """Raise unless a folder is for the wanted job; ``what`` it holds, and the keys whose values a message shows."""
    same = {"method": same_description, "costs": same_description}
    if different := [key for key in wanted if not same.get(key, operator.eq)(found.get(key), wanted[key])]:
        values = (f" (its {key} is {found.get(key)}, not {wanted[key]})" for key in different if key in shown)
        raise InvalidArgument(
            f"{folder} holds {what} of another job: its {', '.join(different)} differ; choose another folder, or "
            f"remove this one{''.join(values)}"
        )
