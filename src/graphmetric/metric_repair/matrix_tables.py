"""Distance matrices as tables: text and parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import FileError, MissingExtra
from graphmetric.metric_repair.matrix_content import Content, check_count

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
