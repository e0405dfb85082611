"""Graphs in XML: GEXF (Gephi, networkx), GraphML, and GXL with the CXL lists of the IAM graph database.

The three have the same parts under different names, which a :class:`_Dialect` lists: a graph has nodes and edges, and
each of these has attributes. They differ in how attributes are written, which is one function per format and direction.
The last part reads XML safely, writes it the same way each time, and gives errors their line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple, TypeAlias

from lxml import etree

from graphmetric.errors import FileError
from graphmetric.formats.attributes import (
    AttributeOptions,
    Content,
    GraphBuilder,
    Row,
    attribute_format,
    node_ids,
    scalar_text,
)
from graphmetric.formats.file_format import EVERYTHING, ConversionLosses
from graphmetric.formats.file_source import FileSource, located, natural_key
from graphmetric.formats.values import id_from_text, shortened
from graphmetric.graphs.graph import Graph

Element = etree._Element

_Attributes = Callable[[Element, str], dict[str, Any]]
"""Reads the attributes of an element, which is a "graph", a "node" or an "edge"."""
_PutAttributes = Callable[[Element, str, Row], None]
"""Writes them."""
_Prepare: TypeAlias = "Callable[[Element, list[Content], ConversionLosses], _PutAttributes]"

_KIND_NAMES = {str: "string", bool: "boolean", int: "long", float: "double"}
_BYTES_PER_ENTRY = 100
"""An entry of a dict, about."""


class _Dialect(NamedTuple):
    """Element and attribute names of a format."""

    root: str
    id: str
    """XML attribute of a graph with its id."""
    direction: str
    """XML attribute of a graph that says whether it is directed."""
    edge_direction: str
    """XML attribute of an edge that says it again."""
    tail: str
    head: str
    node_prefix: str
    """Prefix of the number of a node that has no name."""
    namespace: str = ""
    grouped: bool = False
    """Whether nodes stand in an element <nodes>, and edges in <edges>; there is no place for metadata then."""


_GEXF = _Dialect("gexf", "name", "defaultedgetype", "type", "source", "target", "", "http://gexf.net/1.3", grouped=True)
_GRAPHML = _Dialect(
    "graphml", "id", "edgedefault", "directed", "source", "target", "n", "http://graphml.graphdrawing.org/xmlns"
)
_GXL = _Dialect("gxl", "id", "edgemode", "isdirected", "from", "to", "_")


def _read_graph(
    element: Element,
    dialect: _Dialect,
    source: FileSource,
    options: AttributeOptions,
    attributes: _Attributes,
    defaults: Mapping[str, Mapping[str, Any]] | None = None,
) -> Graph:
    usual = options.directed if dialect is not _GXL else options.directed is not False
    given = element.get(dialect.direction, "directed" if usual else "undirected")
    direction = given.removeprefix("default")  # GXL has "defaultdirected", too
    if direction not in ("directed", "undirected"):
        problem = f"{dialect.direction} must be directed or undirected; found {given!r}"
        raise source.error(problem, line_of(element))
    builder = GraphBuilder(source, options, directed=direction == "directed", defaults=defaults)
    for node in _members(element, "node", dialect):
        builder.add_node(required(node, "id", source), attributes(node, "node"), line_of(node))
    for edge in _members(element, "edge", dialect):
        given = edge.get(dialect.edge_direction, direction)
        given = {"true": "directed", "false": "undirected"}.get(given, given)
        if given != direction:
            problem = f"the graph is {direction}, this edge is {given!r}; mixtures are not supported"
            raise source.error(problem, line_of(edge))
        ends = required(edge, dialect.tail, source), required(edge, dialect.head, source)
        builder.add_edge(*ends, attributes(edge, "edge"), line_of(edge))
    metadata = attributes(element, "graph")
    return builder.build(line_of(element), id=id_from_text(element.get(dialect.id)), metadata=metadata)


def _members(graph: Element, kind: str, dialect: _Dialect) -> Iterator[Element]:
    groups = children(graph, f"{kind}s") if dialect.grouped else [graph]
    return (member for group in groups for member in children(group, kind))


class _Declared(NamedTuple):
    """An attribute that the file declares before it is used."""

    name: str
    kind: str
    default: Any
    place: str
    """Elements that may have it: "node", "edge", "graph" or "all"."""


def _declarations(elements: Iterable[Element], name: str, kind: str, source: FileSource) -> dict[str, _Declared]:
    """Declared attributes by their ids; ``name`` and ``kind`` are the XML attributes with their names and types."""
    table: dict[str, _Declared] = {}
    for element in elements:
        id = required(element, "id", source)
        type_name = element.get(kind, "string")
        default = next(children(element, "default"), None)
        value = None if default is None else typed_value(default.text, type_name, source, line_of(default))
        table[id] = _Declared(element.get(name) or id, type_name, value, element.get("for", "all"))
    return table


def _declared(table: dict[str, _Declared], id: str, element: Element, source: FileSource) -> _Declared:
    if id not in table:
        problem = f"<{local_name(element)}> refers to the key {id!r}, which is not declared"
        raise source.error(problem, line_of(element))
    return table[id]


def _defaults(table: dict[str, _Declared], kind: str) -> dict[str, Any]:
    declared = [known for known in table.values() if known.place in (kind, "all")]
    return {known.name: known.default for known in declared if known.default is not None}


def _write_document(
    graphs: Iterable[Graph], stream: BinaryIO, not_kept: ConversionLosses, *, dialect: _Dialect, prepare: _Prepare
) -> None:
    """All graphs in one document, an element per line; ``prepare`` declares attributes and gives what writes them."""
    contents: list[Content] = []
    for k, graph in enumerate(graphs):
        with located(None, f"graphs[{k}]"):
            contents.append(Content.of(graph, not_kept, metadata=not dialect.grouped))
    namespaces = {None: dialect.namespace} if dialect.namespace else None
    root = etree.Element(dialect.root, nsmap=namespaces)  # type: ignore[arg-type]
    put_attributes = prepare(root, contents, not_kept)
    for k, content in enumerate(contents):
        with located(None, f"graphs[{k}]"):
            _write_graph(root, content, dialect, put_attributes)
    etree.indent(root, space=" ")
    etree.ElementTree(root).write(stream, encoding="utf-8", xml_declaration=True)
    stream.write(b"\n")


def _write_graph(root: Element, content: Content, dialect: _Dialect, put_attributes: _PutAttributes) -> None:
    graph, id, rows = content
    element = etree.SubElement(root, "graph", {dialect.direction: "directed" if graph.directed else "undirected"})
    if id is not None:
        put(element, dialect.id, id)
    put_attributes(element, "graph", rows["graph"][0])
    names = node_ids(graph, dialect.node_prefix)
    nodes = [{"id": name} for name in names]
    edges = [{dialect.tail: names[u], dialect.head: names[v]} for u, v in graph.edges.tolist()]
    for kind, members in (("node", nodes), ("edge", edges)):
        group = etree.SubElement(element, f"{kind}s") if dialect.grouped else element
        for k, (given, row) in enumerate(zip(members, rows[kind], strict=True)):
            member = etree.SubElement(group, kind, {"id": str(k)} if dialect.grouped and kind == "edge" else {})
            for name, value in given.items():
                put(member, name, value)
            put_attributes(member, kind, row)


def _kinds_by_place(contents: list[Content], not_kept: ConversionLosses) -> dict[str, dict[str, type]]:
    """The one type of each attribute, in order of first appearance; mixtures become text, with a warning."""
    tables: dict[str, dict[str, type]] = {}
    for place in ("graph", "node", "edge"):
        kinds: dict[str, set[type]] = {}
        for row in (row for content in contents for row in content.rows[place]):
            for name, value in row.items():
                kinds.setdefault(name, set()).add(type(value))
        what = "metadata" if place == "graph" else f"{place} attributes"
        for name in (name for name, found in kinds.items() if len(found) > 1):
            not_kept.change(f"{what} {name!r} have values of several types, which come back as text")
        tables[place] = {name: found.pop() if len(found) == 1 else str for name, found in kinds.items()}
    return tables


def read_gexf(source: FileSource, options: AttributeOptions) -> Iterator[Graph]:
    """The graph of a GEXF file."""
    for element in children(parse_xml(source, "gexf"), "graph"):
        groups = list(children(element, "attributes"))
        moving = next((group for group in groups if group.get("mode", "static") != "static"), None)
        if moving is not None:
            raise source.error("attributes that change over time are not supported", line_of(moving))
        tables = {}
        for kind in ("node", "edge"):
            declaring = (group for group in groups if group.get("class") == kind)
            entries = (entry for group in declaring for entry in children(group, "attribute"))
            tables[kind] = _declarations(entries, "title", "type", source)
        attributes = _gexf_attributes(element, tables, source)
        defaults = {kind: _defaults(table, kind) for kind, table in tables.items()}
        yield _read_graph(element, _GEXF, source, options, attributes, defaults)


def _gexf_attributes(graph: Element, tables: dict[str, dict[str, _Declared]], source: FileSource) -> _Attributes:
    # Many writers fill in the id where a node has no label; such labels are names of nodes, not tags.
    nodes = _members(graph, "node", _GEXF)
    with_label = any(node.get("label", node.get("id")) != node.get("id") for node in nodes)

    def attributes(element: Element, kind: str) -> dict[str, Any]:
        values: dict[str, Any] = {}
        if kind == "graph":
            return values
        label, weight = element.get("label"), element.get("weight")
        if label is not None and (with_label if kind == "node" else label):
            values["label"] = label
        if kind == "edge" and weight is not None:
            values["weight"] = typed_value(weight, "double", source, line_of(element))
        for child in element:
            if local_name(child) in ("nodes", "edges"):
                raise source.error("graphs inside nodes are not supported", line_of(element))
            for entry in children(child, "attvalue") if local_name(child) == "attvalues" else ():
                id = entry.get("for") or required(entry, "id", source)  # "id" before version 1.1
                known = _declared(tables[kind], id, entry, source)
                text = required(entry, "value", source)
                values[known.name] = typed_value(text, known.kind, source, line_of(entry))
        return values

    return attributes


def _prepare_gexf(root: Element, contents: list[Content], not_kept: ConversionLosses) -> _PutAttributes:
    if len(contents) != 1:
        raise FileError(f"a GEXF file holds one graph, not {len(contents)}; give a folder to write one file per graph")
    root.set("version", "1.3")
    tables = _kinds_by_place(contents, not_kept)
    tables["edge"].pop("weight", None)  # which is an XML attribute
    ids = {(kind, name): str(number) for kind, table in tables.items() for number, name in enumerate(table)}

    def put_attributes(element: Element, kind: str, row: Row) -> None:
        if kind == "graph":
            element.set("mode", "static")
            for place, table in tables.items():
                group = etree.SubElement(element, "attributes", {"class": place, "mode": "static"}) if table else None
                for name, type_ in table.items():
                    entry = {"id": ids[place, name], "title": name, "type": _KIND_NAMES[type_]}
                    etree.SubElement(group, "attribute", entry)  # type: ignore[arg-type]
            return
        if kind == "node":
            put(element, "label", element.get("id", ""))
        if "weight" in row and kind == "edge":
            put(element, "weight", scalar_text(row["weight"]))
        entries = [(ids[kind, name], value) for name, value in row.items() if (kind, name) in ids]
        group = etree.SubElement(element, "attvalues") if entries else None
        for id, value in entries:
            put(etree.SubElement(group, "attvalue", {"for": id}), "value", scalar_text(value))  # type: ignore[arg-type]

    return put_attributes


def read_graphml(source: FileSource, options: AttributeOptions) -> Iterator[Graph]:
    """The graphs of a GraphML file, with their data as attributes and metadata."""
    root = parse_xml(source, "graphml")
    table = _declarations(children(root, "key"), "attr.name", "attr.type", source)
    defaults = {kind: _defaults(table, kind) for kind in ("node", "edge", "graph")}

    def attributes(element: Element, kind: str) -> dict[str, Any]:
        values = dict(defaults["graph"]) if kind == "graph" else {}
        for child in element:
            name = local_name(child)
            if name in ("graph", "hyperedge"):
                problem = "hyperedges" if name == "hyperedge" else "graphs inside nodes"
                where = element if name == "hyperedge" else child
                raise source.error(f"{problem} are not supported", line_of(where))
            if name == "data":
                known = _declared(table, required(child, "key", source), child, source)
                if len(child):  # drawing data of an editor, not a value
                    source.notice_left_out("elements inside", [known.name], "")
                else:
                    values[known.name] = typed_value(child.text, known.kind, source, line_of(child))
        return values

    for count, element in enumerate(children(root, "graph")):
        source.check(line_of(element), filler_bytes=_BYTES_PER_ENTRY * count * len(defaults["graph"]))
        with source.record(line_of(element)):
            yield _read_graph(element, _GRAPHML, source, options, attributes, defaults)


def _prepare_graphml(root: Element, contents: list[Content], not_kept: ConversionLosses) -> _PutAttributes:
    ids: dict[tuple[str, str], str] = {}
    for place, table in _kinds_by_place(contents, not_kept).items():
        for name, kind in table.items():
            id = ids[place, name] = f"d{len(ids)}"
            key = etree.SubElement(root, "key", {"id": id, "for": place, "attr.type": _KIND_NAMES[kind]})
            put(key, "attr.name", name)

    def put_attributes(element: Element, place: str, row: Row) -> None:
        for name, value in row.items():
            put(etree.SubElement(element, "data", key=ids[place, name]), None, scalar_text(value))

    return put_attributes


_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_TAGS = {str: "string", bool: "bool", int: "int", float: "float"}


def read_gxl(source: FileSource, options: AttributeOptions) -> Iterator[Graph]:
    """The graphs of a GXL file; of a folder, all its GXL files with the classes that its CXL files give them."""
    if source.is_folder:
        yield from _read_gxl_folder(source, options)
        return

    def attributes(element: Element, kind: str) -> dict[str, Any]:
        values = {}
        for child in element:
            name = local_name(child)
            if name in ("graph", "rel"):
                raise source.error(f"<{name}> inside <{local_name(element)}> is not supported", line_of(child))
            if name == "attr" and len(child):
                text = child[0].text or ""
                if child[0].get(_SPACE) != "preserve":
                    text = text.strip()  # the database pads its strings with blanks
                value = typed_value(text, local_name(child[0]).lower(), source, line_of(child[0]))
                values[required(child, "name", source)] = value
        return values

    for element in children(parse_xml(source, "gxl"), "graph"):
        with source.record(line_of(element)):
            yield _read_graph(element, _GXL, source, options, attributes)


def _put_gxl_attributes(element: Element, kind: str, row: Row) -> None:
    if kind == "graph":
        element.set("edgeids", "false")
    for name, value in row.items():
        attribute = etree.SubElement(element, "attr")
        put(attribute, "name", name)
        tag = etree.SubElement(attribute, _TAGS[type(value)])
        text = scalar_text(value)
        if text != text.strip():
            tag.set(_SPACE, "preserve")
        put(tag, None, text)


def read_cxl(source: FileSource, options: AttributeOptions) -> Iterator[Graph]:
    """The graphs of the files that a CXL file lists, in its order, with ``metadata["class"]``."""
    if source.path is None:
        raise source.error("a CXL file lists other files, so it is read by its path, not from a stream")
    for name, label, _ in list(_listed_files(source)):
        yield from _classified(source.beside(name), label, options)


def _listed_files(source: FileSource) -> Iterator[tuple[str, str, int | None]]:
    seen: set[str] = set()
    for element in (element for element in parse_xml(source, "GraphCollection").iter() if "file" in element.attrib):
        name = required(element, "file", source)
        place = PurePosixPath(name)
        if place.is_absolute() or ".." in place.parts or "\\" in name or "\0" in name:
            raise source.error(f"file {name!r} is outside the folder of the list", line_of(element))
        if name in seen:  # a list of one large file a thousand times is refused too
            raise source.error(f"file {name!r} is listed twice", line_of(element))
        seen.add(name)
        yield name, required(element, "class", source).strip(), line_of(element)


def _classified(source: FileSource, label: str | None, options: AttributeOptions) -> Iterator[Graph]:
    given = {} if label is None else {"class": id_from_text(label)}
    with source.record():
        for graph in read_gxl(source, options):
            yield graph.replace(metadata=dict(graph.metadata) | given) if given else graph


def _read_gxl_folder(source: FileSource, options: AttributeOptions) -> Iterator[Graph]:
    assert source.path is not None
    names = sorted((path.name for path in source.path.iterdir()), key=natural_key)
    classes: dict[str, str] = {}
    for listing in (source.beside(name) for name in names if name.lower().endswith(".cxl")):
        for name, label, where in _listed_files(listing):
            if classes.setdefault(name, label) != label:
                raise listing.error(f"{name} has class {label!r} here and {classes[name]!r} in another list", where)
    for name in names:
        if name.lower().endswith(".gxl"):
            yield from _classified(source.beside(name), classes.get(name), options)


def _has_lists(folder: Path) -> bool:
    """Return whether a folder holds GXL files together with CXL lists of them."""
    return {".gxl", ".cxl"} <= {path.suffix.lower() for path in folder.iterdir()}


GEXF = attribute_format(
    "gexf",
    (".gexf",),
    "GEXF (Gephi, networkx), one graph per file",
    holds=EVERYTHING - {"node_images", "metadata"},
    read=read_gexf,
    write=partial(_write_document, dialect=_GEXF, prepare=_prepare_gexf),
    one_graph_per_file=True,
)

GRAPHML = attribute_format(
    "graphml",
    (".graphml",),
    "GraphML, one or many graphs per file",
    read=read_graphml,
    write=partial(_write_document, dialect=_GRAPHML, prepare=_prepare_graphml),
)

GXL = attribute_format(
    "gxl",
    (".gxl",),
    "GXL of the IAM graph database; a folder of them with .cxl lists is read with its classes",
    read=read_gxl,
    write=partial(_write_document, dialect=_GXL, prepare=lambda root, contents, _: _put_gxl_attributes),
    claims_folder=_has_lists,
)

CXL = attribute_format(
    "cxl", (".cxl",), "CXL list of GXL files with their classes (IAM graph database); read only", read=read_cxl
)


# In these encodings "<!ENTITY" has the same bytes as in ASCII, so that looking for it cannot be evaded.
_ENCODINGS = re.compile(rb"utf-?8|us-ascii|ascii|iso-8859-\d{1,2}|windows-125\d|latin-?1", re.IGNORECASE)
_DECLARED = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([^"']{0,40})["']""")

_PARSERS = {
    **dict.fromkeys(("int", "integer", "long", "short", "byte"), int),
    **dict.fromkeys(("float", "double", "decimal"), float),
}
"""Type that a file declares -> how its texts become numbers."""


def parse_xml(source: FileSource, root_name: str) -> Element:
    """The root element. No entity is ever declared, expanded or fetched, and no DTD is loaded."""
    data = source.read_bytes()
    _refuse_entities(data, source)
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        line, column = error.position
        problem = (error.msg or "").partition(", line ")[0]
        raise source.error(f"not well-formed XML: {problem} (column {column})", line) from None
    except (LookupError, ValueError) as error:
        raise source.error(f"not readable as XML: {error}") from None
    if local_name(root) != root_name:
        raise source.error(f"expected <{root_name}> as the root; found <{local_name(root)}>", line_of(root))
    return root


def _refuse_entities(data: bytes, source: FileSource) -> None:
    if b"\0" in data[:8] or data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise source.error("this looks like UTF-16 or UTF-32; save the file as UTF-8", 1)
    declared = _DECLARED.match(data[:400].removeprefix(b"\xef\xbb\xbf"))
    if declared and not _ENCODINGS.fullmatch(declared[1]):
        raise source.error(f"encoding {declared[1].decode('latin-1')!r} is not read; save the file as UTF-8", 1)
    if b"<!ENTITY" in data:
        line = data[: data.index(b"<!ENTITY")].count(b"\n") + 1
        raise source.error("entity declarations are refused, since they can make a small file explode", line)


def line_of(element: Element) -> int | None:
    """The line where an element starts."""
    return element.sourceline  # type: ignore[return-value]


def local_name(element: Element) -> str:
    """The tag without its namespace."""
    return str(element.tag).rpartition("}")[2]


def children(element: Element, name: str) -> Iterator[Element]:
    """The direct children with this local name."""
    return (child for child in element if local_name(child) == name)


def required(element: Element, name: str, source: FileSource) -> str:
    """An XML attribute that must be there."""
    value = element.get(name)
    if value is None:
        raise source.error(f"<{local_name(element)}> has no attribute {name!r}", line_of(element))
    return value


def typed_value(text: str | None, kind: str, source: FileSource, where: int | None) -> Any:
    """The value of a text whose type the file declares; unknown types stay text."""
    text = text or ""
    if kind in _PARSERS:
        try:
            return _PARSERS[kind](text)
        except ValueError:
            raise source.error(f"expected a number of type {kind}; found {shortened(text)}", where) from None
    if kind in ("bool", "boolean"):
        if text.strip().lower() not in ("true", "false", "1", "0"):
            raise source.error(f"expected true or false; found {shortened(text)}", where)
        return text.strip().lower() in ("true", "1")
    return text


def put(element: Element, name: str | None, value: str) -> None:
    """Set an XML attribute, or the element's text; refuses characters that XML has no way to write."""
    try:
        if name is None:
            element.text = value
        else:
            element.set(name, value)
    except ValueError:
        raise FileError(f"XML cannot hold {shortened(value)}") from None
