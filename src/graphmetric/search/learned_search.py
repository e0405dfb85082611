"""Nearest graphs by the learned distance: candidates by vectors, bounds, then the distance itself.

Of graphs that the model cannot distinguish, only the first is evaluated; its distance holds for all of them, to the
last bit. These graphs are isomorphic in all inputs of the model. Evaluated one by one, rounding would separate them: it
depends on the batch in which a graph was encoded.

If the head bounds its distance by index vectors, graphs are evaluated in ascending order of their bounds, until no
bound allows a graph to come before the k-th best (ties go by position), so the result is that of an evaluation of all
graphs. With ``num_candidates`` only that many graphs are evaluated: those with the smallest bounds among ten times as
many graphs with the nearest vectors. The result is then approximate.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from graphmetric.distance.comparison import NOT_FINITE
from graphmetric.edit_distance.nearest import smallest
from graphmetric.edit_distance.normalize import View
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.index.graphs import Condition, IndexedGraphs, OpenSegment, Selection
from graphmetric.index.segment import Classes, Positions
from graphmetric.learned.learned_distance import LearnedDistance
from graphmetric.search.hits import SearchHit, SearchReport, SearchResult
from graphmetric.search.learned_graphs import Floats, LearnedSegment, Query, SegmentEncoder, SegmentSelection

_FIRST, _LARGEST = 256, 1 << 16
"""Graphs bounded together: at first, and in the end, after growing."""
_MEASURED = 48
"""Distances computed between updates of the k-th best."""
_SCANNED = 1 << 14
"""Distances computed together where all are."""
_WIDER = 10
"""Graphs bounded per graph evaluated: bounds cost a thirtieth, and order graphs better than vectors do."""
BY_VECTORS, BY_STATES, BY_CANDIDATES = "pooled vectors", "node states", "the limit on candidates"


class LearnedSearches:
    """Searches by the learned distance of the model of an index."""

    def __init__(self, model: LearnedDistance) -> None:
        self.model = model
        self._opened: WeakKeyDictionary[OpenSegment, LearnedSegment] = WeakKeyDictionary()

    @property
    def classes(self) -> Classes:
        """Classes of graphs that are equal to the model; a strict distance separates all that are not isomorphic."""
        return "certificates" if self.model.strict else "seen"

    def encoder(self, basis: Floats | None = None) -> SegmentEncoder:
        """The encoder of the graphs of a new segment."""
        return SegmentEncoder(self.model, basis)

    def vectors(self, asked: GraphCollection) -> Floats:
        """(queries, width) index vector of each query."""
        return np.array([query.vector for query in Query.encode(self.model, asked, "raw")])

    def nearest(
        self,
        graphs: IndexedGraphs,
        where: Condition | None,
        distinct: bool,
        asked: GraphCollection,
        view: View,
        k: int,
        candidates: int | None,
    ) -> list[SearchResult]:
        """For each query the ``k`` nearest graphs that meet a condition; ``distinct``: the first of isomorphic ones."""
        whole = cache(lambda: self._among(graphs, graphs.select(where, distinct, self.classes)))

        def search(query: Query) -> SearchResult:
            proposed = None if candidates is None else graphs.near(query.vector, candidates, where)
            if proposed is None:  # the store does not look for candidates by itself
                return LearnedSearch(whole(), query).nearest(k, candidates)
            near, total = proposed
            among = self._among(near, near.select(None, distinct, self.classes))
            return LearnedSearch(among, query).nearest(k, None, total)

        with self.model.limited_threads():
            return [search(query) for query in Query.encode(self.model, asked, view)]

    def within(
        self, graphs: IndexedGraphs, selection: Selection, asked: GraphCollection, view: View, radius: float
    ) -> list[SearchResult]:
        """For each query all selected graphs at most at this distance."""
        with self.model.limited_threads():
            among = self._among(graphs, selection)
            return [LearnedSearch(among, query).within(radius) for query in Query.encode(self.model, asked, view)]

    def _among(self, graphs: IndexedGraphs, selection: Selection) -> SearchedGraphs:
        """Inputs of one search."""
        split = graphs.split(selection.first, selection.copies)
        return SearchedGraphs(graphs, selection, [SegmentSelection(self._open(one), *own) for one, *own in split])

    def _open(self, one: OpenSegment) -> LearnedSegment:
        if one not in self._opened:
            self._opened[one] = LearnedSegment(self.model, one)
        return self._opened[one]


class SearchedGraphs(NamedTuple):
    """The selected graphs of an index, ready to be searched."""

    graphs: IndexedGraphs
    selection: Selection
    parts: Sequence[SegmentSelection]


class LearnedSearch:
    """One query to the selected graphs of an index; places are positions within the selected part of a segment."""

    def __init__(self, among: SearchedGraphs, query: Query) -> None:
        self._graphs, self._selection, self._parts = among
        self._query, self._started = query, time.perf_counter()
        self._best, self._removed = Best(0), dict[str, int]()

    def nearest(self, k: int, candidates: int | None, total: int | None = None) -> SearchResult:
        """Find the ``k`` nearest graphs; without a number of candidates, evaluate as many graphs as necessary.

        If ``total`` is given, the selected graphs are themselves candidates, among that many.
        """
        self._best = Best(k)
        self._removed = dict.fromkeys((BY_CANDIDATES, BY_VECTORS, BY_STATES), 0)
        for part in self._parts:
            if total is not None and part.segment.is_quick:
                self._measure_all(part, part.positions)
            else:
                self._visit(part, candidates)
        if total is not None:
            self._removed[BY_CANDIDATES] = total - len(self._selection)
        return self._result(total)

    def within(self, radius: float) -> SearchResult:
        """All graphs at most at this distance, nearest first."""
        self._best = Best(len(self._selection))
        self._removed = dict.fromkeys((BY_VECTORS, BY_STATES), 0)
        for part in self._parts:
            positions, copies = part.positions, part.copies
            if part.segment.has_bounds:
                gaps = part.segment.gaps(self._query)[positions]
                for stage, bound in ((BY_VECTORS, part.segment.bound), (BY_STATES, part.segment.tighten)):
                    near = bound(self._query, gaps, positions) <= radius
                    self._remove(stage, copies[~near].sum())
                    positions, copies, gaps = positions[near], copies[near], gaps[near]
            self._measure_all(part, positions, radius)
        return self._result()

    def _visit(self, part: SegmentSelection, candidates: int | None) -> None:
        """Look at the selected graphs of a segment; at no more than the candidates, if their number is given."""
        segment, query, positions = part.segment, self._query, part.positions
        if candidates is not None:
            places, gaps = find_candidates(query, part, _WIDER * candidates if segment.has_bounds else candidates)
            self._remove(BY_CANDIDATES, part.copies.sum() - part.copies[places].sum())
            if segment.has_bounds:
                self._refine_least(part, places, gaps, candidates)
                return
            positions = positions[places]
        elif segment.has_bounds:
            self._refine(part, segment.gaps(query)[positions])
            return
        self._measure_all(part, positions)

    def _measure_all(self, part: SegmentSelection, positions: Positions, radius: float = np.inf) -> None:
        for chosen in np.array_split(positions, max(1, -(-len(positions) // _SCANNED))):
            distances = part.segment.measure(self._query, chosen)
            near = distances <= radius
            self._best.offer(distances[near], chosen[near] + part.segment.offset)

    def _refine(self, part: SegmentSelection, gaps: Floats) -> None:
        """By rising bounds, which are tightened before a distance is computed, until none may be among the best."""
        bounds = part.segment.bound(self._query, gaps, part.positions)
        seen = 0
        for block in self._rising_blocks(part, bounds):
            tight = part.segment.tighten(self._query, gaps[block], part.positions[block])
            measured = self._measure(part, block, tight)
            seen += int(part.copies[block].sum())
            self._remove(BY_STATES, part.copies[block[~measured]].sum())
        self._remove(BY_VECTORS, part.copies.sum() - seen)

    def _refine_least(self, part: SegmentSelection, places: Positions, gaps: Floats, candidates: int) -> None:
        """Look at the graphs of the least tight bounds; what is left may hold nearer ones."""
        tight = part.segment.tighten(self._query, gaps, part.positions[places])
        chosen = smallest(tight, candidates)
        measured = np.zeros(len(places), dtype=bool)
        measured[chosen] = self._measure(part, places[chosen], tight[chosen])
        missed = self._best.may_enter(tight, part.positions[places] + part.segment.offset) & ~measured
        self._remove(BY_CANDIDATES, part.copies[places[missed]].sum())
        self._remove(BY_STATES, part.copies[places[~measured & ~missed]].sum())

    def _rising_blocks(self, part: SegmentSelection, bounds: Floats) -> Iterator[Positions]:
        """Places that may be among the best, which change meanwhile: by rising bounds, ever more at a time."""
        size, positions = _FIRST, part.positions + part.segment.offset
        left = np.flatnonzero(self._best.may_enter(bounds, positions))
        while len(left):
            chosen = smallest(bounds[left], size)
            yield left[chosen]
            open_ones = self._best.may_enter(bounds[left], positions[left])
            open_ones[chosen] = False
            left = left[open_ones]
            size = min(4 * size, _LARGEST)

    def _measure(self, part: SegmentSelection, places: Positions, bounds: Floats) -> NDArray[np.bool_]:
        """Distances by rising bounds as long as some may be among the best; returns which places were measured."""
        positions, measured = part.positions[places], np.zeros(len(places), dtype=bool)
        left = np.argsort(bounds, kind="stable")
        while len(left := left[self._best.may_enter(bounds[left], positions[left] + part.segment.offset)]):
            chosen, left = left[:_MEASURED], left[_MEASURED:]
            self._best.offer(
                part.segment.measure(self._query, positions[chosen]), positions[chosen] + part.segment.offset
            )
            measured[chosen] = True
        return measured

    def _remove(self, stage: str, copies: np.int64) -> None:
        self._removed[stage] += int(copies)

    def _result(self, total: int | None = None) -> SearchResult:
        """The nearest graphs, ties by position, all graphs of a class each on its own."""
        best, query = self._best, self._query
        if not np.isfinite(best.distances).all():
            raise InvalidArgument(NOT_FINITE)
        positions, places = self._selection.spread(self._selection.find(best.positions))
        order = np.lexsort((positions, best.distances[places]))[: best.k]
        near = best.distances[places[order]].tolist()
        found = self._graphs.hits(positions[order].tolist())
        hits = tuple(SearchHit(id, distance, load) for (id, load), distance in zip(found, near, strict=True))
        graphs, exact = len(self._selection) if total is None else total, not self._removed.get(BY_CANDIDATES)
        seconds = time.perf_counter() - self._started
        report = SearchReport(graphs, exact, self._removed, seconds)
        return SearchResult(query.graph, hits, query.view, report)


class Best:
    """The ``k`` smallest distances so far, ties by position."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.distances = np.empty(0, dtype=np.float32)
        self.positions = np.empty(0, dtype=np.int64)

    def may_enter(self, bounds: Floats, positions: Positions) -> NDArray[np.bool_]:
        """Return a mask of the graphs that may be among the best, given lower bounds of their distances."""
        if len(self.distances) < self.k:
            return np.ones(len(bounds), dtype=bool)
        limit, last = self.distances[-1], self.positions[-1]
        open_ones: NDArray[np.bool_] = (bounds < limit) | ((bounds == limit) & (positions < last))
        return open_ones

    def offer(self, distances: Floats, positions: Positions) -> None:
        """Keep those that are among the best."""
        distances = np.concatenate([self.distances, distances])
        positions = np.concatenate([self.positions, positions])
        order = np.lexsort((positions, distances))[: self.k]
        self.distances, self.positions = distances[order], positions[order]


def find_candidates(query: Query, part: SegmentSelection, count: int) -> tuple[Positions, Floats]:
    """The places of the nearest vectors, and how far these are."""
    segment = part.segment
    if segment.lists is not None:
        everyone = len(part.positions) == len(segment)
        mask = None if everyone else np.isin(np.arange(len(segment)), part.positions, assume_unique=True)
        found = segment.lists.nearest(query.vector, count, mask)
        return np.searchsorted(part.positions, found), segment.gaps(query, found)
    gaps = segment.gaps(query)[part.positions]
    places = smallest(gaps, count)
    return places, gaps[places]
