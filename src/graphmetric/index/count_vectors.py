"""Label counts and degrees of graphs: vectors kept in the index that bound edit distances to all of it at once.

The bound is that of :mod:`graphmetric.edit_distance.collection_bounds`; here the numbering of labels is that of the
index, so that a query of any kind can be counted later. Features, texts, images and weights are not looked at: to count
unequal nodes as equal only lowers the bound.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance import EditCosts
from graphmetric.edit_distance._kernels.vector_bounds import CheapestCosts, VectorLayout, bound_against_all
from graphmetric.edit_distance.scaling import round_down
from graphmetric.graphs.columns import Columns, Has
from graphmetric.graphs.labels import LabelColumn, label_key

NODE_BUCKETS, EDGE_BUCKETS, DEGREES = 32, 8, 32
"""The last bucket takes all labels that come later; of larger graphs the largest degrees are kept."""
LAYOUT = VectorLayout(2 + NODE_BUCKETS, 2 + NODE_BUCKETS + EDGE_BUCKETS, 2 + NODE_BUCKETS + EDGE_BUCKETS + DEGREES)
_ROWS = 1 << 16
"""Vectors widened for the compiled loop at a time."""
_LARGEST = np.iinfo(np.int16).max
_DEAREST = 1 << 33
"""Units of the dearest edit; forbidden ones count as it. Sums over all nodes and edges of two graphs fit 64 bits."""

Counts = NDArray[np.int16]


def number_labels(vocabulary: Sequence[Hashable]) -> dict[bytes, int]:
    """Places of labels in order of appearance, equal ones (1 and 1.0) at the same; no label comes first."""
    places = {label_key(None): 0}
    for label in vocabulary:
        places.setdefault(label_key(label), len(places))
    return places


def count_graphs(columns: Columns, node_places: Mapping[bytes, int], edge_places: Mapping[bytes, int]) -> Counts:
    """(graphs, length): nodes, edges, labels of nodes, labels of edges, degrees in falling order.

    A label that has no place is counted among the nodes only, since nothing in the index equals it.
    """
    graphs = columns.num_graphs
    vectors = np.zeros((graphs, LAYOUT.length), dtype=np.int64)
    vectors[:, 0], vectors[:, 1] = np.diff(columns.node_ptr), np.diff(columns.edge_ptr)
    node_owner = np.repeat(np.arange(graphs), vectors[:, 0])
    edge_owner = np.repeat(np.arange(graphs), vectors[:, 1])
    for column, flag, owner, places, start, size in (
        (columns.node_labels, Has.NODE_LABELS, node_owner, node_places, 2, NODE_BUCKETS),
        (columns.edge_labels, Has.EDGE_LABELS, edge_owner, edge_places, LAYOUT.edge_start, EDGE_BUCKETS),
    ):
        place = _places(column, (columns.flags[owner] & flag) != 0, places)
        known = place >= 0
        np.add.at(vectors, (owner[known], start + np.minimum(place[known], size - 1)), 1)
    _fill_degrees(columns, node_owner, edge_owner, vectors)
    return np.minimum(vectors, _LARGEST).astype(np.int16)


class CountBounds:
    """Lower bounds of edit distances from vectors, at given costs."""

    def __init__(self, vectors: Counts, costs: EditCosts) -> None:
        self._vectors = vectors
        self._wide = vectors.astype(np.int64) if len(vectors) <= _ROWS else None
        self._cheapest, self._scale = _cheapest(costs)
        self._cut = vectors[:, :2].max(axis=1, initial=0) == _LARGEST  # counts of so large graphs are not whole

    def of(self, query: Counts) -> NDArray[np.float64]:
        """Of the distances from a query to every graph."""
        if query[:2].max() == _LARGEST:
            return np.zeros(len(self._vectors))
        doubled = np.empty(len(self._vectors), dtype=np.int64)
        own = query.astype(np.int64)
        for start in range(0, len(self._vectors), _ROWS):
            rows = self._vectors[start : start + _ROWS].astype(np.int64) if self._wide is None else self._wide
            bound_against_all(own, rows, LAYOUT, self._cheapest, doubled[start : start + _ROWS])
        doubled[self._cut] = 0
        return doubled / (2 * self._scale)


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
    vectors[node_owner[kept], LAYOUT.degree_start + rank[kept]] = degree[order][kept]


def _cheapest(costs: EditCosts) -> tuple[CheapestCosts, float]:
    """The least any edit of each kind can cost, in whole units, rounded down; labels that are ignored cost nothing."""
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
