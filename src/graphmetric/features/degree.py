"""Degrees: the D(v_i) that Eq. 3 embeds, and their weighted form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.graphs.columns import Columns, Has


def count_degrees(columns: Columns) -> NDArray[np.int32]:
    """(nodes, 2): edges that leave and that enter each node; where undirected both are the degree.

    An undirected self-loop counts twice, a directed one once each way.
    """
    return _sum_at_ends(columns, None).astype(np.int32)


def sum_weights(columns: Columns, weights: NDArray[np.float64]) -> NDArray[np.float32]:
    """(nodes, 2): the same with each edge counted by its weight, given by edge row, and compressed.

    Sums grow with the degree without bound, so sign(s) log(1 + |s|) is what the encoder sees.
    """
    sums = _sum_at_ends(columns, weights)
    compressed: NDArray[np.float64] = np.sign(sums) * np.log1p(np.abs(sums))
    return compressed.astype(np.float32)


def _sum_at_ends(columns: Columns, weights: NDArray[np.float64] | None) -> NDArray[Any]:
    num_nodes, counts = int(columns.node_ptr[-1]), np.diff(columns.edge_ptr)
    first_node = np.repeat(columns.node_ptr[:-1], counts)
    leaving, entering = (
        np.bincount(columns.edges[:, end] + first_node, weights, minlength=num_nodes) for end in (0, 1)
    )
    undirected = np.repeat((columns.flags & Has.DIRECTION) == 0, np.diff(columns.node_ptr))
    both = np.where(undirected, leaving + entering, 0)
    return np.stack([np.where(undirected, both, leaving), np.where(undirected, both, entering)], axis=1)
