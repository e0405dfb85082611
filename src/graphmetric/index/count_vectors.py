"""Label counts and degrees of graphs: vectors kept in the index that bound edit distances to all of it at once.

:class:`graphmetric.edit_distance.collection_bounds.CountBounds` makes the bounds. Labels are numbered by the index, so
that any query can be counted later. Features, texts, images and weights are not looked at: counting unequal nodes as
equal only lowers the bound.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance.collection_bounds import (
    COUNT_LAYOUT,
    DEGREES,
    EDGE_BUCKETS,
    LARGEST_COUNT,
    NODE_BUCKETS,
    Counts,
)
from graphmetric.graphs.columns import Columns, Has
from graphmetric.graphs.labels import LabelColumn, label_key


def number_labels(vocabulary: Sequence[Hashable]) -> dict[bytes, int]:
    """Places of labels in order of appearance, equal ones (1 and 1.0) at the same; no label comes first."""
    places = {label_key(None): 0}
    for label in vocabulary:
        places.setdefault(label_key(label), len(places))
    return places


def count_graphs(columns: Columns, node_places: Mapping[bytes, int], edge_places: Mapping[bytes, int]) -> Counts:
    """(graphs, length): nodes, edges, labels of nodes, labels of edges, degrees in falling order.

    A label that has no place is counted among the nodes only, since nothing in the index equals it.
    """
    graphs = columns.num_graphs
    vectors = np.zeros((graphs, COUNT_LAYOUT.length), dtype=np.int64)
    vectors[:, 0], vectors[:, 1] = np.diff(columns.node_ptr), np.diff(columns.edge_ptr)
    node_owner = np.repeat(np.arange(graphs), vectors[:, 0])
    edge_owner = np.repeat(np.arange(graphs), vectors[:, 1])
    for column, flag, owner, places, start, size in (
        (columns.node_labels, Has.NODE_LABELS, node_owner, node_places, 2, NODE_BUCKETS),
        (columns.edge_labels, Has.EDGE_LABELS, edge_owner, edge_places, COUNT_LAYOUT.edge_start, EDGE_BUCKETS),
    ):
        place = _places(column, (columns.flags[owner] & flag) != 0, places)
        known = place >= 0
        np.add.at(vectors, (owner[known], start + np.minimum(place[known], size - 1)), 1)
    _fill_degrees(columns, node_owner, edge_owner, vectors)
    return np.minimum(vectors, LARGEST_COUNT).astype(np.int16)


def _places(column: LabelColumn | None, present: NDArray[np.bool_], places: Mapping[bytes, int]) -> NDArray[np.int64]:
    if column is None:
        return np.zeros(len(present), dtype=np.int64)
    place = np.full(len(column.vocabulary), -1, dtype=np.int64)
    for code in np.unique(column.codes).tolist():
        place[code] = places.get(label_key(column.vocabulary[code]), -1)
    return np.where(present, place[column.codes], 0)


def _fill_degrees(
    columns: Columns, node_owner: NDArray[np.int64], edge_owner: NDArray[np.int64], vectors: NDArray[np.int64]
) -> None:
    """Self-loops are left out: editing one changes no other node."""
    proper = columns.edges[:, 0] != columns.edges[:, 1]
    ends = columns.node_ptr[edge_owner[proper], None] + columns.edges[proper]
    degree = np.bincount(ends.ravel(), minlength=len(node_owner))
    order = np.lexsort((-degree, node_owner))
    rank = np.arange(len(node_owner)) - columns.node_ptr[node_owner]
    kept = rank < DEGREES
    vectors[node_owner[kept], COUNT_LAYOUT.degree_start + rank[kept]] = degree[order][kept]
