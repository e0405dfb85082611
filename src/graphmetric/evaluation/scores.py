"""Quality of predicted distances: rankings against the true ranking, errors, and errors by distance and size.

All functions take predicted and true distances as arrays of one shape; pairs whose true distance is NaN are omitted.

For large graphs hardly any edit distance can be proven, but every one has a lower and an upper bound. A score is then
itself an interval that contains the score against the truth, whatever the truth is. Where the bounds of every distance
are equal, so are the ends of the score.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import scipy  # whose parts are imported when they are first used
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidArgument

Floats = NDArray[np.float64]

_ROUNDING = 1e-6
"""Accepted excess of a distance in single precision over [0, 1]."""

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Quantiles of the predictions at one true distance: the median, and the ends of the middle half and nine tenths."""


def check_against_truth(predicted: ArrayLike, true: ArrayLike) -> tuple[Floats, Floats]:
    """Both as arrays of one shape. NaN in ``true`` marks a pair that is not known; elsewhere both must be finite."""
    guesses = np.asarray(predicted, dtype=np.float64)
    truth = np.asarray(true, dtype=np.float64)
    if guesses.shape != truth.shape:
        raise InvalidArgument(
            f"predicted and true distances must be of one shape; got {guesses.shape} and {truth.shape}"
        )
    if np.isinf(truth).any():
        raise InvalidArgument("true distances must be finite, with NaN for a pair that is not known; got infinity")
    if wrong := int((~np.isfinite(guesses[~np.isnan(truth)])).sum()):
        raise InvalidArgument(f"predicted distances must be finite where the true one is known; {wrong} are not")
    return guesses, truth


def take_known(predicted: ArrayLike, true: ArrayLike) -> tuple[Floats, Floats]:
    """The pairs whose true distance is known, as two flat arrays."""
    guesses, truth = check_against_truth(predicted, true)
    known = ~np.isnan(truth)
    return guesses[known], truth[known]


def mean_squared_error(predicted: ArrayLike, true: ArrayLike) -> float:
    """The mean of (predicted - true)²; tables give it on the paper's scale, 1 - exp(-GED / mean size).

    Beware that SimGNN, GraphSim and H2MN print half of it.
    """
    guesses, truth = take_known(predicted, true)
    return mean_or_nan((guesses - truth) ** 2)


def mean_absolute_error(predicted: ArrayLike, true: ArrayLike) -> float:
    """The mean of \\|predicted - true\\|; tables give it in edits, on the raw scale."""
    guesses, truth = take_known(predicted, true)
    return mean_or_nan(np.abs(guesses - truth))


def exact_match_rate(predicted: ArrayLike, true: ArrayLike) -> float:
    """The share of pairs whose prediction, rounded to a whole number (halves to even), is the true edit distance.

    For edit distances at unit costs, which are whole numbers; any other true distance is never hit.
    """
    guesses, truth = take_known(predicted, true)
    return mean_or_nan(np.rint(guesses) == truth)


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

    def precision(ties: Ties) -> dict[int, float]:
        return {k: mean_or_nan(precision_at(*row, k, ties=ties) for row in rows) for k in ks}

    return RankingScores(
        rho=mean_or_nan(spearman_rho(*row) for row in varied),
        tau=mean_or_nan(kendall_tau(*row) for row in varied),
        precision=precision("truth"),
        strict_precision=precision("none"),
        generous_precision=precision("both"),
        queries=len(varied),
    )


def mean_rank_correlation(pairs: NDArray[np.int64], predicted: ArrayLike, true: ArrayLike) -> float:
    """Spearman's rho of the predicted and true distances of each graph to its partners, averaged over the graphs.

    ``pairs`` is (n, 2), each pair once. A graph counts if it has partners at two different true distances; NaN if
    none does.
    """
    guesses, truth = (np.tile(values, 2) for values in check_against_truth(predicted, true))
    partners = _group(np.asarray(pairs).T.ravel(), None)
    varied = (own for own in partners if truth[own].min() < truth[own].max())
    return mean_or_nan(spearman_rho(guesses[own], truth[own]) for own in varied)


def spearman_rho(predicted: Floats, true: Floats) -> float:
    """The correlation of the ranks, ties at their mean rank; 0 where all of either are equal."""
    a, b = (ranks - ranks.mean() for ranks in (scipy.stats.rankdata(predicted), scipy.stats.rankdata(true)))
    spread = math.sqrt((a @ a) * (b @ b))
    return float(a @ b) / spread if spread else 0.0


def kendall_tau(predicted: Floats, true: Floats) -> float:
    """Kendall's tau-b; 0 where all of either are equal."""
    if predicted.min() == predicted.max() or true.min() == true.max():
        return 0.0
    return float(scipy.stats.kendalltau(predicted, true).statistic)


def precision_at(predicted: Floats, true: Floats, k: int, *, ties: Ties = "truth") -> float:
    """The share of the predicted k nearest that are truly among the k nearest; of all, if there are fewer than k.

    Published tables differ in how they treat ties with the k-th nearest:

    * "truth": all that truly tie with the k-th nearest are right; exactly k of the predicted ones are taken, ties by
      position.
    * "none": exactly k are right and exactly k are taken, ties by position.
    * "both": all that tie are right, and all that are predicted to tie are taken, at most k of them counted. The
      tables of beam search, Hungarian and VJ, whose distances are whole numbers, were made this way. Beware: a
      prediction that is the same for all graphs scores 1.
    """
    if k < 1:
        raise InvalidArgument(f"precision needs k of 1 or more; got k = {k}")
    k = min(k, len(true))
    if k == 0:
        return math.nan
    right = _nearest(true, k, inclusive=ties != "none")
    taken = _nearest(predicted, k, inclusive=ties == "both")
    return min(k, int((right & taken).sum())) / k


def _nearest(distances: Floats, k: int, *, inclusive: bool) -> NDArray[np.bool_]:
    """Mask of the k nearest, with all that tie with the k-th or with the first of them by position."""
    if inclusive:
        return np.asarray(distances <= np.partition(distances, k - 1)[k - 1])
    mask = np.zeros(len(distances), dtype=bool)
    mask[np.argsort(distances, kind="stable")[:k]] = True
    return mask


def mean_or_nan(values: Iterable[float] | NDArray[Any]) -> float:
    """The mean; NaN if there are no values."""
    found = values if isinstance(values, np.ndarray) else np.array(list(values))
    return float(found.mean()) if found.size else math.nan


class Raw(NamedTuple):
    """Predicted and true distances in edits, of the same pairs."""

    predicted: ArrayLike
    true: ArrayLike


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of the distances between queries and a database."""

    ranking: RankingScores
    mse: float
    """Mean squared error on the scale that was ranked, in tables the paper's 1 - exp(-GED / mean size)."""
    mae: float | None
    """Mean absolute error in edits; None without raw distances."""
    exact_match_rate: float | None
    """Share of pairs whose prediction rounds to the true edit distance; None without raw distances."""

    def to_dict(self) -> dict[str, float]:
        """The scores by the names that records and reports use; those that are not defined are left out."""
        ranking = self.ranking
        found: dict[str, float | None] = {"rho": ranking.rho, "tau": ranking.tau}
        kinds = {"": ranking.precision, " strict": ranking.strict_precision, " generous": ranking.generous_precision}
        found |= {f"p@{k}{kind}": value for kind, values in kinds.items() for k, value in values.items()}
        found |= {"mse": self.mse, "mae": self.mae, "exact hits": self.exact_match_rate}
        return {name: value for name, value in found.items() if value is not None and not math.isnan(value)}

    def __str__(self) -> str:
        found = self.to_dict()
        strict = {name: f" (strict {found[key]:.3f})" for name in found if (key := f"{name} strict") in found}
        shown = [
            f"{title_of(name)} {format_score(name, value)}{strict.get(name, '')}"
            for name, value in found.items()
            if not name.endswith((" strict", " generous"))
        ]
        return "  ".join([*shown, f"({self.ranking.queries} queries)"])


def score_distances(
    predicted: ArrayLike,
    true: ArrayLike,
    *,
    scale: Literal["paper", "raw"] = "paper",
    raw: Raw | None = None,
    ks: Sequence[int] = (10, 20),
) -> Scores:
    """Compare two matrices (queries, database) of distances on one scale.

    NaN in a true matrix leaves the pair out.

    Args:
        predicted: Predicted distances.
        true: True distances on the same scale.
        scale: "paper": 1 - exp(-GED / mean size), in [0, 1]; values beyond are refused, as they are on another scale.
            "raw": edits.
        raw: The same pairs in edits, for the mean absolute error and the exact hits; for the scale "paper" alone.
        ks: For how many nearest graphs to compute the precision.
    """
    if scale not in ("paper", "raw"):
        raise InvalidArgument(f"scale must be 'paper' or 'raw'; got {scale!r}")
    if scale == "raw":
        if raw is not None:
            raise InvalidArgument("with scale='raw' the distances are in edits already: leave out raw")
        raw = Raw(predicted, true)
    else:
        for name, values in zip(("predicted", "true"), take_known(predicted, true), strict=True):
            _check_paper_scale(name, values)
    return Scores(
        ranking=score_rankings(predicted, true, ks=ks),
        mse=mean_squared_error(predicted, true),
        mae=None if raw is None else mean_absolute_error(*raw),
        exact_match_rate=None if raw is None else exact_match_rate(*raw),
    )


def _check_paper_scale(name: str, distances: Floats) -> None:
    """Refuse distances that cannot be on the paper's scale."""
    if distances.size and (distances.min() < -_ROUNDING or distances.max() > 1 + _ROUNDING):
        raise InvalidArgument(
            f"{name} distances must lie in [0, 1] on the scale 'paper'; got {distances.min():g} .. "
            f"{distances.max():g}. Distances in edits are brought there by graphmetric.normalized_distance; or give "
            "both in edits, with scale='raw'"
        )


def title_of(name: str) -> str:
    """Return the title of a score in tables, with its unit."""
    _check_name(name)
    return {"mse": "MSE e-3", "mae": "MAE"}.get(name, name)


def format_score(name: str, value: float, *, digits: int = 3) -> str:
    """A score in the unit of :func:`title_of`: the squared error in thousandths, all others as they are."""
    _check_name(name)
    return f"{1e3 * value if name == 'mse' else value:.{digits}f}"


def _check_name(name: str) -> None:
    if not re.fullmatch(r"rho|tau|mse|mae|exact hits|p@[1-9][0-9]*( strict| generous)?", name):
        raise InvalidArgument(
            f"unknown score {name!r}; there are rho, tau, mse, mae, exact hits and, for any k, p@k, p@k strict and "
            "p@k generous"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Predictions for pairs of about the same true distance; one row per bin, without empty bins."""

    true: Floats
    """The mean true distance of the bin."""
    count: NDArray[np.int64]
    """Pairs in the bin."""
    mean: Floats
    """The mean predicted distance; it equals ``true`` for a calibrated prediction."""
    quantiles: Floats
    """(bins, levels): quantiles of the predicted distances."""
    levels: tuple[float, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SizeErrors:
    """Errors of pairs of about the same size; one row per bin, empty bins left out."""

    mean_size: Floats
    """The mean over the pairs of the bin of (n1 + n2) / 2."""
    count: NDArray[np.int64]
    """Pairs in the bin."""
    absolute: Floats
    """The mean absolute error."""
    bias: Floats
    """The mean of predicted - true: above 0 where distances are overestimated."""


def calibrate(
    predicted: ArrayLike, true: ArrayLike, *, bins: int | None = None, levels: Sequence[float] = QUANTILES
) -> Calibration:
    """Mean and quantiles of the predicted distances per true distance; NaN in ``true`` leaves a pair out.

    ``bins`` is a number of bins of equal width; None: one bin for each true distance that occurs, right for edit
    distances, which are whole numbers.
    """
    guesses, truth = take_known(predicted, true)
    groups = _group(truth, bins)
    quantiles = np.array([np.quantile(guesses[group], levels) for group in groups]).reshape(len(groups), len(levels))
    return Calibration(_means(truth, groups), _counts(groups), _means(guesses, groups), quantiles, tuple(levels))


def errors_by_size(
    predicted: ArrayLike, true: ArrayLike, sizes: ArrayLike, other_sizes: ArrayLike, *, bins: int | None = 10
) -> SizeErrors:
    """Mean absolute error and bias per mean size of the two graphs, for matrices (queries, database).

    ``sizes`` belong to the rows and ``other_sizes`` to the columns. ``bins`` is a number of bins of equal width;
    None: one bin for each mean size that occurs.
    """
    guesses, truth = check_against_truth(predicted, true)
    rows = np.asarray(sizes, dtype=np.float64)
    columns = np.asarray(other_sizes, dtype=np.float64)
    if truth.shape != (*rows.shape, *columns.shape) or truth.ndim != 2:
        raise InvalidArgument(f"a matrix of shape {truth.shape} needs as many sizes; got {rows.shape}, {columns.shape}")
    known = ~np.isnan(truth)
    size, error = ((rows[:, None] + columns) / 2)[known], (guesses - truth)[known]
    groups = _group(size, bins)
    return SizeErrors(_means(size, groups), _counts(groups), _means(np.abs(error), groups), _means(error, groups))


def _group(values: NDArray[Any], bins: int | None) -> list[NDArray[np.intp]]:
    """Positions of the values in each bin that has any, ascending by value."""
    if bins is not None and bins < 1:
        raise InvalidArgument(f"bins must be 1 or more, or None for one bin per value; got {bins}")
    if not values.size:
        return []
    keys = values if bins is None else np.digitize(values, np.histogram_bin_edges(values, bins)[1:-1])
    order = np.argsort(keys, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(keys[order])) + 1)


def _means(values: Floats, groups: list[NDArray[np.intp]]) -> Floats:
    return np.array([values[group].mean() for group in groups])


def _counts(groups: list[NDArray[np.intp]]) -> NDArray[np.int64]:
    return np.array([len(group) for group in groups], dtype=np.int64)


Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class BoundScores:
    """Scores of predictions against bounds of the true distances; NaN where there is nothing to compare."""

    pairs: int
    """Pairs with bounds."""
    proven: float
    """Share of these pairs whose bounds are equal, so that their distance is known."""
    violation_rate: float
    """Share of the predictions that are outside of their bounds: they are wrong, whatever the truth is."""
    mae: Interval
    """The mean absolute error is at least the mean distance to the interval, and at most that to its further end."""
    mse: Interval
    """Bounds of the mean squared error."""
    order: float
    """Over pairs of graphs whose order the bounds decide, one being nearer to the query than the other whatever the
    truth is: the share that the prediction has in this order minus the share that it has in the other; averaged over
    queries. 1 is the true order, 0 is chance. With all distances known it is Kendall's tau without the pairs that tie.
    """
    decided: float
    """Share of the pairs of graphs, of one query each, whose order is decided; ties are not."""
    precision: dict[int, Interval]
    """The share of the k predicted nearest that is certainly among the k nearest, ties included, and the share that
    may be."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values; intervals are lists."""
        found: dict[str, Any] = {"order": self.order, "decided": self.decided}
        found |= {f"p@{k}": list(share) for k, share in self.precision.items()}
        found |= {"mae": list(self.mae), "mse": list(self.mse), "outside": self.violation_rate, "proven": self.proven}
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
        violation_rate=mean_or_nan(least > 0),
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
    """Return masks of the graphs that are certainly among the k nearest, ties included, and of those that may be.

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
