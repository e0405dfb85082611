"""The search tree: individualise a node, refine, repeat; the canonical leaf is the greatest.

Leaves are ordered by the traces of their paths, level by level, then by the graph they give. That order and the tree
itself do not depend on the numbering of nodes, so neither does the graph of the greatest leaf. Pruning only skips
leaves that are smaller, or that an automorphism maps onto one already seen: it changes the work, never the result.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import counted_part
from graphmetric.graphs._kernels.automorphisms import (
    LOCAL,
    ORBIT,
    add_automorphism,
    join_local_orbits,
    new_group,
    orbit_of,
)
from graphmetric.graphs._kernels.leaves import compare_leaves, copy_values, fill_values, leaf_size, write_leaf
from graphmetric.graphs._kernels.refinement import (
    AT,
    CELLS,
    COUNT,
    CUTS,
    LENGTH,
    WORK,
    can_refine,
    clear_queue,
    individualise,
    refine_step,
    undo_cuts,
)
from graphmetric.graphs._kernels.rows import Rows

# Rows of the path from the root to the tree node in hand, by level.
_CHOSEN = 0
"""node individualised last; -1 before the first"""
_TARGET = 1
"""start of the cell to choose from"""
_HEIGHT = 2
"""height of the undo stack"""
_STEP = 3
"""how many refinement steps lead here"""
_LIKE_FIRST = 4
"""whether their traces are those of the first path"""
_VERSUS_BEST = 5
"""-1, 0, 1: how their traces compare with those of the path to the best leaf"""
_NUM_ROWS = 6

_HERE, _FIRST, _BEST = 0, 1, 2
"""The path and leaf in hand, the first, and the best so far: rows of leaves and of traces."""

_CELL_BITS = 40


@counted_part
def find_greatest_leaf(rows: Rows, part: NDArray[np.int64], budget: int) -> bool:
    """Leave the canonical leaf's order in row AT of a refined partition; False when the budget ran out first.

    The budget limits the counter WORK.
    """
    n = len(rows.ptr) - 1
    if part[COUNT, CELLS] == n:
        return True
    path = np.zeros((_NUM_ROWS, n + 1), np.int64)
    traces = np.zeros((3, 2 * n), np.int64)  # a step per cell that is cut off, and one to end each level
    leaves = np.empty((3, leaf_size(rows)), np.int64)
    group = new_group(n)
    shared = np.zeros(3, np.int64)  # levels that the path in hand has in common with the first and the best path
    shared[_FIRST] = shared[_BEST] = -1  # neither is known
    level = 0
    _enter(part, path, level)
    while level >= 0 and part[COUNT, WORK] <= budget:
        part[COUNT, WORK] += n
        undo_cuts(part, path[_HEIGHT, level])
        node = _next_choice(part, group, path, level, level <= shared[_FIRST])
        if node < 0:
            level -= 1
        else:
            path[_CHOSEN, level] = node
            individualise(part, node)
            if _refine_child(rows, part, path, traces, level, shared[_FIRST] >= 0):
                level += 1
                if part[COUNT, CELLS] < n:
                    _enter(part, path, level)
                else:
                    level = _visit_leaf(rows, part, path, traces, leaves, group, shared, level)
        shared[_FIRST] = min(shared[_FIRST], level)
        shared[_BEST] = min(shared[_BEST], level)
    if level >= 0:
        return False
    copy_values(part[AT], leaves[_BEST, :n])
    return True


@counted_part
def _enter(part: NDArray[np.int64], path: NDArray[np.int64], level: int) -> None:
    path[_CHOSEN, level] = -1
    path[_HEIGHT, level] = part[COUNT, CUTS]
    path[_TARGET, level] = _target_cell(part)


@counted_part
def _refine_child(
    rows: Rows, part: NDArray[np.int64], path: NDArray[np.int64], traces: NDArray[np.int64], level: int, known: bool
) -> bool:
    """Refine, comparing traces with those of the first and the best path where they are ``known``.

    Gives up and returns False as soon as neither an image of the first leaf nor a better leaf than the best can follow.
    """
    like_first, sign = path[_LIKE_FIRST, level], path[_VERSUS_BEST, level]
    step = path[_STEP, level]
    more = True
    while more and (like_first or sign >= 0 or not known):
        more = can_refine(part, len(rows.ptr) - 1)
        trace = _seal(refine_step(rows, part) if more else 0, part[COUNT, CELLS])
        traces[_HERE, step] = trace
        if known:
            if trace != traces[_FIRST, step]:
                like_first = 0
            if sign == 0 and trace != traces[_BEST, step]:
                sign = 1 if trace > traces[_BEST, step] else -1
        step += 1
    clear_queue(part)
    path[_STEP, level + 1] = step
    path[_LIKE_FIRST, level + 1] = like_first
    path[_VERSUS_BEST, level + 1] = sign
    return like_first or sign >= 0 or not known


@counted_part
def _seal(trace: int, cells: int) -> np.int64:
    """A trace that is greater for more cells, since such paths are shorter."""
    return np.int64((cells << _CELL_BITS) | (trace & ((1 << _CELL_BITS) - 1)))


@counted_part
def _visit_leaf(
    rows: Rows,
    part: NDArray[np.int64],
    path: NDArray[np.int64],
    traces: NDArray[np.int64],
    leaves: NDArray[np.int64],
    group: NDArray[np.int64],
    shared: NDArray[np.int64],
    level: int,
) -> int:
    """Compare a leaf with the first and the best one; returns the level to go back to.

    A leaf that gives the same graph as an earlier one is its image under an automorphism, and so is all that hangs
    from the node where their paths part: the search goes on from there.
    """
    n = len(rows.ptr) - 1
    write_leaf(leaves[_HERE], rows, part)
    part[COUNT, WORK] += leaves.shape[1]
    if shared[_FIRST] < 0:
        _keep(traces, leaves, shared, _FIRST, level)
        _keep(traces, leaves, shared, _BEST, level)
        fill_values(path[_LIKE_FIRST], level + 1, 1)
        return level - 1
    if path[_LIKE_FIRST, level] != 0 and compare_leaves(leaves[_HERE], leaves[_FIRST], n) == 0:
        add_automorphism(group, leaves[_FIRST], leaves[_HERE])
        return shared[_FIRST]
    sign = path[_VERSUS_BEST, level]
    if sign == 0:
        sign = compare_leaves(leaves[_HERE], leaves[_BEST], n)
        if sign == 0:
            add_automorphism(group, leaves[_BEST], leaves[_HERE])
            return shared[_BEST]
    if sign > 0:
        _keep(traces, leaves, shared, _BEST, level)
        fill_values(path[_VERSUS_BEST], level + 1, 0)
    return level - 1


@counted_part
def _keep(
    traces: NDArray[np.int64], leaves: NDArray[np.int64], shared: NDArray[np.int64], kind: int, level: int
) -> None:
    copy_values(leaves[kind], leaves[_HERE])
    copy_values(traces[kind], traces[_HERE])
    shared[kind] = level


@counted_part
def _next_choice(
    part: NDArray[np.int64], group: NDArray[np.int64], path: NDArray[np.int64], level: int, on_first_path: bool
) -> int:
    """The smallest node of the target cell that is larger than the last and the smallest of its orbit; -1: none.

    On the first path every automorphism found so far fixes the nodes chosen above; elsewhere only some do.
    """
    last = path[_CHOSEN, level]
    orbit = group[ORBIT]
    if not on_first_path:
        orbit = group[LOCAL]
        if last >= 0:
            part[COUNT, WORK] += join_local_orbits(group, path[_CHOSEN], level)
    best = -1
    for p in range(path[_TARGET, level], path[_TARGET, level] + part[LENGTH, path[_TARGET, level]]):
        node = part[AT, p]
        if node > last and (best < 0 or node < best) and (last < 0 or orbit_of(orbit, node) == node):
            best = node
    return best


@counted_part
def _target_cell(part: NDArray[np.int64]) -> int:
    """The first of the largest cells."""
    best, p = 0, 0
    while part[LENGTH, p] > 0:
        if part[LENGTH, p] > part[LENGTH, best]:
            best = p
        p += part[LENGTH, p]
    return best
