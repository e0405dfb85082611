"""The ``t # / v / e`` text of the graph-search codes: one graph after the other, one node or edge per line.

Graphs whose lines have the usual form are read column by column and many at a time; all others line by line, with
errors that name the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

from graphmetric.errors import FileError, InvalidArgument, InvalidGraph
from graphmetric.formats.batch_building import ParsedGraph, build_together
from graphmetric.formats.file_format import FileFormat, NotKept, Part, writer_of_lines
from graphmetric.formats.file_source import FileSource
from graphmetric.formats.values import integer_from_text, is_integer, shortened
from graphmetric.graphs.graph import Graph

_COMMENTS = ("#", "%", "//")
_MOST_DIGITS = 18
_GRAPH_START = re.compile(r"\n(?=[^\S\n]*t(?:\s|\Z))")
"""The end of a line before one whose first word is ``t``."""
_T = TypeVar("_T")
_Texts = list[tuple[int, str]]
"""Texts of several lines, with the number of the first line of each."""
_Rows = list[tuple[int, list[str]]]
"""The ``v`` or the ``e`` lines of one graph, cut into words, with their numbers."""


@dataclass(frozen=True, slots=True)
class LineOptions:
    """How to understand a ``t/v/e`` file."""

    directed: bool | None = None
    """Whether ``e u v`` is an arc from u to v; None: it is not."""
    labels: str = "auto"
    """``"auto"``: a label that is an integer's usual spelling becomes that integer; ``"text"``: all stay strings."""

    def __post_init__(self) -> None:
        if self.labels not in ("auto", "text"):
            raise InvalidArgument(f"labels must be 'auto' or 'text'; got {self.labels!r}")


def read_line_graphs(source: FileSource, options: LineOptions) -> Iterator[Part]:
    """Graphs as they come; ``t # -1`` ends the file."""
    reader = _LineReader(source, options)
    return build_together(source, map(reader.parsed, reader.drafts()))


class _Draft(NamedTuple):
    """The lines of one graph, which may come in several texts."""

    texts: _Texts
    """The very first line is the one that starts with ``t``."""
    id: Hashable = None
    announced: tuple[int, int] | None = None
    problem: FileError | None = None
    """What is wrong with the first line."""

    @property
    def line(self) -> int:
        """Where the graph starts."""
        return self.texts[0][0]


def _count_from_text(text: str) -> int:
    """A node number or a count; -1 for words that are neither."""
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else -1


class _NotOneWord(Exception):
    """Between the words there is something else than single spaces."""


class _Memo(dict[str, _T]):
    """Values by their text, made once each: files repeat a few words a million times."""

    def __init__(self, make: Callable[[str], _T]) -> None:
        self._make = make

    def __missing__(self, text: str) -> _T:
        if text.split() != [text]:
            raise _NotOneWord
        value = self[text] = self._make(text)
        return value


class _LineReader:
    def __init__(self, source: FileSource, options: LineOptions) -> None:
        self._source, self._directed = source, bool(options.directed)
        self._labels: _Memo[Hashable] = _Memo(integer_from_text if options.labels == "auto" else str)
        self._counts: _Memo[int] = _Memo(_count_from_text)

    def drafts(self) -> Iterator[_Draft]:
        """The lines of one graph after the other; only the first line of each is looked at."""
        ended = False
        for texts in self._texts_by_graph():
            number, text = texts[0]
            start, _, rest = text.partition("\n")
            fields = start.split()
            if not ended and fields[:1] == ["t"]:
                draft = self._started(texts, fields)
                if draft.id != -1:
                    yield draft
                    continue
                ended = True
                texts = [(number + 1, rest), *texts[1:]]
            self._refuse_words(texts, ended)

    def _texts_by_graph(self) -> Iterator[_Texts]:
        """Each line that starts with ``t`` together with those after it; first what stands before all of them."""
        texts: _Texts = []
        nodes = edges = 0
        for number, text in self._source.texts():
            before, *graphs = _GRAPH_START.split("\n" + text)
            if before:
                texts.append((number, before[1:]))
                nodes, edges = nodes + before.count("\nv"), edges + before.count("\ne")
                self._source.check(texts[0][0], nodes=nodes, edges=edges)
            number += before.count("\n")
            for graph in graphs:
                if texts:
                    yield texts
                texts, nodes, edges = [(number, graph)], graph.count("\nv"), graph.count("\ne")
                number += graph.count("\n") + 1
        if texts:
            yield texts

    def _refuse_words(self, texts: _Texts, ended: bool) -> None:
        """Raise unless there are only comments."""
        for number, line in _numbered_lines(texts):
            if line.strip() and not line.lstrip().startswith(_COMMENTS):
                found = f"expected 't # id' before anything else; found {shortened(line.strip())}"
                raise self._source.error("text after the end mark 't # -1'" if ended else found, number)

    def _started(self, texts: _Texts, fields: list[str]) -> _Draft:
        """``t # id``, or ``t nodes edges`` of the subgraph-matching codes."""
        line = texts[0][0]
        if len(fields) == 3 and fields[1] != "#":
            announced = _count_from_text(fields[1]), _count_from_text(fields[2])
            self._source.check(line, nodes=announced[0], edges=announced[1])
            wrong = next((text for text, count in zip(fields[1:], announced, strict=True) if count < 0), None)
            problem = (
                None if wrong is None else self._source.error(f"expected a number; found {shortened(wrong)}", line)
            )
            return _Draft(texts, None, announced, problem)
        if len(fields) > 3 or fields[1:2] not in ([], ["#"]):
            found = f"expected 't # id' or 't nodes edges'; found {shortened(' '.join(fields))}"
            return _Draft(texts, problem=self._source.error(found, line))
        return _Draft(texts, integer_from_text(fields[2]) if len(fields) == 3 else None)

    def parsed(self, draft: _Draft) -> ParsedGraph:
        """The graph column by column if its lines have one form, as they nearly always do; else line by line, later."""
        try:
            columns = None if draft.problem else self._columns(draft)
        except _NotOneWord:
            columns = None
        limits = self._source.limits
        if columns and (columns["num_nodes"] > limits.max_nodes or len(columns["tails"]) > limits.max_edges):
            self._source.check(draft.line, nodes=columns["num_nodes"], edges=len(columns["tails"]))
        careful = partial(self._built, draft)
        return ParsedGraph(draft.line, careful, id=draft.id, directed=self._directed, **columns or {})

    def _columns(self, draft: _Draft) -> dict[str, Any] | None:
        """None unless ``v`` lines come before ``e`` lines, single spaces part the words, and nodes are in order."""
        text = draft.texts[0][1] if len(draft.texts) == 1 else "\n".join(text for _, text in draft.texts)
        _, _, body = text.partition("\n")
        node_part, _, edge_part = body.rstrip().partition("\ne ")
        if "\r" in body or not node_part.startswith("v "):
            return None
        nodes = _cut(node_part[2:], "\nv ", 1)
        edges = _cut(edge_part, "\ne ", 2) if edge_part else [[], []]
        if nodes is None or edges is None:
            return None
        count, label = self._counts.__getitem__, self._labels.__getitem__
        numbers, tails, heads = list(map(count, nodes[0])), list(map(count, edges[0])), list(map(count, edges[1]))
        start = 1 if numbers[0] == 1 else 0
        counts = len(numbers), len(tails)
        if numbers != list(range(start, start + len(numbers))) or draft.announced not in (None, counts):
            return None
        if start:
            tails, heads = [tail - 1 for tail in tails], [head - 1 for head in heads]
        return {
            "num_nodes": len(numbers),
            "tails": tails,
            "heads": heads,
            "columns": {
                "node_labels": list(map(label, nodes[1])) if len(nodes) > 1 else None,
                "edge_labels": list(map(label, edges[2])) if len(edges) > 2 else None,
            },
        }

    def _built(self, draft: _Draft) -> Graph:
        """The graph line by line, with the line of what is wrong."""
        if draft.problem is not None:
            raise draft.problem
        nodes, edges = self._rows(draft)
        # Where counts are announced, a node's degree may follow its label; it says nothing new.
        numbers = self._numbers(nodes, 1, 4 if draft.announced else 3, "'v number label'")
        pairs = self._numbers(edges, 2, 4, "'e node node label'")
        if draft.announced not in (None, (len(nodes), len(edges))):
            promised = "{} nodes and {} edges are announced".format(*draft.announced or ())
            raise self._source.error(f"{promised}; found {len(nodes)} and {len(edges)}", draft.line)
        order = sorted(range(len(numbers)), key=numbers.__getitem__)
        first = 1 if numbers and numbers[order[0]] == [1] else 0
        for expected, k in enumerate(order, start=first):
            if numbers[k] != [expected]:
                rule = "nodes are numbered 0, 1, 2, ... or 1, 2, 3, ..."
                raise self._source.error(f"{rule}; found {numbers[k][0]} where {expected} should be", draft.line)
        try:
            return Graph(
                len(order),
                [(u - first, v - first) for u, v in pairs],
                node_labels=self._label_column([nodes[k] for k in order], 2),
                edge_labels=self._label_column(edges, 3),
                directed=self._directed,
                id=draft.id,
            )
        except InvalidGraph as error:
            self._find_wrong_edge(edges, pairs, first, first + len(numbers) - 1)
            raise self._source.error(str(error), draft.line) from error

    def _rows(self, draft: _Draft) -> tuple[_Rows, _Rows]:
        rows: dict[str, _Rows] = {"v": [], "e": []}
        for number, line in _numbered_lines(draft.texts):
            fields = line.split()
            if not fields or number == draft.line or fields[0].startswith(_COMMENTS):
                continue
            if fields[0] not in rows:
                raise self._source.error(f"expected a line of t, v or e; found {shortened(line.strip())}", number)
            rows[fields[0]].append((number, fields))
        self._source.check(draft.line, nodes=len(rows["v"]), edges=len(rows["e"]))
        return rows["v"], rows["e"]

    def _numbers(self, rows: _Rows, count: int, longest: int, form: str) -> list[list[int]]:
        """The ``count`` numbers after the first word of each line; a label may follow."""
        for line, fields in rows:
            if not count < len(fields) <= longest:
                raise self._source.error(f"expected {form}; found {shortened(' '.join(fields))}", line)
            wrong = next((text for text in fields[1 : count + 1] if self._counts[text] < 0), None)
            if wrong is not None:
                raise self._source.error(f"expected a number; found {shortened(wrong)}", line)
        return [[self._counts[text] for text in fields[1 : count + 1]] for _, fields in rows]

    def _label_column(self, rows: _Rows, place: int) -> list[Hashable] | None:
        labels = [self._labels[fields[place]] if len(fields) > place else None for _, fields in rows]
        return labels if any(label is not None for label in labels) else None

    def _find_wrong_edge(self, rows: _Rows, pairs: list[list[int]], first: int, last: int) -> None:
        """Raise with the line of the first edge that cannot be, in the file's own numbers."""
        seen: set[tuple[int, int]] = set()
        for (u, v), (line, _) in zip(pairs, rows, strict=True):
            node = next((end for end in (u, v) if not first <= end <= last), None)
            if node is not None:
                has = f"nodes {first}..{last}" if last >= first else "no nodes"
                raise self._source.error(f"edge ({u}, {v}) names node {node}; the graph has {has}", line)
            pair = (u, v) if self._directed or u <= v else (v, u)
            if pair in seen:
                raise self._source.error(f"edge ({u}, {v}) is given twice; merge parallel edges", line)
            seen.add(pair)


def _numbered_lines(texts: _Texts) -> Iterator[tuple[int, str]]:
    return (numbered for number, text in texts for numbered in enumerate(text.split("\n"), number))


def _cut(text: str, line_start: str, words: int) -> list[list[str]] | None:
    """The words of lines column by column, where each line has ``words`` of them or all have one more.

    None for other lines. ``line_start`` is the end of a line with the first word of the next, which the text itself
    lacks.
    """
    lines = text.count(line_start) + 1
    cut = text.replace(line_start, " \n ").split(" ")
    if cut.count("\n") != lines - 1:  # one more would be a line that starts differently
        return None
    for wide in (words + 1, words):
        if len(cut) == lines * (wide + 1) - 1 and cut[wide :: wide + 1].count("\n") == lines - 1:
            return [cut[k :: wide + 1] for k in range(wide)]
    return None


def _lines(graph: Graph, k: int, not_kept: NotKept) -> list[str]:
    """``t # id`` with the id, or the position of the graph where it has none; then its nodes and edges."""
    id = None if graph.id is None or graph.id == -1 else _word(graph.id, "ids", not_kept)
    if id is None and graph.id is not None:
        not_kept.change("ids that are neither integers nor words without blanks become the graph's position")
    nodes = _label_words(graph.node_labels or [None] * graph.num_nodes, "node_labels", not_kept)
    edges = _label_words(graph.edge_labels or [None] * graph.num_edges, "edge_labels", not_kept)
    lines = [f"t # {k if id is None else id}", *(f"v {k}{word}" for k, word in enumerate(nodes))]
    return lines + [f"e {u} {v}{word}" for (u, v), word in zip(graph.edges.tolist(), edges, strict=True)]


def _label_words(labels: Any, column: str, not_kept: NotKept) -> Iterator[str]:
    for label in labels:
        word = "" if label is None else _word(label, column, not_kept)
        if word is None:
            problem = f"label {shortened(label)} is not an integer or a word without blanks"
            raise FileError(f"{problem}, as this format needs")
        yield f" {word}" if word else ""


def _word(value: Hashable, column: str, not_kept: NotKept) -> str | None:
    """The value as one word; None if it cannot be written as one."""
    text = str(value)
    if not (isinstance(value, str) or is_integer(value)) or text.split() != [text] or not text.isprintable():
        return None
    if integer_from_text(text) != value:
        not_kept.change(f"{column} come back as integers where they look like one, else as text")
    return text


LINE_GRAPHS = FileFormat(
    "tve",
    (".tve", ".txt", ".lg", ".gspan"),
    "text of the graph-search codes: 't # id', 'v number label', 'e node node label'; streams",
    holds=frozenset({"node_labels", "edge_labels", "id"}),
    read=read_line_graphs,
    write=writer_of_lines(_lines),
    options=LineOptions,
)
