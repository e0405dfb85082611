"""A batch of graphs as tensors, and what every part of the encoder makes of one."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from graphmetric.features import GraphBatch

BatchTensors = GraphBatch[Tensor]

_FAR = -1e9
"""Added to attention scores of padding: its exp is exactly 0, yet a row of padding alone is not NaN as with -inf."""


def to_tensors(
    batch: GraphBatch[Any], device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32
) -> BatchTensors:
    """Move a batch to a device; on the CPU in single precision the memory is shared."""

    def convert(value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        tensor = torch.from_numpy(value)
        return tensor.to(device, dtype) if tensor.is_floating_point() else tensor.to(device)

    return GraphBatch(*(convert(getattr(batch, field.name)) for field in fields(batch)))


def clear_padding(states: Float[Tensor, "graphs k d"], batch: BatchTensors) -> Float[Tensor, "graphs k d"]:
    """The states with exact zeros in the rows of padding."""
    return states if batch.full else states.masked_fill(~batch.mask[..., None], 0)


def padding_bias(batch: BatchTensors) -> Float[Tensor, "graphs 1 1 k"] | None:
    """What keeps attention away from padding; None where there is no padding."""
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
    """A parameter drawn from a normal distribution.

    On the device "meta", where a saved model is compared with its description, it has a shape and nothing is drawn:
    torch would import its compiler for that, which takes more than a second.
    """
    values = torch.empty(*shape)
    return nn.Parameter(values if values.is_meta else values.normal_().mul_(scale))
