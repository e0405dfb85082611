"""The ``t # / v / e`` text of the graph-search codes: one graph after the other, one node or edge per line.

Graphs whose lines have the usual form are read column by column and many at a time; all others line by line, with
errors that name the line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from graphmetric.errors import FileError, InvalidArgument, InvalidGraph
from graphmetric.formats.batch_building import ParsedGraph, build_together
from graphmetric.formats.file_format import ConversionLosses, FileFormat, Part, writer_of_lines
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
class GspanOptions:
    """Reading options of a ``t/v/e`` file."""

    directed: bool | None = None
    """Whether ``e u v`` is an arc from u to v; None: it is not."""
    labels: str = "auto"
    """``"auto"``: a label that is an integer's usual spelling becomes that integer; ``"text"``: all stay strings."""

    def __post_init__(self) -> None:
        if self.labels not in ("auto", "text"):
            raise InvalidArgument(f"labels must be 'auto' or 'text'; got {self.labels!r}")


def read_gspan(source: FileSource, options: GspanOptions) -> Iterator[Part]:
    """Graphs as they come; ``t # -1`` ends the file."""
    return build_together(source, _LineReader(source, options).graphs())


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
    def __init__(self, source: FileSource, options: GspanOptions) -> None:
        self._source, self._directed = source, bool(options.directed)
        self._labels: _Memo[Hashable] = _Memo(integer_from_text if options.labels == "auto" else str)
        self._counts: _Memo[int] = _Memo(_count_from_text)

    def graphs(self) -> Iterator[ParsedGraph]:
        """One graph after the other; the lines of a graph may come in several texts."""
        ended = False
        for texts in self._texts_by_graph():
            number, text = texts[0]
            start, _, rest = text.partition("\n")
            fields = start.split()
            if fields[:1] != ["t"] or ended:
                self._refuse_words(texts, ended)
            elif fields == ["t", "#", "-1"]:
                ended = True
                self._refuse_words([(number + 1, rest), *texts[1:]], ended)
            else:
                yield self._parsed(texts)

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
                texts = [(number, graph)]
                nodes = graph.count("\nv")
                edges = graph.count("\ne")
                number += graph.count("\n") + 1
        if texts:
            yield texts

    def _refuse_words(self, texts: _Texts, ended: bool) -> None:
        """Raise unless there are only comments."""
        for number, line in _numbered_lines(texts):
            if line.strip() and not line.lstrip().startswith(_COMMENTS):
                found = f"expected 't # id' before anything else; found {shortened(line.strip())}"
                raise self._source.error("text after the end mark 't # -1'" if ended else found, number)

    def _header(self, texts: _Texts) -> tuple[Hashable, tuple[int, int] | None]:
        """The id of ``t # id``, or the counts of ``t nodes edges``, as the subgraph-matching codes have them."""
        line, text = texts[0]
        fields = text.partition("\n")[0].split()
        if len(fields) == 3 and fields[1] != "#":
            nodes, edges = _count_from_text(fields[1]), _count_from_text(fields[2])
            self._source.check(line, nodes=nodes, edges=edges)
            if min(nodes, edges) < 0:
                wrong = shortened(fields[1] if nodes < 0 else fields[2])
                raise self._source.error(f"expected a number; found {wrong}", line)
            return None, (nodes, edges)
        if len(fields) > 3 or fields[1:2] not in ([], ["#"]):
            found = f"expected 't # id' or 't nodes edges'; found {shortened(' '.join(fields))}"
            raise self._source.error(found, line)
        return integer_from_text(fields[2]) if len(fields) == 3 else None, None

    def _parsed(self, texts: _Texts) -> ParsedGraph:
        """The graph column by column if its lines have one form, as they nearly always do; else line by line, later."""
        try:
            columns = self._columns(texts)
        except (_NotOneWord, FileError):
            columns = None
        return ParsedGraph(texts[0][0], partial(self._built, texts), directed=self._directed, **columns or {})

    def _columns(self, texts: _Texts) -> dict[str, Any] | None:
        """None unless ``v`` lines come before ``e`` lines, single spaces part the words, and nodes are in order."""
        id, announced = self._header(texts)
        text = texts[0][1] if len(texts) == 1 else "\n".join(text for _, text in texts)
        _, _, body = text.partition("\n")
        node_part, _, edge_part = body.rstrip().partition("\ne ")
        if "\r" in body or not node_part.startswith("v "):
            return None
        nodes = _cut(node_part[2:], "\nv ", 1)
        edges = _cut(edge_part, "\ne ", 2) if edge_part else [[], []]
        if nodes is None or edges is None:
            return None
        count, label = self._counts.__getitem__, self._labels.__getitem__
        numbers = list(map(count, nodes[0]))
        tails = list(map(count, edges[0]))
        heads = list(map(count, edges[1]))
        start = 1 if numbers[0] == 1 else 0
        counts, limits = (len(numbers), len(tails)), self._source.limits
        if numbers != list(range(start, start + len(numbers))) or announced not in (None, counts):
            return None
        if counts[0] > limits.max_nodes or counts[1] > limits.max_edges:
            return None
        if start:
            tails, heads = [tail - 1 for tail in tails], [head - 1 for head in heads]
        return {
            "id": id,
            "num_nodes": len(numbers),
            "tails": tails,
            "heads": heads,
            "columns": {
                "node_labels": list(map(label, nodes[1])) if len(nodes) > 1 else None,
                "edge_labels": list(map(label, edges[2])) if len(edges) > 2 else None,
            },
        }

    def _built(self, texts: _Texts) -> Graph:
        """The graph line by line, with the line of what is wrong."""
        (id, announced), start = self._header(texts), texts[0][0]
        nodes, edges = self._rows(texts)
        # Where counts are announced, a node's degree may follow its label; it says nothing new.
        numbers = self._numbers(nodes, 1, 4 if announced else 3, "'v number label'")
        pairs = self._numbers(edges, 2, 4, "'e node node label'")
        if announced and announced != (len(nodes), len(edges)):
            promised = f"{announced[0]} nodes and {announced[1]} edges are announced"
            raise self._source.error(f"{promised}; found {len(nodes)} and {len(edges)}", start)
        order = sorted(range(len(numbers)), key=numbers.__getitem__)
        first = 1 if numbers and numbers[order[0]] == [1] else 0
        for expected, k in enumerate(order, start=first):
            if numbers[k] != [expected]:
                rule = "nodes are numbered 0, 1, 2, ... or 1, 2, 3, ..."
                raise self._source.error(f"{rule}; found {numbers[k][0]} where {expected} should be", start)
        try:
            return Graph(
                len(order),
                [(u - first, v - first) for u, v in pairs],
                node_labels=self._label_column([nodes[k] for k in order], 2),
                edge_labels=self._label_column(edges, 3),
                directed=self._directed,
                id=id,
            )
        except InvalidGraph as error:
            self._find_wrong_edge(edges, pairs, first, first + len(numbers) - 1)
            raise self._source.error(str(error), start) from error

    def _rows(self, texts: _Texts) -> tuple[_Rows, _Rows]:
        rows: dict[str, _Rows] = {"v": [], "e": []}
        for number, line in _numbered_lines(texts):
            fields = line.split()
            if not fields or number == texts[0][0] or fields[0].startswith(_COMMENTS):
                continue
            if fields[0] not in rows:
                raise self._source.error(f"expected a line of t, v or e; found {shortened(line.strip())}", number)
            rows[fields[0]].append((number, fields))
        self._source.check(texts[0][0], nodes=len(rows["v"]), edges=len(rows["e"]))
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


def _lines(graph: Graph, k: int, not_kept: ConversionLosses) -> list[str]:
    """``t # id`` with the id, or the position of the graph where it has none; then its nodes and edges."""
    id = None if graph.id is None or graph.id == -1 else _word(graph.id, "ids", not_kept)
    if id is None and graph.id is not None:
        not_kept.change("ids that are neither integers nor words without blanks become the graph's position")
    nodes = _label_words(graph.node_labels or [None] * graph.num_nodes, "node_labels", not_kept)
    edges = _label_words(graph.edge_labels or [None] * graph.num_edges, "edge_labels", not_kept)
    lines = [f"t # {k if id is None else id}", *(f"v {k}{word}" for k, word in enumerate(nodes))]
    return lines + [f"e {u} {v}{word}" for (u, v), word in zip(graph.edges.tolist(), edges, strict=True)]


def _label_words(labels: Any, column: str, not_kept: ConversionLosses) -> Iterator[str]:
    for label in labels:
        word = "" if label is None else _word(label, column, not_kept)
        if word is None:
            problem = f"label {shortened(label)} is not an integer or a word without blanks"
            raise FileError(f"{problem}, as this format needs")
        yield f" {word}" if word else ""


def _word(value: Hashable, column: str, not_kept: ConversionLosses) -> str | None:
    """The value as one word; None if it cannot be written as one."""
    text = str(value)
    if not (isinstance(value, str) or is_integer(value)) or text.split() != [text] or not text.isprintable():
        return None
    if integer_from_text(text) != value:
        not_kept.change(f"{column} come back as integers where they look like one, else as text")
    return text


GSPAN = FileFormat(
    "tve",
    (".tve", ".txt", ".lg", ".gspan"),
    "text of the graph-search codes: 't # id', 'v number label', 'e node node label'; streams",
    holds=frozenset({"node_labels", "edge_labels", "id"}),
    read=read_gspan,
    write=writer_of_lines(_lines),
    options=GspanOptions,
)
