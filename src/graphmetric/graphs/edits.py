"""The elementary edits of a graph: each costs 1 under unit costs.

**Numbers.** Edits in a sequence name nodes by numbers that never change: nodes of the source graph have the numbers
0..n-1 they have there; inserted nodes are n, n+1, ... in the order of their insertion; the number of a deleted node is
not used again. Only when all edits are done are the nodes renumbered 0, 1, ..., in ascending order of these numbers.
A node is deleted after all of its edges, so that the length of a sequence is its cost.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass

from graphmetric.errors import InvalidArgument
from graphmetric.graphs.draft import Draft, NodeAttributes
from graphmetric.graphs.graph import Graph


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
