"""Distances to new items, changed as little as possible so that they fit a metric, which stays as it is.

The repair of a matrix is defined for its own items only. A new item brings one row of distances y to the m known ones,
and the whole stays a metric exactly if |y_i - y_j| <= d_ij <= y_i + y_j: constraints on m numbers, not on m^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric._foundation.limits import Deadline, clock
from graphmetric._foundation.options import format_count
from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair._kernels.row_repair import RowProblem, find_largest_excess, find_violated
from graphmetric.metric_repair._kernels.triangles import BoundConstraints, Constraints
from graphmetric.metric_repair.active_set import SweptList
from graphmetric.metric_repair.nearness import (
    Floats,
    Matrix,
    OptimalityGap,
    RepairResult,
    check_mask,
    check_matrix,
    check_tolerance,
    relative_violation,
)
from graphmetric.metric_repair.triangle_fixing import triangle_fixing

_MOST_SCANS = 200
_SETTLED = 0.1  # of the largest violation: changes below this are not worth another sweep


@dataclass(frozen=True, slots=True, eq=False)
class RowRepair:
    """A row of distances that fits a metric, with its optimality gap."""

    row: Floats
    """(m,) distances of the new item to the known ones."""
    converged: bool
    """Whether violation and gap are within the tolerance."""
    max_violation: float
    """Largest amount by which a constraint is violated, as a part of the largest distance of metric and row."""
    duality_gap: float
    """(objective - lower bound of it) / objective: how much a nearer row could save at most."""
    objective: float
    """Half the weighted sum of (y_i - given_i)^2."""
    changed: int
    """Entries that differ from the given ones."""
    sweeps: int
    """Passes over the list of constraints."""
    scans: int
    """Passes over all constraints."""
    seconds: float


def repair_row(
    base: ArrayLike,
    row: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    fixed: ArrayLike | None = None,
    tolerance: float = 1e-6,
) -> RowRepair:
    """Extend a metric by one item, changing the estimated distances as little as possible.

    Finds the unique row nearest to ``row`` in weighted L2 for which the extended matrix is a metric; ``base`` is
    unchanged. Solved by dual coordinate ascent over an active set, as in :func:`triangle_fixing`; about 10 ms for 1,000
    items.

    Args:
        base: (m, m) metric, such as the matrix of a :class:`RepairResult`. Its triangle inequalities are not checked,
            which would take longer than the repair.
        row: (m,) estimated distances to the new item.
        weights: (m,) positive weight of each estimate. Default: all 1.
        fixed: (m,) mask of distances that are known and must not change.
        tolerance: Accepted violation, relative to the largest distance of metric and row, and accepted relative gap.

    Returns:
        The repaired row with its optimality gap; ``converged`` is False if the tolerance was not reached.
    """
    metric = check_matrix(base, "base")
    m = len(metric)
    given = _check_row(row, "row", m)
    check_tolerance(tolerance)
    weight = np.ones(m) if weights is None else _check_row(weights, "weights", m)
    if (weight == 0).any():
        at = int((weight == 0).argmax())
        raise InvalidArgument(f"weights[{at}] = 0; weights must be above 0; a small one makes a distance matter little")
    give = 1 / weight
    mask = np.zeros(m, dtype=np.bool_) if fixed is None else check_mask(fixed, (m,))
    give[mask] = 0.0
    _refuse_contradictions(metric, given, np.flatnonzero(mask), tolerance)
    return _project(RowProblem(metric, given, give), tolerance, clock())


def repair_rows(
    base: ArrayLike,
    rows: ArrayLike,
    among: ArrayLike,
    *,
    fixed: ArrayLike | None = None,
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    n_jobs: int | None = -1,
) -> RepairResult:
    """Extend a metric by several items at once; their distances to each other change too.

    Args:
        base: (m, m) metric, which is unchanged.
        rows: (k, m) estimated distances of the new items to the known ones.
        among: (k, k) those of the new items to each other.
        fixed: (k, m) mask of the distances of ``rows`` that are known and must not change.
        tolerance: As for :func:`repair_row`.
        time_limit: Seconds after which the best so far is returned.
        n_jobs: Threads; -1: one per core.

    Returns:
        The repair of the whole (m + k, m + k) matrix, the new items last.
    """
    metric = check_matrix(base, "base")
    given = np.asarray(rows, dtype=np.float64)
    new = check_matrix(among, "among")
    m, k = len(metric), len(new)
    if given.shape != (k, m):
        raise InvalidArgument(f"rows must be of shape {(k, m)}, new items by known ones; got {given.shape}")
    mask = np.zeros((k, m), dtype=np.bool_) if fixed is None else check_mask(fixed, (k, m))
    kept = np.ones((m, m), dtype=np.bool_)
    free = np.zeros((k, k), dtype=np.bool_)
    return triangle_fixing(
        np.block([[metric, given.T], [given, new]]),
        fixed=np.block([[kept, mask.T], [mask, free]]),
        tolerance=tolerance,
        time_limit=time_limit,
        n_jobs=n_jobs,
    )


def _project(problem: RowProblem, tolerance: float, started: float) -> RowRepair:
    """Scan for violated constraints and sweep over them until no constraint is violated and the gap is closed.

    Items whose rows of the metric are the same get the same distance: one of each set is solved for.
    """
    ones, group = np.unique(_first_twins(problem.base), return_inverse=True)
    small = problem if len(ones) == len(group) else _join_twins(problem, ones, group)
    y = small.given
    codes = np.empty(0, np.int64)
    multipliers = np.empty(0)
    least = bound = 0.0
    sweeps = scans = 0
    longest = float(problem.base.max(initial=0.0))
    while True:
        allowed = tolerance * max(longest, float(y.max(initial=0.0)))
        violated, violation = find_violated(small, y, 0.5 * allowed)
        scans += 1
        if scans == _MOST_SCANS or (violation <= allowed and abs(least - bound) <= tolerance * least):
            break
        held = multipliers > 0
        codes, first = np.unique(np.concatenate([codes[held], violated]), return_index=True)
        multipliers = np.concatenate([multipliers[held], np.zeros(len(violated))])[first]
        swept = _list_constraints(small, codes, multipliers)
        sweeps += sum(1 for _ in swept.sweep_until_converged(_SETTLED * violation, Deadline()))
        least, bound = swept.evaluate()
        y = swept.values[: len(y)]
    free = problem.give > 0
    row = np.where(free, y[group], problem.given)
    objective = float(((row - problem.given)[free] ** 2 / problem.give[free]).sum() / 2)
    gap = abs(least - bound) / objective if objective else 0.0
    excess = float(find_largest_excess(small, y))
    violation = relative_violation(excess, max(longest, float(row.max(initial=0.0))))
    optimality = OptimalityGap(excess <= allowed and gap <= tolerance, violation, gap, objective)
    changed = int(np.count_nonzero(row != problem.given))
    return RowRepair(row, *optimality, changed, sweeps, scans, clock() - started)


def _list_constraints(problem: RowProblem, codes: NDArray[np.int64], multipliers: Floats) -> SweptList:
    """The constraints as triangles whose third side, a distance of the metric, is fixed; it follows the entries."""
    m = len(problem.given)
    i = codes >> 32
    j = (codes >> 1) & 0x7FFFFFFF
    is_sum = (codes & 1).astype(np.bool_)
    third = m + np.arange(len(codes))
    sides = np.where(is_sum, (third, i, j), (i, j, third)).T
    gain = 1 / (problem.give[i] + problem.give[j])
    constraints = Constraints(np.ascontiguousarray(sides, np.int32), multipliers, gain)
    bounds = BoundConstraints(np.empty(0, np.int32), np.empty(0), np.empty(0), np.empty(0))
    given = np.concatenate([problem.given, problem.base[i, j]])
    return SweptList(constraints, bounds, given, np.concatenate([problem.give, np.zeros(len(codes))]))


def _first_twins(metric: Matrix) -> NDArray[np.int64]:
    """For each item the first one with the same distances to all, itself included, hence at distance 0."""
    first = (metric == 0).argmax(axis=1) if len(metric) else np.empty(0, np.int64)
    others = np.flatnonzero(first != np.arange(len(metric)))
    same = (metric[others] == metric[first[others]]).all(axis=1)
    first[others[~same]] = others[~same]
    return first


def _join_twins(problem: RowProblem, ones: NDArray[np.int64], group: NDArray[np.int64]) -> RowProblem:
    """Each set of twins as one item: at their weighted mean, or where one of them is fixed."""
    fixed = problem.give == 0
    weight = np.divide(1.0, problem.give, out=np.ones_like(problem.give), where=~fixed)
    total = np.bincount(group, weight)
    given, give = np.bincount(group, weight * problem.given) / total, 1 / total
    given[group[fixed]] = problem.given[fixed]
    give[group[fixed]] = 0.0
    return RowProblem(np.ascontiguousarray(problem.base[np.ix_(ones, ones)]), given, give)


def _check_row(values: ArrayLike, name: str, m: int) -> Floats:
    try:
        row = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"{name} must be a list of numbers; {error}") from None
    if row.ndim != 1:
        raise InvalidArgument(f"{name} must have one dimension; got shape {row.shape}")
    wrong = ~((row >= 0) & np.isfinite(row))
    if wrong.any():
        i = int(wrong.argmax())
        raise InvalidArgument(f"{name}[{i}] = {row[i]:g}; it must be a finite number, at least 0")
    if len(row) != m:
        raise InvalidArgument(
            f"{name} has {format_count(len(row), 'entry', 'entries')}; base has {format_count(m, 'item')}"
        )
    return row


def _refuse_contradictions(metric: Matrix, given: Floats, fixed: NDArray[np.int64], tolerance: float) -> None:
    y, d = given[fixed], metric[np.ix_(fixed, fixed)]
    allowed = tolerance * max(metric.max(initial=0.0), y.max(initial=0.0))
    wrong = np.maximum(np.abs(y[:, None] - y) - d, d - y[:, None] - y) > allowed
    if wrong.any():
        i, j = fixed[np.argwhere(wrong)[0]]
        raise InvalidArgument(
            f"the fixed distances {given[i]:g} to item {i} and {given[j]:g} to item {j} contradict the distance "
            f"{metric[i, j]:g} between the two: leave one of them free"
        )
