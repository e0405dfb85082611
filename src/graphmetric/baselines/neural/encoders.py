"""Encoders of one graph: node inputs, layers, pooling."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F

from graphmetric.baselines.neural.layers import GatedMessages, GraphConvolution, GraphIsomorphism
from graphmetric.baselines.neural.node_inputs import NodeInputs
from graphmetric.baselines.neural.pooling import MeanPooling, SumPooling
from graphmetric.encoder import BatchTensors, Encoded
from graphmetric.features import FeatureSchema


class AverageEncoder(nn.Module):
    """The mean of the input embeddings: edges play no part beyond the degrees that may be among the inputs."""

    def __init__(self, schema: FeatureSchema, width: int) -> None:
        super().__init__()
        self.output_size = width
        self.inputs, self.pooling = NodeInputs(schema, width), MeanPooling()

    def forward(self, batch: BatchTensors) -> Encoded:
        states = self.inputs(batch)
        return Encoded(self.pooling(states, batch), states, batch.mask)


class ConvolutionEncoder(nn.Module):
    """Graph convolutions with ReLU between them, the last one linear, and a pooling."""

    def __init__(self, schema: FeatureSchema, widths: Sequence[int], pooling: nn.Module) -> None:
        super().__init__()
        self.output_size = widths[-1]
        self.inputs = NodeInputs(schema, widths[0])
        self.layers = nn.ModuleList(GraphConvolution(*pair) for pair in pairwise((widths[0], *widths)))
        self.pooling = pooling

    def forward(self, batch: BatchTensors) -> Encoded:
        states = self.inputs(batch)
        for layer in self.layers[:-1]:
            states = F.relu(layer(states, batch))
        states = self.layers[-1](states, batch)
        return Encoded(self.pooling(states, batch), states, batch.mask)


class MessagePassingEncoder(nn.Module):
    """Several rounds of gated messages with the same weights; the vector of the graph is their sum."""

    def __init__(self, schema: FeatureSchema, width: int, rounds: int) -> None:
        super().__init__()
        self.output_size, self.rounds = width, rounds
        self.inputs, self.layer, self.pooling = NodeInputs(schema, width), GatedMessages(width), SumPooling()

    def forward(self, batch: BatchTensors) -> Encoded:
        states = self.inputs(batch)
        for _ in range(self.rounds):
            states = self.layer(states, batch)
        return Encoded(self.pooling(states, batch), states, batch.mask)


class IsomorphismEncoder(nn.Module):
    """GREED's: isomorphism layers, the sums of the states of all of them joined, and an MLP."""

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
