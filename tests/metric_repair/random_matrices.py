"""Matrices of distances that hypothesis draws."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st


@st.composite
def distance_matrices(draw: st.DrawFn, min_items: int = 0, max_items: int = 8) -> np.ndarray:
    """Symmetric, non-negative, zero diagonal; with many ties and zeros."""
    m = draw(st.integers(min_items, max_items))
    values = st.one_of(st.integers(0, 5).map(float), st.floats(0, 10).map(lambda value: round(value, 9)))
    upper = draw(st.lists(values, min_size=m * (m - 1) // 2, max_size=m * (m - 1) // 2))
    matrix = np.zeros((m, m))
    matrix[np.triu_indices(m, 1)] = upper
    return matrix + matrix.T


def points_in_space(m: int, seed: int, copies: bool = False) -> np.ndarray:
    """Euclidean distances of random points; with ``copies`` many of them in the same place."""
    generator = np.random.default_rng(seed)
    points = generator.random((m, 3))
    if copies:
        points = points[generator.integers(0, max(m // 3, 1), m)]
    return np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))


def largest_violation(matrix: np.ndarray) -> float:
    """The largest x_ij - (x_ik + x_jk), over all k."""
    if len(matrix) == 0:
        return 0.0
    return float((matrix[:, :, None] - (matrix[:, None, :] + matrix[None, :, :])).max())
