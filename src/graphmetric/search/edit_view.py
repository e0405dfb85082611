"""Edit distances from one query on the scale that was asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphmetric.distance import View
from graphmetric.edit_distance import normalized_distance, steinhaus_distance

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class EditView:
    """Sizes of a query and of all graphs; arrays run over the graphs."""

    view: View
    query_nodes: int
    query_edges: int
    nodes: Integers
    edges: Integers

    @property
    def weight(self) -> Floats:
        """Distances in the view rise with raw distance / weight: so graphs are ordered by that, without rounding.

        The paper's view is :math:`1 - exp(-2 d / weight)`, the Steinhaus view :math:`2 d / (weight + d)`.
        """
        if self.view == "raw":
            return np.ones(len(self.nodes))
        sums = self.query_nodes + self.nodes
        if self.view == "steinhaus":
            sums = sums + self.query_edges + self.edges
        return np.maximum(sums, 1).astype(np.float64)  # of two empty graphs, whose distance is 0

    def of(self, raw: Floats, graphs: Integers) -> Floats:
        """Raw distances to these graphs in the view."""
        if self.view == "raw":
            return raw
        if self.view == "paper":
            return np.asarray(normalized_distance(raw, self.query_nodes, self.nodes[graphs]))
        weights = self.nodes[graphs] + self.edges[graphs]
        return np.asarray(steinhaus_distance(raw, self.query_nodes + self.query_edges, weights))
