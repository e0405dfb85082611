"""Where the arrays of a segment go while it grows: into memory, or into files that are mapped afterwards."""

from __future__ import annotations

import os
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

DIGEST_BYTES = 16


class Sink(Protocol):
    """Takes the rows of one array piece by piece."""

    def append(self, rows: NDArray[Any]) -> None: ...

    def close(self) -> NDArray[Any]:
        """All rows."""


class MemorySink:
    """Rows in memory."""

    def __init__(self) -> None:
        self._parts: list[NDArray[Any]] = []

    def append(self, rows: NDArray[Any]) -> None:
        self._parts.append(rows)

    def close(self) -> NDArray[Any]:
        return np.concatenate(self._parts)


class FileSink:
    """Rows in a file, little-endian, nothing else; their type and shape are written down elsewhere."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("xb")
        self._digest = blake2b(digest_size=DIGEST_BYTES)
        self._rows = 0
        self._kind: NDArray[Any] | None = None

    def append(self, rows: NDArray[Any]) -> None:
        self._kind = rows[:0] if self._kind is None else self._kind
        data = np.ascontiguousarray(rows, dtype=rows.dtype.newbyteorder("<")).tobytes()
        self._file.write(data)
        self._digest.update(data)
        self._rows += len(rows)

    def close(self) -> NDArray[Any]:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return map_array(self.path, self._array.dtype.str, self.shape)

    def describe(self) -> dict[str, Any]:
        """What a reader has to know."""
        return {
            "type": self._array.dtype.newbyteorder("<").str,
            "shape": list(self.shape),
            "digest": self._digest.hexdigest(),
        }

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._rows, *self._array.shape[1:])

    @property
    def _array(self) -> NDArray[Any]:
        assert self._kind is not None, "every array is appended to at least once"
        return self._kind


def map_array(path: Path, kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """A file as an array that is read when touched. Private: what were written to it would never reach the file."""
    if 0 in shape:
        return np.empty(shape, dtype=kind)  # there is nothing to map
    return np.asarray(np.memmap(path, dtype=kind, mode="c", shape=shape))


def digest_of_file(path: Path) -> str:
    """Of the contents, read piece by piece."""
    digest = blake2b(digest_size=DIGEST_BYTES)
    with path.open("rb") as file:
        while piece := file.read(1 << 22):
            digest.update(piece)
    return digest.hexdigest()
