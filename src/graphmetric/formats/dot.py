"""Graphviz DOT: the language in which tools draw graphs, read as data; nothing is laid out and nothing is run."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, pairwise, product
from typing import NamedTuple

from graphmetric.errors import FileError
from graphmetric.formats.attributes import (
    AttributeOptions,
    Content,
    GraphBuilder,
    Row,
    Scalar,
    attribute_format,
    node_ids,
    scalar_text,
)
from graphmetric.formats.file_format import ConversionLosses, writer_of_lines
from graphmetric.formats.file_source import FileSource
from graphmetric.formats.values import id_from_text, shortened, value_from_text
from graphmetric.graphs.graph import Graph

_TOKEN = re.compile(
    r"""(?P<blank>(?:\s|//[^\n]*|/\*.*?\*/|^\#[^\n]*)+)
    | (?P<arrow>->|--)
    | (?P<mark>[\[\]{};,=:+])
    | (?P<word>-?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)|[A-Za-z\200-\U0010ffff_][A-Za-z\200-\U0010ffff_0-9]*)
    | "(?P<quoted>[^"\\]*(?:\\.[^"\\]*)*)"
    | (?P<markup><)""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
_KEYWORDS = ("node", "edge", "graph", "digraph", "subgraph", "strict")
_DEEPEST = 50
"""Subgraphs within subgraphs."""

_LOOKS = frozenset(
    re.findall(
        r"\w+",
        """
        URL arrowhead arrowsize arrowtail bb bgcolor center charset clusterrank color colorscheme compound concentrate
        constraint decorate dir distortion edgeURL edgehref edgetarget edgetooltip fillcolor fixedsize fontcolor
        fontname fontpath fontsize forcelabels gradientangle headURL head_lp headclip headhref headlabel headport
        headtarget headtooltip height href image imagepath imagepos imagescale labelURL labelangle labeldistance
        labelfloat labelfontcolor labelfontname labelfontsize labelhref labeljust labelloc labeltarget labeltooltip
        landscape layer layers layout lhead lp ltail margin minlen nodesep nojustify ordering orientation outputorder
        overlap pad page peripheries pin pos quantum rank rankdir ranksep ratio rects regular rotate samehead sametail
        samplepoints shape shapefile showboxes sides size skew splines style stylesheet tailURL tail_lp tailclip
        tailhref taillabel tailport tailtarget tailtooltip tooltip truecolor vertices viewport width xdotversion xlabel
        xlp _background _draw_ _hdraw_ _hldraw_ _ldraw_ _tdraw_ _tldraw_
        """,
    )
)
"""Attributes that Graphviz itself knows and that say how to draw. They are data only if an option names them."""


class _Token(NamedTuple):
    kind: str
    """``word`` (bare), ``text`` (quoted or markup), ``arrow``, ``end``, or the mark or keyword itself."""
    text: str
    line: int


@dataclass(slots=True)
class _Scope:
    """Defaults inherited by the statements inside one pair of braces, and the nodes that they name."""

    node: Row = field(default_factory=dict)
    edge: Row = field(default_factory=dict)
    members: dict[str, None] = field(default_factory=dict)


def read_dot(source: FileSource, options: AttributeOptions) -> Iterator[Graph]:
    """The graphs of a DOT file, one after the other."""
    parser = _Parser(source, options)
    while parser.ahead.kind != "end":
        line = parser.ahead.line
        build = parser.graph()  # after a mistake in the language there is no telling where the next graph starts
        with source.record(line):
            yield build()


class _Parser:
    def __init__(self, source: FileSource, options: AttributeOptions) -> None:
        self._source, self._options = source, options
        wanted = (options.node_label, options.edge_label, options.edge_weight, options.node_text, options.node_features)
        self._tokens = self._cut(source.read_text())
        self.ahead = next(self._tokens)
        self._looks = _LOOKS.difference(*([names] if isinstance(names, str) else names or () for names in wanted))

    def _cut(self, text: str) -> Iterator[_Token]:
        place, line = 0, 1
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None:
                unfinished = {'"': "a text in quotes", "/": "a comment"}.get(text[place])
                found = f"{unfinished} does not end" if unfinished else f"unexpected {shortened(text[place])}"
                raise self._source.error(found, line)
            kind, end = match.lastgroup, match.end()
            if kind == "markup":
                end = self._end_of_markup(text, place, line)
                yield _Token("text", text[place + 1 : end - 1], line)
            elif kind == "quoted":
                yield _Token("text", re.sub(r'\\(\\|"|\r?\n)', _unescaped, match["quoted"]), line)
            elif kind != "blank":
                itself = kind == "mark" or match[0].lower() in _KEYWORDS
                yield _Token(match[0].lower() if itself else str(kind), match[0], line)
            line += text.count("\n", place, end)
            place = end
        yield _Token("end", "the end of the file", line)

    def _end_of_markup(self, text: str, start: int, line: int) -> int:
        depth = 0
        for match in re.compile("[<>]").finditer(text, start):
            depth += 1 if match[0] == "<" else -1
            if depth == 0:
                return match.end()
        raise self._source.error("a text in <...> does not end", line)

    def _next(self) -> _Token:
        token = self.ahead
        if token.kind != "end":
            self.ahead = next(self._tokens)
        return token

    def _take(self, kind: str) -> bool:
        found = self.ahead.kind == kind
        if found:
            self._next()
        return found

    def _expected(self, what: str) -> FileError:
        return self._source.error(f"expected {what}; found {shortened(self.ahead.text)}", self.ahead.line)

    def _text(self, what: str) -> str:
        """An ID: a word that is not a keyword, a number, or a text in quotes, several of which ``+`` joins."""
        if self.ahead.kind not in ("word", "text"):
            raise self._expected(what)
        token = self._next()
        parts = [token.text]
        while token.kind == "text" and self._take("+"):
            if self.ahead.kind != "text":
                raise self._expected("a text in quotes after +")
            parts.append(self._next().text)
        return "".join(parts)

    def graph(self) -> Callable[[], Graph]:
        """Parse ``[strict] graph|digraph [ID] { ... }``; the graph is built when asked for."""
        start = self.ahead.line
        strict, directed = self._take("strict"), self._take("digraph")
        if not directed and not self._take("graph"):
            raise self._expected("graph or digraph")
        name = self._text("a name") if self.ahead.kind != "{" else ""
        self._nodes: dict[str, tuple[Row, int]] = {}
        self._edges: list[tuple[str, str, Row, int]] = []
        self._strict_edges: dict[tuple[str, str], Row] | None = {} if strict else None
        self._arrow = "->" if directed else "--"
        self._facts: Row = {}
        self._statements(_Scope(), 0)
        return partial(self._built, start, id_from_text(name))

    def _built(self, start: int, id: str | int | None) -> Graph:
        builder = GraphBuilder(self._source, self._options, directed=self._arrow == "->")
        for node, (row, line) in self._nodes.items():
            builder.add_node(node, self._data(row), line)
        for tail, head, row, line in self._edges:
            builder.add_edge(tail, head, self._data(row), line)
        return builder.build(start, id=id, metadata=self._data(self._facts))

    def _data(self, row: Row) -> Row:
        """Attributes that are not about looks, as numbers where they are numbers; label "\\N" is the node's name."""
        return {
            name: value_from_text(str(value))
            for name, value in row.items()
            if name not in self._looks and (name, value) != ("label", "\\N")
        }

    def _statements(self, scope: _Scope, depth: int) -> None:
        if depth > _DEEPEST:
            raise self._source.error(f"more than {_DEEPEST} subgraphs within each other", self.ahead.line)
        if not self._take("{"):
            raise self._expected("{")
        while not self._take("}"):
            self._statement(scope, depth)
            while self._take(";"):
                pass

    def _statement(self, scope: _Scope, depth: int) -> None:
        keyword, _, line = self.ahead
        if keyword in ("node", "edge", "graph"):
            self._next()
            if self.ahead.kind != "[":
                raise self._expected(f"[ after {keyword}")
            row = self._attributes()
            if keyword == "graph":
                self._facts |= row if depth == 0 else {}
            else:
                setattr(scope, keyword, getattr(scope, keyword) | row)
            return
        ends = [self._end(scope, depth)]
        if isinstance(ends[0], str) and self._take("="):
            fact = {ends[0]: self._text("a value")}
            self._facts |= fact if depth == 0 else {}
            return
        while self.ahead.kind == "arrow":
            if self.ahead.text != self._arrow:
                raise self._expected(self._arrow)
            self._next()
            ends.append(self._end(scope, depth))
        row = self._attributes()
        groups = [[end] if isinstance(end, str) else list(end) for end in ends]
        for name in chain.from_iterable(groups):
            self._node(name, scope, line)
        if len(ends) == 1 and isinstance(ends[0], str):
            self._nodes[ends[0]][0].update(row)
        for tails, heads in pairwise(groups):
            self._source.check(line, edges=len(self._edges) + len(tails) * len(heads))
            for tail, head in product(tails, heads):
                self._edge(tail, head, scope.edge | row, line)

    def _end(self, scope: _Scope, depth: int) -> str | dict[str, None]:
        """A node, or the nodes of a subgraph."""
        named = self._take("subgraph")
        if self.ahead.kind != "{" and not named:
            name = self._text("a node, an edge or an attribute")
            for _ in range(2):  # a port and a side of the node
                if self._take(":"):
                    self._text("a port")
            return name
        if self.ahead.kind != "{":
            self._text("a name")
        inner = _Scope(dict(scope.node), dict(scope.edge))
        self._statements(inner, depth + 1)
        scope.members |= inner.members
        return inner.members

    def _attributes(self) -> Row:
        row: Row = {}
        while self._take("["):
            while not self._take("]"):
                name = self._text("an attribute or ]")
                row[name] = self._text("a value") if self._take("=") else "true"
                if not self._take(","):
                    self._take(";")
        return row

    def _node(self, name: str, scope: _Scope, line: int) -> None:
        scope.members[name] = None
        if name not in self._nodes:
            self._nodes[name] = dict(scope.node), line
            if len(self._nodes) > self._source.limits.max_nodes:
                self._source.check(line, nodes=len(self._nodes))

    def _edge(self, tail: str, head: str, row: Row, line: int) -> None:
        if self._strict_edges is not None:  # edges that are there already only get further attributes
            pair = (tail, head) if self._arrow == "->" or tail <= head else (head, tail)
            if pair in self._strict_edges:
                self._strict_edges[pair].update(row)
                return
            self._strict_edges[pair] = row
        self._edges.append((tail, head, row, line))


def _unescaped(match: re.Match[str]) -> str:
    """A backslash before a quote hides it, before a line's end it joins lines; all others stay for the reader."""
    return {'"': '"', "\\": "\\\\"}.get(match[1], "")


def _lines(graph: Graph, k: int, not_kept: ConversionLosses) -> Iterator[str]:
    """A graph with every text in quotes."""
    kind, arrow = ("digraph", "->") if graph.directed else ("graph", "--")
    _, id, rows = Content.of(graph, not_kept)
    names = [_quoted(name) for name in node_ids(graph)]
    yield f"{kind} {'' if id is None else _quoted(id) + ' '}{{"
    for name, value in rows["graph"][0].items():
        if name in _LOOKS:
            not_kept.change(f"metadata {name!r} are taken for drawing instructions when they are read")
        yield f"  {_quoted(name)}={_value(value, 'metadata', not_kept)};"
    for name, row in zip(names, rows["node"], strict=True):
        yield f"  {name}{_attribute_list(row, 'node', not_kept)};"
    for (u, v), row in zip(graph.edges.tolist(), rows["edge"], strict=True):
        yield f"  {names[u]} {arrow} {names[v]}{_attribute_list(row, 'edge', not_kept)};"
    yield "}"


def _attribute_list(row: Row, what: str, not_kept: ConversionLosses) -> str:
    pairs = ", ".join(f"{name}={_value(value, f'{what} attributes', not_kept)}" for name, value in row.items())
    return f" [{pairs}]" if pairs else ""


def _value(value: Scalar, what: str, not_kept: ConversionLosses) -> str:
    text = scalar_text(value)
    found = value_from_text(text)
    if found != value or type(found) is not type(value):
        not_kept.change(f"{what} come back as numbers where they look like one, else as text")
    return _quoted(text)


def _quoted(text: str) -> str:
    """The text in quotes; refuses what no quoted text can be."""
    if re.search(r'(?<!\\)(?:\\\\)*\\(?:"|\r?\n|$)', text) or text.endswith("\\") or "\0" in text:
        raise FileError(f"DOT cannot hold {shortened(text)}: a backslash before a quote or an end, or a NUL")
    escaped = text.replace('"', '\\"')
    return f'"{escaped}"'


DOT = attribute_format(
    "dot", (".dot", ".gv"), "Graphviz DOT, one or many graphs per file", read=read_dot, write=writer_of_lines(_lines)
)
