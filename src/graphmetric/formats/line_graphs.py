"""The ``t # / v / e`` text of the graph-search codes: one graph after the other, one node or edge per line.

Reader of the ``t # / v / e`` text of the graph-search codes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, NamedTuple, TypeVar

from graphmetric.errors import FileError, InvalidArgument, InvalidGraph
from graphmetric.formats.bulk import ParsedGraph, build_together
from graphmetric.formats.file_format import FileFormat, Part
from graphmetric.formats.json_values import shortened
from graphmetric.formats.losses import Notes
from graphmetric.formats.source import Source, located
from graphmetric.graphs.graph import Graph

_COMMENTS = ("#", "%", "//")
_MOST_DIGITS = 18
_GRAPH_START = re.compile(r"\n(?=[^\S\n]*t(?:\s|\Z))")
"""The end of a line before one whose first word is ``t``."""
_T = TypeVar("_T")


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


class _Draft(NamedTuple):
    """The lines of one graph, which may come in several texts."""

    texts: list[tuple[int, str]]
    """With the number of the first line of each. The very first line is the one that starts with ``t``."""
    id: Hashable = None
    announced: tuple[int, int] | None = None
    problem: FileError | None = None
    """What is wrong with the first line."""

    @property
    def line(self) -> int:
        """Where the graph starts."""
        return self.texts[0][0]


_Columns = tuple[int, list[Hashable] | None, list[int], list[int], list[Hashable] | None]


class _Rows(NamedTuple):
    """The ``v`` or the ``e`` lines of one graph, cut into words."""

    lines: list[int]
    words: list[list[str]]


def read_line_graphs(source: Source, options: LineOptions) -> Iterator[Part]:
    """Graphs as they come; ``t # -1`` ends the file."""
    reader = _LineReader(source, options)
    return build_together(source, map(reader.parsed, reader.drafts()))


def label_from_text(text: str) -> Hashable:
    """An integer if this is how integers are usually spelled, else the text itself."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > _MOST_DIGITS:
        return text
    return int(text) if digits[0] != "0" or text == "0" else text


def _count_from_text(text: str) -> int:
    """A number of a node or of nodes; -1, which is none, for other words."""
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
    def __init__(self, source: Source, options: LineOptions) -> None:
        self._source, self._directed = source, bool(options.directed)
        self._labels: _Memo[Hashable] = _Memo(label_from_text if options.labels == "auto" else str)
        self._counts: _Memo[int] = _Memo(_count_from_text)

    def drafts(self) -> Iterator[_Draft]:
        """The lines of one graph after the other; only the first line of each is looked at."""
        ended = False
        for texts in self._texts_by_graph():
            fields = texts[0][1].partition("\n")[0].split()
            if fields[:1] != ["t"] or ended:
                self._refuse_words(texts, "text after the end mark 't # -1'" if ended else "")
                continue
            draft = self._started(texts, fields)
            if draft.id != -1:
                yield draft
            else:
                ended = True
                number, text = texts[0]
                self._refuse_words(
                    [(number + 1, text.partition("\n")[2]), *texts[1:]], "text after the end mark 't # -1'"
                )

    def _texts_by_graph(self) -> Iterator[list[tuple[int, str]]]:
        """Each line that starts with ``t`` together with those after it; first what stands before all of them."""
        texts: list[tuple[int, str]] = []
        nodes = edges = 0
        for number, text in self._source.texts():
            before, *graphs = _GRAPH_START.split("\n" + text)
            if before:
                texts.append((number, before[1:]))
                nodes, edges = nodes + before.count("\nv"), edges + before.count("\ne")
                self._check_limits(texts[0][0], nodes, edges)
            number += before.count("\n")
            for graph in graphs:
                if texts:
                    yield texts
                texts, nodes, edges = [(number, graph)], graph.count("\nv"), graph.count("\ne")
                number += graph.count("\n") + 1
        if texts:
            yield texts

    def _refuse_words(self, texts: list[tuple[int, str]], problem: str) -> None:
        """Raise unless there are only comments."""
        for number, text in texts:
            for k, line in enumerate(text.split("\n"), number):
                if line.strip() and not line.lstrip().startswith(_COMMENTS):
                    found = f"expected 't # id' before anything else; found {shortened(line.strip())}"
                    raise self._source.error(problem or found, k)

    def _started(self, texts: list[tuple[int, str]], fields: list[str]) -> _Draft:
        """``t # id``, or ``t nodes edges`` of the subgraph-matching codes."""
        line = texts[0][0]
        if len(fields) == 3 and fields[1] != "#":
            announced = _count_from_text(fields[1]), _count_from_text(fields[2])
            self._check_limits(line, *announced)
            wrong = next((text for text, count in zip(fields[1:], announced, strict=True) if count < 0), None)
            problem = None if wrong is None else f"expected a number; found {shortened(wrong)}"
            return _Draft(texts, None, announced, problem and self._source.error(problem, line))  # type: ignore[arg-type]
        if len(fields) > 3 or fields[1:2] not in ([], ["#"]):
            problem = f"expected 't # id' or 't nodes edges'; found {shortened(' '.join(fields))}"
            return _Draft(texts, problem=self._source.error(problem, line))
        return _Draft(texts, label_from_text(fields[2]) if len(fields) == 3 else None)

    def _check_limits(self, line: int, nodes: int, edges: int) -> None:
        limits = self._source.limits
        if nodes > limits.max_nodes or edges > limits.max_edges:
            with self._source.located(line):
                limits.check_nodes(nodes)
                limits.check_edges(edges)

    def parsed(self, draft: _Draft) -> ParsedGraph:
        """The graph column by column if its lines have one form, as they nearly always do; else line by line, later."""
        carefully = partial(self._built, draft)
        try:
            quickly = None if draft.problem else self._columns(draft)
        except _NotOneWord:
            quickly = None
        if quickly is None:
            return ParsedGraph(carefully, draft.line)
        nodes, node_labels, tails, heads, edge_labels = quickly
        self._check_limits(draft.line, nodes, len(tails))
        return ParsedGraph(
            carefully,
            draft.line,
            nodes,
            tails,
            heads,
            directed=self._directed,
            node_labels=node_labels,
            edge_labels=edge_labels,
            id=draft.id,
        )

    def _columns(self, draft: _Draft) -> _Columns | None:
        """Number of nodes, their labels, and the tails, heads and labels of the edges.

        None unless ``v`` lines come before ``e`` lines, single spaces part the words, and nodes are in order.
        """
        text = draft.texts[0][1] if len(draft.texts) == 1 else "\n".join(text for _, text in draft.texts)
        _, _, body = text.partition("\n")
        node_part, _, edge_part = body.rstrip().partition("\ne ")
        if "\r" in body or not node_part.startswith("v "):
            return None
        nodes = _cut(node_part[2:], "\nv ", 1)
        edges = _cut(edge_part, "\ne ", 2) if edge_part else [[], []]
        if nodes is None or edges is None:
            return None
        count = self._counts.__getitem__
        numbers, tails, heads = list(map(count, nodes[0])), list(map(count, edges[0])), list(map(count, edges[1]))
        start = 1 if numbers[0] == 1 else 0
        if numbers != list(range(start, start + len(numbers))) or draft.announced not in (
            None,
            (len(numbers), len(tails)),
        ):
            return None
        if start:
            tails, heads = [tail - 1 for tail in tails], [head - 1 for head in heads]
        node_labels = list(map(self._labels.__getitem__, nodes[1])) if len(nodes) > 1 else None
        edge_labels = list(map(self._labels.__getitem__, edges[2])) if len(edges) > 2 else None
        return len(numbers), node_labels, tails, heads, edge_labels

    def _built(self, draft: _Draft) -> Graph:
        """The graph line by line, with the line of what is wrong."""
        if draft.problem is not None:
            raise draft.problem
        nodes, edges = self._rows(draft)
        numbers, node_labels = self._nodes(nodes, 4 if draft.announced else 3)
        pairs, edge_labels = self._edges(edges)
        self._check_announced(draft, len(numbers), len(pairs))
        first, order = self._numbering(draft, numbers)
        try:
            return Graph(
                len(order),
                [(u - first, v - first) for u, v in pairs],
                node_labels=_column([node_labels[k] for k in order]),
                edge_labels=_column(edge_labels),
                directed=self._directed,
                id=draft.id,
            )
        except InvalidGraph as error:
            self._find_wrong_edge(edges.lines, pairs, first, first + len(numbers) - 1)
            raise self._source.error(str(error), draft.line) from error

    def _rows(self, draft: _Draft) -> tuple[_Rows, _Rows]:
        rows = {"v": _Rows([], []), "e": _Rows([], [])}
        for number, text in draft.texts:
            for line, written in enumerate(text.split("\n"), number):
                fields = written.split()
                if not fields or line == draft.line or fields[0].startswith(_COMMENTS):
                    continue
                if fields[0] not in rows:
                    raise self._source.error(f"expected a line of t, v or e; found {shortened(written.strip())}", line)
                rows[fields[0]].lines.append(line)
                rows[fields[0]].words.append(fields)
        self._check_limits(draft.line, len(rows["v"].lines), len(rows["e"].lines))
        return rows["v"], rows["e"]

    def _nodes(self, rows: _Rows, longest: int) -> tuple[list[int], list[Hashable]]:
        # Where counts are announced, a node's degree may follow its label; it says nothing new.
        numbers: list[int] = []
        for fields, line in zip(rows.words, rows.lines, strict=True):
            if not 2 <= len(fields) <= longest:
                raise self._source.error(f"expected 'v number label'; found {shortened(' '.join(fields))}", line)
            numbers.append(self._count(fields[1], line))
        return numbers, [self._labels[fields[2]] if len(fields) > 2 else None for fields in rows.words]

    def _edges(self, rows: _Rows) -> tuple[list[tuple[int, int]], list[Hashable]]:
        pairs: list[tuple[int, int]] = []
        for fields, line in zip(rows.words, rows.lines, strict=True):
            if not 3 <= len(fields) <= 4:
                raise self._source.error(f"expected 'e node node label'; found {shortened(' '.join(fields))}", line)
            pairs.append((self._count(fields[1], line), self._count(fields[2], line)))
        return pairs, [self._labels[fields[3]] if len(fields) > 3 else None for fields in rows.words]

    def _count(self, text: str, line: int) -> int:
        count = self._counts[text]
        if count < 0:
            raise self._source.error(f"expected a number; found {shortened(text)}", line)
        return count

    def _check_announced(self, draft: _Draft, nodes: int, edges: int) -> None:
        if draft.announced is not None and draft.announced != (nodes, edges):
            promised = "{} nodes and {} edges are announced".format(*draft.announced)
            raise self._source.error(f"{promised}; found {nodes} and {edges}", draft.line)

    def _numbering(self, draft: _Draft, numbers: list[int]) -> tuple[int, list[int]]:
        """The first node's number, 0 or 1, and the order of the ``v`` lines by number."""
        order = sorted(range(len(numbers)), key=numbers.__getitem__)
        first = 1 if numbers and numbers[order[0]] == 1 else 0
        for expected, k in enumerate(order, start=first):
            if numbers[k] != expected:
                rule = "nodes are numbered 0, 1, 2, ... or 1, 2, 3, ..."
                raise self._source.error(f"{rule}; found {numbers[k]} where {expected} should be", draft.line)
        return first, order

    def _find_wrong_edge(self, lines: list[int], pairs: list[tuple[int, int]], first: int, last: int) -> None:
        """Raise with the line of the first edge that cannot be, in the file's own numbers."""
        seen: set[tuple[int, int]] = set()
        for (u, v), line in zip(pairs, lines, strict=True):
            if not (first <= u <= last and first <= v <= last):
                node = v if first <= u <= last else u
                has = f"nodes {first}..{last}" if last >= first else "no nodes"
                raise self._source.error(f"edge ({u}, {v}) names node {node}; the graph has {has}", line)
            pair = (u, v) if self._directed or u <= v else (v, u)
            if pair in seen:
                raise self._source.error(f"edge ({u}, {v}) is given twice; merge parallel edges", line)
            seen.add(pair)


def _cut(text: str, line_start: str, words: int) -> list[list[str]] | None:
    """The words of lines column by column, where each has so many or, all of them, one more; None for other lines.

    ``line_start`` is the end of a line with the first word of the next, which the text itself lacks.
    """
    lines = text.count(line_start) + 1
    cut = text.replace(line_start, " \n ").split(" ")
    if cut.count("\n") != lines - 1:  # one more would be a line that starts differently
        return None
    for wide in (words + 1, words):
        if len(cut) == lines * (wide + 1) - 1 and cut[wide :: wide + 1].count("\n") == lines - 1:
            return [cut[k :: wide + 1] for k in range(wide)]
    return None


def _column(labels: list[Hashable]) -> list[Hashable] | None:
    return labels if any(label is not None for label in labels) else None


def write_line_graphs(graphs: Iterable[Graph], stream: BinaryIO) -> None:
    """``t # id`` with the id, or the position of the graph where it has none."""
    notes = Notes()
    for k, graph in enumerate(graphs):
        with located(None, f"graphs[{k}]"):
            text = "\n".join(_lines(graph, _id_text(graph.id, k, notes), notes))
        stream.write(text.encode("utf-8") + b"\n")
    notes.warn()


def _lines(graph: Graph, id: str, notes: Notes) -> list[str]:
    nodes = [_word(label, "node_labels", notes) for label in graph.node_labels or [None] * graph.num_nodes]
    edges = [_word(label, "edge_labels", notes) for label in graph.edge_labels or [None] * graph.num_edges]
    lines = [f"t # {id}", *(f"v {k}{word}" for k, word in enumerate(nodes))]
    return lines + [f"e {u} {v}{word}" for (u, v), word in zip(graph.edges.tolist(), edges, strict=True)]


def _id_text(id: Hashable, k: int, notes: Notes) -> str:
    if id is None:
        return str(k)
    text = str(id)
    if not _is_word(id, text) or id == -1:
        notes.add("ids that are neither integers nor words without blanks become the graph's position")
        return str(k)
    if label_from_text(text) != id:
        notes.add("ids come back as integers where they look like one, else as text")
    return text


def _word(label: Hashable, column: str, notes: Notes) -> str:
    if label is None:
        return ""
    text = str(label)
    if not _is_word(label, text):
        raise FileError(f"label {shortened(label)} is not an integer or a word without blanks, as this format needs")
    if label_from_text(text) != label:
        notes.add(f"{column} come back as integers where they look like one, else as text")
    return f" {text}"


def _is_word(value: Hashable, text: str) -> bool:
    fits = isinstance(value, str | int) and not isinstance(value, bool) and text.split() == [text]
    return fits and text.isprintable()


LINE_GRAPHS = FileFormat(
    name="tve",
    suffixes=(".tve", ".txt", ".lg", ".gspan"),
    description="text of the graph-search codes: 't # id', 'v number label', 'e node node label'; streams",
    holds=frozenset({"node_labels", "edge_labels", "id"}),
    read=read_line_graphs,
    write=write_line_graphs,
    options=LineOptions,
)
