"""From node states to one vector per graph; the empty graph is at zero."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from graphmetric.encoder import BatchTensors

States = Float[Tensor, "graphs k d"]
Vectors = Float[Tensor, "graphs d"]


class SumPooling(nn.Module):
    """Keeps the size of the graph."""

    def forward(self, states: States, batch: BatchTensors) -> Vectors:
        """``states`` are zero in padding."""
        return states.sum(dim=1)


class MeanPooling(nn.Module):
    """Forgets the size of the graph."""

    def forward(self, states: States, batch: BatchTensors) -> Vectors:
        """``states`` are zero in padding."""
        return states.sum(dim=1) / count_nodes(batch, states)


class MaxPooling(nn.Module):
    """The largest value of each coordinate."""

    def forward(self, states: States, batch: BatchTensors) -> Vectors:
        lowest = torch.finfo(states.dtype).min
        largest = states.masked_fill(~batch.mask[..., None], lowest).amax(dim=1)
        return largest.masked_fill(~batch.mask.any(dim=1, keepdim=True), 0)


class AttentionPooling(nn.Module):
    r"""SimGNN's: nodes count by how much they resemble the graph as a whole.

    .. math:: c = \tanh\Big(\frac{1}{n} \sum_i W h_i\Big), \quad z = \sum_i \sigma(h_i^\top c) \, h_i
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.context = nn.Linear(width, width, bias=False)

    def forward(self, states: States, batch: BatchTensors) -> Vectors:
        """``states`` are zero in padding."""
        context = torch.tanh(self.context(states.sum(dim=1) / count_nodes(batch, states)))
        share = torch.sigmoid(states @ context[..., None])
        return (share * states).sum(dim=1)


def count_nodes(batch: BatchTensors, states: States) -> Float[Tensor, "graphs 1"]:
    """Numbers of nodes as divisors: 1 for the empty graph."""
    return batch.mask.sum(dim=1, keepdim=True).clamp(min=1).to(states.dtype)
