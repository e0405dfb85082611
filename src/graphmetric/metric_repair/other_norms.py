"""The nearest metric in L1 and in L-infinity."""

from __future__ import annotations

import math
import time

import numpy as np
from numpy.typing import ArrayLike

from graphmetric.errors import InvalidArgument
from graphmetric.jobs import effective_n_jobs
from graphmetric.memory import check_memory
from graphmetric.metric_repair.completion import complete_fixed
from graphmetric.metric_repair.feasible_matrix import ROUNDING
from graphmetric.metric_repair.l1_programme import find_smallest_sum
from graphmetric.metric_repair.linf_paths import find_least_change
from graphmetric.metric_repair.nearness_problem import NearnessProblem, pose_problem
from graphmetric.metric_repair.pair_matrix import Matrix, check_matrix
from graphmetric.metric_repair.repair_result import RepairResult
from graphmetric.metric_repair.scanner import TriangleScanner
from graphmetric.metric_repair.shortest_path_closure import close_in_place

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
