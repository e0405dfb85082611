"""Leaves of the search: a full order of the nodes, and the relabelled graph it gives.

A leaf is one flat array: the node at each position, then where the row of each position ends, then the neighbours of
all rows, then their relations. All but the first part describe the graph alone: leaves compare as sequences from there.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import counted_part
from graphmetric.graphs._kernels.refinement import AT, PLACE
from graphmetric.graphs._kernels.rows import Rows


@counted_part
def leaf_size(rows: Rows) -> int:
    return 2 * (len(rows.ptr) - 1) + 2 * len(rows.neighbour)


@counted_part
def write_leaf(leaf: NDArray[np.int64], rows: Rows, part: NDArray[np.int64]) -> None:
    """Fill in order and rows; visiting nodes in their new order leaves each row sorted."""
    n, entries = len(rows.ptr) - 1, len(rows.neighbour)
    end, neighbour, relation = leaf[n:], leaf[2 * n :], leaf[2 * n + entries :]
    begin = 0
    for p in range(n):
        node = part[AT, p]
        leaf[p] = node
        end[p] = begin
        begin += rows.ptr[node + 1] - rows.ptr[node]
    for p in range(n):
        node = part[AT, p]
        for k in range(rows.ptr[node], rows.ptr[node + 1]):
            q = part[PLACE, rows.neighbour[k]]
            neighbour[end[q]] = p
            relation[end[q]] = rows.relation[k]
            end[q] += 1


@counted_part
def compare_leaves(a: NDArray[np.int64], b: NDArray[np.int64], num_nodes: int) -> int:
    """-1, 0 or 1; 0 means that the two orders give the very same graph: an automorphism."""
    for i in range(num_nodes, len(a)):
        if a[i] != b[i]:
            return -1 if a[i] < b[i] else 1
    return 0


@counted_part
def copy_values(target: NDArray[np.int64], source: NDArray[np.int64]) -> None:
    for i in range(len(source)):
        target[i] = source[i]


@counted_part
def fill_values(target: NDArray[np.int64], size: int, value: int) -> None:
    for i in range(size):
        target[i] = value
