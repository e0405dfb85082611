"""Reader of the ``t # / v / e`` text of the graph-search codes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from graphmetric.errors import FileError, InvalidArgument, InvalidGraph
from graphmetric.graphs.files.bulk import ParsedGraph, build_together
from graphmetric.graphs.files.file_format import Part
from graphmetric.graphs.files.json_values import shortened
from graphmetric.graphs.files.source import Source
from graphmetric.graphs.graph import Graph

_COMMENTS = ("#", "%", "//")
_MOST_DIGITS = 18
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


@dataclass(slots=True)
class _Draft:
    """The lines of one graph, cut into words."""

    line: int
    id: Hashable = None
    announced: tuple[int, int] | None = None
    nodes: list[list[str]] = field(default_factory=list)
    node_lines: list[int] = field(default_factory=list)
    edges: list[list[str]] = field(default_factory=list)
    edge_lines: list[int] = field(default_factory=list)
    problem: FileError | None = None
    """What is wrong with a line that is no ``v`` or ``e``; nothing is read after it."""


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


class _Memo(dict[str, _T]):
    """Values by their text, made once each: files repeat a few words a million times."""

    def __init__(self, make: Callable[[str], _T]) -> None:
        self._make = make

    def __missing__(self, text: str) -> _T:
        value = self[text] = self._make(text)
        return value


class _LineReader:
    def __init__(self, source: Source, options: LineOptions) -> None:
        self._source, self._directed = source, bool(options.directed)
        self._labels: _Memo[Hashable] = _Memo(label_from_text if options.labels == "auto" else str)
        self._counts: _Memo[int] = _Memo(_count_from_text)

    def drafts(self) -> Iterator[_Draft]:
        """The lines of one graph after the other; what they say is not looked at yet."""
        draft: _Draft | None = None
        for first, lines in self._source.blocks():
            for number, line in enumerate(lines, first):
                fields = line.split()
                if not fields:
                    continue
                kind = fields[0]
                if kind == "v" and draft is not None and draft.problem is None:
                    draft.nodes.append(fields)
                    draft.node_lines.append(number)
                elif kind == "e" and draft is not None and draft.problem is None:
                    draft.edges.append(fields)
                    draft.edge_lines.append(number)
                elif kind.startswith(_COMMENTS):
                    continue
                elif draft is not None and draft.id == -1:
                    raise self._source.error("text after the end mark 't # -1'", number)
                elif kind == "t":
                    if draft is not None:
                        yield draft
                    draft = self._started(fields, number)
                elif draft is None:
                    found = shortened(line.strip())
                    raise self._source.error(f"expected 't # id' before anything else; found {found}", number)
                elif draft.problem is None:
                    problem = f"expected a line of t, v or e; found {shortened(line.strip())}"
                    draft.problem = self._source.error(problem, number)
            if draft is not None:
                self._check_limits(draft)
        if draft is not None and draft.id != -1:
            yield draft

    def _started(self, fields: list[str], number: int) -> _Draft:
        """``t # id``, or ``t nodes edges`` of the subgraph-matching codes."""
        if len(fields) == 3 and fields[1] != "#":
            draft = _Draft(number, announced=(_count_from_text(fields[1]), _count_from_text(fields[2])))
            with self._source.located(number):
                self._source.limits.check_nodes(draft.announced[0])  # type: ignore[index]
                self._source.limits.check_edges(draft.announced[1])  # type: ignore[index]
            if -1 in draft.announced:  # type: ignore[operator]
                wrong = fields[1 + draft.announced.index(-1)]  # type: ignore[union-attr]
                draft.problem = self._source.error(f"expected a number; found {shortened(wrong)}", number)
            return draft
        if len(fields) > 3 or fields[1:2] not in ([], ["#"]):
            problem = f"expected 't # id' or 't nodes edges'; found {shortened(' '.join(fields))}"
            return _Draft(number, problem=self._source.error(problem, number))
        return _Draft(number, id=label_from_text(fields[2]) if len(fields) == 3 else None)

    def _check_limits(self, draft: _Draft) -> None:
        with self._source.located(draft.line):
            self._source.limits.check_nodes(len(draft.nodes))
            self._source.limits.check_edges(len(draft.edges))

    def parsed(self, draft: _Draft) -> ParsedGraph:
        """The graph by its columns if all lines have one form, as they nearly always do; else line by line, later."""
        self._check_limits(draft)
        carefully = partial(self._built, draft)
        later = ParsedGraph(0, (-1,), (-1,), carefully, draft.line)  # no such edge can be
        node_words, edge_words = set(map(len, draft.nodes)), set(map(len, draft.edges))
        counts = len(draft.nodes), len(draft.edges)
        longest = 3 if draft.announced is None else 4
        wrong = draft.problem is not None or (draft.announced or counts) != counts
        if wrong or len(node_words) > 1 or len(edge_words) > 1 or not node_words <= {2, 3, longest}:
            return later
        nodes: list[Sequence[str]] = list(zip(*draft.nodes, strict=True))
        edges: list[Sequence[str]] = list(zip(*draft.edges, strict=True))
        numbers = list(map(self._counts.__getitem__, nodes[1])) if nodes else []
        start = 1 if numbers and numbers[0] == 1 else 0
        if not edge_words <= {3, 4} or numbers != list(range(start, start + len(numbers))):
            return later
        ends = [list(map(self._counts.__getitem__, column)) for column in edges[1:3]] or [[], []]
        if start:
            ends = [[number - start for number in column] for column in ends]
        return ParsedGraph(
            len(numbers),
            *ends,
            carefully,
            draft.line,
            directed=self._directed,
            node_labels=list(map(self._labels.__getitem__, nodes[2])) if len(nodes) > 2 else None,
            edge_labels=list(map(self._labels.__getitem__, edges[3])) if len(edges) > 3 else None,
            id=draft.id,
        )

    def _built(self, draft: _Draft) -> Graph:
        """The graph line by line, with the line of what is wrong."""
        numbers, node_labels = self._nodes(draft)
        pairs, edge_labels = self._edges(draft)
        if draft.problem is not None:
            raise draft.problem
        self._check_announced(draft)
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
            self._find_wrong_edge(draft, pairs, first)
            raise self._source.error(str(error), draft.line) from error

    def _nodes(self, draft: _Draft) -> tuple[list[int], list[Hashable]]:
        # Where counts are announced, a node's degree may follow its label; it says nothing new.
        longest = 4 if draft.announced else 3
        for fields, line in zip(draft.nodes, draft.node_lines, strict=True):
            if not 2 <= len(fields) <= longest:
                raise self._source.error(f"expected 'v number label'; found {shortened(' '.join(fields))}", line)
        numbers = [self._count(fields[1], line) for fields, line in zip(draft.nodes, draft.node_lines, strict=True)]
        return numbers, [self._labels[fields[2]] if len(fields) > 2 else None for fields in draft.nodes]

    def _edges(self, draft: _Draft) -> tuple[list[tuple[int, int]], list[Hashable]]:
        for fields, line in zip(draft.edges, draft.edge_lines, strict=True):
            if not 3 <= len(fields) <= 4:
                raise self._source.error(f"expected 'e node node label'; found {shortened(' '.join(fields))}", line)
        pairs = [
            (self._count(fields[1], line), self._count(fields[2], line))
            for fields, line in zip(draft.edges, draft.edge_lines, strict=True)
        ]
        return pairs, [self._labels[fields[3]] if len(fields) > 3 else None for fields in draft.edges]

    def _count(self, text: str, line: int) -> int:
        count = self._counts[text]
        if count < 0:
            raise self._source.error(f"expected a number; found {shortened(text)}", line)
        return count

    def _check_announced(self, draft: _Draft) -> None:
        found = len(draft.nodes), len(draft.edges)
        if draft.announced is not None and draft.announced != found:
            promised = "{} nodes and {} edges are announced".format(*draft.announced)
            raise self._source.error(f"{promised}; found {found[0]} and {found[1]}", draft.line)

    def _numbering(self, draft: _Draft, numbers: list[int]) -> tuple[int, list[int]]:
        """The first node's number, 0 or 1, and the order of the ``v`` lines by number."""
        order = sorted(range(len(numbers)), key=numbers.__getitem__)
        first = 1 if numbers and numbers[order[0]] == 1 else 0
        for expected, k in enumerate(order, start=first):
            if numbers[k] != expected:
                rule = "nodes are numbered 0, 1, 2, ... or 1, 2, 3, ..."
                raise self._source.error(f"{rule}; found {numbers[k]} where {expected} should be", draft.line)
        return first, order

    def _find_wrong_edge(self, draft: _Draft, pairs: list[tuple[int, int]], first: int) -> None:
        """Raise with the line of the first edge that cannot be, in the file's own numbers."""
        last = first + len(draft.nodes) - 1
        seen: set[tuple[int, int]] = set()
        for (u, v), line in zip(pairs, draft.edge_lines, strict=True):
            if not (first <= u <= last and first <= v <= last):
                node = v if first <= u <= last else u
                has = f"nodes {first}..{last}" if last >= first else "no nodes"
                raise self._source.error(f"edge ({u}, {v}) names node {node}; the graph has {has}", line)
            pair = (u, v) if self._directed or u <= v else (v, u)
            if pair in seen:
                raise self._source.error(f"edge ({u}, {v}) is given twice; merge parallel edges", line)
            seen.add(pair)


def _column(labels: list[Hashable]) -> list[Hashable] | None:
    return labels if any(label is not None for label in labels) else None
