"""Automorphisms found so far, and the orbits of those that fix given nodes.

A group is one array with a column per node and one more for a counter. Orbits are kept as forests: each node points
to a smaller or equal one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import counted_part

ORBIT = 0
"""orbits under everything found; the last column counts what was found"""
LOCAL = 1
"""orbits under the automorphisms that fix the nodes in hand"""
_IMAGE = 2
"""from here on: node -> image, one row per automorphism"""
_KEPT = 64
"""Automorphisms remembered for pruning away from the first path; older ones are overwritten."""


@counted_part
def new_group(num_nodes: int) -> NDArray[np.int64]:
    group = np.empty((_IMAGE + _KEPT, num_nodes + 1), np.int64)
    for v in range(num_nodes):
        group[ORBIT, v] = v
        group[LOCAL, v] = v
    group[ORBIT, num_nodes] = 0
    return group


@counted_part
def add_automorphism(group: NDArray[np.int64], source: NDArray[np.int64], target: NDArray[np.int64]) -> None:
    """Record the map source[p] -> target[p]."""
    n = group.shape[1] - 1
    row = _IMAGE + group[ORBIT, n] % _KEPT
    for p in range(n):
        group[row, source[p]] = target[p]
        _join(group[ORBIT], source[p], target[p])
    group[ORBIT, n] += 1


@counted_part
def join_local_orbits(group: NDArray[np.int64], chosen: NDArray[np.int64], level: int) -> int:
    """Set LOCAL to the orbits of the remembered automorphisms that fix the first ``level`` chosen nodes.

    Returns the entries read.
    """
    n = group.shape[1] - 1
    for v in range(n):
        group[LOCAL, v] = v
    work = n
    for row in range(_IMAGE, _IMAGE + min(group[ORBIT, n], _KEPT)):
        fixed = 0
        while fixed < level and group[row, chosen[fixed]] == chosen[fixed]:
            fixed += 1
        work += fixed
        if fixed == level:
            work += n
            for v in range(n):
                _join(group[LOCAL], v, group[row, v])
    return work


@counted_part
def orbit_of(orbit: NDArray[np.int64], node: int) -> int:
    """The smallest node of an orbit."""
    while orbit[node] != node:
        orbit[node] = orbit[orbit[node]]
        node = orbit[node]
    return node


@counted_part
def _join(orbit: NDArray[np.int64], u: int, v: int) -> None:
    u, v = orbit_of(orbit, u), orbit_of(orbit, v)
    orbit[max(u, v)] = min(u, v)
