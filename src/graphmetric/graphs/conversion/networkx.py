"""networkx graphs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

from graphmetric.errors import InvalidArgument
from graphmetric.graphs.conversion.attributes import (
    DEFAULT_ROLES,
    FEATURES,
    IMAGE,
    LABEL,
    NODE_NAMES,
    TEXT,
    WEIGHT,
    Attribute,
    AttributedGraph,
    AttributeRoles,
    are_node_numbers,
    build_graph,
    columns_by_name,
    describe_graph,
)
from graphmetric.graphs.conversion.left_out import LeftOut
from graphmetric.graphs.conversion.parallel_edges import ParallelEdges
from graphmetric.graphs.graph import Graph

if TYPE_CHECKING:
    import networkx as nx


def from_networkx(
    graph: nx.Graph,
    *,
    node_label: Attribute = LABEL,
    node_features: Attribute | Sequence[str] = FEATURES,
    node_text: Attribute = TEXT,
    node_image: Attribute = IMAGE,
    edge_label: Attribute = LABEL,
    edge_weight: Attribute = WEIGHT,
    parallel_edges: ParallelEdges = "error",
    keep_names: bool = True,
) -> Graph:
    """A networkx graph, directed or not, multigraph or not; it is not changed.

    Each column takes the attribute of the given name: the defaults are used where they exist, a name given as a plain
    string must exist, None leaves the column out. ``node_features`` may be a list of attributes, put side by side.
    Other node and edge attributes are named in one :class:`ConversionWarning`; graph attributes become ``metadata``,
    the attribute ``id`` the ``id``. A missing label is the tag None, a missing weight counts 1; missing features,
    texts and images are refused.

    Nodes that are named 0..n-1 keep these numbers. Others are numbered in the order of ``list(graph)``, and their
    names are kept as ``metadata["node_names"]`` unless ``keep_names=False``. :meth:`Graph.relabeled` moves
    the names along.
    """
    roles = AttributeRoles(node_label, node_features, node_text, node_image, edge_label, edge_weight)
    left_out = LeftOut()
    converted = convert_networkx(graph, left_out, roles, parallel_edges, keep_names)
    left_out.warn("from_networkx", "to keep an attribute, name it: node_label=..., node_features=[...], ...")
    return converted


def convert_networkx(
    graph: Any,
    left_out: LeftOut,
    roles: AttributeRoles = DEFAULT_ROLES,
    parallel_edges: ParallelEdges = "error",
    keep_names: bool = True,
) -> Graph:
    """:func:`from_networkx` that gathers what it leaves out instead of warning."""
    if not hasattr(graph, "nodes") or not hasattr(graph, "is_multigraph"):
        raise InvalidArgument(f"from_networkx takes a networkx graph; got a {type(graph).__name__}")
    names = _ordered_names(graph)
    number = {name: i for i, name in enumerate(names)}
    edges = list(graph.edges(data=True))
    described = AttributedGraph(
        len(names),
        [(number[u], number[v]) for u, v, _ in edges],
        graph.is_directed(),
        columns_by_name([graph.nodes[name] for name in names]),
        columns_by_name([data for _, _, data in edges]),
        dict(graph.graph),
    )
    if graph.is_multigraph():
        meaningful = {key for _, _, key in graph.edges(keys=True) if type(key) is not int}
        left_out.note("edge key", sorted(meaningful, key=repr))
    if keep_names and not are_node_numbers(names):
        described.graph_attributes[NODE_NAMES] = tuple(names)
    return build_graph(described, roles, parallel_edges, left_out)


def to_networkx(graph: Graph) -> nx.Graph:
    """An ``nx.Graph`` or ``nx.DiGraph`` from which :func:`from_networkx` makes an equal graph again.

    Node attributes ``label``, ``x`` (a list of numbers), ``text``, ``image`` (an array); edge attributes ``label``
    and ``weight``; ``metadata`` and ``id`` as graph attributes. To give the nodes the names they once had::

        nx.relabel_nodes(h, dict(enumerate(h.graph["node_names"])))
    """
    import networkx as nx

    described = describe_graph(graph)
    result = nx.DiGraph() if graph.directed else nx.Graph()
    result.graph.update(described.graph_attributes)
    result.add_nodes_from(zip(range(graph.num_nodes), _rows(described.node_attributes, graph.num_nodes), strict=True))
    attributes = _rows(described.edge_attributes, graph.num_edges)
    result.add_edges_from((u, v, row) for (u, v), row in zip(described.edges, attributes, strict=True))
    return result


def _ordered_names(graph: Any) -> list[Hashable]:
    names = list(graph.nodes)
    return list(range(len(names))) if are_node_numbers(names) else names


def _rows(columns: dict[str, list[Any]], count: int) -> list[dict[str, Any]]:
    return [{name: column[i] for name, column in columns.items()} for i in range(count)]
