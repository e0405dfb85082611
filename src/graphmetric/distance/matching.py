"""A head that matches the nodes of two graphs by their states: a learned edit distance.

A compiled solver answers; gradients come from the costs of the matching that it found. Edges may have a price, too:
then the exact search of the edit distance solves the pairs of small graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from graphmetric._foundation.assignment import AssignmentWork, allocate_assignment
from graphmetric._foundation.threads import allowed_threads, map_in_threads
from graphmetric.distance._kernels.matching import (
    MOST_PRICES,
    NOBODY,
    AxisValues,
    NodeStates,
    add_axis_gaps,
    list_maps,
    match_pairs,
    measure_pairs,
    number_states,
    price_nodes,
    sort_runs,
)
from graphmetric.distance.pair_distance import METRIC, Answer, Floats, HeadOptions, PairDistance, StoredGraphs
from graphmetric.distance.representation import Representation
from graphmetric.edit_distance import (
    PackedGraphs,
    PairPrices,
    Results,
    Workspace,
    WorkspaceSize,
    allocate_workspace,
    pack_graphs,
    search_priced,
)
from graphmetric.errors import InvalidArgument

LARGEST_PRICE = 1.0
"""The price of an edge in the edit distance itself."""
CHUNK, SEARCH_CHUNK = 512, 64
"""Pairs per call of the solver, and of a search: milliseconds for small graphs, so that threads end together."""
AXES = 8
"""Axes along which an index keeps states sorted: with more, hardly fewer graphs pass the bound."""
_SPREAD_BY = 1 << 12
"""About how many states say in which directions all of them spread."""
FULL_PRICE, NO_PRICE = 10, 15
"""Edges have their full price in graphs of up to 10 nodes and none from 15 nodes on, so that searches stay short."""
ANSWERING, TRAINING = 100_000, 20
"""Search-tree nodes for a pair: hardly any needs as many, and training makes do with the best map found by then."""
FIRST_PRICE = 1.0
"""What training starts from, before the sigmoid: three quarters of the highest price."""
UNIT = 1 << 24
"""Searches count in whole numbers: prices are rounded to one part in 16 million, as in single precision."""
Integers = NDArray[np.int64]
Doubles = NDArray[np.float64]
NodeMaps = list[tuple[int | None, ...]]
Work = TypeVar("Work")


class EdgeShares(NamedTuple):
    """What edges cost in each of some pairs of graphs, in multiples of the price."""

    edit: Doubles
    """For each edge that is deleted, inserted or relabelled."""
    anyhow: Doubles
    """Whatever the map."""


class FoundMaps(NamedTuple):
    """What a search says about each of some pairs of graphs."""

    lower: Doubles
    """A bound of the distance."""
    upper: Doubles
    """What the map costs."""
    edits: Integers
    """How many edges the map deletes, inserts and relabels."""
    node_map: Integers
    """(pairs, nodes of the largest first graph): -1 for nodes without a partner."""


class Matching(PairDistance, kind="matching"):
    r"""Least cost of turning the nodes of one graph into those of the other.

    .. math:: g(G, H) = \min_\pi \sum_i \lVert h_i - h'_{\pi(i)} \rVert_2

    over bijections, both graphs padded with zero vectors to equal number. :math:`\lVert h_i \rVert` is the price of
    deleting node i, :math:`\lVert h_i - h'_j \rVert` that of turning i into j.

    *It is a pseudo-metric.* Bijections G → H and H → K compose to one G → K that costs no more, term by term; and more
    padding never helps, since a node deleted and another inserted cost :math:`\lVert h \rVert + \lVert h' \rVert \ge
    \lVert h - h' \rVert`, the price of turning one into the other.

    *It is a rectangular problem.* By the same inequality some best bijection does not both delete and insert. So for
    n ≤ m nodes each h_i has a partner σ(i) of its own, the others pay their norm, and

    .. math:: g = \sum_j \lVert h'_j \rVert + \min_\sigma \sum_{i \le n}
              \left(\lVert h_i - h'_{\sigma(i)} \rVert - \lVert h'_{\sigma(i)} \rVert\right).

    *Its gradient* is the gradient of the sum with the bijection held fixed, which is exact wherever the best bijection
    is unique; the assignment itself is solved without gradients. A pair takes microseconds at 10 nodes; work grows with
    the cube of the number of nodes.

    With several heads the states are cut into as many equal pieces, each matched on its own, and the distances added.

    *Edges with a price.* A matching of nodes does not ask whether edges fit. With an ``edge_price`` they do:

    .. math:: g(G, H) = \min_\pi \sum_i \lVert h_i - h'_{\pi(i)} \rVert_2
              + \sum_{i < j} \nu(p_G e_{ij} - p_H e'_{\pi(i) \pi(j)}),

    where e is the unit vector of an edge's label, or 0 without an edge, and the norm :math:`\nu` is the larger of the
    sums of the positive and of the negative parts. It is a pseudo-metric for the same reasons. The price is learned;
    ``edge_price`` is the most that it can be. Finding the best bijection is hard, so the price :math:`p_G` of the edges
    of a graph fades with its size, from the whole up to ``FULL_PRICE`` nodes to 0 at ``NO_PRICE`` nodes. With p the
    lesser of both prices and m edges,

    .. math:: \sum \nu = p \cdot \text{(edges to delete, insert and relabel)} + (p_G - p) m_G + (p_H - p) m_H.

    So nothing but a matching is left for larger graphs; pairs of smaller ones are searched like the edit distance. A
    search that ends early gives a lower bound, :meth:`answer` says by how much, and the caller is warned.
    """

    axioms = METRIC
    needs_states = True
    aligns = True

    def __init__(self, heads: int = 1, edge_price: float = 0.0) -> None:
        super().__init__()
        if heads < 1:
            raise InvalidArgument(f"a matching needs at least one head; got {heads}")
        if not 0 <= edge_price <= LARGEST_PRICE:
            raise InvalidArgument(f"edge_price must lie in [0, {LARGEST_PRICE:g}]; got {edge_price}")
        if edge_price and heads > 1:
            raise InvalidArgument(f"edges have a price in a matching with one head only; got {heads} heads")
        self.heads, self.width, self.vector_blocks = heads, 0, heads
        self.edge_price = edge_price
        if edge_price:
            self.needs_structure = True
            self.raw_price = nn.Parameter(torch.tensor(FIRST_PRICE))
        self.sorted_axes = AXES if heads == 1 else 0

    @classmethod
    def build(cls, options: HeadOptions, dim: int) -> Self:
        if dim % options.matching_heads:
            raise InvalidArgument(f"{options.matching_heads} matching heads cannot share states of width {dim}")
        return cls(options.matching_heads, options.edge_price)

    def extra_repr(self) -> str:
        return f"heads={self.heads}, edge_price={self.edge_price:g}"

    @property
    def price(self) -> Tensor:
        """What an edge that does not fit costs in small graphs."""
        return self.edge_price * torch.sigmoid(self.raw_price)

    def project(self, z: Tensor) -> Tensor:
        """An empty vector: the pooled vector plays no part."""
        return z[..., :0]

    def compare(self, left: Representation, right: Representation) -> Tensor:
        learns = torch.is_grad_enabled() and any(
            part.requires_grad for part in (left.rows, right.rows, *self.parameters())
        )
        return self._differentiable(left, right) if learns else self.answer(left, right).distances

    @torch.no_grad()
    def answer(self, left: Representation, right: Representation, absolute: bool = False) -> Answer:
        pairs, shape = broadcast_pairs(left, right), broadcast_shape(left, right)
        if not self.edge_price:
            return Answer(torch.from_numpy(self._match_costs(left, right, pairs)).to(left.rows).reshape(shape))
        price, shares = self.price.item(), self._edge_shares(left, right, pairs)
        searched = shares.edit > 0
        found, left_open = price * shares.anyhow, np.zeros(len(pairs))
        found[~searched] += self._match_costs(left, right, pairs[~searched])
        lower, upper = self._bound_both_ways(left, right, pairs[searched], price * shares.edit[searched])
        found[searched] += lower
        left_open[searched] = upper - lower
        return Answer(torch.from_numpy(found).to(left.rows).reshape(shape), torch.from_numpy(left_open).reshape(shape))

    def align(self, left: Representation, right: Representation) -> NodeMaps:
        slots, end, _ = self._match(left, right, broadcast_pairs(left, right), ANSWERING)
        starts, sizes, others = left.start.tolist(), left.size.tolist(), right.start.tolist()
        maps: NodeMaps = []
        for matched, start, size, other in zip(np.split(slots, end)[:-1], starts, sizes, others, strict=True):
            partners = dict(matched.tolist())
            found = [partners[start + i] for i in range(size)]
            maps.append(tuple(None if row == NOBODY else row - other for row in found))
        return maps

    def index_vectors(self, graphs: Representation) -> Tensor:
        """(graphs, d): the sum of the states of each graph, which is the paper's Fusion up to its constant.

        By the triangle inequality of the norm no distance is below the block norm of the difference of two sums, with
        as many blocks as there are heads.
        """
        graphs = graphs.compacted()
        owner = torch.repeat_interleave(graphs.size)
        return graphs.rows.new_zeros(graphs.num_graphs, graphs.rows.shape[1]).index_add(0, owner, graphs.rows)

    def tighten(self, gaps: Floats, query: Representation, stored: StoredGraphs, chosen: Tensor) -> Floats:
        r"""Add what the states say along single axes, and how far the prices of all edges differ.

        See :mod:`graphmetric.distance._kernels.matching` for the former. The latter is a lower bound of the sum of all
        :math:`\nu`, since :math:`\nu` of a vector is never below the absolute value of the sum of its numbers.
        """
        graphs, arrays = stored
        if "axes" in arrays:
            first, size = int(query.start), int(query.size)
            own = np.sort(query.rows[first : first + size].numpy() @ arrays["basis"], axis=0)
            more = np.empty(len(gaps))
            values = AxisValues(arrays["axes"], graphs.start[chosen].numpy(), graphs.size[chosen].numpy())
            add_axis_gaps(own, values, more)
            gaps = np.sqrt(np.maximum(np.square(gaps, dtype=np.float64) + more, 0)).astype(np.float32)
        if self.edge_price:
            (share, edges), (shares, counts) = price_edges(query), price_edges(graphs, chosen.numpy())
            gaps = gaps + (self.price.item() * np.abs(share * edges - shares * counts)).astype(np.float32)
        return gaps

    def _match_costs(self, left: Representation, right: Representation, pairs: Integers) -> Doubles:
        """What the nodes of each pair cost, edges aside."""
        out = np.zeros(len(pairs))
        for head in range(self.heads):
            sides = self._states(left, head), self._states(right, head)

            def measure(part: slice, work: AssignmentWork, sides: tuple[NodeStates, NodeStates] = sides) -> None:
                measure_pairs(*sides, pairs[part], work, out[part])

            in_threads(measure, len(pairs), CHUNK, partial(allocate_assignment, largest_graph(*sides)))
        return out

    def _differentiable(self, left: Representation, right: Representation) -> Tensor:
        pairs = broadcast_pairs(left, right)
        total = left.rows.new_zeros(len(pairs))
        for head in range(self.heads):
            a, b = self._states(left, head), self._states(right, head)
            slots, end, edges = self._match(left, right, pairs, TRAINING if self.training else ANSWERING, head)
            owner = np.repeat(np.arange(len(end)), np.diff(end, prepend=0))
            pieces = left.rows[:, a.first : a.last], right.rows[:, b.first : b.last]
            total = total + sum_costs(pieces, slots, owner, len(pairs))
            if self.edge_price:
                total = total + self.price * torch.from_numpy(edges).to(total)
        return total.reshape(broadcast_shape(left, right))

    def _match(
        self, left: Representation, right: Representation, pairs: Integers, effort: int, head: int = 0
    ) -> tuple[Integers, Integers, Doubles]:
        """Matched rows (slots, 2) of all pairs one after another, where each pair ends, and its edges in prices."""
        sides = self._states(left, head), self._states(right, head)
        end = np.maximum(sides[0].size[pairs[:, 0]], sides[1].size[pairs[:, 1]]).cumsum()
        start = np.concatenate([[0], end[:-1]])
        slots = np.empty((int(end[-1]) if len(end) else 0, 2), dtype=np.int64)
        edges = np.zeros(len(pairs))
        plain = np.arange(len(pairs))
        if self.edge_price:
            shares = self._edge_shares(left, right, pairs)
            plain, searched = np.flatnonzero(shares.edit == 0), np.flatnonzero(shares.edit)
            found = self._search(left, right, pairs[searched], self.price.item() * shares.edit[searched], effort)
            list_maps(*sides, pairs[searched], found.node_map, start[searched], slots)
            edges = shares.anyhow
            edges[searched] += found.edits * shares.edit[searched]

        def match(part: slice, work: AssignmentWork) -> None:
            match_pairs(*sides, pairs[plain[part]], start[plain[part]], work, slots)

        in_threads(match, len(plain), CHUNK, partial(allocate_assignment, largest_graph(*sides)))
        return slots, end, edges

    def _edge_shares(self, left: Representation, right: Representation, pairs: Integers) -> EdgeShares:
        (own, count), (other, other_count) = (
            price_edges(side, chosen) for side, chosen in zip((left, right), pairs.T, strict=True)
        )
        edit = np.minimum(own, other)
        return EdgeShares(edit, (own - edit) * count + (other - edit) * other_count)

    def _search(
        self, left: Representation, right: Representation, pairs: Integers, prices: Doubles, effort: int
    ) -> FoundMaps:
        """Node maps of pairs of small graphs, each with a price of edges, by a search of ``effort`` tree nodes."""
        sides = [self._states(side, 0) for side in (left, right)]
        chosen = [_find_distinct(side, column) for side, column in zip(sides, pairs.T, strict=True)]
        graphs, reverse = _pack([left, right], sides, [used for used, _ in chosen])
        places = np.column_stack([place for _, place in chosen])
        n, m = (side.size[column] for side, column in zip(sides, pairs.T, strict=True))
        maps = np.empty((len(pairs), int(n.max(initial=0))), dtype=np.int64)
        found = FoundMaps(np.empty(len(pairs)), np.empty(len(pairs)), np.empty(len(pairs), dtype=np.int64), maps)
        room = (n + 1) * (m + 1)
        whole = np.maximum(1, np.rint(UNIT * prices).astype(np.int64))

        def search(part: slice, work: Workspace) -> None:
            start = np.cumsum(room[part]) - room[part]
            nodes = np.empty(int(room[part].sum()), dtype=np.int64)
            sums = np.empty(len(start))
            price_nodes(*sides, pairs[part], float(UNIT), start, nodes, sums)
            lower, upper, edges, expanded, finished = np.zeros((5, len(start)), dtype=np.int64)
            results = Results(lower, upper, expanded, finished, found.node_map[part])
            prices_of_part = PairPrices(nodes, start, whole[part], reverse)
            search_priced(graphs, places[part], prices_of_part, effort, work, results, edges)
            unit = np.where(sums < MOST_PRICES, UNIT, np.nan)  # as without a price: states that are not finite give NaN
            found.lower[part], found.upper[part], found.edits[part] = lower / unit, upper / unit, edges // whole[part]

        largest = int(max(n.max(initial=0), m.max(initial=0)))
        edges = max(int(np.diff(side.edge_start).max(initial=0)) for side in graphs)
        size = WorkspaceSize(largest, largest, edges, len(reverse) - 1, null_nodes=False)
        in_threads(search, len(pairs), SEARCH_CHUNK, partial(allocate_workspace, size))
        return found

    def _bound_both_ways(
        self, left: Representation, right: Representation, pairs: Integers, prices: Doubles
    ) -> tuple[Doubles, Doubles]:
        """Bounds of the distances. A search that ends early is repeated the other way round: bounds are symmetric."""
        lower, upper = self._search(left, right, pairs, prices, ANSWERING)[:2]
        early = np.flatnonzero(lower < upper)
        if len(early):
            back = self._search(right, left, np.ascontiguousarray(pairs[early, ::-1]), prices[early], ANSWERING)
            lower[early], upper[early] = np.maximum(lower[early], back.lower), np.minimum(upper[early], back.upper)
        return lower, upper

    def _states(self, graphs: Representation, head: int) -> NodeStates:
        dim = graphs.rows.shape[1]
        if dim % self.heads:
            raise InvalidArgument(f"states of width {dim} cannot be cut into {self.heads} equal heads")
        double = graphs.rows.dtype == torch.float64
        rows = graphs.rows.detach().to("cpu", torch.float64 if double else torch.float32)  # numpy has no bfloat16
        start, size = (part.flatten().cpu().numpy() for part in (graphs.start, graphs.size))
        first, last = head * dim // self.heads, (head + 1) * dim // self.heads
        return NodeStates(rows.contiguous().numpy(), start, size, first, last)


def price_edges(graphs: Representation, chosen: Integers | slice = slice(None)) -> tuple[Doubles, Integers]:
    """The price of an edge in each of the chosen graphs, as a share of the price in small graphs; and their edges."""
    if graphs.structure is None:
        raise InvalidArgument("a matching with a price of edges needs graphs that were encoded with their edges")
    sizes, edges = (part.flatten().cpu().numpy()[chosen] for part in (graphs.size, graphs.structure.num_edges))
    return np.clip((NO_PRICE - sizes) / (NO_PRICE - FULL_PRICE), 0, 1), edges


def principal_axes(states: Floats, count: int = AXES) -> Floats:
    """(d, axes), orthonormal: the directions in which states spread most, by some of them if there are many."""
    some = states[:: 1 + len(states) // _SPREAD_BY]
    spread = np.einsum("ki,kj->ij", some, some, dtype=np.float64)  # not @: BLAS rounds by its number of threads
    _, vectors = np.linalg.eigh(spread)
    return np.ascontiguousarray(vectors[:, ::-1][:, :count], dtype=np.float32)


def sort_along_axes(states: Floats, sizes: Integers, basis: Floats) -> Floats:
    """The states along each axis, rising within each graph; graph k has the next sizes[k] rows."""
    values: Floats = np.einsum("ki,ij->kj", states, basis)  # the same in every process, however many its threads
    sort_runs(values, np.concatenate([[0], np.cumsum(sizes)]))
    return values


def broadcast_pairs(left: Representation, right: Representation) -> Integers:
    """(pairs, 2): positions in the flattened batches, for every entry of the broadcast batch."""
    pairs = np.empty((*broadcast_shape(left, right), 2), dtype=np.int64)
    for k, side in enumerate((left, right)):
        pairs[..., k] = np.arange(side.num_graphs).reshape(side.start.shape)
    return pairs.reshape(-1, 2)


def broadcast_shape(left: Representation, right: Representation) -> tuple[int, ...]:
    """The shape of the distances between two batches."""
    return np.broadcast_shapes(left.start.shape, right.start.shape)


def largest_graph(left: NodeStates, right: NodeStates) -> int:
    """The number of nodes of the largest graph of both sides."""
    return int(max(left.size.max(initial=0), right.size.max(initial=0)))


def sum_costs(
    sides: tuple[Tensor, Tensor],
    slots: Integers,
    owner: Integers,
    n_pairs: int,
    shares: NDArray[np.float64] | None = None,
) -> Tensor:
    """What each pair pays for its slots, each of which has a row of either side, or NOBODY, and perhaps a share."""
    left, right = (_rows_or_zero(rows, torch.from_numpy(slots[:, k].copy())) for k, rows in enumerate(sides))
    costs: Tensor = torch.linalg.vector_norm(left - right, dim=-1)  # its gradient is 0 where it is 0
    if shares is not None:
        costs = torch.from_numpy(shares).to(costs) * costs
    return costs.new_zeros(n_pairs).index_add(0, torch.from_numpy(owner).to(costs.device), costs)


def in_threads(solve: Callable[[slice, Work], None], n_pairs: int, chunk: int, allocate: Callable[[], Work]) -> None:
    """Solve all pairs, ``chunk`` at a time, on as many threads as are allowed, each with a workspace of its own."""
    chunks = [slice(first, min(first + chunk, n_pairs)) for first in range(0, n_pairs, chunk)]
    if min(allowed_threads(), len(chunks)) <= 1:
        work = allocate()
        for part in chunks:
            solve(part, work)
        return
    map_in_threads(lambda part: solve(part, allocate()), chunks)


def _rows_or_zero(rows: Tensor, chosen: Tensor) -> Tensor:
    padded = functional.pad(rows, (0, 0, 0, 1))
    chosen[chosen == NOBODY] = len(rows)
    return padded.index_select(0, chosen.to(rows.device))


def _find_distinct(graphs: NodeStates, chosen: Integers) -> tuple[Integers, Integers]:
    """One position of each of the graphs at the chosen positions, which may repeat them, and which of these each is."""
    key = graphs.start[chosen] * (1 + graphs.size.max(initial=0)) + graphs.size[chosen]
    _, first, place = np.unique(key, return_index=True, return_inverse=True)
    return chosen[first], place


def _pack(
    sides: Sequence[Representation], states: Sequence[NodeStates], chosen: Sequence[Integers]
) -> tuple[tuple[PackedGraphs, PackedGraphs], Integers]:
    """The chosen graphs of both sides for a search, and the code of each edge as its second end sees it.

    Nodes of one graph that have the same state have the same code, so that searches know twins.
    """
    tables, keys = [], []
    for side, used in zip(sides, chosen, strict=True):
        assert side.structure is not None
        first, count = (part.flatten().cpu().numpy()[used] for part in (side.structure.first, side.structure.num_edges))
        edges = np.repeat(first - (np.cumsum(count) - count), count) + np.arange(count.sum())
        ends, views = (
            part.cpu().numpy()[edges].astype(np.int64) for part in (side.structure.ends, side.structure.views)
        )
        tables.append((count, ends))
        keys.append((views[..., 0] << 32) | views[..., 1])
    labels, seen = np.unique(np.concatenate(keys), return_inverse=True)
    seen = seen.reshape(-1, 2)
    both = seen * len(labels) + seen[:, ::-1]  # a label, and what it is from the other end
    known, codes = np.unique(both, return_inverse=True)
    codes = codes.reshape(-1, 2) + 1
    reverse = np.zeros(len(known) + 1, dtype=np.int64)
    reverse[codes[:, 0]], reverse[codes[:, 1]] = codes[:, 1], codes[:, 0]
    packed, before = [], 0
    for (count, ends), state, used in zip(tables, states, chosen, strict=True):
        own = state._replace(start=state.start[used], size=state.size[used])
        node_codes = np.empty(int(own.size.sum()), dtype=np.int64)
        number_states(own, node_codes)
        node_start, edge_start = (np.concatenate([[0], np.cumsum(part)]) for part in (own.size, count))
        edge_codes = codes[before : before + len(ends), 0]
        packed.append(pack_graphs(node_start, node_codes, edge_start, ends, edge_codes, reverse))
        before += len(ends)
    return (packed[0], packed[1]), reverse
