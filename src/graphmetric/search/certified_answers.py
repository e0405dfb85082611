"""Certified answers for queries to an index: the learned distance proposes, the searches prove."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from graphmetric.distance import View
from graphmetric.edit_distance import EditCosts, EditDistance
from graphmetric.edit_distance.encoding import EncodedProblem, encode
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.search.certified import CertifiedSearch, EncodedPairs, Encoder, Positions
from graphmetric.search.count_vectors import Counts, bound_all, count_graphs
from graphmetric.search.edit_view import EditView
from graphmetric.search.held_segments import Allowed, HeldSegments
from graphmetric.search.hits import SearchHit, SearchReport, SearchResult
from graphmetric.search.learned_search import propose
from graphmetric.search.space import Query

_PROPOSED = 2
"""Graphs searched first, for each that is wanted."""
_LOOKED_AT = 3
"""Candidates of the learned search, for each that is proposed."""
_SHARED = 50
"""The whole index is coded once for all queries if it has no more graphs than this for each of them."""


class CertifiedAnswers:
    """What is the same for all queries of one call."""

    def __init__(
        self, held: HeldSegments, allowed: Allowed, costs: EditCosts, view: View, time_limit: float | None
    ) -> None:
        if view == "steinhaus" and not costs.is_unit:
            raise InvalidArgument("the Steinhaus view of edit distances is for unit costs; use view='raw' with others")
        if time_limit is not None and not time_limit >= 0:
            raise InvalidArgument(f"time_limit must be a number of seconds, or None; got {time_limit!r}")
        self._held, self._allowed, self._costs, self._view, self._time_limit = held, allowed, costs, view, time_limit
        whole = allowed.whole
        self._positions = np.arange(held.size) if whole is None else np.flatnonzero(whole)
        self._nodes, self._edges = (
            np.concatenate([np.empty(0, dtype=np.int64), *(getattr(one.segment.graphs, name) for one in held.segments)])
            for name in ("sizes", "edge_counts")
        )

    def answer(self, graphs: GraphCollection, queries: Sequence[Query] | None, k: int) -> list[SearchResult]:
        """A result for each graph that is asked for. Without their encoding, those with small bounds come first."""
        count = len(self._positions)
        if count == 0:
            return [SearchResult(graph, (), self._view, SearchReport(0, True)) for graph in graphs]
        shared = self._code_once(graphs) if count <= _SHARED * len(graphs) else None
        counts = [count_graphs(graphs.columns, *one.segment.places) for one in self._held.segments]
        proposed = self._propose(queries, k) if queries else None
        results = []
        for row, graph in enumerate(graphs):
            started = time.monotonic()
            search = CertifiedSearch(
                k,
                EditView(self._view, graph, self._nodes[self._positions], self._edges[self._positions]),
                self._bound_by_counts([one[row] for one in counts]),
                self._coder(graphs, row, shared),
                np.inf if self._time_limit is None else started + self._time_limit,
            )
            search.run(self._first_by_bounds(search.lower, k) if proposed is None else proposed[row])
            seconds = time.monotonic() - started
            report = SearchReport(count, True, search.removed, seconds, search.complete)
            results.append(SearchResult(graph, self._hits(graph, search, seconds), self._view, report))
        return results

    def _code_once(self, graphs: GraphCollection) -> EncodedProblem:
        return encode(graphs, self._held.collection(self._positions), self._costs)

    def _coder(self, graphs: GraphCollection, row: int, shared: EncodedProblem | None) -> Encoder:
        def code(chosen: Positions) -> EncodedPairs:
            if shared is not None:
                return EncodedPairs(shared, row, np.arange(len(self._positions)))
            problem = encode(graphs[row : row + 1], self._held.collection(self._positions[chosen]), self._costs)
            return EncodedPairs(problem, 0, chosen)

        return code

    def _bound_by_counts(self, counts: list[Counts]) -> NDArray[np.float64]:
        """Lower bounds from the query's label counts and degrees by segment, of the graphs that are allowed."""
        segments = [one.segment for one in self._held.segments]
        bounds = [
            bound_all(own, segment.arrays["counts"], self._costs) for own, segment in zip(counts, segments, strict=True)
        ]
        return np.concatenate(bounds)[self._positions]

    def _propose(self, queries: Sequence[Query], k: int) -> list[Positions]:
        """For each query the graphs to search first, nearest first by the learned distance."""
        wanted = min(_PROPOSED * k, len(self._positions))
        held, masks = self._held.segments, self._allowed.masks
        spaces = [(one.space, one.offset, mask) for one, mask in zip(held, masks, strict=True)]
        found = propose(queries, spaces, wanted, _LOOKED_AT * wanted)
        return [np.searchsorted(self._positions, positions) for positions in found]

    def _first_by_bounds(self, lower: NDArray[np.float64], k: int) -> Positions:
        return np.argsort(lower, kind="stable")[: _PROPOSED * k]

    def _hits(self, graph: Graph, search: CertifiedSearch, seconds: float) -> tuple[SearchHit, ...]:
        chosen, proven = search.ranking()
        lower, upper = (search.view.of(bound[chosen], chosen) for bound in (search.lower, search.upper))
        hits = []
        for k, low, high, sure in zip(chosen.tolist(), lower.tolist(), upper.tolist(), proven.tolist(), strict=True):
            id, load = self._held.named(int(self._positions[k]))
            exact = high if search.lower[k] == search.upper[k] else None
            bounds = float(search.lower[k]), float(search.upper[k])
            edits = partial(self._edits, graph, search.maps[k], bounds, seconds)
            hits.append(SearchHit(id, high, load, exact, low, high, sure, edits))
        return tuple(hits)

    def _edits(
        self, query: Graph, node_map: NDArray[np.int64], bounds: tuple[float, float], seconds: float, found: Graph
    ) -> EditDistance:
        return EditDistance(
            first=query,
            second=found,
            costs=self._costs,
            method="exact",
            lower=bounds[0],
            upper=bounds[1],
            value=bounds[1],
            node_map=tuple(None if v < 0 else v for v in node_map[: query.num_nodes].tolist()),
            nodes_expanded=0,
            seconds=seconds,
        )
