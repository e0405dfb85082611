r"""Edit distances on the scale of [0, 1].

Section 5.1 of the paper measures against :math:`1 - \exp(-d / \bar{n})`, with :math:`\bar{n}` the mean number of
nodes of the two graphs. It ranks as the benchmarks do, but no theorem makes it a metric.

The Steinhaus form :math:`2d / (d(G, \emptyset) + d(H, \emptyset) + d)` is a metric whenever :math:`d` is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.formats.conversion import as_graphs, is_graph
from graphmetric.formats.values import shortened
from graphmetric.graphs.collection import GraphCollection

Sizes = Any
"""Numbers, one graph, or several graphs in any form that :func:`graphmetric.as_graphs` takes."""
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
    with np.errstate(divide="ignore"):  # two empty graphs: 0 / 0 is 0
        ratio = np.divide(raw, mean_size, out=np.zeros(raw.shape), where=raw != 0)
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
    left, right = (None if given is None else _sizes(given, _edit_weight) for given in (weights, other_weights))
    if np.isinf(raw).any():
        raise InvalidArgument("an infinite distance has no Steinhaus form; leave out pairs without allowed edits")
    left, right = _outer(raw, left, right)
    total = left + right + raw
    return _scalar_like(distance, np.divide(2 * raw, total, out=np.zeros(raw.shape), where=raw != 0))


def _with_mean_size(distance: ArrayLike, sizes: Sizes, others: Sizes | None) -> tuple[NDArray[Any], NDArray[Any]]:
    values = _checked(distance)
    left, right = (None if given is None else _sizes(given, _node_count) for given in (sizes, others))
    left, right = _outer(values, left, right)
    return values, np.broadcast_to((left + right) / 2, values.shape)


def _outer(
    values: NDArray[Any], left: NDArray[Any] | None, right: NDArray[Any] | None
) -> tuple[NDArray[Any], NDArray[Any]]:
    if left is None:
        raise InvalidArgument("distances are put to scale by their graphs: give these, or their sizes")
    if values.ndim < 2:
        if right is None:
            raise InvalidArgument("one distance has two graphs: give the sizes of both")
        if any(side.ndim and side.shape != values.shape for side in (left, right)):
            raise InvalidArgument(
                f"distances of shape {values.shape} need as many sizes; got {left.size} and {right.size}"
            )
        return left, right
    right = left if right is None else right
    if values.shape != (left.size, right.size):
        raise InvalidArgument(f"a matrix of shape {values.shape} needs as many sizes; got {left.size} and {right.size}")
    return left.reshape(-1, 1), right.reshape(1, -1)


def _checked(distance: ArrayLike) -> NDArray[Any]:
    if not _is_numeric(distance):
        raise InvalidArgument(f"distances must be numbers; got {type(distance).__name__} {shortened(distance)}")
    values = np.asarray(distance, dtype=np.float64)
    if (values < 0).any():
        raise InvalidArgument(f"distances are not negative; got {np.nanmin(values):g}")
    return values


def _sizes(given: Sizes, measure: Callable[[GraphCollection], NDArray[Any]]) -> NDArray[Any]:
    """Sizes as a number or a vector, from themselves or from graphs."""
    is_one = not isinstance(given, np.ndarray) and is_graph(given)  # an array holds sizes
    if is_one or isinstance(given, GraphCollection) or not _is_numeric(given):
        sizes = measure(as_graphs(given)).astype(np.float64)
        return sizes.reshape(()) if is_one else sizes
    sizes = np.asarray(given, dtype=np.float64)
    if sizes.ndim > 1 or not (sizes >= 0).all():
        raise InvalidArgument(
            f"sizes must be numbers that are not negative, one for each graph; got {shortened(given)}"
        )
    return sizes


def _is_numeric(given: Any) -> bool:
    """Whether these are numbers in any arrangement, and not graphs."""
    try:
        return not isinstance(given, str | bytes) and np.asarray(given).dtype.kind in "biuf"
    except (TypeError, ValueError, KeyError, RuntimeError):
        return False


def _node_count(graphs: GraphCollection) -> NDArray[Any]:
    return graphs.sizes


def _edit_weight(graphs: GraphCollection) -> NDArray[Any]:
    return graphs.sizes + graphs.edge_counts


def _scalar_like(given: ArrayLike, values: NDArray[Any]) -> Any:
    return values if np.ndim(given) else float(values)
