"""Named attributes of nodes, edges and graphs, and the columns of :class:`Graph` they stand for.

What networkx and igraph have in common, so that both conversions follow one set of rules:

* a missing label is the tag ``None``; a missing weight counts 1; a missing feature, text or image is refused;
* attributes of the whole graph become its ``metadata``, the attribute ``id`` its ``id``;
* attributes that no column asks for are named in one :class:`~graphmetric.errors.ConversionWarning`.

Two edges between the same nodes, which :class:`Graph` refuses, made into one; and arcs paired into edges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidArgument, InvalidGraph
from graphmetric.formats.losses import LeftOut
from graphmetric.graphs.columns import COLUMNS
from graphmetric.graphs.graph import Graph

ParallelEdges = Literal["error", "sum", "first"]
"""``"error"`` refuses them, ``"sum"`` adds their weights (1 where there are none), ``"first"`` keeps the first."""


class EdgeRows(NamedTuple):
    """Edges and their columns, before they are part of a graph."""

    pairs: list[tuple[int, int]]
    labels: list[Hashable] | None = None
    weights: list[float] | None = None

    def take(self, rows: list[int]) -> EdgeRows:
        """The chosen edges, in the given order."""
        return EdgeRows(
            [self.pairs[row] for row in rows],
            None if self.labels is None else [self.labels[row] for row in rows],
            None if self.weights is None else [self.weights[row] for row in rows],
        )


def merge_parallel_edges(edges: EdgeRows, directed: bool, how: ParallelEdges) -> EdgeRows:
    """At most one edge per pair of nodes, by the rule ``how``."""
    if how not in get_args(ParallelEdges):
        raise InvalidArgument(f"parallel_edges must be 'error', 'sum' or 'first'; got {how!r}")
    keys = edges.pairs if directed else [(u, v) if u <= v else (v, u) for u, v in edges.pairs]
    first_row: dict[tuple[int, int], int] = {}
    for row, key in enumerate(keys):
        first_row.setdefault(key, row)
    if len(first_row) == len(keys):
        return edges
    if how == "error":
        (u, v), count = Counter(keys).most_common(1)[0]
        raise InvalidGraph(
            f"edge ({u}, {v}) is given {count} times; parallel_edges='sum' adds the weights (1 where there are none), "
            "'first' keeps the first"
        )
    merged = edges.take(list(first_row.values()))
    return merged if how == "first" else merged._replace(weights=_summed_weights(edges, keys, first_row))


def _summed_weights(edges: EdgeRows, keys: list[tuple[int, int]], first_row: dict[tuple[int, int], int]) -> list[float]:
    totals = dict.fromkeys(first_row, 0.0)
    for row, key in enumerate(keys):
        if edges.labels is not None and edges.labels[row] != edges.labels[first_row[key]]:
            raise InvalidGraph(
                f"edge {key} is given with labels {edges.labels[first_row[key]]!r} and {edges.labels[row]!r}; "
                "parallel_edges='sum' cannot merge different labels"
            )
        totals[key] += 1.0 if edges.weights is None else _number(edges.weights[row], key)
    return list(totals.values())


def _number(weight: object, edge: tuple[int, int]) -> float:
    try:
        return float(weight)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InvalidGraph(f"edge {edge} has weight {weight!r}, which is not a number") from None


def pair_opposite_arcs(arcs: EdgeRows, directed: bool | None) -> tuple[EdgeRows, bool]:
    """Arcs as undirected edges where every arc has its equal opposite, and whether the result is directed.

    ``directed=True`` leaves the arcs alone. ``directed=False`` also takes edges that are given in one direction only,
    but refuses opposite arcs that disagree.
    """
    if directed:
        return arcs, True
    rows = {pair: row for row, pair in enumerate(arcs.pairs)}
    for (u, v), row in rows.items():
        opposite = rows.get((v, u))
        agrees = opposite is not None and _same_attributes(arcs, row, opposite)
        if not agrees and directed is None:
            return arcs, True
        if not agrees and opposite is not None:
            raise InvalidGraph(f"arcs ({u}, {v}) and ({v}, {u}) differ in label or weight; directed=True keeps both")
    return arcs.take([row for (u, v), row in rows.items() if u <= v or (v, u) not in rows]), False


def _same_attributes(arcs: EdgeRows, a: int, b: int) -> bool:
    same_label = arcs.labels is None or arcs.labels[a] == arcs.labels[b]
    return same_label and (arcs.weights is None or arcs.weights[a] == arcs.weights[b])


NODE_NAMES = "node_names"
"""Key of ``metadata`` for the names that nodes had where they were not 0..n-1."""

_EMPTY_COLUMNS = "empty_columns"
"""Graph attribute for columns that exist but have no node or edge to sit on."""

_RESERVED = ("id", "metadata", _EMPTY_COLUMNS)


@dataclass(frozen=True, slots=True)
class IfPresent:
    """The name of an attribute that is used where the graph has it; a plain string demands it."""

    name: str


Attribute = str | IfPresent | None
"""An attribute that must exist, one that may, or none at all."""

LABEL, FEATURES, TEXT, IMAGE, WEIGHT = map(IfPresent, ("label", "x", "text", "image", "weight"))


@dataclass(frozen=True, slots=True)
class AttributeRoles:
    """Which attribute becomes which column."""

    node_label: Attribute = LABEL
    node_features: Attribute | Sequence[str] = FEATURES
    node_text: Attribute = TEXT
    node_image: Attribute = IMAGE
    edge_label: Attribute = LABEL
    edge_weight: Attribute = WEIGHT


DEFAULT_ROLES = AttributeRoles()


@dataclass(slots=True)
class AttributedGraph:
    """A graph as columns of named attributes, None where a node or edge lacks one."""

    num_nodes: int
    edges: list[tuple[int, int]]
    directed: bool
    node_attributes: dict[str, list[Any]] = field(default_factory=dict)
    edge_attributes: dict[str, list[Any]] = field(default_factory=dict)
    graph_attributes: dict[str, Any] = field(default_factory=dict)


def columns_by_name(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Attributes given node by node, as columns."""
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names}


def build_graph(given: AttributedGraph, roles: AttributeRoles, parallel: ParallelEdges, left_out: LeftOut) -> Graph:
    """The graph with each attribute in its column; what is left over goes to ``left_out``."""
    nodes = _AttributeReader("node", given.num_nodes, given.node_attributes)
    edges = _AttributeReader("edge", len(given.edges), given.edge_attributes)
    weights = edges.optional(roles.edge_weight, "edge_weight")
    rows = EdgeRows(
        given.edges,
        edges.optional(roles.edge_label, "edge_label"),
        None if weights is None else [1.0 if weight is None else weight for weight in weights],
    )
    rows = merge_parallel_edges(rows, given.directed, parallel)
    columns = {
        "node_labels": nodes.optional(roles.node_label, "node_label"),
        "node_features": nodes.features(roles.node_features),
        "node_texts": nodes.complete(roles.node_text, "node_text"),
        "node_images": nodes.complete(roles.node_image, "node_image"),
        "edge_labels": rows.labels,
        "edge_weights": rows.weights,
    }
    left_out.note("node attribute", nodes.unread())
    left_out.note("edge attribute", edges.unread())
    facts = dict(given.graph_attributes)
    empty = _pop_empty_columns(facts, given, columns)
    identity = facts.pop("id", None) if isinstance(facts.get("id"), Hashable) else None
    nested = facts.pop("metadata") if isinstance(facts.get("metadata"), Mapping) else {}
    return Graph(
        given.num_nodes,
        rows.pairs,
        directed=given.directed,
        id=identity,
        metadata=facts | dict(nested),
        **(columns | empty),
    )


def describe_graph(graph: Graph) -> AttributedGraph:
    """The reverse of :func:`build_graph` with the default names."""
    columns = graph_columns(graph)
    nodes = {
        "label": graph.node_labels,
        "x": None if graph.node_features is None else graph.node_features.tolist(),
        "text": graph.node_texts,
        "image": graph.node_images,
    }
    edges = {
        "label": graph.edge_labels,
        "weight": None if graph.edge_weights is None else graph.edge_weights.tolist(),
    }
    facts = {name: fact for name, fact in graph.metadata.items() if name not in _RESERVED}
    if hidden := {name: fact for name, fact in graph.metadata.items() if name in _RESERVED}:
        facts["metadata"] = hidden
    if graph.id is not None:
        facts["id"] = graph.id
    if empty := {name: column for name, column in columns.items() if column is not None and len(column) == 0}:
        facts[_EMPTY_COLUMNS] = empty
    return AttributedGraph(
        graph.num_nodes, graph.edges.tolist(), graph.directed, _present(nodes), _present(edges), facts
    )


def graph_columns(graph: Graph) -> dict[str, Any]:
    """The optional columns by the names that the constructor of :class:`Graph` gives them."""
    names = ("node_labels", "node_features", "node_texts", "node_images", "edge_labels", "edge_weights")
    return {name: getattr(graph, name) for name in names}


def are_node_numbers(names: Sequence[Hashable]) -> bool:
    """Whether the names of the nodes are the integers 0..n-1, in any order."""
    integers = all(isinstance(name, int | np.integer) and not isinstance(name, bool) for name in names)
    return integers and set(names) == set(range(len(names)))


def _present(columns: Mapping[str, Iterable[Any] | None]) -> dict[str, list[Any]]:
    return {name: list(column) for name, column in columns.items() if column is not None}


def _pop_empty_columns(facts: dict[str, Any], given: AttributedGraph, columns: dict[str, Any]) -> dict[str, Any]:
    if not isinstance(facts.get(_EMPTY_COLUMNS), Mapping):
        return {}
    count = {"node": given.num_nodes, "edge": len(given.edges)}
    noted = facts.pop(_EMPTY_COLUMNS).items()
    return {name: column for name, column in noted if name in columns and count[name[:4]] == 0}


class _AttributeReader:
    """Gives out the attributes of nodes or edges and remembers which were asked for."""

    def __init__(self, what: str, count: int, columns: Mapping[str, list[Any]]) -> None:
        self._what, self._count, self._columns = what, count, columns
        self._read: set[str] = set()

    def optional(self, choice: Attribute, parameter: str) -> list[Any] | None:
        """The values, None for nodes or edges that lack it; None altogether where nobody has or wants it."""
        if choice is None:
            return None
        name = choice if isinstance(choice, str) else choice.name
        self._read.add(name)
        if name in self._columns:
            return self._columns[name]
        if isinstance(choice, IfPresent):
            return None
        if self._count == 0:
            return []
        known = ", ".join(map(repr, self._columns)) or "none at all"
        raise InvalidGraph(f"{parameter}={name!r}: no {self._what} has this attribute; attributes here: {known}")

    def complete(self, choice: Attribute, parameter: str) -> list[Any] | None:
        """The values; refused where some nodes lack them."""
        values = self.optional(choice, parameter)
        lacking = next((i for i, value in enumerate(values or ()) if value is None), None)
        if lacking is not None:
            name = choice.name if isinstance(choice, IfPresent) else choice
            raise InvalidGraph(
                f"{self._what} {lacking} has no attribute {name!r}, which others have; "
                f"give it one, or leave the attribute out with {parameter}=None"
            )
        return values

    def features(self, choice: Attribute | Sequence[str]) -> list[Any] | NDArray[np.float64] | None:
        """One attribute that holds numbers or vectors, or several of them side by side."""
        if choice is None or isinstance(choice, str | IfPresent):
            return self.complete(choice, "node_features")
        blocks = (self.complete(name, "node_features") for name in choice)
        return np.hstack([COLUMNS["node_features"].read(block, self._count) for block in blocks if block is not None])

    def unread(self) -> list[str]:
        """Attributes that exist and became no column."""
        return [name for name in self._columns if name not in self._read]
