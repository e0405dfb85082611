"""The nearest metric in L1, in L-infinity, or with known distances: :func:`repair_matrix` is the door to every norm.

In L1 the least possible sum of changes is a linear program. The changes of a distance up and down are two variables
of cost w; the constraints are the triangles. Almost all of these never matter, so the program begins without any,
and after each solution the violated ones are added.

In L-infinity the least possible largest change comes from shortest paths. If every distance may change by e / w, a
metric is possible exactly if the largest one below d + e / w, which is its shortest paths, is nowhere below d - e / w.
Both sides are linear in e along a given path, so the least e is the root of a convex piecewise linear function.
Newton's method finds it from below in a few steps, each step with a path as its proof: the pair at its ends and the
pairs along it cannot all change less.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array, csr_array, hstack

from graphmetric._foundation.limits import check_memory, clock, effective_n_jobs
from graphmetric.errors import InvalidArgument, WorkBudgetExceeded
from graphmetric.metric_repair._kernels.triangles import lower_towards
from graphmetric.metric_repair.nearness import (
    ROUNDING,
    Floats,
    Mask,
    Matrix,
    NearnessProblem,
    Norm,
    RepairResult,
    as_square,
    check_matrix,
    check_tolerance,
    pose_problem,
)
from graphmetric.metric_repair.shortest_paths import (
    close_in_place,
    complete_fixed,
    find_shortest_path,
    keep_bounds,
    shortest_path_closure,
)
from graphmetric.metric_repair.triangle_fixing import triangle_fixing
from graphmetric.metric_repair.triangle_inequality import Triangles, TriangleScanner

MOST_ITEMS_L1 = 300
"""The linear program takes a second at 80 items, half a minute to a few minutes at 200, far more beyond."""

_MATRICES_LINF = 6  # of double precision beside the given one: bounds, paths, excess, goal
_MOST_STEPS = 200
_SETTLED = 1e-9  # of the largest distance
_EXCESS_OF_ROUNDING = 1e-13  # of the largest distance


def repair_matrix(
    predicted: ArrayLike,
    known: ArrayLike | None = None,
    *,
    norm: Norm = "l2",
    decrease_only: bool = False,
    weights: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    n_jobs: int | None = -1,
) -> RepairResult:
    """The metric nearest to predicted distances; with ``known``, the nearest that has the known ones.

    Differs from the paper: its repair starts from known distances too, but then moves them like all others, away from
    the truth. Here they are fixed. Numbers of this transductive mode are not to be compared with those of predictions
    alone, since the answers to some questions have been put in.

    Args:
        predicted: (m, m) symmetric, with zero diagonal. May be NaN where ``known`` has a number.
        known: (m, m) true distances on the same scale, NaN where unknown; they must not contradict each other.
        norm: What is minimized: the sum of squared changes ("l2"); the sum of absolute changes ("l1"), which moves
            few distances, some of them far, for distances most of which are right; or the largest change ("linf"), for
            distances with a known largest error. In l1 and linf there may be several nearest metrics; this gives one.
            l2 takes a second for thousands of items, linf a few seconds for 1,000; l1 is a linear program (HiGHS)
            for up to ``MOST_ITEMS_L1`` items.
        decrease_only: Instead, the largest metric that is nowhere above the given distances: see
            :func:`shortest_path_closure`.
        weights: (m, m) how much a change of each distance costs.
        bounds: Least and largest distance that two different items may have.
        tolerance: Violation, as a part of the largest distance of the result, and relative gap that are accepted.
        time_limit: Seconds, for the norm l2, see :func:`triangle_fixing`, and for ``decrease_only``, which raises
            ``WorkBudgetExceeded`` where it was not enough.
        n_jobs: Threads; -1: one per core.

    Returns:
        For l2, see :func:`triangle_fixing`. The objective of the other norms is the weighted sum, or the largest, of
        |x - d| over pairs, and ``sweeps`` is the number of programs solved, or of computations of all shortest paths.
    """
    check_tolerance(tolerance)
    distances, fixed = write_known(predicted, known)
    if decrease_only:
        if fixed is not None or weights is not None or bounds is not None or norm != "l2":
            raise InvalidArgument("decrease_only takes no known distances, weights, bounds or other norms")
        return _only_decrease(distances, time_limit, n_jobs)
    if norm == "l2":
        return triangle_fixing(distances, weights, fixed, bounds, tolerance, time_limit=time_limit, n_jobs=n_jobs)
    if norm not in ("l1", "linf"):
        raise InvalidArgument(f"norm must be 'l2', 'l1' or 'linf'; got {norm!r}")
    if time_limit is not None:
        raise InvalidArgument(f"time_limit is for the norm l2; the norm {norm} ends when it is solved")
    started = clock()
    problem = pose_problem(distances, weights, fixed, bounds)
    _refuse_too_large(len(problem.given), norm)
    scanner = TriangleScanner(len(problem.given), effective_n_jobs(n_jobs))
    if problem.fixed is not None:
        complete_fixed(problem, scanner, tolerance)
    solve = _find_smallest_sum if norm == "l1" else _find_least_change
    matrix, bound, rounds = solve(problem, scanner, tolerance)
    violation = scanner.find(matrix, ROUNDING * float(matrix.max(initial=0.0))).largest
    optimality = problem.measure_gap(matrix, bound, tolerance, violation=violation, norm=norm)
    return problem.answer(matrix, optimality, rounds, rounds + 1, started)


def write_known(predicted: ArrayLike, known: ArrayLike | None) -> tuple[Matrix, Mask | None]:
    """Predicted distances with the known ones in their places, and where these are; None if nothing is known."""
    distances = as_square(predicted, "the matrix")
    if known is None:
        return check_matrix(distances, "the matrix"), None
    truth = as_square(known, "known")
    if truth.shape != distances.shape:
        raise InvalidArgument(f"known has shape {truth.shape}, the matrix {distances.shape}; they must be of one shape")
    truth = np.where(np.isnan(truth), truth.T, truth)  # one direction is enough
    fixed = ~np.isnan(truth)
    np.fill_diagonal(fixed, False)
    truth[~fixed] = 0.0
    distances = np.where(fixed, check_matrix(truth, "known"), distances)
    return check_matrix(distances, "the matrix"), fixed if fixed.any() else None


def _only_decrease(distances: Matrix, time_limit: float | None, n_jobs: int | None) -> RepairResult:
    """The closure as a result; among metrics below the given distances it is the optimum of every norm."""
    started, m = clock(), len(distances)
    check_memory(3 * 8 * m * m, f"the shortest paths of {m:,} items", "take fewer items")
    problem = pose_problem(distances, None, None, None)
    closed = shortest_path_closure(problem.given, time_limit=time_limit, n_jobs=n_jobs)
    return problem.answer(closed, problem.measure_gap(closed, problem.measure(closed), 1.0), 1, 1, started)


def _refuse_too_large(m: int, norm: Norm) -> None:
    if norm == "linf":
        check_memory(
            8 * _MATRICES_LINF * m * m,
            f"the L-infinity repair of {m:,} items",
            "repair fewer items, or only lower distances (decrease_only, --decrease-only)",
        )
    elif m > MOST_ITEMS_L1:
        raise InvalidArgument(
            f"the L1 repair is a linear programme for at most {MOST_ITEMS_L1} items; got {m:,}: use the norm l2 or linf"
        )


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
        inverse = problem.inverse_or_ones[self._pairs]
        self._weight = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=inverse > 0)
        # No nearest metric is above the largest given distance: cut off there, it would be a metric, and nearer.
        ends = problem.lower, max(min(problem.upper, problem.largest), problem.lower)
        self._low, self._high = (np.where(inverse > 0, end / self._unit - self._given, 0.0) for end in ends)
        self._triangles = np.empty((0, 3), np.int32)
        self._multipliers = np.empty(0)

    def add(self, triangles: Triangles) -> bool:
        """Take more triangles into account, none of them twice; False if all were there already."""
        before = len(self._triangles)
        self._triangles = np.unique(np.concatenate([self._triangles, triangles]), axis=0)
        return len(self._triangles) > before

    def solve(self) -> Matrix:
        """The matrix with the least sum of changes under the triangles so far."""
        from scipy.optimize import linprog  # slow to import

        solve: Any = linprog  # its stubs know no sparse matrices
        legs = self._legs()
        up = np.stack([self._low, self._high], axis=1).clip(min=0.0)
        down = np.stack([-self._high, -self._low], axis=1).clip(min=0.0)
        solved = solve(
            np.concatenate([self._weight, self._weight]),
            A_ub=hstack([legs, -legs], format="csr"),
            b_ub=-(legs @ self._given),
            bounds=np.concatenate([up, down]),
            method="highs-ipm",  # several times faster here than the simplex method
        )
        if not solved.success:
            raise WorkBudgetExceeded(
                f"the linear programme of {len(self._triangles)} triangles was not solved: {solved.message}"
            )
        self._multipliers = np.maximum(-solved.ineqlin.marginals, 0.0)
        matrix = np.zeros(self._number.shape)
        matrix[self._pairs] = (self._given + np.subtract(*np.split(solved.x, 2))) * self._unit
        return matrix + matrix.T

    def bound(self) -> float:
        """A lower bound for all metrics from the multipliers: valid whatever they are, tight if they are optimal."""
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


def _find_smallest_sum(
    problem: NearnessProblem, scanner: TriangleScanner, tolerance: float
) -> tuple[Matrix, float, int]:
    """Solve and add the violated triangles until none is violated by more than half of the tolerance.

    A triangle that the program already contains is violated only by the solver's rounding, which another round would
    not change.

    Returns a matrix, a lower bound of the sum of changes of all metrics, and the number of programs solved.
    """
    matrix, bound, rounds = problem.given, 0.0, 0
    if len(matrix) > 1 and max(problem.largest, problem.lower) > 0:
        programme = L1Programme(problem)
        while True:
            allowed = 0.5 * tolerance * float(matrix.max(initial=0.0))
            found = scanner.find(matrix, allowed, only_worst=True).triangles
            if len(found) == 0:
                found = scanner.find(matrix, allowed).triangles
            if not programme.add(found) and rounds:
                break
            matrix = programme.solve()
            rounds += 1
        bound = programme.bound()
    matrix = keep_bounds(problem, matrix)  # what the solver left within its tolerances
    if problem.fixed is None:
        close_in_place(matrix, scanner.threads)
    else:  # shortest paths might lower fixed distances
        matrix = np.where(problem.fixed, problem.given, matrix)
    return matrix, bound, rounds


def _find_least_change(
    problem: NearnessProblem, scanner: TriangleScanner, tolerance: float
) -> tuple[Matrix, float, int]:
    """A metric with the least largest change, that change, and how often all shortest paths were computed.

    There are many such metrics. Starting from the largest of them, every distance above its given one is lowered to it
    as far as the others allow, one after the other and again, until none of them could be lowered by itself.
    """
    given, goal = problem.given, np.maximum(problem.given, problem.lower)
    if len(given) < 2:
        return given.copy(), 0.0, 0
    inverse = problem.inverse_or_ones
    change, steps = _leave_bounds(problem, inverse), 0
    while True:
        below, above = _allowed(problem, inverse, change)
        closed = above.copy()
        close_in_place(closed, scanner.threads)
        excess = below - closed
        i, j = map(int, np.unravel_index(int(excess.argmax()), excess.shape))
        steps += 1
        if excess[i, j] <= _EXCESS_OF_ROUNDING * problem.largest or steps == _MOST_STEPS:
            break
        slope = _slope(problem, inverse, change, find_shortest_path(above, i, j))
        if slope == 0:  # fixed distances that contradict each other by less than the tolerance
            break
        change += float(excess[i, j]) / slope
    while lower_towards(closed, goal) > _SETTLED * problem.largest:
        pass
    return closed if problem.fixed is None else np.where(problem.fixed, given, closed), change, steps


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
    return below, np.maximum(above, below)  # rounding may have put them in the wrong order


def _slope(problem: NearnessProblem, inverse: Floats, change: float, path: list[int]) -> float:
    """Return the rate at which the gap between the ends of a path closes as the allowed change grows."""
    given, i, j = problem.given, path[0], path[-1]
    along = (inverse[a, b] for a, b in pairwise(path) if given[a, b] + change * inverse[a, b] < problem.upper)
    return float(sum(along) + inverse[i, j] * (given[i, j] - change * inverse[i, j] > problem.lower))
