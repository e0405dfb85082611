"""How much each pair counts in the masked loss."""

from __future__ import annotations

import torch
from torch import Tensor

from graphmetric.errors import InvalidArgument


def mask_weights(labelled: Tensor, same: Tensor, alpha: float = 0.0, beta: float = 1e3) -> Tensor:
    r"""Weights by kind of pair.

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
