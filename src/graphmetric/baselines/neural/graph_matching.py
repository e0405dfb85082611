"""Graph matching networks: two graphs that look at each other in every round."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from numpy import asarray
from numpy.typing import ArrayLike
from torch import Tensor, nn
from torch.nn import functional as F

from graphmetric.baselines.neural.node_inputs import NodeInputs
from graphmetric.baselines.neural.padded_pairs import measure_in_groups, pad_nodes
from graphmetric.distance import PairDistance, Representation, SquaredFC
from graphmetric.distance.pair_distance import METRIC, Axiom
from graphmetric.encoder import BatchTensors, Encoded, to_tensors
from graphmetric.features import BatchLimits, FeatureSchema, FeatureTable
from graphmetric.model import TrainableDistance

_FAR = -1e9
"""Score of padding: its exp is exactly 0, yet attention to an empty graph is not NaN as with -inf."""


class InputsAndEdges(nn.Module):
    """No encoder at all: of each node its inputs and, beside them, its row of the adjacency matrix."""

    def __init__(self, schema: FeatureSchema, width: int) -> None:
        super().__init__()
        self.output_size = 0
        self.inputs = NodeInputs(schema, width)

    def forward(self, batch: BatchTensors) -> Encoded:
        states = self.inputs(batch)
        return Encoded(states[:, 0, :0], torch.cat([states, batch.weights], dim=-1), batch.mask)


class MatchingDistance(PairDistance):
    r"""Rounds of messages within and across the graphs, a gated sum, and the paper's distance of the two sums.

    .. math::
        m_i = \sum_j A_{ij} \, W_2 \mathrm{ReLU}(W_1 [h_i; h_j] + b), \quad
        \mu_i = h_i - \sum_j \mathrm{softmax}_j\big(h_i^\top h'_j / \sqrt{d}\big) h'_j, \quad
        h_i \leftarrow \mathrm{GRU}([m_i; \mu_i], h_i)

    with the same weights in every round and for both graphs, so it is symmetric, and zero on equal graphs.
    """

    axioms = METRIC - {Axiom.TRIANGLE_INEQUALITY}
    scale = "paper"
    width = 0

    def __init__(self, state_width: int, rounds: int, vector_width: int) -> None:
        super().__init__()
        self.state_width, self.rounds = state_width, rounds
        self.receiver = nn.Linear(state_width, state_width)
        self.sender = nn.Linear(state_width, state_width, bias=False)
        self.message = nn.Linear(state_width, state_width, bias=False)
        self.update = nn.GRUCell(2 * state_width, state_width)
        self.gate = nn.Linear(state_width, vector_width)
        self.value = nn.Linear(state_width, vector_width)
        self.distance = SquaredFC(vector_width)

    def extra_repr(self) -> str:
        return f"rounds={self.rounds}"

    def compare(self, left: Representation, right: Representation) -> Tensor:
        return measure_in_groups(left, right, self._measure)

    def _measure(self, left: Representation, right: Representation) -> Tensor:
        k = max(1, int(left.size.max()), int(right.size.max()))
        sides = [pad_nodes(side, k) for side in (left, right)]
        states = torch.cat([side.states[..., : self.state_width] for side in sides])
        adjacency = torch.cat([_square(side.states[..., self.state_width :]) for side in sides])
        mask = torch.cat([side.mask for side in sides])
        for _ in range(self.rounds):
            states = self.exchange(states, adjacency, mask)
        vectors = (torch.sigmoid(self.gate(states)) * self.value(states) * mask[..., None]).sum(dim=1)
        first, second = (side._replace(z=half) for side, half in zip((left, right), vectors.chunk(2), strict=True))
        return self.distance.compare(first, second)

    def exchange(
        self,
        states: Float[Tensor, "graphs k d"],
        adjacency: Float[Tensor, "graphs k k"],
        mask: Bool[Tensor, "graphs k"],
    ) -> Float[Tensor, "graphs k d"]:
        """One round; the partner of a graph is half the batch away."""
        received = self._send(states, adjacency)
        surprise = states - attend(states, states.roll(len(states) // 2, 0), mask.roll(len(mask) // 2, 0))
        seen = torch.cat([received, surprise], dim=-1)
        updated: Tensor = self.update(seen.flatten(0, 1), states.flatten(0, 1)).view_as(states)
        return updated.masked_fill(~mask[..., None], 0)

    def _send(self, states: Tensor, adjacency: Tensor) -> Tensor:
        """Messages along edges alone: in molecules one pair of nodes in six is one."""
        graph, i, j = adjacency.nonzero(as_tuple=True)
        k = states.shape[1]
        to, source = graph * k + i, graph * k + j
        receiver, sender = self.receiver(states).flatten(0, 1), self.sender(states).flatten(0, 1)
        hidden = F.relu(receiver.index_select(0, to) + sender.index_select(0, source))
        weighted = hidden * adjacency[graph, i, j, None]
        sums = torch.zeros_like(receiver).index_add(0, to, weighted)
        received: Tensor = self.message(sums).view_as(states)
        return received


def attend(
    states: Float[Tensor, "graphs k d"], others: Float[Tensor, "graphs k d"], mask: Bool[Tensor, "graphs k"]
) -> Float[Tensor, "graphs k d"]:
    """What each node sees of the other graph: its states, those that resemble the node most; zero if it is empty."""
    return F.scaled_dot_product_attention(states, others, others, (~mask).to(states.dtype).mul(_FAR)[:, None, :])


def _square(rows: Tensor) -> Tensor:
    """The adjacency of padded graphs; rows reach as far as the largest graph of the whole collection."""
    k = rows.shape[1]
    return rows[..., :k] if rows.shape[2] >= k else F.pad(rows, (0, k - rows.shape[2]))


class MatchingModel(TrainableDistance):
    """Encodes all graphs in one batch, since their rows of the adjacency matrix must be equally long.

    This costs the square of the largest graph for each; what every pair costs makes it no matter.
    """

    def encode_rows(
        self, table: FeatureTable, positions: ArrayLike, limits: BatchLimits | None = None
    ) -> Representation:
        weights = next(self.parameters())
        batch = to_tensors(table.padded(asarray(positions)), weights.device, weights.dtype)
        return self.encode(batch).compacted()
