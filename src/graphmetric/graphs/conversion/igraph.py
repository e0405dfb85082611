"""igraph graphs. igraph is GPL: we read its objects when given some, and import it only in :func:`to_igraph`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphmetric.errors import InvalidArgument, MissingExtra
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
    build_graph,
    describe_graph,
)
from graphmetric.graphs.conversion.left_out import LeftOut
from graphmetric.graphs.conversion.parallel_edges import ParallelEdges
from graphmetric.graphs.graph import Graph

if TYPE_CHECKING:
    import igraph as ig


def from_igraph(
    graph: ig.Graph,
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
    """An igraph graph, by the rules of :func:`from_networkx`; it is not changed.

    igraph numbers its vertices 0..n-1 and so do we; the vertex attribute ``name`` becomes ``metadata["node_names"]``.
    An attribute that is None counts as missing.
    """
    roles = AttributeRoles(node_label, node_features, node_text, node_image, edge_label, edge_weight)
    left_out = LeftOut()
    converted = convert_igraph(graph, left_out, roles, parallel_edges, keep_names)
    left_out.warn("from_igraph", "to keep an attribute, name it: node_label=..., node_features=[...], ...")
    return converted


def convert_igraph(
    graph: Any,
    left_out: LeftOut,
    roles: AttributeRoles = DEFAULT_ROLES,
    parallel_edges: ParallelEdges = "error",
    keep_names: bool = True,
) -> Graph:
    """:func:`from_igraph` that gathers what it leaves out instead of warning."""
    if not hasattr(graph, "vcount") or not hasattr(graph, "get_edgelist"):
        raise InvalidArgument(f"from_igraph takes an igraph graph; got a {type(graph).__name__}")
    described = AttributedGraph(
        graph.vcount(),
        graph.get_edgelist(),
        graph.is_directed(),
        {name: graph.vs[name] for name in graph.vs.attributes()},
        {name: graph.es[name] for name in graph.es.attributes()},
        {name: graph[name] for name in graph.attributes()},
    )
    names = described.node_attributes.get("name")
    if names is not None and roles.node_label != "name":
        del described.node_attributes["name"]
    if names is not None and keep_names:
        described.graph_attributes[NODE_NAMES] = tuple(names)
    return build_graph(described, roles, parallel_edges, left_out)


def to_igraph(graph: Graph) -> ig.Graph:
    """An igraph graph with the attributes that :func:`to_networkx` gives, equal after :func:`from_igraph`."""
    try:
        import igraph as ig
    except ImportError:
        raise MissingExtra("igraph", "igraph", "to_igraph") from None
    described = describe_graph(graph)
    result = ig.Graph(n=graph.num_nodes, edges=described.edges, directed=graph.directed)
    for name, fact in described.graph_attributes.items():
        result[name] = fact
    for sequence, columns in ((result.vs, described.node_attributes), (result.es, described.edge_attributes)):
        for name, column in columns.items():
            if column:
                sequence[name] = column
    return result
