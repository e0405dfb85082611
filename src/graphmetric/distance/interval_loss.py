"""Training from bounds: a pair is wrong only outside of what is known about it."""

from __future__ import annotations

import torch
from torch import Tensor

from graphmetric.errors import InvalidArgument


def interval_loss(
    distances: Tensor, lower: Tensor, upper: Tensor, weights: Tensor | None = None, p: float = 2.0
) -> Tensor:
    r"""Weighted mean of :math:`\max(l - d, 0, d - u)^p`.

    Nothing is paid inside [lower, upper]. A labelled pair is the case lower = upper; a pair of which nothing is
    known is [0, inf]. Views of a distance are increasing, so predictions and both bounds may be on any one scale.

    Args:
        distances: Predictions, of any shape.
        lower: What each is at least.
        upper: What each is at most; may be infinite.
        weights: How much each pair counts; equally by default.
        p: At least 1.
    """
    if not 1 <= p < float("inf"):
        raise InvalidArgument(f"p must be finite and at least 1; got {p}")
    if not bool((lower <= upper).all()):
        k = int((~(lower <= upper)).flatten().nonzero()[0])
        raise InvalidArgument(
            f"pair {k} has lower bound {lower.flatten()[k].item():g} and upper bound {upper.flatten()[k].item():g}; "
            "lower <= upper must hold and neither be NaN"
        )
    outside = torch.maximum((lower - distances).clamp(min=0), (distances - upper).clamp(min=0))
    penalties = outside**p
    return penalties.mean() if weights is None else (weights * penalties).sum() / weights.sum()


def weigh_near_pairs(known: Tensor, halving: float) -> Tensor:
    """Weights that halve with every ``halving`` units of known distance, so that near pairs count more."""
    if not halving > 0:
        raise InvalidArgument(f"halving must be positive; got {halving}")
    return torch.exp2(-known / halving)
