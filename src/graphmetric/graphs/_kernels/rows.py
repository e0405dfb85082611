"""Adjacency rows that see both directions of every edge at once."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import counted_part
from graphmetric.graphs._kernels.mixing import add_product

_FORWARD, _BACKWARD = 0x56E8FEB86659FD93, 0x20761D6478BD642F


class EdgeColours(NamedTuple):
    """Edge attributes as ranks; rank order is the order of the attributes' keys, whatever else is in the batch."""

    rank: NDArray[np.int64]
    """One per edge row."""
    weight: NDArray[np.int64]
    """``weight[1 + rank]`` is a hash of the attributes themselves; ``weight[0]`` is 0, for "no edge"."""


class Rows(NamedTuple):
    """The neighbours of node v are ``neighbour[ptr[v]:ptr[v + 1]]``, ascending, without v itself.

    ``relation`` orders and tells apart how v and the neighbour are joined (forward colour, then backward colour; an
    undirected edge runs both ways). ``weight`` hashes the same: two relations may share a weight, which costs
    the refinement some strength but no correctness.
    """

    ptr: NDArray[np.int64]
    neighbour: NDArray[np.int64]
    relation: NDArray[np.int64]
    weight: NDArray[np.int64]


@counted_part
def build_rows(
    num_nodes: int, edges: NDArray[np.int32], colours: EdgeColours, directed: bool
) -> tuple[Rows, NDArray[np.int64]]:
    """Rows of one graph with sorted edges, and for each node 1 + the rank of its self-loop (0: none)."""
    in_ptr, in_edge, out_ptr = _index_ends(num_nodes, edges)
    base = len(colours.weight)
    ptr = np.empty(num_nodes + 1, np.int64)
    neighbour = np.empty(2 * len(edges), np.int64)
    relation = np.empty(2 * len(edges), np.int64)
    weight = np.empty(2 * len(edges), np.int64)
    loop = np.zeros(num_nodes, np.int64)
    end = 0
    for v in range(num_nodes):
        ptr[v] = end
        i, j = in_ptr[v], out_ptr[v]
        while i < in_ptr[v + 1] or j < out_ptr[v + 1]:
            source = edges[in_edge[i], 0] if i < in_ptr[v + 1] else num_nodes
            target = edges[j, 1] if j < out_ptr[v + 1] else num_nodes
            other = min(source, target)
            forward, backward = 0, 0
            if target == other:
                forward = 1 + colours.rank[j]
                j += 1
            if source == other:
                backward = 1 + colours.rank[in_edge[i]]
                i += 1
            if other == v:
                loop[v] = forward
                continue
            if not directed:
                forward = backward = max(forward, backward)
            neighbour[end] = other
            relation[end] = forward * base + backward
            ahead = add_product(0, colours.weight[forward], _FORWARD)
            weight[end] = add_product(ahead, colours.weight[backward], _BACKWARD)
            end += 1
    ptr[num_nodes] = end
    return Rows(ptr, neighbour[:end], relation[:end], weight[:end]), loop


@counted_part
def _index_ends(
    num_nodes: int, edges: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Edges by target (pointers and edge rows, sources ascending), and pointers by source into the edges themselves."""
    in_ptr = np.zeros(num_nodes + 2, np.int64)
    out_ptr = np.zeros(num_nodes + 1, np.int64)
    for e in range(len(edges)):
        in_ptr[edges[e, 1] + 2] += 1
        out_ptr[edges[e, 0] + 1] += 1
    for v in range(num_nodes):
        in_ptr[v + 2] += in_ptr[v + 1]
        out_ptr[v + 1] += out_ptr[v]
    in_edge = np.empty(len(edges), np.int64)
    for e in range(len(edges)):
        target = edges[e, 1]
        in_edge[in_ptr[target + 1]] = e
        in_ptr[target + 1] += 1
    return in_ptr, in_edge, out_ptr
