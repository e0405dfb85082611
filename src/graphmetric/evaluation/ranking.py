"""Rankings of a database by predicted distances to a query, against the ranking by true distances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import kendalltau, spearmanr

from graphmetric.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class RankingScores:
    """Means over the queries."""

    rho: float
    """Spearman's rank correlation."""
    tau: float
    """Kendall's tau-b."""
    p10: float
    """Precision at 10, ties of the truth inclusive."""
    p20: float
    """Precision at 20, ties of the truth inclusive."""
    mse: float
    """Mean squared error of the distances as given."""
    queries: int
    """Queries whose true distances are not all equal; the others have no ranking and are left out of rho and tau."""

    def __str__(self) -> str:
        return (
            f"rho {self.rho:.3f}  tau {self.tau:.3f}  p@10 {self.p10:.3f}  p@20 {self.p20:.3f}  "
            f"MSE {1e3 * self.mse:.3f}e-3  ({self.queries} queries)"
        )


def score_rankings(predicted: ArrayLike, true: ArrayLike) -> RankingScores:
    """Compare two matrices (queries, database); NaN in ``true`` leaves a pair out of its query's ranking."""
    guesses, truth = _checked(predicted, true)
    rhos, taus, tens, twenties = [], [], [], []
    for guess, fact in zip(guesses, truth, strict=True):
        known = ~np.isnan(fact)
        guess, fact = guess[known], fact[known]
        tens.append(precision_at(guess, fact, 10))
        twenties.append(precision_at(guess, fact, 20))
        if len(fact) < 2 or (fact == fact[0]).all():
            continue
        constant = bool((guess == guess[0]).all())  # a constant prediction ranks nothing
        rhos.append(0.0 if constant else float(spearmanr(guess, fact).statistic))
        taus.append(0.0 if constant else float(kendalltau(guess, fact).statistic))
    error = float(np.nanmean((guesses - truth) ** 2)) if truth.size else float("nan")
    return RankingScores(_mean(rhos), _mean(taus), _mean(tens), _mean(twenties), error, len(rhos))


def precision_at(predicted: NDArray[np.float64], true: NDArray[np.float64], k: int) -> float:
    """The share of the predicted k nearest whose true distance is within the k-th smallest.

    Ties of the prediction are broken by position; of the truth, all that tie with the k-th count as right.
    """
    k = min(k, len(true))
    if k == 0:
        return float("nan")
    top = np.argsort(predicted, kind="stable")[:k]
    return float((true[top] <= np.partition(true, k - 1)[k - 1]).mean())


def _checked(predicted: ArrayLike, true: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    guesses, truth = np.asarray(predicted, dtype=np.float64), np.asarray(true, dtype=np.float64)
    if guesses.ndim != 2 or guesses.shape != truth.shape:
        raise InvalidArgument(f"both must be matrices of one shape; got {guesses.shape} and {truth.shape}")
    if np.isnan(guesses).any():
        raise InvalidArgument("predicted distances contain NaN")
    return guesses, truth


def _mean(values: list[float]) -> float:
    return float(np.nanmean(values)) if values else float("nan")
