"""Nearest graphs by the learned distance: candidates by vectors, bounds, then the distance itself.

Only the first of isomorphic graphs is looked at: what is found for it is true of all of them, to the last bit.

Where the head bounds its distance by index vectors, graphs are looked at in the order of their bounds, and the search
ends when no bound lets a graph come before the k-th best, ties by position: the answer is that of looking at all
graphs. With a number of ``candidates`` it looks at no more graphs than that: those of the least bounds among the graphs
of the nearest vectors, ten times as many. The answer is then approximate.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.distance.comparison import NOT_FINITE
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.graph import Graph
from graphmetric.index.indexed_graphs import (
    Floats,
    IndexedGraphs,
    OpenSegment,
    Positions,
    Query,
    SegmentSelection,
    Selection,
)
from graphmetric.search.hits import SearchHit, SearchReport, SearchResult

_FIRST, _LARGEST = 256, 1 << 16
"""Graphs bounded together: at first, and in the end, after growing."""
_MEASURED = 48
"""Distances computed before the k-th best is looked at again."""
_SCANNED = 1 << 14
"""Distances computed together where all are."""
_WIDER = 10
"""Graphs bounded for each one that is looked at: bounds cost a thirtieth, and order graphs better than vectors do."""
BY_VECTORS, BY_STATES, BY_CANDIDATES = "pooled vectors", "node states", "the limit on candidates"


def find_nearest(
    graphs: IndexedGraphs, selection: Selection, asked: tuple[Graph, Query], k: int, candidates: int | None
) -> SearchResult:
    """The ``k`` nearest of the selected graphs; None as ``candidates`` looks at all graphs it has to."""
    started = time.perf_counter()
    search = LearnedSearch(asked[1], k)
    for part in graphs.parts(selection):
        search.visit(part, candidates)
    exact = candidates is None or search.removed[BY_CANDIDATES] == 0
    hits = _make_hits(graphs, selection, search.best, k)
    return _make_result(asked, hits, selection, search.removed, started, exact)


def find_within(graphs: IndexedGraphs, selection: Selection, asked: tuple[Graph, Query], radius: float) -> SearchResult:
    """All selected graphs at most at this distance, nearest first."""
    started = time.perf_counter()
    query, best = asked[1], Best(len(selection))
    removed = dict.fromkeys((BY_VECTORS, BY_STATES), 0)
    for part in graphs.parts(selection):
        positions, copies = part.positions, part.copies
        if part.segment.has_bounds:
            gaps = part.segment.gaps(query)[positions]
            for stage, bound in ((BY_VECTORS, part.segment.bound), (BY_STATES, part.segment.tighten)):
                near = bound(query, gaps, positions) <= radius
                removed[stage] += int(copies[~near].sum())
                positions, copies, gaps = positions[near], copies[near], gaps[near]
        for measured, distances in _measure_all(part.segment, query, positions):
            near = distances <= radius
            best.offer(distances[near], measured[near] + part.offset)
    hits = _make_hits(graphs, selection, best, len(selection))
    return _make_result(asked, hits, selection, removed, started, True)


def propose(
    graphs: IndexedGraphs, selection: Selection, queries: Sequence[Query], k: int, candidates: int
) -> list[Positions]:
    """For each query the ``k`` nearest of the candidates by the learned distance, all measured together.

    With no more candidates than are wanted nothing is measured: their vectors order them.
    """
    best = [Best(k) for _ in queries]
    for part in graphs.parts(selection):
        found, gaps = zip(*(find_candidates(query, part, candidates) for query in queries), strict=True)
        positions = [part.positions[places] for places in found]
        distances: Sequence[Floats] = gaps
        if candidates > k:
            sizes = [len(own) for own in positions]
            rows = np.repeat([query.row for query in queries], sizes)
            measured = part.segment.measure_pairs(queries[0], rows, np.concatenate(positions))
            distances = np.split(measured, np.cumsum(sizes)[:-1])
        for one, own, near in zip(best, positions, distances, strict=True):
            one.offer(near, own + part.offset)
    return [one.positions for one in best]


class Best:
    """The ``k`` smallest distances so far, ties by position."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.distances = np.empty(0, dtype=np.float32)
        self.positions = np.empty(0, dtype=np.int64)

    def may_enter(self, bounds: Floats, positions: Positions) -> NDArray[np.bool_]:
        """Which graphs with such lower bounds of their distances may be among the best."""
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


class LearnedSearch:
    """One query against segment after segment; places are positions within the selected part of a segment."""

    def __init__(self, query: Query, k: int) -> None:
        self._query = query
        self.best = Best(k)
        self.removed = dict.fromkeys((BY_CANDIDATES, BY_VECTORS, BY_STATES), 0)

    def visit(self, part: SegmentSelection, candidates: int | None) -> None:
        """Look at the selected graphs of a segment; at no more than the candidates, if their number is given."""
        segment, query = part.segment, self._query
        if candidates is None and segment.has_bounds:
            self._refine(part, segment.gaps(query)[part.positions])
            return
        places = np.arange(len(part.positions))
        if candidates is not None:
            places, gaps = find_candidates(query, part, _WIDER * candidates if segment.has_bounds else candidates)
            self._remove(BY_CANDIDATES, part.copies.sum() - part.copies[places].sum())
            if segment.has_bounds:
                self._refine_least(part, places, gaps, candidates)
                return
        for positions, distances in _measure_all(segment, query, part.positions[places]):
            self.best.offer(distances, positions + part.offset)

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
        missed = self.best.may_enter(tight, part.positions[places] + part.offset) & ~measured
        self._remove(BY_CANDIDATES, part.copies[places[missed]].sum())
        self._remove(BY_STATES, part.copies[places[~measured & ~missed]].sum())

    def _rising_blocks(self, part: SegmentSelection, bounds: Floats) -> Iterator[Positions]:
        """Places that may be among the best, which change meanwhile: by rising bounds, ever more at a time."""
        size, positions = _FIRST, part.positions + part.offset
        left = np.flatnonzero(self.best.may_enter(bounds, positions))
        while len(left):
            chosen = smallest(bounds[left], size)
            yield left[chosen]
            open_ones = self.best.may_enter(bounds[left], positions[left])
            open_ones[chosen] = False
            left = left[open_ones]
            size = min(4 * size, _LARGEST)

    def _measure(self, part: SegmentSelection, places: Positions, bounds: Floats) -> NDArray[np.bool_]:
        """Distances by rising bounds as long as some may be among the best; returns which places were measured."""
        positions, measured = part.positions[places], np.zeros(len(places), dtype=bool)
        left = np.argsort(bounds, kind="stable")
        while len(left := left[self.best.may_enter(bounds[left], positions[left] + part.offset)]):
            chosen, left = left[:_MEASURED], left[_MEASURED:]
            self.best.offer(part.segment.measure(self._query, positions[chosen]), positions[chosen] + part.offset)
            measured[chosen] = True
        return measured

    def _remove(self, stage: str, copies: np.int64) -> None:
        self.removed[stage] += int(copies)


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


def smallest(values: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Positions of the ``count`` smallest values, rising, ties by position; infinite ones are left out."""
    chosen: NDArray[np.int64] = np.arange(len(values))
    if count < len(values):
        last = np.partition(values, count - 1)[count - 1]
        below = np.flatnonzero(values < last)
        chosen = np.concatenate([below, np.flatnonzero(values == last)[: count - len(below)]])
    chosen = chosen[np.isfinite(values[chosen])]
    return chosen[np.lexsort((chosen, values[chosen]))]


def _measure_all(segment: OpenSegment, query: Query, positions: Positions) -> Iterator[tuple[Positions, Floats]]:
    for start in range(0, len(positions), _SCANNED):
        part = positions[start : start + _SCANNED]
        yield part, segment.measure(query, part)


def _make_hits(graphs: IndexedGraphs, selection: Selection, best: Best, k: int) -> tuple[SearchHit, ...]:
    """The ``k`` nearest graphs, ties by position, from the first graphs of their classes."""
    if not np.isfinite(best.distances).all():
        raise InvalidArgument(NOT_FINITE)
    positions, places = selection.spread(selection.find(best.positions))
    order = np.lexsort((positions, best.distances[places]))[:k]
    near = best.distances[places[order]].tolist()
    return tuple(
        SearchHit(graphs.note(position)[0], distance, graphs.loader(position))
        for position, distance in zip(positions[order].tolist(), near, strict=True)
    )


def _make_result(
    asked: tuple[Graph, Query],
    hits: tuple[SearchHit, ...],
    selection: Selection,
    removed: dict[str, int],
    started: float,
    exact: bool,
) -> SearchResult:
    graph, query = asked
    seconds = time.perf_counter() - started
    report = SearchReport(len(selection), exact, removed, seconds, unsolved=query.unsolved.pairs)
    return SearchResult(graph, hits, query.view, report)
