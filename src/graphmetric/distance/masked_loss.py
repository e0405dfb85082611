"""Losses over pairs of graphs: the paper's, for known distances, and one for bounds.

The paper's loss assumes that unknown distances are 1. The interval loss penalizes a pair only outside its bounds.
"""

from __future__ import annotations

import torch
from torch import Tensor

from graphmetric.errors import InvalidArgument

UNLABELLED = 1.0
"""The value that the paper gives unknown distances, on its scale of [0, 1]."""


def masked_loss(distances: Tensor, truth: Tensor, weights: Tensor, p: float = 2.0, mean: bool = False) -> Tensor:
    r"""Compute the weighted error of a matrix, or of a list of pairs.

    .. math:: \ell(D) = \lVert M \odot (D - \bar{D}) \rVert_p \qquad (10)

    with the norm taken over entries, as the paper's experiments (MSE) suggest, not as an operator norm.

    Differs from the paper: training sets ``mean``, which divides the norm by N^(1/p), N the number of entries. The
    minimum stays where it is, and a learning rate means the same for mini-batches of any size.

    Args:
        distances: The predictions D, on the paper's scale.
        truth: The known distances, NaN where unknown; there, as the paper has it, 1 is put in.
        weights: The mask M of :func:`mask_weights`.
        p: At least 1; may be infinite.
        mean: Divide by (number of entries)^(1/p), so that the loss does not grow with the batch.
    """
    if not p >= 1:
        raise InvalidArgument(f"p must be at least 1; got {p}")
    if not distances.shape == truth.shape == weights.shape:
        raise InvalidArgument(
            f"distances, truth and weights must have one shape; got {tuple(distances.shape)}, {tuple(truth.shape)} "
            f"and {tuple(weights.shape)}"
        )
    errors = weights * (distances - torch.nan_to_num(truth, nan=UNLABELLED))
    # torch's gradient of the norm is 0 where the norm is
    loss: Tensor = torch.linalg.vector_norm(errors, ord=p)
    return loss / max(1, errors.numel()) ** (1 / p) if mean else loss


def mask_weights(labelled: Tensor, same: Tensor, alpha: float = 0.0, beta: float = 1e3) -> Tensor:
    r"""Weight pairs by kind.

    .. math:: M(i, j) = \begin{cases} 1 & \bar{D}(i, j) \text{ is labelled} \\
              \alpha & \bar{D}(i, j) \text{ is unlabelled} \land i \ne j \\
              \beta & i = j \end{cases} \qquad (11)

    The diagonal is labelled too (with 0); there β counts, not 1.

    Differs from the paper: β is kept as printed but has nothing to do here, since every distance of this
    package is zero on equal graphs. α is 0 by default, for "unlabelled pairs are at distance 1" contradicts the data.

    Args:
        labelled: Boolean, a matrix or a list of pairs: which distances are known.
        same: Boolean, of the same shape: where a graph meets itself; ``torch.eye(m, dtype=bool)`` for a matrix.
        alpha: In [0, 1].
        beta: Usually very large.
    """
    if not 0 <= alpha <= 1:
        raise InvalidArgument(f"alpha must lie in [0, 1]; got {alpha}")
    if beta < 0:
        raise InvalidArgument(f"beta must not be negative; got {beta}")
    if labelled.shape != same.shape:
        raise InvalidArgument(f"labelled and same must have one shape; got {labelled.shape} and {same.shape}")
    weights = torch.full(labelled.shape, alpha, dtype=torch.get_default_dtype(), device=labelled.device)
    return weights.masked_fill(labelled, 1.0).masked_fill(same, beta)


def interval_loss(
    distances: Tensor, lower: Tensor, upper: Tensor, weights: Tensor | None = None, p: float = 2.0
) -> Tensor:
    r"""Compute the weighted mean of :math:`\max(l - d, 0, d - u)^p`.

    The loss is zero inside [lower, upper]. A labelled pair is the case lower = upper; a pair about which nothing is
    known is [0, inf]. Views of a distance are increasing, so predictions and both bounds may be on any one scale.

    Args:
        distances: Predictions, of any shape.
        lower: A lower bound of each distance.
        upper: An upper bound of each; may be infinite.
        weights: Weight of each pair; equal by default.
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


def proximity_weights(known: Tensor, halving: float) -> Tensor:
    """Halve the weight with every ``halving`` units of known distance, so that near pairs count more."""
    if not halving > 0:
        raise InvalidArgument(f"halving must be positive; got {halving}")
    return torch.exp2(-known / halving)
