"""Rankings of a database by predicted distances to a query, against the ranking by true distances."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import kendalltau, rankdata

from graphmetric.errors import InvalidArgument
from graphmetric.evaluation.paired_arrays import Floats, check_against_truth

Ties: TypeAlias = Literal["truth", "none", "both"]


@dataclass(frozen=True, slots=True)
class RankingScores:
    """Means over the queries; NaN where no query has anything to rank."""

    rho: float
    """Spearman's rank correlation."""
    tau: float
    """Kendall's tau-b."""
    precision: dict[int, float]
    """Precision at each k, ties of the truth inclusive; see :func:`precision_at`."""
    strict_precision: dict[int, float]
    """Precision at each k, ties broken by position."""
    generous_precision: dict[int, float]
    """Precision at each k, ties of the truth and of the prediction inclusive."""
    queries: int
    """Queries whose true distances are not all equal; the others have no ranking and are left out of rho and tau."""


def score_rankings(predicted: ArrayLike, true: ArrayLike, *, ks: Sequence[int] = (10, 20)) -> RankingScores:
    """Compare two matrices (queries, database); NaN in ``true`` leaves a pair out of its query's ranking.

    A prediction that is the same for the whole database ranks nothing: its rho and tau count as 0.

    Example:
        >>> score_rankings([[0.1, 0.2, 0.4]], [[1, 2, 3]], ks=[1]).rho
        1.0
    """
    guesses, truth = check_against_truth(predicted, true)
    if truth.ndim != 2:
        raise InvalidArgument(f"rankings need matrices (queries, database); got shape {truth.shape}")
    known = ~np.isnan(truth)
    rows = [(guess[here], fact[here]) for guess, fact, here in zip(guesses, truth, known, strict=True) if here.any()]
    varied = [(guess, fact) for guess, fact in rows if fact.min() < fact.max()]
    return RankingScores(
        rho=_mean(spearman_rho(*row) for row in varied),
        tau=_mean(kendall_tau(*row) for row in varied),
        precision={k: _mean(precision_at(*row, k) for row in rows) for k in ks},
        strict_precision={k: _mean(precision_at(*row, k, ties="none") for row in rows) for k in ks},
        generous_precision={k: _mean(precision_at(*row, k, ties="both") for row in rows) for k in ks},
        queries=len(varied),
    )


def mean_rank_correlation(pairs: NDArray[np.int64], predicted: ArrayLike, true: ArrayLike) -> float:
    """Spearman's rho of the predicted and true distances of each graph to its partners, averaged over the graphs.

    ``pairs`` is (n, 2), each pair once. A graph counts if it has partners at two different true distances; NaN if
    none does.
    """
    query = np.asarray(pairs).T.ravel()
    order = np.argsort(query, kind="stable")
    ends = np.flatnonzero(np.diff(query[order])) + 1
    both = (np.split(np.tile(values, 2)[order], ends) for values in check_against_truth(predicted, true))
    return _mean(spearman_rho(a, b) for a, b in zip(*both, strict=True) if len(b) and b.min() < b.max())


def spearman_rho(predicted: Floats, true: Floats) -> float:
    """The correlation of the ranks, ties at their mean rank; 0 where all of either are equal."""
    a, b = (ranks - ranks.mean() for ranks in (rankdata(predicted), rankdata(true)))
    spread = math.sqrt((a @ a) * (b @ b))
    return float(a @ b) / spread if spread else 0.0


def kendall_tau(predicted: Floats, true: Floats) -> float:
    """Kendall's tau-b; 0 where all of either are equal."""
    if predicted.min() == predicted.max() or true.min() == true.max():
        return 0.0
    return float(kendalltau(predicted, true).statistic)


def precision_at(predicted: Floats, true: Floats, k: int, *, ties: Ties = "truth") -> float:
    """The share of the predicted k nearest that are truly among the k nearest; of all, if there are fewer than k.

    What ties with the k-th is what tables differ in:

    * "truth": all that truly tie with the k-th nearest are right; of the predicted ones exactly k are taken, those
      that tie by position.
    * "none": exactly k are right and exactly k are taken, by position where they tie.
    * "both": all that tie are right, and all that are predicted to tie are taken, at most k of them counted. So the
      tables of beam search, Hungarian and VJ were made, whose distances are whole numbers. Beware that a prediction
      that is the same for all scores 1.
    """
    if k < 1:
        raise InvalidArgument(f"precision is at 1 nearest or more; got k = {k}")
    k = min(k, len(true))
    if k == 0:
        return math.nan
    right = _nearest(true, k, inclusive=ties != "none")
    taken = _nearest(predicted, k, inclusive=ties == "both")
    return min(k, int((right & taken).sum())) / k


def _nearest(distances: Floats, k: int, *, inclusive: bool) -> NDArray[np.bool_]:
    """Mask of the k nearest, with all that tie with the k-th or with the first of them by position."""
    mask = np.zeros(len(distances), dtype=bool)
    chosen = (
        distances <= np.partition(distances, k - 1)[k - 1] if inclusive else np.argsort(distances, kind="stable")[:k]
    )
    mask[chosen] = True
    return mask


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return float(np.mean(found)) if found else math.nan
