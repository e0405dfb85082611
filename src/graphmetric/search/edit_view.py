"""Edit distances from one query on the scale that was asked for, and limits on that scale as raw distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.distance import View
from graphmetric.edit_distance import normalized_distance, raw_distance, steinhaus_distance
from graphmetric.graphs.graph import Graph

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class EditView:
    """All views rise with the raw distance, so bounds of the one are bounds of the other."""

    view: View
    query: Graph
    nodes: NDArray[np.int64]
    """Of every graph."""
    edges: NDArray[np.int64]

    def of(self, raw: Floats, positions: NDArray[np.int64]) -> Floats:
        """Raw distances to graphs at these positions in the view; infinite ones stay so."""
        if self.view == "raw" or len(positions) == 0:
            return raw
        finite = np.where(np.isfinite(raw), raw, 0.0)
        return np.where(np.isfinite(raw), self._scaled(finite, positions), np.inf)

    def raw_limit(self, limit: float, positions: NDArray[np.int64]) -> Floats:
        """Raw distances that ``limit`` stands for, one for each graph."""
        if self.view == "raw" or limit == np.inf:
            return np.full(len(positions), limit)
        if self.view == "paper" and limit >= 1:  # what rounding made of a distance far above the sizes
            return np.full(len(positions), np.inf)
        if self.view == "paper":
            values: Any = raw_distance(np.full(len(positions), limit), self.query.num_nodes, self.nodes[positions])
            return np.asarray(values)
        weights = self.query.num_nodes + self.query.num_edges + self.nodes[positions] + self.edges[positions]
        return np.asarray(limit * weights / (2 - limit), dtype=np.float64)

    def _scaled(self, raw: Floats, positions: NDArray[np.int64]) -> Floats:
        if self.view == "paper":
            return np.asarray(normalized_distance(raw, self.query.num_nodes, self.nodes[positions]))
        weights = self.nodes[positions] + self.edges[positions]
        return np.asarray(steinhaus_distance(raw, self.query.num_nodes + self.query.num_edges, weights))
