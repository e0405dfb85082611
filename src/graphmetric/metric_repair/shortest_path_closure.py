"""Repair that only lowers distances: every pair gets the length of the shortest path between its two items."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from graphmetric.metric_repair._kernels.closure import shorten_paths
from graphmetric.metric_repair.pair_matrix import Matrix, check_matrix


def shortest_path_closure(distances: ArrayLike) -> Matrix:
    """The largest metric that is nowhere above the given distances.

    A metric below them is below the length of every path, hence below the shortest; and shortest paths are a metric.
    So of all metrics that lower only, this one is the nearest in every norm that grows with each change. Against the
    nearest metric of all it is poor: one distance that is too small drags down every pair it is a short cut for. Use
    it where the given distances are upper bounds, and :func:`triangle_fixing` where they are estimates.

    It is a fixed point: in double precision no entry is above the rounded sum of two others, and a second closure
    changes nothing. Zero distances between different items are kept as such. Time grows with the cube of the items,
    about a second at 1,000.
    """
    matrix = check_matrix(distances)
    while True:
        before = matrix.copy()
        shorten_paths(matrix)
        if np.array_equal(matrix, before):  # after rounding, once more; every round only lowers, so this ends
            return matrix
