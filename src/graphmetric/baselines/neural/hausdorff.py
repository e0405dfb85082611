"""The Hausdorff edit distance of node states."""

from __future__ import annotations

import torch
from torch import Tensor

from graphmetric.baselines.neural.padded_pairs import PaddedNodes, measure_in_groups, pad_nodes
from graphmetric.distance import PairDistance, Representation
from graphmetric.distance.pair_distance import METRIC, Axiom
from graphmetric.distance.views import to_paper


class HausdorffDistance(PairDistance):
    r"""Each node goes to the nearest node of the other graph, whoever else goes there.

    .. math:: h = \sum_i \min\Big(\lVert h_i \rVert, \tfrac12 \min_j \lVert h_i - h'_j \rVert\Big)
              + \sum_j \min\Big(\lVert h'_j \rVert, \tfrac12 \min_i \lVert h_i - h'_j \rVert\Big)

    in edits, brought to the paper's scale. A turn is paid for from both sides, hence the halves; the norm of a state
    is the price of deleting it.
    """

    axioms = METRIC - {Axiom.TRIANGLE_INEQUALITY}
    scale = "paper"
    width = 0

    def project(self, z: Tensor) -> Tensor:
        """The pooled vector plays no part."""
        return z[..., :0]

    def compare(self, left: Representation, right: Representation) -> Tensor:
        return measure_in_groups(left, right, self._measure)

    def _measure(self, left: Representation, right: Representation) -> Tensor:
        a, b = pad_nodes(left), pad_nodes(right)
        exact = "donot_use_mm_for_euclid_dist"  # the fast way is 1e-3 off for states that are nearly equal
        turns = torch.cdist(a.states, b.states, compute_mode=exact) / 2
        prices = sum_least(turns, a, b) + sum_least(turns.transpose(1, 2), b, a)
        return to_paper(prices, left.size.to(prices), right.size.to(prices))


def sum_least(turns: Tensor, own: PaddedNodes, other: PaddedNodes) -> Tensor:
    """The first sum: over the real nodes of ``own`` the least of deletion and of the turns into real nodes."""
    nearest = turns.masked_fill(~other.mask[:, None, :], torch.inf).amin(dim=2)
    deletion: Tensor = torch.linalg.vector_norm(own.states, dim=2)
    return torch.minimum(deletion, nearest).masked_fill(~own.mask, 0).sum(dim=1)
