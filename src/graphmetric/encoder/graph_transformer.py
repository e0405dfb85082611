r"""Eq. 6 and 7: one layer of the encoder, and how the edges of a graph reach it beyond the paper's inputs."""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from graphmetric.encoder.embeddings import BatchTensors, clear_padding, draw_normal, normalised_adjacency
from graphmetric.encoder.options import EncoderOptions
from graphmetric.features import FeatureSchema


class LayerContext(NamedTuple):
    """Inputs of a layer besides the states."""

    batch: BatchTensors
    bias: Float[Tensor, "graphs 1 1 k"] | None
    """Added to attention scores: padding."""
    residual: Float[Tensor, "graphs k d_h"] | None
    """G-Res."""


class Attention(nn.Module):
    r"""Softmax attention of every node to every node of its graph.

    .. math:: Q = H^{(l-1)} W_Q^{(l)}, \quad K = H^{(l-1)} W_K^{(l)}, \quad V = H^{(l-1)} W_V^{(l)} \qquad (7)

    Differs from the paper: with several heads each has its part of the columns and scores are divided by the square
    root of the width of a head (printed: :math:`\sqrt{d_h}`, the same for one head). Padding is not attended to.
    The width of Q, K and V may be less than d_h. The maps have no bias, as printed; the authors' code has one.
    """

    def __init__(self, options: EncoderOptions) -> None:
        super().__init__()
        self.heads, self.dropout = options.heads, options.attention_dropout
        self.width = options.attention_size or options.hidden_size
        self.query_key_value = nn.Linear(options.hidden_size, 3 * self.width, bias=False)

    def forward(self, states: Float[Tensor, "graphs k d_h"], bias: Tensor | None) -> Float[Tensor, "graphs k width"]:
        split = self.query_key_value(states).unflatten(-1, (3, self.heads, -1))
        query, key, value = split.permute(2, 0, 3, 1, 4)
        dropout = self.dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(query, key, value, attn_mask=bias, dropout_p=dropout)
        return mixed.transpose(1, 2).flatten(-2)


class GraphTransformer(nn.Module):
    r"""Attention and the graph residual term.

    .. math::
        H^{(l)} = \text{G-Transformer}(H^{(l-1)})
        = \text{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_h}}\right) V + \text{G-Res}(H^{(l-1)}, X) \qquad (6)

    Differs from the paper: ``block="printed"`` is the formula and nothing else. The default, ``block="bert"``, follows
    the authors' code, where the attention is followed by a linear map, dropout, a skip connection and LayerNorm, then
    by a feed-forward network with GELU, dropout, skip and LayerNorm, and G-Res is added last. Messages between
    neighbours and a context of the whole graph join the attention if requested.
    """

    def __init__(self, schema: FeatureSchema, options: EncoderOptions) -> None:
        super().__init__()
        size = options.hidden_size
        self.printed, self.pre_norm = options.block == "printed", options.norm == "pre"
        self.attention = Attention(options) if options.heads else None
        if self.printed:
            return
        self.mix = nn.Linear(self.attention.width, size) if self.attention else None
        self.messages = TypedMessages(schema, size) if options.messages == "typed" else None
        self.context = GlobalContext(size) if options.context else None
        self.dropout = nn.Dropout(options.hidden_dropout)
        self.norm = nn.LayerNorm(size)
        self.feed_forward = FeedForward(options) if options.intermediate_size else None

    def forward(self, states: Float[Tensor, "graphs k d_h"], context: LayerContext) -> Float[Tensor, "graphs k d_h"]:
        if self.printed:
            assert self.attention is not None
            states = self.attention(states, context.bias)
        else:
            states = self._bert_block(states, context)
        if context.residual is not None:
            states = states + context.residual
        return clear_padding(states, context.batch)

    def _bert_block(self, states: Tensor, context: LayerContext) -> Tensor:
        seen = clear_padding(self.norm(states), context.batch) if self.pre_norm else states
        states = states + self._update(seen, context)
        if not self.pre_norm:
            states = self.norm(states)
        return states if self.feed_forward is None else self.feed_forward(states)

    def _update(self, seen: Tensor, context: LayerContext) -> Tensor:
        parts = []
        if self.attention is not None and self.mix is not None:
            parts.append(self.mix(self.attention(seen, context.bias)))
        if self.messages is not None:
            parts.append(self.messages(seen, context))
        update: Tensor = self.dropout(reduce(torch.add, parts))
        return update if self.context is None else update + self.context(seen, context.batch)


class FeedForward(nn.Module):
    """Two linear maps with GELU between them, dropout, skip connection and LayerNorm (before or after)."""

    def __init__(self, options: EncoderOptions) -> None:
        super().__init__()
        self.pre_norm = options.norm == "pre"
        self.inner = nn.Linear(options.hidden_size, options.intermediate_size)
        self.outer = nn.Linear(options.intermediate_size, options.hidden_size)
        self.dropout = nn.Dropout(options.hidden_dropout)
        self.norm = nn.LayerNorm(options.hidden_size)

    def forward(self, states: Float[Tensor, "graphs k d_h"]) -> Float[Tensor, "graphs k d_h"]:
        seen = self.norm(states) if self.pre_norm else states
        added: Tensor = states + self.dropout(self.outer(F.gelu(self.inner(seen))))
        return added if self.pre_norm else self.norm(added)


class TypedMessages(nn.Module):
    """Messages along edges: each node receives, by a linear map, the state at the other end changed by the edge.

    An edge adds a learned vector for its label and direction, and its weight times another, and clips negative
    values. The sum over neighbors thus depends on which of them is behind which kind of edge, as in the branch bound.
    (After Hu et al., 2020.) Work grows with the number of edges, not with the square of the number of nodes.
    """

    def __init__(self, schema: FeatureSchema, hidden_size: int) -> None:
        super().__init__()
        kinds = schema.num_relations * (2 if schema.directed else 1)
        self.kind = draw_normal(kinds, hidden_size, scale=hidden_size**-0.5)
        self.weight = draw_normal(hidden_size, scale=hidden_size**-0.5) if schema.weighted else None
        self.receive = nn.Linear(hidden_size, hidden_size, bias=False)

    def forward(self, states: Float[Tensor, "graphs k d_h"], context: LayerContext) -> Float[Tensor, "graphs k d_h"]:
        batch = context.batch
        assert batch.arc_ends is not None
        assert batch.arc_relation is not None
        rows = states.flatten(0, 1)
        sent = rows.index_select(0, batch.arc_ends[0]) + F.embedding(batch.arc_relation, self.kind)
        if self.weight is not None and batch.arc_weight is not None:
            sent = sent + batch.arc_weight[:, None] * self.weight
        received: Tensor = torch.zeros_like(rows).index_add(0, batch.arc_ends[1], F.relu(sent))
        return self.receive(received).view_as(states)  # type: ignore[no-any-return]


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


class GraphResidual(nn.Module):
    r"""``raw``: :math:`X W`; ``graph-raw``: :math:`\hat A X W` with the normalized adjacency; ``none``: nothing.

    It is equal in every layer, and computed once.

    Differs from the paper: X is the sum of the input embeddings of each node, not its raw attributes, which may be
    texts, images or absent. Both forms named here ignore :math:`H^{(l-1)}`.
    """

    def __init__(self, options: EncoderOptions) -> None:
        super().__init__()
        size = options.hidden_size
        self.spread = options.residual == "graph-raw"
        self.map = nn.Linear(size, size) if options.residual != "none" else None

    def forward(
        self, inputs: Float[Tensor, "graphs k d_h"], batch: BatchTensors
    ) -> Float[Tensor, "graphs k d_h"] | None:
        if self.map is None:
            return None
        term: Tensor = self.map(inputs)
        return normalised_adjacency(batch.weights) @ term if self.spread else term
