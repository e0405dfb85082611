"""The graphs of a collection that are nearest to a query by edit distance, or all within a radius, with proofs.

Every candidate has a lower bound of its distance that only rises, and some have an upper bound, the cost of a map that
is kept. A candidate whose lower bound reaches the limit can no longer enter: the limit is the radius, or the k-th
smallest upper bound, which sinks. Cheap bounds come first, and each looks only at what the ones before it left:

1. the lower bounds that the search is started with, from histograms, and those from common branches
   (:class:`StoredBounds`);
2. where the limit sinks: searches of the most promising candidates, which make it small at once;
3. branch bounds, whose maps lower the limit further;
4. short searches with the branch bound, then a few rounds of the dual bound, which end once they have proven that a
   distance is not below the limit;
5. exact searches of what is still open, with more and more steps, so that no hard pair keeps the others waiting.

For graphs of up to a dozen nodes the last three are one call of a compiled search. When nothing is open the answer is
proven. A time limit ends the search earlier: bounds and maps are valid at any moment. Every stage takes its candidates
in slices and checks the clock between them, and the compiled loops of a slice end when the limit passes.

Where kinds of edits are limited (:mod:`graphmetric.edit_distance.limited`), edits within the limits cost at least as
much as the best ones without. So the same stages exclude candidates, but the maps they find are not used, and what
they leave is solved within the limits one by one, the smallest lower bounds first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.limits import clock
from graphmetric.edit_distance._kernels.exact_search import SearchLimits
from graphmetric.edit_distance._kernels.nearest import (
    BY_BRANCHES,
    BY_COMMON,
    BY_COUNTS,
    BY_DUAL,
    BY_SEARCH,
    BY_TREE,
    PLACE,
    ROUNDING,
    SIZE,
    CandidateBounds,
    NearestGraphs,
    QueueLimits,
    SearchQueue,
    admit_maps,
    allocate_nearest,
    allocate_within,
    search_queue,
)
from graphmetric.edit_distance._kernels.workspace import NO_LIMIT, WorkspaceSize, count_bytes
from graphmetric.edit_distance.costs import EditCosts
from graphmetric.edit_distance.dual import search_with_dual_bound
from graphmetric.edit_distance.edit_path import Edge
from graphmetric.edit_distance.encoding import EncodedProblem, encode
from graphmetric.edit_distance.limited import LimitedAnswer
from graphmetric.edit_distance.method import EditDistanceMethod
from graphmetric.edit_distance.methods import (
    LARGEST_EASY,
    LARGEST_SEARCHED,
    BranchBound,
    DegreeMap,
    ExactSearch,
    first_try,
    fits_dual_bound,
)
from graphmetric.edit_distance.scaling import exceeds_memory, smaller_sizes, workspace_size
from graphmetric.edit_distance.stopping import Watch
from graphmetric.graphs.collection import GraphCollection

STAGES = {
    BY_COUNTS: "label counts and degrees",
    BY_COMMON: "common branches",
    BY_BRANCHES: "branch bounds",
    BY_TREE: "searches with the branch bound",
    BY_DUAL: "dual bounds",
    BY_SEARCH: "longer searches",
}
_FIRST_STEPS, _MORE_STEPS = 2_000, 8
"""Search steps per pair in the first round, and the factor by which each later round has more."""
_DUAL_ROUNDS = 8
"""Rounds of the dual bound in a short search."""
_WAVE = 32
"""Pairs that get the dual bound together, all with the limit of that moment."""
_CLOSE = 2
"""Edits between lower bound and limit up to which a short search with the branch bound is likely to be enough."""
_LOOKED_AT, _SEARCHED_FIRST = 10, 4
"""Candidates that are bounded by common branches for each promising one, and those searched first for each wanted."""
_SLICE, _LARGEST_SLICE = 150_000, 1 << 17
"""Entries of assignment matrices between two checks of the clock, about a millisecond; and, where there is neither a
time limit nor a report, search steps."""
_FIRST_SECONDS, _MORE_SECONDS = 0.1, 10
"""Seconds for each pair within limits in the first round, and the factor by which each later round has more."""
_BOUNDED, _BOUNDED_NODES = 2_048, 1 << 14
"""Candidates that are encoded and bounded together, and the number of their nodes above which there are fewer."""
_MAPPED = 4
"""Candidates that get a map by degrees for each wanted one, where time was over before there were enough maps."""
_REPORT_EVERY = 0.1
"""Seconds between two calls of whoever watches the search, at least."""
SAME = 1e-9
"""Distances / weights count as equal if they differ by no more than this share of them."""
_BEYOND = 1e-5
"""The share by which the limit of a search within a radius is larger than the radius."""

Numbers = NDArray[np.int64]
"""Numbers of candidates."""
Floats = NDArray[np.float64]
SolveLimited = Callable[[int, float | None, float, Watch], LimitedAnswer]
"""Solves a candidate within limits, for distances up to a given cost and for a given number of seconds."""


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
    sizes: Numbers
    """Nodes of each candidate."""
    wanted: int | None
    """The number of graphs to find, copies included, at most as many as there are; None for all within the radius."""
    query_nodes: int
    encode: Callable[[Numbers], EncodedCandidates]
    """Encodes the query with at least the candidates of these rising numbers."""
    radius: float = np.inf
    """The largest distance / weight; only for a search of all graphs within it."""
    tighten: Callable[[Numbers], Floats] | None = None
    """Computes further lower bounds of chosen candidates, at little cost."""
    row: int = 0
    """Position of the query among the encoded queries."""
    deadline: float = np.inf
    """On the clock of :func:`graphmetric._foundation.limits.clock`."""
    watch: Watch = field(default_factory=Watch)
    """Stops the searches, and keeps their workspace for the next query."""
    report: Callable[[], bool] | None = None
    """Called now and then between two searches; the search ends if it says True."""
    solve_limited: SolveLimited | None = None
    """Solves one candidate where kinds of edits are limited."""
    bounds: CandidateBounds = field(init=False)
    nearest: NearestGraphs = field(init=False)
    replaced: dict[int, frozenset[Edge]] = field(default_factory=dict, init=False)
    """For candidates with a map within limits the edges of the query that are replaced; see :class:`LimitedAnswer`."""
    _plain: tuple[CandidateBounds, NearestGraphs] = field(init=False)
    """What searches without limits on edits write to: the same, unless edits are limited. Then it has upper bounds and
    maps of its own, while lower bounds and the limit of the search are the same arrays."""
    _settled: NDArray[np.bool_] = field(init=False)
    """Candidates whose bounds a longer search would not improve."""
    _is_ended: bool = field(default=False, init=False)
    _next_report: float = field(default=-np.inf, init=False)

    def __post_init__(self) -> None:
        self.bounds = CandidateBounds.begin(self.lower, self.weight, self.copies)
        if self.wanted is None:
            self.nearest = allocate_within(len(self.lower), self.query_nodes, beyond(self.radius))
        else:
            self.nearest = allocate_nearest(self.wanted, self.query_nodes)
        self._plain = self.bounds, self.nearest
        if self.solve_limited is not None:
            apart = allocate_within(len(self.lower), self.query_nodes, np.inf)._replace(limit=self.nearest.limit)
            self._plain = self.bounds._replace(upper=self.bounds.upper.copy()), apart
        self._settled = np.zeros(len(self.lower), dtype=bool)

    @property
    def limit(self) -> float:
        """Distance / weight that a candidate must stay below to enter; infinite while there are too few."""
        return float(self.nearest.limit[0])

    @property
    def found(self) -> tuple[Numbers, NDArray[np.int64]]:
        """The nearest candidates so far, or those within the radius, with maps of the query to them."""
        if self.wanted is None:
            rates = self.upper_rates
            graphs = np.flatnonzero((rates <= self.radius * (1 + 1e-12)) & np.isfinite(rates))
            return graphs, self.nearest.maps[graphs]
        size = self.nearest.status[SIZE]
        return self.nearest.graphs[:size], self.nearest.maps[:size]

    @property
    def open(self) -> NDArray[np.bool_]:
        """Candidates that may still enter and whose distance is not known."""
        return self._is_open(slice(None))

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
        proven: NDArray[np.bool_] = np.logical_and.accumulate(exact) & (self.upper_rates[ranked] <= behind * (1 + SAME))
        return proven

    def find_promising(self, count: int) -> Numbers:
        """The candidates with the smallest lower bounds, most promising first."""
        first = smallest(self.rates, _LOOKED_AT * count)
        self._tightened(first)
        return first[smallest(self.rates[first], count)]

    def count_found(self) -> int:
        """The number of graphs that are answers so far and whose distance is known, copies included."""
        found = self.found[0]
        is_known = self.bounds.lower[found] == self.bounds.upper[found]
        return int(self.copies[found[is_known]].sum())

    def run(self, promising: Numbers) -> None:
        """Search in this thread, beginning with the promising candidates."""
        with self.watch.limited(None if self.deadline == np.inf else self.deadline - clock()):
            self._run(promising[self._is_open(promising)])
        if self.solve_limited is None:
            self._map_by_degree()

    def _run(self, promising: Numbers) -> None:
        is_hard = self.query_nodes > LARGEST_EASY
        if self.solve_limited is not None:
            self._search_part_within_limits(promising, is_hard)
        else:
            for part in self._parts(promising):
                if self._is_late():
                    break
                self._search_promising(self.encode(np.sort(part)), part, is_hard)
        rest = self._left()
        if self.solve_limited is not None:  # what is left of the promising ones had its time
            rest = rest[~np.isin(rest, promising)]
        for part in self._parts(rest):
            part = self._tightened(part[self._is_open(part)])
            if self._is_late():
                break
            if self.solve_limited is not None:
                self._search_part_within_limits(part, is_hard)
            elif len(part):
                self._search_part(self.encode(np.sort(part)), part, is_hard)
        if self.solve_limited is None:
            self._search_what_is_open()
        else:
            self._solve_what_is_open()
        self.report = None  # it may refer to this search, which would then stay in memory until a collection of cycles

    def _parts(self, graphs: Numbers) -> Iterator[Numbers]:
        """Candidates in the given order, as many at a time as are encoded together."""
        nodes = np.cumsum(self.sizes[graphs])
        start = 0
        while start < len(graphs):
            before = nodes[start - 1] if start else 0
            end = int(np.searchsorted(nodes, before + _BOUNDED_NODES, side="right"))
            end = min(max(end, start + 1), start + _BOUNDED)
            yield graphs[start:end]
            start = end

    def _map_by_degree(self) -> None:
        """Find as many maps as are wanted, if time was over before."""
        if self.wanted is None:
            return
        left = self._sorted(self.open & np.isinf(self.bounds.upper))[: _MAPPED * self.wanted]
        while len(left) and self.limit == np.inf:
            some, left = left[: self.wanted], left[self.wanted :]
            self._apply(self.encode(np.sort(some)), some, DegreeMap(), BY_COUNTS)

    def _search_promising(self, encoded: EncodedCandidates, promising: Numbers, is_hard: bool) -> None:
        if not is_hard:
            self._search(encoded, promising, _FIRST_STEPS)
            return
        self._search(encoded, promising, 1, refine=True)
        nearest = promising[smallest(self.upper_rates[promising], _SEARCHED_FIRST * (self.wanted or 1))]
        self._search_briefly(encoded, nearest)

    def _search_part(self, encoded: EncodedCandidates, part: Numbers, is_hard: bool) -> None:
        """Branch bounds and short searches of some candidates."""
        self._search(encoded, part, 1 if is_hard else _FIRST_STEPS)
        if is_hard:
            self._search_briefly(encoded, self._by_bounds(part[self._is_unclear(part)]))

    def _search_part_within_limits(self, part: Numbers, is_hard: bool) -> None:
        """Solve some candidates within the limits, most promising first; without them, exclude as many as possible.

        While there are fewer than are wanted nothing can be excluded.
        """
        part = self._by_bounds(part)
        while len(part) and np.isinf(self.limit):
            self._solve_each(part[:1], _FIRST_SECONDS)
            part = part[1:]
        part = part[self._is_open(part)]
        if len(part) and not self._is_late():
            self._search_part(self.encode(np.sort(part)), part, is_hard)
            self._solve_each(self._by_bounds(part[self._is_open(part)]), _FIRST_SECONDS)

    def _solve_what_is_open(self) -> None:
        """Rounds of searches within the limits, each with more time than the one before."""
        seconds = _FIRST_SECONDS
        while len(left := self._left()) and not self._is_late():
            seconds *= _MORE_SECONDS
            self._solve_each(left, seconds)

    def _solve_each(self, graphs: Numbers, seconds: float) -> None:
        """Solve candidates within the limits one after another, each for at most ``seconds``."""
        assert self.solve_limited is not None
        for graph in graphs.tolist():
            if self._is_late():
                return
            if not self._is_open(graph):
                continue
            most = self.limit * (1 - SAME / 2) * self.bounds.weight[graph]
            given = min(seconds, max(0.0, self.deadline - clock()))
            found = self.solve_limited(graph, None if np.isinf(most) else most, given, self.watch)
            self._settled[graph] = not self.watch.expired
            self.watch.check()
            if found.node_map is not None and found.upper < self.bounds.upper[graph]:
                node_map = np.array([[-1 if v is None else v for v in found.node_map]], dtype=np.int64)
                self.replaced[graph] = found.replaced
                admit_maps(self.bounds, self.nearest, np.array([graph]), np.array([found.upper]), node_map)
            lower = max(self.bounds.lower[graph], found.lower)
            self.bounds.lower[graph] = min(lower, self.bounds.upper[graph])
            self.bounds.stage[graph] = BY_SEARCH

    def _tightened(self, graphs: Numbers) -> Numbers:
        """Bound candidates by common branches; returns those that may still enter."""
        if self.tighten is None or len(graphs) == 0:
            return graphs
        lower, tight = self.bounds.lower, self.tighten(graphs)
        better = (tight > lower[graphs]) & (self.bounds.stage[graphs] < BY_COMMON)
        self.bounds.stage[graphs[better]] = BY_COMMON
        lower[graphs] = np.maximum(lower[graphs], tight)
        return graphs[self._is_open(graphs)]

    def _search_what_is_open(self) -> None:
        """Rounds of exact searches of what is open, each with more steps than the one before."""
        left = self._left()
        if len(left) == 0 or self._is_late():
            return
        parts, steps = list(self._parts(left)), _MORE_STEPS * _FIRST_STEPS
        encoded = self.encode(np.sort(left)) if len(parts) == 1 else None
        while steps <= NO_LIMIT and len(left := self._left()) and not self._is_late():
            for part in [left] if encoded is not None else self._parts(left):
                part = part[self._is_open(part)]
                if len(part) == 0 or self._is_late():
                    continue
                self._search(encoded or self.encode(np.sort(part)), part, steps)
            steps *= _MORE_STEPS

    def _left(self) -> Numbers:
        """What is open and may be searched for longer."""
        return self._sorted(self.open & ~self._settled)

    def _search_briefly(self, encoded: EncodedCandidates, graphs: Numbers) -> None:
        """Short searches of candidates, those that are open by the branch bound and then by the dual bound."""
        if len(graphs) == 0:
            return
        problem, pairs = encoded.problem, encoded.pairs(self.row, graphs)
        if problem.costs is not None or encoded.is_vast or not encoded.searchable(self.row, graphs).all():
            return
        steps, fits = first_try(problem, pairs), fits_dual_bound(problem, pairs)
        edit = float(problem.tables.edge_floor[0, :2].mean()) / problem.scale
        while len(graphs) and not self._is_late():
            wave, graphs = graphs[:_WAVE], graphs[_WAVE:]
            gap = self.limit * self.bounds.weight[wave] - self.bounds.lower[wave]
            self._search_queue(encoded, wave[gap <= _CLOSE * edit] if fits else wave, steps)
            wave = wave[self._is_unclear(wave)]
            if fits and len(wave):
                self._bound_by_dual(encoded, wave)
            graphs = graphs[self._is_unclear(graphs)]

    def _bound_by_dual(self, encoded: EncodedCandidates, graphs: Numbers) -> None:
        """A few rounds of the dual bound, for maps below the limit."""
        problem, pairs = encoded.problem, encoded.pairs(self.row, graphs)
        bound = np.minimum(self.limit * self.bounds.weight[graphs], self._plain[0].upper[graphs]) * problem.scale
        limits = np.ceil(np.minimum(bound, NO_LIMIT) - ROUNDING).astype(np.int64) - 1
        found = search_with_dual_bound(problem, pairs, SearchLimits(limits, 0, 1 + _DUAL_ROUNDS, 0, 1), self.watch)
        self.watch.check()
        seen = found.expanded > 0  # the others wait for another time
        assert found.node_map is not None
        lower, upper, _ = problem.in_costs(pairs[seen], found.lower[seen], found.upper[seen], found.node_map[seen])
        self._note(graphs[seen], lower, upper, found.node_map[seen], BY_DUAL)

    def _search(self, encoded: EncodedCandidates, graphs: Numbers, steps: int, refine: bool = False) -> None:
        """Search one candidate after another.

        With ``refine`` the first map of each is improved even if it is above the limit, which takes longer.
        """
        if self.query_nodes > LARGEST_EASY:
            graphs = self._bound_largest(encoded, graphs)
        by_dual_bound = self.query_nodes > LARGEST_EASY and steps > 1
        if by_dual_bound or encoded.problem.costs is not None or encoded.is_vast:
            self._search_each(encoded, graphs, steps)
        else:
            self._search_queue(encoded, graphs, steps, refine)

    def _search_queue(self, encoded: EncodedCandidates, graphs: Numbers, steps: int, refine: bool = False) -> None:
        """Search by the branch bound in one compiled loop."""
        problem = encoded.problem
        queue = SearchQueue(np.stack([graphs, encoded.columns(graphs)]), np.zeros(2, dtype=np.int64))
        budget = _LARGEST_SLICE
        if self.deadline < np.inf or self.report is not None:
            budget = max(1, _SLICE // max(1, encoded.size.smaller * encoded.size.larger))
        limits = QueueLimits(self.row, problem.scale, steps, budget, int(refine))
        work = self.watch.workspace(encoded.size)
        while queue.status[PLACE] < len(graphs) and not self._is_late():
            search_queue(problem.packed, queue, limits, *self._plain, work)
            self.watch.check()

    def _search_each(self, encoded: EncodedCandidates, graphs: Numbers, steps: int) -> None:
        """The same where graphs are large, where each pair needs cost tables of its own, or where memory is short."""
        for graph in graphs.tolist():
            if self._is_late():
                return
            weight, upper = self.bounds.weight[graph], self._plain[0].upper[graph]
            if self._settled[graph] or self.bounds.lower[graph] >= min(self.limit * weight, upper):
                continue
            limit = min(self.limit * (1 - SAME / 2) * weight, upper)
            search = ExactSearch(node_limit=steps, upper_bound=None if np.isinf(limit) else limit)
            expanded = self._apply(encoded, np.array([graph]), search, BY_SEARCH)
            self._settled[graph] = expanded[0] < steps and not self._is_late()

    def _bound_largest(self, encoded: EncodedCandidates, graphs: Numbers) -> Numbers:
        """Bound pairs that are too large for a search by their branches; returns the other candidates."""
        searchable = encoded.searchable(self.row, graphs)
        if not searchable.all():
            unbounded = self.bounds.stage[graphs] < BY_BRANCHES
            for graph in graphs[~searchable & unbounded].tolist():
                if self._is_late():
                    break
                if self._is_open(graph):
                    self._apply(encoded, np.array([graph]), BranchBound(), BY_BRANCHES)
        return graphs[searchable]

    def _apply(
        self, encoded: EncodedCandidates, graphs: Numbers, method: EditDistanceMethod, stage: int
    ) -> NDArray[np.int64]:
        """Record what a method proves and finds; returns how many search steps it took for each candidate."""
        found = method.bounds_watched(encoded.problem, encoded.pairs(self.row, graphs), self.watch)
        self.watch.check()
        assert found.node_map is not None
        self._note(graphs, found.lower, found.upper, found.node_map, stage)
        return found.expanded

    def _note(self, graphs: Numbers, lower: Floats, upper: Floats, maps: NDArray[np.int64], stage: int) -> None:
        """Record bounds and maps of candidates."""
        bounds, nearest = self._plain
        admit_maps(bounds, nearest, graphs, upper, maps)
        bounds.lower[graphs] = np.minimum(np.maximum(bounds.lower[graphs], lower), bounds.upper[graphs])
        bounds.stage[graphs] = np.maximum(bounds.stage[graphs], stage)

    def _sorted(self, chosen: NDArray[np.bool_]) -> Numbers:
        """The candidates of a mask by rising lower bounds."""
        return self._by_bounds(np.flatnonzero(chosen))

    def _by_bounds(self, graphs: Numbers) -> Numbers:
        rates = self.bounds.lower[graphs] / self.bounds.weight[graphs]
        return graphs[np.argsort(rates, kind="stable")]

    def _is_open(self, graphs: Numbers | slice | int) -> NDArray[np.bool_]:
        lower, upper = self.bounds.lower[graphs], self.bounds.upper[graphs]
        is_open: NDArray[np.bool_] = (lower < self.limit * (1 - SAME) * self.bounds.weight[graphs]) & (lower < upper)
        return is_open

    def _is_unclear(self, graphs: Numbers) -> NDArray[np.bool_]:
        """Which open candidates have a distance, without limits on edits, that is not known."""
        unknown: NDArray[np.bool_] = self.bounds.lower[graphs] < self._plain[0].upper[graphs]
        return self._is_open(graphs) & unknown

    def _is_late(self) -> bool:
        """Whether time is over, or whoever watches the search says that it is."""
        now = clock()
        if self.report is not None and now >= self._next_report and not self._is_ended:
            self._is_ended = self.report()
            self._next_report = clock() + _REPORT_EVERY
        return self._is_ended or now > self.deadline


def beyond(radius: float) -> float:
    """A limit somewhat larger than a radius: rounding must not lose a graph."""
    return radius + _BEYOND * max(radius, 1.0)


def smallest(values: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Positions of the ``count`` smallest values, rising, ties by position; infinite ones are left out."""
    chosen: NDArray[np.int64] = np.arange(len(values))
    if count < len(values):
        last = np.partition(values, count - 1)[count - 1]
        below = np.flatnonzero(values < last)
        chosen = np.concatenate([below, np.flatnonzero(values == last)[: count - len(below)]])
    chosen = chosen[np.isfinite(values[chosen])]
    return chosen[np.lexsort((chosen, values[chosen]))]
