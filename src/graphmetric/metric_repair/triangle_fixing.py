r"""The metric nearest to a matrix of distances: Algorithm 1 of the paper, made right and made fast."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from graphmetric._foundation.limits import Deadline, OutOfTime, check_memory, effective_n_jobs
from graphmetric.errors import InvalidArgument, WorkBudgetExceeded
from graphmetric.metric_repair.active_set import ActiveSet
from graphmetric.metric_repair.copies import merge_copies
from graphmetric.metric_repair.nearness_problem import NearnessProblem, pose_problem
from graphmetric.metric_repair.pair_matrix import Matrix, check_matrix
from graphmetric.metric_repair.refinement import Limits, Refinement, expect_closure
from graphmetric.metric_repair.repair_result import RepairDuals, RepairResult
from graphmetric.metric_repair.scanner import TriangleScanner
from graphmetric.metric_repair.shortest_path_closure import complete_fixed

_SMALL = 1_000  # items whose memory needs no estimate
_MATRICES = 5.0  # of double precision: given, current, closed, 16-bit values, numbers of pairs, and one in passing
_BYTES_PER_TRIANGLE = 130
_GROWTH = 1.7  # times the triangles that the first scan lists
_SAMPLED = 200  # pairs
_ENDING = 4  # times what it takes to copy the matrix at first: the last passes over it


def triangle_fixing(
    distances: ArrayLike,
    weights: ArrayLike | None = None,
    fixed: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
    tolerance: float = 1e-6,
    *,
    start: RepairResult | None = None,
    time_limit: float | None = None,
    max_scans: int = 200,
    n_jobs: int | None = -1,
) -> RepairResult:
    r"""The nearest matrix that keeps the triangle inequality.

    The paper wants distances that are near the known ones and a metric,

    .. math:: \min \| M \odot (D - \bar D) \|_p \quad \text{s.t. } D(i,j) \le D(i,k) + D(j,k)
        \;\; \forall i, j, k, \qquad (14)

    and gets there in two steps: training without the constraints (Eq. 15) gives :math:`\hat D`, whose repair is

    .. math:: \min \| D - \hat D \|_p \quad \text{s.t. } D(i,j) \le D(i,k) + D(j,k) \;\; \forall i, j, k. \qquad (16)

    Here p = 2, with weights if wanted: minimal is half the sum over pairs of :math:`w_{ij} (x_{ij} - d_{ij})^2`. The
    minimum is unique. Algorithm 1 is dual coordinate ascent: each triangle t = (ij|k) has a multiplier
    :math:`\lambda_t \ge 0`, and a step on it is, with :math:`r = x_{ij} - x_{ik} - x_{jk}`,

    .. math:: \theta = \max(\omega r / (1/w_{ij} + 1/w_{ik} + 1/w_{jk}), -\lambda_t), \quad
        \lambda_t \mathrel{+}= \theta, \quad x_{ij} \mathrel{-}= \theta / w_{ij}, \quad
        x_{ik} \mathrel{+}= \theta / w_{ik}, \quad x_{jk} \mathrel{+}= \theta / w_{jk}.

    Almost all multipliers end at zero. So this scans for violated triangles, adds them to a list, forgets those whose
    multiplier is zero, sweeps over the list with over-relaxation (omega up to 2), and scans again, until no triangle
    is violated and the duality gap is closed. Items that cannot be told apart are solved for once, see
    :mod:`~graphmetric.metric_repair.copies`.

    Differs from the paper: Algorithm 1 as printed takes theta = min(mu, z), which is zero for ever; only one
    orientation of a triangle; and violated triangles only, which forgets to relax those that were closed too far. The
    paper leaves the known distances soft, although they are right: ``fixed`` keeps them. See
    :func:`~graphmetric.metric_repair.dense_fixing.dense_fixing` for the algorithm with a multiplier for every triangle.

    Args:
        distances: (m, m) symmetric, non-negative, zero diagonal, nothing missing.
        weights: (m, m) symmetric, positive: how much a change of each distance costs; by default all 1.
        fixed: (m, m) boolean, symmetric: True where a distance stays exactly as given.
        bounds: (lower, upper) of every distance between two different items; by default (0, inf). Distances within
            them stay within them anyway: bounds matter only if some are given outside.
        tolerance: What counts as solved: largest violation as part of the largest given distance, and duality gap as
            part of the objective.
        start: The result for this matrix before a change, or for its first items before others were added (its leading
            block): the work done then is used again. The answer does not depend on it.
        time_limit: Seconds after which the best metric so far is returned, ``converged`` being False. What it takes
            to make it a metric and to measure it is included, compiling the kernels for the first time is not; a
            large matrix takes a second for every 5,000 items squared even if nothing is done to it.
        max_scans: Likewise, in passes over all triangles.
        n_jobs: Threads of the scans, -1: one per core. The result is the same for any number.

    Returns:
        The matrix and how sure it is. A matrix that is a metric up to rounding comes back as it was, bit for bit.
        Without fixed distances the result is finished by shortest paths, so that it is a metric up to rounding
        (``ROUNDING`` times the largest distance) and the gap is rigorous. With fixed distances, which shortest paths
        might lower, violations up to the tolerance remain. Where the time limit leaves no time for shortest paths, the
        distances are raised until they are a metric, which takes one pass over the matrix.

    Raises:
        NotEnoughMemory: More is needed than there is.
        WorkBudgetExceeded: The time was over before it was known whether the fixed distances contradict each other.

    Example:
        >>> result = triangle_fixing([[0, 1, 5], [1, 0, 1], [5, 1, 0]])
        >>> result.matrix.round(4).tolist()
        [[0.0, 2.0, 4.0], [2.0, 0.0, 2.0], [4.0, 2.0, 0.0]]
    """
    options = RepairOptions(weights, fixed, bounds, tolerance, time_limit, max_scans, effective_n_jobs(n_jobs))
    return fix_checked(check_matrix(distances), options, start=start, own=True)


@dataclass(frozen=True, slots=True, eq=False)
class RepairOptions:
    """What is asked of a repair; see :func:`triangle_fixing`."""

    weights: ArrayLike | None
    fixed: ArrayLike | None
    bounds: tuple[float, float] | None
    tolerance: float
    time_limit: float | None
    max_scans: int
    threads: int

    def check(self) -> None:
        """Raise if a number is outside of what is allowed."""
        if not 0 < self.tolerance < 1:
            raise InvalidArgument(
                f"tolerance must be between 0 and 1, a part of the largest distance; got {self.tolerance}"
            )
        if self.time_limit is not None and not self.time_limit >= 0:
            raise InvalidArgument(f"time_limit must be at least 0 seconds, or None; got {self.time_limit}")
        if self.max_scans < 1:
            raise InvalidArgument(f"max_scans must be at least 1; got {self.max_scans}")


def fix_checked(
    distances: Matrix, options: RepairOptions, *, start: RepairResult | None = None, own: bool = False
) -> RepairResult:
    """The repair of a matrix that passed ``check_matrix``; it is overwritten if it is our ``own``."""
    options.check()
    _refuse_too_large(distances, options, own)
    limited = options.time_limit is not None
    closure = expect_closure(len(distances), options.threads) if limited else 0.0
    if limited:
        _compile(options.fixed is not None or options.weights is not None)
    started, deadline = time.perf_counter(), Deadline.after(options.time_limit)
    problem = pose_problem(distances, options.weights, options.fixed, options.bounds, own=own)
    duals = _check_start(start, len(problem.given))
    completed = None if problem.fixed is None else _complete(problem, options, deadline)
    merged = merge_copies(problem)
    posed = time.perf_counter()
    active = ActiveSet(merged.small, merged.merge_duals(duals))
    scanner = TriangleScanner(len(merged.kept), options.threads)
    ending = _ENDING * (time.perf_counter() - posed)
    limits = Limits(options.tolerance, deadline, options.max_scans, closure, ending)
    refinement = Refinement(merged, active, scanner, limits, completed if limited else None)
    refinement.run()
    return refinement.describe(time.perf_counter() - started)


def _complete(problem: NearnessProblem, options: RepairOptions, deadline: Deadline) -> Matrix:
    scanner = TriangleScanner(len(problem.given), options.threads)
    try:
        return complete_fixed(problem, scanner, options.tolerance, deadline)
    except OutOfTime:
        raise WorkBudgetExceeded(
            f"within {options.time_limit:g} s it could not be found out whether the fixed distances contradict each "
            "other; give the repair more time"
        ) from None


@cache
def _compile(weighted: bool) -> None:
    """Load or compile all kernels that a repair may call, so that its time limit covers none of that."""
    rng = np.random.default_rng(0)
    upper = np.triu(rng.random((6, 6)), 1)
    weights = np.ones((6, 6)) if weighted else None
    options = RepairOptions(weights, None, (0.0, 0.9), 1e-6, None, 20, 1)
    fix_checked(upper + upper.T, options, own=True)
    expect_closure(1, 1)


def _refuse_too_large(distances: Matrix, options: RepairOptions, own: bool) -> None:
    """Raise if the repair would need more memory than there is."""
    m = len(distances)
    if m < _SMALL:
        return
    matrices = _MATRICES + (not own) + (options.time_limit is not None) + (options.weights is not None)
    matrices += 0 if options.fixed is None else 2
    listed = _GROWTH * _estimate_short_legs(distances) * m * (m - 1) / 2
    check_memory(
        8 * matrices * m * m + _BYTES_PER_TRIANGLE * listed,
        f"the nearest metric of {m:,} items",
        "repair fewer items, such as one of each set of near duplicates, or only lower distances to their shortest "
        "paths (decrease_only, --decrease-only), which takes no more than the matrix itself",
    )


def _estimate_short_legs(distances: Matrix) -> float:
    """The share of pairs that are a leg of a violated triangle, from a sample."""
    rng = np.random.default_rng(0)
    first, second = rng.integers(len(distances), size=(2, _SAMPLED))
    apart = np.abs(distances[first] - distances[second])
    apart[np.arange(_SAMPLED), first] = apart[np.arange(_SAMPLED), second] = 0.0
    return float((apart.max(axis=1) > distances[first, second]).mean())


def _check_start(start: RepairResult | None, m: int) -> RepairDuals:
    if start is None:
        return RepairDuals.none()
    if start.duals is None:
        raise InvalidArgument("start has no multipliers to go on from; only results of triangle_fixing have")
    if len(start.matrix) > m:
        raise InvalidArgument(f"start is for {len(start.matrix)} items, more than the {m} given now")
    start.duals.check(m)
    return start.duals
