r"""From a pseudo-metric to a metric on isomorphism classes.

Every encoder puts some graphs that differ at distance 0. The discrete metric on certificates,
:math:`\epsilon \cdot [\mathrm{certificate}(G) \ne \mathrm{certificate}(H)]`, is itself a metric, and so is its sum with
a pseudo-metric; the sum is 0 exactly when the graphs are isomorphic. If answers lie up to t below the pseudo-metric,
:math:`\epsilon \ge 2t` keeps the triangle inequality: a detour pays :math:`\epsilon` twice, the direct way once. So a
head that solves its distances to a tolerance has an epsilon of its own (``PairDistance.epsilon``).
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from graphmetric.errors import InvalidArgument


def number_certificates(*sides: ArrayLike) -> list[Tensor]:
    """Certificates (strings) as integers that are equal where the strings are; one tensor per side."""
    arrays = [np.asarray(side) for side in sides]
    if any(array.ndim != 1 for array in arrays):
        raise InvalidArgument(f"certificates form lists; got arrays of shapes {[array.shape for array in arrays]}")
    _, codes = np.unique(np.concatenate(arrays), return_inverse=True)
    ends = np.cumsum([len(array) for array in arrays])[:-1]
    return [torch.from_numpy(part.astype(np.int64)) for part in np.split(codes, ends)]


def add_discrete_metric(distances: Tensor, differs: Tensor, epsilon: float) -> Tensor:
    """``epsilon`` more where graphs differ, and exactly 0 where they do not, whatever rounding made of it."""
    return torch.where(differs, distances + epsilon, 0.0)


def strict_distances(distances: Tensor, left: ArrayLike, right: ArrayLike, epsilon: float = 1e-4) -> Tensor:
    """Make distances strict, given the certificates of their graphs.

    Args:
        distances: (n,) of n pairs, or a matrix (n, m).
        left: The n certificates of the first graphs, or of the rows.
        right: The certificates of the second graphs, or of the columns.
        epsilon: The least distance of graphs that differ, in the units of ``distances``.
    """
    if not epsilon > 0:
        raise InvalidArgument(f"epsilon must be positive; got {epsilon}")
    rows, columns = number_certificates(left, right)
    sides = (distances.shape[0], distances.shape[-1])
    if distances.ndim not in (1, 2) or sides != (len(rows), len(columns)):
        raise InvalidArgument(
            f"{len(rows)} and {len(columns)} certificates do not fit distances of shape {tuple(distances.shape)}"
        )
    differs = rows.unsqueeze(1) != columns if distances.ndim == 2 else rows != columns
    return add_discrete_metric(distances, differs.to(distances.device), epsilon)
