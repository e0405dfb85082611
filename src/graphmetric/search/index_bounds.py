"""Lower bounds of the edit distances from a query to graphs of an index, from the vectors that the index keeps."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance import EditCosts
from graphmetric.graphs.collection import GraphCollection
from graphmetric.search.count_vectors import CountBounds, count_graphs
from graphmetric.search.held_segments import Held, HeldSegments


class IndexBounds:
    """Some graphs of an index against some queries."""

    def __init__(
        self, held: HeldSegments, positions: NDArray[np.int64], queries: GraphCollection, costs: EditCosts
    ) -> None:
        """Graphs at rising positions."""
        ends = np.searchsorted(positions, [one.offset for one in held.segments[1:]])
        chosen = np.split(positions, ends)
        self._segments = [
            _Segment(one, own - one.offset, costs) for one, own in zip(held.segments, chosen, strict=True)
        ]
        columns = queries.columns
        self._counts = [count_graphs(columns, *one.segment.places) for one in held.segments]

    def of(self, row: int) -> NDArray[np.float64]:
        """For the query in this row, one bound for each of the graphs."""
        bounds = [one.of(counts[row]) for one, counts in zip(self._segments, self._counts, strict=True)]
        return np.concatenate(bounds)


class _Segment:
    """Vectors of a segment: of the chosen graphs alone where they are few, else of all, to copy nothing."""

    def __init__(self, held: Held, chosen: NDArray[np.int64], costs: EditCosts) -> None:
        vectors = held.segment.arrays["counts"]
        few = 2 * len(chosen) <= len(vectors)
        self._bounds = CountBounds(vectors[chosen] if few else vectors, costs)
        self._chosen = slice(None) if few or len(chosen) == len(vectors) else chosen

    def of(self, query: NDArray[np.int16]) -> NDArray[np.float64]:
        return self._bounds.of(query)[self._chosen]
