"""Graphs of an index with isomorphic ones taken together: what is true of the first is true of its copies."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import WorkBudgetExceeded
from graphmetric.graphs.graph import Graph

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class DistinctGraphs:
    """The first graph of each class among those that are allowed as answers."""

    positions: Positions
    """Of all graphs that are allowed, rising."""
    numbers: NDArray[np.int64]
    """For each of them the number of its class, which is its place in ``first``."""
    first: Positions
    """Rising positions of the first graphs."""
    copies: NDArray[np.int64]
    """How many graphs are in each class, the first one included."""

    @classmethod
    def among(cls, positions: Positions, classes: NDArray[np.int64]) -> DistinctGraphs:
        """Graphs at rising positions, with their numbers from :func:`number_classes`."""
        found, first, numbers, copies = np.unique(classes, return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(first)
        place = np.empty(len(found), dtype=np.int64)
        place[order] = np.arange(len(found))
        return cls(positions, place[numbers], positions[first[order]], copies[order])

    def spread(self, classes: NDArray[np.int64]) -> tuple[Positions, NDArray[np.int64]]:
        """Positions of all graphs of some classes, and for each of them the place of its class among these."""
        if (self.copies[classes] == 1).all():
            return self.first[classes], np.arange(len(classes))
        place = np.full(len(self.first), -1, dtype=np.int64)
        place[classes] = np.arange(len(classes))
        own = place[self.numbers]
        return self.positions[own >= 0], own[own >= 0]

    def find(self, positions: Positions) -> NDArray[np.int64]:
        """The classes of graphs that are allowed."""
        numbers: NDArray[np.int64] = self.numbers[np.searchsorted(self.positions, positions)]
        return numbers


def number_classes(certificates: NDArray[np.uint8]) -> NDArray[np.int64]:
    """For each graph the number of its certificate, (graphs, 16) bytes."""
    high, low = np.ascontiguousarray(certificates).view("<u8").reshape(-1, 2).T
    order = np.lexsort((low, high))
    high, low = high[order], low[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(is_new)
    return numbers


def match_nodes(graph: Graph, copy: Graph) -> NDArray[np.int64]:
    """For each node of a graph its counterpart in a graph of the same certificate."""
    counterpart = np.arange(graph.num_nodes)
    with suppress(WorkBudgetExceeded):  # certificates of so regular graphs tell numberings apart: these are the same
        counterpart[graph.canonical_order()] = copy.canonical_order()
    return counterpart
