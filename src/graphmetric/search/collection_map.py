"""A map of a collection: its graphs as points in the plane, in clusters, and the place of a new graph among them.

The plane shows the vectors by which the model finds near graphs. Without a model these are counts: the fraction of each
frequent node label, of each degree, and the numbers of nodes and edges. Principal components are computed at once and
keep the large distances; t-SNE keeps neighbors together and takes a few milliseconds per graph, so it is computed on
demand (:meth:`graphmetric.GraphIndex.build_map`) and stored with the index.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.progress import lasting
from graphmetric.errors import InvalidArgument, needs_extra
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import spelling
from graphmetric.index.open_index import Points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from graphmetric.search.graph_index import GraphIndex

Floats = NDArray[np.float64]
MapMethod = Literal["pca", "tsne"]

MOST_POINTS = 100_000
"""Points of a map; of a larger collection an even choice is shown."""
_CLUSTERS, _ROUNDS, _DIMENSIONS = 8, 25, 10
_LABELS, _DEGREES = 24, 8
_SAMPLE = 20_000
"""Graphs from which the plane and the clusters are made, and that t-SNE lays out itself."""
_PERPLEXITY = 30.0
_NEIGHBOURS = 5
"""A graph that was not laid out lies among this many of its nearest."""
_FEWEST = 8
"""Graphs that t-SNE needs."""
_COLORS = 10
"""Different values that get a colour each; more numbers are a scale, and other values are grey."""
_GREY = "#969ca8"


@dataclass(frozen=True, slots=True, eq=False)
class CollectionMap:
    """Points of graphs, and how to place others."""

    method: MapMethod
    kind: str
    """Kind of vectors that the points are computed from."""
    positions: NDArray[np.int64]
    """The places of the graphs of the points among all graphs of the index."""
    points: Floats
    """(points, 2)"""
    clusters: NDArray[np.int64]
    """The number of each point's cluster; the largest cluster is 0."""
    explained: float | None
    """The share of the variance that the plane shows; None for t-SNE, which keeps neighbourhoods instead."""
    placed: int
    """The number of points that were not laid out with the others but put among their nearest, such as those of graphs
    that were added later."""
    vectors_of: Callable[[Graph], Floats]
    locate: Callable[[Floats], Floats]
    """(n, width) -> (n, 2): the places of vectors."""

    def place(self, graph: Graph) -> tuple[float, float]:
        """Return the location of a graph on the map, in the collection or not."""
        x, y = self.locate(self.vectors_of(graph)[None])[0].tolist()
        return x, y

    def __repr__(self) -> str:
        return f"CollectionMap({len(self.points):,} points by {self.method} of {self.kind})"


def make_map(index: GraphIndex, stored: Points | None = None) -> CollectionMap:
    """The map of an index, by principal components, or with the points that are stored for its graphs."""
    vectors, kind, vectors_of = _describe(index)
    positions = np.arange(len(vectors))
    if len(vectors) > MOST_POINTS:
        positions = np.linspace(0, len(vectors) - 1, MOST_POINTS).astype(np.int64)
    chosen = vectors[positions]
    mean, axes, explained = _principal_axes(chosen)
    seen = (chosen - mean) @ axes.T
    shared = (kind, positions)
    if stored is None:
        located = seen[:, :2]
        return CollectionMap(
            "pca", *shared, located, _cluster(seen), explained, 0, vectors_of, lambda rows: (rows - mean) @ axes[:2].T
        )
    points = stored[positions].astype(np.float64)
    missing = np.isnan(points).any(axis=1)
    known_vectors, known_points = chosen[~missing], points[~missing]

    def locate(rows: Floats) -> Floats:
        return _among_nearest(rows, known_vectors, known_points)

    points[missing] = locate(chosen[missing])
    placed = int(missing.sum())
    return CollectionMap("tsne", *shared, points, _cluster(seen), None, placed, vectors_of, locate)


def lay_out_by_neighbours(index: GraphIndex) -> Points:
    """The points of all graphs of an index by t-SNE; of more than 20,000 graphs, an even choice lays out the others."""
    with needs_extra("learn", "a map by t-SNE"):
        from sklearn.manifold import TSNE
        from threadpoolctl import threadpool_limits  # scikit-learn brings it
    vectors = _describe(index)[0]
    if len(vectors) < _FEWEST:
        raise InvalidArgument(f"a map by t-SNE needs {_FEWEST} graphs or more, and the index has {len(vectors)}")
    every = max(1, -(-len(vectors) // _SAMPLE))
    mean, axes, _ = _principal_axes(vectors[::every])
    start = (vectors[::every] - mean) @ axes[:2].T
    # What scikit-learn does by itself with init="pca"; given as an array, nothing is left to chance.
    start *= 1e-4 / (start[:, 0].std() or 1.0)
    perplexity = min(_PERPLEXITY, (len(start) - 1) / 3)
    # Beside other work, its threads wait for each other and cost ten times as much.
    with lasting(f"laying out {len(start):,} graphs"), threadpool_limits(1):
        made = TSNE(perplexity=perplexity, init=start).fit_transform(vectors[::every])
    points = np.full((len(vectors), 2), np.nan, dtype=np.float32)
    points[::every] = made
    return points


def plot_map(
    index: GraphIndex, color: str | Any = "cluster", *, query: Any = None, ax: Axes | None = None, **options: Any
) -> Axes:
    """Plot the map of an index with matplotlib: its stored map, or principal components.

    Args:
        index: The index; :meth:`graphmetric.GraphIndex.build_map` lays it out by t-SNE.
        color: What the colours show: ``"cluster"``, ``"num_nodes"``, ``"num_edges"``, a key of the metadata, or a value
            for each graph of the index.
        query: A graph in any form that the index takes, or an id, to mark on the map.
        ax: The axes to draw on; new ones by default.
        options: Passed on to matplotlib's ``scatter``.

    Returns:
        The axes. Nothing is shown: a notebook does that by itself, a script calls ``plt.show()`` or saves the figure.
    """
    with needs_extra("plot", "a plot of the map"):
        import matplotlib.pyplot as plt
    found = index.map()
    name, values = _values_of(index, found, color)
    if ax is None:
        ax = plt.subplots(figsize=(7.5, 5.5), layout="constrained")[1]
    style: dict[str, Any] = {"s": 9 if len(values) > 2000 else 18, "linewidths": 0, "alpha": 0.85}
    x, y = found.points.T
    numbers = np.array([v if isinstance(v, int | float | np.number) else np.nan for v in values], dtype=np.float64)
    if len(set(map(str, values))) > _COLORS and np.isfinite(numbers).mean() >= 0.9:
        style |= {"c": numbers, "cmap": "viridis", "plotnonfinite": True}
        drawn = ax.scatter(x, y, **style | options)
        ax.get_figure(root=True).colorbar(drawn, ax=ax, label=name)  # type: ignore[union-attr]
    else:
        for label, chosen, place in _classes(values):
            style |= {"color": _GREY if place is None else plt.colormaps["tab10"](place), "label": label}
            ax.scatter(x[chosen], y[chosen], **style | options)
        ax.legend(
            title=name, frameon=False, fontsize="small", markerscale=1.6, loc="center left", bbox_to_anchor=(1, 0.5)
        )
    if query is not None:
        graph = index.resolve(query)
        ax.scatter(*found.place(graph), marker="*", s=220, color="#ffb31a", edgecolors="black", zorder=3)
    shown = "t-SNE" if found.method == "tsne" else f"{found.explained:.0%} of the variance"
    ax.set(xticks=[], yticks=[], title=f"{len(index):,} graphs by {found.kind} ({shown})")
    ax.set_aspect("equal", adjustable="datalim")
    return ax


def _values_of(index: GraphIndex, found: CollectionMap, color: str | Any) -> tuple[str, list[Any]]:
    """Return the name and the values of the colors of a plot."""
    if not isinstance(color, str):
        given = list(color)
        if len(given) != len(index):
            raise InvalidArgument(f"color has {len(given):,} values; the index has {len(index):,} graphs")
        return "", [given[k] for k in found.positions]
    if color == "cluster":
        return color, [int(number) + 1 for number in found.clusters]
    if color in ("num_nodes", "num_edges"):
        graphs = index.graphs
        counts = graphs.sizes if color == "num_nodes" else graphs.edge_counts
        return color.replace("num_", "number of "), counts[found.positions].tolist()
    metadata: list[Mapping[str, Any]] = index.metadata
    if not any(color in facts for facts in metadata):
        keys = sorted({key for facts in metadata for key in facts})
        there = ", ".join(["cluster", "num_nodes", "num_edges", *map(str, keys[:20])])
        raise InvalidArgument(f"no graph has metadata {color!r} to colour by; there are: {there}")
    return color, [metadata[k].get(color) for k in found.positions]


def _classes(values: list[Any]) -> list[tuple[str, NDArray[np.int64], int | None]]:
    """The frequent values with their points and numbers, then all others, whose number is None."""
    members: dict[str, list[int]] = {}
    for place, value in enumerate(values):
        name = "none" if value is None else str(value)
        members.setdefault(f" {name}" if name.startswith("_") else name, []).append(place)  # a legend leaves out _names
    frequent = sorted(members, key=lambda name: -len(members[name]))[:_COLORS]
    names = sorted(frequent, key=lambda name: (len(name), name))
    found: list[tuple[str, NDArray[np.int64], int | None]] = [
        (name, np.array(members[name]), place) for place, name in enumerate(names)
    ]
    others = [place for name in members if name not in frequent for place in members[name]]
    return [*found, ("others", np.array(others), None)] if others else found


def _describe(index: GraphIndex) -> tuple[Floats, str, Callable[[Graph], Floats]]:
    """A vector for each graph, what the vectors are, and the vector of another graph."""
    if index.model is not None and len(index):
        vectors = index.vectors().astype(np.float64)
        return vectors, "vectors of the model", lambda graph: np.asarray(index.vectors(graph)[0], dtype=np.float64)
    graphs = index.graphs
    labels = _frequent_labels(graphs)
    kind = "counts of labels and degrees"
    return _count(graphs, labels), kind, lambda graph: np.asarray(_count(GraphCollection([graph]), labels)[0])


def _principal_axes(vectors: Floats) -> tuple[Floats, Floats, float]:
    """The mean, the first principal axes (two at least), and the share of the variance that the first two show."""
    sample = vectors[:: max(1, len(vectors) // _SAMPLE)]
    mean = sample.mean(axis=0) if len(sample) else np.zeros(vectors.shape[1])
    _, sizes, axes = np.linalg.svd(sample - mean, full_matrices=False)
    axes = np.vstack([axes, np.zeros((2, vectors.shape[1]))])[: max(2, min(len(axes), _DIMENSIONS))]
    axes *= np.where(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    variance = sizes**2
    return mean, axes, float(variance[:2].sum() / variance.sum()) if variance.sum() > 0 else 1.0


def _among_nearest(rows: Floats, vectors: Floats, points: Floats) -> Floats:
    """(rows, 2): the mean of the points of the nearest vectors, near ones counting more; an equal one counts alone."""
    places = np.zeros((len(rows), 2))
    for k, row in enumerate(rows):
        gaps = ((vectors - row) ** 2).sum(axis=1)
        near = np.argpartition(gaps, min(_NEIGHBOURS, len(gaps)) - 1)[:_NEIGHBOURS]
        if (least := gaps[near].min()) == 0:
            near = near[gaps[near] == 0][:1]
        weights = np.ones(len(near)) if least == 0 else least / gaps[near]
        places[k] = weights @ points[near] / weights.sum()
    return places


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
