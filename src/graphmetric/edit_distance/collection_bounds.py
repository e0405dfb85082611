"""Lower bounds of one graph against a whole collection, from vectors that are computed once."""

from __future__ import annotations

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
from graphmetric.graphs.collection import GraphCollection

_LONGEST_DEGREES = 64
"""Degrees kept per graph; of larger graphs the largest ones."""


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
