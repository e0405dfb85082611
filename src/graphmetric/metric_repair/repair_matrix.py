"""Predicted and known distances made into one metric: the door for the command line and the estimator."""

from __future__ import annotations

import time
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric._foundation.limits import check_memory, effective_n_jobs
from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair.other_norms import repair_in_l1, repair_in_linf
from graphmetric.metric_repair.pair_matrix import Matrix, as_square, check_in_place
from graphmetric.metric_repair.repair_result import RepairResult
from graphmetric.metric_repair.shortest_path_closure import shortest_path_closure
from graphmetric.metric_repair.triangle_fixing import RepairOptions, fix_checked

Norm = Literal["l2", "l1", "linf"]
Mask = NDArray[np.bool_]


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
        norm: What is made small: the sum of squared changes, of absolute changes, or the largest change.
        decrease_only: Instead, the largest metric that is nowhere above the given distances: see
            :func:`shortest_path_closure`.
        weights: (m, m) how much a change of each distance costs.
        bounds: Least and largest distance that two different items may have.
        tolerance: Violation, as part of the largest distance, and relative gap that are accepted.
        time_limit: Seconds, for the norm l2, see :func:`triangle_fixing`, and for ``decrease_only``, which raises
            ``WorkBudgetExceeded`` where it was not enough.
        n_jobs: Threads; -1: one per core.
    """
    distances, fixed = write_known(predicted, known)
    return repair_checked(
        distances,
        fixed,
        norm=norm,
        decrease_only=decrease_only,
        weights=weights,
        bounds=bounds,
        tolerance=tolerance,
        time_limit=time_limit,
        n_jobs=n_jobs,
        own=True,
    )


def repair_checked(
    distances: Matrix,
    fixed: Mask | None,
    *,
    norm: Norm,
    decrease_only: bool,
    weights: ArrayLike | None,
    bounds: tuple[float, float] | None,
    tolerance: float,
    time_limit: float | None,
    n_jobs: int | None,
    own: bool = False,
) -> RepairResult:
    """The same for what :func:`write_known` gave, which is overwritten if it is our ``own``."""
    if decrease_only:
        if fixed is not None or weights is not None or bounds is not None or norm != "l2":
            raise InvalidArgument("decrease_only takes no known distances, weights, bounds or other norms")
        return _close(distances, time_limit, n_jobs)
    if norm == "l2":
        options = RepairOptions(weights, fixed, bounds, tolerance, time_limit, 200, effective_n_jobs(n_jobs))
        return fix_checked(distances, options, own=own)
    if norm not in ("l1", "linf"):
        raise InvalidArgument(f"norm must be 'l2', 'l1' or 'linf'; got {norm!r}")
    if time_limit is not None:
        raise InvalidArgument(f"time_limit is for the norm l2; the norm {norm} ends when it is solved")
    repair = repair_in_l1 if norm == "l1" else repair_in_linf
    return repair(distances, weights, fixed, bounds, tolerance, n_jobs=n_jobs)


def write_known(predicted: ArrayLike, known: ArrayLike | None, *, own: bool = False) -> tuple[Matrix, Mask | None]:
    """Predicted distances with the known ones in their places, and where these are; None if nothing is known.

    Arrays that are our ``own`` are overwritten instead of copied.
    """
    distances = as_square(predicted, "the matrix", own=own)
    if known is None:
        return check_in_place(distances, "the matrix"), None
    truth = as_square(known, "known", own=own)
    if truth.shape != distances.shape:
        raise InvalidArgument(f"known has shape {truth.shape}, the matrix {distances.shape}; they must be of one shape")
    fixed = ~np.isnan(truth)
    np.fill_diagonal(fixed, False)
    missing = fixed.T & ~fixed  # one direction is enough
    truth[missing] = truth.T[missing]
    fixed |= missing
    truth[~fixed] = 0.0
    np.copyto(distances, check_in_place(truth, "known"), where=fixed)
    return check_in_place(distances, "the matrix"), fixed if fixed.any() else None


def _close(distances: Matrix, time_limit: float | None, n_jobs: int | None) -> RepairResult:
    """The closure as a result; among metrics below the given distances it is the optimum of every norm."""
    started, size = time.perf_counter(), len(distances)
    check_memory(3 * 8 * size * size, f"the shortest paths of {size:,} items", "take fewer items")
    closed = shortest_path_closure(distances, time_limit=time_limit, n_jobs=n_jobs)
    change = np.triu(closed - distances, 1)
    return RepairResult(
        matrix=closed,
        converged=True,
        max_violation=0.0,  # a fixed point of shortest paths has none above rounding
        duality_gap=0.0,
        objective=float((change**2).sum() / 2),
        changed_pairs=int(np.count_nonzero(change)),
        sweeps=1,
        scans=1,
        seconds=time.perf_counter() - started,
    )
