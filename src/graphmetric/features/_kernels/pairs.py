"""What lies between two nodes, as dense matrices of the graphs of one batch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import counted_entry
from graphmetric.features._kernels.arcs import Arcs, Edges


@counted_entry
def fill_rows(node_ptr: NDArray[np.int64], chosen: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
    """rows[b, i] = node row of node i of the b-th chosen graph, 0 beyond its size."""
    for b in range(len(chosen)):
        begin = node_ptr[chosen[b]]
        size = node_ptr[chosen[b] + 1] - begin
        for i in range(rows.shape[1]):
            rows[b, i] = begin + i if i < size else 0


@counted_entry
def fill_edges(edges: Edges, value: NDArray[Any], chosen: NDArray[np.int64], dense: NDArray[Any]) -> None:
    """dense[b, i, j] = value of the edge from i to j; ``dense`` is zero before."""
    for b in range(len(chosen)):
        g = chosen[b]
        for e in range(edges.edge_ptr[g], edges.edge_ptr[g + 1]):
            u, v = edges.ends[e, 0], edges.ends[e, 1]
            dense[b, u, v] = value[e]
            if not edges.directed[g]:
                dense[b, v, u] = value[e]


@counted_entry
def fill_hops(
    node_ptr: NDArray[np.int64], arcs: Arcs, chosen: NDArray[np.int64], max_hops: int, dense: NDArray[np.int32]
) -> None:
    """dense[b, i, j] = bucket of the hop distance, direction ignored: breadth-first from every node.

    Hops of ``max_hops`` and more share a bucket, pairs without a path have bucket ``max_hops + 1``.
    """
    dense[:] = max_hops + 1
    queue = np.empty(dense.shape[1], np.int64)
    for b in range(len(chosen)):
        first = node_ptr[chosen[b]]
        for start in range(node_ptr[chosen[b] + 1] - first):
            hops = dense[b, start]
            hops[start] = 0
            queue[0] = start
            head, tail = 0, 1
            while head < tail:
                v = queue[head]
                head += 1
                bucket = min(hops[v] + 1, max_hops)
                for a in range(arcs.ptr[first + v], arcs.ptr[first + v + 1]):
                    u = arcs.node[a] - first
                    if hops[u] > max_hops:
                        hops[u] = bucket
                        queue[tail] = u
                        tail += 1
