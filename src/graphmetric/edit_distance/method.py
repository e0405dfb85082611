"""What every way of computing an edit distance has in common.

Bounds of pairs so large that matrices over their nodes would not fit into memory.

The lower bound is the best of label counts, degree sequences and, where its one matrix fits, the Hausdorff edit
distance. The upper bound is what a map costs that gives nodes of high degree to nodes of high degree, equal ones first.
Both take memory that grows with the nodes and edges.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.atomic_files import in_bytes
from graphmetric._foundation.limits import available_memory
from graphmetric.edit_distance._kernels.bipartite import allocate_hausdorff, match_hausdorff, profile_nodes
from graphmetric.edit_distance._kernels.local_search import TrueCosts, price_maps
from graphmetric.edit_distance._kernels.packing import PackedGraphs
from graphmetric.edit_distance._kernels.vector_bounds import (
    bound_against_all,
    find_cheapest,
    lay_out_vectors,
    vectorize_graphs,
)
from graphmetric.edit_distance._kernels.workspace import WorkspaceSize, count_bytes
from graphmetric.edit_distance.scaling import EncodedProblem
from graphmetric.edit_distance.stopping import Watch, in_thread
from graphmetric.errors import NotEnoughMemory

_MOST_ENTRIES = 1 << 26
"""Of the matrix that the Hausdorff edit distance needs: half a gigabyte."""

Integers = NDArray[np.int64]


def bound_sparsely(problem: EncodedProblem, pair: Integers) -> tuple[int, int, Integers]:
    """Lower bound, upper bound, both in units, and node map of one pair (place in the first, in the second)."""
    first, second = _only(problem.first, int(pair[0])), _only(problem.second, int(pair[1]))
    node_map = _match_by_degree(problem, first, second)
    tables = problem.tables
    costs = TrueCosts(
        tables.node_substitute.astype(np.float64),
        tables.node_delete.astype(np.float64),
        tables.node_insert.astype(np.float64),
        tables.edge_cost[0].astype(np.float64),
        tables.edge_reverse,
    )
    work = np.zeros(len(second.node_code) + 1, np.int64), np.zeros(len(second.edge_code) + 1, np.int64)
    total = np.zeros(1)
    price_maps(first, second, costs, np.zeros((1, 2), dtype=np.int64), node_map[None, :], work, total)
    upper = int(total[0])
    lower = max(_bound_by_counts(problem, first, second), _bound_by_neighbourhoods(problem, first, second))
    return min(lower, upper), upper, node_map


def _bound_by_counts(problem: EncodedProblem, first: PackedGraphs, second: PackedGraphs) -> int:
    tables = problem.tables
    longest = max(len(first.node_code), len(second.node_code))
    layout = lay_out_vectors(len(tables.node_delete), tables.edge_cost.shape[1], longest)
    (query,), others = (vectorize_graphs(graph, tables.edge_reverse, layout) for graph in (first, second))
    doubled = np.zeros(1, dtype=np.int64)
    bound_against_all(query, others, layout, find_cheapest(tables), doubled)
    return -(-int(doubled[0]) // 2)


def _bound_by_neighbourhoods(problem: EncodedProblem, first: PackedGraphs, second: PackedGraphs) -> int:
    sizes, tables = (len(first.node_code), len(second.node_code)), problem.tables
    if max(sizes[0] * sizes[1], sum(sizes) * tables.edge_cost.shape[1]) > _MOST_ENTRIES:
        return 0
    profiles = profile_nodes(first, tables, False), profile_nodes(second, tables, True)
    pair, quadrupled = np.zeros((1, 2), dtype=np.int64), np.zeros(1, dtype=np.int64)
    match_hausdorff(first, second, tables, profiles, pair, True, allocate_hausdorff(*sizes), quadrupled)
    return -(-int(quadrupled[0]) // 4)


def _match_by_degree(problem: EncodedProblem, first: PackedGraphs, second: PackedGraphs) -> Integers:
    """A map: nodes of one code by falling degrees, then the others, where that is not dearer than a deletion."""
    tables = problem.tables
    degrees = [
        np.bincount(np.concatenate([graph.edge_tail, graph.edge_head]), minlength=len(graph.node_code))
        for graph in (first, second)
    ]
    node_map = np.full(len(first.node_code), -1, dtype=np.int64)
    rest: list[Integers] = []
    ranks = []
    for graph, degree in zip((first, second), degrees, strict=True):
        order = np.lexsort((-degree, graph.node_code))
        codes, starts = np.unique(graph.node_code[order], return_index=True)
        rank = np.arange(len(order)) - starts[np.searchsorted(codes, graph.node_code[order])]
        ranks.append((order, graph.node_code[order] * (1 << 32) + rank))
    _, mine, theirs = np.intersect1d(ranks[0][1], ranks[1][1], assume_unique=True, return_indices=True)
    node_map[ranks[0][0][mine]] = ranks[1][0][theirs]
    for (order, _), matched, degree in zip(ranks, (mine, theirs), degrees, strict=True):
        left = np.setdiff1d(np.arange(len(order)), matched, assume_unique=True)
        rest.append(order[left][np.argsort(-degree[order[left]], kind="stable")])
    count = min(len(rest[0]), len(rest[1]))
    nodes, images = rest[0][:count], rest[1][:count]
    codes, image_codes = first.node_code[nodes], second.node_code[images]
    around = tables.node_delete[codes] + tables.node_insert[image_codes]
    cheap = tables.node_substitute[codes, image_codes] <= around
    node_map[nodes[cheap]] = images[cheap]
    return node_map


def _only(graphs: PackedGraphs, place: int) -> PackedGraphs:
    """The collection of one graph."""
    nodes = slice(graphs.node_start[place], graphs.node_start[place + 1])
    edges = slice(graphs.edge_start[place], graphs.edge_start[place + 1])
    return PackedGraphs(
        np.array([0, nodes.stop - nodes.start]),
        graphs.node_code[nodes],
        graphs.node_twin[nodes],
        np.array([0, edges.stop - edges.start]),
        graphs.edge_tail[edges],
        graphs.edge_head[edges],
        graphs.edge_code[edges],
    )


Guarantee = Literal["exact", "upper bound", "lower bound", "estimate"]
MEMORY_LIMIT = 2 << 30
"""Bytes that the matrices of one computation may take."""
_ROUNDS = 4
"""How often a pair is solved at most, each time with finer units, because rounding keeps its bounds apart."""


class Solutions(NamedTuple):
    """What a method found for some pairs, in integer units of the encoded problem."""

    lower: NDArray[np.int64] | None
    upper: NDArray[np.int64] | None
    value: NDArray[np.float64]
    """The method's own answer: one of the bounds, or an estimate that is neither."""
    expanded: NDArray[np.int64]
    node_map: NDArray[np.int64] | None
    """(pairs, nodes of the largest first graph): node of the second graph, -1 for a deleted one."""


class PairBounds(NamedTuple):
    """What a method found for some pairs, in costs."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    """Infinite where no map without forbidden edits was found."""
    value: NDArray[np.float64]
    expanded: NDArray[np.int64]
    node_map: NDArray[np.int64] | None
    """As in :class:`Solutions`; it means nothing where ``upper`` is infinite."""
    rounded: NDArray[np.bool_]
    """Where equal bounds are equal within a tolerance only; see :mod:`graphmetric.edit_distance.scaling`."""


class EditDistanceMethod(ABC):
    """Base of all methods; a subclass is a frozen dataclass of its parameters and calls its kernel."""

    name: ClassVar[str]
    """What it is called on the command line."""
    guarantee: ClassVar[Guarantee]
    """What its answer is, compared with the true distance."""
    symmetric: ClassVar[bool] = True
    """Whether d(G, H) and d(H, G) are equal whenever the costs are symmetric."""
    replaceable: ClassVar[bool] = True
    """Whether cheaper bounds may stand in for the method where its matrices do not fit into memory."""

    @abstractmethod
    def solve(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
        """Compute the pairs (place in the first collection, place in the second), in units."""

    def solve_watched(self, problem: EncodedProblem, pairs: NDArray[np.int64], watch: Watch) -> Solutions:
        """As :meth:`solve`, but a method that can be stopped ends early, with what it knows, when the watch says so."""
        return self.solve(problem, pairs)

    def is_quick(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which pairs take so little time, milliseconds as a rule, that many may be solved at a time."""
        return np.ones(len(pairs), dtype=np.bool_)

    def quick_try(self) -> EditDistanceMethod | None:
        """What to try on quick pairs first, because it ends soon; what it leaves open is solved one by one."""
        return None

    def explain(self, problem: EncodedProblem, pair: NDArray[np.int64], found: PairBounds, watch: Watch) -> str | None:
        """Why the answer to one pair is not proven, where the method's name does not tell, such as a time limit."""
        if found.lower[0] == found.upper[0] or problem.is_small or not exceeds_memory(self.memory(problem, pair))[0]:
            return None
        return "the graphs are too large for its matrices: bounds by label counts, degrees and neighbourhoods"

    def bounds(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> PairBounds:
        """Compute the pairs in costs, in a thread of its own, so that Ctrl-C is heard."""
        return in_thread(lambda watch: self.bounds_watched(problem, pairs, watch))

    def bounds_watched(self, problem: EncodedProblem, pairs: NDArray[np.int64], watch: Watch) -> PairBounds:
        """Compute the pairs in costs: bounds that hold whatever was rounded, each pair in units that suit it.

        A pair whose bounds only rounding keeps apart is solved again below the cost of the map that is known then.
        """
        best: PairBounds | None = None
        todo, known = np.arange(len(pairs)), None
        for _ in range(_ROUNDS):
            best, again = self._round(problem, pairs, todo, known, best, watch)
            if len(again) == 0 or watch.is_over:
                break
            todo, known = again, best.upper[again]
        assert best is not None
        if self.guarantee == "estimate" or (self.guarantee == "lower bound" and best.node_map is None):
            return best
        return best._replace(value=(best.lower if self.guarantee == "lower bound" else best.upper).copy())

    def memory(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        """Bytes that the method needs for each pair at least."""
        return workspace_memory(problem, pairs, root_only=True)

    def _solve_in_memory(self, problem: EncodedProblem, pairs: NDArray[np.int64], watch: Watch) -> Solutions:
        """Solve the pairs that fit into memory; the others get bounds that take little of it."""
        large = np.zeros(len(pairs), dtype=bool) if problem.is_small else exceeds_memory(self.memory(problem, pairs))
        if not large.any():
            try:
                return self.solve_watched(problem, pairs, watch)
            except NotEnoughMemory:
                raise
            except MemoryError:  # there is less than it seemed, or room for all pairs takes more than room for each
                large = np.arange(len(pairs)) >= len(pairs) // 2
                if len(pairs) > 1:
                    halves = (self._solve_in_memory(problem, pairs[half], watch) for half in (large, ~large))
                    return merged(large, *halves)
        if not self.replaceable:
            raise NotEnoughMemory(_describe_need(self, problem, pairs[large]))
        bounds = _bound_sparsely(problem, pairs[large])
        return bounds if large.all() else merged(large, bounds, self._solve_in_memory(problem, pairs[~large], watch))

    def _round(
        self,
        problem: EncodedProblem,
        pairs: NDArray[np.int64],
        todo: NDArray[np.intp],
        known: NDArray[np.float64] | None,
        best: PairBounds | None,
        watch: Watch,
    ) -> tuple[PairBounds, NDArray[np.intp]]:
        """Solve some of the pairs; returns the best that is known of all, and which pairs finer units would help."""
        again = []
        for rows, scaled in problem.split(pairs[todo], known):
            places = todo[rows]
            watch.scale, watch.ceiling = scaled.scale, scaled.ceiling
            found = self._solve_in_memory(scaled, pairs[places], watch)
            new = _in_costs(scaled, pairs[places], found)
            if best is None and len(places) == len(pairs):
                best = new
            else:
                best = _nothing_known(problem, pairs, new) if best is None else best
                _take_better(best, places, new)
            if scaled.rounded and found.upper is not None:
                searched = (found.expanded == 0) | (found.lower is None) | (found.lower == found.upper)
                apart = searched & (best.lower[places] < best.upper[places]) & np.isfinite(best.upper[places])
                finer = 4 * scaled.scale <= problem.finest_scale(pairs[places], best.upper[places])
                again.append(places[apart & finer])
        assert best is not None
        return best, np.concatenate([todo[:0], *again])


def _in_costs(problem: EncodedProblem, pairs: NDArray[np.int64], found: Solutions) -> PairBounds:
    lower, upper, rounded = problem.in_costs(pairs, found.lower, found.upper, found.node_map)
    value = found.value / problem.scale
    value[np.isinf(lower)] = np.inf
    return PairBounds(lower, upper, value, found.expanded, found.node_map, rounded)


def _nothing_known(problem: EncodedProblem, pairs: NDArray[np.int64], example: PairBounds) -> PairBounds:
    lower, upper, value = np.zeros(len(pairs)), np.full(len(pairs), np.inf), np.zeros(len(pairs))
    maps = None if example.node_map is None else empty_maps(problem, pairs)
    return PairBounds(lower, upper, value, np.zeros(len(pairs), np.int64), maps, np.zeros(len(pairs), dtype=bool))


def _take_better(best: PairBounds, places: NDArray[np.intp], new: PairBounds) -> None:
    """Take over what is new of the pairs at some places."""
    better = new.upper < best.upper[places]
    if new.node_map is not None:
        assert best.node_map is not None
        best.node_map[places[better], : new.node_map.shape[1]] = new.node_map[better]
    lower = np.maximum(new.lower, best.lower[places])
    best.upper[places] = np.minimum(new.upper, best.upper[places])
    best.lower[places] = np.minimum(lower, best.upper[places])
    best.value[places] = new.value
    best.expanded[places] += new.expanded
    best.rounded[places] = new.rounded


def node_counts(problem: EncodedProblem, pairs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Nodes of the first and of the second graph of each pair."""
    return np.diff(problem.first.node_start)[pairs[:, 0]], np.diff(problem.second.node_start)[pairs[:, 1]]


def largest_sizes(problem: EncodedProblem, pairs: NDArray[np.int64]) -> tuple[int, int]:
    """Nodes of the largest first graph and of the largest second graph of the pairs."""
    first, second = node_counts(problem, pairs)
    return int(first.max(initial=0)), int(second.max(initial=0))


def smaller_sizes(problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Nodes of the smaller graph of each pair."""
    return np.minimum(*node_counts(problem, pairs))


def merged(chosen: NDArray[np.bool_], inside: Solutions, outside: Solutions) -> Solutions:
    """Solutions of the chosen pairs and of the others, put back in the order of the pairs."""

    def mix(a: NDArray[Any] | None, b: NDArray[Any] | None) -> Any:
        if a is None or b is None:
            return None
        width = [max(a.shape[1], b.shape[1])] if a.ndim == 2 else []
        whole = np.full([len(chosen), *width], -1, dtype=a.dtype)
        for part, rows in ((a, chosen), (b, ~chosen)):
            whole[(rows, slice(part.shape[1])) if part.ndim == 2 else rows] = part
        return whole

    return Solutions(*(mix(a, b) for a, b in zip(inside, outside, strict=True)))


Rows = TypeVar("Rows", Solutions, PairBounds)


def joined(parts: list[Rows]) -> Rows:
    """What one method found of some pairs, after what it found of others."""

    def join(columns: tuple[NDArray[Any] | None, ...]) -> Any:
        arrays = [column for column in columns if column is not None]
        if not arrays:
            return None
        width = max(array.shape[-1] for array in arrays)
        if arrays[0].ndim == 2:
            arrays = [np.pad(a, ((0, 0), (0, width - a.shape[1])), constant_values=-1) for a in arrays]
        return np.concatenate(arrays)

    return parts[0] if len(parts) == 1 else type(parts[0])(*(join(columns) for columns in zip(*parts, strict=True)))


def empty_maps(problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Room for a node map per pair."""
    return np.full((len(pairs), largest_sizes(problem, pairs)[0]), -1, dtype=np.int64)


def exceeds_memory(needed: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of these numbers of bytes are more than a computation may take, or than there are."""
    limit = float(MEMORY_LIMIT)
    if len(needed) and needed.max() > MEMORY_LIMIT / 16:
        limit = min(limit, available_memory() or limit)
    return needed > limit


def workspace_memory(problem: EncodedProblem, pairs: NDArray[np.int64], root_only: bool) -> NDArray[np.float64]:
    """Bytes of the workspace of each pair; where that is little for all together, the largest for all."""
    together = workspace_size(problem, pairs, root_only)
    enough = count_bytes(together)
    if enough <= MEMORY_LIMIT / 16:
        return np.full(len(pairs), float(enough))
    first, second = node_counts(problem, pairs)
    edges = np.diff(problem.first.edge_start)[pairs[:, 0]], np.diff(problem.second.edge_start)[pairs[:, 1]]
    each: Any = {
        "smaller": np.minimum(first, second),
        "larger": np.maximum(first, second),
        "edges": np.maximum(*edges),
    }
    return np.asarray(count_bytes(together._replace(**each)), dtype=np.float64)


def _describe_need(method: EditDistanceMethod, problem: EncodedProblem, pairs: NDArray[np.int64]) -> str:
    needed = method.memory(problem, pairs)
    k = int(np.argmax(needed))
    nodes = " and ".join(f"{int(count[k]):,}" for count in node_counts(problem, pairs))
    return (
        f"method {method.name!r} needs about {in_bytes(float(needed[k]))} of memory for two graphs of {nodes} nodes, "
        f"more than the {in_bytes(MEMORY_LIMIT)} that one pair may take or than there is; method 'exact' gives bounds"
    )


def _bound_sparsely(problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
    node_map = empty_maps(problem, pairs)
    lower, upper = np.zeros((2, len(pairs)), dtype=np.int64)
    for p, pair in enumerate(pairs):
        lower[p], upper[p], images = bound_sparsely(problem, pair)
        node_map[p, : len(images)] = images
    return Solutions(lower, upper, upper.astype(np.float64), np.zeros(len(pairs), dtype=np.int64), node_map)


def workspace_size(problem: EncodedProblem, pairs: NDArray[np.int64], root_only: bool = False) -> WorkspaceSize:
    """Room for the largest of the pairs; ``root_only`` for kernels that do not search."""
    first, second = node_counts(problem, pairs)
    first_edges = np.diff(problem.first.edge_start)[pairs[:, 0]]
    second_edges = np.diff(problem.second.edge_start)[pairs[:, 1]]
    tables = problem.tables
    return WorkspaceSize(
        smaller=int(np.minimum(first, second).max(initial=0)),
        larger=int(np.maximum(first, second).max(initial=0)),
        edges=int(np.maximum(first_edges, second_edges).max(initial=0)),
        edge_codes=tables.edge_cost.shape[1] - 1,
        null_nodes=problem.needs_null_nodes,
        root_only=root_only,
    )
