"""Lists of edges between nodes of any name."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from graphmetric.errors import InvalidGraph
from graphmetric.graphs.conversion.attributes import NODE_NAMES, are_node_numbers
from graphmetric.graphs.conversion.parallel_edges import EdgeRows, ParallelEdges, merge_parallel_edges
from graphmetric.graphs.graph import Graph

Labels = Iterable[Hashable] | Mapping[Hashable, Hashable]


def from_edge_list(
    edges: Iterable[Sequence[Hashable]],
    labels: Labels | None = None,
    *,
    nodes: Iterable[Hashable] | None = None,
    edge_labels: Iterable[Hashable] | None = None,
    edge_weights: Iterable[float] | None = None,
    directed: bool = False,
    parallel_edges: ParallelEdges = "error",
    id: Hashable = None,
) -> Graph:
    """A graph from pairs of node names, which may be any hashable values.

    ``labels`` is a mapping from names to labels (names it lacks get None, names without edges become nodes), or a
    sequence in the order of the nodes. Nodes are numbered in order of first appearance: first in ``nodes``, then in
    ``edges``, then in ``labels``. Integers that are exactly 0..n-1 are node numbers and stay as they are; beside a
    sequence of n labels all integers are taken as such. Names that are not numbers are kept as
    ``metadata["node_names"]``.

    Example:
        >>> from_edge_list([("main", "parse"), ("parse", "read")], {"main": "entry"}).node_labels
        ('entry', None, None)
    """
    pairs = _checked_pairs(edges)
    by_name = labels if isinstance(labels, Mapping) else None
    in_order = None if labels is None or by_name is not None else list(labels)
    names = dict.fromkeys(nodes or ())
    names |= dict.fromkeys(name for pair in pairs for name in pair)
    names |= dict.fromkeys(by_name or ())
    ordered = _ordered(list(names), None if in_order is None or nodes is not None else len(in_order))
    number = {name: i for i, name in enumerate(ordered)}
    rows = EdgeRows(
        [_numbered(pair, number) for pair in pairs],
        None if edge_labels is None else list(edge_labels),
        None if edge_weights is None else list(edge_weights),
    )
    _check_edge_columns(rows)
    rows = merge_parallel_edges(rows, directed, parallel_edges)
    return Graph(
        len(ordered),
        rows.pairs,
        node_labels=in_order if by_name is None else [by_name.get(name) for name in ordered],
        edge_labels=rows.labels,
        edge_weights=rows.weights,
        directed=directed,
        id=id,
        metadata={NODE_NAMES: tuple(ordered)} if not are_node_numbers(ordered) else None,
    )


def _checked_pairs(edges: Iterable[Sequence[Hashable]]) -> list[tuple[Any, Any]]:
    given = edges.tolist() if isinstance(edges, np.ndarray) else list(edges)
    for k, edge in enumerate(given):
        if isinstance(edge, str | bytes) or not hasattr(edge, "__len__") or len(edge) != 2:
            raise InvalidGraph(
                f"edges[{k}] is {edge!r}; an edge is a pair of nodes, its label and weight go to edge_labels=, "
                "edge_weights="
            )
        for name in edge:
            if not isinstance(name, Hashable):
                raise InvalidGraph(f"edges[{k}]: {name!r} is a {type(name).__name__}, which cannot name a node")
    return [(_plain(u), _plain(v)) for u, v in given]


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _ordered(names: list[Hashable], num_labels: int | None) -> list[Hashable]:
    """The nodes by number: integers are numbers where they can be."""
    if num_labels is not None and all(type(name) is int for name in names):
        return list(range(num_labels))
    return list(range(len(names))) if are_node_numbers(names) else names


def _numbered(pair: tuple[Any, Any], number: dict[Hashable, int]) -> tuple[int, int]:
    missing = next((name for name in pair if name not in number), None)
    if missing is not None:
        raise InvalidGraph(f"edge {pair!r} names node {missing}; there are {len(number)} labels (0..{len(number) - 1})")
    return number[pair[0]], number[pair[1]]


def _check_edge_columns(rows: EdgeRows) -> None:
    for name, column in (("edge_labels", rows.labels), ("edge_weights", rows.weights)):
        if column is not None and len(column) != len(rows.pairs):
            raise InvalidGraph(f"{name} has {len(column)} entries; there are {len(rows.pairs)} edges")
