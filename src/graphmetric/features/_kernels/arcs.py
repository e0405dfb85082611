"""Who is next to whom: one compressed row per node of a collection."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import counted_entry

UNDIRECTED, OUT, IN = 0, 1, 2
"""Directions in which an edge is seen from the node whose row it is in."""


class Edges(NamedTuple):
    """Edge rows of a packed collection; node numbers are local to their graph."""

    node_ptr: NDArray[np.int64]
    edge_ptr: NDArray[np.int64]
    ends: NDArray[np.int32]
    directed: NDArray[np.bool_]
    """One per graph."""


class Arcs(NamedTuple):
    """Node row v is next to the node rows ``node[ptr[v]:ptr[v + 1]]``; an arc shows up at both of its ends."""

    ptr: NDArray[np.int64]
    node: NDArray[np.int64]
    edge: NDArray[np.int64]
    """The edge row."""
    direction: NDArray[np.int8]


@counted_entry
def build_arcs(edges: Edges) -> Arcs:
    """Both ends of each edge; an undirected self-loop is in its row once, a directed one as OUT and as IN."""
    ptr = np.zeros(edges.node_ptr[-1] + 1, np.int64)
    for g in range(len(edges.directed)):
        first = edges.node_ptr[g]
        for e in range(edges.edge_ptr[g], edges.edge_ptr[g + 1]):
            u, v = edges.ends[e, 0], edges.ends[e, 1]
            ptr[first + u + 1] += 1
            if u != v or edges.directed[g]:
                ptr[first + v + 1] += 1
    for v in range(len(ptr) - 1):
        ptr[v + 1] += ptr[v]
    arcs = Arcs(ptr, np.empty(ptr[-1], np.int64), np.empty(ptr[-1], np.int64), np.empty(ptr[-1], np.int8))
    free = ptr[:-1].copy()
    for g in range(len(edges.directed)):
        first = edges.node_ptr[g]
        for e in range(edges.edge_ptr[g], edges.edge_ptr[g + 1]):
            u, v = first + edges.ends[e, 0], first + edges.ends[e, 1]
            a = free[u]
            free[u] += 1
            arcs.node[a], arcs.edge[a], arcs.direction[a] = v, e, OUT if edges.directed[g] else UNDIRECTED
            if u != v or edges.directed[g]:
                a = free[v]
                free[v] += 1
                arcs.node[a], arcs.edge[a], arcs.direction[a] = u, e, IN if edges.directed[g] else UNDIRECTED
    return arcs
