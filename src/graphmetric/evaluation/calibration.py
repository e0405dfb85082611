"""Where predictions go wrong: by true distance, and by the size of the graphs. Arrays for plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.evaluation.scores import Floats, check_against_truth, take_known

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """What was predicted for pairs of about the same true distance; one row per bin, empty bins left out."""

    true: Floats
    """The mean true distance of the bin."""
    count: NDArray[np.int64]
    """Pairs in the bin."""
    mean: Floats
    """The mean predicted distance; of a calibrated prediction it is ``true``."""
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
    found = [np.quantile(guesses[group], levels) for group in groups]
    return Calibration(
        true=_means(truth, groups),
        count=_counts(groups),
        mean=_means(guesses, groups),
        quantiles=np.array(found).reshape(len(groups), len(levels)),
        levels=tuple(levels),
    )


def errors_by_size(
    predicted: ArrayLike, true: ArrayLike, sizes: ArrayLike, other_sizes: ArrayLike, *, bins: int | None = 10
) -> SizeErrors:
    """Mean absolute error and bias per mean size of the two graphs, for matrices (queries, database).

    ``sizes`` belong to the rows and ``other_sizes`` to the columns. ``bins`` is a number of bins of equal width;
    None: one bin for each mean size that occurs.
    """
    guesses, truth = check_against_truth(predicted, true)
    rows, columns = np.asarray(sizes, dtype=np.float64), np.asarray(other_sizes, dtype=np.float64)
    if truth.shape != (*rows.shape, *columns.shape) or truth.ndim != 2:
        raise InvalidArgument(f"a matrix of shape {truth.shape} needs as many sizes; got {rows.shape}, {columns.shape}")
    known = ~np.isnan(truth)
    size, error = ((rows[:, None] + columns) / 2)[known], (guesses - truth)[known]
    groups = _group(size, bins)
    return SizeErrors(
        mean_size=_means(size, groups),
        count=_counts(groups),
        absolute=_means(np.abs(error), groups),
        bias=_means(error, groups),
    )


def _group(values: Floats, bins: int | None) -> list[NDArray[np.intp]]:
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
