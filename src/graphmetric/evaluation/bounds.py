"""Scores of predictions where the true distances are known only to lie between bounds.

For large graphs hardly any edit distance can be proven, but every one has a lower and an upper bound. A score is then
itself an interval that contains the score against the truth, whatever the truth is. Where the bounds of every distance
are equal, so are the ends of the score.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.evaluation.scores import Floats, mean_or_nan

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class BoundScores:
    """Scores of predictions against bounds of the true distances; NaN where there is nothing to compare."""

    pairs: int
    """Pairs with bounds."""
    proven: float
    """Share of these pairs whose bounds are equal, so that their distance is known."""
    outside: float
    """Share of the predictions that are outside of their bounds: they are wrong, whatever the truth is."""
    mae: Interval
    """The mean absolute error is at least the mean distance to the interval, and at most that to its further end."""
    mse: Interval
    """The same for the squared error."""
    order: float
    """Over pairs of graphs whose order the bounds decide, one being nearer to the query than the other whatever the
    truth is: the share that the prediction has in this order minus the share that it has in the other; averaged over
    queries. 1 is the true order, 0 is chance. With all distances known it is Kendall's tau without the pairs that tie.
    """
    decided: float
    """Share of the pairs of graphs, of one query each, whose order is decided; ties are not."""
    precision: dict[int, Interval]
    """Of the k predicted nearest, the share that is certainly among the k nearest, ties included, and the share that
    may be."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values; intervals are lists."""
        found: dict[str, Any] = {"order": self.order, "decided": self.decided}
        found |= {f"p@{k}": list(share) for k, share in self.precision.items()}
        found |= {"mae": list(self.mae), "mse": list(self.mse), "outside": self.outside, "proven": self.proven}
        return {name: value for name, value in found.items() if not (isinstance(value, float) and math.isnan(value))}


def score_against_bounds(
    predicted: ArrayLike, lower: ArrayLike, upper: ArrayLike, *, ks: Sequence[int] = (10, 20)
) -> BoundScores:
    """Compare predictions with bounds, matrices (queries, database); NaN in ``lower`` leaves a pair out.

    Example:
        >>> found = score_against_bounds([[1.0, 4.0, 6.0]], [[0, 3, 7]], [[2, 3, 9]], ks=[1])
        >>> found.mae, found.order, found.precision[1]
        ((0.6666666666666666, 1.6666666666666667), 1.0, (1.0, 1.0))
    """
    guesses, low, high = _check(predicted, lower, upper)
    known = ~np.isnan(low)
    rows = [(guess[here], a[here], b[here]) for guess, a, b, here in zip(guesses, low, high, known, strict=True)]
    p, a, b = guesses[known], low[known], high[known]
    least = np.maximum(0.0, np.maximum(a - p, p - b))
    most = np.maximum(np.abs(p - a), np.abs(p - b))
    orders = [_compare_order(*row) for row in rows]
    possible = sum(len(row[0]) * (len(row[0]) - 1) // 2 for row in rows)
    return BoundScores(
        pairs=len(p),
        proven=mean_or_nan(a == b),
        outside=mean_or_nan(least > 0),
        mae=(mean_or_nan(least), mean_or_nan(most)),
        mse=(mean_or_nan(least**2), mean_or_nan(most**2)),
        order=mean_or_nan(balance / decided for balance, decided in orders if decided),
        decided=sum(decided for _, decided in orders) / possible if possible else math.nan,
        precision={k: _mean_precision([row for row in rows if len(row[0])], k) for k in ks},
    )


def _compare_order(predicted: Floats, lower: Floats, upper: Floats) -> tuple[int, int]:
    """Pairs that the prediction has in the right order minus those in the wrong one, and all that are decided."""
    nearer = upper[:, None] < lower
    signs = np.sign(predicted - predicted[:, None])[nearer]
    return int(signs.sum()), len(signs)


def _mean_precision(rows: list[tuple[Floats, Floats, Floats]], k: int) -> Interval:
    found = np.array([precision_between(*row, k) for row in rows]).reshape(-1, 2)
    return (mean_or_nan(found[:, 0]), mean_or_nan(found[:, 1]))


def precision_between(predicted: Floats, lower: Floats, upper: Floats, k: int) -> Interval:
    """For one query: the share of the predicted k nearest that certainly are, and that may be, among the k nearest."""
    k = min(k, len(predicted))
    taken = np.argsort(predicted, kind="stable")[:k]
    certain, possible = nearest_for_certain(lower, upper, k)
    return float(certain[taken].mean()), float(possible[taken].mean())


def nearest_for_certain(lower: Floats, upper: Floats, k: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Which graphs are certainly among the k nearest, ties included, and which may be.

    A graph is among them exactly if fewer than k others are truly nearer.
    """
    may_be_nearer = np.searchsorted(np.sort(lower), upper) - (lower < upper)  # without itself
    must_be_nearer = np.searchsorted(np.sort(upper), lower)
    return may_be_nearer < k, must_be_nearer < k


def _check(predicted: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> tuple[Floats, Floats, Floats]:
    guesses, low, high = (np.asarray(values, dtype=np.float64) for values in (predicted, lower, upper))
    if not guesses.shape == low.shape == high.shape or guesses.ndim != 2:
        raise InvalidArgument(
            "predictions and bounds must be matrices (queries, database) of one shape; got "
            f"{guesses.shape}, {low.shape} and {high.shape}"
        )
    known = ~np.isnan(low)
    if not (np.isfinite(high[known]).all() and (low[known] <= high[known]).all() and np.isfinite(guesses[known]).all()):
        raise InvalidArgument("bounds must be finite with lower <= upper, and predictions finite, where lower is known")
    return guesses, low, high
