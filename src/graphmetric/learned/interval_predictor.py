"""Certified predictions: a small network that says where the primal-dual steps of the edit distance will end.

A few rounds of messages give every node a state. Linear maps of the states of nodes, arcs and graphs are the vectors of
:class:`~graphmetric.edit_distance.PairStarts`, whose inner products are first prices and masses. Steps that start there
reach a bound in about half of the steps. The bounds never depend on the network being right, so its training needs no
distances: it imitates where many plain steps of random pairs end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphmetric._foundation.options import check_fields
from graphmetric._foundation.progress import progress
from graphmetric.edit_distance import EditCosts, PairStarts, QuickInterval
from graphmetric.edit_distance.dual import settled_steps
from graphmetric.edit_distance.encoding import EncodedProblem, encode
from graphmetric.edit_distance.method import Answers
from graphmetric.edit_distance.stopping import in_thread
from graphmetric.errors import InvalidArgument
from graphmetric.features import GraphFeaturizer
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import Has

ROW_MASS, COLUMN_MASS, ROW_IN, COLUMN_OUT, ROW_OWN, COLUMN_OWN = range(6)
"""The vectors of a node, as :attr:`PairStarts.nodes` has them."""
QUERY_ARC, TARGET_ARC = QUERY_GRAPH, TARGET_GRAPH = range(2)
_DEGREES = 8
"""Larger degrees count as this one less one."""
_MOST_NUMBERS = 40_000_000
"""The most prices and masses that one training imitates: pairs of large graphs are fewer."""
_BATCH = 32
_RATE = 2e-3
_LONGEST = 5.0
"""Gradients are cut to this length."""


@dataclass(frozen=True, slots=True)
class IntervalOptions:
    """The shape of the predictor, and how it is trained."""

    width: int = 48
    """Numbers per node state."""
    rounds: int = 3
    """Rounds of messages."""
    rank: int = 24
    """Dimensions of the vectors."""
    pairs: int = 4_000
    """Pairs of training graphs whose steps it imitates; fewer where graphs are large."""
    settled_after: int = 400
    """After how many steps these are read off."""
    epochs: int = 14
    """Passes over the pairs."""

    def __post_init__(self) -> None:
        check_fields(self, {"width": 1, "rounds": 0, "rank": 1, "pairs": 1, "settled_after": 1, "epochs": 0})


class PackedInputs(NamedTuple):
    """What the network sees of a collection; nodes are numbered through all graphs."""

    tag: Tensor
    degree: Tensor
    graph: Tensor
    """(nodes): which graph a node belongs to."""
    tail: Tensor
    head: Tensor
    leaving: Tensor
    """(arcs): relation from tail to head, 0 for none; arcs come in pairs, there and back."""
    entering: Tensor
    """(arcs): relation from head to tail."""
    node_start: Tensor
    arc_start: Tensor

    def take(self, chosen: Tensor) -> PackedInputs:
        """The graphs at these places."""
        nodes, node_start = _stretches(self.node_start, chosen)
        arcs, arc_start = _stretches(self.arc_start, chosen)
        moved = torch.repeat_interleave(node_start[:-1] - self.node_start[chosen], arc_start.diff())
        return PackedInputs(
            self.tag[nodes],
            self.degree[nodes],
            torch.repeat_interleave(torch.arange(len(chosen)), node_start.diff()),
            self.tail[arcs] + moved,
            self.head[arcs] + moved,
            self.leaving[arcs],
            self.entering[arcs],
            node_start,
            arc_start,
        )


def _stretches(start: Tensor, chosen: Tensor) -> tuple[Tensor, Tensor]:
    """The places of all rows of some graphs, and where the rows of each start among them."""
    counts = start[chosen + 1] - start[chosen]
    ends = counts.cumsum(0)
    places = torch.arange(int(counts.sum())) + torch.repeat_interleave(start[chosen] - ends + counts, counts)
    return places, torch.cat([ends.new_zeros(1), ends])


def read_inputs(featurizer: GraphFeaturizer, graphs: GraphCollection, problem: EncodedProblem) -> PackedInputs:
    """The inputs in the order of the encoded problem, whose first collection these graphs are."""
    columns, packed = graphs.columns, problem.first
    tag, relation = featurizer.encode_labels(graphs)
    n_nodes = max(1, columns.num_nodes)
    first_node = np.repeat(columns.node_ptr[:-1], np.diff(columns.edge_ptr))
    start, end = columns.edges[:, 0] + first_node, columns.edges[:, 1] + first_node
    undirected = np.repeat((columns.flags & Has.DIRECTION) == 0, np.diff(columns.edge_ptr))
    keys = np.concatenate([start * n_nodes + end, (end * n_nodes + start)[undirected]])
    codes = np.concatenate([relation, relation[undirected]])
    order = np.argsort(keys, kind="stable")
    keys, codes = np.append(keys[order], -1), np.append(codes[order], 0)
    shift = np.repeat(packed.node_start[:-1], np.diff(packed.edge_start))
    ends = np.column_stack([packed.edge_tail + shift, packed.edge_head + shift])
    tail, head = ends.reshape(-1), ends[:, ::-1].reshape(-1)

    def relation_of(tails: NDArray[np.int64], heads: NDArray[np.int64]) -> NDArray[np.int64]:
        wanted = tails * n_nodes + heads
        place = np.searchsorted(keys[:-1], wanted)
        return np.where(keys[place] == wanted, codes[place], 0)

    arrays = (
        tag,
        np.minimum(np.bincount(tail, minlength=columns.num_nodes), _DEGREES - 1),
        np.repeat(np.arange(len(graphs)), np.diff(columns.node_ptr)),
        tail,
        head,
        relation_of(tail, head),
        relation_of(head, tail),
        packed.node_start,
        2 * packed.edge_start,
    )
    return PackedInputs(*(torch.from_numpy(np.array(array, dtype=np.int64)) for array in arrays))


class StartPredictor(nn.Module):
    """Predicts the starts of the steps for pairs of graphs."""

    def __init__(self, num_tags: int, num_relations: int, options: IntervalOptions) -> None:
        super().__init__()
        self.options = options
        width, wide, rank = options.width, 2 * options.width, options.rank
        self.tag, self.degree = nn.Embedding(max(1, num_tags), width), nn.Embedding(_DEGREES, width)
        self.leaving, self.entering = (nn.Embedding(num_relations, width) for _ in range(2))
        self.message = nn.ModuleList(nn.Linear(width, width) for _ in range(options.rounds))
        self.update = nn.ModuleList(
            nn.Sequential(nn.Linear(wide, wide), nn.SiLU(), nn.Linear(wide, width)) for _ in range(options.rounds)
        )
        self.node = nn.Sequential(nn.Linear(width, wide), nn.SiLU())
        self.arc = nn.Sequential(nn.Linear(3 * width, wide), nn.SiLU())
        self.node_vectors, self.arc_vectors = nn.Linear(wide, 6 * rank), nn.Linear(wide, 2 * rank)
        self.graph_vectors = nn.Linear(wide, 2 * rank)
        # masses, out prices, in prices, prices of rows and of columns: about their means for molecules
        self.bias = nn.Parameter(torch.tensor([0.02, 0.3, 0.3, 2.5, 0.9]))

    @classmethod
    def build(cls, featurizer: GraphFeaturizer, options: IntervalOptions, seed: int = 0) -> StartPredictor:
        """A predictor for the labels of a featurizer, with new weights that are drawn from ``seed`` alone."""
        schema = featurizer.schema
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return cls(schema.num_tags, schema.num_relations, options)

    def forward(self, inputs: PackedInputs) -> tuple[Tensor, Tensor, Tensor]:
        """The vectors of nodes, arcs and graphs, as :class:`PairStarts` has them; the last dimension is the bias."""
        relation = self.leaving(inputs.leaving) + self.entering(inputs.entering)
        state = self.tag(inputs.tag) + self.degree(inputs.degree)
        for message, update in zip(self.message, self.update, strict=True):
            sent = torch.relu(message(state)[inputs.tail] + relation)
            received = torch.zeros_like(state).index_add(0, inputs.head, sent)
            state = state + update(torch.cat([state, received], dim=1))
        node = self.node(state)
        arc = self.arc(torch.cat([state[inputs.tail], state[inputs.head], relation], dim=1))
        sizes = inputs.node_start.diff().clamp(min=1)
        graph = node.new_zeros(len(sizes), node.shape[1]).index_add(0, inputs.graph, node) / sizes[:, None]
        rank = self.options.rank
        scale = rank**-0.5
        mass, out, into, row, column = self.bias
        one = torch.ones_like(mass)
        nodes = self.node_vectors(node).view(-1, 6, rank)
        size = torch.stack([0.2 * scale * one, one, scale * one, scale * one, scale * one, scale * one])
        return (
            _with_bias(nodes * size[:, None], torch.stack([mass, one, into, out, row, column])),
            _with_bias(self.arc_vectors(arc).view(-1, 2, rank), torch.stack([one, one])),
            _with_bias(self.graph_vectors(graph).view(-1, 2, rank), torch.stack([one, one])),
        )

    @torch.no_grad()
    def predict(self, inputs: PackedInputs) -> PairStarts:
        """The starts of a collection."""
        return PairStarts(*(vectors.numpy() for vectors in self(inputs)))


def _with_bias(vectors: Tensor, bias: Tensor) -> Tensor:
    """The vectors with one more dimension, which holds a constant for each field."""
    return torch.cat([vectors, bias[None, :, None].expand(len(vectors), -1, 1)], dim=2)


def bound_pairs(
    predictor: StartPredictor | None,
    featurizer: GraphFeaturizer,
    graphs: GraphCollection,
    pairs: NDArray[np.int64],
    costs: EditCosts,
    method: QuickInterval,
) -> Answers:
    """Bounds and maps of pairs of a collection; without a predictor steps start without prices."""
    problem = encode(graphs, graphs, costs)
    starts = None
    if predictor is not None:
        starts = predictor.predict(read_inputs(featurizer, graphs.without(costs.ignore), problem))
    return QuickInterval(method.steps, method.shifts, starts).bounds(problem, pairs)


def train_predictor(
    featurizer: GraphFeaturizer, graphs: GraphCollection, costs: EditCosts, options: IntervalOptions, seed: int
) -> StartPredictor:
    """A predictor that imitates where the steps of random pairs of these graphs end."""
    if len(graphs) < 2:
        raise InvalidArgument(f"a predictor of intervals learns from pairs of graphs; got {len(graphs)} graph(s)")
    rng = np.random.default_rng(seed)
    predictor = StartPredictor.build(featurizer, options, seed)
    nodes, arcs = int(graphs.sizes.max()), 2 * int(graphs.edge_counts.max())
    count = int(max(1, min(options.pairs, _MOST_NUMBERS // max(1, nodes * (nodes + 2 * arcs)))))
    pairs = rng.integers(0, len(graphs), (count, 2))
    used, places = np.unique(pairs, return_inverse=True)
    pairs, graphs = places.reshape(pairs.shape), graphs[used]
    problem = encode(graphs, graphs, costs)
    inputs = read_inputs(featurizer, graphs.without(costs.ignore), problem)
    imitated = _Imitated.of(problem, pairs, inputs, options.settled_after)
    optimizer = torch.optim.Adam(predictor.parameters(), _RATE)
    total = max(1, options.epochs * -(-count // _BATCH))
    with progress("predictor of intervals", total, "steps") as bar:
        for step, batch in enumerate(_batches(rng, count, options.epochs)):
            for group in optimizer.param_groups:
                group["lr"] = _RATE * min(1.0, (step + 1) / 50) * (1.0 - step / total)
            loss = imitated.loss(predictor, batch)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(predictor.parameters(), _LONGEST)
            optimizer.step()
            bar.advance(1)
    return predictor.eval()


class _Imitated(NamedTuple):
    """Where the steps of the training pairs end, and how much that varies."""

    inputs: PackedInputs
    queries: Tensor
    targets: Tensor
    settled: tuple[Tensor, ...]
    """(pairs, ...): masses, out prices, in prices, prices of rows and of columns."""
    variances: tuple[float, ...]

    @classmethod
    def of(cls, problem: EncodedProblem, pairs: NDArray[np.int64], inputs: PackedInputs, steps: int) -> _Imitated:
        """Take the steps."""
        swapped, *settled = in_thread(lambda watch: settled_steps(problem, pairs, steps, watch))
        places = np.arange(len(pairs))
        queries, targets = (torch.from_numpy(pairs[places, side]) for side in (swapped, 1 - swapped))
        tensors = tuple(torch.from_numpy(array) for array in settled)
        imitated = cls(inputs, queries, targets, tensors, ())
        some = slice(0, 1_000)
        there = [mask > 0 for mask in imitated._masks(queries[some], targets[some])]
        variances = (float(part[some][mask].var(correction=0)) for part, mask in zip(tensors, there, strict=True))
        return imitated._replace(variances=tuple(max(1e-3, v) if v == v else 1.0 for v in variances))

    def loss(self, predictor: StartPredictor, batch: NDArray[np.int64]) -> Tensor:
        """The squared error of a few pairs, in units of the variances."""
        queries, targets = self.queries[batch], self.targets[batch]
        chosen, places = torch.unique(torch.cat([queries, targets]), return_inverse=True)
        inputs = self.inputs.take(chosen)
        nodes, arcs, graphs = predictor(inputs)
        query, target = places[: len(batch)], places[len(batch) :]
        width, length = self.settled[0].shape[1], self.settled[1].shape[1]
        query_nodes, target_nodes = (nodes[_padded(inputs.node_start, side, width)] for side in (query, target))
        query_arcs, target_arcs = (arcs[_padded(inputs.arc_start, side, length)] for side in (query, target))
        found = (
            torch.einsum("bid,bkd->bik", query_nodes[:, :, ROW_MASS], target_nodes[:, :, COLUMN_MASS]),
            torch.einsum("bid,bkd->bik", query_arcs[:, :, QUERY_ARC], target_nodes[:, :, COLUMN_OUT]),
            torch.einsum("bid,bkd->bik", query_nodes[:, :, ROW_IN], target_arcs[:, :, TARGET_ARC]),
            torch.einsum("bid,bd->bi", query_nodes[:, :, ROW_OWN], graphs[target, TARGET_GRAPH]),
            torch.einsum("bid,bd->bi", target_nodes[:, :, COLUMN_OWN], graphs[query, QUERY_GRAPH]),
        )
        loss: Tensor = nodes.new_zeros(())
        parts = zip(found, self.settled, self._masks(queries, targets), self.variances, strict=True)
        for predicted, settled, mask, variance in parts:
            error = (torch.relu(predicted) - settled[batch]) ** 2 * mask
            loss = loss + error.sum() / mask.sum().clamp(min=1) / variance
        return loss

    def _masks(self, queries: Tensor, targets: Tensor) -> tuple[Tensor, ...]:
        """1 where the numbers of these pairs mean something."""
        width, length = self.settled[0].shape[1], self.settled[1].shape[1]

        def within(start: Tensor, graphs: Tensor, most: int) -> Tensor:
            return (torch.arange(most) < (start[graphs + 1] - start[graphs])[:, None]).float()

        nodes, arcs = self.inputs.node_start, self.inputs.arc_start
        rows, columns = within(nodes, queries, width), within(nodes, targets, width)
        out, into = within(arcs, queries, length), within(arcs, targets, length)
        products = ((rows, columns), (out, columns), (rows, into))
        return *(first[:, :, None] * second[:, None, :] for first, second in products), rows, columns


def _padded(start: Tensor, graphs: Tensor, most: int) -> Tensor:
    """The places of the rows of each graph, (graphs, most); beyond the last one any place."""
    return (start[graphs][:, None] + torch.arange(most)).clamp(max=max(0, int(start[-1]) - 1))


def _batches(rng: np.random.Generator, count: int, epochs: int) -> Iterator[NDArray[np.int64]]:
    for _ in range(epochs):
        order = rng.permutation(count)
        for start in range(0, count, _BATCH):
            yield order[start : start + _BATCH]
