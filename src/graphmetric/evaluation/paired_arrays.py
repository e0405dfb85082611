"""Predicted and true distances as a pair of arrays, checked at the door."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidArgument

Floats = NDArray[np.float64]


def check_against_truth(predicted: ArrayLike, true: ArrayLike) -> tuple[Floats, Floats]:
    """Both as arrays of one shape. NaN in ``true`` marks a pair that is not known; elsewhere both must be finite."""
    guesses, truth = np.asarray(predicted, dtype=np.float64), np.asarray(true, dtype=np.float64)
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
