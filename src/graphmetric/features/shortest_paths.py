"""Hop distances between the nodes of each graph, for the structural attention bias."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphmetric.features._kernels.arcs import Arcs
from graphmetric.features._kernels.pairs import fill_hops


def hop_buckets(
    node_ptr: NDArray[np.int64], arcs: Arcs, chosen: NDArray[np.int64], size: int, max_hops: int
) -> NDArray[np.int32]:
    """(chosen graphs, size, size): hops, ``max_hops`` for that many or more, ``max_hops + 1`` without a path.

    Directions of arcs are ignored: they reach the encoder through the relation of adjacent nodes.
    """
    dense = np.empty((len(chosen), size, size), dtype=np.int32)
    fill_hops(node_ptr, arcs, chosen, max_hops, dense)
    return dense
