"""From what a certified search knows to ranked hits, each with its proof."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance import EditCosts, EditDistance
from graphmetric.graphs.graph import Graph
from graphmetric.search.certified import SAME, CertifiedSearch
from graphmetric.search.distinct_graphs import DistinctGraphs, Positions, match_nodes
from graphmetric.search.edit_view import EditView
from graphmetric.search.held_segments import HeldSegments
from graphmetric.search.hits import SearchHit


class CertifiedHits:
    """Makes the hits of several queries; ids of graphs that many of them find are read once."""

    def __init__(self, held: HeldSegments, distinct: DistinctGraphs, costs: EditCosts) -> None:
        self._distinct, self._costs, self._load = distinct, costs, held.loader
        self._named = cache(held.named)

    def make(self, query: Graph, search: CertifiedSearch, view: EditView, seconds: float) -> tuple[SearchHit, ...]:
        """The nearest graphs, isomorphic ones each on its own."""
        positions, places = self._ranked(search)
        found, maps = search.found
        graphs = found[places]
        raw = search.known.lower[graphs], search.known.upper[graphs]
        shown = (view.of(bound, graphs).tolist() for bound in raw)
        proven = _prove(search, graphs).tolist()
        hits = []
        for position, place, low, high, lower, upper, sure in zip(
            positions.tolist(), places.tolist(), *(bound.tolist() for bound in raw), *shown, proven, strict=True
        ):
            id, load = self._named(position)
            first = int(self._distinct.first[found[place]])
            original = None if first == position else self._load(first)
            edits = partial(_explain, query, maps[place], original, (low, high), self._costs, seconds)
            exact = upper if low == high else None
            hits.append(SearchHit(id, upper, load, exact, lower, upper, sure, edits))
        return tuple(hits)

    def _ranked(self, search: CertifiedSearch) -> tuple[Positions, NDArray[np.int64]]:
        """Positions of the hits, ties by position, and the places of their graphs among those found."""
        found, _ = search.found
        positions, places = self._distinct.spread(found)
        distance = (search.known.upper / search.known.weight)[found[places]]
        order = np.lexsort((positions, distance))[: search.wanted]
        return positions[order], places[order]


def _prove(search: CertifiedSearch, graphs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For each rank whether no graph behind it or outside can be nearer."""
    known = search.known
    lower = search.rates()
    upper = (known.upper / known.weight)[graphs]
    exact = known.lower[graphs] == known.upper[graphs]
    later = np.minimum.accumulate(lower[graphs][::-1])[::-1]
    used = np.bincount(graphs, minlength=len(lower))
    floor = lower[used < known.copies].min(initial=np.inf)
    behind = np.minimum(np.append(later[1:], np.inf), floor)
    proven: NDArray[np.bool_] = np.logical_and.accumulate(exact) & (upper <= behind + SAME)
    return proven


def _explain(
    query: Graph,
    node_map: NDArray[np.int64],
    original: Callable[[], Graph] | None,
    bounds: tuple[float, float],
    costs: EditCosts,
    seconds: float,
    found: Graph,
) -> EditDistance:
    """Bounds and edits; the map is to the original, of which the graph that was found may be a copy."""
    if original is not None:
        node_map = np.where(node_map < 0, -1, match_nodes(original(), found)[node_map])
    return EditDistance(
        first=query,
        second=found,
        costs=costs,
        method="exact",
        lower=bounds[0],
        upper=bounds[1],
        value=bounds[1],
        node_map=tuple(None if v < 0 else v for v in node_map.tolist()),
        nodes_expanded=0,
        seconds=seconds,
    )
