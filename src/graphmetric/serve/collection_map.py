"""A map of a collection: its graphs as points in the plane, in clusters, and the place of a new graph among them.

The plane shows most of the variance (principal components) of the vectors by which the model finds near graphs. Without
a model these are counts: the share of each frequent node label, of each degree, and the numbers of nodes and edges.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import spelling
from graphmetric.search import GraphIndex

Floats = NDArray[np.float64]

MOST_POINTS = 100_000
"""Points of a map; of a larger collection an even choice is shown."""
_CLUSTERS, _ROUNDS, _DIMENSIONS = 8, 25, 10
_LABELS, _DEGREES = 24, 8
_SAMPLE = 20_000
"""Graphs from which the plane and the clusters are made."""


@dataclass(frozen=True, slots=True, eq=False)
class CollectionMap:
    """Points of graphs, and how to place others."""

    kind: str
    positions: NDArray[np.int64]
    """The places of the graphs of the points among all graphs of the index."""
    points: Floats
    """(points, 2)"""
    clusters: NDArray[np.int64]
    """The number of each point's cluster; the largest cluster is 0."""
    explained: float
    """The share of the variance that the plane shows."""
    mean: Floats
    axes: Floats
    vectors_of: Callable[[Graph], Floats]

    def place(self, graph: Graph) -> tuple[float, float]:
        """Where a graph lies on the map, whether it is in the collection or not."""
        x, y = ((self.vectors_of(graph) - self.mean) @ self.axes[:2].T).tolist()
        return x, y


def make_map(index: GraphIndex) -> CollectionMap:
    """The map of an index."""
    vectors_of: Callable[[Any], Floats]
    if index.model is not None:
        vectors, kind = index.vectors().astype(np.float64), "vectors of the model"

        def vectors_of(graph: Graph) -> Floats:
            return np.asarray(index.vectors(graph)[0], dtype=np.float64)
    else:
        graphs, kind = index.graphs, "counts of labels and degrees"
        labels = _frequent_labels(graphs)
        vectors = _count(graphs, labels)

        def vectors_of(graph: Graph) -> Floats:
            return np.asarray(_count(GraphCollection([graph]), labels)[0])

    positions = np.arange(len(vectors))
    if len(vectors) > MOST_POINTS:
        positions = np.linspace(0, len(vectors) - 1, MOST_POINTS).astype(np.int64)
    chosen = vectors[positions]
    sample = chosen[:: max(1, len(chosen) // _SAMPLE)]
    mean = sample.mean(axis=0) if len(sample) else np.zeros(vectors.shape[1])
    _, sizes, axes = np.linalg.svd(sample - mean, full_matrices=False)
    axes = np.vstack([axes, np.zeros((2, vectors.shape[1]))])[: max(2, min(len(axes), _DIMENSIONS))]
    axes *= np.where(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    seen = (chosen - mean) @ axes.T
    variance = sizes**2
    explained = float(variance[:2].sum() / variance.sum()) if variance.sum() > 0 else 1.0
    return CollectionMap(kind, positions, seen[:, :2], _cluster(seen), explained, mean, axes, vectors_of)


def _frequent_labels(graphs: GraphCollection) -> dict[Hashable, int]:
    """The most frequent node labels with their numbers."""
    column = graphs.columns.node_labels
    if column is None:
        return {}
    counts = np.bincount(column.codes, minlength=len(column.vocabulary))
    return {spelling(column.vocabulary[code]): k for k, code in enumerate(np.argsort(-counts, kind="stable")[:_LABELS])}


def _count(graphs: GraphCollection, labels: dict[Hashable, int]) -> Floats:
    """(graphs, width): shares of labels and degrees, and logarithms of sizes."""
    columns, sizes = graphs.columns, graphs.sizes
    owner = np.repeat(np.arange(len(graphs)), sizes)
    rows = np.zeros((len(graphs), _LABELS + _DEGREES + 2))
    if columns.node_labels is not None:
        numbers = [labels.get(spelling(label), -1) for label in columns.node_labels.vocabulary]
        codes = np.array([*numbers, -1])[columns.node_labels.codes]
        np.add.at(rows, (owner[codes >= 0], codes[codes >= 0]), 1.0)
    ends = columns.edges + np.repeat(columns.node_ptr[:-1], graphs.edge_counts)[:, None]
    degrees = np.bincount(ends.ravel(), minlength=len(owner))
    np.add.at(rows, (owner, _LABELS + np.minimum(degrees, _DEGREES - 1)), 1.0)
    rows /= np.maximum(sizes, 1)[:, None]
    rows[:, -2:] = np.log1p(np.stack([sizes, graphs.edge_counts], axis=1)) / 4
    return rows


def _cluster(points: Floats) -> NDArray[np.int64]:
    """k-means from well spread starting points; the same points always give the same clusters."""
    if len(points) == 0:
        return np.empty(0, dtype=np.int64)
    sample = points[:: max(1, len(points) // _SAMPLE)]
    centers = sample[:1]
    while len(centers) < min(_CLUSTERS, len(sample)):
        centers = np.vstack([centers, sample[_gaps(sample, centers).min(axis=1).argmax()]])
    for _ in range(_ROUNDS):
        nearest = _gaps(sample, centers).argmin(axis=1)
        members = [sample[nearest == k] for k in range(len(centers))]
        centers = np.array([own.mean(axis=0) if len(own) else centers[k] for k, own in enumerate(members)])
    numbers = _gaps(points, centers).argmin(axis=1)
    order = np.argsort(-np.bincount(numbers, minlength=len(centers)), kind="stable")
    return np.asarray(np.argsort(order)[numbers])


def _gaps(points: Floats, centers: Floats) -> Floats:
    """Squared distances of points to centers."""
    gaps: Floats = (points**2).sum(axis=1)[:, None] - 2 * points @ centers.T + (centers**2).sum(axis=1)
    return gaps
