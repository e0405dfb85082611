"""The packed form of many graphs: all nodes in one set of columns, all edges in another."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import IntFlag
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
