"""Scan, sweep, forget: how :func:`triangle_fixing` comes to the optimum and knows it."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np

from graphmetric._foundation.limits import Deadline, OutOfTime
from graphmetric._foundation.progress import Progress, progress
from graphmetric.metric_repair.active_set import ActiveSet
from graphmetric.metric_repair.copies import MergedProblem
from graphmetric.metric_repair.pair_matrix import Matrix
from graphmetric.metric_repair.repair_result import RepairResult
from graphmetric.metric_repair.scanner import Scan, TriangleScanner
from graphmetric.metric_repair.shortest_path_closure import (
    ROUNDING,
    close_in_place,
    close_paths,
    keep_bounds,
    raise_corners,
    raise_free,
    raise_to_half,
)

_OVER_RELAXATION = 1.5
_EXTRAPOLATED = 8  # sweeps between two extrapolations
_MOST_SWEEPS = 200  # between two scans
_SETTLED = 0.01  # of the largest violation: changes below this are not worth another sweep
_FINEST = 1e-3  # of the tolerance: likewise, towards the end
_LISTED = 0.3  # of the tolerance: smaller violations are not listed
_WORTH = 0.02  # of the largest violation: smaller ones are left for later while only the worst are listed
_FEW_LEGS = 0.02  # of all pairs: if fewer have a violated triangle, all violated triangles are listed
_PERCENT = 100
_MOST_CLOSING = 0.35  # of the time: shortest paths that take longer are left out where a time limit is met
_SPARE = 1.3  # times what they are expected to take
_ADDING = 5e-7  # seconds for a triangle, until it was measured
_TRIAL = 288  # items


@dataclass(frozen=True, slots=True)
class Limits:
    """When a repair is done."""

    tolerance: float
    """Largest violation as part of the largest distance, and gap as part of the objective."""
    deadline: Deadline
    """When the answer must be there, its last steps included."""
    max_scans: int
    closure: float = 0.0
    """Seconds that shortest paths are expected to take; see :func:`expect_closure`."""
    ending: float = 0.0
    """Seconds that the last passes over the matrix are expected to take."""

    @property
    def closes(self) -> bool:
        """Whether shortest paths at the end are worth their part of the time."""
        return self.closure <= _MOST_CLOSING * max(0.0, self.deadline.left)


class Refinement:
    """A repair at work: ``run`` once, then ``describe``."""

    def __init__(
        self,
        merged: MergedProblem,
        active: ActiveSet,
        scanner: TriangleScanner,
        limits: Limits,
        completed: Matrix | None = None,
    ) -> None:
        """``completed`` is a metric that has the fixed distances, for when nothing better was found in time."""
        self._merged, self._problem = merged, merged.small
        self._active, self._scanner, self._limits = active, scanner, limits
        self._completed = completed
        self._working = limits.deadline
        if limits.deadline.exists:
            self._working = limits.deadline.sooner(limits.ending + (_SPARE * limits.closure if limits.closes else 0.0))
        self._seen: tuple[Matrix, Scan] | None = None
        self._seconds_per_triangle = _ADDING
        self._smallest = limits.tolerance * merged.whole.largest
        self._finest = _FINEST
        self._sweeps = self._scans = 0
        self._only_worst = True
        self._last_violation = 0.0
        self._converged = False
        self._matrix: Matrix = merged.whole.given
        self._violation = self._objective = self._gap = 0.0

    def run(self) -> None:
        """Work until the certificate holds or a limit is met."""
        try:
            if self._is_solved_already():
                self._converged = True
                return
            with progress("repairing distances", _PERCENT, "%") as shown:
                self._approach(_Approach(shown, self._smallest))
        except OutOfTime:
            _, bound = self._active.rebuild()
            self._certify(self._finish_late(), bound)

    def describe(self, seconds: float) -> RepairResult:
        """The outcome, in the units of the given distances; the matrix is scaled in place, since it may be large."""
        scale = self._problem.scale
        changed = int(np.count_nonzero(self._matrix != self._merged.whole.given)) // 2
        self._matrix *= scale
        return RepairResult(
            matrix=self._matrix,
            converged=self._converged,
            max_violation=self._violation * scale,
            duality_gap=self._gap,
            objective=self._objective * scale**2,
            changed_pairs=changed,
            sweeps=self._sweeps,
            scans=self._scans,
            seconds=seconds,
            duals=self._merged.expand_duals(self._active.describe()),
        )

    def _approach(self, shown: _Approach) -> None:
        objective, bound = self._active.rebuild()
        while True:
            scan, complete = self._scan()
            shown.at(scan.largest)
            feasible = complete and scan.largest <= self._smallest
            solved = feasible and self._is_tight(objective, bound)
            stopped = self._scans >= self._limits.max_scans
            if solved or stopped:
                self._finish(bound, near=solved)
                if self._converged or stopped:
                    return
            if feasible:
                self._finest /= 10
            self._add(scan)
            self._sweep(scan.largest)
            objective, bound = self._active.rebuild()

    def _is_solved_already(self) -> bool:
        """Whether the given matrix is a metric, up to rounding, and within the bounds."""
        if not self._active.is_idle:
            return False
        self._scans += 1
        rounding = ROUNDING * self._problem.largest
        return not len(self._scanner.find(self._active.x, rounding, enough=1, deadline=self._working).triangles)

    def _scan(self) -> tuple[Scan, bool]:
        """Violated triangles, and whether these are all; while many are violated only the worst are listed."""
        if self._only_worst:
            scan = self._find(max(_WORTH * self._last_violation, _LISTED * self._smallest), only_worst=True)
            pairs = len(self._active.x) * (len(self._active.x) - 1) / 2
            self._only_worst = len(scan.triangles) > _FEW_LEGS * pairs
            if scan.largest > self._smallest:
                return scan, False
        return self._find(_LISTED * self._smallest, only_worst=False), True

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
        started = time.perf_counter()
        self._active.add(scan.triangles)
        self._seconds_per_triangle = (time.perf_counter() - started) / max(len(scan.triangles), 1)

    def _sweep(self, violation: float) -> None:
        """Sweep until the changes are small against the violation that the last scan found."""
        goal = max(_SETTLED * violation, self._finest * self._smallest)
        for sweep in range(_MOST_SWEEPS):
            self._sweeps += 1
            if self._active.sweep(1.0 if sweep == 0 else _OVER_RELAXATION, self._working) <= goal:
                return
            if sweep % _EXTRAPOLATED == _EXTRAPOLATED - 1:
                self._active.extrapolate()

    def _is_tight(self, objective: float, bound: float) -> bool:
        """Whether the objective is known, relative to itself, or every distance is, relative to the largest."""
        gap, tolerance = abs(objective - bound), self._limits.tolerance
        return gap <= tolerance * objective or math.sqrt(2 * gap * self._problem.largest_inverse) <= self._smallest

    def _finish(self, bound: float, *, near: bool) -> None:
        """Turn the current matrix into one that keeps all constraints, and certify it."""
        problem, x, until = self._problem, self._active.x, self._working
        violation = 0.0
        if problem.fixed is None:
            kept = close_paths(problem, x, self._scanner, until, near=near)
        else:
            tolerance = self._limits.tolerance
            kept = keep_bounds(problem, x) if near else raise_free(problem, x, self._scanner, tolerance, until)
            violation = self._scanner.find(kept, ROUNDING * problem.largest, deadline=until).largest
        self._certify(kept, bound, violation)

    def _finish_late(self) -> Matrix:
        """The nearest metric that can be had in the time that is left; one always can, in m^2 steps."""
        problem, x, until = self._problem, self._active.x, self._limits.deadline.sooner(self._limits.ending)
        if problem.fixed is not None:
            assert self._completed is not None
            try:
                until.check(self._limits.closure)
                return raise_free(problem, x, self._scanner, self._limits.tolerance, until)
            except OutOfTime:
                return self._completed[np.ix_(self._merged.kept, self._merged.kept)]
        found = [raise_to_half(problem, problem.given)]
        if self._seen is not None:
            found.append(raise_corners(problem, *self._seen))
        try:
            until.check(self._limits.closure)
            found.append(close_paths(problem, x, self._scanner, until, near=False))
        except OutOfTime:
            pass
        return min(found, key=problem.measure)

    def _certify(self, kept: Matrix, bound: float, violation: float = 0.0) -> None:
        self._violation = violation
        self._matrix = self._merged.expand(kept)
        self._objective = self._merged.whole.measure(self._matrix)
        self._gap = abs(self._objective - bound) / self._objective if self._objective else 0.0
        self._converged = self._violation <= self._smallest and self._is_tight(self._objective, bound)


def expect_closure(m: int, threads: int) -> float:
    """Seconds that the shortest paths of m items will take, from a small trial, which compiles them if need be."""
    trial = np.ones((_TRIAL, _TRIAL))
    close_in_place(trial, threads, rounds=1)
    started = time.perf_counter()
    close_in_place(trial, threads, rounds=1)
    return (time.perf_counter() - started) * (m / _TRIAL) ** 3


class _Approach:
    """Progress on a logarithmic scale from the first violation to the tolerance."""

    def __init__(self, shown: Progress, smallest: float) -> None:
        self._shown, self._smallest = shown, smallest
        self._first = self._percent = 0.0

    def at(self, violation: float) -> None:
        self._first = max(self._first, violation, 2 * self._smallest)
        reached = math.log(self._first / max(violation, self._smallest)) / math.log(self._first / self._smallest)
        amount = max(0, int(_PERCENT * reached - self._percent))
        self._percent += amount
        self._shown.advance(amount, f"largest violation {violation:.1e}")
