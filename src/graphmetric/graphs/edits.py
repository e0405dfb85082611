"""The elementary edits of a graph: each costs 1 under unit costs.

**Numbers.** Edits in a sequence name nodes by numbers that never change: nodes of the source graph have the numbers
0..n-1 they have there; inserted nodes are n, n+1, ... in the order of their insertion; the number of a deleted node is
not used again. Only when all edits are done are the nodes renumbered 0, 1, ..., in ascending order of these numbers.
A node is deleted after all of its edges, so that the length of a sequence is its cost.

A graph in plain Python structures that edits change in place, so that a new :class:`Graph` is built only once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.graphs.graph import Graph

EdgeKey = tuple[int, int]


class NodeAttributes(NamedTuple):
    """What a node carries besides its tag; None where the graph has no such column."""

    features: tuple[float, ...] | None = None
    text: str | None = None
    image: NDArray[Any] | None = None

    @classmethod
    def of(cls, graph: Graph, node: int) -> NodeAttributes:
        """The attributes of one node of a graph."""
        texts = graph.column("node_texts")
        return cls(
            None if graph.node_features is None else tuple(graph.node_features[node].tolist()),
            None if texts is None else texts.values()[node],
            None if graph.node_images is None else graph.node_images[node],
        )


class DraftEdge(NamedTuple):
    """What an edge carries."""

    label: Hashable
    weight: float


class Draft:
    """A working copy of a graph. Nodes keep the numbers of the source; see :mod:`graphmetric.graphs.edits`."""

    __slots__ = ("attributes", "edges", "incident", "next_node", "nodes", "source")

    def __init__(self, graph: Graph) -> None:
        keys = [(u, v) for u, v in graph.edges.tolist()]
        labels = graph.edge_labels or (None,) * len(keys)
        weights = [1.0] * len(keys) if graph.edge_weights is None else graph.edge_weights.tolist()
        self.source = graph
        self.nodes: dict[int, Hashable] = dict(enumerate(graph.node_labels or (None,) * graph.num_nodes))
        """Number and label of each node, in ascending order."""
        self.edges: dict[EdgeKey, DraftEdge] = dict(zip(keys, map(DraftEdge, labels, weights), strict=True))
        self.incident: dict[int, dict[EdgeKey, None]] = {node: {} for node in self.nodes}
        """The edges at each node, in either direction; dictionaries for their order."""
        self.attributes: dict[int, NodeAttributes] = {}
        """Of inserted and changed nodes; the others have those of the source."""
        self.next_node = graph.num_nodes
        for key in keys:
            self._attach(key)

    def key(self, u: int, v: int) -> EdgeKey:
        """How ``edges`` knows the edge from u to v."""
        return (u, v) if u <= v or self.source.directed else (v, u)

    def relabel_node(self, node: int, old: Hashable, new: Hashable, attributes: NodeAttributes | None) -> None:
        self._check_node(node)
        _check_label(f"node {node}", self.nodes[node], old)
        self.nodes[node] = new
        if attributes is not None:
            self.attributes[node] = attributes

    def insert_node(self, node: int, label: Hashable, attributes: NodeAttributes | None) -> None:
        if node != self.next_node:
            raise InvalidArgument(f"the next inserted node is {self.next_node}, not {node}")
        if attributes is None and (column := column_nodes_need(self.source)):
            raise InvalidArgument(f"the graph has {column}, which an inserted node would lack")
        self.nodes[node] = label
        self.attributes[node] = attributes or NodeAttributes()
        self.incident[node] = {}
        self.next_node += 1

    def delete_node(self, node: int, label: Hashable) -> None:
        self._check_node(node)
        _check_label(f"node {node}", self.nodes[node], label)
        if self.incident[node]:
            raise InvalidArgument(f"node {node} still has {len(self.incident[node])} edges; delete them first")
        del self.nodes[node], self.incident[node]

    def relabel_edge(self, u: int, v: int, old: Hashable, new: Hashable, weight: float | None) -> None:
        key = self._checked_key(u, v)
        edge = self.edges[key]
        _check_label(f"edge {key}", edge.label, old)
        self.edges[key] = DraftEdge(new, edge.weight if weight is None else weight)

    def insert_edge(self, u: int, v: int, label: Hashable, weight: float) -> None:
        self._check_node(u)
        self._check_node(v)
        key = self.key(u, v)
        if key in self.edges:
            raise InvalidArgument(f"edge {key} is there already")
        self.edges[key] = DraftEdge(label, weight)
        self._attach(key)

    def delete_edge(self, u: int, v: int, label: Hashable) -> None:
        key = self._checked_key(u, v)
        _check_label(f"edge {key}", self.edges[key].label, label)
        del self.edges[key]
        for end in {u, v}:
            del self.incident[end][key]

    def is_connected(self, without_node: int | None = None, without_edge: EdgeKey | None = None) -> bool:
        """Whether every node reaches every other, directions aside; the empty graph counts as connected."""
        start = next((node for node in self.nodes if node != without_node), None)
        if start is None:
            return True
        reached, frontier = {start}, [start]
        while frontier:
            node = frontier.pop()
            for edge in self.incident[node]:
                other = edge[0] + edge[1] - node
                if other not in reached and other != without_node and edge != without_edge:
                    reached.add(other)
                    frontier.append(other)
        return len(reached) == len(self.nodes) - (without_node is not None)

    def build(self) -> Graph:
        """The graph as it is now, its nodes renumbered 0..n-1 in ascending order of their numbers here.

        A column exists if the source has it or an edit gave it a value.
        """
        source, kept = self.source, list(self.nodes)
        number = {node: i for i, node in enumerate(kept)}
        edge_labels = [edge.label for edge in self.edges.values()]
        weights = [edge.weight for edge in self.edges.values()]
        return Graph(
            len(kept),
            [(number[u], number[v]) for u, v in self.edges],
            node_labels=_column(list(self.nodes.values()), source.column("node_labels"), None),
            edge_labels=_column(edge_labels, source.column("edge_labels"), None),
            edge_weights=_column(weights, source.edge_weights, 1.0),
            directed=source.directed,
            **self._attribute_columns(kept),
        )

    def _attribute_columns(self, kept: list[int]) -> dict[str, Any]:
        source = self.source
        if not self.attributes:
            texts = source.node_texts
            return {
                "node_features": None if source.node_features is None else source.node_features[kept],
                "node_texts": None if texts is None else [texts[node] for node in kept],
                "node_images": None if source.node_images is None else source.node_images[kept],
            }
        rows = [self.attributes[n] if n in self.attributes else NodeAttributes.of(source, n) for n in kept]
        columns: dict[str, Any] = {}
        for name, values in zip(("node_features", "node_texts", "node_images"), zip(*rows, strict=True), strict=False):
            if all(value is None for value in values):
                continue
            if any(value is None for value in values):
                lacking = kept[next(k for k, value in enumerate(values) if value is None)]
                raise InvalidArgument(f"some nodes have {name} and node {lacking} has none")
            columns[name] = values if name == "node_texts" else np.array(values)
        return columns

    def _attach(self, key: EdgeKey) -> None:
        for end in key:
            self.incident[end][key] = None

    def _check_node(self, node: int) -> None:
        if node not in self.nodes:
            raise InvalidArgument(f"there is no node {node} at this point")

    def _checked_key(self, u: int, v: int) -> EdgeKey:
        key = self.key(u, v)
        if key not in self.edges:
            raise InvalidArgument(f"there is no edge {key} at this point")
        return key


def _column(values: list[Any], source: object, absent: object) -> list[Any] | None:
    return None if source is None and all(value == absent for value in values) else values


def column_nodes_need(graph: Graph) -> str | None:
    """The first column that a node given by a label alone would lack."""
    names = ("node_features", "node_texts", "node_images")
    return next((name for name in names if getattr(graph, name) is not None), None)


def _check_label(what: str, found: Hashable, expected: Hashable) -> None:
    if found != expected:
        raise InvalidArgument(f"{what} has label {found!r}, not {expected!r}")


@dataclass(frozen=True, slots=True)
class RelabelNode:
    """Give a node another tag, other attributes, or both."""

    node: int
    old: Hashable
    new: Hashable
    attributes: NodeAttributes | None = None
    """The node's new features, text and image; None leaves them as they are."""

    def apply_to(self, draft: Draft) -> None:
        draft.relabel_node(self.node, self.old, self.new, self.attributes)

    def __str__(self) -> str:
        if self.old == self.new and self.attributes is not None:
            return f"change the attributes of node {self.node}{_tag(self.old)}"
        return f"relabel node {self.node} {self.old!r} to {self.new!r}"


@dataclass(frozen=True, slots=True)
class InsertNode:
    """Add a node without edges."""

    node: int
    label: Hashable = None
    """None where the graph has no node labels."""
    attributes: NodeAttributes | None = None
    """Features, text and image, where the graph has them."""

    def apply_to(self, draft: Draft) -> None:
        draft.insert_node(self.node, self.label, self.attributes)

    def __str__(self) -> str:
        return f"insert node {self.node}{_tag(self.label)}"


@dataclass(frozen=True, slots=True)
class DeleteNode:
    """Remove a node that has no edges left."""

    node: int
    label: Hashable = None

    def apply_to(self, draft: Draft) -> None:
        draft.delete_node(self.node, self.label)

    def __str__(self) -> str:
        return f"delete node {self.node}{_tag(self.label)}"


@dataclass(frozen=True, slots=True)
class RelabelEdge:
    """Give an edge another tag, another weight, or both."""

    u: int
    v: int
    old: Hashable
    new: Hashable
    weight: float | None = None
    """The new weight; None leaves it as it is."""

    def apply_to(self, draft: Draft) -> None:
        draft.relabel_edge(self.u, self.v, self.old, self.new, self.weight)

    def __str__(self) -> str:
        weight = "" if self.weight is None else f"weight {self.weight:g}"
        if self.old == self.new and weight:
            return f"give edge ({self.u}, {self.v}){_tag(self.old)} {weight}"
        return f"relabel edge ({self.u}, {self.v}) {self.old!r} to {self.new!r}{weight and ', ' + weight}"


@dataclass(frozen=True, slots=True)
class InsertEdge:
    """Join two nodes; from ``u`` to ``v`` where the graph is directed."""

    u: int
    v: int
    label: Hashable = None
    """None where the graph has no edge labels."""
    weight: float = 1.0
    """Other than 1 only where the graph has weights."""

    def apply_to(self, draft: Draft) -> None:
        draft.insert_edge(self.u, self.v, self.label, self.weight)

    def __str__(self) -> str:
        weight = "" if self.weight == 1 else f" of weight {self.weight:g}"
        return f"insert edge ({self.u}, {self.v}){_tag(self.label)}{weight}"


@dataclass(frozen=True, slots=True)
class DeleteEdge:
    """Remove an edge."""

    u: int
    v: int
    label: Hashable = None

    def apply_to(self, draft: Draft) -> None:
        draft.delete_edge(self.u, self.v, self.label)

    def __str__(self) -> str:
        return f"delete edge ({self.u}, {self.v}){_tag(self.label)}"


Edit = RelabelNode | InsertNode | DeleteNode | RelabelEdge | InsertEdge | DeleteEdge


def apply_edits(graph: Graph, edits: Iterable[Edit]) -> Graph:
    """The graph after the edits, in their order. Its ``id`` and ``metadata`` told of the old graph and are not kept.

    Features, texts and images stay with their nodes; a node inserted into a graph that has them must bring its own.

    Example:
        >>> g = Graph(3, [(0, 1), (1, 2)], node_labels="CCO")
        >>> apply_edits(g, [DeleteEdge(0, 1), DeleteNode(0, "C"), InsertNode(3, "N"), InsertEdge(1, 3)])
        Graph(3 nodes, 2 edges, labels C N O)
    """
    draft = Draft(graph)
    for k, edit in enumerate(edits):
        try:
            edit.apply_to(draft)
        except InvalidArgument as error:
            raise InvalidArgument(f"edits[{k}], {edit}: {error}") from None
    return draft.build()


def _tag(label: Hashable) -> str:
    return "" if label is None else f" {label!r}"
