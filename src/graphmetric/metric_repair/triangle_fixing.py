r"""The metric nearest to a matrix of distances: Algorithm 1 of the paper, made right and made fast."""

from __future__ import annotations

import time

from joblib import effective_n_jobs
from numpy.typing import ArrayLike

from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair.active_set import ActiveSet
from graphmetric.metric_repair.completion import complete_fixed
from graphmetric.metric_repair.copies import merge_copies
from graphmetric.metric_repair.nearness_problem import pose_problem
from graphmetric.metric_repair.refinement import Limits, Refinement
from graphmetric.metric_repair.repair_duals import RepairDuals
from graphmetric.metric_repair.repair_result import RepairResult
from graphmetric.metric_repair.scanner import TriangleScanner


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
        time_limit: Seconds after which the best metric so far is returned, ``converged`` being False.
        max_scans: Likewise, in passes over all triangles.
        n_jobs: Threads of the scans, -1: one per core. The result is the same for any number.

    Returns:
        The matrix and how sure it is. A matrix that is a metric up to rounding comes back as it was, bit for bit.
        Without fixed distances the result is finished by shortest paths, so that it is a metric up to rounding
        (``ROUNDING`` times the largest distance) and the gap is rigorous. With fixed distances, which shortest paths
        might lower, violations up to the tolerance remain.

    Example:
        >>> result = triangle_fixing([[0, 1, 5], [1, 0, 1], [5, 1, 0]])
        >>> result.matrix.round(4).tolist()
        [[0.0, 2.0, 4.0], [2.0, 0.0, 2.0], [4.0, 2.0, 0.0]]
    """
    started = time.perf_counter()
    problem = pose_problem(distances, weights, fixed, bounds)
    limits = _check_limits(tolerance, time_limit, max_scans, started)
    duals = _check_start(start, len(problem.given))
    threads = effective_n_jobs(n_jobs)
    if problem.fixed is not None:
        complete_fixed(problem, TriangleScanner(len(problem.given), threads), tolerance)
    merged = merge_copies(problem)
    active, scanner = ActiveSet(merged.small, merged.merge_duals(duals)), TriangleScanner(len(merged.kept), threads)
    refinement = Refinement(merged, active, scanner, limits)
    refinement.run()
    return refinement.describe(time.perf_counter() - started)


def _check_limits(tolerance: float, time_limit: float | None, max_scans: int, started: float) -> Limits:
    if not 0 < tolerance < 1:
        raise InvalidArgument(f"tolerance must be between 0 and 1, a part of the largest distance; got {tolerance}")
    if time_limit is not None and not time_limit >= 0:
        raise InvalidArgument(f"time_limit must be at least 0 seconds, or None; got {time_limit}")
    if max_scans < 1:
        raise InvalidArgument(f"max_scans must be at least 1; got {max_scans}")
    return Limits(tolerance, None if time_limit is None else started + time_limit, max_scans)


def _check_start(start: RepairResult | None, m: int) -> RepairDuals:
    if start is None:
        return RepairDuals.none()
    if start.duals is None:
        raise InvalidArgument("start has no multipliers to go on from; only results of triangle_fixing have")
    if len(start.matrix) > m:
        raise InvalidArgument(f"start is for {len(start.matrix)} items, more than the {m} given now")
    start.duals.check(m)
    return start.duals
