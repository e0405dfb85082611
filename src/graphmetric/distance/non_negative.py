"""Linear maps that keep order and sign: no bias, no negative weight."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional


class NonNegativeLinear(nn.Module):
    """W x with W = softplus(V): zero at zero, non-negative and non-decreasing on non-negative inputs."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.raw = nn.Parameter(torch.empty(outputs, inputs))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start near the mean of the inputs, each weight half to one and a half times its share."""
        with torch.no_grad():
            weight = self.raw.uniform_(0.5, 1.5) / max(1, self.raw.shape[1])
            self.raw.copy_(torch.log(torch.expm1(weight)))  # the inverse of softplus

    @property
    def weight(self) -> Tensor:
        return functional.softplus(self.raw)

    def forward(self, values: Tensor) -> Tensor:
        return functional.linear(values, self.weight)


def non_negative_layers(widths: Sequence[int]) -> nn.ModuleList:
    """One map from each width to the next."""
    return nn.ModuleList(NonNegativeLinear(inputs, outputs) for inputs, outputs in pairwise(widths))
