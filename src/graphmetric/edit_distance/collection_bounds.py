"""Lower bounds of one graph against a whole collection, from label counts and degrees that are computed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance._kernels.vector_bounds import (
    CheapestCosts,
    VectorLayout,
    bound_against_all,
    find_cheapest,
    lay_out_vectors,
    vectorize_graphs,
)
from graphmetric.edit_distance.costs import EditCosts
from graphmetric.edit_distance.encoding import encode
from graphmetric.edit_distance.scaling import round_down
from graphmetric.graphs.collection import GraphCollection

_LONGEST_DEGREES = 64
"""Degrees kept per graph; of larger graphs the largest ones."""
NODE_BUCKETS, EDGE_BUCKETS, DEGREES = 32, 8, 32
"""Counts in a stored vector. The last bucket takes all later labels; of larger graphs the largest degrees are kept."""
COUNT_LAYOUT = lay_out_vectors(NODE_BUCKETS, EDGE_BUCKETS, DEGREES)
"""Where a stored vector has its counts of node labels, of edge labels, and its degrees."""
LARGEST_COUNT = np.iinfo(np.int16).max
"""Larger counts are stored as this number, and nothing is proven from them."""
_ROWS = 1 << 16
"""Stored vectors that are widened for the compiled loop at a time."""
_DEAREST = 1 << 33
"""Units of the dearest edit, and of a forbidden one: sums over all nodes and edges of two graphs fit 64 bits."""

Counts = NDArray[np.int16]


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
