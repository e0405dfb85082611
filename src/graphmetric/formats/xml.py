"""Safe XML in, deterministic XML out; values with types; errors with line numbers.

The columns of a graph as the simple named attributes that the XML formats have, for writing.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, BinaryIO

from lxml import etree

from graphmetric.errors import FileError
from graphmetric.formats.json_values import format_json, plain, shortened
from graphmetric.formats.losses import Notes
from graphmetric.formats.named_attributes import names_to_write, without_names
from graphmetric.formats.source import Source
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import label_to_json

Element = etree._Element

# In these encodings "<!ENTITY" has the same bytes as in ASCII, so that looking for it cannot be evaded.
_ENCODINGS = re.compile(rb"utf-?8|us-ascii|ascii|iso-8859-\d{1,2}|windows-125\d|latin-?1", re.IGNORECASE)
_DECLARED = re.compile(rb"""\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([^"']{0,40})["']""")

INTEGERS = frozenset({"int", "integer", "long", "short", "byte"})
REALS = frozenset({"float", "double", "decimal"})


def parse_xml(source: Source) -> Element:
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
        return etree.fromstring(data, parser)
    except etree.XMLSyntaxError as error:
        line, column = error.position
        problem = (error.msg or "").partition(", line ")[0]
        raise source.error(f"not well-formed XML: {problem} (column {column})", line) from None
    except (LookupError, ValueError) as error:
        raise source.error(f"not readable as XML: {error}") from None


def _refuse_entities(data: bytes, source: Source) -> None:
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


def children(element: Element, *names: str) -> Iterator[Element]:
    """The direct children with one of these local names."""
    return (child for child in element if local_name(child) in names)


def required(element: Element, name: str, source: Source) -> str:
    """An XML attribute that must be there."""
    value = element.get(name)
    if value is None:
        raise source.error(f"<{local_name(element)}> has no attribute {name!r}", line_of(element))
    return value


def typed_value(text: str | None, kind: str, source: Source, where: int | None) -> Any:
    """The value of a text whose type the file declares; unknown types stay text."""
    text = text or ""
    try:
        if kind in INTEGERS:
            return int(text)
        if kind in REALS:
            return float(text)
    except ValueError:
        raise source.error(f"expected a number of type {kind}; found {shortened(text)}", where) from None
    if kind in ("bool", "boolean"):
        if text.strip().lower() not in ("true", "false", "1", "0"):
            raise source.error(f"expected true or false; found {shortened(text)}", where)
        return text.strip().lower() in ("true", "1")
    return text


def id_from_text(text: str | None) -> str | int | None:
    """A graph's id: text that is an integer's usual spelling becomes that integer, empty text None."""
    if not text:
        return None
    return int(text) if re.fullmatch("0|-?[1-9][0-9]{0,17}", text) else text


def new_root(name: str, namespace: str, **attributes: str) -> Element:
    """The root of a new document, in a default namespace."""
    return etree.Element(name, attributes, nsmap={None: namespace})  # type: ignore[dict-item]


def write_xml(root: Element, stream: BinaryIO) -> None:
    """Write a document, one element per line."""
    etree.indent(root, space=" ")
    etree.ElementTree(root).write(stream, encoding="utf-8", xml_declaration=True)
    stream.write(b"\n")


def put(element: Element, name: str, value: str) -> None:
    """Set an XML attribute; refuses characters that XML has no way to write."""
    try:
        element.set(name, value)
    except ValueError:
        raise FileError(f"XML cannot hold {shortened(value)}") from None


def put_text(element: Element, value: str) -> None:
    """Set an element's text; refuses characters that XML has no way to write."""
    try:
        element.text = value
    except ValueError:
        raise FileError(f"XML cannot hold {shortened(value)}") from None


Scalar = str | bool | int | float
Row = dict[str, Scalar]


def node_rows(graph: Graph, notes: Notes) -> list[Row]:
    """One dict per node: ``label``, ``text``, and the features as ``f0``, ``f1``, ..."""
    rows: list[Row] = [{} for _ in range(graph.num_nodes)]
    _fill(rows, "label", graph.node_labels, "node_labels", notes)
    _fill(rows, "text", graph.node_texts, "node_texts", notes)
    if graph.node_features is not None:
        for k, column in enumerate(graph.node_features.T.tolist()):
            _fill(rows, f"f{k}", column, "node_features", notes)
    return rows


def edge_rows(graph: Graph, notes: Notes) -> list[Row]:
    """One dict per edge: ``label`` and ``weight``."""
    rows: list[Row] = [{} for _ in range(graph.num_edges)]
    _fill(rows, "label", graph.edge_labels, "edge_labels", notes)
    _fill(rows, "weight", None if graph.edge_weights is None else graph.edge_weights.tolist(), "edge_weights", notes)
    return rows


def node_ids(graph: Graph, prefix: str) -> list[str]:
    """What nodes are called in the file: by their names if they have some, else by number."""
    return names_to_write(graph, (str,)) or [f"{prefix}{number}" for number in range(graph.num_nodes)]


def metadata_row(graph: Graph, notes: Notes) -> Row:
    """Metadata that are text, numbers or booleans as they are, other values as JSON text."""
    row: Row = {}
    named = names_to_write(graph, (str,)) is not None
    for name, value in (without_names(graph.metadata) if named else graph.metadata).items():
        value = plain(value, f"metadata[{name!r}]")
        if not isinstance(value, str | bool | int | float):
            notes.add(f"metadata {name!r} come back as JSON text")
            value = format_json(value, nan=True)
        row[name] = value
    return row


def id_text(id: Hashable, notes: Notes) -> str | None:
    """A graph's id as text; :func:`id_from_text` reads it."""
    if id is None:
        return None
    text = str(id) if isinstance(id, str | int) and not isinstance(id, bool) else format_json(label_to_json(id))
    if id_from_text(text) != id:
        notes.add("ids come back as integers where they look like one, else as text")
    return text


def text_of(value: Scalar) -> str:
    """A value as the XML formats spell it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


class KindTable:
    """The one type of each attribute over all graphs of a file; mixtures become text, which is said."""

    def __init__(self, rows: Iterable[Row], what: str, notes: Notes) -> None:
        kinds: dict[str, set[type]] = {}
        for row in rows:
            for name, value in row.items():
                kinds.setdefault(name, set()).add(type(value))
        for name, found in kinds.items():
            if len(found) > 1:
                notes.add(f"{what} {name!r} have values of several types, which come back as text")
        self.kinds = {name: found.pop() if len(found) == 1 else str for name, found in kinds.items()}
        """Attribute name -> ``str``, ``bool``, ``int`` or ``float``, in order of first appearance."""


def _fill(rows: list[Row], name: str, values: Iterable[Hashable] | None, column: str, notes: Notes) -> None:
    for row, value in zip(rows, values or (), strict=False):
        if isinstance(value, str | bool | int | float):
            row[name] = value
        elif value is not None:  # an absent attribute is None again when read
            notes.add(f"{column} that are neither text, numbers nor booleans come back as JSON text")
            row[name] = format_json(label_to_json(value))
