r"""Edit distances with limits: the least cost of edits when the number of edits of some kinds is limited.

``limits={"ring": 0, "element": 2}`` asks for edits that touch no ring and change at most two elements. The kind of an
edit is known from what it does to which node or edge, whatever else is edited, so each limit bounds a sum over edits.
Three steps give bounds, and in the end the distance itself. Each of them solves plain edit distances only, by the exact
search, with changed costs:

* *Limit 0.* An edit that is not allowed at all costs infinitely much. Where no ring edge may be deleted or inserted,
  the ring edges of the two graphs correspond one to one: a cycle that is kept is a cycle of the other graph. A node can
  then only become one that looks the same within the rings.
* *Prices.* Let :math:`n_k` be the number of edits of kind k and :math:`l_k` its limit. For any prices
  :math:`\lambda_k \ge 0`, the least :math:`\text{cost} + \sum_k \lambda_k (n_k - l_k)` over all edits is a lower bound,
  since the sum is not positive where the limits hold. The prices rise while a limit is exceeded and fall while it has
  room. Edits met on the way that keep the limits give upper bounds.
* *Branches.* Where a gap remains, one edit of a kind that exceeds its limit, such as deleting a certain edge, is either
  forbidden, or granted: it no longer counts, and the limits of its kinds are lower by one for all others. All edits
  that keep the limits fall under one of the two. When a limit has come down to 0, the rest of its kinds is forbidden,
  so the branches end.

Stopped early, the search returns the least bound of the open branches and the best edits so far.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance.costs import EditCosts
from graphmetric.edit_distance.edit_path import Edge, EditCounts, NodeMap, edge_places
from graphmetric.edit_distance.encoding import Marks, Prices, encode, price_edges, price_nodes
from graphmetric.edit_distance.methods import ExactSearch
from graphmetric.edit_distance.scaling import TOLERANCE, common_unit
from graphmetric.edit_distance.stopping import Watch
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.edits import edge_key
from graphmetric.graphs.graph import Graph

_FIELDS = tuple(each.name for each in fields(EditCounts))
_PLACES = ("ring", "linker", "terminal")
COUNTED_KINDS: dict[str, tuple[str, ...]] = {
    **{name: (name,) for name in _FIELDS},
    **{f"edges_{how}": tuple(f"{place}_edges_{how}" for place in _PLACES) for how in ("deleted", "inserted")},
    **{place: (f"{place}_edges_deleted", f"{place}_edges_inserted") for place in _PLACES},
    "element": ("nodes_relabeled",),
    "bond": ("edges_relabeled",),
    "total": _FIELDS,
}
"""The kinds that can be limited, and the fields of :class:`EditCounts` that each of them sums up."""

_PAIR = np.zeros((1, 2), dtype=np.int64)
_ROOT_STEPS, _STEPS = 12, 2
"""How often the prices are changed before the first branching, and in each branch."""
_STEPS_PER_COST = 2
"""Prices are multiples of the cheapest edit, divided by this; finer ones make the searches longer."""
_ROUNDS = 6
"""How far around a node rings are compared where none may change."""
_ROUNDING = 1e-3
"""The share of a unit by which sums of costs may be wrong."""

Single = tuple[str, int]
"""A single edit: a field of :class:`EditCounts`, and the node or edge it inserts, deletes or relabels."""


def check_limits(limits: Mapping[str, int]) -> dict[str, int]:
    """The limits by kind, or an error that says which kinds there are.

    Example:
        >>> check_limits({"ring": 0, "element": 2})
        {'ring': 0, 'element': 2}
    """
    if not isinstance(limits, Mapping):
        raise InvalidArgument(
            f"limits is of type {type(limits).__name__}; give the most edits of each kind, such as {{'ring': 0}}"
        )
    for kind, most in limits.items():
        if kind not in COUNTED_KINDS:
            raise InvalidArgument(f"limits names {kind!r}; the kinds of edits are {', '.join(COUNTED_KINDS)}")
        if isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 0:
            raise InvalidArgument(f"limits[{kind!r}] is {most!r}; it must be a whole number that is not negative")
    return {kind: int(most) for kind, most in limits.items()}


class LimitedAnswer(NamedTuple):
    """Bounds of a limited edit distance, and the edits that attain the upper one."""

    lower: float
    """Infinite where it is proven that no edits keep the limits."""
    upper: float
    """Infinite where no edits that keep the limits were found."""
    node_map: NodeMap | None
    replaced: frozenset[Edge]
    """Edges of the first graph that are deleted and inserted anew where the map would relabel them."""
    expanded: int
    """Nodes of all search trees."""
    rounded: bool
    """Whether equal bounds are equal only within a tolerance; see :mod:`graphmetric.edit_distance.scaling`."""


@dataclass(frozen=True, slots=True)
class LimitedSearch:
    """The least cost of edits that keep limits.

    Example:
        >>> ring = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
        >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)])
        >>> LimitedSearch({"ring": 1}).solve_watched(ring, chain, EditCosts(), Watch()).upper
        1.0
        >>> LimitedSearch({"ring": 0}).solve_watched(ring, chain, EditCosts(), Watch()).lower
        inf
    """

    limits: Mapping[str, int]
    """The most edits of each kind; see :data:`COUNTED_KINDS`."""
    time_limit: float | None = None
    """Seconds of wall-clock time for each pair."""
    upper_bound: float | None = None
    """The search ends once the distance is proven to be larger than this."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "limits", check_limits(self.limits))

    def solve_watched(self, first: Graph, second: Graph, costs: EditCosts, watch: Watch) -> LimitedAnswer:
        """Solve one pair; ends early when the watch says so."""
        with watch.limited(self.time_limit):
            search = _PairSearch(self.limits, self.upper_bound, first, second, costs, watch)
            return search.run()

    def explain(self, found: LimitedAnswer, watch: Watch) -> str | None:
        """Why an answer is not proven; to be asked before the watch is used again."""
        if found.lower == found.upper:
            return None
        if self.upper_bound is not None and found.lower > self.upper_bound:
            return f"more than {self.upper_bound:g}"
        if watch.canceled:
            return "canceled"
        if watch.expired:
            return f"stopped by the time limit of {self.time_limit:g} s"
        return "interrupted" if watch.stopped else "the graphs are too large for the exact search"


@dataclass(eq=False)
class _Branch:
    """The edits that remain when some single ones are forbidden and others granted."""

    lower: float
    prices: dict[str, float]
    """The price of each limited kind with which the best bound was found."""
    forbidden: frozenset[Single] = frozenset()
    granted: frozenset[Single] = frozenset()
    closed: bool = False
    """Whether more work would not raise its lower bound: the branch is solved, or the search had to give up."""
    exceeding: list[list[Single]] = field(default_factory=list)
    """Edits that exceeded a limit."""

    def __lt__(self, other: _Branch) -> bool:
        return (self.lower, -len(self.granted)) < (other.lower, -len(other.granted))


class _Additions(NamedTuple):
    """What is added to the costs of edits, so that none that costs too much is of interest.

    Instead of infinite amounts, which would make the search slower, edits that are not allowed cost just enough more
    than everything that is still of interest.
    """

    by_field: dict[str, float]
    """By field of :class:`EditCounts`, for edits that are neither forbidden nor granted one by one."""
    single: float
    """For a forbidden single edit."""
    apart: float
    """For nodes and edges that cannot become each other."""


class _PairSearch:
    """The search for one pair."""

    def __init__(
        self,
        limits: Mapping[str, int],
        upper_bound: float | None,
        first: Graph,
        second: Graph,
        costs: EditCosts,
        watch: Watch,
    ) -> None:
        self.limits, self.costs, self.watch = limits, costs, watch
        self.graphs = first, second
        self.bound = math.inf if upper_bound is None else upper_bound
        self.collections = GraphCollection([first]), GraphCollection([second])
        self.places = tuple(_places(collection) for collection in self.collections)
        self.edges = tuple([(u, v) for u, v in graph.edges.tolist()] for graph in self.graphs)
        names = dict[Any, int]()
        self.keeps_rings = _keeps_rings(limits)
        self.looks = tuple(
            _looks_in_rings(graph, names) if self.keeps_rings else [0] * graph.num_nodes for graph in self.graphs
        )
        self.number_of_edge = {edge: k for k, edge in enumerate(self.edges[1])}
        columns = [collection.columns for collection in self.collections]
        self.node_prices, self.edge_prices = price_nodes(columns, costs), price_edges(columns, costs)
        finite = np.unique(np.concatenate([_finite(table) for table in (*self.node_prices[1:], *self.edge_prices[1:])]))
        self.unit = common_unit(finite)
        self.largest = _largest_total(self.node_prices) + _largest_total(self.edge_prices)
        self.grid = float(finite[finite > 0].min(initial=math.inf)) / _STEPS_PER_COST
        self.grid = self.grid if math.isfinite(self.grid) else 1.0
        self.best = LimitedAnswer(0.0, math.inf, None, frozenset(), 0, rounded=self.unit is None)
        self.floor = 0.0  # edits cost at least this if they keep the limits that are 0
        self.expanded, self.rounded = 0, False

    def run(self) -> LimitedAnswer:
        """Branch until the distance is proven, or all work must end."""
        root = _Branch(0.0, dict.fromkeys(self.limits, 0.0))
        waiting, least = [root], math.inf
        if Counter(look for look in self.looks[0] if look) != Counter(look for look in self.looks[1] if look):
            return self.best._replace(lower=math.inf)
        while waiting and not self.watch.is_over:
            branch = heappop(waiting)
            if branch.lower > self.cutoff:
                heappush(waiting, branch)
                break
            self._raise_bound(branch, _ROOT_STEPS if branch is root else _STEPS)
            if branch.closed or branch.lower > self.cutoff or self.watch.is_over:
                least = min(least, branch.lower)
                continue
            for child in self._divide(branch):
                heappush(waiting, child)
        lower = min([self.best.upper, least, *(branch.lower for branch in waiting)])
        if lower > self.largest * (1 + TOLERANCE):
            lower = math.inf
        if self.unit is None or self.rounded:
            lower = self.best.upper if lower >= (1 - TOLERANCE) * self.best.upper else lower
        return self.best._replace(lower=lower, expanded=self.expanded, rounded=self.unit is None or self.rounded)

    @property
    def cutoff(self) -> float:
        """Edits that cost more than this are of no interest."""
        if self.unit is None:
            return min(self.bound, self.largest * (1 + 2 * TOLERANCE), self.best.upper * (1 - TOLERANCE / 2))
        spare = 2 * _ROUNDING * float(self.unit)
        return min(self.bound, self.largest + spare, self.best.upper - float(self.unit) + spare)

    def _raise_bound(self, branch: _Branch, steps: int) -> None:
        """Change the prices of a branch so that its bound rises, and look at the edits on the way."""
        prices, tried = branch.prices, set[tuple[float, ...]]()
        while not (branch.closed or branch.lower > self.cutoff or self.watch.is_over):
            tried.add(tuple(prices.values()))
            excess = self._solve(branch, prices)
            if excess is None:
                return
            if len(tried) > steps:
                if branch.exceeding:
                    return
                prices = dict.fromkeys(prices, 0.0)  # without prices, edits exceed a limit or are the best
                continue
            changed = self._changed(branch, prices, excess)
            if tuple(changed.values()) in tried:
                if branch.exceeding:
                    return
                changed = dict.fromkeys(prices, 0.0)
            prices = changed

    def _changed(self, branch: _Branch, prices: dict[str, float], excess: dict[str, int]) -> dict[str, float]:
        """Prices that go up where limits are exceeded and down where they have room."""
        wanted = min(self.best.upper, self.bound + self.grid)
        if not math.isfinite(wanted):
            top = 2 * _STEPS_PER_COST * self.grid
            return {kind: max(top, 2 * price) if excess[kind] > 0 else price for kind, price in prices.items()}
        moving = {kind: more for kind, more in excess.items() if more > 0 or prices[kind] > 0}
        square = sum(more * more for more in moving.values())
        step = max(wanted - branch.lower, self.grid) / max(1, square)
        changed = {k: self.grid * round(max(0.0, p + step * moving.get(k, 0)) / self.grid) for k, p in prices.items()}
        if changed == prices and moving:
            kind = max(moving, key=lambda k: abs(moving[k]))
            changed[kind] = max(0.0, prices[kind] + math.copysign(self.grid, moving[kind]))
        return changed

    def _solve(self, branch: _Branch, prices: dict[str, float]) -> dict[str, int] | None:
        """Solve the branch with these prices; returns by how much each limit is exceeded, None if it is settled."""
        left = {kind: most - _count(branch.granted, kind) for kind, most in self.limits.items()}
        allowance = sum(prices[kind] * most for kind, most in left.items())
        most = self.cutoff + allowance
        added = self._additions(prices, left, most)
        problem = encode(*self.collections, self.costs, self._marks(branch, added))
        method = ExactSearch(upper_bound=most)
        found = method.bounds_watched(problem, _PAIR, self.watch)
        self.expanded += int(found.expanded[0])
        self.rounded = self.rounded or bool(found.rounded[0] and problem.rounded)
        lower = self._rounded_up(float(found.lower[0]) - allowance)
        if not any(prices.values()) and not branch.forbidden and not branch.granted:
            self.floor = max(self.floor, lower)
        if lower >= branch.lower:
            branch.lower, branch.prices = lower, prices
        branch.closed = not math.isfinite(found.upper[0])
        if branch.closed:
            return None
        assert found.node_map is not None
        images = found.node_map[0, : self.graphs[0].num_nodes].tolist()
        node_map = tuple(None if v < 0 else v for v in images)
        edits, replaced, cost = self._edits(node_map, branch, added)
        self._offer(node_map, edits, replaced, cost)
        branch.closed = bool(found.lower[0] < found.upper[0] or found.upper[0] > most * (1 + TOLERANCE))
        if branch.closed:  # nothing that is cheap enough is left, or the search had to give up
            return None
        excess = {kind: _count(edits, kind, but=branch.granted) - room for kind, room in left.items()}
        if any(more > 0 for more in excess.values()):
            branch.exceeding.append(edits)
        elif all(more == 0 or prices[kind] == 0 for kind, more in excess.items()):
            branch.lower, branch.closed = max(branch.lower, cost), True
            return None
        return excess

    def _divide(self, branch: _Branch) -> Iterable[_Branch]:
        """Forbid one edit, or grant it."""
        left = {kind: most - _count(branch.granted, kind) for kind, most in self.limits.items()}
        edits = branch.exceeding[-1]
        kind = max(left, key=lambda k: _count(edits, k, but=branch.granted) - left[k])
        seen = Counter(edit for some in branch.exceeding for edit in some)
        candidates = [edit for edit in edits if edit[0] in COUNTED_KINDS[kind] and edit not in branch.granted]
        single = max(candidates, key=seen.__getitem__)
        yield _Branch(branch.lower, branch.prices, branch.forbidden | {single}, branch.granted)
        if all(room > 0 for other, room in left.items() if single[0] in COUNTED_KINDS[other]):
            yield _Branch(branch.lower, branch.prices, branch.forbidden, branch.granted | {single})

    def _additions(self, prices: dict[str, float], left: dict[str, int], most: float) -> _Additions:
        """What is added to the costs, given how many edits of each kind are left and the most that is of interest."""
        apart, single = (math.ceil(more / self.grid + 1) * self.grid for more in (most, most - self.floor))
        by_field = dict.fromkeys(_FIELDS, 0.0)
        for kind, room in left.items():
            price = prices[kind] if room else single if self.limits[kind] else apart
            for name in COUNTED_KINDS[kind]:
                by_field[name] = min(apart, by_field[name] + price)
        return _Additions(by_field, single, apart)

    def _marks(self, branch: _Branch, added: _Additions) -> Marks:
        nodes = [_node_prices(added.by_field, looks) for looks in self.looks]
        edges = [_edge_prices(added.by_field, places, self.keeps_rings) for places in self.places]
        for singles, price in ((branch.forbidden, added.single), (branch.granted, 0.0)):
            for name, k in singles:
                column = ("relabeled", "deleted", "inserted").index(name.rpartition("_")[2])
                (nodes if name.startswith("nodes") else edges)[column == 2][k, column] = price
        return _marks(nodes, edges, added.apart)

    def _edits(
        self, node_map: NodeMap, branch: _Branch, added: _Additions
    ) -> tuple[list[Single], frozenset[Edge], float]:
        """The edits of a map, edges replaced where that is cheaper with the added prices; and their true cost."""

        def extra(edit: Single) -> float:
            if edit in branch.granted:
                return 0.0
            return added.single if edit in branch.forbidden else added.by_field[edit[0]]

        nodes, edges = self.node_prices, self.edge_prices
        (kinds, other_kinds), (edge_kinds, other_edge_kinds) = nodes.kinds, edges.kinds
        edits, replaced, costs = list[Single](), set[Edge](), list[float]()

        def edit(name: str, k: int, cost: Any) -> None:
            edits.append((name, k))
            costs.append(float(cost))

        for u, v in enumerate(node_map):
            if v is None:
                edit("nodes_deleted", u, nodes.delete[kinds[u]])
            elif kinds[u] != other_kinds[v]:
                edit("nodes_relabeled", u, nodes.substitute[kinds[u], other_kinds[v]])
        for v in set(range(len(other_kinds))).difference(node_map):
            edit("nodes_inserted", v, nodes.insert[other_kinds[v]])
        kept = set[int]()
        for e, (u, w) in enumerate(self.edges[0]):
            kind, x, y = edge_kinds[e], node_map[u], node_map[w]
            ends = None if x is None or y is None else edge_key(x, y, self.graphs[1].directed)
            f = None if ends is None else self.number_of_edge.get(ends)
            deletion = f"{_PLACES[self.places[0][e]]}_edges_deleted", e
            if f is None:
                edit(*deletion, edges.delete[kind])
                continue
            other = other_edge_kinds[f]
            insertion = f"{_PLACES[self.places[1][f]]}_edges_inserted", f
            relabel = edges.substitute[kind, other] + extra(("edges_relabeled", e))
            replace = edges.delete[kind] + extra(deletion) + edges.insert[other] + extra(insertion)
            if kind != other and relabel > replace:
                edit(*deletion, edges.delete[kind])
                replaced.add((u, w))
                continue
            kept.add(f)
            if kind != other:
                edit("edges_relabeled", e, edges.substitute[kind, other])
        for f in set(range(len(other_edge_kinds))) - kept:
            edit(f"{_PLACES[self.places[1][f]]}_edges_inserted", f, edges.insert[other_edge_kinds[f]])
        total = math.fsum(costs)
        if self.unit is not None and math.isfinite(total):
            total = round(total / self.unit) * self.unit.numerator / self.unit.denominator
        return edits, frozenset(replaced), total

    def _offer(self, node_map: NodeMap, edits: list[Single], replaced: frozenset[Edge], cost: float) -> None:
        """Keep edits that are better than the best ones so far."""
        keeps = all(_count(edits, kind) <= most for kind, most in self.limits.items())
        if keeps and cost < self.best.upper:
            self.best = self.best._replace(upper=cost, node_map=node_map, replaced=replaced)

    def _rounded_up(self, lower: float) -> float:
        """The least cost that is a multiple of the unit and not below a bound."""
        if self.unit is None or not math.isfinite(lower):
            return lower
        units = math.ceil(lower * self.unit.denominator / self.unit.numerator - _ROUNDING)
        return units * self.unit.numerator / self.unit.denominator


def _count(edits: Iterable[Single], kind: str, but: frozenset[Single] = frozenset()) -> int:
    """How many edits are of a kind."""
    return sum(edit[0] in COUNTED_KINDS[kind] and edit not in but for edit in edits)


def _finite(table: NDArray[np.float64]) -> NDArray[np.float64]:
    return table[np.isfinite(table)]


def _largest_total(prices: Prices) -> float:
    """At least as much as the finite edits of nodes or edges can cost together."""
    first, second = prices.kinds
    dearest = np.column_stack([prices.substitute, prices.delete])
    deleted = np.where(np.isfinite(dearest), dearest, 0.0).max(axis=1, initial=0.0)
    inserted = np.where(np.isfinite(prices.insert), prices.insert, 0.0)
    return float(deleted[first].sum() + inserted[second].sum())


def _places(collection: GraphCollection) -> NDArray[np.int64]:
    """The place of every edge, as its position in `_PLACES`."""
    return np.array([_PLACES.index(place) for graph in collection for place in edge_places(graph)], dtype=np.int64)


def _keeps_rings(limits: Mapping[str, int]) -> bool:
    """Whether the limits allow neither to delete nor to insert ring edges."""
    return _forbidden(limits).issuperset(COUNTED_KINDS["ring"])


def _forbidden(limits: Mapping[str, int]) -> set[str]:
    """The fields of :class:`EditCounts` that must be 0."""
    return {name for kind, most in limits.items() if most == 0 for name in COUNTED_KINDS[kind]}


def _looks_in_rings(graph: Graph, names: dict[Any, int]) -> list[int]:
    """A number for each node that depends on the ring edges around it alone; 0 for nodes in no ring.

    ``names`` numbers the looks, so that they can be compared between graphs.
    """
    neighbours: list[set[int]] = [set() for _ in range(graph.num_nodes)]
    for (u, v), place in zip(graph.edges.tolist(), edge_places(graph), strict=True):
        if place == "ring" and u != v:
            neighbours[u].add(v)
            neighbours[v].add(u)
    looks = [len(around) for around in neighbours]
    for step in range(_ROUNDS):
        seen = ((step, looks[u], *sorted(looks[v] for v in around)) for u, around in enumerate(neighbours))
        looks = [names.setdefault(each, len(names) + 1) if each[1] else 0 for each in seen]
    return looks


def _node_prices(added: Mapping[str, float], looks: list[int]) -> NDArray[np.float64]:
    """One row for each node: what relabeling, deleting and inserting it costs in addition, and its class."""
    rows = np.empty((len(looks), 4))
    rows[:, :3] = added["nodes_relabeled"], added["nodes_deleted"], added["nodes_inserted"]
    rows[:, 3] = looks
    return rows


def _edge_prices(added: Mapping[str, float], places: NDArray[np.int64], keeps_rings: bool) -> NDArray[np.float64]:
    """The same for edges, one row for each."""
    rows = [
        [added["edges_relabeled"], added[f"{place}_edges_deleted"], added[f"{place}_edges_inserted"]]
        for place in _PLACES
    ]
    is_apart = [float(keeps_rings and place == "ring") for place in _PLACES]
    return np.column_stack([rows, is_apart])[places]


def _marks(nodes: list[NDArray[np.float64]], edges: list[NDArray[np.float64]], apart: float) -> Marks:
    """Marks from the additional prices of all nodes and edges."""
    node_marks, node_table = _numbered(nodes)
    edge_marks, edge_table = _numbered(edges)
    return Marks(node_marks, edge_marks, node_table, edge_table, apart)


def _numbered(rows: list[NDArray[np.float64]]) -> tuple[list[NDArray[np.int64]], NDArray[np.float64]]:
    table, place = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
    ends = np.cumsum([len(part) for part in rows])[:-1]
    return np.split(place.ravel().astype(np.int64), ends), table
