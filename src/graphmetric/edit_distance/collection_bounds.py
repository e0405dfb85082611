"""Bounds that take little work and memory: one graph against many, and pairs that are too large for matrices.

Against many graphs, vectors of label counts and degrees that are computed once give lower bounds.

A pair so large that matrices over its nodes would not fit into memory gets the best of three lower bounds: label
counts, degree sequences and, where its one matrix fits, the Hausdorff edit distance. Its upper bound is the cost of a
map that matches nodes of one label by falling degrees, and then the others. Both need memory for nodes and edges only.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance._kernels.lower_bounds import (
    CheapestCosts,
    VectorLayout,
    bound_against_all,
    find_cheapest,
    lay_out_vectors,
    sum_hausdorff,
    vectorize_graphs,
)
from graphmetric.edit_distance._kernels.packing import PackedGraphs
from graphmetric.edit_distance._kernels.workspace import Results
from graphmetric.edit_distance.costs import EditCosts
from graphmetric.edit_distance.encoding import encode
from graphmetric.edit_distance.scaling import EncodedProblem, round_down
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import Columns, Has
from graphmetric.graphs.labels import LabelColumn, label_key

_LONGEST_DEGREES = 64
"""Degrees kept for each graph; larger graphs keep their largest ones."""
NODE_BUCKETS, EDGE_BUCKETS, DEGREES = 32, 8, 32
"""Counts in a stored vector. The last bucket takes all later labels; of larger graphs the largest degrees are kept."""
COUNT_LAYOUT = lay_out_vectors(NODE_BUCKETS, EDGE_BUCKETS, DEGREES)
"""Where a stored vector has its counts of node labels, of edge labels, and its degrees."""
LARGEST_COUNT = np.iinfo(np.int16).max
"""Larger counts are stored as this number, and nothing is proven from them."""
_ROWS = 1 << 16
"""Stored vectors that are widened for the compiled loop at a time."""
_DEAREST = 1 << 33
"""Units of the most expensive edit, and of a forbidden one: sums over all nodes and edges of two graphs fit 64 bits."""

_MOST_ENTRIES = 1 << 26
"""Entries of the largest matrix that the Hausdorff edit distance may use: half a gigabyte."""

Counts = NDArray[np.int16]
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

    vectors: NDArray[np.int64]
    layout: VectorLayout
    cheapest: CheapestCosts
    scale: float

    @classmethod
    def of(cls, graphs: GraphCollection, costs: EditCosts | None = None) -> CollectionBounds:
        """Compute the vectors."""
        problem = encode(graphs, graphs, costs or EditCosts())
        longest = min(_LONGEST_DEGREES, int(graphs.sizes.max(initial=0)))
        tables = problem.tables
        layout = lay_out_vectors(len(tables.node_delete), tables.edge_cost.shape[1], longest)
        vectors = vectorize_graphs(problem.first, tables.edge_reverse, layout)
        return cls(vectors, layout, find_cheapest(tables), problem.scale)

    def to_all(self, k: int) -> NDArray[np.float64]:
        """Lower bounds of the distances from graph ``k`` to every graph, itself included."""
        doubled = np.empty(len(self.vectors), dtype=np.int64)
        bound_against_all(self.vectors[k], self.vectors, self.layout, self.cheapest, doubled)
        return doubled / (2 * self.scale)


class CountBounds:
    """Lower bounds of the distances from one graph to many, from stored vectors in :data:`COUNT_LAYOUT`."""

    def __init__(self, vectors: Counts, costs: EditCosts) -> None:
        self._vectors = vectors
        self._wide = vectors.astype(np.int64) if len(vectors) <= _ROWS else None
        self._cheapest, self._scale = _cheapest(costs)
        self._cut = vectors[:, :2].max(axis=1, initial=0) == LARGEST_COUNT

    def to_all(self, query: Counts) -> NDArray[np.float64]:
        """Lower bounds of the distances from the graph of this vector to every graph."""
        if query[:2].max() == LARGEST_COUNT:
            return np.zeros(len(self._vectors))
        doubled = np.empty(len(self._vectors), dtype=np.int64)
        own = query.astype(np.int64)
        for start in range(0, len(self._vectors), _ROWS):
            rows = self._vectors[start : start + _ROWS].astype(np.int64) if self._wide is None else self._wide
            bound_against_all(own, rows, COUNT_LAYOUT, self._cheapest, doubled[start : start + _ROWS])
        doubled[self._cut] = 0
        return doubled / (2 * self._scale)


def number_labels(vocabulary: Sequence[Hashable]) -> dict[bytes, int]:
    """Numbers of labels in order of appearance, the same for equal ones (1 and 1.0); "no label" is 0."""
    places = {label_key(None): 0}
    for label in vocabulary:
        places.setdefault(label_key(label), len(places))
    return places


def count_graphs(columns: Columns, node_places: Mapping[bytes, int], edge_places: Mapping[bytes, int]) -> Counts:
    """(graphs, length): nodes, edges, labels of nodes, labels of edges, degrees in falling order.

    A label without a number is counted among the nodes or edges only, since no stored graph has it. Features, texts,
    images and weights are not looked at: counting unequal nodes as equal only lowers the bound.
    """
    graphs = columns.num_graphs
    vectors = np.zeros((graphs, COUNT_LAYOUT.length), dtype=np.int64)
    vectors[:, 0], vectors[:, 1] = np.diff(columns.node_ptr), np.diff(columns.edge_ptr)
    node_owner = np.repeat(np.arange(graphs), vectors[:, 0])
    edge_owner = np.repeat(np.arange(graphs), vectors[:, 1])
    for column, flag, owner, places, start, size in (
        (columns.node_labels, Has.NODE_LABELS, node_owner, node_places, 2, NODE_BUCKETS),
        (columns.edge_labels, Has.EDGE_LABELS, edge_owner, edge_places, COUNT_LAYOUT.edge_start, EDGE_BUCKETS),
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
    degree = np.bincount(ends.ravel(), minlength=len(node_owner))
    order = np.lexsort((-degree, node_owner))
    rank = np.arange(len(node_owner)) - columns.node_ptr[node_owner]
    kept = rank < DEGREES
    vectors[node_owner[kept], COUNT_LAYOUT.degree_start + rank[kept]] = degree[order][kept]


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


def _bound_by_counts(problem: EncodedProblem) -> int:
    first, second, tables = problem.first, problem.second, problem.tables
    longest = max(len(first.node_code), len(second.node_code))
    layout = lay_out_vectors(len(tables.node_delete), len(tables.edge_reverse), longest)
    (query,), others = (vectorize_graphs(graph, tables.edge_reverse, layout) for graph in (first, second))
    doubled = np.zeros(1, dtype=np.int64)
    bound_against_all(query, others, layout, find_cheapest(tables), doubled)
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
