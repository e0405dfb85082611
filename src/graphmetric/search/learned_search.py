"""Nearest graphs by the learned distance: candidates by vectors, bounds, then the distance itself.

Where the distance has bounds (the heads that match nodes or compare vectors block by block), graphs are looked at in
the order of their bounds, and the search ends when no bound is below the k-th best distance: the answer is that of
looking at all graphs. Asked for so many ``candidates``, it looks at no more graphs than that: those of the least bounds
among the graphs of the nearest vectors, ten times as many. The answer is then approximate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from graphmetric.search.space import Floats, Positions, Query, SegmentSpace
from graphmetric.search.vector_index import smallest

_FIRST, _LARGEST = 256, 1 << 16
"""Graphs bounded together, growing from the one to the other."""
_MEASURED = 48
"""Distances computed before the k-th best is looked at again."""
_SCANNED = 1 << 14
"""Distances computed together where all are."""
_WIDER = 10
"""Graphs bounded for each one that is looked at: bounds cost a thirtieth, and order graphs better than vectors do."""
BY_VECTORS, BY_STATES, BY_CANDIDATES = "pooled vectors", "node states", "the limit on candidates"

Mask = NDArray[np.bool_] | None


class Best:
    """The ``k`` smallest distances so far, ties by position."""

    def __init__(self, k: int) -> None:
        self.k = k
        self.distances = np.empty(0, dtype=np.float32)
        self.positions = np.empty(0, dtype=np.int64)

    @property
    def limit(self) -> float:
        """What a graph has to be nearer than."""
        return float(self.distances[-1]) if len(self.distances) == self.k else np.inf

    def offer(self, distances: Floats, positions: Positions) -> None:
        """Keep those that are among the best."""
        distances = np.concatenate([self.distances, distances])
        positions = np.concatenate([self.positions, positions])
        order = np.lexsort((positions, distances))[: self.k]
        self.distances, self.positions = distances[order], positions[order]


class LearnedSearch:
    """One query against segment after segment; positions count through all of them."""

    def __init__(self, query: Query, k: int) -> None:
        self._query = query
        self.best = Best(k)
        self.removed = dict.fromkeys((BY_CANDIDATES, BY_VECTORS, BY_STATES), 0)

    def visit(self, space: SegmentSpace, offset: int, allowed: Mask, candidates: int | None) -> None:
        """Look at the graphs of a segment that are allowed; at that many candidates only, if their number is given."""
        if candidates is not None:
            self._visit_nearest(space, offset, allowed, candidates)
            return
        positions = _positions(space, allowed)
        if space.bounds_exist:
            self._refine(space, offset, positions, space.gaps(self._query)[positions])
        else:
            self._measure_all(space, offset, positions)

    def _visit_nearest(self, space: SegmentSpace, offset: int, allowed: Mask, candidates: int) -> None:
        everyone = len(space) if allowed is None else int(allowed.sum())
        wanted = _WIDER * candidates if space.bounds_exist else candidates
        positions, gaps = find_candidates(self._query, space, allowed, wanted)
        self.removed[BY_CANDIDATES] += everyone - len(positions)
        if space.bounds_exist:
            self._refine_least(space, offset, positions, gaps, candidates)
        else:
            self._measure_all(space, offset, positions)

    def _measure_all(self, space: SegmentSpace, offset: int, positions: Positions) -> None:
        for start in range(0, len(positions), _SCANNED):
            part = positions[start : start + _SCANNED]
            self.best.offer(space.measure(self._query, part), part + offset)

    def _refine(self, space: SegmentSpace, offset: int, positions: Positions, gaps: Floats) -> None:
        """By rising bounds, which are tightened before a distance is computed, until none is below the limit."""
        bounds = space.bound(self._query, gaps, positions)
        seen = 0
        for block in self._rising_blocks(bounds):
            seen += len(block)
            tight = space.tighten(self._query, gaps[block], positions[block])
            order = np.argsort(tight, kind="stable")
            self.removed[BY_STATES] += len(block) - self._measure(space, offset, positions[block[order]], tight[order])
        self.removed[BY_VECTORS] += len(positions) - seen

    def _refine_least(
        self, space: SegmentSpace, offset: int, positions: Positions, gaps: Floats, candidates: int
    ) -> None:
        """The graphs of the least bounds, which are tight at once; what is left may hold nearer ones."""
        tight = space.tighten(self._query, gaps, positions)
        chosen = smallest(tight, candidates)
        measured = self._measure(space, offset, positions[chosen], tight[chosen])
        left_out = max(0, int((tight < self.best.limit).sum()) - measured)
        self.removed[BY_CANDIDATES] += left_out
        self.removed[BY_STATES] += len(positions) - measured - left_out

    def _rising_blocks(self, bounds: Floats) -> Iterator[Positions]:
        """Places whose bounds are below the limit, which falls meanwhile: by rising bounds, ever more at a time."""
        size, left = _FIRST, np.flatnonzero(bounds < self.best.limit)
        while len(left):
            chosen = smallest(bounds[left], size)
            yield left[chosen]
            open_ones = bounds[left] < self.best.limit
            open_ones[chosen] = False
            left = left[open_ones]
            size = min(4 * size, _LARGEST)

    def _measure(self, space: SegmentSpace, offset: int, positions: Positions, bounds: Floats) -> int:
        """Distances by rising bounds until none is below the limit; how many it took."""
        measured = 0
        while measured < len(positions) and bounds[measured] < self.best.limit:
            part = slice(measured, measured + _MEASURED)
            chosen = positions[part][bounds[part] < self.best.limit]
            self.best.offer(space.measure(self._query, chosen), chosen + offset)
            measured += len(chosen)
        return measured


def find_candidates(query: Query, space: SegmentSpace, allowed: Mask, count: int) -> tuple[Positions, Floats]:
    """Graphs of a segment with the nearest vectors, and how far these are."""
    if space.lists is not None:
        found = space.lists.nearest(query.vector, count, allowed)
        return found, space.gaps(query, found)
    gaps = space.gaps(query)
    if allowed is not None:
        gaps[~allowed] = np.inf
    found = smallest(gaps, count)
    return found, gaps[found]


def propose(
    queries: Sequence[Query], spaces: Sequence[tuple[SegmentSpace, int, Mask]], k: int, candidates: int
) -> list[Positions]:
    """For each query the ``k`` nearest of so many candidates by the learned distance, all measured together.

    With no more candidates than are wanted nothing is measured: their vectors order them. Spaces come with the position
    of their first graph and the mask of graphs that are allowed.
    """
    best = [Best(k) for _ in queries]
    for space, offset, allowed in spaces:
        found, gaps = zip(*(find_candidates(query, space, allowed, candidates) for query in queries), strict=True)
        distances = gaps if candidates <= k else _measure_candidates(queries, space, found)
        for one, positions, near in zip(best, found, distances, strict=True):
            one.offer(near, positions + offset)
    return [one.positions for one in best]


def _measure_candidates(queries: Sequence[Query], space: SegmentSpace, found: Sequence[Positions]) -> list[Floats]:
    rows = np.repeat([query.row for query in queries], [len(positions) for positions in found])
    distances = space.measure_pairs(queries[0], rows, np.concatenate(found))
    return np.split(distances, np.cumsum([len(positions) for positions in found])[:-1])


def find_within(
    query: Query, space: SegmentSpace, allowed: Mask, radius: float
) -> tuple[Positions, Floats, dict[str, int]]:
    """All graphs of a segment at this distance at most, their distances, and how many each stage removed."""
    positions = everyone = _positions(space, allowed)
    removed = dict.fromkeys((BY_VECTORS, BY_STATES), 0)
    if space.bounds_exist:
        gaps = space.gaps(query)[positions]
        near = space.bound(query, gaps, positions) <= radius
        positions, gaps = positions[near], gaps[near]
        removed[BY_VECTORS] = len(everyone) - len(positions)
        near = space.tighten(query, gaps, positions) <= radius
        positions = positions[near]
        removed[BY_STATES] = int((~near).sum())
    parts = [positions[start : start + _SCANNED] for start in range(0, len(positions), _SCANNED)]
    distances = [space.measure(query, part) for part in parts]
    found = np.concatenate(distances) if distances else np.empty(0, dtype=np.float32)
    return positions[found <= radius], found[found <= radius], removed


def _positions(space: SegmentSpace, allowed: Mask) -> Positions:
    return np.arange(len(space)) if allowed is None else np.flatnonzero(allowed)
