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

Queries and graphs of an index as the compiled searches read them: all at once, or those a query still needs.

Edit distances from one query on the scale that was asked for.

Lower bounds of the edit distances from a query to graphs of an index, from the vectors that the index keeps.

From what a certified search knows to ranked hits, each with its proof.

Certified answers for queries to an index: the learned distance proposes, the searches prove.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.limits import clock
from graphmetric._foundation.options import checked_number
from graphmetric.distance import View
from graphmetric.edit_distance import (
    BeamSearch,
    BranchBound,
    EditCosts,
    EditDistance,
    ExactSearch,
    normalized_distance,
    steinhaus_distance,
)
from graphmetric.edit_distance._kernels.batch import NO_LIMIT
from graphmetric.edit_distance._kernels.workspace import Workspace, WorkspaceSize, allocate_workspace, count_bytes
from graphmetric.edit_distance.encoding import EncodedProblem, encode
from graphmetric.edit_distance.exact import LARGEST_SEARCHED
from graphmetric.edit_distance.method import EditDistanceMethod, exceeds_memory, smaller_sizes, workspace_size
from graphmetric.edit_distance.stopping import Watch, in_thread
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.index.count_vectors import CountBounds, count_graphs
from graphmetric.index.segments import Allowed, DistinctGraphs, Held, HeldSegments, Positions, Query, match_nodes
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
from graphmetric.search.hits import SearchHit, SearchReport, SearchResult
from graphmetric.search.learned_search import propose

Graphs = NDArray[np.int64]
"""Numbers of graphs among those that are searched."""


@dataclass(frozen=True, eq=False)
class CodedGraphs:
    """Queries and graphs with common tables, and room to search any of their pairs, one at a time."""

    problem: EncodedProblem
    graphs: Graphs | None
    """Which graphs the second ones are, rising; None if they are all."""
    watch: Watch = field(default_factory=Watch)
    """What stops the searches."""

    def columns(self, graphs: Graphs) -> Graphs:
        """Places of these graphs among the second ones."""
        return graphs if self.graphs is None else np.searchsorted(self.graphs, graphs)

    def pairs(self, row: int, graphs: Graphs) -> NDArray[np.int64]:
        """A query with these graphs, as the methods of edit distance take them."""
        return np.column_stack([np.full(len(graphs), row), self.columns(graphs)])

    def too_large(self, row: int, graphs: Graphs) -> NDArray[np.bool_]:
        """Where both graphs are too large for an exact search."""
        return smaller_sizes(self.problem, self.pairs(row, graphs)) > LARGEST_SEARCHED

    @cached_property
    def work(self) -> Workspace:
        """As large as the largest pair needs that is searched."""
        return allocate_workspace(self._size, self.watch.signals)

    @cached_property
    def is_vast(self) -> bool:
        """Whether the largest pair needs more memory than one computation may take."""
        return bool(exceeds_memory(np.array([count_bytes(self._size)], dtype=np.float64))[0])

    @cached_property
    def _size(self) -> WorkspaceSize:
        first, second = self.problem.first, self.problem.second
        largest = [
            [int(np.argmax(np.diff(start))) for start in starts]
            for starts in ((first.node_start, second.node_start), (first.edge_start, second.edge_start))
        ]
        size = workspace_size(self.problem, np.array(largest))
        return size._replace(smaller=min(size.smaller, LARGEST_SEARCHED))


class Coder(Protocol):
    """Codes graphs for one query."""

    @property
    def row(self) -> int:
        """Of the query among the first graphs."""

    @property
    def at_once(self) -> bool:
        """Whether all graphs are coded already."""

    def code(self, graphs: Graphs) -> CodedGraphs:
        """At least these graphs."""


@dataclass(frozen=True, slots=True, eq=False)
class CodedAtOnce:
    """For many queries to few graphs."""

    coded: CodedGraphs
    row: int
    at_once: bool = True

    def code(self, graphs: Graphs) -> CodedGraphs:
        """All of them, whichever are asked for."""
        return self.coded


@dataclass(slots=True, eq=False)
class CodedWhenNeeded:
    """For few queries to many graphs, most of which their bounds remove."""

    query: GraphCollection
    collect: Callable[[Graphs], GraphCollection]
    """Graphs by rising numbers."""
    costs: EditCosts
    watch: Watch = field(default_factory=Watch)
    row: int = 0
    at_once: bool = False

    def code(self, graphs: Graphs) -> CodedGraphs:
        """These graphs."""
        chosen = np.sort(graphs)
        return CodedGraphs(encode(self.query, self.collect(chosen), self.costs), chosen, self.watch)


Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class EditView:
    """Sizes of a query and of all graphs; arrays run over the graphs."""

    view: View
    query_nodes: int
    query_edges: int
    nodes: Integers
    edges: Integers

    @property
    def weight(self) -> Floats:
        """Distances in the view rise with raw distance / weight: so graphs are ordered by that, without rounding.

        The paper's view is :math:`1 - exp(-2 d / weight)`, the Steinhaus view :math:`2 d / (weight + d)`.
        """
        if self.view == "raw":
            return np.ones(len(self.nodes))
        sums = self.query_nodes + self.nodes
        if self.view == "steinhaus":
            sums = sums + self.query_edges + self.edges
        return np.maximum(sums, 1).astype(np.float64)  # of two empty graphs, whose distance is 0

    def of(self, raw: Floats, graphs: Integers) -> Floats:
        """Raw distances to these graphs in the view."""
        if self.view == "raw":
            return raw
        if self.view == "paper":
            return np.asarray(normalized_distance(raw, self.query_nodes, self.nodes[graphs]))
        weights = self.nodes[graphs] + self.edges[graphs]
        return np.asarray(steinhaus_distance(raw, self.query_nodes + self.query_edges, weights))


class IndexBounds:
    """Some graphs of an index against some queries."""

    def __init__(
        self, held: HeldSegments, positions: NDArray[np.int64], queries: GraphCollection, costs: EditCosts
    ) -> None:
        """Graphs at rising positions."""
        ends = np.searchsorted(positions, [one.offset for one in held.segments[1:]])
        chosen = np.split(positions, ends)
        self._segments = [
            _Segment(one, own - one.offset, costs) for one, own in zip(held.segments, chosen, strict=True)
        ]
        columns = queries.columns
        self._counts = [count_graphs(columns, *one.segment.places) for one in held.segments]

    def of(self, row: int) -> NDArray[np.float64]:
        """For the query in this row, one bound for each of the graphs."""
        bounds = [one.of(counts[row]) for one, counts in zip(self._segments, self._counts, strict=True)]
        return np.concatenate(bounds)


class _Segment:
    """Vectors of a segment: of the chosen graphs alone where they are few, else of all, to copy nothing."""

    def __init__(self, held: Held, chosen: NDArray[np.int64], costs: EditCosts) -> None:
        vectors = held.segment.arrays["counts"]
        few = 2 * len(chosen) <= len(vectors)
        self._bounds = CountBounds(vectors[chosen] if few else vectors, costs)
        self._chosen = slice(None) if few or len(chosen) == len(vectors) else chosen

    def of(self, query: NDArray[np.int16]) -> NDArray[np.float64]:
        return self._bounds.of(query)[self._chosen]


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
    """On the clock of :func:`graphmetric._foundation.limits.clock`."""
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


class CertifiedHits:
    """Makes the hits of several queries; ids of graphs that many of them find are read once."""

    def __init__(self, held: HeldSegments, distinct: DistinctGraphs, costs: EditCosts) -> None:
        self._distinct, self._costs, self._load = distinct, costs, held.loader
        self._named = cache(held.named)

    def make(self, query: Graph, search: CertifiedSearch, view: EditView, seconds: float) -> tuple[SearchHit, ...]:
        """The nearest graphs, isomorphic ones each on its own."""
        positions, places = self._ranked(search)
        found, maps = search.found
        graphs = found[places]
        raw = search.known.lower[graphs], search.known.upper[graphs]
        shown = (view.of(bound, graphs).tolist() for bound in raw)
        proven = _prove(search, graphs).tolist()
        hits = []
        for position, place, low, high, lower, upper, sure in zip(
            positions.tolist(), places.tolist(), *(bound.tolist() for bound in raw), *shown, proven, strict=True
        ):
            id, load = self._named(position)
            first = int(self._distinct.first[found[place]])
            original = None if first == position else self._load(first)
            edits = partial(_explain, query, maps[place], original, (low, high), self._costs, seconds)
            exact = upper if low == high else None
            hits.append(SearchHit(id, upper, load, exact, lower, upper, sure, edits))
        return tuple(hits)

    def _ranked(self, search: CertifiedSearch) -> tuple[Positions, NDArray[np.int64]]:
        """Positions of the hits, ties by position, and the places of their graphs among those found."""
        found, _ = search.found
        positions, places = self._distinct.spread(found)
        distance = (search.known.upper / search.known.weight)[found[places]]
        order = np.lexsort((positions, distance))[: search.wanted]
        return positions[order], places[order]


def _prove(search: CertifiedSearch, graphs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """For each rank whether no graph behind it or outside can be nearer."""
    known = search.known
    lower = search.rates()
    upper = (known.upper / known.weight)[graphs]
    exact = known.lower[graphs] == known.upper[graphs]
    later = np.minimum.accumulate(lower[graphs][::-1])[::-1]
    used = np.bincount(graphs, minlength=len(lower))
    floor = lower[used < known.copies].min(initial=np.inf)
    behind = np.minimum(np.append(later[1:], np.inf), floor)
    proven: NDArray[np.bool_] = np.logical_and.accumulate(exact) & (upper <= behind + SAME)
    return proven


def _explain(
    query: Graph,
    node_map: NDArray[np.int64],
    original: Callable[[], Graph] | None,
    bounds: tuple[float, float],
    costs: EditCosts,
    seconds: float,
    found: Graph,
) -> EditDistance:
    """Bounds and edits; the map is to the original, of which the graph that was found may be a copy."""
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


CERTIFIED_SECONDS = 60.0
"""The automatic time limit of each query."""
_PROPOSED = 2
"""Graphs searched first, for each that is wanted: so many by the learned distance, and so many by bounds.

A model that was trained on other graphs proposes bad ones, and bounds alone miss near graphs; together they are better
than either."""
_LOOKED_AT = 3
"""Candidates of the learned search, for each that is proposed."""
_SHARED = 50
"""The whole index is coded once for all queries if it has no more graphs than this for each of them."""


class CertifiedAnswers:
    """What is the same for all queries of one call."""

    def __init__(
        self, held: HeldSegments, allowed: Allowed, costs: EditCosts, view: View, time_limit: float | None
    ) -> None:
        if view == "steinhaus" and not costs.is_unit:
            raise InvalidArgument("the Steinhaus view of edit distances is for unit costs; use view='raw' with others")
        if time_limit is not None:
            time_limit = checked_number(time_limit, "time_limit", "a number of seconds, or None")
        if not isinstance(costs, EditCosts):
            raise InvalidArgument(f"costs must be graphmetric.EditCosts; got {costs!r}")
        self._held, self._allowed, self._costs, self._view, self._time_limit = held, allowed, costs, view, time_limit
        self._watch = Watch()
        self._distinct = allowed.distinct
        self._nodes, self._edges = (
            np.concatenate(
                [np.empty(0, dtype=np.int64), *(getattr(one.segment.graphs, name) for one in held.segments)]
            )[self._distinct.first]
            for name in ("sizes", "edge_counts")
        )

    def answer(self, graphs: GraphCollection, queries: Sequence[Query] | None, k: int) -> list[SearchResult]:
        """A result for each graph that is asked for. Without their encoding, bounds alone say which to search first."""
        if len(self._distinct.positions) == 0:
            return [SearchResult(graph, (), self._view, SearchReport(0, True)) for graph in graphs]
        bounds = IndexBounds(self._held, self._distinct.first, graphs, self._costs)
        proposed = self._propose(queries, int(graphs.sizes.max()), k) if queries else None
        hits = CertifiedHits(self._held, self._distinct, self._costs)
        results = []
        for row, (graph, coder) in enumerate(zip(graphs, self._coders(graphs), strict=True)):
            started = clock()
            view = EditView(self._view, graph.num_nodes, graph.num_edges, self._nodes, self._edges)
            search = self._prepare(bounds.of(row), view, coder, k, started)
            learned = np.empty(0, dtype=np.int64) if proposed is None else proposed[row]
            proposals = _once(np.concatenate([learned, self._first_by_bounds(search, k)]))
            in_thread(partial(_run, search, proposals), self._watch)
            self._watch.restart()
            seconds = clock() - started
            report = SearchReport(self._allowed.count, True, search.removed(), seconds, not search.open.any())
            results.append(SearchResult(graph, hits.make(graph, search, view, seconds), self._view, report))
        return results

    def _prepare(self, lower: Floats, view: EditView, coder: Coder, k: int, started: float) -> CertifiedSearch:
        wanted = min(k, len(self._distinct.positions))
        deadline = np.inf if self._time_limit is None else started + self._time_limit
        return CertifiedSearch(
            Known.begin(lower, view.weight, self._distinct.copies), wanted, view.query_nodes, coder, deadline
        )

    def _coders(self, graphs: GraphCollection) -> Iterator[Coder]:
        first = self._distinct.first
        if len(first) <= _SHARED * len(graphs):
            coded = CodedGraphs(encode(graphs, self._held.collection(first), self._costs), None, self._watch)
            return (CodedAtOnce(coded, row) for row in range(len(graphs)))
        rows = range(len(graphs))
        return (CodedWhenNeeded(graphs[row : row + 1], self._collect, self._costs, self._watch) for row in rows)

    def _collect(self, graphs: Graphs) -> GraphCollection:
        return self._held.collection(self._distinct.first[graphs])

    def _propose(self, queries: Sequence[Query], largest: int, k: int) -> list[Graphs]:
        """For each query the graphs to search first, nearest first by the learned distance.

        Of small graphs their vectors decide: the learned distance itself takes longer than the search that it saves.
        """
        wanted = min(_PROPOSED * k, len(self._distinct.positions))
        groups = self._held.groups(self._allowed)
        found = propose(queries, groups, wanted, wanted if largest <= LARGEST_EASY else _LOOKED_AT * wanted)
        return [self._distinct.find(positions) for positions in found]

    def _first_by_bounds(self, search: CertifiedSearch, k: int) -> Graphs:
        return np.argsort(search.rates(), kind="stable")[: _PROPOSED * k]


def _run(search: CertifiedSearch, proposed: Graphs, _: Watch) -> None:
    search.run(proposed)


def _once(graphs: Graphs) -> Graphs:
    """Each graph where it first occurs."""
    return graphs[np.sort(np.unique(graphs, return_index=True)[1])]
