"""How an index answers: queries of any form become graphs, these are encoded, and every segment is searched."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.options import checked_count
from graphmetric.distance import View
from graphmetric.distance.comparison import NOT_FINITE
from graphmetric.edit_distance import EditCosts
from graphmetric.errors import GraphMetricError, InvalidArgument
from graphmetric.formats.conversion import as_graph, as_graphs
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.index.queries import is_id, is_several, refuse_unknown
from graphmetric.index.segments import Allowed, HeldSegments, Query, encode_queries
from graphmetric.learned.learned_distance import LearnedDistance
from graphmetric.search.certified import CertifiedSearch
from graphmetric.search.hits import SearchHit, SearchReport, SearchResult
from graphmetric.search.learned_search import BY_CANDIDATES, LearnedSearch, find_within

EXACT_UP_TO = 100_000
"""Graphs up to which a learned search is exact unless told otherwise."""
CANDIDATES = 300
"""Graphs that an approximate search looks at."""


@dataclass(frozen=True, slots=True, eq=False)
class IndexSearch:
    """The segments of an index, and the model that encodes queries to it."""

    learned: LearnedDistance
    held: HeldSegments

    def resolve(self, query: Any) -> GraphCollection:
        """The graphs that are asked for, by one query or by several."""
        if isinstance(query, GraphCollection):
            return query
        asked = list(query) if is_several(query) else [query]
        return as_graphs([self._resolve_one(item) for item in asked])

    def find_nearest(
        self, graphs: GraphCollection, k: int, view: View, allowed: Allowed, candidates: int | None
    ) -> list[SearchResult]:
        """By the learned distance, looking at so many candidates; None looks at all graphs it has to."""
        queries = self._encode(graphs, view)
        with self.learned.limited_threads():
            return [
                self._find(graph, query, k, allowed, candidates) for graph, query in zip(graphs, queries, strict=True)
            ]

    def certify_nearest(
        self,
        graphs: GraphCollection,
        k: int,
        view: View,
        allowed: Allowed,
        costs: EditCosts | None,
        time_limit: float | None,
    ) -> list[SearchResult]:
        """By edit distance, with proofs."""
        queries = self._encode(graphs, view)
        answers = CertifiedSearch(self.held, allowed, costs or self.learned.costs, view, time_limit)
        with self.learned.limited_threads():
            return answers.answer(graphs, queries, k)

    def find_within(self, graph: Graph, radius: float, view: View, allowed: Allowed) -> SearchResult:
        """All graphs at most at this learned distance, nearest first."""
        started = time.perf_counter()
        asked = self._encode(as_graphs([graph]), view)[0]
        found: list[tuple[NDArray[np.int64], NDArray[np.float32]]] = []
        removed: dict[str, int] = {}
        with self.learned.limited_threads():
            for group in self.held.groups(allowed):
                positions, distances, stages = find_within(asked, group, radius)
                found.append((positions, distances))
                removed = {name: removed.get(name, 0) + number for name, number in stages.items()}
        positions, distances = (np.concatenate(parts) for parts in zip(*found, strict=True))
        hits = self._hits(positions, distances, allowed, allowed.count)
        report = SearchReport(
            allowed.count, True, removed, time.perf_counter() - started, unsolved=asked.unsolved.pairs
        )
        return SearchResult(graph, hits, view, report)

    def limit_candidates(self, exact: bool | None, candidates: int | None, k: int) -> int | None:
        """How many graphs an approximate search looks at; None for an exact one."""
        if candidates is not None and checked_count(candidates, "candidates") < k:
            raise InvalidArgument(f"candidates must be at least k = {k}; got {candidates}")
        if exact and candidates is not None:
            raise InvalidArgument("an exact search looks at all graphs it has to: leave out candidates")
        if exact or (exact is None and candidates is None and self.held.count <= EXACT_UP_TO):
            return None
        return max(k, CANDIDATES) if candidates is None else candidates

    def _resolve_one(self, query: Any) -> Graph:
        if is_id(query):
            position = self.held.find(query)
            if position is not None:
                return self.held.graph(position)
            ids = (self.held.note(position)[0] for position in self.held.positions().tolist())
            if not isinstance(query, str):
                raise refuse_unknown(query, ids)
            if len(query.split()) != 1:  # "NSC 16" would be the molecule N-S-C with a title
                raise refuse_unknown(query, ids, ", and a SMILES has no blanks")
            try:
                return as_graph(query)
            except GraphMetricError as error:
                raise refuse_unknown(query, ids, f", and it cannot be read as a SMILES either: {error}") from None
        return as_graph(query)

    def _encode(self, graphs: GraphCollection, view: View) -> list[Query]:
        return encode_queries(self.learned, graphs, view) if len(graphs) else []

    def _find(self, graph: Graph, query: Query, k: int, allowed: Allowed, candidates: int | None) -> SearchResult:
        started = time.perf_counter()
        search = LearnedSearch(query, k)
        for group in self.held.groups(allowed):
            search.visit(group, candidates)
        complete = candidates is None or search.removed[BY_CANDIDATES] == 0
        hits = self._hits(search.best.positions, search.best.distances, allowed, k)
        seconds = time.perf_counter() - started
        report = SearchReport(allowed.count, complete, search.removed, seconds, unsolved=query.unsolved.pairs)
        return SearchResult(graph, hits, query.view, report)

    def _hits(
        self, first: NDArray[np.int64], distances: NDArray[np.float32], allowed: Allowed, k: int
    ) -> tuple[SearchHit, ...]:
        """The ``k`` nearest graphs, ties by position, from the first graphs of their classes."""
        if not np.isfinite(distances).all():
            raise InvalidArgument(NOT_FINITE)
        positions, places = allowed.distinct.spread(allowed.distinct.find(first))
        order = np.lexsort((positions, distances[places]))[:k]
        named = map(self.held.named, positions[order].tolist())
        near = distances[places[order]].tolist()
        return tuple(SearchHit(id, distance, load) for (id, load), distance in zip(named, near, strict=True))
