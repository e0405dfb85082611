"""The edit distance of two graphs: its bounds, and the edits that attain the upper one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, fields
from typing import Any, Literal

import numpy as np

from graphmetric._foundation.limits import clock
from graphmetric._foundation.progress import progress
from graphmetric.edit_distance.costs import EditCosts, Ignorable
from graphmetric.edit_distance.encoding import encode
from graphmetric.edit_distance.method import Answers, EditDistanceMethod, TimeLimit, as_method
from graphmetric.edit_distance.scaling import TOLERANCE
from graphmetric.edit_distance.stopping import Watch, work_in_threads
from graphmetric.errors import SearchInterrupted
from graphmetric.formats.conversion import as_graph
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.edits import (
    DeleteEdge,
    DeleteNode,
    DraftEdge,
    Edit,
    InsertEdge,
    InsertNode,
    NodeAttributes,
    RelabelEdge,
    RelabelNode,
    apply_edits,
)
from graphmetric.graphs.graph import Graph

SECONDS = 10.0
"""What a time limit of "auto" means for one pair."""
_PAIR = np.zeros((1, 2), dtype=np.int64)
NodeMap = tuple[int | None, ...]
"""For each node of the first graph the node of the second that it becomes, or None if it is deleted."""


@dataclass(frozen=True, slots=True, eq=False)
class EditDistance:
    """Bounds of the edit distance from ``first`` to ``second``, and a node map that attains the upper one."""

    first: Graph
    second: Graph
    costs: EditCosts
    method: str
    """The name of the method that computed it."""
    lower: float
    """The distance is at least this; 0 where the method gives no lower bound, infinite where no edits that the costs
    allow lead from one graph to the other."""
    upper: float
    """The distance is at most this; infinite where the method gives no upper bound or found no allowed edits."""
    value: float
    """The method's own answer: one of the bounds, or an estimate that is neither."""
    node_map: NodeMap | None
    """For each node of ``first`` the node of ``second`` it becomes, None if it is deleted; None if no map is known."""
    nodes_expanded: int
    """Nodes of the search tree, or steps of an iteration; 0 for methods that do neither."""
    seconds: float
    """Wall-clock time, compilation not counted."""
    tolerance: float = 0.0
    """The share of ``upper`` by which the distance may be smaller though it is ``exact``: 0 where all costs are
    multiples of one unit, 1e-9 where they had to be rounded."""
    note: str | None = None
    """Why the method could not do what it is meant to do, such as a time limit; None if it did."""

    @property
    def exact(self) -> bool:
        """Whether the distance is proven."""
        return self.lower == self.upper

    @property
    def impossible(self) -> bool:
        """Whether it is proven that no edits of finite cost lead from one graph to the other."""
        return self.lower == float("inf")

    @property
    def edit_path(self) -> EditPath | None:
        """The edits of the node map, which cost ``upper``; None for methods that give no map."""
        return None if self.node_map is None else edit_path_of(self.first, self.second, self.node_map, self.costs)

    def __repr__(self) -> str:
        if self.impossible:
            known = "inf: no allowed edits lead there, exact"
        elif self.exact:
            known = f"{self.upper:g}, exact"
        elif self.node_map is None and self.lower != self.value:
            known = f"about {self.value:g}"
        elif self.value not in (self.lower, self.upper):
            known = f"{self.value:g}; between {self.lower:g} and {self.upper:g}"
        else:
            known = f"between {self.lower:g} and {self.upper:g}"
        return f"EditDistance({known}, by {self.method}{f': {self.note}' if self.note else ''})"

    def _repr_svg_(self) -> str | None:
        from graphmetric.drawing.alignment import draw_alignment  # only notebooks need it

        return None if self.node_map is None else draw_alignment(self)


def graph_edit_distance(
    first: Any,
    second: Any,
    *,
    method: str | EditDistanceMethod = "exact",
    costs: EditCosts | None = None,
    time_limit: TimeLimit = "auto",
) -> EditDistance:
    """The least cost of edits that turn ``first`` into ``second``, or bounds on it.

    Args:
        first: A graph; anything :func:`graphmetric.as_graph` takes.
        second: Another one.
        method: A method object or its name, such as ``"exact"`` or ``"beam:10"``.
        costs: The price list; by default every edit costs one.
        time_limit: Seconds after which ``exact`` and ``relaxed`` return the bounds they have. "auto" is 10 seconds for
            a method that is given by its name, while a method object keeps its own limits. None is no limit.

    Raises:
        SearchInterrupted: Ctrl-C was pressed. It is a ``KeyboardInterrupt``; its ``known`` is the result so far.

    Example:
        >>> from graphmetric import Graph
        >>> ring = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], node_labels="CCCO")
        >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], node_labels="CCCN")
        >>> result = graph_edit_distance(ring, chain)
        >>> result
        EditDistance(2, exact, by exact)
        >>> print(result.edit_path)
        relabel node 3 'O' to 'N'
        delete edge (0, 3)
    """
    g, h = as_graph(first), as_graph(second)
    costs = costs or EditCosts()
    solver = as_method(method, time_limit=time_limit, auto=SECONDS)
    started = clock()
    problem = encode(GraphCollection([g]), GraphCollection([h]), costs)
    found = list[tuple[Answers, str | None]]()

    def solve(watch: Watch) -> None:
        answer = solver.bounds_watched(problem, _PAIR, watch)
        found.append((answer, solver.explain(problem, _PAIR, answer, watch)))

    def result() -> EditDistance:
        return _result(g, h, costs, solver, *found[0], clock() - started)

    try:
        with progress(f"edit distance ({solver.name})", None, "s") as bar:

            def show(watches: Sequence[Watch]) -> None:
                bounds = watches[0].bounds()
                if bounds is not None:
                    bar.advance(0, f"between {bounds[0]:g} and {bounds[1]:g}")

            work_in_threads(solve, [Watch()], show)
    except KeyboardInterrupt:
        if not found:  # a method that cannot be stopped
            raise
        raise SearchInterrupted(result()) from None
    return result()


def _result(
    first: Graph,
    second: Graph,
    costs: EditCosts,
    solver: EditDistanceMethod,
    found: Answers,
    note: str | None,
    seconds: float,
) -> EditDistance:
    node_map = None
    if found.node_map is not None and np.isfinite(found.upper[0]):
        images = found.node_map[0, : first.num_nodes].tolist()
        node_map = tuple(None if v < 0 else v for v in images)
    return EditDistance(
        first=first,
        second=second,
        costs=costs,
        method=solver.name,
        lower=float(found.lower[0]),
        upper=float(found.upper[0]),
        value=float(found.value[0]),
        node_map=node_map,
        nodes_expanded=int(found.expanded[0]),
        seconds=seconds,
        tolerance=TOLERANCE if found.rounded[0] else 0.0,
        note=note,
    )


EdgePlace = Literal["ring", "linker", "terminal"]
"""Where an edge lies: in a cycle; at a node that has no other neighbour; or neither, so that it links larger parts."""

_COUNTED: dict[type[Edit], str] = {
    RelabelNode: "nodes_relabeled",
    RelabelEdge: "edges_relabeled",
    DeleteNode: "nodes_deleted",
    DeleteEdge: "edges_deleted",
    InsertNode: "nodes_inserted",
    InsertEdge: "edges_inserted",
}
"""Under which name of :class:`EditCounts` edits are counted, after their place if they have one."""


@dataclass(frozen=True, slots=True)
class EditCounts:
    """How many edits of each kind there are. Deleted edges are divided by their places in the first graph, inserted
    ones by their places in the second; directions do not matter, and a self-loop is a ring.

    In molecules a relabeled node is an atom of another element, and a relabeled edge a bond of another order.

    Example:
        >>> print(EditCounts(nodes_relabeled=1, ring_edges_deleted=2))
        1 node relabeled, 2 ring edges deleted
    """

    nodes_relabeled: int = 0
    edges_relabeled: int = 0
    ring_edges_deleted: int = 0
    linker_edges_deleted: int = 0
    terminal_edges_deleted: int = 0
    nodes_deleted: int = 0
    nodes_inserted: int = 0
    ring_edges_inserted: int = 0
    linker_edges_inserted: int = 0
    terminal_edges_inserted: int = 0

    @property
    def edges_deleted(self) -> int:
        """Deleted edges of all places."""
        return self.ring_edges_deleted + self.linker_edges_deleted + self.terminal_edges_deleted

    @property
    def edges_inserted(self) -> int:
        """Inserted edges of all places."""
        return self.ring_edges_inserted + self.linker_edges_inserted + self.terminal_edges_inserted

    @property
    def total(self) -> int:
        """All edits; with unit costs, what they cost."""
        return sum(astuple(self))

    def __str__(self) -> str:
        counted = ((field.name.replace("_", " "), getattr(self, field.name)) for field in fields(self))
        words = [f"{n} {what.replace('s ', ' ', 1) if n == 1 else what}" for what, n in counted if n]
        return ", ".join(words) or "none"


@dataclass(frozen=True, slots=True)
class EditPath:
    """Edits that turn one graph into another, in an order in which they can be applied."""

    edits: tuple[Edit, ...]
    places: tuple[EdgePlace | None, ...]
    """For each edit where the edge that it deletes or inserts lies, in the graph that has it; None for other edits."""
    ignored: frozenset[Ignorable] = frozenset()
    """Attributes that the costs ignore; the edits leave them out."""

    @property
    def counts(self) -> EditCounts:
        """How many edits of each kind there are.

        Example:
            >>> ring = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], node_labels="CCCO")
            >>> chain = Graph(5, [(0, 1), (1, 2), (2, 3), (3, 4)], node_labels="CCCNC")
            >>> print(graph_edit_distance(ring, chain).edit_path.counts)
            1 node relabeled, 1 ring edge deleted, 1 node inserted, 1 terminal edge inserted
        """
        names = (_COUNTED[type(edit)] for edit in self.edits)
        placed = zip(names, self.places, strict=True)
        return EditCounts(**Counter(name if place is None else f"{place}_{name}" for name, place in placed))

    def apply(self, graph: Graph) -> Graph:
        """The first graph after the edits: isomorphic to the second, ignored attributes aside."""
        return apply_edits(without(graph, self.ignored), self.edits)

    def __len__(self) -> int:
        return len(self.edits)

    def __iter__(self) -> Iterator[Edit]:
        return iter(self.edits)

    def __str__(self) -> str:
        return "\n".join(map(str, self.edits))


def edit_path_of(first: Graph, second: Graph, node_map: NodeMap, costs: EditCosts) -> EditPath:
    """Substitutions, then deletions, then insertions; nodes are numbered as :mod:`graphmetric.graphs.edits` says."""
    first, second = without(first, costs.ignore), without(second, costs.ignore)
    number = {v: u for u, v in enumerate(node_map) if v is not None}
    inserted = [v for v in range(second.num_nodes) if v not in number]
    number |= {v: first.num_nodes + k for k, v in enumerate(inserted)}
    old, target = edges_of(first), edges_of(second).items()
    new = {edge_key(number[u], number[v], first.directed): edge for (u, v), edge in target}
    labels, new_labels = _labels(first), _labels(second)
    edits: list[Edit] = []
    for u, v in enumerate(node_map):
        if v is not None and not _same_node(first, u, second, v):
            edits.append(RelabelNode(u, labels[u], new_labels[v], _attributes(second, v)))
    for (u, v), edge in old.items():
        if (u, v) in new and new[u, v] != edge:
            weight = None if new[u, v].weight == edge.weight else new[u, v].weight
            edits.append(RelabelEdge(u, v, edge.label, new[u, v].label, weight))
    edits += [DeleteEdge(u, v, edge.label) for (u, v), edge in old.items() if (u, v) not in new]
    edits += [DeleteNode(u, labels[u]) for u, v in enumerate(node_map) if v is None]
    edits += [InsertNode(number[v], new_labels[v], _attributes(second, v)) for v in inserted]
    edits += [InsertEdge(u, v, edge.label, edge.weight) for (u, v), edge in new.items() if (u, v) not in old]
    old_places = dict(zip(old, edge_places(first), strict=True))
    new_places = dict(zip(new, edge_places(second), strict=True))

    def place(edit: Edit) -> EdgePlace | None:
        if isinstance(edit, DeleteEdge):
            return old_places[edit.u, edit.v]
        return new_places[edit.u, edit.v] if isinstance(edit, InsertEdge) else None

    return EditPath(tuple(edits), tuple(map(place, edits)), costs.ignore)


def edge_places(graph: Graph) -> list[EdgePlace]:
    """Where each edge lies, in the order of ``graph.edges``."""
    neighbours: list[set[int]] = [set() for _ in range(graph.num_nodes)]
    for u, v in graph.edges.tolist():
        if u != v:
            neighbours[u].add(v)
            neighbours[v].add(u)
    whole = _joined_by_cycles(neighbours)
    return [
        "ring" if whole[u] == whole[v] else "terminal" if 1 in (len(neighbours[u]), len(neighbours[v])) else "linker"
        for u, v in graph.edges.tolist()
    ]


def _joined_by_cycles(neighbours: list[set[int]]) -> list[int]:
    """A number for each node, the same for two neighbours exactly if the edge between them lies in a cycle.

    An edge outside a spanning tree closes a cycle with the path of the tree between its ends. All nodes of such a path
    get the number of the one that is nearest to the root.
    """
    parent, order = dict[int, int](), list[int]()
    for root in range(len(neighbours)):
        stack = [] if root in parent else [(root, root)]
        while stack:
            node, before = stack.pop()
            if node not in parent:
                parent[node] = before
                order.append(node)
                stack += [(other, node) for other in neighbours[node] if other not in parent]
    rank = {node: k for k, node in enumerate(order)}
    top = list(range(len(neighbours)))

    def highest(node: int) -> int:
        while top[node] != node:
            top[node] = node = top[top[node]]
        return node

    for u in order:
        for v in neighbours[u]:
            a, b = highest(u), highest(v)
            if parent[u] != v and parent[v] != u:
                while a != b:
                    a, b = (a, b) if rank[a] > rank[b] else (b, a)
                    top[a] = parent[a]
                    a = highest(a)
    return [highest(node) for node in range(len(neighbours))]


def without(graph: Graph, ignored: frozenset[Ignorable]) -> Graph:
    """The graph without the ignored attributes."""
    present = {name: None for name in ignored if getattr(graph, name) is not None}
    return graph.replace(**present) if present else graph


def _labels(graph: Graph) -> tuple[object, ...]:
    return graph.node_labels or (None,) * graph.num_nodes


def edges_of(graph: Graph) -> dict[tuple[int, int], DraftEdge]:
    """What each edge carries, by its ends as ``graph.edges`` has them."""
    labels = graph.edge_labels or (None,) * graph.num_edges
    weights = [1.0] * graph.num_edges if graph.edge_weights is None else graph.edge_weights.tolist()
    carried = map(DraftEdge, labels, weights)
    return dict(zip(((u, v) for u, v in graph.edges.tolist()), carried, strict=True))


def edge_key(u: int, v: int, directed: bool) -> tuple[int, int]:
    """The ends of an edge as ``graph.edges`` has them."""
    return (u, v) if directed or u <= v else (v, u)


def _attributes(graph: Graph, node: int) -> NodeAttributes | None:
    attributes = NodeAttributes.of(graph, node)
    return None if all(value is None for value in attributes) else attributes


def _same_node(first: Graph, u: int, second: Graph, v: int) -> bool:
    if _labels(first)[u] != _labels(second)[v]:
        return False
    a, b = NodeAttributes.of(first, u), NodeAttributes.of(second, v)
    return a.features == b.features and a.text == b.text and _same_image(a.image, b.image)


def _same_image(a: object, b: object) -> bool:
    return a is b if a is None or b is None else np.array_equal(a, b)  # type: ignore[arg-type]
