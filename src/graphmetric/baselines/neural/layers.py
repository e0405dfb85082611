"""Layers of message passing on padded batches; states are zero in padding, before and after."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor, nn

from graphmetric.encoder import BatchTensors, normalised_adjacency
from graphmetric.encoder.tensors import clear_padding

States = Float[Tensor, "graphs k d"]


class GraphConvolution(nn.Module):
    r"""Kipf and Welling's layer, :math:`\hat A H W + b` with :math:`\hat A = D^{-1/2} (A + I) D^{-1/2}`."""

    def __init__(self, width: int, output: int) -> None:
        super().__init__()
        self.linear = nn.Linear(width, output)

    def forward(self, states: States, batch: BatchTensors) -> States:
        mixed: Tensor = self.linear(normalised_adjacency(batch.weights) @ states)
        return clear_padding(mixed, batch)


class GraphIsomorphism(nn.Module):
    r"""Xu et al.'s layer, :math:`\mathrm{MLP}((1 + \varepsilon) h_i + \sum_j A_{ij} h_j)`."""

    def __init__(self, width: int, output: int) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(width, output), nn.ReLU(), nn.Linear(output, output))
        self.own = nn.Parameter(torch.zeros(1))

    def forward(self, states: States, batch: BatchTensors) -> States:
        mixed: Tensor = self.mlp((1 + self.own) * states + batch.weights @ states)
        return clear_padding(mixed, batch)


class GatedMessages(nn.Module):
    """Gilmer et al.'s scheme in its gated form: neighbours send a linear map of their state, a GRU takes in the sum."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.message = nn.Linear(width, width, bias=False)
        self.update = nn.GRUCell(width, width)

    def forward(self, states: States, batch: BatchTensors) -> States:
        received = batch.weights @ self.message(states)
        updated = self.update(received.flatten(0, 1), states.flatten(0, 1)).view_as(states)
        return clear_padding(updated, batch)
