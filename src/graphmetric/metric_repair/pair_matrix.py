"""The one form in which metric repair takes distances: a square symmetric matrix with a zero diagonal."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidArgument

Matrix = NDArray[np.float64]

ASYMMETRY = 1e-6
"""Times the largest entry: what two directions of a pair may differ by, and a diagonal entry from zero.

Single precision rounds the two directions of a model's distance differently; anything larger is a mistake.
"""

LARGEST = 1e100
"""Above this, squares overflow."""

_BLOCK = 512  # rows; a block and its transpose stay in the cache


def check_matrix(distances: ArrayLike, name: str = "distances") -> Matrix:
    """A fresh symmetric copy in double precision with a zero diagonal; ``name`` is what messages call the matrix.

    Entries that are symmetric already keep their bits; rounding differences between d(i, j) and d(j, i) are averaged.
    """
    return check_in_place(as_square(distances, name), name)


def check_in_place(matrix: Matrix, name: str = "distances") -> Matrix:
    """The same without a copy, for an array of the caller's own; gives the array back."""
    largest = 0.0
    for start in range(0, len(matrix), _BLOCK):
        rows = matrix[start : start + _BLOCK]
        if not (rows.size == 0 or (rows.min() >= 0 and rows.max() <= LARGEST)):  # NaN is neither
            _refuse_entry(rows, start, name)
        largest = max(largest, float(rows.max(initial=0.0)))
    slack = ASYMMETRY * largest
    if (wrong := np.flatnonzero(np.diagonal(matrix) > slack)).size:
        i = int(wrong[0])
        raise InvalidArgument(f"{name}[{i}, {i}] = {matrix[i, i]:g} is on the diagonal; d(i, i) must be 0")
    np.fill_diagonal(matrix, 0.0)
    _make_symmetric(matrix, slack, name)
    return matrix


def as_square(values: ArrayLike, name: str, *, own: bool = False) -> Matrix:
    """A square array in double precision, a copy unless it is our ``own``; nothing else is checked."""
    try:
        matrix = np.array(values, dtype=np.float64, order="C", copy=None if own else True)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"{name} must be a square matrix of numbers; {error}") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidArgument(f"{name} must be a square matrix; got shape {matrix.shape}")
    return matrix


def _refuse_entry(rows: Matrix, start: int, name: str) -> None:
    i, j = map(int, np.argwhere(~((rows >= 0) & (rows <= LARGEST)))[0])
    value = rows[i, j]
    if np.isnan(value):
        problem = "is not known; fill it in, or leave out the items of which too little is known"
    elif value < 0:
        problem = "is negative; distances are at least 0"
    elif np.isinf(value):
        problem = "is not finite; put a large number in its place, or leave out the items that cannot be compared"
    else:
        problem = f"is above {LARGEST:g}, where squares overflow; give the distances in a larger unit"
    raise InvalidArgument(f"{name}[{start + i}, {j}] = {value:g} {problem}")


def _make_symmetric(matrix: Matrix, slack: float, name: str) -> None:
    for start in range(0, len(matrix), _BLOCK):
        rows = slice(start, start + _BLOCK)
        upper, lower = matrix[rows, start:], matrix[start:, rows].T
        if (upper == lower).all():
            continue
        apart = np.abs(upper - lower) > slack
        if apart.any():
            i, j = map(int, np.unravel_index(int(apart.argmax()), apart.shape))
            raise InvalidArgument(
                f"{name} is not symmetric: [{start + i}, {start + j}] = {upper[i, j]:g} but "
                f"[{start + j}, {start + i}] = {lower[i, j]:g}; give (D + D.T) / 2 if both are estimates"
            )
        upper[:] = (upper + lower) / 2
        lower[:] = upper
