"""Check and sort whole collections at once: what ``Graph.__init__`` does, for columns of many graphs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidGraph
from graphmetric.graphs.arrays import read_only
from graphmetric.graphs.columns import Columns, Has
from graphmetric.graphs.labels import LabelColumn


def assemble_columns(
    node_ptr: ArrayLike,
    edge_ptr: ArrayLike,
    edges: NDArray[np.integer],
    *,
    directed: bool | NDArray[np.bool_] = False,
    node_labels: LabelColumn | None = None,
    edge_labels: LabelColumn | None = None,
    edge_weights: NDArray[np.float64] | None = None,
    node_features: NDArray[np.float64] | None = None,
    node_texts: LabelColumn | None = None,
    ids: tuple[Hashable, ...] | None = None,
    metadata: tuple[Mapping[str, Any], ...] | None = None,
) -> Columns:
    """Columns of graphs that all have the same kinds of attributes, checked as ``Graph`` checks one.

    ``directed`` may be given graph by graph.
    """
    node_starts, edge_starts = _checked_pointers("node_ptr", node_ptr), _checked_pointers("edge_ptr", edge_ptr)
    if len(node_starts) != len(edge_starts):
        raise InvalidGraph(f"node_ptr is for {len(node_starts) - 1} graphs, edge_ptr for {len(edge_starts) - 1}")
    num_nodes, num_edges = int(node_starts[-1]), int(edge_starts[-1])
    rows: dict[str, tuple[Any, int]] = {"edges": (edges, num_edges), "edge_labels": (edge_labels, num_edges)}
    rows |= {"edge_weights": (edge_weights, num_edges), "node_labels": (node_labels, num_nodes)}
    rows |= {"node_features": (node_features, num_nodes), "node_texts": (node_texts, num_nodes)}
    for name, (column, expected) in rows.items():
        if column is not None and len(column) != expected:
            raise InvalidGraph(f"{name} has {len(column)} rows; the pointers promise {expected}")
    _check_numbers(edge_weights, edge_starts, "edge_weights", allow_zero=False)
    _check_numbers(node_features, node_starts, "node_features", allow_zero=True)

    has_arcs = np.broadcast_to(np.asarray(directed, dtype=bool), len(node_starts) - 1)
    pairs, order = _checked_edges(node_starts, edge_starts, edges.astype(np.int64), has_arcs)
    if order is not None:
        edge_labels = edge_labels and edge_labels.take(order)
        edge_weights = None if edge_weights is None else edge_weights[order]
    flags = (
        (Has.NODE_LABELS if node_labels is not None else 0)
        | (Has.EDGE_LABELS if edge_labels is not None else 0)
        | (Has.EDGE_WEIGHTS if edge_weights is not None else 0)
        | (Has.NODE_FEATURES if node_features is not None else 0)
        | (Has.NODE_TEXTS if node_texts is not None else 0)
    )
    return Columns(
        node_ptr=node_starts,
        edge_ptr=edge_starts,
        flags=read_only((np.where(has_arcs, int(Has.DIRECTION), 0) | int(flags)).astype(np.uint8)),
        edges=read_only(np.ascontiguousarray(pairs, dtype=np.int32)),
        node_labels=node_labels,
        edge_labels=edge_labels,
        edge_weights=edge_weights,
        node_features=node_features,
        node_texts=node_texts,
        ids=ids,
        metadata=metadata,
    )


def _checked_pointers(name: str, given: ArrayLike) -> NDArray[np.int64]:
    ptr = np.array(given, dtype=np.int64)
    if ptr.ndim != 1 or len(ptr) == 0 or ptr[0] != 0 or (np.diff(ptr) < 0).any():
        raise InvalidGraph(f"{name} must start at 0 and never decrease")
    return read_only(ptr)


def _checked_edges(
    node_ptr: NDArray[np.int64], edge_ptr: NDArray[np.int64], pairs: NDArray[np.int64], directed: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.intp] | None]:
    """Edges oriented and sorted within each graph, and the order that sorted them (None if they already were)."""
    graph = np.repeat(np.arange(len(edge_ptr) - 1), np.diff(edge_ptr))
    sizes = np.diff(node_ptr)[graph]
    outside = np.flatnonzero((pairs < 0).any(axis=1) | (pairs >= sizes[:, None]).any(axis=1))
    if len(outside):
        row = outside[0]
        u, v = pairs[row].tolist()
        node = v if 0 <= u < sizes[row] else u
        has = f"{sizes[row]} nodes (0..{sizes[row] - 1})" if sizes[row] else "no nodes"
        raise InvalidGraph(f"graphs[{graph[row]}]: edge ({u}, {v}) names node {node}; the graph has {has}")
    turned = (pairs[:, 0] > pairs[:, 1]) & ~directed[graph]
    pairs[turned] = pairs[turned, ::-1]
    order = None
    if not _strictly_ascending(graph, pairs):
        order = np.lexsort((pairs[:, 1], pairs[:, 0], graph))
        pairs = pairs[order]
        again = np.flatnonzero((pairs[1:] == pairs[:-1]).all(axis=1) & (graph[1:] == graph[:-1]))
        if len(again):
            u, v = pairs[again[0]].tolist()
            raise InvalidGraph(f"graphs[{graph[again[0]]}]: edge ({u}, {v}) is given twice; merge parallel edges")
    return pairs, order


def _strictly_ascending(graph: NDArray[np.int64], pairs: NDArray[np.int64]) -> bool:
    same_graph = graph[1:] == graph[:-1]
    first, second = np.diff(pairs[:, 0]), np.diff(pairs[:, 1])
    return bool((~same_graph | (first > 0) | ((first == 0) & (second > 0))).all())


def _check_numbers(column: NDArray[Any] | None, ptr: NDArray[np.int64], name: str, allow_zero: bool) -> None:
    if column is None:
        return
    wrong = ~np.isfinite(column) | ((column == 0) & (not allow_zero))
    if wrong.any():
        row = int(np.argwhere(wrong)[0][0])
        graph = int(np.searchsorted(ptr, row, side="right")) - 1
        rule = "finite" if allow_zero else "finite and not 0 (leave out edges of weight 0)"
        raise InvalidGraph(f"graphs[{graph}]: {name}[{row - ptr[graph]}] is {column[row]}; numbers must be {rule}")
