"""The graphs of a collection that are nearest to a query by edit distance, with proofs.

Every candidate has a lower bound of its distance that only rises, and some have an upper bound, the cost of a map that
is kept. The k-th smallest upper bound is the limit: a candidate whose lower bound reaches it can no longer enter. Cheap
bounds come first:

1. the lower bounds that the search is started with, such as those of :class:`CountBounds`;
2. searches of the candidates that are proposed as nearest, which make the limit small at once;
3. branch bounds of what is left, whose maps lower the limit further;
4. exact searches that end once they have proven that a distance is not below the limit: all of them with few search
   steps, then those still open with more and more, so that no hard pair keeps the others waiting.

For small graphs the last three are one call of a compiled search. When nothing is open the answer is proven. A time
limit ends the search earlier: bounds and maps are valid at any moment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.limits import clock
from graphmetric.edit_distance._kernels.nearest import (
    BY_BRANCHES,
    BY_COUNTS,
    BY_SEARCH,
    PLACE,
    SIZE,
    CandidateBounds,
    NearestGraphs,
    QueueLimits,
    SearchQueue,
    admit_maps,
    allocate_nearest,
    search_queue,
)
from graphmetric.edit_distance._kernels.workspace import NO_LIMIT, WorkspaceSize, count_bytes
from graphmetric.edit_distance.costs import EditCosts
from graphmetric.edit_distance.encoding import EncodedProblem, encode
from graphmetric.edit_distance.method import EditDistanceMethod
from graphmetric.edit_distance.methods import LARGEST_EASY, LARGEST_SEARCHED, BeamSearch, BranchBound, ExactSearch
from graphmetric.edit_distance.scaling import exceeds_memory, smaller_sizes, workspace_size
from graphmetric.edit_distance.stopping import Watch, in_thread
from graphmetric.graphs.collection import GraphCollection

STAGES = {BY_COUNTS: "label counts and degrees", BY_BRANCHES: "branch bounds", BY_SEARCH: "bounded exact search"}
_BEAM_WIDTH = 100
"""Width of the beam search that finds the first maps of larger graphs: three milliseconds at 35 nodes."""
_PROPOSED_STEPS = 300
"""Search steps for each proposed graph, where graphs are large: enough for the easy ones among them."""
_FIRST_STEPS, _MORE_STEPS = 2_000, 8
"""Search steps per pair in the first round, and the factor by which each later round has more."""
_SLICE, _LARGEST_SLICE = 1_000, 1 << 17
"""Search steps between two looks at the clock; without a time limit the larger number, so that Ctrl-C is heard."""
_BOUNDED = 2_048
"""Candidates that are encoded and bounded together, where not all are encoded at once."""
SAME = 1e-9
"""Distances / weights that are closer than this count as equal."""

Numbers = NDArray[np.int64]
"""Numbers of candidates."""
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class EncodedCandidates:
    """Queries and candidates with common cost tables, ready for searches of any of their pairs."""

    problem: EncodedProblem
    numbers: Numbers | None = None
    """Rising numbers of the candidates that are encoded; None if all are."""

    @classmethod
    def of(
        cls, queries: GraphCollection, graphs: GraphCollection, costs: EditCosts, numbers: Numbers | None = None
    ) -> EncodedCandidates:
        """Encode queries and candidates."""
        return cls(encode(queries, graphs, costs), numbers)

    def columns(self, graphs: Numbers) -> Numbers:
        """Positions of candidates among those that are encoded."""
        return graphs if self.numbers is None else np.searchsorted(self.numbers, graphs)

    def pairs(self, row: int, graphs: Numbers) -> NDArray[np.int64]:
        """A query with these candidates, as edit distance methods take pairs."""
        return np.column_stack([np.full(len(graphs), row), self.columns(graphs)])

    def searchable(self, row: int, graphs: Numbers) -> NDArray[np.bool_]:
        """Which candidates an exact search can take: the smaller graph of the pair must not be too large."""
        return smaller_sizes(self.problem, self.pairs(row, graphs)) <= LARGEST_SEARCHED

    @cached_property
    def size(self) -> WorkspaceSize:
        """The workspace that the largest pair needs that is searched."""
        first, second = self.problem.first, self.problem.second
        largest = [
            [int(np.argmax(np.diff(start))) for start in starts]
            for starts in ((first.node_start, second.node_start), (first.edge_start, second.edge_start))
        ]
        size = workspace_size(self.problem, np.array(largest))
        return size._replace(smaller=min(size.smaller, LARGEST_SEARCHED))

    @cached_property
    def is_vast(self) -> bool:
        """Whether the largest pair needs more memory than one computation may take."""
        return bool(exceeds_memory(np.array([count_bytes(self.size)], dtype=np.float64))[0])


@dataclass(eq=False)
class NearestSearch:
    """One query against candidates no two of which are isomorphic; arrays have one entry for each candidate."""

    lower: Floats
    """Lower bounds of the raw distances; written to."""
    weight: Floats
    """Candidates are ordered by raw distance / weight."""
    copies: Numbers
    """The number of graphs that each candidate stands for, itself included."""
    wanted: int
    """The number of graphs to find, copies included; at most as many as there are."""
    query_nodes: int
    encode: Callable[[Numbers], EncodedCandidates]
    """Encodes the query with at least the candidates of these rising numbers."""
    row: int = 0
    """Position of the query among the encoded queries."""
    deadline: float = np.inf
    """On the clock of :func:`graphmetric._foundation.limits.clock`."""
    watch: Watch = field(default_factory=Watch)
    """Stops the searches, and keeps their workspace for the next query."""
    bounds: CandidateBounds = field(init=False)
    nearest: NearestGraphs = field(init=False)
    _settled: NDArray[np.bool_] = field(init=False)
    """Candidates whose bounds a longer search would not improve."""

    def __post_init__(self) -> None:
        self.bounds = CandidateBounds.begin(self.lower, self.weight, self.copies)
        self.nearest = allocate_nearest(self.wanted, self.query_nodes)
        self._settled = np.zeros(len(self.lower), dtype=bool)

    def run(self, proposed: Numbers) -> None:
        """Search, beginning with the proposed candidates, in a thread of its own, so that Ctrl-C is heard."""
        in_thread(lambda _: self._run(proposed), self.watch)
        self.watch.restart()

    @property
    def limit(self) -> float:
        """Distance / weight of the last of the nearest so far; infinite while there are too few."""
        return float(self.nearest.limit[0])

    @property
    def found(self) -> tuple[Numbers, NDArray[np.int64]]:
        """The nearest candidates so far, with maps of the query to them."""
        size = self.nearest.status[SIZE]
        return self.nearest.graphs[:size], self.nearest.maps[:size]

    @property
    def open(self) -> NDArray[np.bool_]:
        """Candidates that may still enter and whose distance is not known."""
        return (self.rates < self.limit - SAME) & (self.bounds.lower < self.bounds.upper)

    @property
    def rates(self) -> Floats:
        """A lower bound of distance / weight for every candidate."""
        return self.bounds.lower / self.bounds.weight

    @property
    def upper_rates(self) -> Floats:
        """An upper bound of distance / weight for every candidate."""
        return self.bounds.upper / self.bounds.weight

    def removed(self) -> dict[str, int]:
        """The number of graphs that each stage removed without their distance being known."""
        gone = ~self.open & (self.bounds.lower < self.bounds.upper)
        gone[self.found[0]] = False
        counts = np.bincount(self.bounds.stage[gone], self.bounds.copies[gone], minlength=len(STAGES))
        return {name: int(counts[stage]) for stage, name in STAGES.items()}

    def proven(self, ranked: Numbers) -> NDArray[np.bool_]:
        """For each rank whether it is proven that no graph behind it or outside is nearer.

        ``ranked`` are the numbers of the answers, nearest first; a number occurs once for each copy.
        """
        lower, bounds = self.rates, self.bounds
        exact = bounds.lower[ranked] == bounds.upper[ranked]
        later = np.minimum.accumulate(lower[ranked][::-1])[::-1]
        outside = np.bincount(ranked, minlength=len(lower)) < bounds.copies
        behind = np.minimum(np.append(later[1:], np.inf), lower[outside].min(initial=np.inf))
        proven: NDArray[np.bool_] = np.logical_and.accumulate(exact) & (self.upper_rates[ranked] <= behind + SAME)
        return proven

    def _run(self, proposed: Numbers) -> None:
        is_hard = self.query_nodes > LARGEST_EASY
        others = np.ones(len(self.lower), dtype=bool)
        others[proposed] = False
        rest = self._sorted(others)
        encoded = self.encode(np.sort(proposed))
        at_once = encoded.numbers is None
        if is_hard:
            searchable = encoded.searchable(self.row, proposed)
            self._apply(encoded, proposed[searchable], BeamSearch(_BEAM_WIDTH))
            self._search(encoded, proposed, _PROPOSED_STEPS)
        elif at_once:
            self._search(encoded, np.concatenate([proposed, rest]), _FIRST_STEPS)
            rest = rest[:0]
        else:
            self._search(encoded, proposed, _FIRST_STEPS)
        size = max(1, len(rest)) if at_once else _BOUNDED
        for start in range(0, len(rest), size):
            part = rest[start : start + size]
            part = part[self.open[part]]
            if len(part) == 0 or self._is_late():
                break
            self._search(self.encode(np.sort(part)), part, 1 if is_hard else _FIRST_STEPS)
        self._search_what_is_open()

    def _search_what_is_open(self) -> None:
        """Rounds of exact searches of what is open, each with more steps than the one before."""
        steps, encoded = _FIRST_STEPS, None
        while steps <= NO_LIMIT and len(left := self._sorted(self.open & ~self._settled)) and not self._is_late():
            encoded = encoded or self.encode(np.sort(left))
            self._search(encoded, left, steps)
            steps *= _MORE_STEPS

    def _search(self, encoded: EncodedCandidates, graphs: Numbers, steps: int) -> None:
        """Search one candidate after another; the deadline counts only once there are as many as are wanted."""
        if self.query_nodes > LARGEST_EASY:
            graphs = self._bound_largest(encoded, graphs)
        problem = encoded.problem
        by_dual_bound = self.query_nodes > LARGEST_EASY and steps > 1
        if by_dual_bound or problem.costs is not None or encoded.is_vast:
            self._search_each(encoded, graphs, steps)
            return
        queue = SearchQueue(np.stack([graphs, encoded.columns(graphs)]), np.zeros(2, dtype=np.int64))
        budget = _LARGEST_SLICE if self.deadline == np.inf else _SLICE
        limits = QueueLimits(self.row, problem.scale, steps, budget, refine=int(steps == 1))
        work = self.watch.workspace(encoded.size)
        while queue.status[PLACE] < len(graphs) and not (self._is_late() and self.limit < np.inf):
            self.watch.check()
            search_queue(problem.packed, queue, limits, self.bounds, self.nearest, work)

    def _search_each(self, encoded: EncodedCandidates, graphs: Numbers, steps: int) -> None:
        """The same where graphs are large, where each pair needs cost tables of its own, or where memory is short."""
        for graph in graphs.tolist():
            if self._is_late() and self.nearest.status[SIZE] > 0:
                return
            weight, upper = self.bounds.weight[graph], self.bounds.upper[graph]
            if self._settled[graph] or self.bounds.lower[graph] >= min(self.limit * weight, upper):
                continue
            limit = max(0.0, min((self.limit - SAME / 2) * weight, upper))
            search = ExactSearch(node_limit=steps, upper_bound=None if np.isinf(limit) else limit)
            if self.deadline < np.inf:
                search = replace(search, time_limit=max(0.0, self.deadline - clock()))
            expanded = self._apply(encoded, np.array([graph]), search)
            self._settled[graph] = expanded[0] < steps and not self._is_late()
            self.bounds.stage[graph] = BY_SEARCH

    def _bound_largest(self, encoded: EncodedCandidates, graphs: Numbers) -> Numbers:
        """Bound pairs that are too large for a search by their branches; returns the other candidates."""
        searchable = encoded.searchable(self.row, graphs)
        if not searchable.all():
            self._apply(encoded, graphs[~searchable & (self.bounds.stage[graphs] == BY_COUNTS)], BranchBound())
        return graphs[searchable]

    def _apply(self, encoded: EncodedCandidates, graphs: Numbers, method: EditDistanceMethod) -> NDArray[np.int64]:
        """Record what a method proves and finds; returns how many search steps it took for each candidate."""
        found = method.bounds_watched(encoded.problem, encoded.pairs(self.row, graphs), self.watch)
        self.watch.check()
        assert found.node_map is not None
        lower = self.bounds.lower
        admit_maps(self.bounds, self.nearest, graphs, found.upper, found.node_map)
        lower[graphs] = np.minimum(np.maximum(lower[graphs], found.lower), self.bounds.upper[graphs])
        if isinstance(method, BranchBound):
            self.bounds.stage[graphs] = BY_BRANCHES
        return found.expanded

    def _sorted(self, chosen: NDArray[np.bool_]) -> Numbers:
        """The candidates of a mask by rising lower bounds."""
        graphs = np.flatnonzero(chosen)
        return graphs[np.argsort(self.rates[graphs], kind="stable")]

    def _is_late(self) -> bool:
        return clock() > self.deadline
