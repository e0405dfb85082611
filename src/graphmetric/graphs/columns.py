"""The packed form of many graphs: all nodes in one set of columns, all edges in another.

Check and sort whole collections at once: what ``Graph.__init__`` does, for columns of many graphs.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntFlag
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidGraph
from graphmetric.graphs.arrays import read_only
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn


class Has(IntFlag):
    """What a graph has, one bit each, so that graphs with and without a column can share a collection."""

    DIRECTION = 1
    NODE_LABELS = 2
    EDGE_LABELS = 4
    EDGE_WEIGHTS = 8
    NODE_FEATURES = 16
    NODE_TEXTS = 32
    NODE_IMAGES = 64


NODE_COLUMNS = ("node_labels", "node_features", "node_texts", "node_images")
EDGE_COLUMNS = ("edge_labels", "edge_weights")


@dataclass(frozen=True, slots=True)
class Columns:
    """Graph ``k`` owns node rows ``node_ptr[k]:node_ptr[k+1]`` and edge rows ``edge_ptr[k]:edge_ptr[k+1]``.

    A column is None when no graph has it; where only some graphs have it, the others' rows hold fillers and their
    bit in ``flags`` is off.
    """

    node_ptr: NDArray[np.int64]
    edge_ptr: NDArray[np.int64]
    flags: NDArray[np.uint8]
    """:class:`Has` bits, one byte per graph."""
    edges: NDArray[np.int32]
    """(edges, 2); node numbers are local to their graph, rows sorted within it."""
    node_labels: LabelColumn | None = None
    edge_labels: LabelColumn | None = None
    edge_weights: NDArray[np.float64] | None = None
    node_features: NDArray[np.float64] | None = None
    node_texts: LabelColumn | None = None
    node_images: NDArray[Any] | None = None
    ids: tuple[Hashable, ...] | None = None
    metadata: tuple[Mapping[str, Any], ...] | None = None

    @property
    def num_graphs(self) -> int:
        return len(self.flags)

    def graph(self, k: int) -> Graph:
        """Graph ``k``, sharing memory with the columns."""
        flags = int(self.flags[k])
        nodes = slice(int(self.node_ptr[k]), int(self.node_ptr[k + 1]))
        edges = slice(int(self.edge_ptr[k]), int(self.edge_ptr[k + 1]))
        return Graph._unchecked(
            nodes.stop - nodes.start,
            self.edges[edges],
            bool(flags & Has.DIRECTION),
            node_labels=_rows(self.node_labels, nodes, flags & Has.NODE_LABELS),
            edge_labels=_rows(self.edge_labels, edges, flags & Has.EDGE_LABELS),
            edge_weights=_rows(self.edge_weights, edges, flags & Has.EDGE_WEIGHTS),
            node_features=_rows(self.node_features, nodes, flags & Has.NODE_FEATURES),
            node_texts=_rows(self.node_texts, nodes, flags & Has.NODE_TEXTS),
            node_images=_rows(self.node_images, nodes, flags & Has.NODE_IMAGES),
            id=None if self.ids is None else self.ids[k],
            metadata=None if self.metadata is None else self.metadata[k],
        )

    def nbytes(self) -> int:
        """Bytes held by the arrays; vocabularies, ids and metadata not counted."""
        columns = (getattr(self, field.name) for field in fields(self))
        arrays = (column.codes if isinstance(column, LabelColumn) else column for column in columns)
        return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))

    def take(self, index: NDArray[np.intp]) -> Columns:
        """The chosen graphs, copied together in the given order."""
        node_rows, node_ptr = _gathered_rows(self.node_ptr, index)
        edge_rows, edge_ptr = _gathered_rows(self.edge_ptr, index)
        changes: dict[str, Any] = {name: _rows(getattr(self, name), node_rows, 1) for name in NODE_COLUMNS}
        changes |= {name: _rows(getattr(self, name), edge_rows, 1) for name in EDGE_COLUMNS}
        changes |= {name: _picked(getattr(self, name), index) for name in ("ids", "metadata")}
        flags, edges = self.flags[index], self.edges[edge_rows]
        return replace(self, node_ptr=node_ptr, edge_ptr=edge_ptr, flags=flags, edges=edges, **changes)


def pack(graphs: Sequence[Graph], position: int = 0) -> Columns:
    """Copy graphs into shared columns; errors count them from ``position``."""
    flags = [_flags(graph) for graph in graphs]
    present = Has(int(np.bitwise_or.reduce(flags))) if flags else Has(0)
    _check_shapes_agree([g.node_features for g in graphs], "features per node", "graphs", position)
    _check_shapes_agree([g.node_images for g in graphs], "image shape", "graphs", position)
    sizes = [graph.num_nodes for graph in graphs]
    counts = [graph.num_edges for graph in graphs]
    return Columns(
        node_ptr=pointers(sizes),
        edge_ptr=pointers(counts),
        flags=read_only(np.array(flags, dtype=np.uint8)),
        edges=read_only(np.concatenate([g.edges for g in graphs]) if graphs else np.empty((0, 2), dtype=np.int32)),
        node_labels=_joined_labels([g.node_label_column for g in graphs], sizes, present & Has.NODE_LABELS),
        edge_labels=_joined_labels([g.edge_label_column for g in graphs], counts, present & Has.EDGE_LABELS),
        edge_weights=_joined_arrays([g.edge_weights for g in graphs], counts),
        node_features=_joined_arrays([g.node_features for g in graphs], sizes),
        node_texts=_joined_labels([g.node_text_column for g in graphs], sizes, present & Has.NODE_TEXTS),
        node_images=_joined_arrays([g.node_images for g in graphs], sizes),
        ids=tuple(g.id for g in graphs) if any(g.id is not None for g in graphs) else None,
        metadata=tuple(dict(g.metadata) for g in graphs) if any(g.metadata for g in graphs) else None,
    )


def concatenate(parts: Sequence[Columns]) -> Columns:
    """One packed collection after the other."""
    if len(parts) == 1:
        return parts[0]
    _check_shapes_agree([part.node_features for part in parts], "features per node", "parts")
    _check_shapes_agree([part.node_images for part in parts], "image shape", "parts")
    node_counts = [len_nodes(part) for part in parts]
    edge_counts = [len(part.edges) for part in parts]
    joined: dict[str, Any] = {}
    for name in (*NODE_COLUMNS, *EDGE_COLUMNS):
        counts = node_counts if name in NODE_COLUMNS else edge_counts
        columns = [getattr(part, name) for part in parts]
        if name in ("node_labels", "node_texts", "edge_labels"):
            joined[name] = _joined_labels(columns, counts, any(column is not None for column in columns))
        else:
            joined[name] = _joined_arrays(columns, counts)
    return Columns(
        node_ptr=pointers(np.concatenate([np.diff(part.node_ptr) for part in parts])),
        edge_ptr=pointers(np.concatenate([np.diff(part.edge_ptr) for part in parts])),
        flags=read_only(np.concatenate([part.flags for part in parts])),
        edges=read_only(np.concatenate([part.edges for part in parts])),
        ids=_joined_tuples([part.ids for part in parts], parts, None),
        metadata=_joined_tuples([part.metadata for part in parts], parts, {}),
        **joined,
    )


def len_nodes(columns: Columns) -> int:
    """Total number of nodes."""
    return int(columns.node_ptr[-1])


def pointers(sizes: Any) -> NDArray[np.int64]:
    """Where each run of rows starts, and where the last one ends."""
    ptr = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=ptr[1:])
    return read_only(ptr)


def _flags(graph: Graph) -> int:
    return int(
        (Has.DIRECTION if graph.directed else 0)
        | (Has.NODE_LABELS if graph.node_label_column is not None else 0)
        | (Has.EDGE_LABELS if graph.edge_label_column is not None else 0)
        | (Has.EDGE_WEIGHTS if graph.edge_weights is not None else 0)
        | (Has.NODE_FEATURES if graph.node_features is not None else 0)
        | (Has.NODE_TEXTS if graph.node_text_column is not None else 0)
        | (Has.NODE_IMAGES if graph.node_images is not None else 0)
    )


def _rows(column: Any, rows: Any, present: int) -> Any:
    if column is None or not present:
        return None
    return column.take(rows) if isinstance(column, LabelColumn) else column[rows]


def _picked(values: tuple[Any, ...] | None, index: NDArray[np.intp]) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values[k] for k in index.tolist())


def _gathered_rows(ptr: NDArray[np.int64], index: NDArray[np.intp]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    starts, sizes = ptr[index], ptr[index + 1] - ptr[index]
    new_ptr = pointers(sizes)
    return np.arange(new_ptr[-1]) + np.repeat(starts - new_ptr[:-1], sizes), new_ptr


def _joined_labels(columns: Sequence[LabelColumn | None], lengths: Sequence[int], present: Any) -> LabelColumn | None:
    if not present:
        return None
    known = next(c.vocabulary for c in columns if c is not None)
    if all(c is not None and c.vocabulary is known for c in columns):  # slices of one collection
        return LabelColumn(read_only(np.concatenate([c.codes for c in columns if c is not None])), known)
    filled = [
        LabelColumn(np.zeros(length, dtype=np.int32), (None,)) if column is None else column
        for column, length in zip(columns, lengths, strict=True)
    ]
    return LabelColumn.concatenate(filled)


def _joined_arrays(arrays: Sequence[NDArray[Any] | None], lengths: Sequence[int]) -> Any:
    present = next((array for array in arrays if array is not None), None)
    if present is None:
        return None
    filled = [
        np.zeros((length, *present.shape[1:]), dtype=present.dtype) if array is None else array
        for array, length in zip(arrays, lengths, strict=True)
    ]
    return read_only(np.concatenate(filled))


def _joined_tuples(values: Sequence[tuple[Any, ...] | None], parts: Sequence[Columns], filler: Any) -> Any:
    if all(value is None for value in values):
        return None
    return tuple(
        item
        for value, part in zip(values, parts, strict=True)
        for item in ((filler,) * part.num_graphs if value is None else value)
    )


def _check_shapes_agree(arrays: Sequence[NDArray[Any] | None], what: str, item: str, position: int = 0) -> None:
    """Raise unless all arrays that are there have rows of one shape and type."""
    present = [(k, array) for k, array in enumerate(arrays, position) if array is not None]
    for k, array in present[1:]:
        first, expected = present[0]
        if array.shape[1:] != expected.shape[1:] or array.dtype != expected.dtype:
            raise InvalidGraph(
                f"{item}[{k}]: {what} {array.shape[1:]} ({array.dtype}) differs from {item}[{first}]: "
                f"{expected.shape[1:]} ({expected.dtype}); one collection has one shape per column"
            )


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
