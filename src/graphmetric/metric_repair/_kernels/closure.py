"""Shortest paths over a dense symmetric matrix of edge lengths."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import entry, part

TILE = 96  # three tiles of doubles fit the second-level cache


@entry
def open_tile(x: NDArray[np.float64], via: int) -> int:
    """Paths within the tile that begins at ``via``, then those from it to all others; gives how many got shorter.

    With :func:`relax_rows` for all tiles of rows, and for one ``via`` after the other, this is the algorithm of Floyd
    and Warshall, in place, on the upper triangle; the lower is its mirror to the last bit.
    """
    shorter = _relax_tile(x, via, via, via)
    for other in range(0, len(x), TILE):
        if other != via:
            shorter += _relax_tile(x, via, other, via)
            _mirror_tile(x, via, other)
    return shorter


@entry
def relax_rows(x: NDArray[np.float64], via: int, rows: int) -> int:
    """Paths over the opened tile ``via`` from a tile of rows to all columns above the diagonal.

    Several tiles of rows may be worked on at once: they write to different places and read none of these.
    """
    shorter = 0
    for columns in range(rows, len(x), TILE):
        if rows != via and columns != via:
            found = _relax_tile(x, rows, columns, via)
            if found:
                _mirror_tile(x, rows, columns)
            shorter += found
    return shorter


@part
def _relax_tile(x: NDArray[np.float64], rows: int, columns: int, via: int) -> int:
    m, shorter = len(x), 0
    for k in range(via, min(via + TILE, m)):
        through = x[k, columns : min(columns + TILE, m)]
        for i in range(rows, min(rows + TILE, m)):
            leg = x[i, k]
            row = x[i, columns : min(columns + TILE, m)]
            for j in range(len(row)):
                length = leg + through[j]
                shorter += length < row[j]
                row[j] = length if length < row[j] else row[j]
    return shorter


@part
def _mirror_tile(x: NDArray[np.float64], rows: int, columns: int) -> None:
    m = len(x)
    for i in range(rows, min(rows + TILE, m)):
        for j in range(columns, min(columns + TILE, m)):
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
