"""A batch of graphs as tensors, and Eq. 1-4: the four embeddings of a node, and their sum."""

from __future__ import annotations

from dataclasses import fields
from functools import reduce
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from graphmetric._foundation.threads import send
from graphmetric.encoder.options import EncoderOptions, Positions
from graphmetric.errors import InvalidArgument
from graphmetric.features import FeatureSchema, GraphBatch

BatchTensors = GraphBatch[Tensor]

_FAR = -1e9
"""Added to attention scores of padding: its exp is exactly 0, yet a row of padding alone is not NaN as with -inf."""
_CHANNELS = 16
_POOLED = 4
_LARGEST_TABLE = 1 << 16
"""Number of codes with cached sines; those of larger codes are computed on demand."""


def to_tensors(
    batch: GraphBatch[Any], device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> BatchTensors:
    """Move a batch to a device; on the CPU in single precision the memory is shared."""
    on_host = torch.device(device).type == "cpu"

    def convert(value: Any) -> Any:
        if not isinstance(value, np.ndarray | Tensor):
            return value
        tensor = torch.from_numpy(value) if isinstance(value, np.ndarray) else value
        if tensor.is_floating_point() and tensor.dtype != dtype:
            tensor = tensor.to(dtype)
        return tensor if on_host else send(tensor, device)

    return GraphBatch(*(convert(getattr(batch, field.name)) for field in fields(batch)))


def clear_padding(states: Float[Tensor, "graphs k d"], batch: BatchTensors) -> Float[Tensor, "graphs k d"]:
    """Set the states to exact zeros in the rows of padding."""
    return states if batch.full else states.masked_fill(~batch.mask[..., None], 0)


def padding_bias(batch: BatchTensors) -> Float[Tensor, "graphs 1 1 k"] | None:
    """Return the bias that excludes padding from attention; None if there is no padding."""
    if batch.full:
        return None
    return (~batch.mask).to(batch.weights.dtype).mul(_FAR)[:, None, None, :]


def normalised_adjacency(weights: Float[Tensor, "graphs k k"]) -> Float[Tensor, "graphs k k"]:
    r""":math:`D^{-1/2} (W + I) D^{-1/2}`, degrees from absolute weights; leaving ones by row, entering by column."""
    own = weights + torch.eye(weights.shape[-1], dtype=weights.dtype, device=weights.device)
    leaving = own.abs().sum(dim=2, keepdim=True).clamp(min=1e-6).rsqrt()
    entering = own.abs().sum(dim=1, keepdim=True).clamp(min=1e-6).rsqrt()
    return leaving * own * entering


def draw_normal(*shape: int, scale: float) -> nn.Parameter:
    """Sample a parameter from a normal distribution.

    On the device "meta", where a saved model is compared with its description, it has a shape and nothing is drawn:
    torch would import its compiler for that, which takes more than a second.
    """
    values = torch.empty(*shape)
    return nn.Parameter(values if values.is_meta else values.normal_().mul_(scale))


class Embed(nn.Module):
    r"""Node attributes, by kind: Position-Embed (or a table) for tags, MLP for vectors, LSTM for texts, CNN for images.

    .. math:: e_i^x = \text{Embed}(x_i) \qquad (1)

    Differs from the paper: a node may have attributes of several kinds at once, whose embeddings are added; a graph
    that lacks a kind adds nothing for it. Tags are numbered by the vocabulary of the training graphs, since the paper
    does not say where their positions come from; tags of neighbouring numbers have nothing in common, so a learned
    table is the option.
    """

    def __init__(self, schema: FeatureSchema, options: EncoderOptions) -> None:
        super().__init__()
        size = options.hidden_size
        by: Positions = "sinusoidal" if options.tags == "positional" else "learned"
        self.tags = PositionEmbed(schema.num_tags, size, by) if schema.num_tags else None
        self.vectors = VectorNetwork(schema.vector_width, size) if schema.vector_width else None
        self.texts = TextNetwork(schema.num_words, size) if schema.num_words else None
        self.images = ImageNetwork(schema.image_shape[0], size) if schema.image_shape else None

    def forward(self, batch: BatchTensors) -> Float[Tensor, "graphs k d_h"] | None:
        """Sum over the kinds in use; None without any."""
        parts = dict[int, Tensor]()
        if self.tags is not None and batch.tag is not None:
            parts[0] = self.tags(batch.tag)
        if self.vectors is not None and batch.vector is not None:
            parts[1] = self.vectors(batch.vector)
        if self.texts is not None and batch.text is not None and batch.tokens is not None:
            parts[2] = F.embedding(batch.text, self.texts(batch.tokens))
        if self.images is not None and batch.image is not None and batch.pixels is not None:
            parts[3] = F.embedding(batch.image, self.images(batch.pixels))
        known = [part * batch.has_attributes[:, kind, None, None] for kind, part in parts.items()]
        return reduce(torch.add, known) if known else None


class PositionEmbed(nn.Module):
    r"""A code as sines and cosines of falling frequency, :math:`l = 0, \dots, d_h/2 - 1`.

    .. math::
        e_i^r = \text{Position-Embed}(\text{WL}(v_i)) = \left[
        \sin\frac{\text{WL}(v_i)}{10000^{2l/d_h}},
        \cos\frac{\text{WL}(v_i)}{10000^{(2l+1)/d_h}} \right]_{l=0}^{d_h/2-1} \qquad (2)

    Differs from the paper: as printed l runs up to :math:`\lfloor d_h/2 \rfloor`, one too far, which makes d_h + 2
    entries. The exponents are the printed ones (the usual form has :math:`2l/d_h` in both). Neighbouring codes mean
    unrelated things, so a learned table is the option; codes beyond it share its last row.
    """

    table: Tensor

    def __init__(self, num_codes: int, hidden_size: int, positions: Positions = "sinusoidal") -> None:
        super().__init__()
        self.hidden_size, self.num_codes = hidden_size, num_codes
        self.learned = positions == "learned"
        if self.learned:
            self.table = draw_normal(max(1, num_codes), hidden_size, scale=hidden_size**-0.5)
        else:
            table = torch.empty(min(max(1, num_codes), _LARGEST_TABLE), hidden_size)
            if not table.is_meta:
                table = self._waves(torch.arange(len(table))).to(table.dtype)
            self.register_buffer("table", table, persistent=False)

    def forward(self, codes: Int[Tensor, "graphs k"], largest: int | None = None) -> Float[Tensor, "graphs k d_h"]:
        """``largest`` is the largest code, or more; by default those of a device are below ``num_codes``."""
        last = len(self.table) - 1
        if self.learned:
            return F.embedding(codes.clamp(max=last), self.table)
        if largest is None:
            on_host = codes.device.type == "cpu" and codes.numel()
            largest = int(codes.max()) if on_host else self.num_codes - 1
        return F.embedding(codes, self.table) if largest <= last else self._waves(codes).to(self.table.dtype)

    def _waves(self, codes: Int[Tensor, "*codes"]) -> Float[Tensor, "*codes d_h"]:
        """In double precision: the sine of a large code needs all its digits."""
        l = torch.arange(self.hidden_size // 2, dtype=torch.float64, device=codes.device)  # noqa: E741
        angle = codes[..., None].double()
        sines = torch.sin(angle / 10000 ** (2 * l / self.hidden_size))
        cosines = torch.cos(angle / 10000 ** ((2 * l + 1) / self.hidden_size))
        return torch.stack([sines, cosines], dim=-1).flatten(-2)


class NeighbourhoodEmbed(nn.Module):
    r"""Connection weights in canonical order, by a linear map; with the degrees of :class:`DegreeEmbed`

    .. math:: e_i^w = \text{Embed}(w_i), \quad e_i^d = \text{Position-Embed}(D(v_i)) \qquad (3)

    Differs from the paper: the order is canonical (see ``canonical_form`` in ``features/featurizer.py``), and columns
    beyond k_max are cut, so that larger graphs can be encoded.
    """

    def __init__(self, k_max: int, hidden_size: int) -> None:
        super().__init__()
        self.columns = nn.Linear(k_max, hidden_size, bias=False)

    def forward(self, weights: Float[Tensor, "graphs k k"]) -> Float[Tensor, "graphs k d_h"]:
        kept = min(weights.shape[-1], self.columns.in_features)
        return F.linear(weights[..., :kept], self.columns.weight[:, :kept])  # the other columns are zero


class DegreeEmbed(nn.Module):
    """The second half of Eq. 3: Position-Embed of the degree.

    Differs from the paper: where arcs have a direction, edges that leave and that enter are counted apart and the
    latter go through a linear map first, since a plain sum could not tell them apart; weighted degrees, real numbers,
    are added by another.
    """

    def __init__(self, schema: FeatureSchema, options: EncoderOptions) -> None:
        super().__init__()
        size = options.hidden_size
        self.position = PositionEmbed(schema.largest_degree + 1, size, options.positions)
        self.entering = nn.Linear(size, size, bias=False) if schema.directed else None
        self.strength = nn.Linear(2, size, bias=False) if schema.weighted else None

    def forward(self, batch: BatchTensors) -> Float[Tensor, "graphs k d_h"]:
        embedded: Tensor = self.position(batch.degree[..., 0], batch.largest_degree)
        if self.entering is not None:
            embedded = embedded + self.entering(self.position(batch.degree[..., 1], batch.largest_degree))
        if self.strength is not None and batch.strength is not None:
            embedded = embedded + self.strength(batch.strength)
        return embedded


class InputEmbedding(nn.Module):
    r"""The sum of the embeddings in use.

    .. math:: h_i^{(0)} = \text{sum}(e_i^x, e_i^r, e_i^w, e_i^d) \qquad (4)

    Differs from the paper: any of the four can be left out, and random-walk return probabilities can be added.
    """

    def __init__(self, schema: FeatureSchema, options: EncoderOptions) -> None:
        super().__init__()
        size, inputs = options.hidden_size, options.inputs
        if "walks" in inputs and not schema.return_steps:
            raise InvalidArgument('the input "walks" needs FeatureOptions(return_steps=...) above 0')
        self.hidden_size = size
        self.attributes = Embed(schema, options) if "attributes" in inputs else None
        self.roles = PositionEmbed(schema.num_roles, size, options.positions) if "roles" in inputs else None
        self.neighbourhood = NeighbourhoodEmbed(schema.k_max, size) if "neighbourhood" in inputs else None
        self.degree = DegreeEmbed(schema, options) if "degree" in inputs else None
        self.walks = nn.Linear(schema.return_steps, size, bias=False) if "walks" in inputs else None

    def forward(self, batch: BatchTensors) -> Float[Tensor, "graphs k d_h"]:
        inputs = (
            (self.attributes, batch),
            (self.roles, batch.role),
            (self.neighbourhood, batch.weights),
            (self.degree, batch),
            (self.walks, batch.walks),
        )
        parts = [embed(given) for embed, given in inputs if embed is not None]
        present = [part for part in parts if part is not None]
        if not present:  # attributes alone are asked for, and this batch has none
            return batch.weights.new_zeros(*batch.mask.shape, self.hidden_size)
        total: Tensor = reduce(torch.add, present)
        return total


class VectorNetwork(nn.Module):
    """Real vectors: an MLP with one hidden layer."""

    def __init__(self, vector_width: int, hidden_size: int) -> None:
        super().__init__()
        self.inner = nn.Linear(vector_width, hidden_size)
        self.outer = nn.Linear(hidden_size, hidden_size)

    def forward(self, vector: Float[Tensor, "graphs k d_x"]) -> Float[Tensor, "graphs k d_h"]:
        embedded: Tensor = self.outer(F.gelu(self.inner(vector)))
        return embedded


class TextNetwork(nn.Module):
    """Texts: an LSTM over word embeddings, read at the last word."""

    def __init__(self, num_words: int, hidden_size: int) -> None:
        super().__init__()
        self.words = nn.Embedding(num_words, hidden_size, padding_idx=0)
        self.lstm = nn.LSTM(hidden_size, hidden_size, batch_first=True)

    def forward(self, tokens: Int[Tensor, "texts words"]) -> Float[Tensor, "texts d_h"]:
        read, _ = self.lstm(self.words(tokens))
        last = (tokens != 0).sum(dim=1).clamp(min=1) - 1  # an LSTM never looks ahead, so padding has no effect on it
        state: Tensor = read[torch.arange(len(tokens), device=tokens.device), last]
        return state


class ImageNetwork(nn.Module):
    """Images of any size: two convolutions, averaged down to a grid, one linear map."""

    def __init__(self, channels: int, hidden_size: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, _CHANNELS, kernel_size=3, padding=1)
        self.second = nn.Conv2d(_CHANNELS, 2 * _CHANNELS, kernel_size=3, padding=1)
        self.outer = nn.Linear(2 * _CHANNELS * _POOLED**2, hidden_size)

    def forward(self, pixels: Float[Tensor, "images channels height width"]) -> Float[Tensor, "images d_h"]:
        grid = F.adaptive_avg_pool2d(F.relu(self.second(F.relu(self.first(pixels)))), _POOLED)
        embedded: Tensor = self.outer(grid.flatten(1))
        return embedded
