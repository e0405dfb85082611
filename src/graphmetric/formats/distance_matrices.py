"""Distance matrices in files, square or condensed.

==========  ====================================================================================================
.npy        a square array, or one dimension: the upper triangle row by row, as scipy's ``pdist`` gives it
.npz        the same under the name ``distances``, and names of the items under ``ids``
.csv        a line per item, with or without a header and a first column of names; nothing between two commas is
            unknown. Or one column: condensed
.parquet    a column per item, named after it; or one column ``distance``: condensed. Needs the extra ``parquet``
==========  ====================================================================================================

Unknown distances are NaN. Nothing is unpickled, what a file announces is checked before memory is asked for, and files
are written whole or not at all.

What passes between the readers and writers of the file formats of distance matrices.

Distance matrices as numpy arrays in files.

Distance matrices as tables: text and parquet.
"""

from __future__ import annotations

import csv
import io
import math
import os
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import ArrayLike, NDArray

from graphmetric._foundation.atomic_files import atomic_write
from graphmetric._foundation.limits import check_memory
from graphmetric.errors import FileError, InvalidArgument, LimitExceeded, MissingExtra, UnknownFormat
from graphmetric.metric_repair.nearness import Matrix


class Content(NamedTuple):
    """Numbers of a file, one dimension if condensed, and names of the items."""

    values: NDArray[np.float64]
    ids: tuple[str, ...] | None


def check_count(count: int, max_items: int, path: object) -> None:
    """Raise if a file holds more numbers than the largest matrix that is allowed, or than fit into memory."""
    if count > max_items**2:
        raise LimitExceeded(
            f"{count:,} numbers, more than a matrix of {max_items:,} items has (for data you trust: max_items=...)",
            path,
        )
    check_memory(8 * count, f"{path}: a matrix of {count:,} numbers", "give a matrix of fewer items")


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


CONDENSED = "distance"
"""Header of the one column of a condensed table."""

_SEPARATORS = ",;\t"
_MOST_BYTES_PER_NUMBER = 64
_UNKNOWN = ("", "nan", "na")


def read_csv(path: Path, max_items: int) -> Content:
    """A table with or without a header and a first column of names: its shape tells which, as a matrix is square."""
    check_count(path.stat().st_size // _MOST_BYTES_PER_NUMBER, max_items, path)
    first, rows, names = _read_rows(path, max_items)
    header = first if _is_header(first, names) else None
    if header is None and first:
        rows.insert(0, _as_numbers(first[1:], path, 1, 2))
        names.insert(0, first[0])
    if len(first) == 1:
        return Content(_condensed(header, names, path), None)
    if not rows:
        return Content(np.empty((0, 0)), None)
    if len(rows) == len(first):
        return _without_names(header, rows, names, path)
    if len(rows) != len(first) - 1 or (header is None and all(map(_is_number, names))):
        raise FileError(f"has {len(rows)} lines of {len(first)} numbers; a matrix is square", path)
    if header is not None and header[1:] != names:
        at = next(k for k, name in enumerate(names) if header[k + 1] != name)
        raise FileError(f"column {header[at + 1]!r} and row {names[at]!r} are at the same place {at + 1}", path)
    return Content(np.array(rows), tuple(names))


def write_csv(file: BinaryIO, content: Content) -> None:
    """Numbers so that they are read back to the last bit, nothing for unknown ones, and names if there are any."""
    text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
    writer = csv.writer(text, lineterminator="\n")
    if content.values.ndim == 1:
        writer.writerow([CONDENSED])
        writer.writerows([_as_text(value)] for value in content.values.tolist())
    else:
        if content.ids:
            writer.writerow(["id", *content.ids])
        for k, row in enumerate(content.values.tolist()):
            writer.writerow([*([content.ids[k]] if content.ids else []), *map(_as_text, row)])
    text.flush()
    text.detach()


def read_parquet(path: Path, max_items: int) -> Content:
    """A table with a column per item."""
    with path.open("rb") as file:
        pyarrow, parquet = _pyarrow()
        try:
            table = parquet.ParquetFile(file)
            check_count(table.metadata.num_rows * table.metadata.num_columns, max_items, path)
            columns = table.read()
            values = [np.asarray(column.to_numpy(), dtype=np.float64) for column in columns.columns]
        except (pyarrow.ArrowException, OSError, ValueError, TypeError) as error:
            if isinstance(error, FileError):
                raise
            raise FileError(f"is no readable parquet file of numbers: {error}", path) from None
    names = tuple(map(str, columns.column_names))
    if names == (CONDENSED,):
        return Content(values[0], None)
    numbered = names == tuple(map(str, range(len(names))))
    matrix = np.column_stack(values) if values else np.empty((0, 0))
    return Content(np.ascontiguousarray(matrix), None if numbered else names)


def write_parquet(file: BinaryIO, content: Content) -> None:
    """A column per item, numbered if they have no names."""
    pyarrow, parquet = _pyarrow()
    if content.values.ndim == 1:
        table = pyarrow.table({CONDENSED: content.values})
    else:
        names = content.ids or tuple(map(str, range(len(content.values))))
        table = pyarrow.table([pyarrow.array(column) for column in content.values.T.copy()], names=list(names))
    parquet.write_table(table, file)


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtra("pyarrow", "parquet", "a .parquet file") from None
    return pyarrow, pyarrow.parquet


def _read_rows(path: Path, max_items: int) -> tuple[list[str], list[NDArray[np.float64]], list[str]]:
    """The first line as text; of the others the first cells as text and the rest as numbers."""
    lines = _read_lines(path)
    first = next(lines, (0, []))[1]
    rows, names = [], []
    for number, cells in lines:
        if len(cells) != len(first):
            raise FileError(f"has {len(cells)} columns; the first line has {len(first)}", path, number)
        names.append(cells[0])
        rows.append(_as_numbers(cells[1:], path, number, 2))
        check_count(len(rows) * len(first), max_items, path)
    return first, rows, names


def _read_lines(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Numbered lines as cells; empty lines are left out, except in one column, where they are unknown distances."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        try:
            start = file.readline()
            file.seek(0)
            separator = max(_SEPARATORS, key=start.count)
            single = separator not in start
            reader = csv.reader(file, delimiter=separator, strict=True)
            for cells in reader:
                if cells or single:
                    yield reader.line_num, [cell.strip() for cell in cells] or [""]
        except UnicodeDecodeError as error:
            raise FileError(f"is not UTF-8 text: byte 0x{error.object[error.start]:02x}", path) from None
        except csv.Error as error:
            raise FileError(f"is no readable table: {error}", path, reader.line_num) from None


def _is_header(first: list[str], names: list[str]) -> bool:
    """Whether the first line has names: it is one line too many, or text, or the plain numbering of a table program."""
    if len(first) <= 1:
        return not all(map(_is_number, first))
    if len(names) == len(first):
        return True
    numbering = ["", *map(str, range(len(names)))]
    text = not all(map(_is_number, first)) or (first == numbering and names == numbering[1:])
    return len(names) == len(first) - 1 and text


def _without_names(header: list[str] | None, rows: list[NDArray[np.float64]], cells: list[str], path: Path) -> Content:
    """The matrix whose first column was taken for names."""
    begin = 1 if header is None else 2
    column = np.array([_as_numbers([cell], path, begin + k, 1)[0] for k, cell in enumerate(cells)])
    return Content(np.column_stack([column, np.array(rows)]), None if header is None else tuple(header))


def _condensed(header: list[str] | None, names: list[str], path: Path) -> NDArray[np.float64]:
    """One column of numbers; a lone one without a header is a matrix of one item."""
    begin = 1 if header is None else 2
    values = np.array([_as_numbers([name], path, begin + k, 1)[0] for k, name in enumerate(names)])
    return values.reshape(1, 1) if header is None and len(values) == 1 else values


def _is_number(cell: str) -> bool:
    try:
        float(cell or "nan")
    except ValueError:
        return cell.lower() in _UNKNOWN
    return True


def _as_numbers(cells: list[str], path: Path, line: int, first_column: int) -> NDArray[np.float64]:
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError:
        pass  # the slow way knows empty cells and says which one is wrong
    numbers = np.empty(len(cells))
    for k, cell in enumerate(cells):
        try:
            numbers[k] = np.nan if cell.lower() in _UNKNOWN else float(cell)
        except ValueError:
            raise FileError(f"column {first_column + k}: {cell[:40]!r} is not a number", path, line) from None
    return numbers


def _as_text(value: float) -> str:
    return "" if np.isnan(value) else repr(value)


MOST_ITEMS = 30_000
"""A matrix of so many takes 7 GB."""

_READERS: dict[str, Callable[[Path, int], Content]] = {
    ".npy": read_npy,
    ".npz": read_npz,
    ".csv": read_csv,
    ".parquet": read_parquet,
}
_WRITERS: dict[str, Callable[[BinaryIO, Content], None]] = {
    ".npy": write_npy,
    ".npz": write_npz,
    ".csv": write_csv,
    ".parquet": write_parquet,
}


@dataclass(frozen=True, slots=True, eq=False)
class StoredMatrix:
    """A matrix as it was in a file."""

    matrix: Matrix
    """(m, m) NaN where unknown; neither symmetry nor the diagonal are checked here."""
    ids: tuple[str, ...] | None = None
    """Names of the items, where the file has them."""
    condensed: bool = False
    """Whether the file had each pair once."""


def read_matrix(path: str | os.PathLike[str], *, max_items: int = MOST_ITEMS) -> StoredMatrix:
    """Read the distances of a file; its suffix tells the format."""
    source = Path(path)
    reader = _READERS[_suffix(source)]
    try:
        content = reader(source, max_items)
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror or error}", source) from None
    condensed = content.values.ndim == 1
    matrix = _expand(content.values, source) if condensed else content.values
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise FileError(f"is no square matrix: its shape is {content.values.shape}", source)
    if len(matrix) > max_items:
        raise LimitExceeded(
            f"{len(matrix):,} items; the limit is {max_items:,} (for data you trust: max_items=...)", source
        )
    if content.ids is not None and len(content.ids) != len(matrix):
        raise FileError(f"has {len(content.ids)} names for {len(matrix)} items", source)
    return StoredMatrix(matrix, content.ids, condensed)


def write_matrix(
    path: str | os.PathLike[str],
    matrix: ArrayLike,
    *,
    ids: tuple[str, ...] | None = None,
    condensed: bool = False,
) -> None:
    """Write distances in the format of the suffix.

    ``condensed`` writes each pair once, taken from above the diagonal; only .npz keeps the names of the items then.
    """
    target, square = Path(path), np.asarray(matrix, dtype=np.float64)
    writer = _WRITERS[_suffix(target)]
    if square.ndim != 2 or square.shape[0] != square.shape[1]:
        raise InvalidArgument(f"a matrix to write must be square; got shape {square.shape}")
    if ids is not None and len(ids) != len(square):
        raise InvalidArgument(f"got {len(ids)} names for {len(square)} items")
    if condensed and len(square) == 0:
        raise InvalidArgument("no items cannot be written condensed: it would be read as one item")
    values = square[np.triu_indices(len(square), 1)] if condensed else square
    with atomic_write(target) as file:
        writer(file, Content(values, ids))


def check_suffix(path: str | os.PathLike[str]) -> None:
    """Raise if no format goes by this suffix: better before the work than after it."""
    _suffix(Path(path))


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise UnknownFormat(f"distance matrices are files {', '.join(_READERS)}; got suffix {suffix!r}", path)
    return suffix


def _expand(values: Matrix, path: Path) -> Matrix:
    """The square matrix of a condensed one."""
    m = (1 + math.isqrt(1 + 8 * len(values))) // 2
    if m * (m - 1) // 2 != len(values):
        raise FileError(
            f"holds {len(values):,} distances; m items have m (m - 1) / 2, such as {m * (m - 1) // 2:,}", path
        )
    square = np.zeros((m, m))
    square[np.triu_indices(m, 1)] = values
    return square + square.T
