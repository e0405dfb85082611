"""GXL, and the CXL lists of the IAM graph database: a file per graph, and lists of files with their classes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from lxml import etree

from graphmetric.formats.file_format import EVERYTHING, FileFormat
from graphmetric.formats.losses import Notes
from graphmetric.formats.named_attributes import AttributeOptions, GraphBuilder
from graphmetric.formats.source import Source, located, natural_key
from graphmetric.formats.xml import (
    Element,
    Row,
    Scalar,
    children,
    edge_rows,
    id_from_text,
    id_text,
    line_of,
    local_name,
    metadata_row,
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

_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_TAGS = {str: "string", bool: "bool", int: "int", float: "float"}
_DIRECTED = {"directed": True, "undirected": False, "defaultdirected": True, "defaultundirected": False}


def read_gxl(source: Source, options: AttributeOptions) -> Iterator[Graph]:
    """The graphs of a GXL file; of a folder, all its GXL files with the classes that its CXL files give them."""
    if source.is_folder:
        yield from _read_folder(source, options)
        return
    root = parse_xml(source)
    if local_name(root) != "gxl":
        raise source.error(f"expected <gxl> as the root; found <{local_name(root)}>", line_of(root))
    for element in children(root, "graph"):
        with source.record(line_of(element)):
            yield _graph(element, source, options)


def read_cxl(source: Source, options: AttributeOptions) -> Iterator[Graph]:
    """The graphs of the files that a CXL file lists, in its order, with ``metadata["class"]``."""
    if source.path is None:
        raise source.error("a CXL file lists other files, so it is read by its path, not from a stream")
    for name, label, _ in list(_listed_files(source)):
        listed = source.beside(name)
        with listed.record():
            yield from _classified(listed, label, options)


def _listed_files(source: Source) -> Iterator[tuple[str, str, int | None]]:
    root = parse_xml(source)
    if local_name(root) != "GraphCollection":
        raise source.error(f"expected <GraphCollection> as the root; found <{local_name(root)}>", line_of(root))
    seen: set[str] = set()
    for element in (element for element in root.iter() if "file" in element.attrib):
        name = required(element, "file", source)
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts or "\\" in name or "\0" in name:
            raise source.error(f"file {name!r} is outside the folder of the list", line_of(element))
        if name in seen:  # a list of one large file a thousand times is refused too
            raise source.error(f"file {name!r} is listed twice", line_of(element))
        seen.add(name)
        yield name, required(element, "class", source).strip(), line_of(element)


def _classified(source: Source, label: str | None, options: AttributeOptions) -> Iterator[Graph]:
    for graph in read_gxl(source, options):
        yield graph if label is None else graph.replace(metadata=dict(graph.metadata) | {"class": id_from_text(label)})


def _read_folder(source: Source, options: AttributeOptions) -> Iterator[Graph]:
    assert source.path is not None
    names = sorted((path.name for path in source.path.iterdir()), key=natural_key)
    classes: dict[str, str] = {}
    for listing in (source.beside(name) for name in names if name.lower().endswith(".cxl")):
        for name, label, where in _listed_files(listing):
            if classes.setdefault(name, label) != label:
                raise listing.error(f"{name} has class {label!r} here and {classes[name]!r} in another list", where)
    for name in names:
        if name.lower().endswith(".gxl"):
            file = source.beside(name)
            with file.record():
                yield from _classified(file, classes.get(name), options)


def has_lists(folder: Path) -> bool:
    """Whether a folder holds GXL files together with CXL lists of them."""
    suffixes = {path.suffix.lower() for path in folder.iterdir()}
    return {".gxl", ".cxl"} <= suffixes


def _graph(element: Element, source: Source, options: AttributeOptions) -> Graph:
    mode = element.get("edgemode", "undirected" if options.directed is False else "directed")
    if mode not in _DIRECTED:
        raise source.error(f"edgemode must be directed or undirected; found {mode!r}", line_of(element))
    directed = _DIRECTED[mode]
    builder = GraphBuilder(source, options, directed=directed)
    for node in children(element, "node"):
        builder.add_node(required(node, "id", source), _attributes(node, source), line_of(node))
    for edge in children(element, "edge"):
        if edge.get("isdirected", str(directed).lower()) != str(directed).lower():
            raise source.error("a graph with directed and undirected edges is not supported", line_of(edge))
        ends = required(edge, "from", source), required(edge, "to", source)
        builder.add_edge(*ends, _attributes(edge, source), line_of(edge))
    metadata = _attributes(element, source)
    return builder.build(line_of(element), id=id_from_text(element.get("id")), metadata=metadata)


def _attributes(element: Element, source: Source) -> dict[str, Any]:
    values = {}
    for child in element:
        if local_name(child) in ("graph", "rel"):
            raise source.error(f"<{local_name(child)}> inside <{local_name(element)}> is not supported", line_of(child))
        if local_name(child) == "attr" and len(child):
            values[required(child, "name", source)] = _value(child[0], source)
    return values


def _value(element: Element, source: Source) -> Any:
    text = element.text or ""
    if element.get(_SPACE) != "preserve":
        text = text.strip()  # the database pads its strings with blanks
    return typed_value(text, local_name(element).lower(), source, line_of(element))


def write_gxl(graphs: Iterable[Graph], stream: BinaryIO) -> None:
    """All graphs in one document."""
    notes = Notes()
    root = etree.Element("gxl")
    for k, graph in enumerate(graphs):
        with located(None, f"graphs[{k}]"):
            _write_graph(root, graph, notes)
    write_xml(root, stream)
    notes.warn()


def _write_graph(root: Element, graph: Graph, notes: Notes) -> None:
    mode = "directed" if graph.directed else "undirected"
    element = etree.SubElement(root, "graph", edgeids="false", edgemode=mode)
    id = id_text(graph.id, notes)
    if id is not None:
        put(element, "id", id)
    _write_attributes(element, metadata_row(graph, notes))
    names = node_ids(graph, "_")
    for name, row in zip(names, node_rows(graph, notes), strict=True):
        node = etree.SubElement(element, "node")
        put(node, "id", name)
        _write_attributes(node, row)
    for (u, v), row in zip(graph.edges.tolist(), edge_rows(graph, notes), strict=True):
        _write_attributes(etree.SubElement(element, "edge", {"from": names[u], "to": names[v]}), row)


def _write_attributes(element: Element, row: Row) -> None:
    for name, value in row.items():
        attribute = etree.SubElement(element, "attr")
        put(attribute, "name", name)
        _write_value(etree.SubElement(attribute, _TAGS[type(value)]), value)


def _write_value(element: Element, value: Scalar) -> None:
    text = text_of(value)
    if text != text.strip():
        element.set(_SPACE, "preserve")
    put_text(element, text)


GXL = FileFormat(
    name="gxl",
    suffixes=(".gxl",),
    description="GXL of the IAM graph database; a folder of them with .cxl lists is read with its classes",
    holds=EVERYTHING - {"node_images"},
    read=read_gxl,
    write=write_gxl,
    options=AttributeOptions,
    names_nodes=True,
    claims_folder=has_lists,
)

CXL = FileFormat(
    name="cxl",
    suffixes=(".cxl",),
    description="CXL list of GXL files with their classes (IAM graph database); read only",
    holds=EVERYTHING - {"node_images"},
    read=read_cxl,
    options=AttributeOptions,
    names_nodes=True,
)
