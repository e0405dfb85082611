"""Encoders of the neural baselines: node inputs, layers of message passing, and pooling to one vector per graph.

They work on padded batches. States are zero in padding before and after each layer, and the vector of the empty graph
is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from graphmetric.encoder import BatchTensors, Encoded, EncoderOptions, normalised_adjacency
from graphmetric.encoder.embeddings import InputEmbedding, clear_padding
from graphmetric.encoder.options import Input
from graphmetric.features import FeatureOptions, FeatureSchema

States = Float[Tensor, "graphs k d"]
Vectors = Float[Tensor, "graphs d"]

FEATURES = FeatureOptions(neighbourhood=False, role_rounds=0, canonical=False)
"""Attributes and degrees only. No baseline depends on the order of nodes, so it need not be canonical."""


class NodeInputs(nn.Module):
    """Learned embeddings of the attributes or, if the training graphs have none, of the degrees, as is usual.

    A learned table of tags is a linear map of their one-hot codes.
    """

    def __init__(self, schema: FeatureSchema, width: int) -> None:
        super().__init__()
        known = schema.num_tags or schema.vector_width or schema.num_words or schema.image_shape
        inputs: tuple[Input, ...] = ("attributes",) if known else ("degree",)
        options = EncoderOptions(hidden_size=width, inputs=inputs, positions="learned")
        self.embedding = InputEmbedding(schema, options)

    def forward(self, batch: BatchTensors) -> States:
        return clear_padding(self.embedding(batch), batch)


class GraphConvolution(nn.Module):
    r"""Kipf and Welling's layer, :math:`\hat A H W + b` with :math:`\hat A = D^{-1/2} (A + I) D^{-1/2}`."""

    def __init__(self, width: int, output: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, output)

    def forward(self, states: States, batch: BatchTensors) -> States:
        mixed: Tensor = self.linear(normalised_adjacency(batch.weights) @ states)
        return clear_padding(mixed, batch)


class GraphIsomorphism(nn.Module):
    r"""Xu et al.'s layer, :math:`\mathrm{MLP}((1 + \varepsilon) h_i + \sum_j A_{ij} h_j)`."""

    def __init__(self, width: int, output: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(width, output), nn.ReLU(), nn.Linear(output, output))
        self.own = nn.Parameter(torch.zeros(1))

    def forward(self, states: States, batch: BatchTensors) -> States:
        mixed: Tensor = self.mlp((1 + self.own) * states + batch.weights @ states)
        return clear_padding(mixed, batch)


class GatedMessages(nn.Module):
    """Gilmer et al.'s scheme with gates: neighbours send a linear map of their state, and a GRU takes in the sum."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.message = nn.Linear(width, width, bias=False)
        self.update = nn.GRUCell(width, width)

    def forward(self, states: States, batch: BatchTensors) -> States:
        received = batch.weights @ self.message(states)
        updated = self.update(received.flatten(0, 1), states.flatten(0, 1)).view_as(states)
        return clear_padding(updated, batch)


class SumPooling(nn.Module):
    """The sum of the states, which reflects the size of the graph."""

    def forward(self, states: States, batch: BatchTensors) -> Vectors:
        return states.sum(dim=1)


class MeanPooling(nn.Module):
    """The mean of the states, which does not reflect the size of the graph."""

    def forward(self, states: States, batch: BatchTensors) -> Vectors:
        nodes = batch.mask.sum(dim=1, keepdim=True).clamp(min=1)  # 1 for the empty graph
        return states.sum(dim=1) / nodes.to(states.dtype)


class MaxPooling(nn.Module):
    """The largest value of each coordinate."""

    def forward(self, states: States, batch: BatchTensors) -> Vectors:
        lowest = torch.finfo(states.dtype).min
        largest = states.masked_fill(~batch.mask[..., None], lowest).amax(dim=1)
        return largest.masked_fill(~batch.mask.any(dim=1, keepdim=True), 0)


class AttentionPooling(MeanPooling):
    r"""SimGNN's pooling: nodes count by how much they resemble the graph as a whole.

    .. math:: c = \tanh\Big(\frac{1}{n} \sum_i W h_i\Big), \quad z = \sum_i \sigma(h_i^\top c) \, h_i
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.context = nn.Linear(width, width, bias=False)

    def forward(self, states: States, batch: BatchTensors) -> Vectors:
        context = torch.tanh(self.context(super().forward(states, batch)))
        share = torch.sigmoid(states @ context[..., None])
        return (share * states).sum(dim=1)


class AverageEncoder(nn.Module):
    """The mean of the input embeddings: edges play no part, unless degrees are among the inputs."""

    def __init__(self, schema: FeatureSchema, width: int, pooling: nn.Module | None = None) -> None:
        super().__init__()
        self.output_size = width
        self.inputs, self.pooling = NodeInputs(schema, width), pooling or MeanPooling()

    def forward(self, batch: BatchTensors) -> Encoded:
        states = self.update(self.inputs(batch), batch)
        return Encoded(self.pooling(states, batch), states, batch.mask)

    def update(self, states: States, batch: BatchTensors) -> States:
        """Apply the layers, of which there are none here."""
        return states


class ConvolutionEncoder(AverageEncoder):
    """Graph convolutions with ReLU between them, the last one linear, and a pooling."""

    def __init__(self, schema: FeatureSchema, widths: Sequence[int], pooling: nn.Module) -> None:
        super().__init__(schema, widths[0], pooling)
        self.output_size = widths[-1]
        self.layers = nn.ModuleList(GraphConvolution(*pair) for pair in pairwise((widths[0], *widths)))

    def update(self, states: States, batch: BatchTensors) -> States:
        for layer in self.layers[:-1]:
            states = F.relu(layer(states, batch))
        last: Tensor = self.layers[-1](states, batch)
        return last


class MessagePassingEncoder(AverageEncoder):
    """Several rounds of gated messages with the same weights; the vector of the graph is the sum of its states."""

    def __init__(self, schema: FeatureSchema, width: int, rounds: int) -> None:
        super().__init__(schema, width, SumPooling())
        self.rounds = rounds
        self.layer = GatedMessages(width)

    def update(self, states: States, batch: BatchTensors) -> States:
        for _ in range(self.rounds):
            states = self.layer(states, batch)
        return states


class IsomorphismEncoder(nn.Module):
    """GREED's encoder: isomorphism layers, the sums of the states of all of them joined, and an MLP."""

    def __init__(self, schema: FeatureSchema, width: int, layers: int) -> None:
        super().__init__()
        self.output_size = width
        self.inputs = NodeInputs(schema, width)
        self.layers = nn.ModuleList(GraphIsomorphism(width, width) for _ in range(layers))
        self.pooling = SumPooling()
        self.mlp = nn.Sequential(nn.Linear((1 + layers) * width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, batch: BatchTensors) -> Encoded:
        history = [self.inputs(batch)]
        for layer in self.layers:
            history.append(F.relu(layer(history[-1], batch)))
        pooled = self.pooling(torch.cat(history, dim=-1), batch)
        return Encoded(self.mlp(pooled), history[-1], batch.mask)
