"""Adjacency rows that see both directions of every edge at once.

Twins: nodes that can be swapped without changing the graph. One of each class is kept for the search.

Cliques, stars and empty graphs have factorially many symmetries of this kind; without twins they have none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import counted_part
from graphmetric.graphs._kernels.mixing import add_product, scramble

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


class Twins(NamedTuple):
    """Classes of twins; the first node of each class is kept and stands for all."""

    first: NDArray[np.int64]
    """node -> first node of its class"""
    joined_by: NDArray[np.int64]
    """node -> the relation between the members of its class; 0 where they are not adjacent"""
    copies: NDArray[np.int64]
    """kept node -> size of its class"""
    new_number: NDArray[np.int64]
    """kept node -> its place in ``kept``; -1 for all other nodes"""
    kept: NDArray[np.int64]


@counted_part
def find_twins(rows: Rows, colour: NDArray[np.int64], base: int) -> Twins:
    """Hashes of rows propose twins; every pair is checked entry by entry. ``base`` is the radix of relations."""
    num_nodes = len(colour)
    digest = np.zeros(num_nodes, np.int64)
    first = np.empty(num_nodes, np.int64)
    joined_by = np.zeros(num_nodes, np.int64)
    for v in range(num_nodes):
        first[v] = v
        for k in range(rows.ptr[v], rows.ptr[v + 1]):
            digest[v] = add_product(digest[v], scramble(rows.neighbour[k]), rows.weight[k] | 1)
    _join_separate_twins(rows, colour, digest, first)
    _join_adjacent_twins(rows, colour, digest, base, first, joined_by)
    copies, new_number, kept = _count_classes(first)
    return Twins(first, joined_by, copies, new_number, kept)


@counted_part
def _count_classes(first: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The last three columns of :class:`Twins`."""
    new_number = np.empty(len(first), np.int64)
    kept = np.empty(len(first), np.int64)
    copies = np.zeros(len(first), np.int64)
    size = 0
    for v in range(len(first)):
        copies[first[v]] += 1
        new_number[v] = -1
        if first[v] == v:
            new_number[v] = size
            kept[size] = v
            size += 1
    return copies, new_number, kept[:size]


@counted_part
def _join_separate_twins(
    rows: Rows, colour: NDArray[np.int64], digest: NDArray[np.int64], first: NDArray[np.int64]
) -> None:
    """Classes of nodes with equal rows, found through a hash table with open addressing."""
    num_nodes = len(colour)
    size = 4
    while size < 2 * num_nodes:
        size *= 2
    table = np.zeros(size, np.int64)  # 1 + node
    for v in range(num_nodes):
        slot = (digest[v] >> 32) & (size - 1)
        while table[slot] > 0:
            u = table[slot] - 1
            if digest[u] == digest[v] and colour[u] == colour[v] and _equal_rows(rows, u, v, False):
                first[v] = u
                break
            slot = (slot + 1) & (size - 1)
        if first[v] == v:
            table[slot] = v + 1


@counted_part
def _join_adjacent_twins(
    rows: Rows,
    colour: NDArray[np.int64],
    digest: NDArray[np.int64],
    base: int,
    first: NDArray[np.int64],
    joined_by: NDArray[np.int64],
) -> None:
    """Classes of pairwise joined nodes whose rows are equal apart from each other."""
    for u in range(len(colour)):
        if first[u] != u:
            continue
        for k in range(rows.ptr[u], rows.ptr[u + 1]):
            v = rows.neighbour[k]
            if v < u or first[v] != v or colour[u] != colour[v]:
                continue
            if rows.relation[k] // base != rows.relation[k] % base:
                continue
            weight = rows.weight[k] | 1
            if add_product(digest[u], scramble(u), weight) != add_product(digest[v], scramble(v), weight):
                continue
            if _equal_rows(rows, u, v, True):
                first[v] = u
                joined_by[u] = rows.relation[k]
                joined_by[v] = rows.relation[k]


@counted_part
def _equal_rows(rows: Rows, u: int, v: int, joined: bool) -> bool:
    """Whether two rows are the same; where ``joined``, u and v are left out of them."""
    i, j = rows.ptr[u], rows.ptr[v]
    end_i, end_j = rows.ptr[u + 1], rows.ptr[v + 1]
    if end_i - i != end_j - j:
        return False
    while True:
        if joined and i < end_i and rows.neighbour[i] == v:
            i += 1
        if joined and j < end_j and rows.neighbour[j] == u:
            j += 1
        if i == end_i or j == end_j:
            return bool(i == end_i and j == end_j)
        if rows.neighbour[i] != rows.neighbour[j] or rows.relation[i] != rows.relation[j]:
            return False
        i += 1
        j += 1


@counted_part
def drop_twins(rows: Rows, twins: Twins) -> Rows:
    """Rows of the graph on the kept nodes, in their new numbers."""
    if len(twins.kept) == len(twins.first):
        return rows
    ptr = np.zeros(len(twins.kept) + 1, np.int64)
    neighbour = np.empty(len(rows.neighbour), np.int64)
    relation = np.empty(len(rows.neighbour), np.int64)
    weight = np.empty(len(rows.neighbour), np.int64)
    end = 0
    for i in range(len(twins.kept)):
        node = twins.kept[i]
        for k in range(rows.ptr[node], rows.ptr[node + 1]):
            number = twins.new_number[rows.neighbour[k]]
            if number >= 0:
                neighbour[end] = number
                relation[end] = rows.relation[k]
                weight[end] = rows.weight[k]
                end += 1
        ptr[i + 1] = end
    return Rows(ptr, neighbour[:end], relation[:end], weight[:end])


@counted_part
def spread_twins(at: NDArray[np.int64], twins: Twins, order: NDArray[np.int64]) -> None:
    """Fill in the order of all nodes, each beside its twins, from the order ``at`` of the kept ones."""
    position = np.empty(len(order), np.int64)
    begin = 0
    for i in range(len(twins.kept)):
        node = twins.kept[at[i]]
        position[node] = begin
        begin += twins.copies[node]
    for v in range(len(order)):
        order[position[twins.first[v]]] = v
        position[twins.first[v]] += 1
