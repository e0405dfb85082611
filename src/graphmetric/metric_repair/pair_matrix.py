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
    matrix = _as_square(distances, name)
    _refuse_entries(matrix, ~(np.abs(matrix) <= LARGEST), name, "is no distance; fill in or leave out what is unknown")
    _refuse_entries(matrix, matrix < 0, name, "is negative; distances are at least 0")
    slack = ASYMMETRY * float(matrix.max(initial=0.0))
    _refuse_entries(matrix, np.diag(np.diagonal(matrix) > slack), name, "is on the diagonal; d(i, i) must be 0")
    np.fill_diagonal(matrix, 0.0)
    _make_symmetric(matrix, slack, name)
    return matrix


def _as_square(values: ArrayLike, name: str) -> Matrix:
    try:
        matrix = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"{name} must be a square matrix of numbers; {error}") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidArgument(f"{name} must be a square matrix; got shape {matrix.shape}")
    return matrix


def _refuse_entries(matrix: Matrix, wrong: NDArray[np.bool_], name: str, problem: str) -> None:
    if wrong.any():
        i, j = map(int, np.unravel_index(int(wrong.argmax()), wrong.shape))
        raise InvalidArgument(f"{name}[{i}, {j}] = {matrix[i, j]:g} {problem}")


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
