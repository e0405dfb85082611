"""The nearest metric in L1 and in L-infinity.

The least possible sum of changes, as a linear programme with few of its constraints.

The changes of a distance up and down are two variables of cost w; the constraints are the triangles. Almost all of
these never matter, so the programme begins without any, and after each solution the violated ones are added.

The least possible largest change, from shortest paths.

If every distance may change by e / w, a metric is possible exactly if the largest one below d + e / w, which is its
shortest paths, is nowhere below d - e / w. Both sides are linear in e along a given path, so the least e is the root
of a convex piecewise linear function. Newton's method finds it from below in a few steps, each step with a path
as its proof: the pair at its ends and the pairs along it cannot all change less.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, hstack

from graphmetric._foundation.limits import check_memory, effective_n_jobs
from graphmetric.errors import InvalidArgument, WorkBudgetExceeded
from graphmetric.metric_repair._kernels.closure import lower_towards
from graphmetric.metric_repair.nearness_problem import NearnessProblem, pose_problem
from graphmetric.metric_repair.pair_matrix import Matrix, check_matrix
from graphmetric.metric_repair.repair_result import RepairResult
from graphmetric.metric_repair.scanner import TriangleScanner
from graphmetric.metric_repair.shortest_path_closure import ROUNDING, close_in_place, complete_fixed, find_shortest_path

Floats = NDArray[np.float64]
Triangles = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class SmallestSum:
    """A matrix without violated triangles and how small its sum of changes can be."""

    matrix: Matrix
    bound: float
    """No metric has a smaller weighted sum of changes."""
    rounds: int


class L1Programme:
    """Least weighted sum of changes subject to a growing list of triangles."""

    def __init__(self, problem: NearnessProblem) -> None:
        m = len(problem.given)
        self._pairs = np.triu_indices(m, 1)
        self._number = np.zeros((m, m), np.int64)
        self._number[self._pairs] = np.arange(len(self._pairs[0]))
        self._number += self._number.T
        self._unit = max(problem.largest, problem.lower)  # the solver's numbers are about one, whatever the bounds
        self._given = problem.given[self._pairs] / self._unit
        self._weight, low, high = _ranges(problem, self._pairs)
        self._low, self._high = low / self._unit, high / self._unit
        self._triangles = np.empty((0, 3), np.int32)
        self._multipliers = np.empty(0)

    def add(self, triangles: Triangles) -> None:
        """Take more triangles into account; those that are already are not doubled."""
        self._triangles = np.unique(np.concatenate([self._triangles, triangles]), axis=0)

    def __len__(self) -> int:
        return len(self._triangles)

    def solve(self) -> Matrix:
        """The least sum of changes under the triangles so far."""
        legs = self._legs()
        up = np.stack([self._low, self._high], axis=1).clip(min=0.0)
        down = np.stack([-self._high, -self._low], axis=1).clip(min=0.0)
        answer = _solve_programme(
            np.concatenate([self._weight, self._weight]),
            A_ub=hstack([legs, -legs], format="csr"),
            b_ub=-(legs @ self._given),
            bounds=np.concatenate([up, down]),
        )
        if not answer.success:
            raise WorkBudgetExceeded(f"the linear programme of {len(self)} triangles was not solved: {answer.message}")
        self._multipliers = np.maximum(-answer.ineqlin.marginals, 0.0)
        changes = answer.x[: len(self._given)] - answer.x[len(self._given) :]
        return self._as_matrix((self._given + changes) * self._unit)

    def bound(self) -> float:
        """What no metric can be below, by the multipliers: valid whatever they are, tight if they are optimal."""
        legs = self._legs()
        price = legs.T @ self._multipliers
        at_ends = [self._weight * np.abs(end) + price * end for end in (self._low, self._high)]
        best = np.minimum(*at_ends)
        best = np.where((self._low <= 0) & (self._high >= 0), np.minimum(best, 0.0), best)
        return float(self._multipliers @ (legs @ self._given) + best.sum()) * self._unit

    def _legs(self) -> csr_array:
        """(triangles, pairs): 1 for the long side, -1 for the two legs."""
        i, j, k = self._triangles.T
        columns = np.stack([self._number[i, j], self._number[i, k], self._number[j, k]], axis=1)
        rows = np.repeat(np.arange(len(columns)), 3)
        signs = np.tile([1.0, -1.0, -1.0], len(columns))
        shape = (len(columns), len(self._given))
        return csr_array(coo_array((signs, (rows, columns.ravel())), shape=shape))

    def _as_matrix(self, values: Floats) -> Matrix:
        matrix = np.zeros(self._number.shape)
        matrix[self._pairs] = values
        return matrix + matrix.T


def _solve_programme(cost: Floats, **constraints: Any) -> Any:
    from scipy.optimize import linprog  # slow to import

    return linprog(cost, method="highs-ipm", **constraints)  # several times faster here than the simplex method


def _ranges(problem: NearnessProblem, pairs: tuple[NDArray[np.intp], ...]) -> tuple[Floats, Floats, Floats]:
    """Weights of the changes and how far down and up they may go; a fixed distance has no range and no weight.

    No nearest metric is above the largest given distance: cut off there, it would still be a metric, and nearer.
    """
    given = problem.given[pairs]
    low = problem.lower - given
    high = max(min(problem.upper, problem.largest), problem.lower) - given
    if problem.inverse_weights is None:
        return np.ones_like(given), low, high
    inverse = problem.inverse_weights[pairs]
    free = inverse > 0
    weight = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=free)
    return weight, np.where(free, low, 0.0), np.where(free, high, 0.0)


def find_smallest_sum(problem: NearnessProblem, scanner: TriangleScanner, tolerance: float) -> SmallestSum:
    """Solve and add what is violated, until nothing is by more than ``tolerance``."""
    if len(problem.given) < 2 or max(problem.largest, problem.lower) == 0:
        return SmallestSum(problem.given, 0.0, 0)
    programme, matrix, rounds = L1Programme(problem), problem.given, 0
    while True:
        found = scanner.find(matrix, tolerance, only_worst=True).triangles
        if len(found) == 0:
            found = scanner.find(matrix, tolerance).triangles
        if rounds and len(found) == 0:
            return SmallestSum(matrix, programme.bound(), rounds)
        programme.add(found)
        matrix = programme.solve()
        rounds += 1


_MOST_STEPS = 200
_SETTLED = 1e-9  # of the largest distance
_ROUNDING = 1e-13  # of the largest distance


class LeastChange(NamedTuple):
    """A metric and how much its most changed distance had to change."""

    matrix: Matrix
    bound: float
    """No metric has a smaller largest change; weighted."""
    steps: int


def find_least_change(problem: NearnessProblem, threads: int) -> LeastChange:
    """A metric with the least largest change.

    There are many. Starting from the largest of them, every distance above its given one is lowered to it as far as
    the others allow, one after the other and again, until none of them could be lowered by itself.
    """
    if len(problem.given) < 2:
        return LeastChange(problem.given, 0.0, 0)
    inverse = problem.inverse_weights if problem.inverse_weights is not None else np.ones_like(problem.given)
    change, steps = _leave_bounds(problem, inverse), 0
    while True:
        below, above = _allowed(problem, inverse, change)
        closed = above.copy()
        close_in_place(closed, threads)
        excess = below - closed
        i, j = map(int, np.unravel_index(int(excess.argmax()), excess.shape))
        steps += 1
        if excess[i, j] <= _ROUNDING * problem.largest or steps == _MOST_STEPS:
            break
        slope = _slope(problem, inverse, change, find_shortest_path(above, i, j))
        if slope == 0:  # fixed distances that contradict each other by less than the tolerance
            break
        change += float(excess[i, j]) / slope
    goal = np.maximum(problem.given, problem.lower)
    while lower_towards(closed, goal) > _SETTLED * problem.largest:
        pass
    if problem.fixed is not None:
        closed[problem.fixed] = problem.given[problem.fixed]
    return LeastChange(closed, change, steps)


def _leave_bounds(problem: NearnessProblem, inverse: Matrix) -> float:
    """The change that brings all given distances within the bounds."""
    outside = np.maximum(problem.given - problem.upper, problem.lower - problem.given)
    np.fill_diagonal(outside, 0.0)
    needed = np.divide(outside, inverse, out=np.zeros_like(outside), where=(outside > 0) & (inverse > 0))
    return float(needed.max(initial=0.0))


def _allowed(problem: NearnessProblem, inverse: Matrix, change: float) -> tuple[Matrix, Matrix]:
    """The least and the largest that every distance may be."""
    below = np.maximum(problem.given - change * inverse, problem.lower)
    above = np.minimum(problem.given + change * inverse, problem.upper)
    for limit in (below, above):
        np.fill_diagonal(limit, 0.0)
    return below, np.maximum(above, below)  # which rounding may have put in the wrong order


def _slope(problem: NearnessProblem, inverse: Matrix, change: float, path: list[int]) -> float:
    """How fast the gap between the ends of a path closes as the allowed change grows."""
    given, total = problem.given, 0.0
    for a, b in pairwise(path):
        if given[a, b] + change * inverse[a, b] < problem.upper:
            total += inverse[a, b]
    i, j = path[0], path[-1]
    return float(total + inverse[i, j] * (given[i, j] - change * inverse[i, j] > problem.lower))


_MATRICES_LINF = 6  # of double precision beside the given one: bounds, paths, excess, goal

MOST_ITEMS_L1 = 300
"""The linear programme takes a second at 80 items, half a minute to a few minutes at 200, far more beyond."""


def repair_in_l1(
    distances: ArrayLike,
    weights: ArrayLike | None = None,
    fixed: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
    tolerance: float = 1e-6,
    *,
    n_jobs: int | None = -1,
) -> RepairResult:
    """A metric with the least sum of changes: few distances move, some of them far.

    For distances of which most are right and some are grossly wrong. The minimum is a linear programme (HiGHS), with
    the triangles that matter; up to ``MOST_ITEMS_L1`` items. There may be several such metrics; this is one.

    Args and result are those of :func:`triangle_fixing`; ``objective`` is the weighted sum over pairs of |x - d|,
    ``sweeps`` the programmes that were solved.
    """
    started = time.perf_counter()
    problem = _pose(distances, weights, fixed, bounds, tolerance)
    if len(problem.given) > MOST_ITEMS_L1:
        raise InvalidArgument(
            f"the L1 repair is a linear programme for at most {MOST_ITEMS_L1} items; got {len(problem.given):,}: "
            "use triangle_fixing (L2), or repair_in_linf"
        )
    scanner = TriangleScanner(len(problem.given), effective_n_jobs(n_jobs))
    _refuse_contradictions(problem, scanner, tolerance)
    found = find_smallest_sum(problem, scanner, 0.5 * tolerance * problem.largest)
    matrix = _finish(problem, found.matrix, scanner.threads)
    changes = np.triu(np.abs(matrix - problem.given) * _weights(problem), 1)
    return _describe(problem, scanner, matrix, float(changes.sum()), found.bound, found.rounds, tolerance, started)


def repair_in_linf(
    distances: ArrayLike,
    weights: ArrayLike | None = None,
    fixed: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
    tolerance: float = 1e-6,
    *,
    n_jobs: int | None = -1,
) -> RepairResult:
    """A metric whose most changed distance changes as little as possible.

    For distances with a known largest error. Computed from shortest paths, a few seconds for 1,000 items. There are
    many such metrics; of this one no distance could be lowered to the given one by itself.

    Args and result are those of :func:`triangle_fixing`; ``objective`` is the largest weighted |x - d|, ``sweeps`` the
    computations of all shortest paths.
    """
    started = time.perf_counter()
    problem = _pose(distances, weights, fixed, bounds, tolerance)
    m = len(problem.given)
    check_memory(
        8 * _MATRICES_LINF * m * m,
        f"the L-infinity repair of {m:,} items",
        "repair fewer items, or only lower distances (decrease_only, --decrease-only)",
    )
    scanner = TriangleScanner(m, effective_n_jobs(n_jobs))
    _refuse_contradictions(problem, scanner, tolerance)
    found = find_least_change(problem, scanner.threads)
    changes = np.abs(found.matrix - problem.given) * _weights(problem)
    return _describe(
        problem, scanner, found.matrix, float(changes.max(initial=0.0)), found.bound, found.steps, tolerance, started
    )


def _pose(
    distances: ArrayLike,
    weights: ArrayLike | None,
    fixed: ArrayLike | None,
    bounds: tuple[float, float] | None,
    tolerance: float,
) -> NearnessProblem:
    if not (tolerance > 0 and math.isfinite(tolerance)):
        raise InvalidArgument(f"tolerance must be above 0; got {tolerance}")
    return pose_problem(check_matrix(distances), weights, fixed, bounds, own=True)


def _refuse_contradictions(problem: NearnessProblem, scanner: TriangleScanner, tolerance: float) -> None:
    if problem.fixed is not None:
        complete_fixed(problem, scanner, tolerance)


def _finish(problem: NearnessProblem, matrix: Matrix, threads: int) -> Matrix:
    """What the solver left within its tolerances, put right; shortest paths might lower fixed distances."""
    kept = matrix.clip(problem.lower, problem.upper)
    np.fill_diagonal(kept, 0.0)
    if problem.fixed is None:
        close_in_place(kept, threads)
        return kept
    return np.where(problem.fixed, problem.given, kept)


def _weights(problem: NearnessProblem) -> Matrix:
    """Weights of free pairs; 0 of fixed ones, which do not change."""
    if problem.inverse_weights is None:
        return np.ones_like(problem.given)
    inverse = problem.inverse_weights
    return np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0)


def _describe(
    problem: NearnessProblem,
    scanner: TriangleScanner,
    matrix: Matrix,
    objective: float,
    bound: float,
    rounds: int,
    tolerance: float,
    started: float,
) -> RepairResult:
    violation = scanner.find(matrix, ROUNDING * problem.largest).largest
    gap = objective - bound
    small = ROUNDING * problem.largest * len(matrix) ** 2  # of the sum over all pairs
    return RepairResult(
        matrix=matrix * problem.scale,
        converged=violation <= tolerance * problem.largest and gap <= max(tolerance * objective, small),
        max_violation=violation * problem.scale,
        duality_gap=max(gap, 0.0) / objective if objective else 0.0,
        objective=objective * problem.scale,
        changed_pairs=int(np.count_nonzero(np.triu(matrix != problem.given, 1))),
        sweeps=rounds,
        scans=rounds + 1,
        seconds=time.perf_counter() - started,
    )
