"""Connection weights :math:`w_i = [w(v_i, v_j)]_{v_j}` of Eq. 3, in canonical order, scaled to the training set.

Degrees: the D(v_i) that Eq. 3 embeds, and their weighted form.

Random-walk return probabilities: an input beyond the paper that tells nodes apart which Eq. 1-3 confuse.

Hop distances between the nodes of each graph, for the structural attention bias.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.features._kernels.neighbours import Arcs, fill_hops, find_return_probabilities
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


def return_probabilities(columns: Columns, arcs: Arcs, weights: NDArray[np.float64], steps: int) -> NDArray[np.float32]:
    """(nodes, steps): chances to be back after 1 .. steps; edges by |weight|, arcs in their direction."""
    found: NDArray[np.float32] = find_return_probabilities(columns.node_ptr, arcs, np.abs(weights), steps)
    return found


def hop_buckets(
    node_ptr: NDArray[np.int64], arcs: Arcs, chosen: NDArray[np.int64], size: int, max_hops: int
) -> NDArray[np.int32]:
    """(chosen graphs, size, size): hops, ``max_hops`` for that many or more, ``max_hops + 1`` without a path.

    Directions of arcs are ignored: they reach the encoder through the relation of adjacent nodes.
    """
    dense = np.empty((len(chosen), size, size), dtype=np.int32)
    fill_hops(node_ptr, arcs, chosen, max_hops, dense)
    return dense


_LARGEST = 100.0
"""Scaled weights are cut here, so that one wild weight cannot overflow the encoder."""


class WeightScale:
    """Edge weights in units of the largest training weight.

    Differs from the paper: w enters Eq. 3 as it is there, which ties the encoder to the unit of measurement. Unweighted
    graphs keep w = 1 exactly.
    """

    def __init__(self, largest: float) -> None:
        self._largest = largest

    @classmethod
    def fit(cls, columns: Columns) -> WeightScale:
        """Take the largest absolute weight."""
        weights = columns.edge_weights
        return cls(1.0 if weights is None or len(weights) == 0 else max(float(np.abs(weights).max()), 1e-300))

    def scale(self, columns: Columns) -> NDArray[np.float64]:
        """One weight per edge, 1 in graphs without weights."""
        if columns.edge_weights is None:
            return np.ones(len(columns.edges))
        with np.errstate(over="ignore"):
            scaled = np.clip(columns.edge_weights / self._largest, -_LARGEST, _LARGEST)
        weighted = np.repeat((columns.flags & Has.EDGE_WEIGHTS) != 0, np.diff(columns.edge_ptr))
        return np.where(weighted, scaled, 1.0)

    def to_state(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"largest": self._largest}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> WeightScale:
        """The scale that :meth:`to_state` described."""
        return cls(float(state["largest"]))


def warn_of_cut_columns(columns: Columns, k_max: int) -> bool:
    """Warn, and say so, if any graph has more nodes than w_i has columns.

    Differs from the paper: there a graph beyond the portal size k_max cannot be encoded at all.
    """
    largest = int(np.diff(columns.node_ptr).max(initial=0))
    if largest <= k_max:
        return False
    warnings.warn(
        f"a graph has {largest} nodes, more than k_max={k_max}: the connection weights w_i of Eq. 3 are cut to their "
        "first k_max columns (all other inputs are complete). Train with graphs of this size, or with "
        "neighbourhood=False, to avoid this; said once.",
        stacklevel=4,
    )
    return True
