"""The few constraints that hold the repaired matrix in place, with their multipliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.limits import Deadline
from graphmetric.metric_repair._kernels.sweeps import (
    BoundConstraints,
    Constraints,
    PairNumbers,
    PairValues,
    add_forces,
    number_sides,
    order_triangles,
    sweep_bounds,
    sweep_evenly,
    sweep_weighted,
)
from graphmetric.metric_repair.nearness_problem import NearnessProblem
from graphmetric.metric_repair.pair_matrix import Matrix
from graphmetric.metric_repair.repair_result import RepairDuals

Triangles = NDArray[np.int32]
Floats = NDArray[np.float64]
_NO_VALUES = np.empty(0)
_SLICE = 1 << 22  # triangles that a kernel visits before the clock is read: a twentieth of a second
_LONGEST_STEP = 50.0  # times the way since the last extrapolation


@dataclass(slots=True)
class _Worklist:
    """The constraints in numbers of pairs, ready to be swept."""

    constraints: Constraints
    bounds: BoundConstraints
    pairs: PairValues
    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    given: Floats


class _Moment(NamedTuple):
    """What a direction is taken from."""

    multipliers: Floats
    bounds: Floats
    values: Floats


class ActiveSet:
    """Multipliers of triangles and bounds, and the matrix x = d - W^-1 A' multipliers that belongs to them."""

    def __init__(self, problem: NearnessProblem, duals: RepairDuals) -> None:
        m = len(problem.given)
        self._problem = problem
        self.x: Matrix = problem.given.copy()
        self._number = np.full((m, m), -1, np.int32)
        self._triangles: Triangles = np.empty((0, 3), np.int32)
        self._keys = np.empty(0, np.int64)
        self._multipliers: Floats = _NO_VALUES
        self._bounded, bounds = _list_bounds(problem, duals)
        self._include(duals.triangles, duals.multipliers / problem.scale)
        self._work = self._number_pairs(bounds)
        self._before: _Moment | None = None
        self.rebuild()

    @property
    def is_idle(self) -> bool:
        """Whether there is no constraint at all, so that ``x`` is what was given."""
        return len(self._triangles) == 0 and len(self._bounded) == 0

    def add(self, triangles: Triangles) -> None:
        """Take in violated triangles and forget those whose multiplier has come down to zero."""
        kept = self._multipliers > 0
        self._triangles, self._keys = self._triangles[kept], self._keys[kept]
        self._multipliers = self._multipliers[kept]
        self._include(triangles, np.zeros(len(triangles)))
        self._write(self._work.given)
        self._work = self._number_pairs(self._work.bounds)
        self._before = None
        self._evaluate()

    def sweep(self, omega: float, deadline: Deadline) -> float:
        """One pass of over-relaxation over all constraints; gives the largest change. ``x`` waits for a rebuild.

        Raises:
            OutOfTime: The deadline has passed; the multipliers are as good as after a whole pass, only not as far.
        """
        work = self._work
        step = sweep_evenly if self._problem.inverse_weights is None else sweep_weighted
        largest = float(sweep_bounds(work.bounds, work.pairs, omega))
        for start in range(0, len(work.constraints.sides), _SLICE):
            deadline.check()
            part = slice(start, start + _SLICE)
            largest = max(largest, float(step(_take(work.constraints, part), work.pairs, omega)))
        return largest

    def extrapolate(self) -> None:
        """Go on in the direction of the multipliers since the last call, as far as that raises the dual objective.

        Where multipliers can be traded for each other, sweeps alone creep along in one direction for ever.
        """
        work, before = self._work, self._before
        now = _Moment(work.constraints.multiplier.copy(), work.bounds.multiplier.copy(), work.pairs.value.copy())
        self._before = now
        if before is None:
            return
        triangles, bounds = now.multipliers - before.multipliers, now.bounds - before.bounds
        length = _find_step(work, triangles, bounds, now.values - before.values)
        if length <= 0:
            return
        _, reached = self._evaluate()
        np.maximum(0.0, now.multipliers + length * triangles, out=work.constraints.multiplier)
        np.maximum(0.0, now.bounds + length * bounds, out=work.bounds.multiplier)
        if self._evaluate()[1] < reached:
            work.constraints.multiplier[:], work.bounds.multiplier[:] = now.multipliers, now.bounds
            self._evaluate()

    def rebuild(self) -> tuple[float, float]:
        """Write the matrix that belongs to the multipliers into ``x``, free of the rounding of many steps.

        Gives its objective and the dual objective: no metric within the bounds is nearer than the latter.
        """
        objectives = self._evaluate()
        self._write(self._work.pairs.value)
        return objectives

    def describe(self) -> RepairDuals:
        """Copies of the positive multipliers, in the units of the given distances."""
        held, bounds = self._multipliers > 0, self._work.bounds
        bound = bounds.multiplier > 0
        return RepairDuals(
            self._triangles[held],
            self._multipliers[held] * self._problem.scale,
            self._bounded[bound],
            (bounds.sign * bounds.multiplier)[bound] * self._problem.scale,
        )

    def _include(self, triangles: Triangles, multipliers: Floats) -> None:
        triangles, multipliers = self._leave_out_fixed(triangles, multipliers)
        keys = np.empty(len(triangles), np.int64)
        order_triangles(triangles, len(self.x), keys)
        self._keys, order = np.unique(np.concatenate([self._keys, keys]), return_index=True)  # the first of equal ones
        self._triangles = np.concatenate([self._triangles, triangles])[order]
        self._multipliers = np.concatenate([self._multipliers, multipliers])[order]

    def _leave_out_fixed(self, triangles: Triangles, multipliers: Floats) -> tuple[Triangles, Floats]:
        """Nothing can be done about a triangle whose three sides are fixed."""
        if (fixed := self._problem.fixed) is None:
            return triangles, multipliers
        i, j, k = triangles.T
        free = ~(fixed[i, j] & fixed[i, k] & fixed[j, k])
        return triangles[free], multipliers[free]

    def _number_pairs(self, bounds: BoundConstraints) -> _Worklist:
        count = len(self._bounded)
        room = min(len(self.x) * (len(self.x) - 1) // 2, count + 3 * len(self._triangles))
        ends = np.empty((room, 2), np.int32)
        ends[:count] = self._bounded
        self._number[self._bounded[:, 0], self._bounded[:, 1]] = np.arange(count)
        sides = np.empty_like(self._triangles)
        count = number_sides(self._triangles, PairNumbers(self._number, ends), count, sides)
        rows, columns = np.ascontiguousarray(ends[:count].T)
        self._number[rows, columns] = -1
        inverse, gain = np.ones(count), _NO_VALUES
        if self._problem.inverse_weights is not None:
            inverse = self._problem.inverse_weights[rows, columns]
            gain = 1.0 / inverse[sides].sum(axis=1)
        constraints = Constraints(sides, self._multipliers, gain)
        given = self._problem.given[rows, columns]
        return _Worklist(constraints, bounds, PairValues(given.copy(), inverse), rows, columns, given)

    def _evaluate(self) -> tuple[float, float]:
        """Set the values of the pairs from the multipliers; gives objective and dual objective."""
        work = self._work
        force = np.zeros(len(work.given))
        add_forces(work.constraints, work.bounds, force)
        moved = force * work.pairs.inverse_weight
        np.subtract(work.given, moved, out=work.pairs.value)
        objective = _dot(force, moved) / 2
        limits = _dot(work.bounds.sign * work.bounds.limit, work.bounds.multiplier)
        return objective, _dot(force, work.given) - limits - objective

    def _write(self, values: Floats) -> None:
        rows, columns = self._work.rows, self._work.columns
        self.x[rows, columns] = values
        self.x[columns, rows] = values


def _take(constraints: Constraints, part: slice) -> Constraints:
    """Some of the constraints, which share their numbers with the others."""
    return Constraints(constraints.sides[part], constraints.multiplier[part], constraints.gain[part])


def _dot(first: Floats, second: Floats) -> float:
    """Summed by numpy, not BLAS, whose threads would wait for cores that others use and round in another order."""
    return float((first * second).sum())


def _find_step(work: _Worklist, triangles: Floats, bounds: Floats, moved: Floats) -> float:
    """Where the dual objective, a parabola, is highest along a direction of multipliers; ``moved`` is that of x."""
    x, sides, bound = work.pairs.value, work.constraints.sides, work.bounds
    violation = x[sides[:, 0]] - x[sides[:, 1]] - x[sides[:, 2]]
    slope = _dot(triangles, violation) + _dot(bounds * bound.sign, x[bound.pair] - bound.limit)
    free = work.pairs.inverse_weight > 0
    curvature = float((moved[free] ** 2 / work.pairs.inverse_weight[free]).sum())
    return min(slope / curvature, _LONGEST_STEP) if curvature > 0 else 0.0


def _list_bounds(problem: NearnessProblem, duals: RepairDuals) -> tuple[NDArray[np.int32], BoundConstraints]:
    """Constraints for the pairs that were given outside the bounds.

    The others keep to them by themselves: a metric cut off at ``upper``, or raised to ``lower``, is a metric.
    """
    given = problem.given
    pairs = np.empty((0, 2), np.int32)
    if problem.lower > 0 or problem.upper < problem.largest:
        pairs = np.argwhere(np.triu((given < problem.lower) | (given > problem.upper), 1)).astype(np.int32)
    above = given[pairs[:, 0], pairs[:, 1]] > problem.upper
    sign = np.where(above, 1.0, -1.0)
    multiplier = np.zeros(len(pairs))
    if len(pairs) and len(duals.bounded_pairs):
        earlier = np.zeros(given.shape)
        earlier[tuple(duals.bounded_pairs.T)] = duals.bound_multipliers / problem.scale
        multiplier = np.maximum(0.0, sign * earlier[pairs[:, 0], pairs[:, 1]])
    limit = np.where(above, problem.upper, problem.lower)
    return pairs, BoundConstraints(np.arange(len(pairs), dtype=np.int32), sign, limit, multiplier)
