"""The nearest graphs by edit distance, with proofs.

Every graph has a lower bound of its distance that only rises, and some have an upper bound, the cost of a map that is
kept. The k-th smallest upper bound is the limit: a graph whose lower bound reaches it can no longer enter, and is
removed. Cheap bounds come first:

1. label counts and degrees, of all graphs at once;
2. the graphs that the learned distance holds for nearest are searched, which makes the limit small at once;
3. branch bounds of what is left;
4. exact searches that end once they have proven that a distance is not below the limit: all of them with few search
   steps, then those still open with more and more, so that no hard pair keeps the others waiting.

When nothing is open the answer is proven. A time limit ends it before: bounds and maps are valid at any moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance import BranchBound, ExactSearch
from graphmetric.edit_distance._kernels.batch import NO_LIMIT
from graphmetric.edit_distance.encoding import EncodedProblem
from graphmetric.edit_distance.method import Solutions
from graphmetric.search.edit_view import EditView

BY_COUNTS, BY_BRANCHES, BY_SEARCH = "label counts and degrees", "branch bounds", "bounded exact search"
_FIRST_STEPS, _MORE_STEPS = 2_000, 8
"""Search steps per pair in the first round, and how many times more in each later one."""
_BATCH, _LARGEST_BATCH = 128, 512
"""Pairs searched before the limit is looked at again, growing while pairs are easy."""
_STEPS_AT_ONCE = 1 << 17
"""Search steps that a batch may take, a few tenths of a second; a single pair looks at the clock itself."""
_BOUNDED = 2_048
"""Graphs coded and bounded by their branches together."""
_ROUNDING = 1e-6
"""Costs in integer units that are closer than this to a whole number are that number."""
_SAME = 1e-9
"""Distances in the view that are closer than this are the same."""

Positions = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedPairs:
    """A query and some graphs, coded for the searches."""

    problem: EncodedProblem
    row: int
    """Of the query among the first graphs of the problem."""
    positions: Positions
    """Which graphs its second ones are, rising."""

    def pairs(self, positions: Positions) -> NDArray[np.int64]:
        """The query with these graphs."""
        columns = np.searchsorted(self.positions, positions)
        return np.column_stack([np.full(len(columns), self.row), columns])


Encoder = Callable[[Positions], EncodedPairs]
"""Codes the query and the graphs at these positions, which rise; the answer may hold more graphs."""


@dataclass(eq=False)
class CertifiedSearch:
    """One query; arrays run over the graphs that are allowed as answers."""

    k: int
    view: EditView
    lower: Floats
    """Raw distances are at least this."""
    encoder: Encoder
    deadline: float = np.inf
    """On the clock of ``time.monotonic``."""
    limit: float = field(init=False, default=np.inf)
    """The k-th smallest upper bound, in the view."""
    upper: Floats = field(init=False)
    removed: dict[str, int] = field(init=False)
    maps: dict[int, NDArray[np.int64]] = field(init=False, default_factory=dict)
    """Of graphs whose upper bound was within the limit when it was found."""

    def __post_init__(self) -> None:
        self.upper = np.full(len(self.lower), np.inf)
        self.removed = dict.fromkeys((BY_COUNTS, BY_BRANCHES, BY_SEARCH), 0)

    def run(self, nearest: Positions) -> None:
        """Search, beginning with the graphs that are held for nearest, in that order; at least k, if there are."""
        coded = self.encoder(np.sort(nearest))
        first = nearest[: self.k]
        method = ExactSearch(node_limit=_FIRST_STEPS)
        self._learn(first, coded, method.solve(coded.problem, coded.pairs(first)))
        self._search_within(coded, self._open(nearest[self.k :]), _FIRST_STEPS)
        rest = self._others(nearest)
        left = rest[self._may_enter(rest)]
        self.removed[BY_COUNTS] = len(rest) - len(left)
        before = len(left)
        left = self._bound_branches(left)
        self.removed[BY_BRANCHES] = before - len(left)
        candidates = np.sort(np.concatenate([left, nearest]))
        self._search(self.encoder(candidates), candidates)
        others = np.setdiff1d(left, self.ranking()[0])
        self.removed[BY_SEARCH] = len(others) - int(self._may_enter(others).sum())

    @property
    def complete(self) -> bool:
        """Whether nothing is open."""
        return len(self._open(np.arange(len(self.lower)))) == 0

    def ranking(self) -> tuple[Positions, NDArray[np.bool_]]:
        """The k graphs with the smallest upper bounds, and for each rank whether it is proven."""
        known = np.flatnonzero(np.isfinite(self.upper))
        shown = self.view.of(self.upper[known], known)
        chosen = known[np.lexsort((known, shown))[: self.k]]
        upper, lower = (self.view.of(bound[chosen], chosen) for bound in (self.upper, self.lower))
        exact = self.lower[chosen] == self.upper[chosen]
        outside = self._others(chosen)
        floor = self.view.of(self.lower[outside], outside).min(initial=np.inf)
        later = np.minimum(np.append(np.minimum.accumulate(lower[::-1])[::-1][1:], np.inf), floor)
        return chosen, np.logical_and.accumulate(exact) & (upper <= later + _SAME)

    def _bound_branches(self, left: Positions) -> Positions:
        """Those that may enter after their branch bounds."""
        for part in _batches(left[np.argsort(self.lower[left], kind="stable")], _BOUNDED):
            near = np.sort(part[self._may_enter(part)])
            if len(near) == 0 or time.monotonic() > self.deadline:
                break
            coded = self.encoder(near)
            self._learn(near, coded, BranchBound().solve(coded.problem, coded.pairs(near)))
        return left[self._may_enter(left)]

    def _search(self, coded: EncodedPairs, candidates: Positions) -> None:
        """Rounds of exact searches, each with more steps than the one before."""
        steps = _FIRST_STEPS
        while len(candidates := self._open(candidates)):
            size = _BATCH
            queue = candidates[np.argsort(self.lower[candidates], kind="stable")]
            while len(queue):
                size = max(1, min(size, _STEPS_AT_ONCE // steps))
                part, queue = queue[:size], queue[size:]
                self._search_within(coded, self._open(part), steps)
                if time.monotonic() > self.deadline:
                    return
                size = min(2 * size, _LARGEST_BATCH)
            if steps == NO_LIMIT:  # what is open now is too large to be searched
                return
            steps = min(steps * _MORE_STEPS, NO_LIMIT)

    def _search_within(self, coded: EncodedPairs, part: Positions, steps: int) -> None:
        if len(part) == 0:
            return
        left = None if self.deadline == np.inf else max(0.0, self.deadline - time.monotonic())
        method = ExactSearch(node_limit=steps, time_limit=left)
        limits = self._limits(part, coded.problem.scale)
        self._learn(part, coded, method.solve_within(coded.problem, coded.pairs(part), limits))

    def _limits(self, part: Positions, scale: float) -> NDArray[np.int64]:
        """The largest costs, in integer units, that are below both the limit and what is known of each graph."""
        raw = np.minimum(self.view.raw_limit(self.limit, part), self.upper[part]) * scale
        largest: NDArray[np.int64] = np.minimum(np.ceil(raw - _ROUNDING) - 1, NO_LIMIT).astype(np.int64)
        return largest

    def _learn(self, part: Positions, coded: EncodedPairs, found: Solutions) -> None:
        """Take over what a method proved and found."""
        assert found.lower is not None
        assert found.upper is not None
        assert found.node_map is not None
        scale = coded.problem.scale
        upper = found.upper / scale
        better = upper < self.upper[part]
        self.upper[part[better]] = upper[better]
        self.lower[part] = np.minimum(np.maximum(self.lower[part], found.lower / scale), self.upper[part])
        if better.any():
            self.limit = self._find_limit()
        within = better & (self.view.of(upper, part) <= self.limit)
        for place in np.flatnonzero(within).tolist():
            self.maps[int(part[place])] = found.node_map[place]

    def _find_limit(self) -> float:
        known = np.flatnonzero(np.isfinite(self.upper))
        if len(known) < self.k:
            return np.inf
        return float(np.partition(self.view.of(self.upper[known], known), self.k - 1)[self.k - 1])

    def _others(self, positions: Positions) -> Positions:
        others = np.ones(len(self.lower), dtype=bool)
        others[positions] = False
        return np.flatnonzero(others)

    def _may_enter(self, positions: Positions) -> NDArray[np.bool_]:
        return self.view.of(self.lower[positions], positions) < self.limit - _SAME

    def _open(self, positions: Positions) -> Positions:
        """Those that may yet enter and whose distance is not known."""
        return positions[(self.lower[positions] < self.upper[positions]) & self._may_enter(positions)]


def _batches(positions: Positions, size: int) -> Iterator[Positions]:
    return (positions[start : start + size] for start in range(0, len(positions), size))
