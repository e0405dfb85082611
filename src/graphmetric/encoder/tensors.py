"""Tensors of the encoder: a batch of features, and parameters as they are drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from graphmetric.features import GraphBatch


class BatchTensors(NamedTuple):
    """:class:`~graphmetric.features.GraphBatch` on a device; the same fields."""

    mask: Bool[Tensor, "graphs k"]
    full: bool
    role: Int[Tensor, "graphs k"]
    degree: Int[Tensor, "graphs k 2"]
    weights: Float[Tensor, "graphs k k"]
    has_attributes: Bool[Tensor, "graphs 4"]
    relation: Int[Tensor, "graphs k k"] | None = None
    hops: Int[Tensor, "graphs k k"] | None = None
    strength: Float[Tensor, "graphs k 2"] | None = None
    walks: Float[Tensor, "graphs k steps"] | None = None
    tag: Int[Tensor, "graphs k"] | None = None
    vector: Float[Tensor, "graphs k d_x"] | None = None
    text: Int[Tensor, "graphs k"] | None = None
    tokens: Int[Tensor, "texts words"] | None = None
    image: Int[Tensor, "graphs k"] | None = None
    pixels: Float[Tensor, "images channels height width"] | None = None


def to_tensors(
    batch: GraphBatch, device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> BatchTensors:
    """Move a batch to a device; on the CPU in single precision the memory is shared."""

    def convert(value: np.ndarray | bool | None) -> Tensor | bool | None:
        if not isinstance(value, np.ndarray):
            return value
        tensor = torch.from_numpy(value)
        return tensor.to(device, dtype) if tensor.is_floating_point() else tensor.to(device)

    return BatchTensors(*map(convert, batch))  # type: ignore[arg-type]


def clear_padding(states: Float[Tensor, "graphs k d"], batch: BatchTensors) -> Float[Tensor, "graphs k d"]:
    """The states with exact zeros in the rows of padding."""
    return states if batch.full else states.masked_fill(~batch.mask[..., None], 0)


def draw_normal(*shape: int, scale: float) -> nn.Parameter:
    """A parameter drawn from a normal distribution.

    On the device "meta", where a saved model is compared with its description, it has a shape and nothing is drawn:
    torch would import its compiler for that, which takes more than a second.
    """
    values = torch.empty(*shape)
    return nn.Parameter(values if values.is_meta else values.normal_().mul_(scale))
