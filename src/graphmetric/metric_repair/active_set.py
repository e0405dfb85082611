"""Scan, sweep, forget: how :func:`triangle_fixing` comes to the optimum and knows it.

Of the millions of triangle constraints only a few hold the repaired matrix in place. An :class:`ActiveSet` keeps these
with their multipliers; :class:`ActiveSetSolver` scans for violated triangles to add, sweeps over the list until it
settles, forgets those whose multiplier fell to zero, and ends when the duality gap is closed or the time is over.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.limits import Deadline, DeadlineExceeded, clock
from graphmetric._foundation.progress import Progress, progress
from graphmetric.metric_repair._kernels.triangles import (
    BoundConstraints,
    Constraints,
    PairNumbers,
    PairValues,
    add_forces,
    number_sides,
    sweep_bounds,
    sweep_evenly,
    sweep_weighted,
)
from graphmetric.metric_repair.duplicates import MergedProblem
from graphmetric.metric_repair.nearness import (
    ROUNDING,
    Floats,
    Matrix,
    NearnessProblem,
    OptimalityGap,
    RepairDuals,
    RepairResult,
)
from graphmetric.metric_repair.shortest_paths import close_paths, keep_bounds, raise_corners, raise_free, raise_to_half
from graphmetric.metric_repair.triangle_inequality import Scan, Triangles, TriangleScanner

_SLICE = 1 << 22  # triangles that a kernel visits before the clock is read: a twentieth of a second
_LONGEST_STEP = 50.0  # times the way since the last extrapolation
_OVER_RELAXATION = 1.5
_EXTRAPOLATED = 8  # sweeps between two extrapolations
_MOST_SWEEPS = 200  # between two scans
_SETTLED = 0.01  # of the largest violation: changes below this are not worth another sweep
_FINEST = 1e-3  # of the tolerance: the same, towards the end
_LISTED = 0.3  # of the tolerance: smaller violations are not listed
_WORTH = 0.02  # of the largest violation: smaller ones are left for later while only the worst are listed
_FEW_LEGS = 0.02  # of all pairs: if fewer have a violated triangle, all violated triangles are listed
_PERCENT = 100
_MOST_CLOSING = 0.35  # of the time: shortest paths that take longer are left out where a time limit is met
_SPARE = 1.3  # times what shortest paths are expected to take
_ADDING = 5e-7  # seconds for a triangle, until it was measured
_ENDING = 4  # times what it takes to copy the matrix at first: the last passes over it


class ActiveSetSolver:
    """A repair at work; call ``run`` once."""

    def __init__(
        self,
        merged: MergedProblem,
        duals: RepairDuals,
        threads: int,
        tolerance: float,
        deadline: Deadline,
        closing: float,
    ) -> None:
        """``closing`` is the number of seconds that shortest paths are expected to take.

        The answer must be there at the deadline, its last steps included: the search ends sooner.
        """
        started = clock()
        self._merged, self._problem = merged, merged.small
        self._active = ActiveSet(merged.small, duals)
        self._scanner = TriangleScanner(len(merged.kept), threads)
        self._tolerance = tolerance
        self._smallest = tolerance * merged.whole.largest
        self._closing, self._working, self._last_steps = closing, deadline, deadline
        if deadline.exists:
            ending = _ENDING * (clock() - started)
            self._last_steps = deadline.sooner(ending)
            closes = closing <= _MOST_CLOSING * max(0.0, deadline.remaining)
            self._working = deadline.sooner(ending + (_SPARE * closing if closes else 0.0))
        self._seen: tuple[Matrix, Scan] | None = None
        self._seconds_per_triangle = _ADDING
        self._finest = _FINEST
        self._sweeps = self._scans = 0
        self._only_worst = True
        self._last_violation = 0.0

    def run(self, max_scans: int, completed: tuple[Matrix, float] | None, started: float) -> RepairResult:
        """Work until the optimality gap is closed or a limit is met.

        ``completed`` is a metric that has the fixed distances, for when nothing better was found in time, and its
        largest violation.
        """
        try:
            if self._is_solved_already():
                found = self._merged.whole.given, OptimalityGap(True, 0.0, 0.0, 0.0)
            else:
                with progress("repairing distances", _PERCENT, "%") as shown:
                    found = self._approach(max_scans, shown)
        except DeadlineExceeded:
            _, bound = self._active.rebuild()
            matrix, violation = self._finish_late(completed)
            found = self._measure_gap(matrix, bound, violation)
        duals = self._merged.expand_duals(self._active.describe())
        return self._merged.whole.answer(*found, self._sweeps, self._scans, started, duals)

    def _is_solved_already(self) -> bool:
        """Return whether the given matrix is a metric, up to rounding, and within the bounds."""
        if not self._active.is_idle:
            return False
        self._scans += 1
        rounding = ROUNDING * self._problem.largest
        return not len(self._scanner.find(self._active.x, rounding, enough=1, deadline=self._working).triangles)

    def _approach(self, max_scans: int, shown: Progress) -> tuple[Matrix, OptimalityGap]:
        objective, bound = self._active.rebuild()
        first = 2 * self._smallest
        while True:
            scan, complete = self._scan()
            first = max(first, scan.largest)
            _show_violation(shown, first, scan.largest, self._smallest)
            feasible = complete and scan.largest <= self._smallest
            solved = feasible and self._problem.is_tight(objective, bound, self._tolerance)
            stopped = self._scans >= max_scans
            if solved or stopped:
                matrix, optimality = self._finish(bound, near=solved)
                if stopped or optimality.converged:
                    return matrix, optimality
            if feasible:
                self._finest /= 10
            self._add(scan)
            self._sweep(scan.largest)
            objective, bound = self._active.rebuild()

    def _scan(self) -> tuple[Scan, bool]:
        """Violated triangles, and whether these are all; while many are violated only the worst are listed."""
        self._set_goal()
        if self._only_worst:
            scan = self._find(max(_WORTH * self._last_violation, _LISTED * self._smallest), only_worst=True)
            pairs = len(self._active.x) * (len(self._active.x) - 1) / 2
            self._only_worst = len(scan.triangles) > _FEW_LEGS * pairs
            if scan.largest > self._smallest:
                return scan, False
        return self._find(_LISTED * self._smallest, only_worst=False), True

    def _set_goal(self) -> None:
        """Set the accepted violation for fixed distances: no shortest paths remove the rest then."""
        if self._problem.fixed is not None:
            largest = min(float(self._active.x.max(initial=0.0)), self._problem.upper)
            self._smallest = max(self._tolerance * largest, ROUNDING * self._problem.largest)

    def _find(self, threshold: float, *, only_worst: bool) -> Scan:
        self._scans += 1
        scan = self._scanner.find(self._active.x, threshold, only_worst=only_worst, deadline=self._working)
        self._last_violation = scan.largest
        if self._working.exists and self._problem.fixed is None:
            self._seen = (self._active.x.copy(), scan)  # what can be made a metric of without another scan
        return scan

    def _add(self, scan: Scan) -> None:
        """Take in what was found, if there is time for that: it is one step, which cannot be cut into slices."""
        self._working.check(self._seconds_per_triangle * len(scan.triangles))
        started = clock()
        self._active.add(scan.triangles)
        self._seconds_per_triangle = (clock() - started) / max(len(scan.triangles), 1)

    def _sweep(self, violation: float) -> None:
        """Sweep until the changes are small against the violation that the last scan found."""
        goal = max(_SETTLED * violation, self._finest * self._smallest)
        for _ in self._active.swept.sweep_until_converged(goal, self._working):
            self._sweeps += 1

    def _finish(self, bound: float, *, near: bool) -> tuple[Matrix, OptimalityGap]:
        """Turn the current matrix into one that keeps all constraints, and measure its optimality gap."""
        problem, x, until = self._problem, self._active.x, self._working
        if problem.fixed is None:
            return self._measure_gap(close_paths(problem, x, self._scanner, until, near=near), bound, 0.0)
        if not near:
            kept, violation = raise_free(problem, x, self._scanner, self._tolerance, until)
            return self._measure_gap(kept, bound, violation)
        kept = keep_bounds(problem, x)
        rounding = ROUNDING * float(kept.max(initial=0.0))
        return self._measure_gap(kept, bound, self._scanner.find(kept, rounding, deadline=until).largest)

    def _measure_gap(self, kept: Matrix, bound: float, violation: float) -> tuple[Matrix, OptimalityGap]:
        matrix = self._merged.expand(kept)
        return matrix, self._merged.whole.measure_gap(matrix, bound, self._tolerance, violation=violation)

    def _finish_late(self, completed: tuple[Matrix, float] | None) -> tuple[Matrix, float]:
        """The nearest metric that can be had in the time that is left; one always can, in m^2 steps.

        Also gives its largest violation.
        """
        problem, x, until = self._problem, self._active.x, self._last_steps
        if problem.fixed is not None:
            assert completed is not None
            try:
                until.check(self._closing)
                return raise_free(problem, x, self._scanner, self._tolerance, until)
            except DeadlineExceeded:
                matrix, violation = completed
                return matrix[np.ix_(self._merged.kept, self._merged.kept)], violation
        found = [raise_to_half(problem, problem.given)]
        if self._seen is not None:
            found.append(raise_corners(problem, *self._seen))
        try:
            until.check(self._closing)
            found.append(close_paths(problem, x, self._scanner, until, near=False))
        except DeadlineExceeded:
            pass
        return min(found, key=problem.measure), 0.0


def _show_violation(shown: Progress, first: float, violation: float, smallest: float) -> None:
    """Progress on a logarithmic scale from the first violation to the tolerance."""
    reached = math.log(first / max(violation, smallest)) / math.log(first / smallest)
    shown.advance(max(0, int(_PERCENT * reached) - shown.done), f"largest violation {violation:.1e}")


class SweptList:
    """A list of constraints with their multipliers, and the values x = d - W^-1 A' multipliers that belong to them."""

    def __init__(self, constraints: Constraints, bounds: BoundConstraints, given: Floats, inverse: Floats) -> None:
        """``given`` and ``inverse``, d and 1 / weight, are those of the pairs in the order of their numbers."""
        self._constraints, self._bounds, self._given = constraints, bounds, given
        self._pairs = PairValues(given.copy(), inverse)
        self._before: list[Floats] | None = None  # multipliers and values at the last extrapolation
        self.evaluate()

    @property
    def values(self) -> Floats:
        """x of each pair."""
        return self._pairs.value

    def sweep_until_converged(self, goal: float, deadline: Deadline) -> Iterator[None]:
        """Sweep until no change is above the goal; yields before every sweep."""
        for sweep in range(_MOST_SWEEPS):
            yield
            if self.sweep(1.0 if sweep == 0 else _OVER_RELAXATION, deadline) <= goal:
                return
            if sweep % _EXTRAPOLATED == _EXTRAPOLATED - 1:
                self.extrapolate()

    def sweep(self, omega: float, deadline: Deadline) -> float:
        """One pass of over-relaxation over all constraints; gives the largest change.

        Raises:
            DeadlineExceeded: The deadline has passed; the multipliers are valid, as after a whole pass.
        """
        step = sweep_weighted if len(self._constraints.gain) else sweep_evenly
        listed, bounds = self._constraints, self._bounds
        largest = float(sweep_bounds(bounds, self._pairs, omega)) if len(bounds.pair) else 0.0
        for start in range(0, len(listed.sides), _SLICE):
            deadline.check()
            part = slice(start, start + _SLICE)
            some = Constraints(listed.sides[part], listed.multiplier[part], listed.gain[part])  # views
            largest = max(largest, float(step(some, self._pairs, omega)))
        return largest

    def extrapolate(self) -> None:
        """Go on in the direction of the multipliers since the last call, as far as that raises the dual objective.

        Where multipliers can be traded for each other, sweeps alone creep along in one direction without end.
        """
        before, multipliers, bound_multipliers = self._before, self._constraints.multiplier, self._bounds.multiplier
        now = self._before = [values.copy() for values in (multipliers, bound_multipliers, self._pairs.value)]
        if before is None:
            return
        triangles, bounds, moved = (new - old for new, old in zip(now, before, strict=True))
        length = self._find_step(triangles, bounds, moved)
        if length <= 0:
            return
        _, reached = self.evaluate()
        np.maximum(0.0, now[0] + length * triangles, out=multipliers)
        np.maximum(0.0, now[1] + length * bounds, out=bound_multipliers)
        if self.evaluate()[1] < reached:
            multipliers[:], bound_multipliers[:] = now[:2]
            self.evaluate()

    def evaluate(self) -> tuple[float, float]:
        """Set the values of the pairs from the multipliers; gives objective and dual objective."""
        force, bounds = np.zeros(len(self._given)), self._bounds
        add_forces(self._constraints, bounds, force)
        moved = force * self._pairs.inverse_weight
        np.subtract(self._given, moved, out=self.values)
        objective = _dot(force, moved) / 2
        return objective, _dot(force, self._given) - _dot(bounds.sign * bounds.limit, bounds.multiplier) - objective

    def _find_step(self, triangles: Floats, bounds: Floats, moved: Floats) -> float:
        """Return the step that maximizes the dual objective along a direction of multipliers; x moves by ``moved``."""
        x, sides, bound = self.values, self._constraints.sides, self._bounds
        violation = x[sides[:, 0]] - x[sides[:, 1]] - x[sides[:, 2]]
        slope = _dot(triangles, violation) + _dot(bounds * bound.sign, x[bound.pair] - bound.limit)
        free = self._pairs.inverse_weight > 0
        curvature = float((moved[free] ** 2 / self._pairs.inverse_weight[free]).sum())
        return min(slope / curvature, _LONGEST_STEP) if curvature > 0 else 0.0


class ActiveSet:
    """Multipliers of triangles and bounds, and the matrix x = d - W^-1 A' multipliers that belongs to them."""

    def __init__(self, problem: NearnessProblem, duals: RepairDuals) -> None:
        m = len(problem.given)
        self._problem = problem
        self.x: Matrix = problem.given.copy()
        self._number = np.full((m, m), -1, np.int32)
        self._triangles: Triangles = np.empty((0, 3), np.int32)
        self._keys = np.empty(0, np.int64)
        self._multipliers: Floats = np.empty(0)
        self._bounded, self._bounds = _list_bounds(problem, duals)
        self._include(duals.triangles, duals.multipliers / problem.scale)
        self._number_pairs()
        self.rebuild()

    @property
    def is_idle(self) -> bool:
        """True if there are no constraints, so that ``x`` is the given matrix."""
        return len(self._triangles) == 0 and len(self._bounded) == 0

    def add(self, triangles: Triangles) -> None:
        """Take in violated triangles and forget those whose multiplier has come down to zero."""
        kept = self._multipliers > 0
        self._triangles, self._keys = self._triangles[kept], self._keys[kept]
        self._multipliers = self._multipliers[kept]
        self._include(triangles, np.zeros(len(triangles)))
        self._write(self._problem.given[self._rows, self._columns])
        self._number_pairs()

    def rebuild(self) -> tuple[float, float]:
        """Write the matrix that belongs to the multipliers into ``x``, free of the rounding of many steps.

        Returns its objective and the dual objective. No metric within the bounds has an objective below the second.
        """
        objectives = self.swept.evaluate()
        self._write(self.swept.values)
        return objectives

    def describe(self) -> RepairDuals:
        """Copies of the positive multipliers, in the units of the given distances."""
        held, bounds = self._multipliers > 0, self._bounds
        bound = bounds.multiplier > 0
        return RepairDuals(
            self._triangles[held],
            self._multipliers[held] * self._problem.scale,
            self._bounded[bound],
            (bounds.sign * bounds.multiplier)[bound] * self._problem.scale,
        )

    def _include(self, triangles: Triangles, multipliers: Floats) -> None:
        if (fixed := self._problem.fixed) is not None:  # nothing can be done about triangles with three fixed sides
            i, j, k = triangles.T
            free = ~(fixed[i, j] & fixed[i, k] & fixed[j, k])
            triangles, multipliers = triangles[free], multipliers[free]
        keys = _sweep_order(triangles, len(self.x))
        self._keys, order = np.unique(np.concatenate([self._keys, keys]), return_index=True)  # the first of equal ones
        self._triangles = np.concatenate([self._triangles, triangles])[order]
        self._multipliers = np.concatenate([self._multipliers, multipliers])[order]

    def _number_pairs(self) -> None:
        """Write the constraints in numbers of pairs, ready to be swept."""
        count = len(self._bounded)
        room = min(len(self.x) * (len(self.x) - 1) // 2, count + 3 * len(self._triangles))
        ends = np.empty((room, 2), np.int32)
        ends[:count] = self._bounded
        self._number[self._bounded[:, 0], self._bounded[:, 1]] = np.arange(count)
        sides = np.empty_like(self._triangles)
        count = number_sides(self._triangles, PairNumbers(self._number, ends), count, sides)
        self._rows, self._columns = where = np.ascontiguousarray(ends[:count].T)
        self._number[*where] = -1
        inverse, gain = np.ones(count), np.empty(0)
        if self._problem.inverse_weights is not None:
            inverse = self._problem.inverse_weights[*where]
            gain = 1.0 / inverse[sides].sum(axis=1)
        constraints = Constraints(sides, self._multipliers, gain)
        self.swept = SweptList(constraints, self._bounds, self._problem.given[*where], inverse)

    def _write(self, values: Floats) -> None:
        self.x[self._rows, self._columns] = values
        self.x[self._columns, self._rows] = values


def _sweep_order(triangles: Triangles, m: int) -> NDArray[np.int64]:
    """Keys by which triangles are sorted: corners a < b < c, then which of them is opposite the long side.

    In this order a sweep goes along two rows of the matrix at a time.
    """
    i, j, k = triangles.T.astype(np.int64)
    a, c = np.minimum(i, k), np.maximum(j, k)
    return np.asarray(((a * m + (i + j + k - a - c)) * m + c) * 3 + (k > i) + (k > j))


def _dot(first: Floats, second: Floats) -> float:
    """Summed by numpy, not BLAS, whose threads would wait for cores that others use and round in another order."""
    return float((first * second).sum())


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
