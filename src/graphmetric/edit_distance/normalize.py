r"""Edit distances on the scale of [0, 1].

Section 5.1 of the paper measures against :math:`1 - \exp(-d / \bar{n})`, with :math:`\bar{n}` the mean number of
nodes of the two graphs. It ranks as the benchmarks do, but no theorem makes it a metric.

The Steinhaus form :math:`2d / (d(G, \emptyset) + d(H, \emptyset) + d)` is a metric whenever :math:`d` is.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph

Sizes = ArrayLike | Graph | GraphCollection
View = Literal["raw", "steinhaus", "paper"]
"""The scale on which distances are shown and ranked: edits, the Steinhaus form, or the paper's."""


def normalized_distance(distance: ArrayLike, sizes: Sizes, other_sizes: Sizes | None = None) -> Any:
    r"""The paper's :math:`1 - \exp(-d / ((n_1 + n_2) / 2))`, in [0, 1).

    ``sizes`` are numbers of nodes, or graphs that have them. With a matrix of distances they belong to its rows and
    ``other_sizes`` to its columns (the same graphs when left out); with one distance they are its two graphs.

    Example:
        >>> round(normalized_distance(3, 5, 7), 4)
        0.3935
        >>> normalized_distance([[0, 2], [2, 0]], [2, 2]).round(4).tolist()
        [[0.0, 0.6321], [0.6321, 0.0]]
    """
    raw, mean_size = _with_mean_size(distance, sizes, other_sizes)
    ratio = np.divide(raw, mean_size, out=np.zeros(raw.shape), where=raw != 0)  # two empty graphs: 0 / 0 is 0
    return _scalar_like(distance, -np.expm1(-ratio))


def raw_distance(normalized: ArrayLike, sizes: Sizes, other_sizes: Sizes | None = None) -> Any:
    """The inverse of :func:`normalized_distance`.

    Example:
        >>> round(raw_distance(normalized_distance(3, 5, 7), 5, 7), 12)
        3.0
    """
    scaled, mean_size = _with_mean_size(normalized, sizes, other_sizes)
    if ((scaled < 0) | (scaled >= 1)).any():
        raise InvalidArgument(f"normalized distances lie in [0, 1); got {np.min(scaled):g} .. {np.max(scaled):g}")
    return _scalar_like(normalized, -np.log1p(-scaled) * mean_size)


def steinhaus_distance(distance: ArrayLike, weights: Sizes, other_weights: Sizes | None = None) -> Any:
    r"""The Steinhaus form :math:`2d / (d(G, \emptyset) + d(H, \emptyset) + d)`: a metric in [0, 1] whenever d is one.

    ``weights`` are the distances to the empty graph; from graphs they are taken as \|V\| + \|E\|, right for unit costs.

    Example:
        >>> steinhaus_distance(9, 4, 5)
        1.0
    """
    raw = _checked(distance)
    if np.isinf(raw).any():
        raise InvalidArgument("an infinite distance has no Steinhaus form; leave out pairs without allowed edits")
    left, right = _outer(raw, _edit_weight(weights), None if other_weights is None else _edit_weight(other_weights))
    total = left + right + raw
    return _scalar_like(distance, np.divide(2 * raw, total, out=np.zeros(raw.shape), where=raw != 0))


def _with_mean_size(distance: ArrayLike, sizes: Sizes, others: Sizes | None) -> tuple[NDArray[Any], NDArray[Any]]:
    values = _checked(distance)
    left, right = _outer(values, _node_count(sizes), None if others is None else _node_count(others))
    return values, np.broadcast_to((left + right) / 2, values.shape)


def _outer(values: NDArray[Any], left: NDArray[Any], right: NDArray[Any] | None) -> tuple[NDArray[Any], NDArray[Any]]:
    if values.ndim < 2:
        if right is None:
            raise InvalidArgument("one distance has two graphs: give the sizes of both")
        return left, right
    right = left if right is None else right
    if values.shape != (left.size, right.size):
        raise InvalidArgument(f"a matrix of shape {values.shape} needs as many sizes; got {left.size} and {right.size}")
    return left.reshape(-1, 1), right.reshape(1, -1)


def _checked(distance: ArrayLike) -> NDArray[Any]:
    values = np.asarray(distance, dtype=np.float64)
    if (values < 0).any():
        raise InvalidArgument(f"distances are not negative; got {np.nanmin(values):g}")
    return values


def _node_count(sizes: Sizes) -> NDArray[Any]:
    if isinstance(sizes, Graph):
        return np.float64(sizes.num_nodes)  # type: ignore[return-value]
    return np.asarray(sizes.sizes if isinstance(sizes, GraphCollection) else sizes, dtype=np.float64)


def _edit_weight(weights: Sizes) -> NDArray[Any]:
    if isinstance(weights, Graph):
        return np.float64(weights.num_nodes + weights.num_edges)  # type: ignore[return-value]
    if isinstance(weights, GraphCollection):
        return np.asarray(weights.sizes + weights.edge_counts, dtype=np.float64)
    return np.asarray(weights, dtype=np.float64)


def _scalar_like(given: ArrayLike, values: NDArray[Any]) -> Any:
    return values if np.ndim(given) else float(values)
