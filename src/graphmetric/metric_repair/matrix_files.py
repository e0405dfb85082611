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

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import ArrayLike

from graphmetric.atomic import atomic_write
from graphmetric.errors import FileError, InvalidArgument, LimitExceeded, UnknownFormat
from graphmetric.metric_repair import matrix_arrays, matrix_tables
from graphmetric.metric_repair.matrix_content import Content
from graphmetric.metric_repair.pair_matrix import Matrix

MOST_ITEMS = 30_000
"""A matrix of so many takes 7 GB."""

_READERS: dict[str, Callable[[Path, int], Content]] = {
    ".npy": matrix_arrays.read_npy,
    ".npz": matrix_arrays.read_npz,
    ".csv": matrix_tables.read_csv,
    ".parquet": matrix_tables.read_parquet,
}
_WRITERS: dict[str, Callable[[BinaryIO, Content], None]] = {
    ".npy": matrix_arrays.write_npy,
    ".npz": matrix_arrays.write_npz,
    ".csv": matrix_tables.write_csv,
    ".parquet": matrix_tables.write_parquet,
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
