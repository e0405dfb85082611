"""Checks and small conversions that every column of a graph goes through."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidGraph

AnyArray = TypeVar("AnyArray", bound=np.ndarray)

MAX_NODES = 2**31 - 1
"""Node numbers are 32-bit."""


class Adjacency(NamedTuple):
    """Compressed rows: the neighbours of node v are ``indices[indptr[v]:indptr[v + 1]]``, ascending."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    edge: NDArray[np.int64]
    """Which row of ``Graph.edges`` each entry comes from."""


def read_only(array: AnyArray) -> AnyArray:
    """The same array, marked so that writing to it fails."""
    array.flags.writeable = False
    return array


def as_kernel_type(array: NDArray[Any]) -> NDArray[Any]:
    """A read-only view: writable or not is part of numba's types, and each combination would be compiled anew."""
    return read_only(np.ascontiguousarray(array).view())


def edge_array(edges: object) -> NDArray[np.int64]:
    """Edges given as pairs, as an (m, 2) array; raises :class:`InvalidGraph` for anything else."""
    given = edges if isinstance(edges, np.ndarray) else list(edges)  # type: ignore[call-overload]
    try:
        array = np.asarray(given)
    except (ValueError, OverflowError):
        raise InvalidGraph("edges must be pairs of node numbers; some have another length") from None
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidGraph(f"edges must be pairs of node numbers, shape (m, 2); got shape {array.shape}")
    if array.dtype.kind not in "iu":
        wrong = next((tuple(pair) for pair in given if not all(_is_integer(end) for end in pair)), given[0])
        raise InvalidGraph(f"edge {wrong!r} is not a pair of integers; number the nodes 0..n-1 first")
    if array.dtype == np.uint64 and array.max() > MAX_NODES:
        raise InvalidGraph(f"node {array.max()} is beyond the largest node number {MAX_NODES}")
    return array.astype(np.int64)


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)


def weight_array(weights: ArrayLike, edges: NDArray[Any]) -> NDArray[np.float64]:
    """One finite, non-zero weight per edge."""
    array = _number_array("edge_weights", weights)
    check_length("edge_weights", array, len(edges), "edges")
    if array.ndim != 1:
        raise InvalidGraph(f"edge_weights must be one number per edge; got shape {array.shape}")
    bad = np.flatnonzero(~np.isfinite(array) | (array == 0))
    if len(bad):
        u, v = edges[bad[0]]
        raise InvalidGraph(
            f"edge ({u}, {v}) has weight {array[bad[0]]:g}; weights are finite and not 0 "
            "(w = 0 means that there is no edge: leave it out)"
        )
    return array


def _number_array(column: str, values: ArrayLike) -> NDArray[np.float64]:
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iufb" and array.size:
            array = np.asarray(values, dtype=object)  # text is refused, though numpy would parse it
            if any(isinstance(value, str | bytes) for value in array.ravel()):
                raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidGraph(f"{column} must be numbers, rows of equal length") from None


def feature_array(features: ArrayLike, num_nodes: int) -> NDArray[np.float64]:
    """One vector of finite numbers per node."""
    array = _number_array("node_features", features)
    if array.size == 0 and array.ndim < 2:
        array = array.reshape(0, 0)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2:
        raise InvalidGraph(f"node_features must have shape (nodes, d); got {array.shape}")
    check_length("node_features", array, num_nodes, "nodes")
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        row, column = bad[0]
        raise InvalidGraph(f"node_features[{row}, {column}] is {array[row, column]}; features are finite numbers")
    return array


def image_array(images: ArrayLike, num_nodes: int) -> NDArray[Any]:
    """One image per node: (nodes, height, width, channels), bytes or 32-bit floats."""
    try:
        array = np.array(images)
    except ValueError:
        raise InvalidGraph("node_images must all have one shape (height, width) or (height, width, channels)") from None
    if array.ndim == 3:
        array = array[..., None]
    if array.ndim != 4:
        raise InvalidGraph(f"node_images must have shape (nodes, height, width[, channels]); got {array.shape}")
    check_length("node_images", array, num_nodes, "nodes")
    if array.dtype == np.uint8:
        return array
    if array.dtype.kind != "f":
        raise InvalidGraph(f"node_images must be uint8 (0..255) or floats; got {array.dtype}")
    if not np.isfinite(array).all():
        raise InvalidGraph("node_images contains values that are not finite")
    return array.astype(np.float32)


def check_length(column: str, values: Any, expected: int, what: str) -> None:
    """Raise unless the column has one entry per node or edge."""
    length = len(values) if np.ndim(values) else 0
    if length != expected:
        raise InvalidGraph(f"{column} has {length} entries; the graph has {expected} {what}")


def compressed_rows(num_nodes: int, sources: NDArray[Any], targets: NDArray[Any], edge: NDArray[Any]) -> Adjacency:
    """Sort arcs by source, then target."""
    order = np.lexsort((targets, sources))
    indptr = np.zeros(num_nodes + 1, dtype=np.int64)
    np.cumsum(np.bincount(sources, minlength=num_nodes), out=indptr[1:])
    return Adjacency(read_only(indptr), read_only(targets[order].astype(np.int32)), read_only(edge[order]))
