"""A graph from one JSON object, in any of the three layouts people use."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from itertools import chain
from typing import Any

from graphmetric.errors import InvalidGraph
from graphmetric.graphs.files.attribute_rows import AttributeRows
from graphmetric.graphs.files.attributes import AttributeOptions, GraphBuilder, choose_columns
from graphmetric.graphs.files.bulk import ParsedGraph
from graphmetric.graphs.files.graph_dict import (
    edge_pairs,
    flag,
    graph_from_dict,
    labels,
    mapping,
    numbers,
)
from graphmetric.graphs.files.json_values import plain, shortened
from graphmetric.graphs.files.node_names import names_to_write, with_names, without_names
from graphmetric.graphs.files.source import Source
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import label_from_json, label_to_json

_NODE_KEYS, _EDGE_KEYS = frozenset({"id"}), frozenset({"source", "target", "key"})
_SMALL = 2**63
"""Beyond it many integers may share a hash; see hash_floods."""
_LABEL_LIST_KEYS = ("id", "nodes", "edges", "edge_labels", "edge_weights", "directed")


def parse_graph(
    data: dict[str, Any], source: Source, options: AttributeOptions, place: str = "", where: str | int | None = None
) -> ParsedGraph | Graph:
    """The graph of a JSON object, unchecked where its parts are of the usual types.

    A graph dict has ``num_nodes``; otherwise ``nodes`` lists objects with ids (node-link) or bare labels. ``place`` is
    where in the file the object stands, put before ``nodes[3]`` in errors.
    """
    carefully = partial(_graph_from_json, data, source, options, place)
    try:
        parsed = _parsed_node_link(data, source, options, carefully)
    except (KeyError, TypeError, ValueError):  # our own errors, which are ValueErrors, get their place below
        parsed = None
    if parsed is None:
        return carefully()
    parsed.where = where
    return parsed


def _graph_from_json(data: dict[str, Any], source: Source, options: AttributeOptions, place: str) -> Graph:
    if "num_nodes" in data:
        return graph_from_dict(data, source.limits)
    nodes = data.get("nodes")
    if not isinstance(nodes, list):
        raise InvalidGraph(f"a graph needs num_nodes or a list of nodes; found the keys {shortened(sorted(data))}")
    source.limits.check_nodes(len(nodes))
    if _is_node_link(data):
        return _from_node_link(data, source, options, place)
    return _from_label_list(data, source, options)


def _is_node_link(data: dict[str, Any]) -> bool:
    nodes = data["nodes"]
    return "links" in data or "multigraph" in data or (nodes and isinstance(nodes[0], dict) and "id" in nodes[0])


def _parsed_node_link(
    data: dict[str, Any], source: Source, options: AttributeOptions, carefully: Callable[[], Graph]
) -> ParsedGraph | None:
    """Node-link data whose nodes go by strings or by small integers; None, or some error, for anything else."""
    if "num_nodes" in data or not isinstance(data["nodes"], list) or not _is_node_link(data):
        return None
    nodes, links = data["nodes"], data.get("links", data.get("edges"))
    if not isinstance(links, list):
        return None
    source.limits.check_nodes(len(nodes))
    source.limits.check_edges(len(links))
    names = [node["id"] for node in nodes]
    tails, heads = [link["source"] for link in links], [link["target"] for link in links]
    kind = type(names[0]) if names else str
    if not {kind}.issuperset(map(type, chain(names, tails, heads))) or kind not in (str, int):
        return None
    if names != list(range(len(names))):
        if kind is int and not (-_SMALL < min(names) and max(names) < _SMALL):
            return None
        numbers = {name: number for number, name in enumerate(names)}
        if len(numbers) < len(names):
            return None
        tails, heads = list(map(numbers.__getitem__, tails)), list(map(numbers.__getitem__, heads))
    columns = choose_columns(
        AttributeRows(rows=nodes, without=_NODE_KEYS), AttributeRows(rows=links, without=_EDGE_KEYS), options, source
    )
    texts = columns["node_texts"]
    if texts is not None and not {str}.issuperset(map(type, texts)):
        return None
    return ParsedGraph(
        len(nodes),
        tails,
        heads,
        carefully,
        directed=flag(data, "directed", options.directed),
        id=label_from_json(data.get("id")),
        metadata=with_names(mapping(data, "graph"), names),
        **columns,
    )


def _from_label_list(data: dict[str, Any], source: Source, options: AttributeOptions) -> Graph:
    """``nodes`` are labels (all null: none), ``edges`` pairs; keys of other names are metadata."""
    nodes = data["nodes"]
    return Graph(
        len(nodes),
        edge_pairs(data.get("edges"), source.limits),
        node_labels=None if all(label is None for label in nodes) else labels(data, "nodes"),
        edge_labels=labels(data, "edge_labels"),
        edge_weights=numbers(data, "edge_weights"),
        directed=flag(data, "directed", options.directed),
        id=label_from_json(data.get("id")),
        metadata={key: value for key, value in data.items() if key not in _LABEL_LIST_KEYS},
    )


def _from_node_link(data: dict[str, Any], source: Source, options: AttributeOptions, place: str) -> Graph:
    """The layout of networkx's ``node_link_data``, whose edges are under ``links`` before version 3.4."""
    builder = GraphBuilder(source, options, directed=flag(data, "directed", options.directed))
    links = data.get("links", data.get("edges"))
    if not isinstance(links, list):
        raise InvalidGraph('node-link data needs a list under "edges" or "links"')
    source.limits.check_edges(len(links))
    for k, node in enumerate(data["nodes"]):
        if not isinstance(node, dict) or "id" not in node:
            raise InvalidGraph(f'nodes[{k}] must be an object with an "id"; got {shortened(node)}')
        attributes = {key: value for key, value in node.items() if key != "id"}
        builder.add_node(_name(node["id"]), attributes, f"{place}nodes[{k}]")
    for k, link in enumerate(links):
        if not isinstance(link, dict) or not {"source", "target"} <= link.keys():
            raise InvalidGraph(f'edges[{k}] must be an object with "source" and "target"; got {shortened(link)}')
        attributes = {key: value for key, value in link.items() if key not in ("source", "target", "key")}
        builder.add_edge(_name(link["source"]), _name(link["target"]), attributes, f"{place}edges[{k}]")
    return builder.build(
        place.rstrip("., ") or None, id=label_from_json(data.get("id")), metadata=mapping(data, "graph")
    )


def _name(value: object) -> Hashable:
    """A node's id; networkx's tuples arrive as lists."""
    if isinstance(value, list):
        return tuple(_name(item) for item in value)
    return label_from_json(value)


def graph_to_node_link(graph: Graph) -> dict[str, Any]:
    """The layout that networkx's ``node_link_graph`` reads; a graph's own id stands beside ``graph``."""
    names = names_to_write(graph, (int, str))
    ids = range(graph.num_nodes) if names is None else names
    nodes: list[dict[str, Any]] = [{"id": id} for id in ids]
    for name, values in _node_attributes(graph).items():
        for node, value in zip(nodes, values, strict=True):
            node[name] = value
    edges: list[dict[str, Any]] = [{"source": ids[u], "target": ids[v]} for u, v in graph.edges.tolist()]
    for name, values in _edge_attributes(graph).items():
        for edge, value in zip(edges, values, strict=True):
            edge[name] = value
    metadata = graph.metadata if names is None else without_names(graph.metadata)
    data = {"directed": graph.directed, "multigraph": False, "graph": plain(metadata)}
    data |= {"nodes": nodes, "edges": edges}
    return data if graph.id is None else {"id": label_to_json(graph.id)} | data


def _node_attributes(graph: Graph) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    if graph.node_labels is not None:
        columns["label"] = [label_to_json(label) for label in graph.node_labels]
    if graph.node_features is not None:
        columns["features"] = graph.node_features.tolist()
    if graph.node_texts is not None:
        columns["text"] = list(graph.node_texts)
    return columns


def _edge_attributes(graph: Graph) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    if graph.edge_labels is not None:
        columns["label"] = [label_to_json(label) for label in graph.edge_labels]
    if graph.edge_weights is not None:
        columns["weight"] = graph.edge_weights.tolist()
    return columns
