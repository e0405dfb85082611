"""Distance matrices as numpy arrays in files."""

from __future__ import annotations

import math
import tokenize
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any, BinaryIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from graphmetric.errors import FileError
from graphmetric.metric_repair.matrix_content import Content, check_count

_MATRIX, _IDS = "distances", "ids"
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_MOST_NAME_BYTES = 1 << 28


def read_npy(path: Path, max_items: int) -> Content:
    """A .npy file of numbers."""
    with path.open("rb") as file:
        return Content(_read_numbers(file, path, path.stat().st_size, max_items), None)


def read_npz(path: Path, max_items: int) -> Content:
    """A .npz file: its array ``distances`` or its only array, and ``ids`` if there are any."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = {name.removesuffix(".npy"): archive.getinfo(name) for name in archive.namelist()}
            ids = members.pop(_IDS, None)
            chosen = members.get(_MATRIX) or (next(iter(members.values())) if len(members) == 1 else None)
            if chosen is None:
                raise FileError(f"has no array {_MATRIX!r}; it has: {', '.join(members) or 'none'}", path)
            with archive.open(chosen) as file:
                numbers = _read_numbers(file, path, chosen.file_size, max_items)
            if ids is None:
                return Content(numbers, None)
            with archive.open(ids) as file:
                return Content(numbers, _read_names(file, path, ids.file_size))
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error) as error:
        raise FileError(f"is no readable .npz file: {error}", path) from None


def write_npy(file: BinaryIO, content: Content) -> None:
    """Numbers alone; a .npy file has no room for names."""
    np.save(file, content.values)


def write_npz(file: BinaryIO, content: Content) -> None:
    """Numbers and names."""
    arrays = {_MATRIX: content.values}
    if content.ids is not None:
        arrays[_IDS] = np.array(content.ids, dtype=np.str_)
    np.savez_compressed(file, **arrays)  # type: ignore[arg-type]


def _read_numbers(file: IO[bytes], path: Path, size: int, max_items: int) -> NDArray[np.float64]:
    shape, dtype, by_columns = _read_header(file, path)
    if dtype.kind not in "buif":
        raise FileError(f"holds {dtype} instead of numbers", path)
    check_count(math.prod(shape), max_items, path)
    data = _read_data(file, path, size, math.prod(shape) * dtype.itemsize)
    numbers = np.frombuffer(data, dtype=dtype).reshape(shape, order="F" if by_columns else "C")
    return np.ascontiguousarray(numbers, dtype=np.float64)  # no copy where it is that already


def _read_names(file: IO[bytes], path: Path, size: int) -> tuple[str, ...]:
    shape, dtype, _ = _read_header(file, path)
    if dtype.kind != "U" or len(shape) != 1 or dtype.itemsize * math.prod(shape) > _MOST_NAME_BYTES:
        raise FileError(f"array {_IDS!r} must be a list of texts; it is {dtype} of shape {shape}", path)
    data = _read_data(file, path, size, dtype.itemsize * math.prod(shape))
    try:
        return tuple(np.frombuffer(data, dtype=dtype).tolist()) if dtype.itemsize else ("",) * shape[0]
    except ValueError as error:
        raise FileError(f"array {_IDS!r} is damaged: {error}", path) from None


def _read_header(file: IO[bytes], path: Path) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    try:
        reader = _HEADERS.get(npy.read_magic(file))
        if reader is None:
            raise FileError("is a .npy file of a version that is not for numbers", path)
        shape, by_columns, dtype = reader(file)
    except (ValueError, TypeError, SyntaxError, EOFError, tokenize.TokenError) as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"is no readable numpy array: {error}", path) from None
    if any(length < 0 for length in shape):
        raise FileError(f"announces a shape of {shape}", path)
    return shape, dtype, by_columns


def _read_data(file: IO[bytes], path: Path, size: int, wanted: int) -> bytearray:
    """The bytes of the numbers; a file that announces more than it holds is refused before memory is taken."""
    data, count = bytearray(wanted if wanted <= size else 0), 0
    while count < len(data) and (part := file.readinto(memoryview(data)[count:])):  # type: ignore[attr-defined]
        count += part
    if count < wanted or file.read(1):
        found = "less" if count < wanted else "more"
        raise FileError(f"holds {found} than the {wanted:,} bytes of numbers it announces; it is damaged", path)
    return data
