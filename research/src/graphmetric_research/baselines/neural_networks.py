"""The networks of the neural baselines: encoders, and distances that compare every node with every other.

Encoders have node inputs, layers of message passing, and a pooling to one vector per graph. They work on padded
batches. States are zero in padding before and after each layer, and the vector of the empty graph is zero.

For distances that look at nodes, pairs of graphs are grouped by size and padded, so that a few large graphs do not pad
all others.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from numpy import asarray
from numpy.typing import ArrayLike

from graphmetric.distance import DistanceHead, Representation, SquaredFC
from graphmetric.distance.comparison import to_paper
from graphmetric.distance.matching import broadcast_shape
from graphmetric.distance.pair_distance import METRIC, Axiom
from graphmetric.encoder import BatchTensors, Encoded, EncoderOptions, normalised_adjacency, to_tensors
from graphmetric.encoder.embeddings import InputEmbedding, clear_padding
from graphmetric.encoder.options import Input
from graphmetric.errors import needs_extra
from graphmetric.features import BatchLimits, FeatureOptions, FeatureSchema, FeatureTable
from graphmetric.features.table import group_by_size
from graphmetric.model import GraphDistanceNetwork

with needs_extra("learn", "a neural baseline"):
    import torch
    from jaxtyping import Bool, Float
    from torch import Tensor, nn
    from torch.nn import functional as F

States = Float[Tensor, "graphs k d"]
Vectors = Float[Tensor, "graphs d"]

FEATURES = FeatureOptions(neighbourhood=False, role_rounds=0, canonical=False)
"""Attributes and degrees only. No baseline depends on the order of nodes, so it need not be canonical."""


class NodeInputs(nn.Module):
    """Learned embeddings of the attributes or, if the training graphs have none, of the degrees, as is usual.

    A learned table of tags is a linear map of their one-hot codes.
    """

    def __init__(self, schema: FeatureSchema, width: int) -> None:
        super().__init__()
        known = schema.num_tags or schema.vector_width or schema.num_words or schema.image_shape
        inputs: tuple[Input, ...] = ("attributes",) if known else ("degree",)
        options = EncoderOptions(hidden_size=width, inputs=inputs, positions="learned", tags="table")
        self.embedding = InputEmbedding(schema, options)

    def forward(self, batch: BatchTensors) -> States:
        return clear_padding(self.embedding(batch), batch)


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
    """Gilmer et al.'s scheme with gates: neighbours send a linear map of their state, and a GRU takes in the sum."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.message = nn.Linear(width, width, bias=False)
        self.update = nn.GRUCell(width, width)

    def forward(self, states: States, batch: BatchTensors) -> States:
        received = batch.weights @ self.message(states)
        updated = self.update(received.flatten(0, 1), states.flatten(0, 1)).view_as(states)
        return clear_padding(updated, batch)


class SumPooling(nn.Module):
    """The sum of the states, which reflects the size of the graph."""

    def forward(self, states: States, batch: BatchTensors) -> Vectors:
        return states.sum(dim=1)


class MeanPooling(nn.Module):
    """The mean of the states, which does not reflect the size of the graph."""

    def forward(self, states: States, batch: BatchTensors) -> Vectors:
        nodes = batch.mask.sum(dim=1, keepdim=True).clamp(min=1)  # 1 for the empty graph
        return states.sum(dim=1) / nodes.to(states.dtype)


class MaxPooling(nn.Module):
    """The largest value of each coordinate."""

    def forward(self, states: States, batch: BatchTensors) -> Vectors:
        lowest = torch.finfo(states.dtype).min
        largest = states.masked_fill(~batch.mask[..., None], lowest).amax(dim=1)
        return largest.masked_fill(~batch.mask.any(dim=1, keepdim=True), 0)


class AttentionPooling(MeanPooling):
    r"""SimGNN's pooling: nodes count by how much they resemble the graph as a whole.

    .. math:: c = \tanh\Big(\frac{1}{n} \sum_i W h_i\Big), \quad z = \sum_i \sigma(h_i^\top c) \, h_i
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.context = nn.Linear(width, width, bias=False)

    def forward(self, states: States, batch: BatchTensors) -> Vectors:
        context = torch.tanh(self.context(super().forward(states, batch)))
        share = torch.sigmoid(states @ context[..., None])
        return (share * states).sum(dim=1)


class AverageEncoder(nn.Module):
    """The mean of the input embeddings: edges play no part, unless degrees are among the inputs."""

    def __init__(self, schema: FeatureSchema, width: int, pooling: nn.Module | None = None) -> None:
        super().__init__()
        self.output_size = width
        self.inputs, self.pooling = NodeInputs(schema, width), pooling or MeanPooling()

    def forward(self, batch: BatchTensors) -> Encoded:
        states = self.update(self.inputs(batch), batch)
        return Encoded(self.pooling(states, batch), states, batch.mask)

    def update(self, states: States, batch: BatchTensors) -> States:
        """Apply the layers; this encoder has none."""
        return states


class ConvolutionEncoder(AverageEncoder):
    """Graph convolutions with ReLU between them, the last one linear, and a pooling."""

    def __init__(self, schema: FeatureSchema, widths: Sequence[int], pooling: nn.Module) -> None:
        super().__init__(schema, widths[0], pooling)
        self.output_size = widths[-1]
        self.layers = nn.ModuleList(GraphConvolution(*pair) for pair in pairwise((widths[0], *widths)))

    def update(self, states: States, batch: BatchTensors) -> States:
        for layer in self.layers[:-1]:
            states = F.relu(layer(states, batch))
        last: Tensor = self.layers[-1](states, batch)
        return last


class MessagePassingEncoder(AverageEncoder):
    """Several rounds of gated messages with the same weights; the vector of the graph is the sum of its states."""

    def __init__(self, schema: FeatureSchema, width: int, rounds: int) -> None:
        super().__init__(schema, width, SumPooling())
        self.rounds = rounds
        self.layer = GatedMessages(width)

    def update(self, states: States, batch: BatchTensors) -> States:
        for _ in range(self.rounds):
            states = self.layer(states, batch)
        return states


class IsomorphismEncoder(nn.Module):
    """GREED's encoder: isomorphism layers, the sums of the states of all of them joined, and an MLP."""

    def __init__(self, schema: FeatureSchema, width: int, layers: int) -> None:
        super().__init__()
        self.output_size = width
        self.inputs = NodeInputs(schema, width)
        self.layers = nn.ModuleList(GraphIsomorphism(width, width) for _ in range(layers))
        self.pooling = SumPooling()
        self.mlp = nn.Sequential(nn.Linear((1 + layers) * width, width), nn.ReLU(), nn.Linear(width, width))

    def forward(self, batch: BatchTensors) -> Encoded:
        history = [self.inputs(batch)]
        for layer in self.layers:
            history.append(F.relu(layer(history[-1], batch)))
        pooled = self.pooling(torch.cat(history, dim=-1), batch)
        return Encoded(self.mlp(pooled), history[-1], batch.mask)


_LIMITS = BatchLimits(nodes=1 << 15, spare=1 << 13)
"""Limits of the pairs that are compared at once: a few megabytes per table of states."""
_FAR = -1e9
"""Score of padding: its exp is exactly 0, yet attention to an empty graph is not NaN as with -inf."""


class PaddedNodes(NamedTuple):
    """The nodes of one side of some pairs."""

    states: Float[Tensor, "pairs k d"]
    """Zero in padding."""
    mask: Bool[Tensor, "pairs k"]


def pair_up(left: Representation, right: Representation) -> tuple[Representation, Representation]:
    """Both sides after broadcasting, with one batch axis that has one graph per pair."""
    shape = broadcast_shape(left, right)

    def spread(side: Representation) -> Representation:
        vectors = side.z.expand(*shape, side.z.shape[-1]).flatten(0, -2)
        start, size = (part.expand(shape).flatten() for part in (side.start, side.size))
        return Representation(vectors, side.rows, start, size)

    return spread(left), spread(right)


def pad_nodes(graphs: Representation, k: int | None = None) -> PaddedNodes:
    """The states of graphs on one axis, padded to ``k`` nodes; None means to the largest, at least one node."""
    k = max(1, int(graphs.size.max())) if k is None else k
    place = torch.arange(k, device=graphs.size.device)
    mask = place < graphs.size[:, None]
    rows = torch.where(mask, graphs.start[:, None] + place, 0)
    if len(graphs.rows) == 0:
        return PaddedNodes(graphs.rows.new_zeros(*rows.shape, graphs.rows.shape[1]), mask)
    states = graphs.rows.index_select(0, rows.reshape(-1)).view(*rows.shape, -1)
    return PaddedNodes(states.masked_fill(~mask[..., None], 0), mask)


class NodeComparison(DistanceHead):
    """A distance that is measured on groups of pairs of similar sizes; a subclass writes :meth:`measure`."""

    def compare(self, left: Representation, right: Representation) -> Tensor:
        shape = broadcast_shape(left, right)
        a, b = pair_up(left, right)
        sizes = torch.maximum(a.size, b.size).cpu().numpy()
        groups = [torch.from_numpy(group).to(a.start.device) for group in group_by_size(sizes, _LIMITS)]
        if not groups:
            return a.z.new_zeros(shape)
        values = torch.cat([self.measure(a.take(group), b.take(group)) for group in groups])
        return values[torch.argsort(torch.cat(groups))].reshape(shape)

    @abstractmethod
    def measure(self, left: Representation, right: Representation) -> Tensor:
        """The distance of each pair of a group."""


class HausdorffDistance(NodeComparison):
    r"""The Hausdorff edit distance: each node goes to the nearest node of the other graph, no matter which others do.

    .. math:: h = \sum_i \min\Big(\lVert h_i \rVert, \tfrac12 \min_j \lVert h_i - h'_j \rVert\Big)
              + \sum_j \min\Big(\lVert h'_j \rVert, \tfrac12 \min_i \lVert h_i - h'_j \rVert\Big)

    in edits, brought to the paper's scale. A substitution is paid for by both sides, hence the halves; the norm of a
    state is the price of deleting it.
    """

    axioms = METRIC - {Axiom.TRIANGLE_INEQUALITY}
    scale = "paper"
    width = 0

    def project(self, z: Tensor) -> Tensor:
        """The pooled vector is not used."""
        return z[..., :0]

    def measure(self, left: Representation, right: Representation) -> Tensor:
        a, b = pad_nodes(left), pad_nodes(right)
        exact = "donot_use_mm_for_euclid_dist"  # the fast way is 1e-3 off for states that are nearly equal
        substitution = torch.cdist(a.states, b.states, compute_mode=exact) / 2
        prices = sum_least(substitution, a, b) + sum_least(substitution.transpose(1, 2), b, a)
        return to_paper(prices, left.size.to(prices), right.size.to(prices))


def sum_least(substitution: Tensor, own: PaddedNodes, other: PaddedNodes) -> Tensor:
    """The first sum: over the real nodes of ``own``, the cheapest of deletion and substitution by a real node."""
    nearest = substitution.masked_fill(~other.mask[:, None, :], torch.inf).amin(dim=2)
    deletion: Tensor = torch.linalg.vector_norm(own.states, dim=2)
    return torch.minimum(deletion, nearest).masked_fill(~own.mask, 0).sum(dim=1)


class NeuralTensor(nn.Module):
    r"""Socher et al.'s network: a bilinear form and a linear one for each of K slices.

    .. math:: \mathrm{ReLU}\big(z^\top W_{1..K} \, z' + V [z; z'] + b\big)

    It is not symmetric: which graph comes first matters, before and after training.
    """

    def __init__(self, width: int, slices: int) -> None:
        super().__init__()
        self.slices = nn.Linear(width, slices * width, bias=False)
        self.linear = nn.Linear(2 * width, slices)

    def forward(self, left: Float[Tensor, "pairs d"], right: Float[Tensor, "pairs d"]) -> Float[Tensor, "pairs K"]:
        mapped = self.slices(left).unflatten(-1, (-1, right.shape[-1]))  # one product; nn.Bilinear makes one per slice
        bilinear = (mapped @ right[..., None]).squeeze(-1)
        return F.relu(bilinear + self.linear(torch.cat([left, right], dim=-1)))


class SimGNNDistance(NodeComparison):
    """One minus SimGNN's similarity: an MLP of a neural tensor network and of a histogram of node similarities.

    Only the training around it differs from SimGNN. As there, the histogram has no gradient, and for it the smaller
    graph is filled up with zero states, whose similarity to all others is a half.
    """

    axioms = frozenset({Axiom.NON_NEGATIVE})
    scale = "paper"

    def __init__(self, width: int, slices: int = 16, bins: int = 16, hidden: Sequence[int] = (16, 8)) -> None:
        super().__init__()
        self.width, self.bins = width, bins
        self.tensor = NeuralTensor(width, slices)
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in pairwise((slices + bins, *hidden, 1)))

    def extra_repr(self) -> str:
        return f"bins={self.bins}"

    def measure(self, left: Representation, right: Representation) -> Tensor:
        values = torch.cat([self.tensor(left.z, right.z), self.count_similarities(left, right)], dim=-1)
        for layer in self.layers[:-1]:
            values = F.relu(layer(values))
        score: Tensor = self.layers[-1](values)
        return torch.sigmoid(-score).squeeze(-1)  # 1 - sigmoid(score)

    @torch.no_grad()
    def count_similarities(self, left: Representation, right: Representation) -> Float[Tensor, "pairs bins"]:
        """The share of pairs of nodes whose similarity, the sigmoid of their dot product, lies in each equal bin."""
        a, b = pad_nodes(left), pad_nodes(right)
        similarity = torch.sigmoid(a.states @ b.states.transpose(1, 2))
        bin_of = (similarity * self.bins).long().clamp(max=self.bins - 1)
        real = (a.mask[:, :, None] & b.mask[:, None, :]).to(similarity)
        counts = similarity.new_zeros(len(real), self.bins)
        counts.scatter_add_(1, bin_of.flatten(1), real.flatten(1))
        filled_up = torch.maximum(left.size, right.size) ** 2
        counts[:, self.bins // 2] += (filled_up - left.size * right.size).to(counts)
        return counts / filled_up.clamp(min=1)[:, None]


class InputsAndEdges(nn.Module):
    """Not really an encoder: the inputs of each node and, beside them, its row of the adjacency matrix."""

    def __init__(self, schema: FeatureSchema, width: int) -> None:
        super().__init__()
        self.output_size = 0
        self.inputs = NodeInputs(schema, width)

    def forward(self, batch: BatchTensors) -> Encoded:
        states = self.inputs(batch)
        return Encoded(states[:, 0, :0], torch.cat([states, batch.weights], dim=-1), batch.mask)


class MatchingDistance(NodeComparison):
    r"""Li et al.: rounds of messages within and across the graphs, a gated sum, and Eq. 9 of the two sums.

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

    def measure(self, left: Representation, right: Representation) -> Tensor:
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
        """Send messages only along edges: in molecules, one pair of nodes in six is an edge."""
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
    """What each node sees of the other graph: the mean of its states, weighted by how much they resemble the node."""
    return F.scaled_dot_product_attention(states, others, others, (~mask).to(states.dtype).mul(_FAR)[:, None, :])


def _square(rows: Tensor) -> Tensor:
    """The adjacency of padded graphs; the rows are as long as the largest graph of the whole collection."""
    k = rows.shape[1]
    return rows[..., :k] if rows.shape[2] >= k else F.pad(rows, (0, k - rows.shape[2]))


class MatchingModel(GraphDistanceNetwork):
    """Encodes all graphs in one batch, since their rows of the adjacency matrix must be equally long.

    This costs the square of the largest graph for each, which is little beside the cost of every pair.
    """

    def encode_rows(
        self, table: FeatureTable, positions: ArrayLike, limits: BatchLimits | None = None
    ) -> Representation:
        weights = next(self.parameters())
        batch = to_tensors(table.padded(asarray(positions)), weights.device, weights.dtype)
        return self.encode(batch).compacted()
