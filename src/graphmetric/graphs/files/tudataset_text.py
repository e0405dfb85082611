"""The comma-separated number tables that TUDataset folders consist of."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from graphmetric.graphs.files.json_values import shortened
from graphmetric.graphs.files.source import Source


class _Kind(NamedTuple):
    name: str
    dtype: DTypeLike
    parse: Callable[[bytes], float]
    characters: bytes
    largest: float


# numpy gives the nearest 64-bit integer for one that does not fit, so the largest stay clear of that.
_INTEGERS = _Kind("integers", np.int64, int, b"0123456789+- \t\r\n", 1e18)
_NUMBERS = _Kind("numbers", np.float64, float, b"0123456789+-.eE \t\r\n", np.finfo(np.float64).max)


def read_integers(source: Source) -> NDArray[np.int64]:
    """A table of integers, one row per line."""
    return _read_table(source, _INTEGERS)


def read_numbers(source: Source) -> NDArray[np.float64]:
    """A table of finite numbers, one row per line."""
    return _read_table(source, _NUMBERS)


def _read_table(source: Source, kind: _Kind) -> NDArray[Any]:
    data = source.read_bytes().removeprefix(b"\xef\xbb\xbf").rstrip()
    if not data:
        return np.empty((0, 1), dtype=kind.dtype)
    commas = _commas_per_line(data)
    try:
        if (commas != commas[0]).any():
            raise ValueError
        return _parsed(data.replace(b",", b" "), kind).reshape(len(commas), int(commas[0]) + 1)
    except ValueError:
        raise source.error(*_first_problem(data.split(b"\n"), int(commas[0]) + 1, kind)) from None


def _commas_per_line(data: bytes) -> NDArray[np.intp]:
    characters = np.frombuffer(data, dtype=np.uint8)
    ends = np.append(np.flatnonzero(characters == ord("\n")), len(data))
    return np.diff(np.searchsorted(np.flatnonzero(characters == ord(",")), ends), prepend=0)


def _parsed(data: bytes, kind: _Kind) -> NDArray[Any]:
    """All numbers of a text at once; raises ValueError if there is anything else or a number does not fit."""
    if data.translate(None, kind.characters):
        raise ValueError
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # how numpy says that it stopped before the end
        try:
            values = np.fromstring(data, dtype=kind.dtype, sep=" ")
        except DeprecationWarning:
            raise ValueError from None
    if not (np.abs(values) <= kind.largest).all():
        raise ValueError
    return values


def _first_problem(lines: list[bytes], width: int, kind: _Kind) -> tuple[str, int | None]:
    for number, line in enumerate(lines, start=1):
        if not _is_row(line, width, kind):
            found = shortened(line.decode("utf-8", "replace"))
            return f"expected {width} {kind.name} with commas between them; found {found}", number
    return f"expected {width} {kind.name} per line", None


def _is_row(line: bytes, width: int, kind: _Kind) -> bool:
    cells = line.split(b",")
    try:
        fits = all(abs(kind.parse(cell)) <= kind.largest for cell in cells)
    except ValueError:
        return False
    return fits and len(cells) == width and not line.translate(None, kind.characters + b",")
