"""Triangle fixing as its authors stated it: the reference for :func:`triangle_fixing`, for a few hundred items."""

from __future__ import annotations

import time
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair._kernels.sweeps import Certificate, certify_triangles, sweep_triangles
from graphmetric.metric_repair.pair_matrix import Matrix, check_matrix
from graphmetric.metric_repair.repair_result import RepairResult

MOST_ITEMS = 1_000
"""Its multipliers, three for each triple, take 4 GB."""

_SWEEPS_PER_CERTIFICATE = 10  # it takes about as long as a sweep


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

    A violated triangle is closed by moving its three sides by a third of the excess each. One that is not violated any
    more gives back what it took before, as far as there is room: without that, the result is a metric but not the
    nearest.

    Differs from the paper: Algorithm 1 is printed with theta = min(mu, z) and mu = -(b - e_ij + e_jk + e_ki) / 3, so
    that theta is 0 for ever, since z starts at 0: its output is its input. It is also printed for one side of each
    triangle and for the violated triangles only, and each of these omissions alone loses the optimum. Here the sign,
    the three sides and all triangles are those of the cited work.

    Args:
        distances: (m, m), at most ``MOST_ITEMS`` items: the multipliers take 4 m^3 bytes.
        tolerance: When to stop, as a part of the largest distance: the unit of the distances does not matter.
        stop: "changes": when a sweep moves all distances together by at most the tolerance, as the authors do;
            "certificate": when the largest violation and the relative gap are at most the tolerance, as
            :func:`triangle_fixing` does.
        max_sweeps: Give up after so many.
    """
    given = check_matrix(distances)
    _check(len(given), tolerance, stop)
    started, allowed = time.perf_counter(), tolerance * float(given.max(initial=0.0))
    x, z, sweeps = given.copy(), np.zeros(_count_sides(len(given))), 0
    result = _describe(given, x, certify_triangles(x, z), sweeps, started, tolerance)
    finished = len(z) == 0
    while not finished and sweeps < max_sweeps:
        changes = sweep_triangles(x, z)
        sweeps += 1
        finished = changes <= (allowed if stop == "changes" else 0.0)
        certify = stop == "certificate" and sweeps % _SWEEPS_PER_CERTIFICATE == 0
        if finished or certify or sweeps == max_sweeps:
            result = _describe(given, x, certify_triangles(x, z), sweeps, started, tolerance)
            finished = finished or (certify and result.converged)
    return result


def _check(m: int, tolerance: float, stop: str) -> None:
    if m > MOST_ITEMS:
        raise InvalidArgument(
            f"dense_fixing keeps three multipliers for each of the triples, {8 * _count_sides(m) / 1e9:.0f} GB for "
            f"{m:,} items; it takes at most {MOST_ITEMS:,}: use triangle_fixing, which keeps those that matter"
        )
    if not tolerance > 0:
        raise InvalidArgument(f"tolerance must be above 0; got {tolerance}")
    if stop not in ("changes", "certificate"):
        raise InvalidArgument(f"stop must be 'changes' or 'certificate'; got {stop!r}")


def _count_sides(m: int) -> int:
    return m * (m - 1) * (m - 2) // 2


def _describe(
    given: Matrix, x: Matrix, certificate: Certificate, sweeps: int, started: float, tolerance: float
) -> RepairResult:
    upper = np.triu(x, 1)
    moved = np.triu(x - given, 1)
    objective = float((moved**2).sum() / 2)
    gap = abs(certificate.slackness) / objective if objective else 0.0
    return RepairResult(
        matrix=upper + upper.T,
        converged=certificate.violation <= tolerance * float(given.max(initial=0.0)) and gap <= tolerance,
        max_violation=max(float(certificate.violation), 0.0),
        duality_gap=gap,
        objective=objective,
        changed_pairs=int(np.count_nonzero(moved)),
        sweeps=sweeps,
        scans=sweeps,
        seconds=time.perf_counter() - started,
    )
