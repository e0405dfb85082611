"""Nearest graphs by the learned distance: candidates by vectors, bounds, then the distance itself.

Of isomorphic graphs only the first is looked at: what it is found to be is true of all of them, to the last bit.

Where the distance has bounds (the heads that match nodes or compare vectors block by block), graphs are looked at in
the order of their bounds, and the search ends when no bound lets a graph come before the k-th best, ties by position:
the answer is that of looking at all graphs. Asked for so many ``candidates``, it looks at no more graphs than that:
those of the least bounds among the graphs of the nearest vectors, ten times as many. The answer is then approximate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from graphmetric.index.segments import Floats, Group, Positions, Query
from graphmetric.index.vector_index import smallest

_FIRST, _LARGEST = 256, 1 << 16
"""Graphs bounded together, growing from the one to the other."""
_MEASURED = 48
"""Distances computed before the k-th best is looked at again."""
_SCANNED = 1 << 14
"""Distances computed together where all are."""
_WIDER = 10
"""Graphs bounded for each one that is looked at: bounds cost a thirtieth, and order graphs better than vectors do."""
BY_VECTORS, BY_STATES, BY_CANDIDATES = "pooled vectors", "node states", "the limit on candidates"


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
    """One query against segment after segment; places are those within a group."""

    def __init__(self, query: Query, k: int) -> None:
        self._query = query
        self.best = Best(k)
        self.removed = dict.fromkeys((BY_CANDIDATES, BY_VECTORS, BY_STATES), 0)

    def visit(self, group: Group, candidates: int | None) -> None:
        """Look at the graphs of a group; at that many candidates only, if their number is given."""
        if candidates is not None:
            self._visit_nearest(group, candidates)
        elif group.space.bounds_exist:
            self._refine(group, group.space.gaps(self._query)[group.positions])
        else:
            self._measure_all(group, np.arange(len(group.positions)))

    def _visit_nearest(self, group: Group, candidates: int) -> None:
        bounds_exist = group.space.bounds_exist
        places, gaps = find_candidates(self._query, group, _WIDER * candidates if bounds_exist else candidates)
        self.removed[BY_CANDIDATES] += int(group.copies.sum() - group.copies[places].sum())
        if bounds_exist:
            self._refine_least(group, places, gaps, candidates)
        else:
            self._measure_all(group, places)

    def _measure_all(self, group: Group, places: Positions) -> None:
        for start in range(0, len(places), _SCANNED):
            part = group.positions[places[start : start + _SCANNED]]
            self.best.offer(group.space.measure(self._query, part), part + group.offset)

    def _refine(self, group: Group, gaps: Floats) -> None:
        """By rising bounds, which are tightened before a distance is computed, until none may be among the best."""
        bounds = group.space.bound(self._query, gaps, group.positions)
        seen = 0
        for block in self._rising_blocks(group, bounds):
            tight = group.space.tighten(self._query, gaps[block], group.positions[block])
            measured = self._measure(group, block, tight)
            seen += int(group.copies[block].sum())
            self.removed[BY_STATES] += int(group.copies[block[~measured]].sum())
        self.removed[BY_VECTORS] += int(group.copies.sum()) - seen

    def _refine_least(self, group: Group, places: Positions, gaps: Floats, candidates: int) -> None:
        """The graphs of the least bounds, which are tight at once; what is left may hold nearer ones."""
        tight = group.space.tighten(self._query, gaps, group.positions[places])
        chosen = smallest(tight, candidates)
        measured = np.zeros(len(places), dtype=bool)
        measured[chosen] = self._measure(group, places[chosen], tight[chosen])
        missed = self.best.may_enter(tight, group.positions[places] + group.offset) & ~measured
        self.removed[BY_CANDIDATES] += int(group.copies[places[missed]].sum())
        self.removed[BY_STATES] += int(group.copies[places[~measured & ~missed]].sum())

    def _rising_blocks(self, group: Group, bounds: Floats) -> Iterator[Positions]:
        """Places that may be among the best, who change meanwhile: by rising bounds, ever more at a time."""
        size, positions = _FIRST, group.positions + group.offset
        left = np.flatnonzero(self.best.may_enter(bounds, positions))
        while len(left):
            chosen = smallest(bounds[left], size)
            yield left[chosen]
            open_ones = self.best.may_enter(bounds[left], positions[left])
            open_ones[chosen] = False
            left = left[open_ones]
            size = min(4 * size, _LARGEST)

    def _measure(self, group: Group, places: Positions, bounds: Floats) -> NDArray[np.bool_]:
        """Distances by rising bounds as long as some may be among the best; which of the places it took."""
        positions, measured = group.positions[places], np.zeros(len(places), dtype=bool)
        left = np.argsort(bounds, kind="stable")
        while len(left := left[self.best.may_enter(bounds[left], positions[left] + group.offset)]):
            chosen, left = left[:_MEASURED], left[_MEASURED:]
            self.best.offer(group.space.measure(self._query, positions[chosen]), positions[chosen] + group.offset)
            measured[chosen] = True
        return measured


def find_candidates(query: Query, group: Group, count: int) -> tuple[Positions, Floats]:
    """Places in a group with the nearest vectors, and how far these are."""
    if group.space.lists is not None:
        everyone = len(group.positions) == len(group.space)
        mask = None if everyone else np.isin(np.arange(len(group.space)), group.positions, assume_unique=True)
        found = group.space.lists.nearest(query.vector, count, mask)
        return np.searchsorted(group.positions, found), group.space.gaps(query, found)
    gaps = group.space.gaps(query)[group.positions]
    places = smallest(gaps, count)
    return places, gaps[places]


def propose(queries: Sequence[Query], groups: Sequence[Group], k: int, candidates: int) -> list[Positions]:
    """For each query the ``k`` nearest of so many candidates by the learned distance, all measured together.

    With no more candidates than are wanted nothing is measured: their vectors order them.
    """
    best = [Best(k) for _ in queries]
    for group in groups:
        found, gaps = zip(*(find_candidates(query, group, candidates) for query in queries), strict=True)
        positions = [group.positions[places] for places in found]
        distances = gaps if candidates <= k else _measure_candidates(queries, group, positions)
        for one, own, near in zip(best, positions, distances, strict=True):
            one.offer(near, own + group.offset)
    return [one.positions for one in best]


def _measure_candidates(queries: Sequence[Query], group: Group, found: Sequence[Positions]) -> list[Floats]:
    rows = np.repeat([query.row for query in queries], [len(positions) for positions in found])
    distances = group.space.measure_pairs(queries[0], rows, np.concatenate(found))
    return np.split(distances, np.cumsum([len(positions) for positions in found])[:-1])


def find_within(query: Query, group: Group, radius: float) -> tuple[Positions, Floats, dict[str, int]]:
    """All graphs of a group at this distance at most, their distances, and how many each stage removed."""
    places, space = np.arange(len(group.positions)), group.space
    removed = dict.fromkeys((BY_VECTORS, BY_STATES), 0)
    if space.bounds_exist:
        gaps = space.gaps(query)[group.positions]
        near = space.bound(query, gaps, group.positions) <= radius
        removed[BY_VECTORS] = int(group.copies[~near].sum())
        places, gaps = places[near], gaps[near]
        near = space.tighten(query, gaps, group.positions[places]) <= radius
        removed[BY_STATES] = int(group.copies[places[~near]].sum())
        places = places[near]
    positions = group.positions[places]
    parts = [positions[start : start + _SCANNED] for start in range(0, len(positions), _SCANNED)]
    found = np.concatenate([np.empty(0, dtype=np.float32), *(space.measure(query, part) for part in parts)])
    return positions[found <= radius] + group.offset, found[found <= radius], removed
