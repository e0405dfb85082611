"""SimGNN's comparison of two encoded graphs: a neural tensor network, and a histogram of node similarities."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from graphmetric.baselines.neural.padded_pairs import measure_in_groups, pad_nodes
from graphmetric.distance import PairDistance, Representation
from graphmetric.distance.pair_distance import Axiom


class NeuralTensor(nn.Module):
    r"""Socher et al.'s network: for each of K slices a bilinear form and a linear one.

    .. math:: \mathrm{ReLU}\big(z^\top W_{1..K} \, z' + V [z; z'] + b\big)

    It is not symmetric: which graph comes first matters, before and after training.
    """

    def __init__(self, width: int, slices: int) -> None:
        super().__init__()
        self.slices = nn.Linear(width, slices * width, bias=False)
        self.linear = nn.Linear(2 * width, slices)

    def forward(self, left: Float[Tensor, "pairs d"], right: Float[Tensor, "pairs d"]) -> Float[Tensor, "pairs K"]:
        turned = self.slices(left).unflatten(-1, (-1, right.shape[-1]))  # one product; nn.Bilinear makes one per slice
        bilinear = (turned @ right[..., None]).squeeze(-1)
        return F.relu(bilinear + self.linear(torch.cat([left, right], dim=-1)))


class SimGNNDistance(PairDistance):
    """One minus the similarity that an MLP makes of both parts.

    Differs from SimGNN in nothing but the training that surrounds it. As there, the histogram has no gradient, and the
    smaller graph is filled up with zero states for it, whose similarity to all others is a half.
    """

    axioms = frozenset({Axiom.NON_NEGATIVE})
    scale = "paper"

    def __init__(self, width: int, slices: int = 16, bins: int = 16, hidden: Sequence[int] = (16, 8)) -> None:
        super().__init__()
        self.width, self.bins = width, bins
        self.tensor = NeuralTensor(width, slices)
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise((slices + bins, *hidden, 1)))

    def extra_repr(self) -> str:
        return f"bins={self.bins}"

    def compare(self, left: Representation, right: Representation) -> Tensor:
        return measure_in_groups(left, right, self._measure)

    def _measure(self, left: Representation, right: Representation) -> Tensor:
        values = torch.cat([self.tensor(left.z, right.z), self.count_similarities(left, right)], dim=-1)
        for layer in self.layers[:-1]:
            values = F.relu(layer(values))
        score: Tensor = self.layers[-1](values)
        return torch.sigmoid(-score).squeeze(-1)  # 1 - sigmoid(score)

    @torch.no_grad()
    def count_similarities(self, left: Representation, right: Representation) -> Float[Tensor, "pairs bins"]:
        """Which share of the pairs of nodes has its similarity, sigmoid of the dot product, in each equal bin."""
        a, b = pad_nodes(left), pad_nodes(right)
        similarity = torch.sigmoid(a.states @ b.states.transpose(1, 2))
        bin_of = (similarity * self.bins).long().clamp(max=self.bins - 1)
        real = (a.mask[:, :, None] & b.mask[:, None, :]).to(similarity)
        counts = similarity.new_zeros(len(real), self.bins)
        counts.scatter_add_(1, bin_of.flatten(1), real.flatten(1))
        filled_up = torch.maximum(left.size, right.size) ** 2
        counts[:, self.bins // 2] += (filled_up - left.size * right.size).to(counts)
        return counts / filled_up.clamp(min=1)[:, None]
