"""Graphs built many at a time: to check a thousand at once costs little more than to check ten."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import FileError, InvalidGraph
from graphmetric.formats.file_format import Part
from graphmetric.formats.file_source import FileSource
from graphmetric.graphs.columns import COLUMNS, Column, Columns, GraphFlags, assemble_columns, pointers
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn

_FEWEST, _MOST_GRAPHS = 4, 1_000
_MOST_ROWS = 100_000
"""Nodes and edges that wait together; larger graphs gain nothing."""


@dataclass(slots=True, eq=False)
class ParsedGraph:
    """The content of one graph in a file, as plain lists with correct types and unchecked values."""

    where: str | int | None
    """The location in the file for errors without one."""
    build_strict: Callable[[], Graph] | None = None
    """Builds the graph with an error that names the line or element at fault; None where its ``where`` says enough."""
    num_nodes: int = 0
    tails: Sequence[int] | None = None
    """None if the graph is unusual and needs the strict builder."""
    heads: Sequence[int] = ()
    directed: bool = False
    id: Hashable = None
    metadata: Mapping[str, Any] | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    """Labels, texts and numbers by the name of their column; None where there are none."""

    def build(self) -> Graph:
        """The graph on its own."""
        if self.build_strict is not None:
            return self.build_strict()
        pairs = list(zip(self.tails or (), self.heads, strict=True))
        about: dict[str, Any] = {"directed": self.directed, "id": self.id, "metadata": self.metadata}
        return Graph(self.num_nodes, pairs, **about, **self.columns)


def build_together(source: FileSource, given: Iterable[ParsedGraph]) -> Iterator[Part]:
    """The graphs in their order, packed where they were given as lists."""
    waiting: list[ParsedGraph] = []
    rows = 0
    try:
        for graph in given:
            waiting.append(graph)
            rows += graph.num_nodes + len(graph.heads)
            if len(waiting) == _MOST_GRAPHS or rows >= _MOST_ROWS:
                ready, waiting, rows = waiting, [], 0
                yield from _built(ready, source)
    except FileError:
        yield from _built(waiting, source)  # they stand before what is wrong, perhaps with an error of their own
        raise
    yield from _built(waiting, source)


def _built(parsed: list[ParsedGraph], source: FileSource) -> Iterator[Part]:
    for unusual, group in groupby(parsed, lambda graph: graph.tails is None):
        build = _built_strictly if unusual else _built_quickly
        yield from build(list(group), source)


def _built_strictly(parsed: list[ParsedGraph], source: FileSource) -> Iterator[Graph]:
    for graph in parsed:
        with source.record(graph.where):
            yield graph.build()


def _built_quickly(parsed: list[ParsedGraph], source: FileSource) -> Iterator[Part]:
    """One part if all graphs are right; where one is wrong, halves are tried until it is alone."""
    if len(parsed) < max(_FEWEST, 2):
        yield from _built_strictly(parsed, source)
        return
    try:
        yield _packed(parsed)
    except (InvalidGraph, OverflowError):
        for half in (parsed[: len(parsed) // 2], parsed[len(parsed) // 2 :]):
            yield from _built_quickly(half, source)


def _packed(parsed: list[ParsedGraph]) -> Columns:
    """Columns of the graphs; raises :class:`InvalidGraph` if one is wrong, or must be built alone."""
    lengths = {"node": [graph.num_nodes for graph in parsed], "edge": [len(graph.heads) for graph in parsed]}
    edges = np.empty((sum(lengths["edge"]), 2), dtype=np.int64)
    edges[:, 0] = np.fromiter(chain.from_iterable(graph.tails or () for graph in parsed), np.int64, len(edges))
    edges[:, 1] = np.fromiter(chain.from_iterable(graph.heads for graph in parsed), np.int64, len(edges))
    flags = np.array([graph.directed for graph in parsed], dtype=np.uint8) * np.uint8(GraphFlags.DIRECTION)
    columns: dict[str, Any] = {}
    named = set(chain.from_iterable(graph.columns for graph in parsed))
    for name, column in COLUMNS.items():
        values = [graph.columns.get(name) for graph in parsed] if name in named else []
        present = [given is not None for given in values]
        if any(present):
            columns[name] = _joined(column, values, lengths[column.per])
            flags |= np.where(present, np.uint8(column.flag), np.uint8(0))
    return assemble_columns(
        pointers(lengths["node"]),
        pointers(lengths["edge"]),
        edges,
        flags=flags,
        ids=tuple(graph.id for graph in parsed) if any(graph.id is not None for graph in parsed) else None,
        metadata=tuple(graph.metadata or {} for graph in parsed) if any(graph.metadata for graph in parsed) else None,
        **columns,
    )


def _joined(column: Column, values: list[Any], lengths: list[int]) -> LabelColumn | NDArray[Any]:
    """The columns of all graphs joined to one; some graphs may lack labels and texts."""
    if any(given is not None and len(given) != length for given, length in zip(values, lengths, strict=True)):
        raise InvalidGraph("the length of a column is wrong")
    if column.coded:
        filled = ([None] * length if given is None else given for given, length in zip(values, lengths, strict=True))
        return LabelColumn.from_values(list(chain.from_iterable(filled)))
    kind = np.float64 if column.dtypes == ("f8",) else None  # images keep their own
    arrays = [np.asarray(given, dtype=kind) for given in values if given is not None]
    if len(arrays) < len(values) or len({(array.shape[1:], array.dtype) for array in arrays}) > 1:
        raise InvalidGraph("graphs differ in their columns")
    return np.concatenate(arrays)
