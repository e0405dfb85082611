"""Safe XML in, deterministic XML out; values with types; errors with line numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

from lxml import etree

from graphmetric.errors import FileError
from graphmetric.formats.file_source import FileSource
from graphmetric.formats.values import shortened

Element = etree._Element

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


def write_xml(root: Element, stream: BinaryIO) -> None:
    """Write a document, one element per line."""
    etree.indent(root, space=" ")
    etree.ElementTree(root).write(stream, encoding="utf-8", xml_declaration=True)
    stream.write(b"\n")
