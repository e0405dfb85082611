"""How the edges of a graph reach the layers beyond the paper's inputs."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from graphmetric.encoder.options import EncoderOptions, Messages
from graphmetric.encoder.tensors import BatchTensors, draw_normal
from graphmetric.errors import InvalidArgument
from graphmetric.features import FeatureSchema

_FAR = -1e9
"""Added to attention scores of padding: its exp is exactly 0, yet a row of padding alone is not NaN as with -inf."""


def normalised_adjacency(weights: Float[Tensor, "graphs k k"]) -> Float[Tensor, "graphs k k"]:
    r""":math:`D^{-1/2} (W + I) D^{-1/2}`, degrees from absolute weights; leaving ones by row, entering by column."""
    own = weights + torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    leaving = own.abs().sum(dim=2, keepdim=True).clamp(min=1e-6).rsqrt()
    entering = own.abs().sum(dim=1, keepdim=True).clamp(min=1e-6).rsqrt()
    return leaving * own * entering


def padding_bias(batch: BatchTensors) -> Float[Tensor, "graphs 1 1 k"] | None:
    """What keeps attention away from padding; None where there is none."""
    if batch.full:
        return None
    return (~batch.mask).to(batch.weights.dtype).mul(_FAR)[:, None, None, :]


class StructuralBias(nn.Module):
    """A learned number per layer and head, added to the attention score of each pair of nodes.

    It depends on the hop distance, and where the training graphs have them on edge label and direction (each pair is
    looked at both ways, from i to j and from j to i) and, linearly, on weights.
    """

    def __init__(self, schema: FeatureSchema, options: EncoderOptions) -> None:
        super().__init__()
        if not schema.max_hops:
            raise InvalidArgument("structural_bias needs FeatureOptions(max_hops=...) above 0")
        self.layers, self.heads = options.layers, options.heads
        numbers = self.layers * self.heads
        typed = schema.directed or schema.edge_labelled
        self.hops = draw_normal(numbers, schema.max_hops + 2, scale=0.02)
        self.there = draw_normal(numbers, schema.num_relations, scale=0.02) if typed else None
        self.back = draw_normal(numbers, schema.num_relations, scale=0.02) if typed else None
        self.slope = draw_normal(2, numbers, 1, 1, 1, scale=0.02) if schema.weighted else None

    def forward(self, batch: BatchTensors) -> Float[Tensor, "layers graphs heads k k"]:
        assert batch.hops is not None
        bias = _look_up(self.hops, batch.hops)
        if self.there is not None and self.back is not None and batch.relation is not None:
            bias = bias + _look_up(self.there, batch.relation) + _look_up(self.back, batch.relation.transpose(1, 2))
        if self.slope is not None:
            bias = bias + self.slope[0] * batch.weights + self.slope[1] * batch.weights.transpose(1, 2)
        return bias.view(self.layers, self.heads, *batch.hops.shape).transpose(1, 2)


def _look_up(table: Float[Tensor, "numbers codes"], codes: Tensor) -> Float[Tensor, "numbers graphs k k"]:
    return table.index_select(1, codes.reshape(-1)).view(-1, *codes.shape)


class MessageWeights(nn.Module):
    """The matrix that carries messages: normalised adjacency or plain weights, edges gated by what they are.

    The gate is a learned factor per edge label and direction, 1 before training.
    """

    def __init__(self, schema: FeatureSchema, messages: Messages) -> None:
        super().__init__()
        self.normalised = messages == "normalised"
        gated = schema.edge_labelled or schema.directed
        self.gate = nn.Parameter(torch.ones(schema.num_relations, 1)) if gated else None

    def forward(self, batch: BatchTensors) -> Float[Tensor, "graphs k k"]:
        matrix = normalised_adjacency(batch.weights) if self.normalised else batch.weights
        if self.gate is None or batch.relation is None:
            return matrix
        return matrix * F.embedding(batch.relation, self.gate)[..., 0]


class MessagePassing(nn.Module):
    """Each node receives the states of its neighbours, by a linear map; against arcs by a map of their own."""

    def __init__(self, hidden_size: int, directed: bool) -> None:
        super().__init__()
        self.along = nn.Linear(hidden_size, hidden_size, bias=False)
        self.against = nn.Linear(hidden_size, hidden_size, bias=False) if directed else None

    def forward(
        self, states: Float[Tensor, "graphs k d_h"], carrier: Float[Tensor, "graphs k k"]
    ) -> Float[Tensor, "graphs k d_h"]:
        received: Tensor = self.along(carrier @ states)
        if self.against is not None:
            received = received + self.against(carrier.transpose(1, 2) @ states)
        return received


class GlobalContext(nn.Module):
    """A vector of the whole graph for each of its nodes, from the mean of the states and the logarithm of the size."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.summary = nn.Linear(hidden_size + 1, hidden_size)

    def forward(self, states: Float[Tensor, "graphs k d_h"], batch: BatchTensors) -> Float[Tensor, "graphs 1 d_h"]:
        """``states`` are zero in padding."""
        size = batch.mask.sum(dim=1, keepdim=True).to(states.dtype)
        mean = states.sum(dim=1) / size.clamp(min=1)
        context: Tensor = self.summary(torch.cat([mean, size.log1p()], dim=1))
        return context[:, None]
