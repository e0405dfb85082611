"""Certified search of an index by edit distance: the nearest graphs or all within a radius, with proofs.

:class:`graphmetric.edit_distance.nearest.NearestSearch` searches. This module supplies the data of an index: lower
bounds from stored histograms and branches, first candidates, and isomorphism classes, each of which is searched
once. Several queries are searched in several threads.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.limits import clock, effective_n_jobs
from graphmetric._foundation.progress import progress, verbose_progress
from graphmetric.edit_distance import (
    EditCosts,
    EditDistance,
    NearestSearch,
    StoredBounds,
    normalized_distance,
    steinhaus_distance,
)
from graphmetric.edit_distance.collection_bounds import count_graphs, digest_branches
from graphmetric.edit_distance.edit_path import Edge
from graphmetric.edit_distance.limited import LimitedAnswer, LimitedSearch
from graphmetric.edit_distance.nearest import EncodedCandidates, beyond
from graphmetric.edit_distance.normalize import View
from graphmetric.edit_distance.stopping import Watch, work_in_threads
from graphmetric.errors import SearchInterrupted, WorkBudgetExceeded
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.index.graphs import IndexedGraphs, Selection
from graphmetric.search.hits import SearchHit, SearchProgress, SearchReport, SearchResult
from graphmetric.search.options import RangeOptions

Numbers = NDArray[np.int64]
"""Numbers of isomorphism classes among those that may be answers."""
Floats = NDArray[np.float64]

_PROMISING = 20
"""Graphs searched first for each that is wanted: those of least bounds. The maps of branch bounds, which take
microseconds, show which of them are near."""
_NONE = np.empty(0, dtype=np.int64)
_SHARED, _SHARED_NODES = 50, 1 << 14
"""The whole index is encoded once for all queries if it has at most this many graphs and nodes for each of them; this
takes some 50 ms for each, which no time limit counts."""


@dataclass(frozen=True, slots=True, eq=False)
class EditView:
    """Edit distances from one query in the requested view; arrays have an entry for each class of graphs."""

    view: View
    query: Graph
    nodes: Numbers
    edges: Numbers

    @property
    def weight(self) -> Floats:
        """Distances in the view rise with raw distance / weight, so graphs are ordered by that, without rounding.

        The paper's view is :math:`1 - exp(-2 d / weight)`, the Steinhaus view :math:`2 d / (weight + d)`.
        """
        if self.view == "raw":
            return np.ones(len(self.nodes))
        sums = self.query.num_nodes + self.nodes
        if self.view == "steinhaus":
            sums = sums + self.query.num_edges + self.edges
        return np.maximum(sums, 1).astype(np.float64)  # two empty graphs are at distance 0

    def rate(self, shown: float) -> float:
        """Raw distance / weight at a distance in the view; infinite for what no distance exceeds."""
        if self.view == "raw":
            return shown
        if shown >= 1:
            return np.inf
        return shown / (2 - shown) if self.view == "steinhaus" else float(-np.log1p(-shown) / 2)

    def show(self, raw: Floats, classes: Numbers) -> list[float]:
        """Raw distances to graphs of these classes in the view."""
        if self.view == "paper":
            raw = np.asarray(normalized_distance(raw, self.query.num_nodes, self.nodes[classes]))
        elif self.view == "steinhaus":
            weights = self.nodes[classes] + self.edges[classes]
            raw = np.asarray(steinhaus_distance(raw, self.query.num_nodes + self.query.num_edges, weights))
        shown: list[float] = raw.tolist()
        return shown


class CertifiedSearch:
    """Certified answers to the queries of one call."""

    def __init__(
        self,
        graphs: IndexedGraphs,
        selection: Selection,
        queries: GraphCollection,
        options: RangeOptions,
    ) -> None:
        """``options`` have edit costs."""
        assert options.costs is not None
        self.graphs, self.selection, self.queries, self.options = graphs, selection, queries, options
        self.costs = options.costs
        self.nodes, self.edges = (graphs.per_graph(name)[selection.first] for name in ("sizes", "edge_counts"))
        self.bounds = ClassBounds(graphs, selection, queries, self.costs)
        self.interrupted = dict[int, SearchResult]()
        self.running = dict[int, QuerySearch]()
        self.shared: EncodedCandidates | None = None  # all graphs, coded once for all queries, if they are few

    def nearest(self, k: int) -> list[SearchResult]:
        """The ``k`` nearest graphs for each query."""
        wanted = min(k, len(self.selection))

        def answer(row: int, watch: Watch) -> SearchResult:
            one = QuerySearch(self, row, watch, wanted)
            return one.run(one.search.find_promising(_PROMISING * wanted))

        return self._answer(answer)

    def within(self, radius: float) -> list[SearchResult]:
        """All graphs at most at this distance, for each query."""
        return self._answer(lambda row, watch: QuerySearch(self, row, watch, None, radius).run())

    def load(self, classes: Numbers, numbers: Numbers) -> GraphCollection:
        """The first graphs of those of some classes that have these rising places."""
        return self.graphs.collection(self.selection.first[classes[numbers]])

    def encode(self, row: int, classes: Numbers, numbers: Numbers) -> EncodedCandidates:
        """A query with candidates, or all queries with all graphs if they are few."""
        if self.shared is not None:
            return self.shared
        candidates = self.load(classes, numbers)
        return EncodedCandidates.of(self.queries[row : row + 1], candidates, self.costs, numbers)

    def solve(
        self, row: int, classes: Numbers, number: int, most: float | None, seconds: float, watch: Watch
    ) -> LimitedAnswer:
        """Search one candidate within the limits."""
        assert self.options.limits is not None
        (found,) = self.load(classes, np.array([number]))
        limited = LimitedSearch(self.options.limits, None if np.isinf(seconds) else seconds, most)
        return limited.solve_watched(self.queries[row], found, self.costs, watch)

    def _answer(self, answer: Callable[[int, Watch], SearchResult]) -> list[SearchResult]:
        """The answers to all queries, which threads take one after another.

        Raises SearchInterrupted after Ctrl-C, with a list of the results so far, those of unfinished searches included.
        """
        if len(self.selection) == 0:
            return [SearchResult(graph, (), self.options.view, SearchReport(0, True)) for graph in self.queries]
        count = len(self.queries)
        if len(self.nodes) <= _SHARED * count and self.nodes.sum() <= _SHARED_NODES * count:
            collection = self.graphs.collection(self.selection.first)
            self.shared = EncodedCandidates.of(self.queries, collection, self.costs)
        waiting = deque(range(count))
        results = dict[int, SearchResult]()

        def work(watch: Watch) -> None:
            while True:
                try:
                    row = waiting.popleft()
                except IndexError:
                    return
                results[row] = answer(row, watch)

        jobs = min(effective_n_jobs(self.options.n_jobs), count)
        total = None if count == 1 else count
        is_watched = self.options.callback is not None  # a caller who watches the search shows its progress
        try:
            with verbose_progress(False if is_watched else None), progress("certified search", total, "queries") as bar:

                def look(_: Sequence[Watch]) -> None:
                    bar.advance(len(results) - bar.done, self._describe_running)

                work_in_threads(work, [Watch() for _ in range(jobs)], look)
        except KeyboardInterrupt:
            known = sorted((results | self.interrupted).items())
            raise SearchInterrupted([result for _, result in known]) from None
        return [results[row] for row in range(count)]

    def _describe_running(self) -> str:
        """Describe how far the search for a single query is; another thread may be at work on it."""
        if len(self.queries) > 1 or not (running := list(self.running.values())):
            return ""
        undecided, nearest = running[0].undecided()
        text = f"{undecided:,} of {len(self.selection):,} graphs are undecided"
        return f"{text}, none of them nearer than {nearest:.4g}" if nearest else text


class QuerySearch:
    """The search for one query among some classes of graphs; their places there are their numbers in the search."""

    def __init__(self, asked: CertifiedSearch, row: int, watch: Watch, wanted: int | None, radius: float | None = None):
        """``row`` is the position of the query among those of the call; ``radius`` is in the view."""
        self._asked, self._row, self._started, options = asked, row, clock(), asked.options
        bounds, lower, classes = asked.bounds, asked.bounds.by_counts(row), np.arange(len(asked.nodes))
        self._view = EditView(options.view, asked.queries[row], asked.nodes, asked.edges)
        rate = np.inf if radius is None else self._view.rate(radius)
        if radius is not None and asked.shared is None:
            classes = np.flatnonzero(lower <= beyond(rate) * self._view.weight)
            lower = lower[classes]
            self._view = replace(self._view, nodes=asked.nodes[classes], edges=asked.edges[classes])
        self._classes = classes  # what the search is given does not lead back to here, so that it is freed at once
        self.search = NearestSearch(
            lower=lower,
            weight=self._view.weight,
            copies=asked.selection.copies[classes],
            sizes=self._view.nodes,
            wanted=wanted,
            query_nodes=self._view.query.num_nodes,
            encode=partial(asked.encode, row, classes),
            radius=rate,
            tighten=(lambda numbers: bounds.by_branches(row, classes[numbers])) if bounds.knows_branches else None,
            row=0 if asked.shared is None else row,
            deadline=self._started + options.seconds,
            watch=watch,
            solve_limited=None if options.limits is None else partial(asked.solve, row, classes),
        )
        if options.callback is not None:
            self.search.report = partial(self._report, options.callback)

    def run(self, first: Numbers = _NONE) -> SearchResult:
        """Search, some graphs first, and make the result, also when all work must end."""
        self._asked.running[self._row] = self
        try:
            self.search.run(first)
        except KeyboardInterrupt:
            self._asked.interrupted[self._row] = self._result()
            raise
        finally:
            del self._asked.running[self._row]
        return self._result()

    def _report(self, callback: Callable[[SearchProgress], object]) -> bool:
        """Tell whoever watches how far the search is; returns whether it is to end."""
        found, (open_graphs, least), seconds = self.search.count_found(), self.undecided(), clock() - self._started
        excluded = len(self._asked.selection) - found - open_graphs
        return bool(callback(SearchProgress(self._row, found, excluded, open_graphs, least, seconds, self._result)))

    def undecided(self) -> tuple[int, float | None]:
        """The number of graphs that are undecided, and the least of their lower bounds in the view."""
        numbers = np.flatnonzero(self.search.open)
        shown = self._view.show(self.search.bounds.lower[numbers], numbers)
        return int(self.search.copies[numbers].sum()), min(shown, default=None)

    def _result(self) -> SearchResult:
        search, graphs, seconds = self.search, len(self._asked.selection), clock() - self._started
        (open_graphs, least), stages = self.undecided(), search.removed()
        stages[next(iter(stages))] += graphs - int(search.copies.sum())
        hits = self._hits(seconds)
        complete = open_graphs == 0 and all(hit.proven for hit in hits)
        report = SearchReport(graphs, True, stages, seconds, complete, open_graphs, least)
        return SearchResult(self._view.query, hits, self._view.view, report)

    def _hits(self, seconds: float) -> tuple[SearchHit, ...]:
        """The nearest graphs, ties by position, isomorphic ones each on its own."""
        search, view, selection, graphs = self.search, self._view, self._asked.selection, self._asked.graphs
        found, maps = search.found
        positions, places = selection.spread(self._classes[found])
        order = np.lexsort((positions, search.upper_rates[found[places]]))[: search.wanted]
        positions, places = positions[order], places[order]
        numbers = found[places]
        bounds = [bound[numbers] for bound in (search.bounds.lower, search.bounds.upper)]
        raw = zip(*(bound.tolist() for bound in bounds), strict=True)
        shown = zip(*(view.show(bound, numbers) for bound in bounds), strict=True)
        listed, proven, hits = graphs.hits(positions.tolist()), search.proven(numbers).tolist(), []
        for k, ((id, load), (low, high), (lower, upper)) in enumerate(zip(listed, raw, shown, strict=True)):
            first = int(selection.first[self._classes[numbers[k]]])
            original = None if first == positions[k] else graphs.loader(first)
            node_map, replaced = maps[places[k]].copy(), search.replaced.get(int(numbers[k]))
            about = self._asked.costs, self._asked.options.limits
            found_map = FoundMap(view.query, node_map, original, (low, high), *about, replaced, seconds)
            exact = upper if low == high else None
            hits.append(SearchHit(id, upper, load, exact, lower, upper, proven[k], found_map.explain))
        return tuple(hits)


class ClassBounds:
    """Lower bounds of the distances from queries to classes of graphs, from what an index stores of them."""

    def __init__(self, graphs: IndexedGraphs, selection: Selection, queries: GraphCollection, costs: EditCosts) -> None:
        self._graphs, self._first = graphs, selection.first
        self._parts = list[tuple[StoredBounds, NDArray[np.int16], Numbers | slice]]()
        for one, chosen in graphs.split(selection.first):
            segment = one.segment
            bounds = StoredBounds(segment.histograms, segment.branches, segment.arrays["node_ptr"], costs)
            counts = count_graphs(queries.columns, *segment.label_numbers)
            self._parts.append((bounds, counts, slice(None) if len(chosen) == len(segment) else chosen))
        self._branches, self._node_ptr = digest_branches(queries.columns), queries.columns.node_ptr
        self.knows_branches = all(bounds.knows_branches for bounds, _, _ in self._parts)

    def by_counts(self, row: int) -> Floats:
        """Bounds from histograms, for the query in this row and every class."""
        return np.concatenate([bounds.by_counts(counts[row])[chosen] for bounds, counts, chosen in self._parts])

    def by_branches(self, row: int, classes: Numbers) -> Floats:
        """Bounds from common branches, for the query in this row and chosen classes."""
        query = self._branches[self._node_ptr[row] : self._node_ptr[row + 1]]
        order = np.argsort(classes)
        split = self._graphs.split(self._first[classes[order]])
        found = np.empty(len(classes))
        found[order] = np.concatenate(
            [bounds.by_branches(query, own) for (bounds, _, _), (_, own) in zip(self._parts, split, strict=True)]
        )
        return found


def match_nodes(graph: Graph, copy: Graph) -> NDArray[np.int64]:
    """For each node of a graph its counterpart in a graph of the same certificate."""
    counterpart = np.arange(graph.num_nodes)
    with suppress(WorkBudgetExceeded):  # certificates of so regular graphs tell numberings apart: these are the same
        counterpart[graph.canonical_order()] = copy.canonical_order()
    return counterpart


class FoundMap(NamedTuple):
    """A node map from a query to a graph, and bounds of their edit distance."""

    query: Graph
    node_map: NDArray[np.int64]
    original: Callable[[], Graph] | None
    """Makes the graph that the map leads to, where a copy of that was found."""
    bounds: tuple[float, float]
    costs: EditCosts
    limits: Mapping[str, int] | None
    replaced: frozenset[Edge] | None
    seconds: float

    def explain(self, found: Graph) -> EditDistance:
        """Bounds and edits to the graph that was found."""
        node_map, (lower, upper) = self.node_map.copy(), self.bounds
        if self.original is not None:
            kept = node_map >= 0
            node_map[kept] = match_nodes(self.original(), found)[node_map[kept]]
        images = tuple(None if v < 0 else v for v in node_map.tolist())
        known = EditDistance(
            self.query, found, self.costs, "exact", lower, upper, upper, images, nodes_expanded=0, seconds=self.seconds
        )
        return replace(known, limits=self.limits, replaced=self.replaced)
