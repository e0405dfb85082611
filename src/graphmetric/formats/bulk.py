"""Graphs built many at a time: to check a thousand at once costs little more than to check ten."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import FileError, InvalidGraph
from graphmetric.formats.file_format import Part
from graphmetric.formats.source import Source
from graphmetric.graphs.columns import Columns, Has, assemble_columns
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn

_FEWEST, _MOST_GRAPHS = 4, 1_000
_MOST_ROWS = 100_000
"""Nodes and edges that wait together; larger graphs gain nothing."""

_FLAGS = {
    "node_labels": Has.NODE_LABELS,
    "edge_labels": Has.EDGE_LABELS,
    "edge_weights": Has.EDGE_WEIGHTS,
    "node_features": Has.NODE_FEATURES,
    "node_texts": Has.NODE_TEXTS,
}


@dataclass(slots=True, eq=False)
class ParsedGraph:
    """What a reader found of one graph, as plain lists whose types are right and whose content is not yet checked."""

    carefully: Callable[[], Graph]
    """Builds the graph on its own, with an error that names the line or element at fault."""
    where: str | int | None
    """The place in the file for errors that name none."""
    num_nodes: int = 0
    tails: Sequence[int] | None = None
    """None where the graph is unusual and can only be built carefully."""
    heads: Sequence[int] = ()
    directed: bool = False
    node_labels: Sequence[Hashable] | None = None
    edge_labels: Sequence[Hashable] | None = None
    edge_weights: Sequence[float] | None = None
    node_features: NDArray[np.float64] | None = None
    node_texts: Sequence[str] | None = None
    id: Hashable = None
    metadata: Mapping[str, Any] | None = None


def build_together(source: Source, given: Iterable[ParsedGraph | Graph]) -> Iterator[Part]:
    """The graphs in their order, packed where they were given as lists."""
    waiting: list[ParsedGraph] = []
    rows = 0
    try:
        for graph in given:
            if isinstance(graph, ParsedGraph):
                waiting.append(graph)
                rows += graph.num_nodes + len(graph.heads)
                if len(waiting) < _MOST_GRAPHS and rows < _MOST_ROWS:
                    continue
            ready, waiting, rows = waiting, [], 0
            yield from _built(ready, source)
            if isinstance(graph, Graph):
                yield graph
    except FileError:
        yield from _built(waiting, source)  # they stand before what is wrong, perhaps with an error of their own
        raise
    yield from _built(waiting, source)


def _built(parsed: list[ParsedGraph], source: Source) -> Iterator[Part]:
    for unusual, group in groupby(parsed, lambda graph: graph.tails is None):
        build = _built_carefully if unusual else _built_quickly
        yield from build(list(group), source)


def _built_carefully(parsed: list[ParsedGraph], source: Source) -> Iterator[Graph]:
    for graph in parsed:
        with source.record(graph.where):
            yield graph.carefully()


def _built_quickly(parsed: list[ParsedGraph], source: Source) -> Iterator[Part]:
    """One part if all graphs are right; where one is wrong, halves are tried until it is alone."""
    if len(parsed) < max(_FEWEST, 2):
        yield from _built_carefully(parsed, source)
        return
    try:
        yield _packed(parsed)
    except (InvalidGraph, OverflowError):
        for half in (parsed[: len(parsed) // 2], parsed[len(parsed) // 2 :]):
            yield from _built_quickly(half, source)


def _packed(parsed: list[ParsedGraph]) -> Columns:
    """Columns of the graphs; raises :class:`InvalidGraph` if one is wrong, or if only building it alone can tell."""
    sizes = np.array([graph.num_nodes for graph in parsed])
    counts = np.array([len(graph.heads) for graph in parsed])
    edges = np.empty((counts.sum(), 2), dtype=np.int64)
    edges[:, 0] = np.fromiter(chain.from_iterable(graph.tails or () for graph in parsed), np.int64, len(edges))
    edges[:, 1] = np.fromiter(chain.from_iterable(graph.heads for graph in parsed), np.int64, len(edges))
    directed = np.array([graph.directed for graph in parsed])
    columns = assemble_columns(
        np.concatenate([[0], np.cumsum(sizes)]),
        np.concatenate([[0], np.cumsum(counts)]),
        edges,
        directed=directed,
        node_labels=_labels([graph.node_labels for graph in parsed], sizes),
        edge_labels=_labels([graph.edge_labels for graph in parsed], counts),
        edge_weights=_numbers([graph.edge_weights for graph in parsed]),
        node_features=_numbers([graph.node_features for graph in parsed]),
        node_texts=_labels([graph.node_texts for graph in parsed], sizes),
        ids=tuple(graph.id for graph in parsed) if any(graph.id is not None for graph in parsed) else None,
        metadata=tuple(graph.metadata or {} for graph in parsed) if any(graph.metadata for graph in parsed) else None,
    )
    flags = np.where(directed, int(Has.DIRECTION), 0)
    for name, flag in _FLAGS.items():
        flags |= np.where([getattr(graph, name) is not None for graph in parsed], int(flag), 0)
    return replace(columns, flags=flags.astype(np.uint8))


def _labels(values: list[Sequence[Hashable] | None], sizes: NDArray[np.int64]) -> LabelColumn | None:
    if all(labels is None for labels in values):
        return None
    filled = ([None] * size if labels is None else labels for labels, size in zip(values, sizes.tolist(), strict=True))
    return LabelColumn.from_values(list(chain.from_iterable(filled)))


def _numbers(values: list[Any]) -> NDArray[np.float64] | None:
    if all(numbers is None for numbers in values):
        return None
    if any(numbers is None for numbers in values) or len({np.shape(numbers)[1:] for numbers in values}) > 1:
        raise InvalidGraph("graphs differ in their columns")
    return np.concatenate([np.asarray(numbers, dtype=np.float64) for numbers in values])
