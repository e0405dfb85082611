"""The metric nearest to a matrix of distances: Algorithm 1 of the paper, made right and made fast."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from graphmetric._foundation.limits import Deadline, DeadlineExceeded, check_memory, clock, effective_n_jobs
from graphmetric._foundation.options import checked_count, checked_number
from graphmetric.errors import InvalidArgument, WorkBudgetExceeded
from graphmetric.metric_repair._kernels.triangles import sweep_triangles
from graphmetric.metric_repair.active_set import ActiveSetSolver
from graphmetric.metric_repair.duplicates import merge_duplicates
from graphmetric.metric_repair.nearness import (
    Matrix,
    NearnessProblem,
    OptimalityGap,
    RepairDuals,
    RepairResult,
    check_tolerance,
    pose_problem,
)
from graphmetric.metric_repair.shortest_paths import complete_fixed, time_closure
from graphmetric.metric_repair.triangle_inequality import TriangleScanner, count_inequalities

MOST_ITEMS_DENSE = 1_000
"""The multipliers of :func:`dense_fixing`, three for each triple, take 4 GB."""

_SMALL = 1_000  # items whose memory needs no estimate
_MATRICES = 5.0  # of double precision: current, closed, 16-bit values, numbers of pairs, and two in passing
_BYTES_PER_TRIANGLE = 130
_GROWTH = 1.7  # times the triangles that the first scan lists
_SAMPLED = 200  # pairs
_SWEEPS_PER_CERTIFICATE = 10  # of dense_fixing; a certificate takes about as long as a sweep


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

    Here p = 2, with optional weights: what is minimized is half the sum over pairs of
    :math:`w_{ij} (x_{ij} - d_{ij})^2`. The minimum is unique. Algorithm 1 is dual coordinate ascent: each triangle
    t = (ij|k) has a multiplier :math:`\lambda_t \ge 0`, and a step on it is, with
    :math:`r = x_{ij} - x_{ik} - x_{jk}`,

    .. math:: \theta = \max(\omega r / (1/w_{ij} + 1/w_{ik} + 1/w_{jk}), -\lambda_t), \quad
        \lambda_t \mathrel{+}= \theta, \quad x_{ij} \mathrel{-}= \theta / w_{ij}, \quad
        x_{ik} \mathrel{+}= \theta / w_{ik}, \quad x_{jk} \mathrel{+}= \theta / w_{jk}.

    Almost all multipliers end at zero. So this scans for violated triangles, adds them to a list, forgets those whose
    multiplier is zero, sweeps over the list with over-relaxation (omega up to 2), and scans again, until no triangle
    is violated and the duality gap is closed. Indistinguishable items are solved for once, see
    :mod:`~graphmetric.metric_repair.duplicates`.

    Differs from the paper: Algorithm 1 as printed takes theta = min(mu, z), which is always zero; only one
    orientation of a triangle; and violated triangles only, which forgets to relax those that were closed too far. The
    paper leaves the known distances soft, although they are right: ``fixed`` keeps them. See :func:`dense_fixing` for
    the algorithm with a multiplier for every triangle.

    Args:
        distances: (m, m) symmetric, non-negative, zero diagonal, nothing missing.
        weights: (m, m) symmetric, positive: how much a change of each distance costs; by default all 1.
        fixed: (m, m) boolean, symmetric: True where a distance stays exactly as given.
        bounds: (lower, upper) of every distance between two different items; by default (0, inf). Distances within
            them stay within them anyway: bounds matter only if some are given outside.
        tolerance: What counts as solved: the largest violation as a part of the largest distance of the result, as
            :func:`triangle_violations` counts it, and the duality gap as a part of the objective.
        start: The result for this matrix before a change, or for its first items before others were added (its leading
            block): the work done then is used again. The answer does not depend on it.
        time_limit: Seconds after which the best metric so far is returned, ``converged`` being False. The time to make
            it a metric and to measure it is included, the time to compile kernels is not; a large matrix takes a
            second for every 5,000 items squared even if nothing is done to it.
        max_scans: The same limit in passes over all triangles.
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
    check_tolerance(tolerance)
    if time_limit is not None:
        checked_number(time_limit, "time_limit", "at least 0 seconds, or None")
    checked_count(max_scans, "max_scans")
    threads = effective_n_jobs(n_jobs)
    pace = 0.0 if time_limit is None else time_closure(threads)
    started, deadline = clock(), Deadline.after(time_limit)
    problem = pose_problem(distances, weights, fixed, bounds)
    _refuse_too_large(problem, deadline.exists)
    m = len(problem.given)
    duals = RepairDuals.none() if start is None else _check_start(start, m)
    completed = None
    if problem.fixed is not None:
        try:
            completed = complete_fixed(problem, TriangleScanner(m, threads), tolerance, deadline)
        except DeadlineExceeded:
            raise WorkBudgetExceeded(
                f"within {time_limit:g} s it could not be decided whether the fixed distances contradict each other; "
                "give the repair more time"
            ) from None
    merged = merge_duplicates(problem)
    work = ActiveSetSolver(merged, merged.merge_duals(duals), threads, tolerance, deadline, pace * m**3)
    return work.run(max_scans, completed if deadline.exists else None, started)


def _refuse_too_large(problem: NearnessProblem, limited: bool) -> None:
    """Raise NotEnoughMemory if the repair would need more than there is."""
    m = len(problem.given)
    if m < _SMALL:
        return
    matrices = _MATRICES + limited + (problem.fixed is not None)
    listed = _GROWTH * _estimate_short_legs(problem.given) * m * (m - 1) / 2
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


def _check_start(start: RepairResult, m: int) -> RepairDuals:
    if start.duals is None:
        raise InvalidArgument("start has no multipliers to go on from; only results of triangle_fixing have")
    if len(start.matrix) > m:
        raise InvalidArgument(f"start is for {len(start.matrix)} items, more than the {m} given now")
    start.duals.check(m)
    return start.duals


def dense_fixing(
    distances: ArrayLike,
    tolerance: float = 1e-6,
    *,
    stop: Literal["changes", "certificate"] = "changes",
    max_sweeps: int = 100_000,
) -> RepairResult:
    """The nearest metric in L2 by the triangle fixing of Brickell, Dhillon, Sra and Tropp (2008).

    A sweep visits every side of every triangle, in a fixed order. With e the correction so far and z the multiplier of
    this side, zero at first, it does::

        b     = d_ik + d_jk - d_ij
        mu    = (e_ij - e_ik - e_jk - b) / 3
        theta = min(-mu, z)
        e_ij += theta;  e_ik -= theta;  e_jk -= theta;  z -= theta

    A violated triangle is closed by moving its three sides by a third of the excess each. One that is no longer
    violated gives back what it took before, as far as there is room: without that, the result is a metric but not the
    nearest.

    Differs from the paper: Algorithm 1 is printed with theta = min(mu, z) and mu = -(b - e_ij + e_jk + e_ki) / 3, so
    that theta is always 0, since z starts at 0: its output is its input. It is also printed for one side of each
    triangle and for the violated triangles only, and each of these omissions alone loses the optimum. Here the sign,
    the three sides and all triangles are those of the cited work.

    Args:
        distances: (m, m), at most ``MOST_ITEMS_DENSE`` items: the multipliers take 4 m^3 bytes.
        tolerance: When to stop; the unit of the distances does not matter.
        stop: "changes": when a sweep moves all distances together by at most this part of the largest given one, as
            the authors do;
            "certificate": when the largest violation, as a part of the largest distance, and the relative gap are at
            most the tolerance, as :func:`triangle_fixing` does.
        max_sweeps: Give up after this number of sweeps.
    """
    started = clock()
    problem = pose_problem(distances, None, None, None)
    m = len(problem.given)
    sides = count_inequalities(m)
    if m > MOST_ITEMS_DENSE:
        raise InvalidArgument(
            f"dense_fixing keeps three multipliers for each of the triples, {8 * sides / 1e9:.0f} GB for {m:,} items; "
            f"it takes at most {MOST_ITEMS_DENSE:,}: use triangle_fixing, which keeps those that matter"
        )
    check_tolerance(tolerance)
    if stop not in ("changes", "certificate"):
        raise InvalidArgument(f"stop must be 'changes' or 'certificate'; got {stop!r}")
    x = problem.given.copy()
    z = np.zeros(sides)
    sweeps = 0
    finished = sides == 0
    while not finished and sweeps < max_sweeps:
        changes = sweep_triangles(x, z)
        sweeps += 1
        if stop == "changes":
            finished = changes <= tolerance * problem.largest
        else:
            finished = not changes or (
                sweeps % _SWEEPS_PER_CERTIFICATE == 0 and _measure_gap(problem, x, tolerance)[1].converged
            )
    return problem.answer(*_measure_gap(problem, x, tolerance), sweeps, sweeps, started)


def _measure_gap(problem: NearnessProblem, x: Matrix, tolerance: float) -> tuple[Matrix, OptimalityGap]:
    """The matrix whose upper half is ``x``, and how near it is.

    The multipliers have moved d to x = d - A' z. So the sum over all triangles of multiplier times violation, z'A x, by
    which the objective exceeds its lower bound, is the sum over pairs of (d - x) x.
    """
    upper = np.triu(x, 1)
    matrix = upper + upper.T
    bound = problem.measure(matrix) + float(((problem.given - matrix) * matrix).sum()) / 2
    *_, depths = TriangleScanner(len(x), 1).count(matrix, 0.0, 1)
    return matrix, problem.measure_gap(matrix, bound, tolerance, violation=float(depths.max(initial=0.0)))
