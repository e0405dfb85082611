"""Random walks."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import counted_entry
from graphmetric.features._kernels.arcs import IN, Arcs


@counted_entry
def find_return_probabilities(
    node_ptr: NDArray[np.int64], arcs: Arcs, weight: NDArray[np.float64], steps: int
) -> NDArray[np.float32]:
    """(nodes, steps): the chance that a walk from v is back at v after 1, 2, .. steps; ``weight`` is by edge row.

    Each step leaves along an edge with a chance in proportion to its weight, never against an arc. A walk that
    cannot go on is lost.
    """
    num_nodes = len(arcs.ptr) - 1
    leaving = np.zeros(num_nodes, np.float64)
    for v in range(num_nodes):
        for a in range(arcs.ptr[v], arcs.ptr[v + 1]):
            if arcs.direction[a] != IN:
                leaving[v] += weight[arcs.edge[a]]
    chance = np.zeros(len(arcs.node), np.float64)
    for v in range(num_nodes):
        for a in range(arcs.ptr[v], arcs.ptr[v + 1]):
            if arcs.direction[a] != IN and leaving[v] > 0:
                chance[a] = weight[arcs.edge[a]] / leaving[v]
    found = np.zeros((num_nodes, steps), np.float32)
    here, there = np.zeros(num_nodes, np.float64), np.zeros(num_nodes, np.float64)
    for g in range(len(node_ptr) - 1):
        begin, end = node_ptr[g], node_ptr[g + 1]
        for start in range(begin, end):
            here[begin:end] = 0
            here[start] = 1
            for step in range(steps):
                there[begin:end] = 0
                for v in range(begin, end):
                    if here[v] == 0:
                        continue
                    for a in range(arcs.ptr[v], arcs.ptr[v + 1]):
                        there[arcs.node[a]] += here[v] * chance[a]
                here, there = there, here
                found[start, step] = here[start]
    return found
