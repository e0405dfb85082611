"""Bounds that take little work and memory: one graph against many, and pairs that are too large for matrices.

Against many graphs, histograms of labels and degrees that are computed once give lower bounds, and so do the branches
that two graphs have in common.

A pair so large that matrices over its nodes would not fit into memory gets the best of three lower bounds: label
counts, degree sequences and, where its one matrix fits, the Hausdorff edit distance. Its upper bound is the cost of a
map that matches nodes of one label by falling degrees, and then the others. Both need memory for nodes and edges only.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance._kernels.lower_bounds import (
    N_TOTALS,
    TILE,
    CheapestCosts,
    HistogramLayout,
    compare_branches,
    count_codes,
    find_cheapest,
    lay_out_histograms,
    scan_tiles,
    sum_hausdorff,
)
from graphmetric.edit_distance._kernels.packing import PackedGraphs
from graphmetric.edit_distance._kernels.workspace import Results
from graphmetric.edit_distance.costs import EditCosts, as_costs
from graphmetric.edit_distance.encoding import encode
from graphmetric.edit_distance.scaling import EncodedProblem, round_down
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import Columns, GraphFlags
from graphmetric.graphs.labels import LabelColumn, label_key

_LARGEST_DEGREE = 64
"""Larger degrees of a collection count as this one."""
NODE_BUCKETS, EDGE_BUCKETS, DEGREES = 32, 8, 32
"""Counts of a graph in an index. The last bucket takes all later labels, the last degree all larger ones."""
COUNT_LAYOUT = lay_out_histograms(NODE_BUCKETS, EDGE_BUCKETS, DEGREES)
"""Which column of a stored tile counts what."""
GRAPHS_PER_TILE = TILE
LARGEST_COUNT = np.iinfo(np.int16).max
"""Larger counts are stored as this number, and nothing is proven from them."""
_DEAREST = 1 << 33
"""Units of the most expensive edit, and of a forbidden one: sums over all nodes and edges of two graphs fit 64 bits."""

_MOST_ENTRIES = 1 << 26
"""Entries of the largest matrix that the Hausdorff edit distance may use: half a gigabyte."""

_LOW, _HIGH, _WORD = np.uint64(16), np.uint64(48), np.uint64(32)
"""The bits of half a branch, of the rest of 64 bits, and of a branch."""

Counts = NDArray[np.int16]
Branches = NDArray[np.uint32]
"""A number for the branch of each node, rising within each graph."""
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CollectionBounds:
    """Label counts and degree sequences of a collection, ready to bound distances to all of it at once.

    Example:
        >>> from graphmetric import Graph
        >>> bounds = CollectionBounds.of(GraphCollection([Graph(2, [(0, 1)]), Graph(3), Graph(2)]))
        >>> bounds.to_all(0).tolist()
        [0.0, 2.0, 1.0]
    """

    tiles: NDArray[np.int64]
    layout: HistogramLayout
    cheapest: CheapestCosts
    scale: float
    count: int

    @classmethod
    def of(cls, graphs: GraphCollection, costs: EditCosts | None = None) -> CollectionBounds:
        """Compute the histograms."""
        problem = encode(graphs, graphs, as_costs(costs))
        largest = min(_LARGEST_DEGREE, max(0, int(graphs.sizes.max(initial=0)) - 1))
        tables = problem.tables
        layout = lay_out_histograms(len(tables.node_delete), tables.edge_cost.shape[1], largest)
        tiles = count_codes(problem.first, tables.edge_reverse, layout)
        return cls(tiles, layout, find_cheapest(tables), problem.scale, len(graphs))

    @property
    def vectors(self) -> NDArray[np.int64]:
        """(graphs, columns of the layout): the counts of every graph."""
        return self.tiles.transpose(0, 2, 1).reshape(-1, self.layout.length)[: self.count]

    def to_all(self, k: int) -> NDArray[np.float64]:
        """Lower bounds of the distances from graph ``k`` to every graph, itself included."""
        width = self.tiles.shape[2]
        query = np.ascontiguousarray(self.tiles[k // width, :, k % width])
        return _scan(query, self.tiles, self.layout, self.cheapest)[: self.count] / (2 * self.scale)


def _scan(query: Integers, tiles: NDArray[Any], layout: HistogramLayout, cheapest: CheapestCosts) -> Integers:
    width = tiles.shape[2]
    doubled = np.empty(len(tiles) * width, dtype=np.int64)
    scan_tiles(query, tiles, layout, cheapest, np.empty((3, width), dtype=np.int64), doubled)
    return doubled


class StoredBounds:
    """Lower bounds of the distances from one graph to many, from their stored histograms and branches."""

    def __init__(self, tiles: Counts, branches: Branches, node_ptr: Integers, costs: EditCosts) -> None:
        self._tiles, self._branches, self._node_ptr, self._costs = tiles, branches, node_ptr, costs
        self._cheapest, self._scale = _cheapest(costs)
        self._cut = (tiles[:, :N_TOTALS] == LARGEST_COUNT).any(axis=1).ravel()[: len(node_ptr) - 1]
        self._is_cut = bool(self._cut.any())

    @property
    def knows_branches(self) -> bool:
        """Whether common branches bound distances: not if labels are ignored, which branches have in them."""
        return not self._costs.ignore & {"node_labels", "edge_labels"}

    def by_counts(self, query: Counts) -> NDArray[np.float64]:
        """Lower bounds of the distances from the graph with these counts to every graph."""
        if query[:N_TOTALS].max() == LARGEST_COUNT:
            return np.zeros(len(self._cut))
        doubled = _scan(query.astype(np.int64), self._tiles, COUNT_LAYOUT, self._cheapest)[: len(self._cut)]
        if self._is_cut:
            doubled[self._cut] = 0
        return self._in_costs(doubled)

    def by_branches(self, query: Branches, graphs: Integers) -> NDArray[np.float64]:
        """Lower bounds of the distances from the graph with these branches to chosen graphs."""
        doubled = np.empty(len(graphs), dtype=np.int64)
        compare_branches(query, self._branches, self._node_ptr, graphs, self._cheapest, doubled)
        return self._in_costs(doubled)

    def _in_costs(self, doubled: Integers) -> NDArray[np.float64]:
        """With unit costs distances are whole, so half an edit more is a whole one."""
        return (-(-doubled // 2)).astype(np.float64) if self._costs.is_unit else doubled / (2 * self._scale)


def number_labels(vocabulary: Sequence[Hashable]) -> dict[bytes, int]:
    """Numbers of labels in order of appearance, the same for equal ones (1 and 1.0); "no label" is 0."""
    places = {label_key(None): 0}
    for label in vocabulary:
        places.setdefault(label_key(label), len(places))
    return places


def count_graphs(columns: Columns, node_places: Mapping[bytes, int], edge_places: Mapping[bytes, int]) -> Counts:
    """(graphs, columns of :data:`COUNT_LAYOUT`): the histograms of graphs.

    A label without a number is counted among the nodes or edges only, since no stored graph has it. Features, texts,
    images and weights are not looked at: counting unequal nodes as equal only lowers the bound.
    """
    graphs = columns.num_graphs
    vectors = np.zeros((graphs, COUNT_LAYOUT.length), dtype=np.int64)
    vectors[:, 0], vectors[:, 1] = np.diff(columns.node_ptr), np.diff(columns.edge_ptr)
    node_owner = np.repeat(np.arange(graphs), vectors[:, 0])
    edge_owner = np.repeat(np.arange(graphs), vectors[:, 1])
    for column, flag, owner, places, start, size in (
        (columns.node_labels, GraphFlags.NODE_LABELS, node_owner, node_places, COUNT_LAYOUT.node_start, NODE_BUCKETS),
        (columns.edge_labels, GraphFlags.EDGE_LABELS, edge_owner, edge_places, COUNT_LAYOUT.edge_start, EDGE_BUCKETS),
    ):
        place = _places(column, (columns.flags[owner] & flag) != 0, places)
        known = place >= 0
        np.add.at(vectors, (owner[known], start + np.minimum(place[known], size - 1)), 1)
    _fill_degrees(columns, node_owner, edge_owner, vectors)
    return np.minimum(vectors, LARGEST_COUNT).astype(np.int16)


def _places(column: LabelColumn | None, present: NDArray[np.bool_], places: Mapping[bytes, int]) -> NDArray[np.int64]:
    if column is None:
        return np.zeros(len(present), dtype=np.int64)
    place = np.full(len(column.vocabulary), -1, dtype=np.int64)
    for code in np.unique(column.codes).tolist():
        place[code] = places.get(label_key(column.vocabulary[code]), -1)
    return np.where(present, place[column.codes], 0)


def _fill_degrees(
    columns: Columns, node_owner: NDArray[np.int64], edge_owner: NDArray[np.int64], vectors: NDArray[np.int64]
) -> None:
    """Self-loops are left out: editing one changes no other node."""
    proper = columns.edges[:, 0] != columns.edges[:, 1]
    ends = columns.node_ptr[edge_owner[proper], None] + columns.edges[proper]
    degree = np.minimum(np.bincount(ends.ravel(), minlength=len(node_owner)), DEGREES)
    by_degree = np.bincount(node_owner * (DEGREES + 1) + degree, minlength=len(vectors) * (DEGREES + 1))
    at_least = by_degree.reshape(-1, DEGREES + 1)[:, :0:-1].cumsum(axis=1)[:, ::-1]
    vectors[:, 2], vectors[:, COUNT_LAYOUT.degree_start :] = at_least.sum(axis=1), at_least


def tile(counts: Counts) -> Counts:
    """Histograms by columns: (tiles, columns, graphs of a tile); the last tile is filled up with empty graphs."""
    full = np.zeros((-(-len(counts) // TILE) * TILE, counts.shape[1]), dtype=np.int16)
    full[: len(counts)] = counts
    return np.ascontiguousarray(full.reshape(-1, TILE, counts.shape[1]).transpose(0, 2, 1))


def digest_branches(columns: Columns) -> Branches:
    """A number for the branch of every node, rising within each graph.

    The branch of a node is its label with the labels and directions of its edges; the upper half of the number depends
    on the label of the node only. Features, texts, images and weights are not looked at.
    """
    owner = np.repeat(np.arange(columns.num_graphs), np.diff(columns.edge_ptr))
    node_label = _digest_labels(columns.node_labels, columns.has_row("node_labels"))
    edge_label = _digest_labels(columns.edge_labels, columns.has_row("edge_labels"))
    ends = columns.node_ptr[owner, None] + columns.edges
    is_loop = columns.edges[:, 0] == columns.edges[:, 1]
    has_direction = (columns.flags[owner] & GraphFlags.DIRECTION) != 0
    around = np.zeros(columns.num_nodes, dtype=np.uint64)
    with np.errstate(over="ignore"):
        for side in range(2):
            role = np.where(is_loop, 3, np.where(has_direction, 1 + side, 0)).astype(np.uint64)
            np.add.at(around, ends[:, side], _spread(edge_label + role))
        lower = _spread(node_label + _spread(around))
    numbers = ((node_label >> _HIGH) << _LOW) | (lower >> _HIGH)
    graph = np.repeat(np.arange(columns.num_graphs, dtype=np.uint64), np.diff(columns.node_ptr))
    return np.sort((graph << _WORD) | numbers).astype(np.uint32)  # which drops the graph


def _digest_labels(column: LabelColumn | None, present: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """64 bits for the label of every row, the same in every collection."""
    if column is None:
        return np.full(len(present), _digest(None), dtype=np.uint64)
    digests = np.zeros(len(column.vocabulary), dtype=np.uint64)
    for code in np.unique(column.codes).tolist():  # the vocabulary may be that of a larger collection
        digests[code] = _digest(column.vocabulary[code])
    return np.where(present, digests[column.codes], np.uint64(_digest(None)))


def _digest(label: Hashable) -> int:
    return int.from_bytes(blake2b(label_key(label), digest_size=8).digest(), "little")


def _spread(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Spread numbers over 64 bits; sums of them are hardly ever equal by chance."""
    numbers = (numbers ^ (numbers >> np.uint64(31))) * np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return numbers ^ (numbers >> np.uint64(32))


def _cheapest(costs: EditCosts) -> tuple[CheapestCosts, float]:
    """The least cost of each kind of edit in whole units, rounded down, and the scale; ignored labels cost 0."""
    prices = {
        name: _least(getattr(costs, name))
        for name in ("node_delete", "node_insert", "node_substitute", "edge_delete", "edge_insert", "edge_substitute")
    }
    for kind in ("node", "edge"):
        ignored = f"{kind}_labels" in costs.ignore
        around = prices[f"{kind}_delete"] + prices[f"{kind}_insert"]
        prices[f"{kind}_substitute"] = 0.0 if ignored else min(prices[f"{kind}_substitute"], around)
    whole, scale = round_down(np.array(list(prices.values())), _DEAREST)
    return CheapestCosts(**dict(zip(prices, whole.tolist(), strict=True))), scale


def _least(price: float | Mapping[object, float]) -> float:
    return float(min(price.values(), default=0.0)) if isinstance(price, Mapping) else float(price)


def bound_in_little_memory(problem: EncodedProblem, pairs: Integers, results: Results) -> None:
    """Write bounds in units and node maps of the pairs."""
    for p, (i, j) in enumerate(pairs.tolist()):
        first, second = _only(problem.first, i), _only(problem.second, j)
        images = _match_by_degree(problem, first, second)
        results.node_map[p, : len(images)] = images
        alone = EncodedProblem(first, second, problem.tables, problem.scale)
        results.upper[p] = alone.price_in_units(np.zeros((1, 2), dtype=np.int64), images[None, :])[0]
        lower = max(_bound_by_counts(alone), _bound_by_neighbourhoods(alone))
        results.lower[p] = min(lower, results.upper[p])


def map_by_degree(problem: EncodedProblem, pairs: Integers, results: Results) -> None:
    """Write node maps of the pairs and their costs in units, but no lower bounds: a millisecond for 1,000 nodes."""
    for p, (i, j) in enumerate(pairs.tolist()):
        images = _match_by_degree(problem, _only(problem.first, i), _only(problem.second, j))
        results.node_map[p, : len(images)] = images
    results.upper[:] = problem.price_in_units(pairs, results.node_map)


def _bound_by_counts(problem: EncodedProblem) -> int:
    first, second, tables = problem.first, problem.second, problem.tables
    largest = max(len(first.node_code), len(second.node_code))
    layout = lay_out_histograms(len(tables.node_delete), len(tables.edge_reverse), largest)
    query, other = (count_codes(graph, tables.edge_reverse, layout) for graph in (first, second))
    doubled = _scan(np.ascontiguousarray(query[0, :, 0]), other, layout, find_cheapest(tables))
    return -(-int(doubled[0]) // 2)


def _bound_by_neighbourhoods(problem: EncodedProblem) -> int:
    sizes = len(problem.first.node_code), len(problem.second.node_code)
    if max(sizes[0] * sizes[1], sum(sizes) * problem.tables.edge_cost.shape[1]) > _MOST_ENTRIES:
        return 0
    quadrupled = sum_hausdorff(problem.packed, np.zeros((1, 2), dtype=np.int64))
    return -(-int(quadrupled[0]) // 4)


def _match_by_degree(problem: EncodedProblem, first: PackedGraphs, second: PackedGraphs) -> Integers:
    """A map: nodes of one code by falling degrees, then the others, where that does not cost more than a deletion."""
    tables = problem.tables
    node_map = np.full(len(first.node_code), -1, dtype=np.int64)
    degrees, orders, ranks = [], [], []
    for graph in (first, second):
        degree = np.bincount(np.concatenate([graph.edge_tail, graph.edge_head]), minlength=len(graph.node_code))
        order = np.lexsort((-degree, graph.node_code))
        codes, starts = np.unique(graph.node_code[order], return_index=True)
        rank = np.arange(len(order)) - starts[np.searchsorted(codes, graph.node_code[order])]
        degrees.append(degree)
        orders.append(order)
        ranks.append(graph.node_code[order] * (1 << 32) + rank)
    _, *matched = np.intersect1d(ranks[0], ranks[1], assume_unique=True, return_indices=True)
    node_map[orders[0][matched[0]]] = orders[1][matched[1]]
    rest = []
    for degree, order, places in zip(degrees, orders, matched, strict=True):
        left = np.delete(order, places)
        rest.append(left[np.argsort(-degree[left], kind="stable")])
    count = min(len(rest[0]), len(rest[1]))
    nodes, images = rest[0][:count], rest[1][:count]
    codes, image_codes = first.node_code[nodes], second.node_code[images]
    around = tables.node_delete[codes] + tables.node_insert[image_codes]
    cheap = tables.node_substitute[codes, image_codes] <= around
    node_map[nodes[cheap]] = images[cheap]
    return node_map


def _only(graphs: PackedGraphs, place: int) -> PackedGraphs:
    """The collection of one graph."""
    nodes = slice(graphs.node_start[place], graphs.node_start[place + 1])
    edges = slice(graphs.edge_start[place], graphs.edge_start[place + 1])
    return PackedGraphs(
        np.array([0, nodes.stop - nodes.start]),
        graphs.node_code[nodes],
        graphs.node_twin[nodes],
        np.array([0, edges.stop - edges.start]),
        graphs.edge_tail[edges],
        graphs.edge_head[edges],
        graphs.edge_code[edges],
    )
