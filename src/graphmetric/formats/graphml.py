"""GraphML: any number of graphs in one file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

from lxml import etree

from graphmetric.formats.file_format import EVERYTHING, FileFormat
from graphmetric.formats.losses import Notes
from graphmetric.formats.named_attributes import AttributeOptions, GraphBuilder
from graphmetric.formats.source import Source, located
from graphmetric.formats.xml import (
    Element,
    KindTable,
    Row,
    children,
    edge_rows,
    id_from_text,
    id_text,
    line_of,
    local_name,
    metadata_row,
    new_root,
    node_ids,
    node_rows,
    parse_xml,
    put,
    put_text,
    required,
    text_of,
    typed_value,
    write_xml,
)
from graphmetric.graphs.graph import Graph

_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
_KIND_NAMES = {str: "string", bool: "boolean", int: "long", float: "double"}

_BYTES_PER_ENTRY = 100
"""An entry of a dict, about."""


class _Key(NamedTuple):
    name: str
    kind: str
    default: Any


_Keys = dict[str, tuple[str, _Key]]


def read_graphml(source: Source, options: AttributeOptions) -> Iterator[Graph]:
    """The graphs of a GraphML file, with their data as attributes and metadata."""
    root = parse_xml(source)
    if local_name(root) != "graphml":
        raise source.error(f"expected <graphml> as the root; found <{local_name(root)}>", line_of(root))
    keys = {required(key, "id", source): _key(key, source) for key in children(root, "key")}
    defaults = {kind: _defaults(keys, kind) for kind in ("node", "edge", "graph")}
    for count, element in enumerate(children(root, "graph")):
        with source.located(line_of(element)):
            source.limits.check_filler(_BYTES_PER_ENTRY * count * len(defaults["graph"]))
        with source.record(line_of(element)):
            yield _graph(element, keys, defaults, source, options)


def _key(key: Element, source: Source) -> tuple[str, _Key]:
    kind = key.get("attr.type", "string")
    default = next(children(key, "default"), None)
    value = None if default is None else typed_value(default.text, kind, source, line_of(default))
    return key.get("for", "all"), _Key(key.get("attr.name") or required(key, "id", source), kind, value)


def _graph(
    element: Element, keys: _Keys, defaults: dict[str, dict[str, Any]], source: Source, options: AttributeOptions
) -> Graph:
    directed = _is_directed(element, source, options)
    given = {"node_defaults": defaults["node"], "edge_defaults": defaults["edge"]}
    builder = GraphBuilder(source, options, directed=directed, **given)
    for node in children(element, "node"):
        name = required(node, "id", source)
        builder.add_node(name, _data(node, keys, source), line_of(node))
    for edge in children(element, "edge"):
        if edge.get("directed", str(directed).lower()) != str(directed).lower():
            raise source.error("a graph with directed and undirected edges is not supported", line_of(edge))
        tail, head = required(edge, "source", source), required(edge, "target", source)
        builder.add_edge(tail, head, _data(edge, keys, source), line_of(edge))
    if any(True for _ in children(element, "hyperedge")):
        raise source.error("hyperedges are not supported", line_of(element))
    metadata = defaults["graph"] | _data(element, keys, source)
    return builder.build(line_of(element), id=id_from_text(element.get("id")), metadata=metadata)


def _is_directed(element: Element, source: Source, options: AttributeOptions) -> bool:
    mode = element.get("edgedefault", "directed" if options.directed else "undirected")
    if mode not in ("directed", "undirected"):
        raise source.error(f"edgedefault must be directed or undirected; found {mode!r}", line_of(element))
    return mode == "directed"


def _defaults(keys: _Keys, kind: str) -> dict[str, Any]:
    return {key.name: key.default for place, key in keys.values() if key.default is not None and place in (kind, "all")}


def _data(element: Element, keys: _Keys, source: Source) -> dict[str, Any]:
    values = {}
    for child in element:
        if local_name(child) == "graph":
            raise source.error("graphs inside nodes are not supported", line_of(child))
        if local_name(child) == "data":
            name = required(child, "key", source)
            if name not in keys:
                raise source.error(f"<data> refers to the key {name!r}, which is not declared", line_of(child))
            key = keys[name][1]
            if len(child):  # drawing data of an editor, not a value
                source.notice_left_out("elements inside", [key.name], "")
            else:
                values[key.name] = typed_value(child.text, key.kind, source, line_of(child))
    return values


def write_graphml(graphs: Iterable[Graph], stream: BinaryIO) -> None:
    """All graphs in one document."""
    notes = Notes()
    rows: list[tuple[Graph, Row, list[Row], list[Row]]] = []
    for k, graph in enumerate(graphs):
        with located(None, f"graphs[{k}]"):
            rows.append((graph, metadata_row(graph, notes), node_rows(graph, notes), edge_rows(graph, notes)))
    tables = {
        "graph": KindTable((row for _, row, _, _ in rows), "metadata", notes),
        "node": KindTable((row for _, _, nodes, _ in rows for row in nodes), "node attributes", notes),
        "edge": KindTable((row for _, _, _, edges in rows for row in edges), "edge attributes", notes),
    }
    root = new_root("graphml", _NAMESPACE)
    keys = _declared_keys(root, tables)
    for k, (graph, metadata, nodes, edges) in enumerate(rows):
        with located(None, f"graphs[{k}]"):
            _write_graph(root, graph, id_text(graph.id, notes), keys, (metadata, nodes, edges))
    write_xml(root, stream)
    notes.warn()


def _declared_keys(root: Element, tables: dict[str, KindTable]) -> dict[tuple[str, str], str]:
    keys: dict[tuple[str, str], str] = {}
    for place, table in tables.items():
        for name, kind in table.kinds.items():
            id = keys[place, name] = f"d{len(keys)}"
            key = etree.SubElement(root, "key", {"id": id, "for": place, "attr.type": _KIND_NAMES[kind]})
            put(key, "attr.name", name)
    return keys


def _write_graph(
    root: Element,
    graph: Graph,
    graph_id: str | None,
    keys: dict[tuple[str, str], str],
    rows: tuple[Row, list[Row], list[Row]],
) -> None:
    metadata, nodes, edges = rows
    element = etree.SubElement(root, "graph", edgedefault="directed" if graph.directed else "undirected")
    if graph_id is not None:
        put(element, "id", graph_id)
    _write_data(element, "graph", metadata, keys)
    ids = node_ids(graph, "n")
    for id, row in zip(ids, nodes, strict=True):
        node = etree.SubElement(element, "node")
        put(node, "id", id)
        _write_data(node, "node", row, keys)
    for (u, v), row in zip(graph.edges.tolist(), edges, strict=True):
        _write_data(etree.SubElement(element, "edge", source=ids[u], target=ids[v]), "edge", row, keys)


def _write_data(element: Element, place: str, row: Row, keys: dict[tuple[str, str], str]) -> None:
    for name, value in row.items():
        put_text(etree.SubElement(element, "data", key=keys[place, name]), text_of(value))


GRAPHML = FileFormat(
    name="graphml",
    suffixes=(".graphml",),
    description="GraphML, one or many graphs per file",
    holds=EVERYTHING - {"node_images"},
    read=read_graphml,
    write=write_graphml,
    options=AttributeOptions,
    names_nodes=True,
)
