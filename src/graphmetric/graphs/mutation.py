"""Random edits of a graph: pairs of graphs whose distance is known to be small."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from graphmetric.errors import InvalidArgument
from graphmetric.graphs.edits import (
    DeleteEdge,
    DeleteNode,
    Draft,
    EdgeKey,
    Edit,
    InsertEdge,
    InsertNode,
    RelabelEdge,
    RelabelNode,
    column_nodes_need,
)
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn

EditKind = Literal["relabel_node", "insert_node", "delete_node", "relabel_edge", "insert_edge", "delete_edge"]
EDIT_KINDS: tuple[EditKind, ...] = get_args(EditKind)

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Mutation:
    """A changed graph and how it came about."""

    graph: Graph
    edits: tuple[Edit, ...]
    """``len(edits)`` is an upper bound of the edit distance to the original under unit costs."""


@dataclass(frozen=True, slots=True)
class _Limits:
    """What the edits must not lead to. A graph that starts outside is never moved further out."""

    min_nodes: int
    max_nodes: float
    max_edges: float
    connected: bool


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
    the number of edits to go.

    Labels are drawn from the given vocabularies, by default the graph's own. Inserted edges have weight 1 and are no
    self-loops. Nodes are not inserted into graphs with features, texts or images, since they would have none.

    Example:
        >>> ring = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], node_labels="CCCO")
        >>> for edit in mutate(ring, 3, random_state=3, connected=True).edits:
        ...     print(edit)
        relabel node 1 'C' to 'O'
        insert node 4 'C'
        insert edge (3, 4)
    """
    _check_counts(edits, min_nodes, max_nodes, max_edges)
    limits = _Limits(min_nodes, _or_infinity(max_nodes), _or_infinity(max_edges), connected)
    vocabularies = (
        _vocabulary("node_labels", node_labels, graph.node_labels),
        _vocabulary("edge_labels", edge_labels, graph.edge_labels),
    )
    mutator = _Mutator(graph, limits, vocabularies, _plain_generator(random_state))
    steps = mutator.steps_for(_checked_kinds(kinds, graph))
    done: list[Edit] = []
    while len(done) < edits:
        step = mutator.draw_step(steps, edits - len(done))
        if not step:
            break
        done += step
    return Mutation(mutator.draft.build(), tuple(done))


class _Mutator:
    """Proposes steps, each a short sequence of edits, and carries them out on a draft."""

    def __init__(
        self,
        graph: Graph,
        limits: _Limits,
        vocabularies: tuple[Sequence[Hashable] | None, Sequence[Hashable] | None],
        generator: random.Random,
    ) -> None:
        self.draft = Draft(graph)
        self._limits = limits
        self._node_labels, self._edge_labels = vocabularies
        self._random = generator.random
        self._changed_nodes: set[int] = set()
        self._changed_edges: set[EdgeKey] = set()
        if limits.connected and not self.draft.is_connected():
            raise InvalidArgument("connected=True keeps a connected graph connected; this graph is not connected")

    def steps_for(self, kinds: Iterable[EditKind]) -> list[Callable[[int], list[Edit]]]:
        """The methods that propose such steps: given the edits to go, a step, or nothing where there is none."""
        proposals: dict[EditKind, Callable[[int], list[Edit]]] = {
            "relabel_node": self._relabel_node,
            "insert_node": self._insert_node,
            "delete_node": self._delete_node,
            "relabel_edge": self._relabel_edge,
            "insert_edge": self._insert_edge,
            "delete_edge": self._delete_edge,
        }
        return [proposals[kind] for kind in kinds]

    def draw_step(self, proposals: Sequence[Callable[[int], list[Edit]]], budget: int) -> list[Edit]:
        """Carry out a step of at most ``budget`` edits; an empty one where none of the kinds has any."""
        for propose in self._in_random_order(proposals):
            if step := propose(budget):
                for edit in step:
                    edit.apply_to(self.draft)
                    self._remember(edit)
                return step
        return []

    def _remember(self, edit: Edit) -> None:
        if isinstance(edit, RelabelNode | InsertNode | DeleteNode):
            self._changed_nodes.add(edit.node)
        else:
            self._changed_edges.add(self.draft.key(edit.u, edit.v))

    def _relabel_node(self, budget: int) -> list[Edit]:
        for node in self._in_random_order(self._unchanged_nodes()):
            old = self.draft.nodes[node]
            if choices := _others(self._node_labels, old):
                return [RelabelNode(node, old, self._choice(choices))]
        return []

    def _relabel_edge(self, budget: int) -> list[Edit]:
        for u, v in self._in_random_order(self._unchanged_edges()):
            old = self.draft.edges[u, v].label
            if choices := _others(self._edge_labels, old):
                return [RelabelEdge(u, v, old, self._choice(choices))]
        return []

    def _insert_node(self, budget: int) -> list[Edit]:
        draft = self.draft
        if len(draft.nodes) >= self._limits.max_nodes or self._node_labels == ():
            return []
        inserted = InsertNode(draft.next_node, self._label(self._node_labels))
        if not self._limits.connected or not draft.nodes:
            return [inserted]
        if budget < 2 or not self._may_insert_edge():
            return []
        ends = (self._choice(list(draft.nodes)), inserted.node)
        if draft.source.directed and self._random() < 0.5:
            ends = ends[::-1]
        return [inserted, self._edge_between(*ends)]

    def _delete_node(self, budget: int) -> list[Edit]:
        draft = self.draft
        if len(draft.nodes) <= self._limits.min_nodes:
            return []
        for node in self._in_random_order(self._unchanged_nodes()):
            edges = draft.incident[node]
            if len(edges) >= budget or not self._changed_edges.isdisjoint(edges):
                continue
            if not self._limits.connected or draft.is_connected(without_node=node):
                deleted = [DeleteEdge(u, v, draft.edges[u, v].label) for u, v in edges]
                return [*deleted, DeleteNode(node, draft.nodes[node])]
        return []

    def _insert_edge(self, budget: int) -> list[Edit]:
        if not self._may_insert_edge():
            return []
        pair = self._draw_free_pair()
        return [] if pair is None else [self._edge_between(*pair)]

    def _delete_edge(self, budget: int) -> list[Edit]:
        draft, connected = self.draft, self._limits.connected
        if connected and len(draft.edges) < len(draft.nodes):  # a tree, where every edge is needed
            return []
        for key in self._in_random_order(self._unchanged_edges()):
            if not connected or draft.is_connected(without_edge=key):
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
        return pair[0] != pair[1] and pair not in self.draft.edges and pair not in self._changed_edges

    def _may_insert_edge(self) -> bool:
        return len(self.draft.edges) < self._limits.max_edges and self._edge_labels != ()

    def _edge_between(self, u: int, v: int) -> InsertEdge:
        return InsertEdge(u, v, self._label(self._edge_labels))

    def _unchanged_nodes(self) -> list[int]:
        return [node for node in self.draft.nodes if node not in self._changed_nodes]

    def _unchanged_edges(self) -> list[EdgeKey]:
        return [key for key in self.draft.edges if key not in self._changed_edges]

    def _label(self, vocabulary: Sequence[Hashable] | None) -> Hashable:
        return None if vocabulary is None else self._choice(vocabulary)

    def _choice(self, items: Sequence[Item]) -> Item:
        return items[int(self._random() * len(items))]

    def _in_random_order(self, items: Iterable[Item]) -> Iterator[Item]:
        """Shuffled as far as it is consumed."""
        left = list(items)
        while left:
            k = int(self._random() * len(left))
            left[k], left[-1] = left[-1], left[k]
            yield left.pop()


def _others(vocabulary: Sequence[Hashable] | None, old: Hashable) -> list[Hashable]:
    return [label for label in vocabulary or () if label != old]


def _vocabulary(
    parameter: str, given: Iterable[Hashable] | None, own: tuple[Hashable, ...] | None
) -> tuple[Hashable, ...] | None:
    if own is None and given is not None:
        raise InvalidArgument(f"{parameter} are given, but the graph has none to change")
    if given is None:
        return own and tuple(dict.fromkeys(own))
    return LabelColumn.from_values(given).vocabulary


def _checked_kinds(kinds: Collection[EditKind] | None, graph: Graph) -> list[EditKind]:
    impossible: dict[str, str] = {}
    if graph.column("node_labels") is None:
        impossible["relabel_node"] = "the graph has no node labels"
    if graph.column("edge_labels") is None:
        impossible["relabel_edge"] = "the graph has no edge labels"
    if column := column_nodes_need(graph):
        impossible["insert_node"] = f"the graph has {column}, which an inserted node would lack"
    for kind in kinds or ():
        if kind not in EDIT_KINDS:
            raise InvalidArgument(f"kinds: {kind!r} is not one of {', '.join(EDIT_KINDS)}")
        if kind in impossible:
            raise InvalidArgument(f"kinds: {kind} is not possible: {impossible[kind]}")
    return [kind for kind in EDIT_KINDS if (kind not in impossible if kinds is None else kind in kinds)]


def _check_counts(edits: int, min_nodes: int, max_nodes: int | None, max_edges: int | None) -> None:
    counts = {"edits": edits, "min_nodes": min_nodes, "max_nodes": max_nodes, "max_edges": max_edges}
    for name, count in counts.items():
        if count is not None and (not isinstance(count, int | np.integer) or isinstance(count, bool) or count < 0):
            raise InvalidArgument(f"{name} must be an integer of at least 0; got {count!r}")
    if max_nodes is not None and max_nodes < min_nodes:
        raise InvalidArgument(f"max_nodes={max_nodes} is less than min_nodes={min_nodes}")


def _or_infinity(limit: int | None) -> float:
    return float("inf") if limit is None else limit


def _plain_generator(random_state: Any) -> random.Random:
    """Python's own generator, several times faster for single draws, seeded from numpy's."""
    try:
        generator = np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"random_state must be an integer of at least 0, a numpy Generator or None; got {random_state!r}"
        ) from None
    return random.Random(int(generator.integers(2**63)))
