"""Eq. 5: from the features of a batch of graphs to their representations.

Representations of a whole collection.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy.typing import NDArray
from torch import Tensor, nn

from graphmetric._foundation.threads import map_in_threads, working_threads
from graphmetric.encoder.embeddings import InputEmbedding
from graphmetric.encoder.fusion import Fusion
from graphmetric.encoder.graph_transformer import GraphTransformer, Surroundings
from graphmetric.encoder.options import EncoderOptions
from graphmetric.encoder.residual import GraphResidual
from graphmetric.encoder.structure import MessageWeights, StructuralBias, padding_bias
from graphmetric.encoder.tensors import BatchTensors, clear_padding, to_tensors
from graphmetric.features import BatchLimits, FeatureSchema, FeatureTable, GraphFeaturizer
from graphmetric.features.table import group_by_size
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph


class Encoded(NamedTuple):
    """What the encoder makes of a batch."""

    z: Float[Tensor, "graphs d"]
    """One vector per graph."""
    states: Float[Tensor, "graphs k d"]
    """One vector per node, exactly 0 in padding."""
    mask: Bool[Tensor, "graphs k"]
    """Which nodes are real."""


class GraphEncoder(nn.Module):
    r"""Input embeddings, D graph-transformer layers, fusion.

    .. math::
        H^{(0)} = [h_1^{(0)}, \dots, h_{|V|}^{(0)}]^\top, \quad
        H^{(l)} = \text{G-Transformer}(H^{(l-1)}), \; l = 1 \dots D, \quad
        z = \text{Fusion}(H^{(D)}) \qquad (5)

    Directions, weights and edge labels reach it in all of these ways: through Weisfeiler-Lehman roles, whose colours
    include them; as degrees counted apart by direction, and by weight; as weights in w_i; and where switched on, in
    the structural attention bias and in the messages, by label and direction.

    Differs from the paper: batches are padded to their largest graph, not to k_max, and padding neither attends nor is
    attended to nor enters the fusion. As in the authors' code, the block ``"bert"`` normalises the input embeddings.
    Joining the states of all layers and a final linear map to another width are options.
    """

    def __init__(self, schema: FeatureSchema, options: EncoderOptions | None = None) -> None:
        super().__init__()
        self.options = options = options or EncoderOptions()
        size, printed = options.hidden_size, options.block == "printed"
        self.inputs = InputEmbedding(schema, options)
        self.input_norm = None if printed else nn.LayerNorm(size)
        self.dropout = nn.Dropout(0.0 if printed else options.hidden_dropout)
        self.residual = GraphResidual(options)
        self.bias = StructuralBias(schema, options) if options.structural_bias and options.heads else None
        self.carrier = MessageWeights(schema, options.messages) if options.messages != "none" else None
        self.layers = nn.ModuleList(GraphTransformer(schema, options) for _ in range(options.layers))
        last_alone = options.norm == "pre" and not printed and not options.join_layers
        self.final_norm = nn.LayerNorm(size) if last_alone else None
        joined = size * (1 + options.layers) if options.join_layers else size
        width = options.output_size or size
        self.output = nn.Linear(joined, width) if options.join_layers or options.output_size else None
        self.fusion = Fusion(schema.k_max)

    @property
    def output_size(self) -> int:
        """d, the width of z and of the final states."""
        return self.options.output_size or self.options.hidden_size

    def forward(self, batch: BatchTensors) -> Encoded:
        hidden = self._embed_inputs(batch)
        residual = self.residual(hidden, batch)
        carrier = None if self.carrier is None else self.carrier(batch)
        biases = self._attention_biases(batch)
        history = [hidden]
        for layer, bias in zip(self.layers, biases, strict=True):
            history.append(layer(history[-1], Surroundings(batch, bias, residual, carrier)))
        states = self._finish(history, batch)
        return Encoded(self.fusion(states), states, batch.mask)

    def _embed_inputs(self, batch: BatchTensors) -> Tensor:
        hidden: Tensor = self.inputs(batch)
        if self.input_norm is not None:
            hidden = self.dropout(self.input_norm(hidden))
        return clear_padding(hidden, batch)

    def _attention_biases(self, batch: BatchTensors) -> list[Tensor | None]:
        padding = padding_bias(batch)
        if self.bias is None:
            return [padding] * len(self.layers)
        structural: Tensor = self.bias(batch)
        return list(structural if padding is None else structural + padding)

    def _finish(self, history: list[Tensor], batch: BatchTensors) -> Tensor:
        states = torch.cat(history, dim=-1) if self.options.join_layers else history[-1]
        if self.final_norm is not None:
            states = self.final_norm(states)
        if self.output is not None:
            states = self.output(states)
        return clear_padding(states, batch)


_CHUNK = 4096
"""Graphs whose features exist at a time, per thread: memory does not grow with the collection."""


def embed_graphs(
    featurizer: GraphFeaturizer,
    encoder: GraphEncoder,
    graphs: Iterable[Graph],
    *,
    limits: BatchLimits | None = None,
    threads: int | None = None,
) -> NDArray[np.float32]:
    """z of every graph, (graphs, d), in the order given; the encoder should be in evaluation mode.

    Chunks of graphs, or the batches of a few chunks, are spread over ``threads``; None: as many as are allowed.
    """
    collection = GraphCollection(graphs)
    z = np.empty((len(collection), encoder.output_size), dtype=np.float32)

    def embed_chunk(start: int) -> None:
        chunk = collection[start : start + _CHUNK]
        z[start : start + len(chunk)] = embed_table(encoder, featurizer.transform(chunk), limits=limits)

    with working_threads(threads):
        map_in_threads(embed_chunk, range(0, len(collection), _CHUNK), parts_are_parallel=True)
    return z


def embed_table(
    encoder: GraphEncoder, table: FeatureTable, *, limits: BatchLimits | None = None
) -> NDArray[np.float32]:
    """z of every graph of a table that is already there."""
    weights = next(encoder.parameters())
    z = np.empty((len(table), encoder.output_size), dtype=np.float32)

    def embed_batch(positions: NDArray[np.int64]) -> None:
        with torch.inference_mode():  # of one thread alone
            batch = to_tensors(table.padded(positions), weights.device, weights.dtype)
            z[positions] = encoder(batch).z.cpu().numpy()

    map_in_threads(embed_batch, group_by_size(table.sizes, limits or BatchLimits()))
    return z
