"""The nearest graphs by edit distance, with proofs.

Every graph has a lower bound of its distance that only rises, and some have an upper bound, the cost of a map that is
kept. The k-th smallest upper bound is the limit: a graph whose lower bound reaches it can no longer enter, and is
removed. Cheap bounds come first:

1. label counts and degrees, of all graphs at once;
2. the graphs that are held for nearest are searched, which makes the limit small at once;
3. branch bounds of what is left, whose maps make the limit smaller still;
4. exact searches that end once they have proven that a distance is not below the limit: all of them with few search
   steps, then those still open with more and more, so that no hard pair keeps the others waiting.

Where graphs are small the last three are one call of ``_kernels/nearest_search.py``. When nothing is open the answer is
proven. A time limit ends it before: bounds and maps are valid at any moment.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import clock
from graphmetric.edit_distance import BeamSearch, BranchBound, ExactSearch
from graphmetric.edit_distance._kernels.batch import NO_LIMIT
from graphmetric.edit_distance.method import EditDistanceMethod
from graphmetric.search._kernels.nearest_graphs import (
    BY_BRANCHES,
    BY_COUNTS,
    BY_SEARCH,
    SIZE,
    Known,
    Nearest,
    admit_maps,
    expect_nearest,
)
from graphmetric.search._kernels.nearest_search import PLACE, Effort, Queue, search_queue
from graphmetric.search.coded_graphs import CodedGraphs, Coder, Graphs

STAGES = {BY_COUNTS: "label counts and degrees", BY_BRANCHES: "branch bounds", BY_SEARCH: "bounded exact search"}
LARGEST_EASY = 12
"""Nodes of queries up to which a search takes hardly longer than the branch bound that it begins with."""
_BEAM_WIDTH = 100
"""Of the beam search that finds first maps of larger graphs: three milliseconds at 35 nodes."""
_PROPOSED_STEPS = 300
"""Search steps for each of the graphs held for nearest, where they are large: enough for an easy one among them."""
_FIRST_STEPS, _MORE_STEPS = 2_000, 8
"""Search steps per pair in the first round, and how many times more in each later one."""
_SLICE, _LARGEST_SLICE = 1_000, 1 << 17
"""Search steps between two looks at the clock, and where there is no time limit, so that an interrupt is heard."""
_BOUNDED = 2_048
"""Graphs coded and bounded by their branches together."""
SAME = 1e-9
"""Distances / weights that are closer than this are the same."""

Floats = NDArray[np.float64]


@dataclass(eq=False)
class CertifiedSearch:
    """One query; arrays run over graphs no two of which are isomorphic."""

    known: Known
    """What is known of every graph."""
    wanted: int
    """How many graphs are wanted, copies included; at most as many as there are."""
    query_nodes: int
    coder: Coder
    deadline: float = np.inf
    """On the clock of :func:`graphmetric.compiling.clock`."""
    nearest: Nearest = field(init=False)
    _settled: NDArray[np.bool_] = field(init=False)
    """Graphs whose bounds a longer search would not improve."""

    def __post_init__(self) -> None:
        self.nearest = expect_nearest(self.wanted, self.query_nodes)
        self._settled = np.zeros(len(self.known.lower), dtype=bool)

    def run(self, proposed: Graphs) -> None:
        """Search, beginning with the graphs that are held for nearest, in that order."""
        is_hard = self.query_nodes > LARGEST_EASY
        for part in self._parts(proposed, is_hard):
            coded = self.coder.code(part)
            if is_hard and part is proposed:
                self._map(coded, part)
                self._search(coded, part, _PROPOSED_STEPS)
            else:
                self._search(coded, part, 1 if is_hard else _FIRST_STEPS)
        self._finish()

    @property
    def limit(self) -> float:
        """Distance / weight of the last of the nearest so far; infinite while there are too few."""
        return float(self.nearest.limit[0])

    @property
    def found(self) -> tuple[Graphs, NDArray[np.int64]]:
        """The nearest graphs so far, with maps of the query to them."""
        size = self.nearest.status[SIZE]
        return self.nearest.graphs[:size], self.nearest.maps[:size]

    @property
    def open(self) -> NDArray[np.bool_]:
        """Graphs that may yet enter and whose distance is not known."""
        return (self.rates() < self.limit - SAME) & (self.known.lower < self.known.upper)

    def rates(self) -> Floats:
        """Of every graph at least the distance / weight that it is ordered by."""
        return self.known.lower / self.known.weight

    def removed(self) -> dict[str, int]:
        """How many graphs of the index each stage has removed without their distance being known."""
        gone = ~self.open & (self.known.lower < self.known.upper)
        gone[self.found[0]] = False
        counts = np.bincount(self.known.stage[gone], self.known.copies[gone], minlength=len(STAGES))
        return {name: int(counts[stage]) for stage, name in STAGES.items()}

    def _parts(self, proposed: Graphs, is_hard: bool) -> Iterator[Graphs]:
        """The proposed graphs, then the others by rising bounds as long as some are open."""
        others = np.ones(len(self.known.lower), dtype=bool)
        others[proposed] = False
        rest = self._sorted(others)
        if self.coder.at_once and not is_hard:
            yield np.concatenate([proposed, rest])
            return
        yield proposed
        size = len(rest) if self.coder.at_once else _BOUNDED
        for start in range(0, len(rest), max(1, size)):
            part = rest[start : start + size]
            part = part[self.open[part]]
            if len(part) == 0 or self._is_late():
                return
            yield part

    def _finish(self) -> None:
        """Rounds of exact searches of what is open, each with more steps than the one before."""
        steps, coded = _FIRST_STEPS, None
        while steps <= NO_LIMIT and len(left := self._sorted(self.open & ~self._settled)) and not self._is_late():
            coded = coded or self.coder.code(left)
            self._search(coded, left, steps)
            steps *= _MORE_STEPS

    def _search(self, coded: CodedGraphs, graphs: Graphs, steps: int) -> None:
        """Search graphs one after the other; whatever the clock says, until there are as many as are wanted."""
        if self.query_nodes > LARGEST_EASY:
            graphs = self._bound_largest(coded, graphs)
        problem, row = coded.problem, self.coder.row
        if problem.costs is not None or coded.is_vast:
            self._search_each(coded, graphs, steps)
            return
        queue = Queue(np.stack([graphs, coded.columns(graphs)]), np.zeros(2, dtype=np.int64))
        budget = _LARGEST_SLICE if self.deadline == np.inf else _SLICE
        effort = Effort(row, problem.scale, steps, budget, refine=int(steps == 1))
        tables = problem.first, problem.second, problem.tables
        while queue.status[PLACE] < len(graphs) and not (self._is_late() and self.limit < np.inf):
            coded.watch.check()
            search_queue(*tables, queue, effort, self.known, self.nearest, coded.work)

    def _search_each(self, coded: CodedGraphs, graphs: Graphs, steps: int) -> None:
        """The same where each pair needs tables of its own because of its costs, or is to be kept within memory."""
        for graph in graphs.tolist():
            if self._is_late() and self.nearest.status[SIZE] > 0:
                return
            limit = min(self.limit * self.known.weight[graph], self.known.upper[graph])
            if self._settled[graph] or self.known.lower[graph] >= limit:
                continue
            search = ExactSearch(node_limit=steps, upper_bound=None if np.isinf(limit) else limit)
            if self.deadline < np.inf:
                search = replace(search, time_limit=max(0.0, self.deadline - clock()))
            expanded = self._learn(coded, np.array([graph]), search)
            self._settled[graph] = expanded[0] < steps and not self._is_late()
            self.known.stage[graph] = BY_SEARCH

    def _map(self, coded: CodedGraphs, graphs: Graphs) -> None:
        """Find good maps, for searches to beat."""
        self._learn(coded, graphs[~coded.too_large(self.coder.row, graphs)], BeamSearch(_BEAM_WIDTH))

    def _bound_largest(self, coded: CodedGraphs, graphs: Graphs) -> Graphs:
        """Bound pairs that are too large to be searched by their branches; returns the other graphs."""
        large = coded.too_large(self.coder.row, graphs)
        if large.any():
            self._learn(coded, graphs[large & (self.known.stage[graphs] == BY_COUNTS)], BranchBound())
        return graphs[~large]

    def _learn(self, coded: CodedGraphs, graphs: Graphs, method: EditDistanceMethod) -> NDArray[np.int64]:
        """Take over what a method proves and finds; returns how many search steps it took for each graph."""
        found = method.bounds_watched(coded.problem, coded.pairs(self.coder.row, graphs), coded.watch)
        coded.watch.check()
        assert found.node_map is not None
        lower = self.known.lower
        admit_maps(self.known, self.nearest, graphs, found.upper, found.node_map)
        lower[graphs] = np.minimum(np.maximum(lower[graphs], found.lower), self.known.upper[graphs])
        if isinstance(method, BranchBound):
            self.known.stage[graphs] = BY_BRANCHES
        return found.expanded

    def _sorted(self, chosen: NDArray[np.bool_]) -> Graphs:
        """Graphs of a mask by rising lower bounds."""
        graphs = np.flatnonzero(chosen)
        return graphs[np.argsort(self.rates()[graphs], kind="stable")]

    def _is_late(self) -> bool:
        return clock() > self.deadline
