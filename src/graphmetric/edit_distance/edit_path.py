"""The edits that a node map stands for, and how many there are of each kind.

A map says for each node of the first graph which node of the second it becomes. Its edits follow: nodes and edges
without a counterpart are deleted or inserted, and those whose counterpart is unequal are relabeled. Only unequal edges
leave a choice, since an edge can also be deleted and inserted anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING, Literal

import numpy as np

from graphmetric._foundation.markup import data_frame, escape_text, notebook_view, table
from graphmetric._foundation.options import format_count
from graphmetric.edit_distance.costs import EditCosts, Ignorable
from graphmetric.graphs.edits import (
    DeleteEdge,
    DeleteNode,
    EdgeAttributes,
    Edit,
    InsertEdge,
    InsertNode,
    NodeAttributes,
    RelabelEdge,
    RelabelNode,
    apply_edits,
    edge_key,
    edges_of,
)
from graphmetric.graphs.graph import Graph

if TYPE_CHECKING:
    import pandas

_SHOWN_EDITS = 50
"""Edits that a notebook shows."""
NodeMap = tuple[int | None, ...]
"""For each node of the first graph the node of the second that it becomes, or None if it is deleted."""
Edge = tuple[int, int]
"""The ends of an edge as ``graph.edges`` has them."""

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
    def element(self) -> int:
        """Another name of ``nodes_relabeled``."""
        return self.nodes_relabeled

    @property
    def bond(self) -> int:
        """Another name of ``edges_relabeled``."""
        return self.edges_relabeled

    @property
    def ring(self) -> int:
        """Ring edges deleted or inserted."""
        return self.ring_edges_deleted + self.ring_edges_inserted

    @property
    def linker(self) -> int:
        """Linker edges deleted or inserted."""
        return self.linker_edges_deleted + self.linker_edges_inserted

    @property
    def terminal(self) -> int:
        """Terminal edges deleted or inserted."""
        return self.terminal_edges_deleted + self.terminal_edges_inserted

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
            >>> from graphmetric import graph_edit_distance
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

    def _repr_html_(self) -> str:
        rows = [
            [escape_text(k), escape_text(edit), escape_text(place or "")]
            for k, (edit, place) in enumerate(self._placed(), 1)
        ]
        return notebook_view(
            f"{format_count(len(self), 'edit')}: {self.counts}" if self.edits else "no edits: the graphs are the same",
            table(["", "edit", "place of the edge"], rows[:_SHOWN_EDITS], more=max(0, len(rows) - _SHOWN_EDITS)),
        )

    def to_pandas(self) -> pandas.DataFrame:
        """A table with one row for each edit: its kind, in words, and where the edge lies."""
        placed = list(self._placed())
        columns = {
            "kind": [type(edit).__name__ for edit, _ in placed],
            "edit": [str(edit) for edit, _ in placed],
            "place": [place for _, place in placed],
        }
        return data_frame(columns, "tables of edits")

    def _placed(self) -> Iterator[tuple[Edit, EdgePlace | None]]:
        return zip(self.edits, self.places, strict=True)


def edit_path_of(
    first: Graph, second: Graph, node_map: NodeMap, costs: EditCosts, replaced: Collection[Edge] | None = None
) -> EditPath:
    """Substitutions, then deletions, then insertions; nodes are numbered as :mod:`graphmetric.graphs.edits` says.

    The edges of ``first`` in ``replaced`` are deleted and inserted anew instead of being relabeled. By default these
    are the ones for which that is cheaper.
    """
    first, second = without(first, costs.ignore), without(second, costs.ignore)
    number = {v: u for u, v in enumerate(node_map) if v is not None}
    inserted = [v for v in range(second.num_nodes) if v not in number]
    number |= {v: first.num_nodes + k for k, v in enumerate(inserted)}
    old, target = edges_of(first), edges_of(second).items()
    new = {edge_key(number[u], number[v], first.directed): edge for (u, v), edge in target}
    labels, new_labels = _labels(first), _labels(second)
    unequal = {key for key, edge in old.items() if key in new and new[key] != edge}
    if replaced is None:
        replaced = {key for key in unequal if _cheaper_to_replace(old[key], new[key], costs)}
    edits: list[Edit] = []
    for u, v in enumerate(node_map):
        if v is not None and not _same_node(first, u, second, v):
            edits.append(RelabelNode(u, labels[u], new_labels[v], _attributes(second, v)))
    for (u, v), edge in old.items():
        if (u, v) in unequal and (u, v) not in replaced:
            weight = None if new[u, v].weight == edge.weight else new[u, v].weight
            edits.append(RelabelEdge(u, v, edge.label, new[u, v].label, weight))
    edits += [DeleteEdge(u, v, edge.label) for (u, v), edge in old.items() if (u, v) not in new or (u, v) in replaced]
    edits += [DeleteNode(u, labels[u]) for u, v in enumerate(node_map) if v is None]
    edits += [InsertNode(number[v], new_labels[v], _attributes(second, v)) for v in inserted]
    inserted_edges = {key: edge for key, edge in new.items() if key not in old or key in replaced}
    edits += [InsertEdge(u, v, edge.label, edge.weight) for (u, v), edge in inserted_edges.items()]
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


def _cheaper_to_replace(old: EdgeAttributes, new: EdgeAttributes, costs: EditCosts) -> bool:
    """Whether relabeling an edge costs more than deleting it and inserting the other."""
    if costs.is_unit:
        return False
    relabel = 0.0
    if old.label != new.label:
        relabel = float(costs.edge_substitution([old.label], [new.label])[0, 0])
    elif costs.weight_scale is None and not isinstance(costs.edge_substitute, Mapping):
        relabel = float(costs.edge_substitute)
    relabel += (costs.weight_scale or 0.0) * abs(old.weight - new.weight)
    return relabel > float(costs.priced("edge_delete", [old.label])[0] + costs.priced("edge_insert", [new.label])[0])


def without(graph: Graph, ignored: frozenset[Ignorable]) -> Graph:
    """The graph without the ignored attributes."""
    present = {name: None for name in ignored if getattr(graph, name) is not None}
    return graph.replace(**present) if present else graph


def _labels(graph: Graph) -> tuple[object, ...]:
    return graph.node_labels or (None,) * graph.num_nodes


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
