"""GEXF (Gephi, networkx): one graph per file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from lxml import etree

from graphmetric.errors import FileError
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
    new_root,
    node_ids,
    node_rows,
    parse_xml,
    put,
    required,
    text_of,
    typed_value,
    write_xml,
)
from graphmetric.graphs.graph import Graph

_NAMESPACE = "http://gexf.net/1.3"
_KIND_NAMES = {str: "string", bool: "boolean", int: "long", float: "double"}

_Table = dict[str, tuple[str, str, Any]]
"""Attribute id -> title, type, default."""


def read_gexf(source: Source, options: AttributeOptions) -> Iterator[Graph]:
    """The graph of a GEXF file."""
    root = parse_xml(source)
    if local_name(root) != "gexf":
        raise source.error(f"expected <gexf> as the root; found <{local_name(root)}>", line_of(root))
    for element in children(root, "graph"):
        yield _graph(element, source, options)


def _graph(element: Element, source: Source, options: AttributeOptions) -> Graph:
    mode = element.get("defaultedgetype", "directed" if options.directed else "undirected")
    if mode not in ("directed", "undirected"):
        problem = f"defaultedgetype must be directed or undirected; found {mode!r}"
        raise source.error(problem, line_of(element))
    tables = {kind: _declared(element, kind, source) for kind in ("node", "edge")}
    defaults = {f"{kind}_defaults": _defaults(table) for kind, table in tables.items()}
    builder = GraphBuilder(source, options, directed=mode == "directed", **defaults)
    nodes = [node for group in children(element, "nodes") for node in children(group, "node")]
    # Many writers fill in the id where there is no label; such labels are names of nodes, not tags.
    with_label = any(node.get("label", node.get("id")) != node.get("id") for node in nodes)
    for node in nodes:
        if any(local_name(child) in ("nodes", "edges") for child in node):
            raise source.error("graphs inside nodes are not supported", line_of(node))
        attributes = {"label": node.get("label")} if with_label and "label" in node.attrib else {}
        builder.add_node(
            required(node, "id", source), attributes | _values(node, tables["node"], source), line_of(node)
        )
    for edge in (edge for group in children(element, "edges") for edge in children(group, "edge")):
        if edge.get("type", mode) != mode:
            problem = f"the graph is {mode}, this edge is {edge.get('type')!r}; mixtures are not supported"
            raise source.error(problem, line_of(edge))
        ends = required(edge, "source", source), required(edge, "target", source)
        builder.add_edge(*ends, _edge_attributes(edge, tables["edge"], source), line_of(edge))
    return builder.build(line_of(element), id=id_from_text(element.get("name")))


def _declared(graph: Element, kind: str, source: Source) -> _Table:
    table: _Table = {}
    for group in children(graph, "attributes"):
        if group.get("class") != kind:
            continue
        if group.get("mode", "static") != "static":
            raise source.error("attributes that change over time are not supported", line_of(group))
        for attribute in children(group, "attribute"):
            id, type_name = required(attribute, "id", source), attribute.get("type", "string")
            default = next(children(attribute, "default"), None)
            value = None if default is None else typed_value(default.text, type_name, source, line_of(default))
            table[id] = attribute.get("title", id), type_name, value
    return table


def _defaults(table: _Table) -> dict[str, Any]:
    return {title: default for title, _, default in table.values() if default is not None}


def _values(element: Element, table: _Table, source: Source) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for group in children(element, "attvalues"):
        for value in children(group, "attvalue"):
            name = value.get("for") or required(value, "id", source)  # "id" before version 1.1
            if name not in table:
                raise source.error(
                    f"<attvalue> refers to the attribute {name!r}, which is not declared", line_of(value)
                )
            title, kind, _ = table[name]
            values[title] = typed_value(required(value, "value", source), kind, source, line_of(value))
    return values


def _edge_attributes(edge: Element, table: _Table, source: Source) -> dict[str, Any]:
    attributes: dict[str, Any] = {}
    if edge.get("label"):
        attributes["label"] = edge.get("label")
    if "weight" in edge.attrib:
        attributes["weight"] = typed_value(edge.get("weight"), "double", source, line_of(edge))
    return attributes | _values(edge, table, source)


def write_gexf(graphs: Iterable[Graph], stream: BinaryIO) -> None:
    """Exactly one graph."""
    listed = list(graphs)
    if len(listed) != 1:
        raise FileError(f"a GEXF file holds one graph, not {len(listed)}; give a folder to write one file per graph")
    notes = Notes()
    with located(None, "graphs[0]"):
        root = _document(listed[0], notes)
    write_xml(root, stream)
    notes.warn()


def _document(graph: Graph, notes: Notes) -> Element:
    root = new_root("gexf", _NAMESPACE, version="1.3")
    mode = "directed" if graph.directed else "undirected"
    element = etree.SubElement(root, "graph", defaultedgetype=mode, mode="static")
    id = id_text(graph.id, notes)
    if id is not None:
        put(element, "name", id)
    nodes, edges = node_rows(graph, notes), edge_rows(graph, notes)
    weights = [row.pop("weight", None) for row in edges]
    node_table = _write_table(element, "node", KindTable(nodes, "node attributes", notes))
    edge_table = _write_table(element, "edge", KindTable(edges, "edge attributes", notes))
    group = etree.SubElement(element, "nodes")
    names = node_ids(graph, "")
    for name, row in zip(names, nodes, strict=True):
        node = etree.SubElement(group, "node")
        put(node, "id", name)
        put(node, "label", name)
        _write_values(node, row, node_table)
    group = etree.SubElement(element, "edges")
    for number, ((u, v), weight, row) in enumerate(zip(graph.edges.tolist(), weights, edges, strict=True)):
        edge = etree.SubElement(group, "edge", id=str(number), source=names[u], target=names[v])
        if weight is not None:
            edge.set("weight", text_of(weight))
        _write_values(edge, row, edge_table)
    return root


def _write_table(graph: Element, kind: str, table: KindTable) -> dict[str, str]:
    ids = {name: str(number) for number, name in enumerate(table.kinds)}
    if ids:
        group = etree.SubElement(graph, "attributes", {"class": kind, "mode": "static"})
        for name, type_ in table.kinds.items():
            etree.SubElement(group, "attribute", id=ids[name], title=name, type=_KIND_NAMES[type_])
    return ids


def _write_values(element: Element, row: Row, ids: dict[str, str]) -> None:
    if row:
        group = etree.SubElement(element, "attvalues")
        for name, value in row.items():
            put(etree.SubElement(group, "attvalue", {"for": ids[name]}), "value", text_of(value))


GEXF = FileFormat(
    name="gexf",
    suffixes=(".gexf",),
    description="GEXF (Gephi, networkx), one graph per file",
    holds=EVERYTHING - {"node_images", "metadata"},
    read=read_gexf,
    write=write_gexf,
    options=AttributeOptions,
    names_nodes=True,
    one_graph_per_file=True,
)
