"""The elementary edits of a graph, each of which costs 1 under unit costs, and random sequences of them.

**Numbers.** Edits in a sequence name nodes by numbers that never change: nodes of the source graph have the numbers
0..n-1 they have there; inserted nodes are n, n+1, ... in the order of their insertion; the number of a deleted node is
not used again. Only when all edits are done are the nodes renumbered 0, 1, ..., in ascending order of these numbers.
A node is deleted after all of its edges, so that the length of a sequence is its cost.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import Any, Literal, NamedTuple, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn

EdgeKey = tuple[int, int]
EditKind = Literal["relabel_node", "insert_node", "delete_node", "relabel_edge", "insert_edge", "delete_edge"]
EDIT_KINDS: tuple[EditKind, ...] = get_args(EditKind)

Item = TypeVar("Item")

_ATTRIBUTE_COLUMNS = ("node_features", "node_texts", "node_images")


def apply_edits(graph: Graph, edits: Iterable[Edit]) -> Graph:
    """The graph after the edits, in their order, without ``id`` and ``metadata``, which described the old graph.

    Features, texts and images stay with their nodes; a node inserted into a graph that has them must bring its own.

    Example:
        >>> g = Graph(3, [(0, 1), (1, 2)], node_labels="CCO")
        >>> apply_edits(g, [DeleteEdge(0, 1), DeleteNode(0, "C"), InsertNode(3, "N"), InsertEdge(1, 3)])
        Graph(3 nodes, 2 edges, labels C N O)
    """
    if not isinstance(graph, Graph):
        raise InvalidArgument(
            f"edits are applied to a graphmetric.Graph, which numbers its nodes; got {type(graph).__name__}: convert "
            "it with graphmetric.as_graph"
        )
    if not isinstance(edits, Iterable):
        raise InvalidArgument(
            f"edits must be a list of edits or an edit path; got {type(edits).__name__} {edits!r:.60}"
        )
    draft = MutableGraph(graph)
    for k, edit in enumerate(edits):
        if not isinstance(edit, Edit):
            kinds = ", ".join(kind.__name__ for kind in get_args(Edit))
            raise InvalidArgument(f"edits[{k}] is {type(edit).__name__} {edit!r:.60}; an edit is one of {kinds}")
        try:
            edit.apply_to(draft)
        except InvalidArgument as error:
            raise InvalidArgument(f"edits[{k}], {edit}: {error}") from None
    return draft.build()


class NodeAttributes(NamedTuple):
    """Attributes of a node besides its label; None if the graph has no such column."""

    features: tuple[float, ...] | None = None
    text: str | None = None
    image: NDArray[Any] | None = None

    @classmethod
    def of(cls, graph: Graph, node: int) -> NodeAttributes:
        """The attributes of one node of a graph."""
        features, texts, images = (graph.column(name) for name in _ATTRIBUTE_COLUMNS)
        return cls(
            None if features is None else tuple(features[node].tolist()),
            None if texts is None else texts.vocabulary[texts.codes[node]],
            None if images is None else images[node],
        )


@dataclass(frozen=True, slots=True)
class RelabelNode:
    """Give a node another tag, other attributes, or both."""

    node: int
    old: Hashable
    new: Hashable
    attributes: NodeAttributes | None = None
    """The node's new features, text and image; None leaves them as they are."""

    def apply_to(self, draft: MutableGraph) -> None:
        draft.check_node(self.node, self.old)
        draft.nodes[self.node] = self.new
        if self.attributes is not None:
            draft.attributes[self.node] = self.attributes

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

    def apply_to(self, draft: MutableGraph) -> None:
        if self.node != draft.next_node:
            raise InvalidArgument(f"the next inserted node is {draft.next_node}, not {self.node}")
        if self.attributes is None and (problem := _why_no_insertion(draft.source)):
            raise InvalidArgument(problem)
        draft.nodes[self.node] = self.label
        draft.attributes[self.node] = self.attributes or NodeAttributes()
        draft.incident[self.node] = {}
        draft.next_node += 1

    def __str__(self) -> str:
        return f"insert node {self.node}{_tag(self.label)}"


@dataclass(frozen=True, slots=True)
class DeleteNode:
    """Remove a node that has no edges left."""

    node: int
    label: Hashable = None

    def apply_to(self, draft: MutableGraph) -> None:
        draft.check_node(self.node, self.label)
        if edges := draft.incident[self.node]:
            raise InvalidArgument(f"node {self.node} still has {len(edges)} edges; delete them first")
        del draft.nodes[self.node], draft.incident[self.node]

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

    def apply_to(self, draft: MutableGraph) -> None:
        key = draft.checked_key(self.u, self.v, self.old)
        draft.edges[key] = EdgeAttributes(self.new, draft.edges[key].weight if self.weight is None else self.weight)

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

    def apply_to(self, draft: MutableGraph) -> None:
        for end in (self.u, self.v):
            draft.check_node(end)
        key = draft.key(self.u, self.v)
        if key in draft.edges:
            raise InvalidArgument(f"edge {key} is there already")
        draft.attach(key, EdgeAttributes(self.label, self.weight))

    def __str__(self) -> str:
        weight = "" if self.weight == 1 else f" of weight {self.weight:g}"
        return f"insert edge ({self.u}, {self.v}){_tag(self.label)}{weight}"


@dataclass(frozen=True, slots=True)
class DeleteEdge:
    """Remove an edge."""

    u: int
    v: int
    label: Hashable = None

    def apply_to(self, draft: MutableGraph) -> None:
        key = draft.checked_key(self.u, self.v, self.label)
        del draft.edges[key]
        for end in {*key}:
            del draft.incident[end][key]

    def __str__(self) -> str:
        return f"delete edge ({self.u}, {self.v}){_tag(self.label)}"


Edit = RelabelNode | InsertNode | DeleteNode | RelabelEdge | InsertEdge | DeleteEdge


def _tag(label: Hashable) -> str:
    return "" if label is None else f" {label!r}"


class EdgeAttributes(NamedTuple):
    """Label and weight of an edge."""

    label: Hashable
    weight: float


def edges_of(graph: Graph) -> dict[EdgeKey, EdgeAttributes]:
    """Return label and weight of each edge, keyed by its ends in the order of ``graph.edges``."""
    labels = graph.edge_labels or (None,) * graph.num_edges
    weights = [1.0] * graph.num_edges if graph.edge_weights is None else graph.edge_weights.tolist()
    return dict(zip(((u, v) for u, v in graph.edges.tolist()), map(EdgeAttributes, labels, weights), strict=True))


def edge_key(u: int, v: int, directed: bool) -> EdgeKey:
    """The ends of an edge as ``graph.edges`` has them."""
    return (u, v) if directed or u <= v else (v, u)


class MutableGraph:
    """A graph in plain Python structures that edits change in place, so that a new graph is built only once."""

    __slots__ = ("attributes", "edges", "incident", "next_node", "nodes", "source")

    def __init__(self, graph: Graph) -> None:
        self.source = graph
        self.nodes: dict[int, Hashable] = dict(enumerate(graph.node_labels or (None,) * graph.num_nodes))
        """Number and label of each node, in ascending order."""
        self.edges: dict[EdgeKey, EdgeAttributes] = {}
        self.incident: dict[int, dict[EdgeKey, None]] = {node: {} for node in self.nodes}
        """The edges at each node, in either direction; dictionaries for their order."""
        self.attributes: dict[int, NodeAttributes] = {}
        """Attributes of inserted and changed nodes; all others keep those of the source."""
        self.next_node = graph.num_nodes
        for key, edge in edges_of(graph).items():
            self.attach(key, edge)

    def key(self, u: int, v: int) -> EdgeKey:
        """Return the key of ``edges`` for the edge from u to v."""
        return edge_key(u, v, self.source.directed)

    def attach(self, key: EdgeKey, edge: EdgeAttributes) -> None:
        """Add an edge."""
        self.edges[key] = edge
        for end in key:
            self.incident[end][key] = None

    def check_node(self, node: int, *label: Hashable) -> None:
        """Raise unless the node is there, and has the label if one is given."""
        if node not in self.nodes:
            raise InvalidArgument(f"there is no node {node} at this point")
        if label and self.nodes[node] != label[0]:
            raise InvalidArgument(f"node {node} has label {self.nodes[node]!r}, not {label[0]!r}")

    def checked_key(self, u: int, v: int, label: Hashable) -> EdgeKey:
        """Return the key of ``edges`` for this edge, which must exist and have the label."""
        key = self.key(u, v)
        if key not in self.edges:
            raise InvalidArgument(f"there is no edge {key} at this point")
        if self.edges[key].label != label:
            raise InvalidArgument(f"edge {key} has label {self.edges[key].label!r}, not {label!r}")
        return key

    def is_connected(self, without_node: int | None = None, without_edge: EdgeKey | None = None) -> bool:
        """Return whether every node reaches every other, ignoring directions; the empty graph is connected."""
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
        number = {node: i for i, node in enumerate(self.nodes)}
        columns: dict[str, Any] = {
            "node_labels": list(self.nodes.values()),
            "edge_labels": [edge.label for edge in self.edges.values()],
            "edge_weights": [edge.weight for edge in self.edges.values()],
        }
        absent = {"node_labels": None, "edge_labels": None, "edge_weights": 1.0}
        for name, value in absent.items():
            if self.source.column(name) is None and all(given == value for given in columns[name]):
                del columns[name]
        edges = [(number[u], number[v]) for u, v in self.edges]
        return Graph(len(number), edges, directed=self.source.directed, **columns, **self._attribute_columns())

    def _attribute_columns(self) -> dict[str, Any]:
        source, kept = self.source, list(self.nodes)
        if not self.attributes:
            own = {name: source.column(name) for name in _ATTRIBUTE_COLUMNS}
            rows = np.array(kept, dtype=np.intp)
            return {name: column[rows] for name, column in own.items() if column is not None}
        found = [self.attributes[n] if n in self.attributes else NodeAttributes.of(source, n) for n in kept]
        columns: dict[str, Any] = {}
        for name, values in zip(_ATTRIBUTE_COLUMNS, zip(*found, strict=True), strict=False):
            lacking = [node for node, value in zip(kept, values, strict=True) if value is None]
            if lacking and len(lacking) < len(kept):
                raise InvalidArgument(f"some nodes have {name} and node {lacking[0]} has none")
            if not lacking:
                columns[name] = values if name == "node_texts" else np.array(values)
        return columns


def _why_no_insertion(graph: Graph) -> str | None:
    """Why a node that is given by a label alone cannot be inserted, if it cannot."""
    needed = next((name for name in _ATTRIBUTE_COLUMNS if graph.column(name) is not None), None)
    return needed and f"the graph has {needed}, which an inserted node would lack"


@dataclass(frozen=True, slots=True)
class Mutation:
    """A changed graph and how it came about."""

    graph: Graph
    edits: tuple[Edit, ...]
    """``len(edits)`` is an upper bound of the edit distance to the original under unit costs."""


def mutate(
    graph: Graph,
    edits: int,
    *,
    random_state: int | np.random.Generator | None = None,
    kinds: Collection[EditKind] | None = None,
    node_labels: Iterable[Hashable] | None = None,
    edge_labels: Iterable[Hashable] | None = None,
    connected: bool = False,
    min_nodes: int = 1,
    max_nodes: int | None = None,
    max_edges: int | None = None,
) -> Mutation:
    """Make ``edits`` random elementary edits; the same seed gives the same result.

    Each step draws one of ``kinds`` (default: all that the graph allows) and then, evenly, one way to do it. Every
    elementary edit counts: deleting a node of degree d takes d + 1 edits, and where the graph is to stay connected
    (directions aside) a node is inserted together with an edge, by two. No edit undoes or overwrites an earlier one,
    which keeps ``len(edits)`` a close bound. Fewer edits are made only where no step is left that fits the limits and
    the number of edits to go. A graph that starts outside the limits is never moved further out.

    Labels are drawn from the given vocabularies, by default the graph's own. Inserted edges have weight 1 and are not
    self-loops. Nodes are not inserted into graphs with features, texts or images, since they would have none.

    Example:
        >>> ring = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], node_labels="CCCO")
        >>> for edit in mutate(ring, 3, random_state=3, connected=True).edits:
        ...     print(edit)
        relabel node 1 'C' to 'O'
        insert node 4 'C'
        insert edge (3, 4)
    """
    counts = {"edits": edits, "min_nodes": min_nodes, "max_nodes": max_nodes, "max_edges": max_edges}
    for name, count in counts.items():
        if count is not None and (not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 0):
            raise InvalidArgument(f"{name} must be an integer of at least 0; got {count!r}")
    if max_nodes is not None and max_nodes < min_nodes:
        raise InvalidArgument(f"max_nodes={max_nodes} is less than min_nodes={min_nodes}")
    mutator = _Mutator(
        draft=MutableGraph(graph),
        node_labels=_vocabulary("node_labels", node_labels, graph.node_labels),
        edge_labels=_vocabulary("edge_labels", edge_labels, graph.edge_labels),
        connected=connected,
        min_nodes=min_nodes,
        max_nodes=math.inf if max_nodes is None else max_nodes,
        max_edges=math.inf if max_edges is None else max_edges,
        random=_plain_generator(random_state).random,
    )
    if connected and not mutator.draft.is_connected():
        raise InvalidArgument("connected=True keeps a connected graph connected; this graph is not connected")
    steps = [getattr(mutator, kind) for kind in _checked_kinds(kinds, graph)]
    done: list[Edit] = []
    while len(done) < edits and (step := mutator.draw_step(steps, edits - len(done))):
        done += step
    return Mutation(mutator.draft.build(), tuple(done))


@dataclass(slots=True)
class _Mutator:
    """Proposes steps, each a short sequence of edits, and carries them out on a draft.

    A method named after an :data:`EditKind` gets the number of edits to go and proposes a step, or nothing where there
    is none.
    """

    draft: MutableGraph
    node_labels: Sequence[Hashable] | None
    edge_labels: Sequence[Hashable] | None
    connected: bool
    min_nodes: int
    max_nodes: float
    max_edges: float
    random: Callable[[], float]
    changed: set[int | EdgeKey] = field(default_factory=set)
    """Nodes and edges that earlier steps changed, which are left alone."""

    def draw_step(self, proposals: Sequence[Callable[[int], list[Edit]]], budget: int) -> list[Edit]:
        """Carry out a step of at most ``budget`` edits; an empty one where none of the kinds has any."""
        for propose in self._in_random_order(proposals):
            if step := propose(budget):
                for edit in step:
                    edit.apply_to(self.draft)
                    is_node = isinstance(edit, RelabelNode | InsertNode | DeleteNode)
                    self.changed.add(edit.node if is_node else self.draft.key(edit.u, edit.v))  # type: ignore[union-attr]
                return step
        return []

    def relabel_node(self, budget: int) -> list[Edit]:
        for node in self._unchanged(self.draft.nodes):
            old = self.draft.nodes[node]
            if choices := [label for label in self.node_labels or () if label != old]:
                return [RelabelNode(node, old, self._choice(choices))]
        return []

    def relabel_edge(self, budget: int) -> list[Edit]:
        for key in self._unchanged(self.draft.edges):
            old = self.draft.edges[key].label
            if choices := [label for label in self.edge_labels or () if label != old]:
                return [RelabelEdge(*key, old, self._choice(choices))]
        return []

    def insert_node(self, budget: int) -> list[Edit]:
        draft = self.draft
        if len(draft.nodes) >= self.max_nodes or self.node_labels == ():
            return []
        inserted = InsertNode(draft.next_node, self._label(self.node_labels))
        if not self.connected or not draft.nodes:
            return [inserted]
        if budget < 2 or not self._may_insert_edge():
            return []
        ends = (self._choice(list(draft.nodes)), inserted.node)
        if draft.source.directed and self.random() < 0.5:
            ends = ends[::-1]
        return [inserted, InsertEdge(*ends, self._label(self.edge_labels))]

    def delete_node(self, budget: int) -> list[Edit]:
        draft = self.draft
        if len(draft.nodes) <= self.min_nodes:
            return []
        for node in self._unchanged(draft.nodes):
            edges = draft.incident[node]
            if len(edges) >= budget or not self.changed.isdisjoint(edges):
                continue
            if not self.connected or draft.is_connected(without_node=node):
                deleted = [DeleteEdge(u, v, draft.edges[u, v].label) for u, v in edges]
                return [*deleted, DeleteNode(node, draft.nodes[node])]
        return []

    def insert_edge(self, budget: int) -> list[Edit]:
        pair = self._draw_free_pair() if self._may_insert_edge() else None
        return [] if pair is None else [InsertEdge(*pair, self._label(self.edge_labels))]

    def delete_edge(self, budget: int) -> list[Edit]:
        draft = self.draft
        if self.connected and len(draft.edges) < len(draft.nodes):  # a tree, where every edge is needed
            return []
        for key in self._unchanged(draft.edges):
            if not self.connected or draft.is_connected(without_edge=key):
                return [DeleteEdge(*key, draft.edges[key].label)]
        return []

    def _draw_free_pair(self) -> EdgeKey | None:
        """Two nodes that are not joined and never were, evenly drawn: by trial first, by listing all if need be."""
        nodes = list(self.draft.nodes)
        for _ in range(10 if len(nodes) > 1 else 0):
            pair = self.draft.key(self._choice(nodes), self._choice(nodes))
            if self._is_free(pair):
                return pair
        pairs = permutations(nodes, 2) if self.draft.source.directed else combinations(nodes, 2)
        free = [pair for pair in pairs if self._is_free(pair)]
        return self._choice(free) if free else None

    def _is_free(self, pair: EdgeKey) -> bool:
        return pair[0] != pair[1] and pair not in self.draft.edges and pair not in self.changed

    def _may_insert_edge(self) -> bool:
        return len(self.draft.edges) < self.max_edges and self.edge_labels != ()

    def _label(self, vocabulary: Sequence[Hashable] | None) -> Hashable:
        return None if vocabulary is None else self._choice(vocabulary)

    def _choice(self, items: Sequence[Item]) -> Item:
        return items[int(self.random() * len(items))]

    def _unchanged(self, items: Iterable[Item]) -> Iterator[Item]:
        """Nodes or edges that no step has changed yet, in random order."""
        return self._in_random_order(item for item in items if item not in self.changed)

    def _in_random_order(self, items: Iterable[Item]) -> Iterator[Item]:
        """Shuffled as far as it is consumed."""
        left = list(items)
        while left:
            k = int(self.random() * len(left))
            left[k], left[-1] = left[-1], left[k]
            yield left.pop()


def _vocabulary(
    parameter: str, given: Iterable[Hashable] | None, own: tuple[Hashable, ...] | None
) -> tuple[Hashable, ...] | None:
    if own is None and given is not None:
        raise InvalidArgument(f"{parameter} are given, but the graph has none to change")
    if given is None:
        return own and tuple(dict.fromkeys(own))
    return LabelColumn.from_values(given).vocabulary


def _checked_kinds(kinds: Collection[EditKind] | None, graph: Graph) -> list[EditKind]:
    impossible = {
        "relabel_node": graph.column("node_labels") is None and "the graph has no node labels",
        "relabel_edge": graph.column("edge_labels") is None and "the graph has no edge labels",
        "insert_node": _why_no_insertion(graph),
    }
    for kind in kinds or ():
        if kind not in EDIT_KINDS:
            raise InvalidArgument(f"kinds: {kind!r} is not one of {', '.join(EDIT_KINDS)}")
        if reason := impossible.get(kind):
            raise InvalidArgument(f"kinds: {kind} is not possible: {reason}")
    return [kind for kind in EDIT_KINDS if (not impossible.get(kind) if kinds is None else kind in kinds)]


def _plain_generator(random_state: Any) -> random.Random:
    """Python's own generator, several times faster for single draws, seeded from numpy's."""
    try:
        generator = np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"random_state must be an integer of at least 0, a numpy Generator or None; got {random_state!r}"
        ) from None
    return random.Random(int(generator.integers(2**63)))
