"""Project one row of distances onto the rows that a fixed metric allows, with multipliers for few constraints."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import counted_entry, counted_part, hot_part, part

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_MOST_PER_ENTRY = 16  # constraints that one scan adds for each entry
_NEARLY = 0.6  # of the worst of an entry: only such are added
_MOST_SWEEPS = 100  # over one list before all constraints are looked at again
_PLAIN_SWEEPS = 3  # before over-relaxation: it pays once the list has settled
_OVER_RELAXATION = 1.6
_SWEEPS_PER_LONG_STEP = 10


class RowProblem(NamedTuple):
    """The given row, how easily each entry moves, and the metric that it has to fit."""

    base: Floats
    """(m, m)."""
    given: Floats
    """(m,)."""
    give: Floats
    """(m,) 1 / weight; 0 where the entry is fixed."""


class RowSolution(NamedTuple):
    """How near the projection is to its end."""

    violation: float
    """The largest excess of a constraint; 0 when there is none."""
    slackness: float
    """Sum over the constraints of multiplier times excess: a lower bound of the objective minus the objective."""
    sweeps: int
    scans: int


@counted_entry
def project_row(problem: RowProblem, y: Floats, tolerance: float, allowed: float, max_scans: int) -> RowSolution:
    """Move ``y``, which starts as the given row, to the nearest row that fits.

    Ends when no constraint is violated by more than ``allowed`` and the gap is at most ``tolerance`` of the objective.
    """
    codes, multipliers = np.empty(0, np.int64), np.empty(0, np.float64)
    sweeps, scans = 0, 0
    while True:
        violated, violation = _find_violated(problem, y, 0.5 * allowed)
        slackness = _sum_slackness(problem, y, codes, multipliers)
        scans += 1
        done = violation <= allowed and abs(slackness) <= tolerance * _objective(problem, y)
        if done or scans == max_scans:
            return RowSolution(_largest_excess(problem, y), slackness, sweeps, scans)
        codes, multipliers = _merge(codes, multipliers, violated)
        _rebuild(problem, y, codes, multipliers)
        sweeps += _sweep_until(problem, y, codes, multipliers, 0.1 * violation)


@counted_part
def _sweep_until(problem: RowProblem, y: Floats, codes: Codes, multipliers: Floats, goal: float) -> int:
    """Sweep until the changes are small, with a long step along the last change now and then; the number of sweeps."""
    before = np.empty_like(multipliers)
    for sweep in range(_MOST_SWEEPS):
        before[:] = multipliers
        relaxation = 1.0 if sweep < _PLAIN_SWEEPS else _OVER_RELAXATION
        if _sweep(problem, y, codes, multipliers, relaxation) <= goal:
            return sweep + 1
        if sweep % _SWEEPS_PER_LONG_STEP == _SWEEPS_PER_LONG_STEP - 1:
            _go_on(problem, y, codes, multipliers, before)
    return _MOST_SWEEPS


@counted_part
def _go_on(problem: RowProblem, y: Floats, codes: Codes, multipliers: Floats, before: Floats) -> None:
    """Continue along the last change of the multipliers to the best point at which none is negative.

    Between items that are almost copies the constraints almost depend on each other: the multipliers then drift by
    the same little each sweep while the row stands still, for thousands of sweeps.
    """
    pull = np.zeros(len(y))
    slope, longest = 0.0, np.inf
    for c in range(len(codes)):
        i, j, sign = _read(codes[c])
        change = multipliers[c] - before[c]
        pull[i] += sign * change
        pull[j] -= change
        slope += change * _excess(problem, y, i, j, sign)
        if change < 0:
            longest = min(longest, multipliers[c] / -change)
    curvature = (problem.give * pull**2).sum()
    length = min(longest, slope / curvature) if curvature > 0 else longest
    if slope <= 0 or not np.isfinite(length):
        return
    multipliers[:] = np.maximum(multipliers + length * (multipliers - before), 0.0)
    _rebuild(problem, y, codes, multipliers)


@counted_part
def _find_violated(problem: RowProblem, y: Floats, threshold: float) -> tuple[Codes, float]:
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


@part
def _largest_excess(problem: RowProblem, y: Floats) -> float:
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


@counted_part
def _merge(codes: Codes, multipliers: Floats, new: Codes) -> tuple[Codes, Floats]:
    """Both lists in one, sorted, without the constraints whose multiplier fell to zero unless they are listed anew."""
    held = multipliers > 0
    merged = np.unique(np.concatenate((codes[held], new)))
    values = np.zeros(len(merged), np.float64)
    values[np.searchsorted(merged, codes[held])] = multipliers[held]
    return merged, values


@hot_part
def _read(code: int) -> tuple[int, int, float]:
    """The entries i and j of a constraint, and the sign of its y_i; that of y_j is always negative."""
    return code >> 32, (code >> 1) & 0x7FFFFFFF, -1.0 if code & 1 else 1.0


@hot_part
def _excess(problem: RowProblem, y: Floats, i: int, j: int, sign: float) -> float:
    return sign * (y[i] - problem.base[i, j]) - y[j]


@part
def _sweep(problem: RowProblem, y: Floats, codes: Codes, multipliers: Floats, relaxation: float) -> float:
    """One step of dual coordinate ascent for each constraint of the list; the largest residual that was met."""
    largest = 0.0
    for c in range(len(codes)):
        i, j, sign = _read(codes[c])
        total = problem.give[i] + problem.give[j]
        excess = _excess(problem, y, i, j, sign)
        step = max(excess / total, -multipliers[c])
        largest = max(largest, abs(step) * total)
        step = max(relaxation * excess / total, -multipliers[c])
        multipliers[c] += step
        y[i] -= sign * step * problem.give[i]
        y[j] += step * problem.give[j]
    return largest


@counted_part
def _rebuild(problem: RowProblem, y: Floats, codes: Codes, multipliers: Floats) -> None:
    """The row that belongs to the multipliers, free of the rounding of many steps."""
    y[:] = problem.given
    for c in range(len(codes)):
        i, j, sign = _read(codes[c])
        y[i] -= sign * multipliers[c] * problem.give[i]
        y[j] += multipliers[c] * problem.give[j]


@part
def _sum_slackness(problem: RowProblem, y: Floats, codes: Codes, multipliers: Floats) -> float:
    total = 0.0
    for c in range(len(codes)):
        i, j, sign = _read(codes[c])
        total += multipliers[c] * _excess(problem, y, i, j, sign)
    return total


@counted_part
def _objective(problem: RowProblem, y: Floats) -> float:
    free = problem.give > 0
    return ((y - problem.given)[free] ** 2 / problem.give[free]).sum() / 2
