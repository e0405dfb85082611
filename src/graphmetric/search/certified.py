"""The nearest graphs of an index by edit distance: the learned distance proposes, bounds and searches prove.

:class:`graphmetric.edit_distance.nearest.NearestSearch` searches. This module gives it what an index knows: lower
bounds from stored label counts, graphs to begin with, and the isomorphism classes by which each graph is searched once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.limits import clock
from graphmetric._foundation.options import checked_number
from graphmetric.edit_distance import (
    CountBounds,
    EditCosts,
    EditDistance,
    NearestSearch,
    normalized_distance,
    steinhaus_distance,
)
from graphmetric.edit_distance.collection_bounds import count_graphs
from graphmetric.edit_distance.methods import LARGEST_EASY
from graphmetric.edit_distance.nearest import EncodedCandidates
from graphmetric.edit_distance.normalize import View
from graphmetric.edit_distance.stopping import Watch
from graphmetric.errors import InvalidArgument, WorkBudgetExceeded
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.index.indexed_graphs import IndexedGraphs, Selection
from graphmetric.search.hits import SearchHit, SearchReport, SearchResult

Numbers = NDArray[np.int64]
"""Numbers of isomorphism classes among those that may be answers."""
Floats = NDArray[np.float64]
Propose = Callable[[int, int], Sequence[Numbers]]
"""A search by a model: for each query the positions of this many near graphs, found among that many candidates."""

CERTIFIED_SECONDS = 60.0
"""The automatic time limit of each query."""
_PROPOSED = 2
"""Graphs searched first for each that is wanted: this many by the learned distance, and as many again by bounds.

A model that was trained on other graphs proposes bad ones, and bounds alone miss near graphs; together they are better
than either."""
_LOOKED_AT = 3
"""Candidates of the learned search for each proposed graph."""
_SHARED = 50
"""The whole index is encoded once for all queries if it has at most this many graphs for each of them."""


@dataclass(frozen=True, slots=True, eq=False)
class EditView:
    """Edit distances from one query on the scale that was asked for; arrays have an entry for each class of graphs."""

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
        self, graphs: IndexedGraphs, selection: Selection, costs: EditCosts, view: View, time_limit: float | None
    ) -> None:
        if view == "steinhaus" and not costs.is_unit:
            raise InvalidArgument("the Steinhaus view of edit distances is for unit costs; use view='raw' with others")
        if time_limit is not None:
            time_limit = checked_number(time_limit, "time_limit", "a number of seconds, or None")
        if not isinstance(costs, EditCosts):
            raise InvalidArgument(f"costs must be graphmetric.EditCosts; got {costs!r}")
        self._graphs, self._selection, self._costs, self._view = graphs, selection, costs, view
        self._time_limit = np.inf if time_limit is None else time_limit
        self._watch = Watch()
        self._note = cache(graphs.note)  # many queries find the same graphs
        self._nodes, self._edges = (graphs.per_graph(name)[selection.first] for name in ("sizes", "edge_counts"))

    def answer(self, graphs: GraphCollection, k: int, propose: Propose | None) -> list[SearchResult]:
        """One result for each query. Without a model, bounds alone propose graphs."""
        selection = self._selection
        if len(selection) == 0:
            return [SearchResult(graph, (), self._view, SearchReport(0, True)) for graph in graphs]
        bounds = bounds_from_counts(self._graphs, selection, graphs, self._costs)
        proposed = self._propose(propose, int(graphs.sizes.max()), k) if propose else None
        shared = None
        if len(selection.first) <= _SHARED * len(graphs):
            shared = EncodedCandidates.of(graphs, self._graphs.collection(selection.first), self._costs)

        def encode(row: int, numbers: Numbers) -> EncodedCandidates:
            if shared is not None:
                return shared
            collection = self._graphs.collection(selection.first[numbers])
            return EncodedCandidates.of(graphs[row : row + 1], collection, self._costs, numbers)

        results = []
        for row, graph in enumerate(graphs):
            started = clock()
            view = EditView(self._view, graph, self._nodes, self._edges)
            search = NearestSearch(
                lower=bounds(row),
                weight=view.weight,
                copies=selection.copies,
                wanted=min(k, len(selection)),
                query_nodes=graph.num_nodes,
                encode=partial(encode, row),
                row=0 if shared is None else row,
                deadline=started + self._time_limit,
                watch=self._watch,
            )
            by_bounds = np.argsort(search.rates, kind="stable")[: _PROPOSED * k]
            first = by_bounds if proposed is None else np.concatenate([proposed[row], by_bounds])
            search.run(first[np.sort(np.unique(first, return_index=True)[1])])
            seconds = clock() - started
            report = SearchReport(len(selection), True, search.removed(), seconds, not search.open.any())
            results.append(SearchResult(graph, self._hits(search, view, seconds), self._view, report))
        return results

    def _propose(self, propose: Propose, largest: int, k: int) -> list[Numbers]:
        """For each query the graphs to search first, nearest first by the learned distance.

        Vectors decide among small graphs: their learned distance itself takes longer than the search that it saves.
        """
        wanted = min(_PROPOSED * k, len(self._selection))
        looked_at = wanted if largest <= LARGEST_EASY else _LOOKED_AT * wanted
        return [self._selection.find(positions) for positions in propose(wanted, looked_at)]

    def _hits(self, search: NearestSearch, view: EditView, seconds: float) -> tuple[SearchHit, ...]:
        """The nearest graphs, ties by position, isomorphic ones each on its own."""
        found, maps = search.found
        positions, places = self._selection.spread(found)
        order = np.lexsort((positions, search.upper_rates[found[places]]))[: search.wanted]
        positions, places = positions[order], places[order]
        classes = found[places]
        raw = [bound[classes] for bound in (search.bounds.lower, search.bounds.upper)]
        proven = search.proven(classes).tolist()
        shown = [view.show(bound, classes) for bound in raw]
        hits = []
        for k, position in enumerate(positions.tolist()):
            id, load = self._note(position)[0], self._graphs.loader(position)
            first = int(self._selection.first[classes[k]])
            original = None if first == position else self._graphs.loader(first)
            low, high = float(raw[0][k]), float(raw[1][k])
            lower, upper = shown[0][k], shown[1][k]
            edits = partial(_explain, view.query, maps[places[k]], original, (low, high), self._costs, seconds)
            hits.append(SearchHit(id, upper, load, upper if low == high else None, lower, upper, proven[k], edits))
        return tuple(hits)


def bounds_from_counts(
    graphs: IndexedGraphs, selection: Selection, queries: GraphCollection, costs: EditCosts
) -> Callable[[int], Floats]:
    """A function that gives, for the query in a row, a lower bound of its distance to each class of graphs."""
    parts: list[tuple[CountBounds, NDArray[np.int16], NDArray[np.int64] | slice]] = []
    for one, chosen in graphs.split(selection.first):
        vectors = one.segment.arrays["counts"]
        few = 2 * len(chosen) <= len(vectors)  # only then is a copy of their vectors worthwhile
        bounds = CountBounds(vectors[chosen] if few else vectors, costs)
        counts = count_graphs(queries.columns, *one.segment.label_numbers)
        parts.append((bounds, counts, slice(None) if few or len(chosen) == len(vectors) else chosen))
    return lambda row: np.concatenate([bounds.to_all(counts[row])[chosen] for bounds, counts, chosen in parts])


def match_nodes(graph: Graph, copy: Graph) -> NDArray[np.int64]:
    """For each node of a graph its counterpart in a graph of the same certificate."""
    counterpart = np.arange(graph.num_nodes)
    with suppress(WorkBudgetExceeded):  # certificates of so regular graphs tell numberings apart: these are the same
        counterpart[graph.canonical_order()] = copy.canonical_order()
    return counterpart


def _explain(
    query: Graph,
    node_map: NDArray[np.int64],
    original: Callable[[], Graph] | None,
    bounds: tuple[float, float],
    costs: EditCosts,
    seconds: float,
    found: Graph,
) -> EditDistance:
    """Bounds and edits; the map leads to the original, of which the graph that was found may be a copy."""
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
