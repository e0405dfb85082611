"""How far predicted distances are from the true ones, over all pairs whose true distance is known."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from graphmetric.evaluation.paired_arrays import Floats, take_known


def mean_squared_error(predicted: ArrayLike, true: ArrayLike) -> float:
    """The mean of (predicted - true)²; tables give it on the paper's scale, 1 - exp(-GED / mean size).

    Beware that SimGNN, GraphSim and H2MN print half of it.
    """
    guesses, truth = take_known(predicted, true)
    return _mean((guesses - truth) ** 2)


def mean_absolute_error(predicted: ArrayLike, true: ArrayLike) -> float:
    """The mean of \\|predicted - true\\|; tables give it in edits, on the raw scale."""
    guesses, truth = take_known(predicted, true)
    return _mean(np.abs(guesses - truth))


def exact_hits(predicted: ArrayLike, true: ArrayLike) -> float:
    """The share of pairs whose prediction, rounded to a whole number (halves to even), is the true edit distance.

    For edit distances at unit costs, which are whole numbers; any other true distance is never hit.
    """
    guesses, truth = take_known(predicted, true)
    return _mean(np.rint(guesses) == truth)


def _mean(values: Floats | np.typing.NDArray[np.bool_]) -> float:
    return float(values.mean()) if values.size else math.nan
