"""Shortest paths over a dense symmetric matrix of edge lengths."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import entry, part

_TILE = 96  # three tiles of doubles fit the second-level cache


@entry
def shorten_paths(x: NDArray[np.float64]) -> None:
    """Floyd and Warshall in place, tile by tile, on the upper triangle; the lower is its mirror to the last bit."""
    m = len(x)
    for via in range(0, m, _TILE):
        _relax_tile(x, via, via, via)
        for other in range(0, m, _TILE):
            if other != via:
                _relax_tile(x, via, other, via)
                _mirror_tile(x, via, other)
        for rows in range(0, m, _TILE):
            for columns in range(rows, m, _TILE):
                if rows != via and columns != via:
                    _relax_tile(x, rows, columns, via)
                    _mirror_tile(x, rows, columns)


@part
def _relax_tile(x: NDArray[np.float64], rows: int, columns: int, via: int) -> None:
    m = len(x)
    for k in range(via, min(via + _TILE, m)):
        through = x[k, columns : min(columns + _TILE, m)]
        for i in range(rows, min(rows + _TILE, m)):
            leg = x[i, k]
            row = x[i, columns : min(columns + _TILE, m)]
            for j in range(len(row)):
                length = leg + through[j]
                row[j] = length if length < row[j] else row[j]


@part
def _mirror_tile(x: NDArray[np.float64], rows: int, columns: int) -> None:
    m = len(x)
    for i in range(rows, min(rows + _TILE, m)):
        for j in range(columns, min(columns + _TILE, m)):
            x[j, i] = x[i, j]


@entry
def lower_towards(x: NDArray[np.float64], goal: NDArray[np.float64]) -> float:
    """Lower each distance of a metric that is above its goal to it, or as far as it can go as a leg of a triangle.

    Each sees what became of those before it. Returns the largest change.
    """
    m, largest = len(x), 0.0
    for i in range(m):
        for j in range(i):
            if x[i, j] <= goal[i, j]:
                continue
            least = goal[i, j]
            for k in range(m):
                if k != i and k != j:
                    least = max(least, abs(x[i, k] - x[j, k]))
            lowered = min(x[i, j], least)  # rounding may have put the least above it
            largest = max(largest, x[i, j] - lowered)
            x[i, j] = x[j, i] = lowered
    return largest
