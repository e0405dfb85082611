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
from graphmetric.errors import FileError, InvalidArgument, LimitExceeded, UnknownFormat, needs_extra
from graphmetric.metric_repair.nearness import Matrix

MOST_ITEMS = 30_000
"""A matrix of 30,000 items takes 7 GB."""

_MATRIX, _IDS, _CONDENSED = "distances", "ids", "distance"
"""Arrays in an .npz file, and the header of the one column of a condensed table."""
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
_MOST_NAME_BYTES = 1 << 28
_SEPARATORS = ",;\t"
_MOST_BYTES_PER_NUMBER = 64
_UNKNOWN = ("", "nan", "na")

_Names = tuple[str, ...] | None
_Content = tuple[NDArray[np.float64], _Names]
"""Numbers of a file, one dimension if condensed, and names of the items."""


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
    """Read the distances of a file; its suffix chooses the format."""
    source = Path(path)
    reader = _format_of(source).read
    try:
        values, ids = reader(source, max_items)
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror or error}", source) from None
    condensed = values.ndim == 1
    matrix = _expand(values, source) if condensed else values
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise FileError(f"is not a square matrix: its shape is {values.shape}", source)
    if len(matrix) > max_items:
        found = f"{len(matrix):,} items; the limit is {max_items:,}"
        raise LimitExceeded(f"{found} (for data you trust: max_items=...)", source)
    if ids is not None and len(ids) != len(matrix):
        raise FileError(f"has {len(ids)} names for {len(matrix)} items", source)
    return StoredMatrix(matrix, ids, condensed)


def write_matrix(
    path: str | os.PathLike[str], matrix: ArrayLike, *, ids: tuple[str, ...] | None = None, condensed: bool = False
) -> None:
    """Write distances in the format of the suffix.

    ``condensed`` writes each pair once, taken from above the diagonal; only .npz keeps the names of the items then.
    """
    target = Path(path)
    square = np.asarray(matrix, dtype=np.float64)
    writer = _format_of(target).write
    if square.ndim != 2 or square.shape[0] != square.shape[1]:
        raise InvalidArgument(f"a matrix to write must be square; got shape {square.shape}")
    if ids is not None and len(ids) != len(square):
        raise InvalidArgument(f"got {len(ids)} names for {len(square)} items")
    if condensed and len(square) == 0:
        raise InvalidArgument("a matrix of no items cannot be written condensed: it would be read as one item")
    values = square[np.triu_indices(len(square), 1)] if condensed else square
    with atomic_write(target) as file:
        writer(file, values, ids)


def check_suffix(path: str | os.PathLike[str]) -> None:
    """Raise if no format goes by this suffix: better before the work than after it."""
    _format_of(Path(path))


def _format_of(path: Path) -> _Format:
    suffix = path.suffix.lower()
    if suffix not in _FORMATS:
        raise UnknownFormat(f"distance matrices are files {', '.join(_FORMATS)}; got suffix {suffix!r}", path)
    return _FORMATS[suffix]


def _expand(values: Matrix, path: Path) -> Matrix:
    """The square matrix of a condensed one."""
    m = (1 + math.isqrt(1 + 8 * len(values))) // 2
    if m * (m - 1) // 2 != len(values):
        problem = f"holds {len(values):,} distances; m items have m (m - 1) / 2, such as {m * (m - 1) // 2:,}"
        raise FileError(problem, path)
    square = np.zeros((m, m))
    square[np.triu_indices(m, 1)] = values
    return square + square.T


def _check_count(count: int, max_items: int, path: object) -> None:
    """Raise if a file holds more numbers than the largest matrix that is allowed, or than fit into memory."""
    if count > max_items**2:
        found = f"{count:,} numbers, more than a matrix of {max_items:,} items has"
        raise LimitExceeded(f"{found} (for data you trust: max_items=...)", path)
    check_memory(8 * count, f"{path}: a matrix of {count:,} numbers", "give a matrix of fewer items")


def _read_npy(path: Path, max_items: int) -> _Content:
    with path.open("rb") as file:
        return _read_numbers(file, path, path.stat().st_size, max_items), None


def _read_npz(path: Path, max_items: int) -> _Content:
    """Its array ``distances`` or its only array, and ``ids`` if there are any."""
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
                return numbers, None
            with archive.open(ids) as file:
                return numbers, _read_names(file, path, ids.file_size)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError, zlib.error) as error:
        raise FileError(f"is not a readable .npz file: {error}", path) from None


def _read_numbers(file: IO[bytes], path: Path, size: int, max_items: int) -> NDArray[np.float64]:
    shape, dtype, by_columns = _read_header(file, path)
    if dtype.kind not in "buif":
        raise FileError(f"holds {dtype} instead of numbers", path)
    _check_count(math.prod(shape), max_items, path)
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
        version = npy.read_magic(file)
        shape, by_columns, dtype = _HEADERS[version](file)
    except KeyError:
        raise FileError("is a .npy file of a version that is not for numbers", path) from None
    except (ValueError, TypeError, SyntaxError, EOFError, tokenize.TokenError) as error:
        raise FileError(f"is not a readable numpy array: {error}", path) from None
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


def _write_npy(file: BinaryIO, values: NDArray[np.float64], ids: _Names) -> None:
    """Numbers alone; a .npy file has no room for names."""
    np.save(file, values)


def _write_npz(file: BinaryIO, values: NDArray[np.float64], ids: _Names) -> None:
    names = {} if ids is None else {_IDS: np.array(ids, dtype=np.str_)}
    np.savez_compressed(file, **{_MATRIX: values}, **names)  # type: ignore[arg-type]


def _read_csv(path: Path, max_items: int) -> _Content:
    """A table with or without a header and a first column of names: its shape shows which, since a matrix is square."""
    _check_count(path.stat().st_size // _MOST_BYTES_PER_NUMBER, max_items, path)
    lines = _read_lines(path)
    first = next(lines, (0, []))[1]
    rows, names = [], []  # the first column stays text until the shape shows what it is
    for number, cells in lines:
        if len(cells) != len(first):
            raise FileError(f"has {len(cells)} columns; the first line has {len(first)}", path, number)
        names.append(cells[0])
        rows.append(_as_numbers(cells[1:], path, number, 2))
        _check_count(len(rows) * len(first), max_items, path)
    header = first if _is_header(first, names) else None
    if header is None and first:
        rows.insert(0, _as_numbers(first[1:], path, 1, 2))
        names.insert(0, first[0])
    if not rows and len(first) != 1:
        return np.empty((0, 0)), None
    if len(first) == 1 or len(rows) == len(first):  # condensed, or a matrix whose first column is not of names
        begin = 1 if header is None else 2
        column = np.array([_as_numbers([cell], path, begin + k, 1)[0] for k, cell in enumerate(names)])
        if len(first) == 1:
            return column.reshape(1, 1) if header is None and len(column) == 1 else column, None
        return np.column_stack([column, np.array(rows)]), None if header is None else tuple(header)
    if len(rows) != len(first) - 1 or (header is None and all(map(_is_number, names))):
        raise FileError(f"has {len(rows)} lines of {len(first)} numbers; a matrix is square", path)
    if header is not None and header[1:] != names:
        at = next(k for k, name in enumerate(names) if header[k + 1] != name)
        raise FileError(f"column {header[at + 1]!r} and row {names[at]!r} are at the same place {at + 1}", path)
    return np.array(rows), tuple(names)


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
            raise FileError(f"is not a readable table: {error}", path, reader.line_num) from None


def _is_header(first: list[str], names: list[str]) -> bool:
    """Return whether the first line has names: it is one line too many, or text, or a table program's numbering."""
    if len(first) > 1 and len(names) == len(first):
        return True
    numbering = ["", *map(str, range(len(names)))]
    text = not all(map(_is_number, first)) or (first == numbering and names == numbering[1:])
    return text and (len(first) <= 1 or len(names) == len(first) - 1)


def _is_number(cell: str) -> bool:
    try:
        float(cell or "nan")
    except ValueError:
        return cell.lower() in _UNKNOWN
    return True


def _as_numbers(cells: list[str], path: Path, line: int, first_column: int) -> NDArray[np.float64]:
    try:
        return np.array([float(cell) for cell in cells])
    except ValueError:  # the slow way knows empty cells and says which one is wrong
        wrong = next((k for k, cell in enumerate(cells) if not _is_number(cell)), None)
    if wrong is not None:
        raise FileError(f"column {first_column + wrong}: {cells[wrong][:40]!r} is not a number", path, line)
    return np.array([np.nan if cell.lower() in _UNKNOWN else float(cell) for cell in cells])


def _write_csv(file: BinaryIO, values: NDArray[np.float64], ids: _Names) -> None:
    """Numbers so that they are read back to the last bit, nothing for unknown ones, and names if there are any."""
    text = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="")
    writer = csv.writer(text, lineterminator="\n")
    condensed = values.ndim == 1
    if condensed or ids:
        writer.writerow([_CONDENSED] if condensed else ["id", *(ids or ())])
    for k, row in enumerate(values[:, None].tolist() if condensed else values.tolist()):
        cells = ["" if np.isnan(value) else repr(value) for value in row]
        writer.writerow([ids[k], *cells] if ids and not condensed else cells)
    text.flush()
    text.detach()


def _read_parquet(path: Path, max_items: int) -> _Content:
    with path.open("rb") as file:
        pyarrow, parquet = _pyarrow()
        try:
            table = parquet.ParquetFile(file)
            _check_count(table.metadata.num_rows * table.metadata.num_columns, max_items, path)
            columns = table.read()
            values = [np.asarray(column.to_numpy(), dtype=np.float64) for column in columns.columns]
        except FileError:
            raise
        except (pyarrow.ArrowException, OSError, ValueError, TypeError) as error:
            raise FileError(f"is not a readable parquet file of numbers: {error}", path) from None
    names = tuple(map(str, columns.column_names))
    if names == (_CONDENSED,):
        return values[0], None
    numbered = names == tuple(map(str, range(len(names))))
    matrix = np.column_stack(values) if values else np.empty((0, 0))
    return np.ascontiguousarray(matrix), None if numbered else names


def _write_parquet(file: BinaryIO, values: NDArray[np.float64], ids: _Names) -> None:
    """A column per item, numbered if they have no names."""
    pyarrow, parquet = _pyarrow()
    condensed = values.ndim == 1
    names = [_CONDENSED] if condensed else list(ids or map(str, range(len(values))))
    columns = [values] if condensed else list(values.T.copy())
    parquet.write_table(pyarrow.table([pyarrow.array(column) for column in columns], names=names), file)


def _pyarrow() -> tuple[Any, Any]:
    with needs_extra("parquet", "a .parquet file"):
        import pyarrow
        import pyarrow.parquet
    return pyarrow, pyarrow.parquet


class _Format(NamedTuple):
    """Reader and writer of the files of one suffix."""

    read: Callable[[Path, int], _Content]
    write: Callable[[BinaryIO, NDArray[np.float64], _Names], None]


_FORMATS = {
    ".npy": _Format(_read_npy, _write_npy),
    ".npz": _Format(_read_npz, _write_npz),
    ".csv": _Format(_read_csv, _write_csv),
    ".parquet": _Format(_read_parquet, _write_parquet),
}
