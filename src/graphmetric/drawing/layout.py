"""Positions of nodes on paper; the same graph always gets the same picture.

Distances on paper are made similar to the numbers of steps between nodes (stress majorization), which shows rings
as rings and grids as grids. Then nodes that came too close are pushed apart, so that no two discs overlap.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy  # whose parts are imported when they are first used
from numpy.typing import NDArray

from graphmetric.graphs.graph import Graph

Positions = NDArray[np.float64]
Floats = NDArray[np.float64]

CLEARANCE = 0.66
"""No two nodes are nearer than this, in units of the length of an edge; a node's diameter is less."""

_LARGEST_BY_STRESS = 400
"""Components of up to this many nodes are placed by the distances of all pairs, larger ones by those to some nodes."""
_PIVOTS = 60
_MOST_ITERATIONS = 150
_SETTLED = 2e-4  # edge lengths; the layout is done when no node moves further than this
_PUSHES = 300
_TRIALS, _FEWER_TRIALS = 8, 2
"""Layouts that are tried, of which the best is kept; fewer above ``_MANY_NODES``, where each takes longer."""
_MANY_NODES = 120
_TURN = 0.5
_FREE_DEGREE, _ROOM = 5.0, 0.75
_CROWDED = 0.6  # share of all possible edges; above it, nodes are put on a circle
_GOLDEN_ANGLE = math.pi * (3.0 - math.sqrt(5.0))
_ASPECT = 1.7  # width of a picture of many components, as a multiple of its height


def lay_out(graph: Graph) -> Positions:
    """Positions with neighbors about one unit apart, from the origin on, each component wider than tall.

    No two nodes are nearer than ``CLEARANCE``.
    """
    ends = graph.edges[graph.edges[:, 0] != graph.edges[:, 1]]
    n = graph.num_nodes
    links = scipy.sparse.csr_array((np.ones(2 * len(ends)), np.concatenate([ends, ends[:, ::-1]]).T), shape=(n, n))
    _, component = scipy.sparse.csgraph.connected_components(links, directed=False)
    groups = [np.flatnonzero(component == c) for c in range(component.max(initial=-1) + 1)]
    groups.sort(key=lambda nodes: (-len(nodes), nodes[0]))
    placed = [_lay_flat(_spread(_component_layout(links[nodes][:, nodes]))) for nodes in groups]
    positions = np.zeros((n, 2))
    for nodes, points, corner in zip(groups, placed, _pack(placed), strict=True):
        positions[nodes] = points + corner
    return positions


def _component_layout(links: scipy.sparse.csr_array) -> Positions:
    n = links.shape[0]
    if n == 1:
        return np.zeros((1, 2))
    if links.nnz > _CROWDED * n * (n - 1):
        return _circle(n)
    if n > _LARGEST_BY_STRESS:
        return _place_by_pivots(links)
    lengths = _edge_lengths(links)
    paths = scipy.sparse.csgraph.shortest_path(lengths, method="D")
    majorizer = _Majorizer(paths)
    return min(map(majorizer.settle, _starts(paths)), key=majorizer.stress)


def _edge_lengths(links: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Longer edges at nodes of many neighbors, which need room around them."""
    degree = np.diff(links.indptr)
    rows, columns = links.nonzero()
    most = np.maximum(degree[rows], degree[columns])
    return scipy.sparse.csr_array((np.maximum(1.0, (most / _FREE_DEGREE) ** _ROOM), (rows, columns)), shape=links.shape)


def _starts(paths: Floats) -> Iterator[Positions]:
    """Classical scaling of the lengths of paths, seen from several sides.

    From the front, a ring at the end of a chain may be seen edge-on, and from there it would settle with a twist; more
    axes of the scaling, added in different ways, turn it.
    """
    n = len(paths)
    squares = paths**2
    means = squares.mean(axis=0)
    _, vectors = np.linalg.eigh(-(squares - means - means[:, None] + means.mean()) / 2)
    axes = vectors[:, ::-1][:, :8] * (paths.max() / 2)
    axes = np.pad(axes, ((0, 0), (0, 8 - axes.shape[1])))
    axes /= np.maximum(np.abs(vectors[:, ::-1][:, :8]).max(axis=0, initial=1e-9), 1e-9).max()
    flat, rest = axes[:, :2], axes[:, 2:]
    yield flat + 0.05 * _spiral(n) * paths.max() / 2
    for k in range((_TRIALS if n <= _MANY_NODES else _FEWER_TRIALS) - 1):
        yield flat + _TURN * rest @ _directions(_GOLDEN_ANGLE * (k + 1) * np.arange(1, 7))


def _circle(n: int) -> Positions:
    """All nodes on a circle, for dense graphs, where edges cannot be told apart anyway."""
    return _directions(2 * math.pi * np.arange(n) / n) * max(0.5, 0.5 / math.sin(math.pi / max(n, 2)))


def _spiral(n: int) -> Positions:
    """Points spread evenly over the unit disc."""
    k = np.arange(n)
    return np.sqrt((k + 0.5) / n)[:, None] * _directions(k * _GOLDEN_ANGLE)


def _directions(angles: NDArray[np.floating[Any]]) -> Positions:
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


class _Majorizer:
    """Lowers the stress, the sum of ((distance on paper - length) / length)^2, by majorization (Gansner 2004)."""

    def __init__(self, paths: Floats) -> None:
        n = len(paths)
        weight = 1.0 / np.maximum(paths, 1.0) ** 2
        np.fill_diagonal(weight, 0.0)
        laplacian = np.diag(weight.sum(axis=0)) - weight
        self._inverse: Any = np.linalg.inv(laplacian + 1.0 / n) - 1.0 / n  # on layouts without a common shift
        self._pull = weight * paths
        self._lengths = scipy.spatial.distance.squareform(paths, checks=False)

    def settle(self, positions: Positions) -> Positions:
        """Positions from which no step leads much further down."""
        for _ in range(_MOST_ITERATIONS):
            apart = np.hypot(*(column[:, None] - column for column in positions.T))
            np.fill_diagonal(apart, 1.0)
            ratio = self._pull / np.maximum(apart, 1e-9)
            forces = ratio.sum(axis=1)[:, None] * positions - _product(ratio, positions)
            moved = _product(self._inverse, forces)
            change = np.abs(moved - positions).max()
            positions = moved
            if change < _SETTLED:
                break
        return positions

    def stress(self, positions: Positions) -> float:
        """The relative squared differences between lengths of paths and distances on paper, summed up."""
        return float(((scipy.spatial.distance.pdist(positions) / self._lengths - 1) ** 2).sum())


def _product(matrix: Floats, columns: Positions) -> Positions:
    """A product by numpy alone: for two columns, the threads of a BLAS cost more than they save."""
    return np.stack([(matrix * column).sum(axis=1) for column in columns.T], axis=1)


def _place_by_pivots(links: scipy.sparse.csr_array) -> Positions:
    """Large components are scaled by the distances to some nodes that are far from each other (Brandes and Pich)."""
    n = links.shape[0]
    nearest = np.full(n, np.inf)
    rows, pivot = [], 0
    for _ in range(min(_PIVOTS, n)):
        row = scipy.sparse.csgraph.dijkstra(links, indices=[pivot], unweighted=True)[0]
        rows.append(row)
        nearest = np.minimum(nearest, row)
        pivot = int(nearest.argmax())
    squares = np.array(rows) ** 2
    centred = squares - squares.mean(axis=1)[:, None] - squares.mean(axis=0) + squares.mean()
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    flat = axes[:2].T
    lengths = np.linalg.norm(np.diff(flat[np.stack(links.nonzero(), axis=1)], axis=1), axis=-1)
    return flat / max(float(lengths.mean()), 1e-9) + 0.05 * _spiral(n)


def _spread(positions: Positions) -> Positions:
    """Push nodes that are too near each other apart; if some still are in the end, make everything larger."""
    moved = positions.copy()
    for _ in range(_PUSHES):
        pairs = scipy.spatial.cKDTree(moved).query_pairs(CLEARANCE, output_type="ndarray")
        if not len(pairs):
            return moved
        between = moved[pairs[:, 0]] - moved[pairs[:, 1]]
        apart = np.hypot(*between.T)
        towards = between / np.maximum(apart, 1e-6)[:, None]
        anywhere = _directions(pairs @ (_GOLDEN_ANGLE, 1.0))
        push = 0.55 * (1.02 * CLEARANCE - apart)[:, None] * np.where(apart[:, None] > 1e-6, towards, anywhere)
        np.add.at(moved, pairs[:, 0], push)
        np.add.at(moved, pairs[:, 1], -push)
    return np.asarray(moved * (1.01 * CLEARANCE / max(float(nearest_distances(moved).min()), 1e-3)))


def nearest_distances(positions: Positions) -> Floats:
    """Return the distance from each of two or more nodes to the nearest other node."""
    return np.asarray(scipy.spatial.cKDTree(positions).query(positions, k=2)[0])[:, 1]


def _lay_flat(positions: Positions) -> Positions:
    """Turn the longest extent to the horizontal and move the corner to the origin."""
    centered = positions - positions.mean(axis=0)
    _, _, axes = np.linalg.svd(centered, full_matrices=False)
    if len(axes) == 2 and len(positions) > 2:
        axes *= np.sign(axes[np.arange(2), np.abs(axes).argmax(axis=1)])[:, None]  # the sign of an axis is arbitrary
        centered = centered @ axes.T
    return np.asarray(centered - centered.min(axis=0))


def _pack(parts: list[Positions]) -> list[Positions]:
    """Corners of the components, in rows from left to right that make a picture wider than tall."""
    boxes = [part.max(axis=0) + 1.0 for part in parts]
    widest = max(math.sqrt(_ASPECT * sum(float(box.prod()) for box in boxes)), *(float(box[0]) for box in boxes), 0.0)
    corners, left, top, height = [], 0.0, 0.0, 0.0
    for width, tall in (box.tolist() for box in boxes):
        if left and left + width > widest + 1e-9:
            left, top, height = 0.0, top + height, 0.0
        corners.append(np.array([left, top]))
        left, height = left + width, max(height, tall)
    return corners
