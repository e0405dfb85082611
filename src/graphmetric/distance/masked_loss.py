"""The paper's loss: known distances, and a default for unknown ones."""

from __future__ import annotations

import torch
from torch import Tensor

from graphmetric.errors import InvalidArgument

UNLABELLED = 1.0
"""What the paper takes an unknown distance to be, on its scale of [0, 1]."""


def masked_loss(distances: Tensor, truth: Tensor, weights: Tensor, p: float = 2.0, mean: bool = False) -> Tensor:
    r"""The weighted error of a matrix, or of a list of pairs.

    .. math:: \ell(D) = \lVert M \odot (D - \bar{D}) \rVert_p \qquad (10)

    with the norm taken over entries, as the paper's experiments (MSE) suggest, not that of an operator.

    Differs from the paper: training asks for ``mean``, which divides the norm by N^(1/p), N the number of entries. The
    minimum is where it was, and a learning rate means the same for mini-batches of any size.

    Args:
        distances: The predictions D, on the paper's scale.
        truth: The known distances, NaN where unknown; there, as the paper has it, 1 is put in.
        weights: The mask M of :func:`~graphmetric.distance.mask.mask_weights`.
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
