"""Predicted and known distances made into one metric: the door for the command line and the estimator."""

from __future__ import annotations

import time
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair.other_norms import repair_in_l1, repair_in_linf
from graphmetric.metric_repair.pair_matrix import Matrix, check_matrix
from graphmetric.metric_repair.repair_result import RepairResult
from graphmetric.metric_repair.shortest_path_closure import shortest_path_closure
from graphmetric.metric_repair.triangle_fixing import triangle_fixing
from graphmetric.metric_repair.triangle_inequality import triangle_violations

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
        time_limit: Seconds, for the norm l2 only.
        n_jobs: Threads; -1: one per core.
    """
    distances, fixed = write_known(predicted, known)
    if decrease_only:
        if fixed is not None or weights is not None or bounds is not None or norm != "l2":
            raise InvalidArgument("decrease_only takes no known distances, weights, bounds or other norms")
        return _close(distances, n_jobs)
    if norm == "l2":
        return triangle_fixing(distances, weights, fixed, bounds, tolerance, time_limit=time_limit, n_jobs=n_jobs)
    if norm not in ("l1", "linf"):
        raise InvalidArgument(f"norm must be 'l2', 'l1' or 'linf'; got {norm!r}")
    if time_limit is not None:
        raise InvalidArgument(f"time_limit is for the norm l2; the norm {norm} ends when it is solved")
    repair = repair_in_l1 if norm == "l1" else repair_in_linf
    return repair(distances, weights, fixed, bounds, tolerance, n_jobs=n_jobs)


def write_known(predicted: ArrayLike, known: ArrayLike | None) -> tuple[Matrix, Mask | None]:
    """Predicted distances with the known ones in their places, and where these are; None if nothing is known."""
    if known is None:
        return check_matrix(predicted, "the matrix"), None
    distances, truth = (_as_array(values, name) for values, name in ((predicted, "the matrix"), (known, "known")))
    if truth.shape != distances.shape:
        raise InvalidArgument(f"known has shape {truth.shape}, the matrix {distances.shape}; they must be of one shape")
    fixed = ~np.isnan(truth)
    np.fill_diagonal(fixed, False)
    missing = fixed.T & ~fixed  # one direction is enough
    truth[missing] = truth.T[missing]
    fixed |= missing
    checked = check_matrix(np.where(fixed, truth, 0.0), "known")
    distances[fixed] = checked[fixed]
    return check_matrix(distances, "the matrix"), fixed if fixed.any() else None


def _as_array(values: ArrayLike, name: str) -> Matrix:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidArgument(f"{name} must be a square matrix of numbers; {error}") from None
    if array.ndim != 2 or array.shape[0] != array.shape[1]:
        raise InvalidArgument(f"{name} must be a square matrix; got shape {array.shape}")
    return array


def _close(distances: Matrix, n_jobs: int | None) -> RepairResult:
    """The closure as a result; among metrics below the given distances it is the optimum of every norm."""
    started = time.perf_counter()
    closed = shortest_path_closure(distances)
    change = np.triu(closed - distances, 1)
    return RepairResult(
        matrix=closed,
        converged=True,
        max_violation=triangle_violations(closed, worst=1, n_jobs=n_jobs).max_depth,
        duality_gap=0.0,
        objective=float((change**2).sum() / 2),
        changed_pairs=int(np.count_nonzero(change)),
        sweeps=1,
        scans=1,
        seconds=time.perf_counter() - started,
    )
