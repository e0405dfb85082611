r"""Eq. 6 and 7: one layer of the encoder."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from graphmetric.encoder.options import EncoderOptions
from graphmetric.encoder.structure import GlobalContext, MessagePassing
from graphmetric.encoder.tensors import BatchTensors, clear_padding
from graphmetric.features import FeatureSchema


class Surroundings(NamedTuple):
    """What a layer knows besides the states."""

    batch: BatchTensors
    bias: Float[Tensor, "graphs heads k k"] | Float[Tensor, "graphs 1 1 k"] | None
    """Added to attention scores: padding, and structure where asked for."""
    residual: Float[Tensor, "graphs k d_h"] | None
    """G-Res."""
    carrier: Float[Tensor, "graphs k k"] | None
    """The matrix that carries messages."""


class Attention(nn.Module):
    r"""Softmax attention of every node to every node of its graph.

    .. math:: Q = H^{(l-1)} W_Q^{(l)}, \quad K = H^{(l-1)} W_K^{(l)}, \quad V = H^{(l-1)} W_V^{(l)} \qquad (7)

    Differs from the paper: with several heads each has its share of the columns and scores are divided by the square
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
    neighbours and a context of the whole graph join the attention where asked for.
    """

    def __init__(self, schema: FeatureSchema, options: EncoderOptions) -> None:
        super().__init__()
        size = options.hidden_size
        self.printed, self.pre_norm = options.block == "printed", options.norm == "pre"
        self.attention = Attention(options) if options.heads else None
        if self.printed:
            return
        self.mix = nn.Linear(self.attention.width, size) if self.attention else None
        self.messages = MessagePassing(size, schema.directed) if options.messages != "none" else None
        self.context = GlobalContext(size) if options.context else None
        self.dropout = nn.Dropout(options.hidden_dropout)
        self.norm = nn.LayerNorm(size)
        self.feed_forward = FeedForward(options) if options.intermediate_size else None

    def forward(self, states: Float[Tensor, "graphs k d_h"], around: Surroundings) -> Float[Tensor, "graphs k d_h"]:
        if self.printed:
            assert self.attention is not None
            states = self.attention(states, around.bias)
        else:
            states = self._bert_block(states, around)
        if around.residual is not None:
            states = states + around.residual
        return clear_padding(states, around.batch)

    def _bert_block(self, states: Tensor, around: Surroundings) -> Tensor:
        seen = clear_padding(self.norm(states), around.batch) if self.pre_norm else states
        states = states + self._update(seen, around)
        if not self.pre_norm:
            states = self.norm(states)
        return states if self.feed_forward is None else self.feed_forward(states)

    def _update(self, seen: Tensor, around: Surroundings) -> Tensor:
        update: Tensor | None = None
        if self.attention is not None and self.mix is not None:
            update = self.mix(self.attention(seen, around.bias))
        if self.messages is not None:
            received = self.messages(seen, around.carrier)
            update = received if update is None else update + received
        assert update is not None
        update = self.dropout(update)
        return update if self.context is None else update + self.context(seen, around.batch)


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
