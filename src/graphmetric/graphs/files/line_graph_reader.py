"""Reader of the ``t # / v / e`` text of the graph-search codes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from graphmetric.errors import FileError, InvalidArgument, InvalidGraph
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
    """The lines of one graph."""

    line: int
    id: Hashable = None
    announced: tuple[int, int] | None = None
    node_numbers: list[int] = field(default_factory=list)
    node_labels: list[Hashable] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)
    edge_labels: list[Hashable] = field(default_factory=list)
    edge_lines: list[int] = field(default_factory=list)


def read_line_graphs(source: Source, options: LineOptions) -> Iterator[Graph]:
    """Graphs as they come; ``t # -1`` ends the file."""
    return _LineReader(source, options).graphs()


def label_from_text(text: str) -> Hashable:
    """An integer if this is how integers are usually spelled, else the text itself."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or len(digits) > _MOST_DIGITS:
        return text
    return int(text) if digits[0] != "0" or text == "0" else text


class _Memo(dict[str, _T]):
    """Values by their text, made once each: files repeat a few words a million times."""

    def __init__(self, make: Callable[[str], _T]) -> None:
        self._make = make

    def __missing__(self, text: str) -> _T:
        value = self[text] = self._make(text)
        return value


class _LineReader:
    def __init__(self, source: Source, options: LineOptions) -> None:
        self._source, self._options = source, options
        self._labels: _Memo[Hashable] = _Memo(label_from_text if options.labels == "auto" else str)
        self._counts: _Memo[int] = _Memo(self._count)
        self._line = 0

    def graphs(self) -> Iterator[Graph]:
        draft: _Draft | None = None
        for number, line in self._source.lines():
            self._line = number
            fields = line.split()
            if not fields or fields[0].startswith(_COMMENTS):
                continue
            kind = fields[0]
            if draft is not None and draft.id == -1:
                raise self._error("text after the end mark 't # -1'")
            if kind == "t":
                if draft is not None:
                    yield self._built(draft)
                draft = self._started(fields)
            elif kind not in ("v", "e") or draft is None:
                expected = "'t # id' before anything else" if draft is None else "a line of t, v or e"
                raise self._error(f"expected {expected}; found {shortened(line.strip())}")
            elif kind == "v":
                self._add_node(draft, fields)
            else:
                self._add_edge(draft, fields)
        if draft is not None and draft.id != -1:
            yield self._built(draft)

    def _started(self, fields: list[str]) -> _Draft:
        """``t # id``, or ``t nodes edges`` of the subgraph-matching codes."""
        if len(fields) == 3 and fields[1] != "#":
            counts = self._count(fields[1]), self._count(fields[2])
            with self._source.located(self._line):
                self._source.limits.check_nodes(counts[0])
                self._source.limits.check_edges(counts[1])
            return _Draft(self._line, announced=counts)
        if len(fields) > 3 or fields[1:2] not in ([], ["#"]):
            raise self._error(f"expected 't # id' or 't nodes edges'; found {shortened(' '.join(fields))}")
        return _Draft(self._line, id=label_from_text(fields[2]) if len(fields) == 3 else None)

    def _add_node(self, draft: _Draft, fields: list[str]) -> None:
        # Where counts are announced, a node's degree may follow its label; it says nothing new.
        if not 2 <= len(fields) <= (4 if draft.announced else 3):
            raise self._error(f"expected 'v number label'; found {shortened(' '.join(fields))}")
        draft.node_numbers.append(self._counts[fields[1]])
        draft.node_labels.append(self._labels[fields[2]] if len(fields) > 2 else None)
        if len(draft.node_numbers) > self._source.limits.max_nodes:
            with self._source.located(self._line):
                self._source.limits.check_nodes(len(draft.node_numbers))

    def _add_edge(self, draft: _Draft, fields: list[str]) -> None:
        if not 3 <= len(fields) <= 4:
            raise self._error(f"expected 'e node node label'; found {shortened(' '.join(fields))}")
        draft.edges.append((self._counts[fields[1]], self._counts[fields[2]]))
        draft.edge_labels.append(self._labels[fields[3]] if len(fields) > 3 else None)
        draft.edge_lines.append(self._line)
        if len(draft.edges) > self._source.limits.max_edges:
            with self._source.located(self._line):
                self._source.limits.check_edges(len(draft.edges))

    def _count(self, text: str) -> int:
        if not text.isdecimal() or len(text) > _MOST_DIGITS:
            raise self._error(f"expected a number; found {shortened(text)}")
        return int(text)

    def _error(self, problem: str) -> FileError:
        return self._source.error(problem, self._line)

    def _built(self, draft: _Draft) -> Graph:
        self._check_announced(draft)
        first, order = self._numbering(draft)
        try:
            return Graph(
                len(order),
                [(u - first, v - first) for u, v in draft.edges],
                node_labels=_column([draft.node_labels[k] for k in order]),
                edge_labels=_column(draft.edge_labels),
                directed=bool(self._options.directed),
                id=draft.id,
            )
        except InvalidGraph as error:
            self._find_wrong_edge(draft, first)
            raise self._source.error(str(error), draft.line) from error

    def _check_announced(self, draft: _Draft) -> None:
        found = len(draft.node_numbers), len(draft.edges)
        if draft.announced is not None and draft.announced != found:
            promised = "{} nodes and {} edges are announced".format(*draft.announced)
            raise self._source.error(f"{promised}; found {found[0]} and {found[1]}", draft.line)

    def _numbering(self, draft: _Draft) -> tuple[int, list[int]]:
        """The first node's number, 0 or 1, and the order of the ``v`` lines by number."""
        numbers = draft.node_numbers
        order = sorted(range(len(numbers)), key=numbers.__getitem__)
        first = 1 if numbers and numbers[order[0]] == 1 else 0
        for expected, k in enumerate(order, start=first):
            if numbers[k] != expected:
                rule = "nodes are numbered 0, 1, 2, ... or 1, 2, 3, ..."
                raise self._source.error(f"{rule}; found {numbers[k]} where {expected} should be", draft.line)
        return first, order

    def _find_wrong_edge(self, draft: _Draft, first: int) -> None:
        """Raise with the line of the first edge that cannot be, in the file's own numbers."""
        last = first + len(draft.node_numbers) - 1
        seen: set[tuple[int, int]] = set()
        for (u, v), line in zip(draft.edges, draft.edge_lines, strict=True):
            if not (first <= u <= last and first <= v <= last):
                node = v if first <= u <= last else u
                has = f"nodes {first}..{last}" if last >= first else "no nodes"
                raise self._source.error(f"edge ({u}, {v}) names node {node}; the graph has {has}", line)
            pair = (u, v) if self._options.directed or u <= v else (v, u)
            if pair in seen:
                raise self._source.error(f"edge ({u}, {v}) is given twice; merge parallel edges", line)
            seen.add(pair)


def _column(labels: list[Hashable]) -> list[Hashable] | None:
    return labels if any(label is not None for label in labels) else None
