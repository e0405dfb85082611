"""Certified answers for queries to an index: the learned distance proposes, the searches prove."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import clock
from graphmetric.distance import View
from graphmetric.edit_distance import EditCosts
from graphmetric.edit_distance.encoding import encode
from graphmetric.edit_distance.watch import Watch, in_thread
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.plain_options import checked_number
from graphmetric.search._kernels.nearest_graphs import Known
from graphmetric.search.certified import LARGEST_EASY, CertifiedSearch
from graphmetric.search.certified_hits import CertifiedHits
from graphmetric.search.coded_graphs import CodedAtOnce, CodedGraphs, CodedWhenNeeded, Coder, Graphs
from graphmetric.search.edit_view import EditView
from graphmetric.search.held_segments import Allowed, HeldSegments
from graphmetric.search.hits import SearchReport, SearchResult
from graphmetric.search.index_bounds import IndexBounds
from graphmetric.search.learned_search import propose
from graphmetric.search.space import Query

CERTIFIED_SECONDS = 60.0
"""The automatic time limit of each query."""
_PROPOSED = 2
"""Graphs searched first, for each that is wanted: so many by the learned distance, and so many by bounds.

A model that was trained on other graphs proposes bad ones, and bounds alone miss near graphs; together they are better
than either."""
_LOOKED_AT = 3
"""Candidates of the learned search, for each that is proposed."""
_SHARED = 50
"""The whole index is coded once for all queries if it has no more graphs than this for each of them."""

Floats = NDArray[np.float64]


class CertifiedAnswers:
    """What is the same for all queries of one call."""

    def __init__(
        self, held: HeldSegments, allowed: Allowed, costs: EditCosts, view: View, time_limit: float | None
    ) -> None:
        if view == "steinhaus" and not costs.is_unit:
            raise InvalidArgument("the Steinhaus view of edit distances is for unit costs; use view='raw' with others")
        if time_limit is not None:
            time_limit = checked_number(time_limit, "time_limit", "a number of seconds, or None")
        if not isinstance(costs, EditCosts):
            raise InvalidArgument(f"costs must be graphmetric.EditCosts; got {costs!r}")
        self._held, self._allowed, self._costs, self._view, self._time_limit = held, allowed, costs, view, time_limit
        self._watch = Watch()
        self._distinct = allowed.distinct
        self._nodes, self._edges = (
            np.concatenate(
                [np.empty(0, dtype=np.int64), *(getattr(one.segment.graphs, name) for one in held.segments)]
            )[self._distinct.first]
            for name in ("sizes", "edge_counts")
        )

    def answer(self, graphs: GraphCollection, queries: Sequence[Query] | None, k: int) -> list[SearchResult]:
        """A result for each graph that is asked for. Without their encoding, bounds alone say which to search first."""
        if len(self._distinct.positions) == 0:
            return [SearchResult(graph, (), self._view, SearchReport(0, True)) for graph in graphs]
        bounds = IndexBounds(self._held, self._distinct.first, graphs, self._costs)
        proposed = self._propose(queries, int(graphs.sizes.max()), k) if queries else None
        hits = CertifiedHits(self._held, self._distinct, self._costs)
        results = []
        for row, (graph, coder) in enumerate(zip(graphs, self._coders(graphs), strict=True)):
            started = clock()
            view = EditView(self._view, graph.num_nodes, graph.num_edges, self._nodes, self._edges)
            search = self._prepare(bounds.of(row), view, coder, k, started)
            learned = np.empty(0, dtype=np.int64) if proposed is None else proposed[row]
            proposals = _once(np.concatenate([learned, self._first_by_bounds(search, k)]))
            in_thread(partial(_run, search, proposals), self._watch)
            self._watch.restart()
            seconds = clock() - started
            report = SearchReport(self._allowed.count, True, search.removed(), seconds, not search.open.any())
            results.append(SearchResult(graph, hits.make(graph, search, view, seconds), self._view, report))
        return results

    def _prepare(self, lower: Floats, view: EditView, coder: Coder, k: int, started: float) -> CertifiedSearch:
        wanted = min(k, len(self._distinct.positions))
        deadline = np.inf if self._time_limit is None else started + self._time_limit
        return CertifiedSearch(
            Known.begin(lower, view.weight, self._distinct.copies), wanted, view.query_nodes, coder, deadline
        )

    def _coders(self, graphs: GraphCollection) -> Iterator[Coder]:
        first = self._distinct.first
        if len(first) <= _SHARED * len(graphs):
            coded = CodedGraphs(encode(graphs, self._held.collection(first), self._costs), None, self._watch)
            return (CodedAtOnce(coded, row) for row in range(len(graphs)))
        rows = range(len(graphs))
        return (CodedWhenNeeded(graphs[row : row + 1], self._collect, self._costs, self._watch) for row in rows)

    def _collect(self, graphs: Graphs) -> GraphCollection:
        return self._held.collection(self._distinct.first[graphs])

    def _propose(self, queries: Sequence[Query], largest: int, k: int) -> list[Graphs]:
        """For each query the graphs to search first, nearest first by the learned distance.

        Of small graphs their vectors decide: the learned distance itself takes longer than the search that it saves.
        """
        wanted = min(_PROPOSED * k, len(self._distinct.positions))
        groups = self._held.groups(self._allowed)
        found = propose(queries, groups, wanted, wanted if largest <= LARGEST_EASY else _LOOKED_AT * wanted)
        return [self._distinct.find(positions) for positions in found]

    def _first_by_bounds(self, search: CertifiedSearch, k: int) -> Graphs:
        return np.argsort(search.rates(), kind="stable")[: _PROPOSED * k]


def _run(search: CertifiedSearch, proposed: Graphs, _: Watch) -> None:
    search.run(proposed)


def _once(graphs: Graphs) -> Graphs:
    """Each graph where it first occurs."""
    return graphs[np.sort(np.unique(graphs, return_index=True)[1])]
