r"""The multiscale Laplacian kernel of Kondor and Pan (2016).

Two graphs whose nodes have features in one space (rows of Q and Q') are compared by the overlap of two normal
distributions with the covariances

.. math:: S = Q^\top (L + \eta I)^{-1} Q + \gamma I, \qquad
    k(G, G') = \frac{|(S^{-1} / 2 + S'^{-1} / 2)^{-1}|^{1/2}}{|S|^{1/4} |S'|^{1/4}},

L being the graph Laplacian. At level 0 nodes are alike if their tags (or degrees, without tags) are equal. At level l
they are as alike as the balls of radius l around them, which k compares by the features of level l - 1; and whole
graphs are compared by the features of the last level.

As in the cited work, features are finite vectors by Nyström's method: a node is described by its likeness to a sample
of nodes, the anchors, in the directions in which anchors vary most. Anchors are drawn from the graphs of the task, so
the kernel does not depend on the queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from graphmetric.baselines.kernels import GraphKernel, KernelValues, plain_adjacency
from graphmetric.baselines.method import TrainingTask
from graphmetric.features.weisfeiler_lehman import node_colours
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import Has

Floats = NDArray[np.float64]

_SMALLEST_EIGENVALUE = 1e-9
"""Relative to the largest; directions below are rounding noise."""
_BLOCK = 200_000
"""Determinants computed at a time."""


class Precisions(NamedTuple):
    """Inverse covariances of graphs, or of balls in them."""

    inverse: Floats
    """(items, directions, directions)."""
    log_determinant: Floats
    """(items): the logarithms of the determinants of the inverses."""


class Level(NamedTuple):
    """How the nodes of any graph get their features of one level."""

    anchors: Precisions | None
    """Precisions of the balls around the anchors; None at level 0, where tags are compared."""
    projection: Floats
    """(anchors, directions)."""


@dataclass(eq=False)
class MultiscaleLaplacian(GraphKernel):
    """The kernel; directions, weights and self-loops do not count."""

    levels: int = 2
    """The largest radius of a ball."""
    directions: int = 12
    """The largest number of features of a node at each level."""
    anchors: int = 100
    """Nodes of the graphs of the task to which all others are compared."""
    eta: float = 1.0
    """Regularises the Laplacian."""
    gamma: float = 1.0
    """Regularises the covariance. Small values of either, as used for classification, make almost all graphs equally
    far from each other; these were chosen on validation pairs of AIDS700nef and LINUX."""

    name = "multiscale-laplacian"
    _tags: NDArray[np.int64] | None = field(default=None, init=False, repr=False)
    _by_degree: bool = field(default=False, init=False, repr=False)
    _levels: list[Level] = field(default_factory=list, init=False, repr=False)

    def fit(self, task: TrainingTask) -> Self:
        """Draw the anchors and find their directions, level by level."""
        self._by_degree = not task.graphs.any_has(Has.NODE_LABELS)
        tags = self._node_tags(task.graphs)
        count = min(self.anchors, len(tags))
        chosen = np.sort(np.random.default_rng(task.seed).choice(len(tags), count, replace=False))
        self._tags, self._levels = tags[chosen], []
        kernel = (self._tags[:, None] == self._tags[None, :]).astype(np.float64)
        self._levels.append(Level(None, _leading_directions(kernel, self.directions)))
        for radius in range(1, self.levels + 1):
            balls, place = self._ball_precisions(task.graphs, self._node_features(task.graphs), radius)
            around = Precisions(balls.inverse[place[chosen]], balls.log_determinant[place[chosen]])
            kernel = _overlaps(around, around)
            self._levels.append(Level(around, _leading_directions(kernel, self.directions)))
        return self

    def evaluate(self, queries: GraphCollection, database: GraphCollection) -> KernelValues:
        self.fitted(self._tags)
        left, right = (self._graph_precisions(graphs) for graphs in (queries, database))
        return KernelValues(_overlaps(left, right), np.ones(len(queries)), np.ones(len(database)))

    def _graph_precisions(self, graphs: GraphCollection) -> Precisions:
        features = self._node_features(graphs)
        covariances = [self._covariance(laplacian, features[rows]) for rows, laplacian, _ in _laplacians(graphs)]
        return _invert(covariances, features.shape[1])

    def _node_features(self, graphs: GraphCollection) -> Floats:
        """Features of all nodes at the last level that is fitted so far."""
        alike = (self._node_tags(graphs)[:, None] == self._tags).astype(np.float64)
        features: Floats = alike @ self._levels[0].projection
        for radius, level in enumerate(self._levels[1:], start=1):
            assert level.anchors is not None
            balls, place = self._ball_precisions(graphs, features, radius)
            features = (_overlaps(balls, level.anchors) @ level.projection)[place]
        return features

    def _node_tags(self, graphs: GraphCollection) -> NDArray[np.int64]:
        if not self._by_degree:
            return node_colours(graphs.columns, 0, weights=False).ravel()
        degrees = [np.diag(laplacian) for _, laplacian, _ in _laplacians(graphs)]
        return np.concatenate([*degrees, np.empty(0)]).astype(np.int64)

    def _ball_precisions(
        self, graphs: GraphCollection, features: Floats, radius: int
    ) -> tuple[Precisions, NDArray[np.intp]]:
        """Precisions of the distinct balls around the nodes, and for each node the place of its ball."""
        covariances: list[Floats] = []
        places = [np.empty(0, dtype=np.intp)]
        for rows, laplacian, adjacency in _laplacians(graphs):
            balls, place = np.unique(_within(adjacency, radius), axis=0, return_inverse=True)
            places.append(place.ravel() + len(covariances))
            for ball in balls:
                inside = laplacian[np.ix_(ball, ball)].copy()
                np.fill_diagonal(inside, 0)
                np.fill_diagonal(inside, -inside.sum(axis=1))
                covariances.append(self._covariance(inside, features[rows][ball]))
        return _invert(covariances, features.shape[1]), np.concatenate(places)

    def _covariance(self, laplacian: Floats, features: Floats) -> Floats:
        smoothed = np.linalg.solve(laplacian + self.eta * np.eye(len(laplacian)), features)
        covariance: Floats = features.T @ smoothed + self.gamma * np.eye(features.shape[1])
        return covariance


def _laplacians(graphs: GraphCollection) -> Iterator[tuple[slice, Floats, NDArray[np.bool_]]]:
    """For each graph its rows among all nodes, its Laplacian and its adjacency matrix."""
    start = 0
    for graph in graphs:
        adjacency = plain_adjacency(graph)
        np.fill_diagonal(adjacency, False)
        laplacian = np.diag(adjacency.sum(axis=1)) - adjacency.astype(np.float64)
        yield slice(start, start + graph.num_nodes), laplacian, adjacency
        start += graph.num_nodes


def _within(adjacency: NDArray[np.bool_], radius: int) -> NDArray[np.bool_]:
    """Row v marks the nodes that are at most ``radius`` steps from v."""
    step = adjacency | np.eye(len(adjacency), dtype=np.bool_)
    reached = step
    for _ in range(radius - 1):
        reached = reached @ step
    return reached


def _invert(covariances: list[Floats], directions: int) -> Precisions:
    stacked = np.array(covariances, dtype=np.float64).reshape(-1, directions, directions)
    inverse = np.asarray(np.linalg.inv(stacked), dtype=np.float64)
    return Precisions(inverse, _log_determinants(inverse))


def _overlaps(left: Precisions, right: Precisions) -> Floats:
    """The kernel between all items of one side and of the other."""
    overlaps = np.empty((len(left.inverse), len(right.inverse)))
    rows = max(1, _BLOCK // max(1, len(right.inverse)))
    for start in range(0, len(overlaps), rows):
        block = slice(start, start + rows)
        mean = (left.inverse[block, None] + right.inverse[None]) / 2
        logs = (left.log_determinant[block, None] + right.log_determinant[None]) / 4 - _log_determinants(mean) / 2
        overlaps[block] = np.exp(np.minimum(logs, 0))  # at most 1, but for rounding
    return overlaps


def _log_determinants(matrices: Floats) -> Floats:
    logs: Floats = np.linalg.slogdet(matrices).logabsdet
    return logs


def _leading_directions(kernel: Floats, most: int) -> Floats:
    """Columns that turn likenesses to the anchors into features whose inner products are the kernel."""
    values, vectors = np.linalg.eigh(kernel)
    values, vectors = values[::-1][:most], vectors[:, ::-1][:, :most]
    kept = values > _SMALLEST_EIGENVALUE * max(values.max(initial=0), 1e-300)
    projection: Floats = vectors[:, kept] / np.sqrt(values[kept])
    return projection
