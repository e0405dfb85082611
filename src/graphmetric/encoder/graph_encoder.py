"""Eq. 5 and 8: from the features of a batch of graphs to node states, and from these to one vector per graph."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Bool, Float
from torch import Tensor, nn

from graphmetric.encoder.embeddings import BatchTensors, InputEmbedding, clear_padding, padding_bias
from graphmetric.encoder.graph_transformer import GraphResidual, GraphTransformer, LayerContext
from graphmetric.encoder.options import EncoderOptions
from graphmetric.features import FeatureSchema


class Encoded(NamedTuple):
    """Output of the encoder for a batch."""

    z: Float[Tensor, "graphs d"]
    """One vector per graph."""
    states: Float[Tensor, "graphs k d"]
    """One vector per node, exactly 0 in padding."""
    mask: Bool[Tensor, "graphs k"]
    """True for nodes, False for padding."""


class GraphEncoder(nn.Module):
    r"""Input embeddings, D graph-transformer layers, fusion.

    .. math::
        H^{(0)} = [h_1^{(0)}, \dots, h_{|V|}^{(0)}]^\top, \quad
        H^{(l)} = \text{G-Transformer}(H^{(l-1)}), \; l = 1 \dots D, \quad
        z = \text{Fusion}(H^{(D)}) \qquad (5)

    Directions, weights and edge labels reach it in all of these ways: through Weisfeiler-Lehman roles, whose colors
    include them; as degrees counted apart by direction, and by weight; as weights in w_i; and where switched on, in
    the messages, by label and direction.

    Differs from the paper: batches are padded to their largest graph, not to k_max, and padding neither attends nor is
    attended to nor enters the fusion. As in the authors' code, the block ``"bert"`` normalizes the input embeddings.
    A final linear map to another width is an option.
    """

    def __init__(self, schema: FeatureSchema, options: EncoderOptions | None = None) -> None:
        super().__init__()
        self.options = options = options or EncoderOptions()
        size, printed = options.hidden_size, options.block == "printed"
        self.output_size = options.output_size or size
        """d, the width of z and of the final states."""
        self.inputs = InputEmbedding(schema, options)
        self.input_norm = None if printed else nn.LayerNorm(size)
        self.dropout = nn.Dropout(0.0 if printed else options.hidden_dropout)
        self.residual = GraphResidual(options)
        self.layers = nn.ModuleList(GraphTransformer(schema, options) for _ in range(options.layers))
        self.final_norm = nn.LayerNorm(size) if options.norm == "pre" and not printed else None
        self.output = nn.Linear(size, self.output_size) if options.output_size else None
        self.fusion = Fusion(schema.k_max)

    def forward(self, batch: BatchTensors) -> Encoded:
        hidden: Tensor = self.inputs(batch)
        if self.input_norm is not None:
            hidden = self.dropout(self.input_norm(hidden))
        states: Tensor = clear_padding(hidden, batch)
        context = LayerContext(batch, padding_bias(batch), self.residual(states, batch))
        for layer in self.layers:
            states = layer(states, context)
        if self.final_norm is not None:
            states = self.final_norm(states)
        if self.output is not None:
            states = self.output(states)
        states = clear_padding(states, batch)
        return Encoded(self.fusion(states), states, batch.mask)


class Fusion(nn.Module):
    r"""The sum of the node states divided by a constant.

    .. math:: z = \text{Fusion}(H^{(D)}) = \frac{1}{k_{max}} \sum_{i=1}^{k_{max}} h_i^{(D)} \qquad (8)

    It is a sum, not a mean: size is kept, and the empty graph has z = 0. Since :math:`k_{max} \lVert z_G - z_H \rVert`
    is a lower bound of the matching distance of the states, z is an exact filter for it.

    Differs from the paper: graphs beyond :math:`k_{max}` nodes are summed over all their nodes.
    """

    def __init__(self, k_max: int) -> None:
        super().__init__()
        self.k_max = k_max

    def forward(self, states: Float[Tensor, "graphs k d"]) -> Float[Tensor, "graphs d"]:
        """``states`` are zero in padding."""
        return states.sum(dim=1) / self.k_max
