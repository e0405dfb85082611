"""GML, the Graph Modelling Language that Gephi, igraph, Cytoscape and networkx export."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from html.entities import html5
from typing import Any, NamedTuple

from graphmetric._foundation.options import format_json
from graphmetric.errors import FileError, InvalidGraph
from graphmetric.formats.attributes import (
    AttributeOptions,
    Content,
    GraphBuilder,
    Row,
    Scalar,
    attribute_format,
)
from graphmetric.formats.file_format import NotKept, writer_of_lines
from graphmetric.formats.file_source import FileSource
from graphmetric.formats.values import id_from_text, is_integer, shortened
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import label_from_json

_TOKEN = re.compile(
    r"""(?P<blank>(?:^[ \t]*\#[^\n]*|\s)+)
    | (?P<key>[A-Za-z_][A-Za-z0-9_]*)
    | (?P<number>[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | "(?P<text>[^"]*)"
    | (?P<mark>[\[\]])
    | (?P<wrong>.)""",
    re.VERBOSE | re.MULTILINE,
)
_DEEPEST = 50
"""Lists within lists."""
_MOST_DIGITS = 400
_LIST_START = "_networkx_list_start"
"""What networkx writes to tell a list of one value from the value."""
_KEY = re.compile("[A-Za-z][A-Za-z0-9_]{0,254}")
_ENTITY = re.compile("&(#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z0-9]{1,40});")
_RESERVED = frozenset({"directed", "multigraph", "id", "node", "edge"})
"""Names in a graph that are not metadata."""


class _Entry(NamedTuple):
    key: str
    value: Any
    """A number, a text, or the list of entries between brackets."""
    line: int


def read_gml(source: FileSource, options: AttributeOptions) -> Iterator[Graph]:
    """The graphs of a GML file; what stands beside them is about the program that wrote it."""
    for entry in _document(source):
        if entry.key.lower() == "graph":
            with source.record(entry.line):
                if not isinstance(entry.value, list):
                    raise InvalidGraph(f"expected graph [ ... ]; found graph {shortened(entry.value)}")
                yield _graph(entry, source, options)


def _tokens(source: FileSource) -> Iterator[tuple[str, str, int]]:
    """Kind, text and line of each; the last is of kind "end"."""
    line = 1
    for match in _TOKEN.finditer(source.read_text()):
        kind = str(match.lastgroup)
        if kind == "wrong":
            unfinished = "a text in quotes does not end"
            raise source.error(unfinished if match[0] == '"' else f"unexpected {shortened(match[0])}", line)
        if kind != "blank":
            yield kind, match[kind], line
        line += match[0].count("\n")
    yield "end", "the end of the file", line


def _document(source: FileSource) -> list[_Entry]:
    """All entries; lists are gathered on a stack of their own, so that nesting costs no recursion."""
    open_lists: list[tuple[str, int, list[_Entry]]] = [("", 1, [])]
    tokens = _tokens(source)
    for kind, text, line in tokens:
        name, start, entries = open_lists[-1]
        if kind == "end" and len(open_lists) > 1:
            raise source.error(f"[ after {name} does not end", start)
        if kind == "end":
            break
        if text == "]" and kind == "mark" and len(open_lists) > 1:
            open_lists.pop()
            open_lists[-1][2].append(_Entry(name, entries, start))
            continue
        if kind != "key":
            raise source.error(f"expected a name; found {shortened(text)}", line)
        key = text
        kind, text, _ = next(tokens)
        if kind == "mark" and text == "[":
            if len(open_lists) > _DEEPEST:
                raise source.error(f"more than {_DEEPEST} lists within each other", line)
            open_lists.append((key, line, []))
        elif kind in ("number", "text"):
            entries.append(_Entry(key, _value(kind, text, line, source), line))
        else:
            raise source.error(f"expected a value of {shortened(key)}; found {shortened(text)}", line)
    return open_lists[0][2]


def _value(kind: str, text: str, line: int, source: FileSource) -> str | int | float:
    if kind == "text":
        return _ENTITY.sub(_character, text) if "&" in text else text
    if len(text) > _MOST_DIGITS:
        raise source.error(f"a number has {len(text)} digits; {_MOST_DIGITS} are allowed", line)
    number = int(text) if re.fullmatch("[+-]?[0-9]+", text) else float(text)
    if isinstance(number, float) and not math.isfinite(number):
        raise source.error(f"expected a finite number; found {shortened(text)}", line)
    return number


def _graph(entry: _Entry, source: FileSource, options: AttributeOptions) -> Graph:
    nodes, edges = ([item for item in entry.value if item.key == kind] for kind in ("node", "edge"))
    facts = [fact for fact in entry.value if fact.key not in ("node", "edge")]
    attributes = _attributes(facts, "graph", source)
    directed = attributes.pop("directed", int(bool(options.directed)))
    attributes.pop("multigraph", None)
    if directed not in (0, 1) or not is_integer(directed):
        raise InvalidGraph(f"directed must be 0 or 1; found {shortened(directed)}")
    builder = GraphBuilder(source, options, directed=bool(directed))
    rows = [_record(node, ("id",), source) for node in nodes]
    named_by_label = bool(rows) and all(row.get("label") == str(row["id"]) for row in rows)
    for node, row in zip(nodes, rows, strict=True):
        if named_by_label:  # networkx writes the name of every node as its label, in quotes
            del row["label"]
        builder.add_node(row.pop("id"), row, node.line)
    for edge in edges:
        row = _record(edge, ("source", "target"), source)
        row.pop("key", None)
        builder.add_edge(row.pop("source"), row.pop("target"), row, edge.line)
    id = attributes.pop("id", None)
    id = id_from_text(id) if isinstance(id, str) else label_from_json(id)
    return builder.build(entry.line, id=id, metadata=attributes)


def _character(entity: re.Match[str]) -> str:
    """The character that ``&#233;`` or ``&eacute;`` stands for; the text itself where there is none."""
    name = entity[1]
    if not name.startswith("#"):
        return html5.get(f"{name};", entity[0])
    number = int(name[2:], 16) if name[1] in "xX" else int(name[1:])
    return chr(number) if number < 0xD800 or 0xDFFF < number < 0x110000 else entity[0]


def _record(entry: _Entry, required: tuple[str, ...], source: FileSource) -> dict[str, Any]:
    if not isinstance(entry.value, list):
        raise source.error(f"expected {entry.key} [ ... ]; found {entry.key} {shortened(entry.value)}", entry.line)
    row = _attributes(entry.value, entry.key, source)
    for name in required:
        if not is_integer(row.get(name)):
            found = shortened(row[name]) if name in row else "none"
            raise source.error(f"{entry.key} needs an integer {name}; found {found}", entry.line)
    return row


def _attributes(entries: list[_Entry], kind: str, source: FileSource) -> dict[str, Any]:
    """Values by name, a list where a name is repeated; lists in brackets, such as graphics, are left out."""
    row: dict[str, Any] = {}
    repeated: set[str] = set()
    for key, value, _ in entries:
        if isinstance(value, list):
            source.notice_left_out(f"{kind} attributes", [key], ", since they are lists")
        elif key not in row:
            row[key] = value
        elif key in repeated:
            row[key].append(value)
        else:
            row[key] = [value] if row[key] == _LIST_START else [row[key], value]
            repeated.add(key)
    return row


def _lines(graph: Graph, k: int, not_kept: NotKept) -> Iterator[str]:
    """A graph whose texts are ASCII, with other characters as in HTML."""
    _, id, rows = Content.of(graph, not_kept)
    if wrong := _RESERVED & rows["graph"][0].keys():
        raise FileError(f"GML cannot hold metadata called {min(wrong)!r}, which has another meaning there")
    about: Row = {"directed": int(graph.directed)}
    about |= {} if id is None else {"id": id}
    ends = [{"source": u, "target": v} for u, v in graph.edges.tolist()]
    yield "graph ["
    yield from _pairs(about | rows["graph"][0], "  ", "metadata", not_kept)
    for kind, names in (("node", [{"id": number} for number in range(graph.num_nodes)]), ("edge", ends)):
        for name, row in zip(names, rows[kind], strict=True):
            yield f"  {kind} ["
            yield from _pairs(name | row, "    ", f"{kind} attributes", not_kept)
            yield "  ]"
    yield "]"


def _pairs(row: Row, indent: str, what: str, not_kept: NotKept) -> Iterator[str]:
    for name, value in row.items():
        if not _KEY.fullmatch(name):
            raise FileError(f"GML cannot hold the name {shortened(name)}; names are letters, digits and _")
        yield f"{indent}{name} {_written(value, what, not_kept)}"


def _written(value: Scalar, what: str, not_kept: NotKept) -> str:
    if isinstance(value, bool):
        not_kept.change(f"{what} that are true or false come back as 1 or 0")
        return str(int(value))
    if isinstance(value, float) and not math.isfinite(value):
        not_kept.change(f"{what} that are infinite come back as text")
        value = format_json(value, nan=True)
    if isinstance(value, float):
        text = repr(value)  # GML wants a decimal point also before an exponent
        return text if "." in text else text.replace("e", ".0e") if "e" in text else f"{text}.0"
    if isinstance(value, int):
        return str(value)
    if any("\ud800" <= char <= "\udfff" for char in value):
        raise FileError(f"GML cannot hold {shortened(value)}, which has half of a character")
    return '"' + "".join(char if " " <= char <= "~" and char not in '"&' else f"&#{ord(char)};" for char in value) + '"'


GML = attribute_format(
    "gml",
    (".gml",),
    "GML (Gephi, igraph, Cytoscape, networkx), one or many graphs per file",
    read=read_gml,
    write=writer_of_lines(_lines),
    names_nodes=False,
)
