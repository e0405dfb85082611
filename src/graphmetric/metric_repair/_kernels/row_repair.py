"""The constraints that a fixed metric sets to a row of distances: find those that a row violates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import counted_entry, entry, hot_part, part

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_MOST_PER_ENTRY = 16  # constraints that one scan adds for each entry
_NEARLY = 0.6  # of the worst of an entry: only such are added


class RowProblem(NamedTuple):
    """The given row, how easily each entry moves, and the metric that it has to fit."""

    base: Floats
    """(m, m)."""
    given: Floats
    """(m,)."""
    give: Floats
    """(m,) 1 / weight; 0 where the entry is fixed."""


@counted_entry
def find_violated(problem: RowProblem, y: Floats, threshold: float) -> tuple[Codes, float]:
    """Constraints to add, sorted: for each entry some of the worst; and the largest excess."""
    m, n, violation = len(y), 0, 0.0
    found = np.empty(_MOST_PER_ENTRY * m, np.int64)
    for i in range(m):
        if _is_violated(problem.base[i], y, i, threshold):
            worst = _worst_excess(problem, y, i)
            if worst > threshold:
                violation = max(violation, worst)
                n += _list_violated(problem, y, i, max(threshold, _NEARLY * worst), found[n:])
    return np.unique(found[:n]), violation


@part
def _is_violated(row: Floats, y: Floats, i: int, threshold: float) -> bool:
    """Whether some constraint finds entry i too high or too low; without a branch, since it looks at all of them."""
    count = 0
    for j in range(len(row)):
        count += (y[i] - y[j] - row[j] > threshold) | (row[j] - y[i] - y[j] > threshold)
    return count > 0


@part
def _worst_excess(problem: RowProblem, y: Floats, i: int) -> float:
    """By how much a constraint finds entry i too high or too low at most; pairs of fixed entries do not count."""
    worst = 0.0
    for j in range(len(y)):
        if problem.give[i] + problem.give[j] > 0:
            worst = max(worst, y[i] - y[j] - problem.base[i, j], problem.base[i, j] - y[i] - y[j])
    return worst


@part
def _list_violated(problem: RowProblem, y: Floats, i: int, threshold: float, found: Codes) -> int:
    """Write the first constraints that find entry i too high or too low by more; each entry begins elsewhere."""
    m, n = len(y), 0
    for step in range(m):
        j = (i + step) % m
        above = y[i] - y[j] - problem.base[i, j]
        below = problem.base[i, j] - y[i] - y[j]
        if max(above, below) >= threshold and problem.give[i] + problem.give[j] > 0:
            found[n] = _difference(i, j) if above > below else _sum(i, j)
            n += 1
            if n == _MOST_PER_ENTRY:
                break
    return n


@entry
def find_largest_excess(problem: RowProblem, y: Floats) -> float:
    """By how much the most violated constraint is violated, those of two fixed entries included."""
    largest = 0.0
    for i in range(len(y)):
        for j in range(i):
            largest = max(largest, abs(y[i] - y[j]) - problem.base[i, j], problem.base[i, j] - y[i] - y[j])
    return largest


@hot_part
def _difference(i: int, j: int) -> int:
    """Number of y_i - y_j <= d_ij."""
    return (i << 32) | (j << 1)


@hot_part
def _sum(i: int, j: int) -> int:
    """Number of y_i + y_j >= d_ij."""
    return (min(i, j) << 32) | (max(i, j) << 1) | 1
