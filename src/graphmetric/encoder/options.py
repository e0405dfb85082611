"""Parameters of the encoder, and the paper's values for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from graphmetric._foundation.options import check_fields
from graphmetric.errors import InvalidArgument

Block = Literal["bert", "printed"]
Norm = Literal["post", "pre"]
Positions = Literal["sinusoidal", "learned"]
Residual = Literal["none", "raw", "graph-raw"]
Tags = Literal["table", "positional"]
Messages = Literal["none", "typed"]
Input = Literal["attributes", "roles", "neighbourhood", "degree", "walks"]

PAPER_INPUTS: tuple[Input, ...] = ("attributes", "roles", "neighbourhood", "degree")


@dataclass(frozen=True, slots=True)
class EncoderOptions:
    """Parameters of :class:`~graphmetric.encoder.GraphEncoder`. The defaults are the paper's (section 5.1)."""

    hidden_size: int = 32
    """d_h, the width of node states."""
    heads: int = 2
    """Attention heads; they share d_h between them. 0: message passing alone."""
    attention_size: int | None = None
    """Width of queries, keys and values, all heads together; None: d_h. Half of it makes a layer a third cheaper."""
    layers: int = 2
    """D, the number of graph-transformer layers."""
    intermediate_size: int = 32
    """Width of the feed-forward network inside a layer; 0: none."""
    hidden_dropout: float = 0.5
    """Dropout rate of states, during training only."""
    attention_dropout: float = 0.3
    """Dropout rate of attention weights, during training only."""
    residual: Residual = "raw"
    """The graph residual term G-Res: none, raw (per node) or graph-raw (multiplied by the normalized adjacency)."""
    inputs: tuple[Input, ...] = PAPER_INPUTS
    """Embeddings that Eq. 4 sums; "walks" (return probabilities) is beyond the paper."""
    positions: Positions = "sinusoidal"
    """Position-Embed of Eq. 2 as printed, or a learned table."""
    tags: Tags = "positional"
    """Embed of node labels: Position-Embed of their codes as in the paper, or a learned table."""
    block: Block = "bert"
    """The authors' BERT block around attention, or Eq. 6 as printed: attention + G-Res and nothing else."""
    norm: Norm = "post"
    """LayerNorm after each part, as in BERT, or before it, which trains more stably when deep."""
    messages: Messages = "none"
    """Beyond attention, each node receives the sum of its neighbors' states, each changed by the label, direction and
    weight of the edge (typed)."""
    context: bool = False
    """Every layer adds a vector computed from the whole graph to each of its nodes."""
    output_size: int | None = None
    """d, the width of z and of final node states, by a linear map; None: d_h as it is."""

    def __post_init__(self) -> None:
        check_fields(self, {"hidden_size": 1, "layers": 1, "attention_size": 1, "output_size": 1})
        for name in ("hidden_dropout", "attention_dropout"):
            if not 0 <= getattr(self, name) < 1:
                raise InvalidArgument(f"{name} must be in [0, 1); got {getattr(self, name)}")
        width = self.attention_size or self.hidden_size
        if self.heads < 0 or (self.heads and width % self.heads):
            raise InvalidArgument(f"heads={self.heads} must divide the width of attention, {width}, or be 0")
        if self.intermediate_size < 0 or self.hidden_size % 2:
            raise InvalidArgument("hidden_size must be even (sines and cosines) and intermediate_size 0 or more")
        if not self.inputs or not set(self.inputs) <= set(get_args(Input)):
            raise InvalidArgument(f"inputs must be some of {', '.join(get_args(Input))}; got {self.inputs!r}")
        if self.block == "printed" and width != self.hidden_size:
            raise InvalidArgument("block='printed' has no map back to hidden_size: leave attention_size out")
        if self.heads == 0 and (self.block == "printed" or self.messages == "none"):
            raise InvalidArgument("heads=0 needs block='bert' and messages='typed'")


def paper_options(residual: Residual = "raw") -> EncoderOptions:
    """Section 5.1 of the paper: "graph residual term: raw or none". Its k is ``FeatureOptions.k_max``."""
    return EncoderOptions(residual=residual)
