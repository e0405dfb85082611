"""The search for the canonical order of many packed graphs.

**The search tree**: individualise a node, refine, repeat; the canonical leaf is the greatest. Leaves are ordered by the
traces of their paths, level by level, then by the graph they give. That order and the tree itself do not depend on the
numbering of nodes, so neither does the graph of the greatest leaf. Pruning only skips leaves that are smaller, or that
an automorphism maps onto one already seen: it changes the work, never the result.

**A leaf** is a full order of the nodes and the relabelled graph it gives, in one flat array: the node at each position,
then where the row of each position ends, then the neighbours of all rows, then their relations. All but the first part
describe the graph alone, and leaves compare as sequences from there.

**A group** holds the automorphisms found so far and the orbits of those that fix given nodes, in one array with a
column per node and one more for a counter. Orbits are kept as forests: each node points to a smaller or equal one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import counted_entry, counted_part
from graphmetric._foundation.mixing import mix
from graphmetric.graphs._kernels.refinement import (
    AT,
    CELLS,
    COUNT,
    CUTS,
    LENGTH,
    PLACE,
    WORK,
    EdgeColours,
    Rows,
    Twins,
    build_rows,
    can_refine,
    clear_queue,
    drop_twins,
    find_twins,
    individualise,
    new_partition,
    point_to_runs,
    refine,
    refine_step,
    sort_by_key,
    sort_into_runs,
    spread_twins,
    undo_cuts,
)

ORBIT = 0
"""orbits under everything found; the last column counts what was found"""
LOCAL = 1
"""orbits under the automorphisms that fix the chosen nodes"""
_IMAGE = 2
"""from here on: node -> image, one row per automorphism"""
_KEPT = 64
"""Automorphisms remembered for pruning away from the first path; older ones are overwritten."""


@counted_part
def new_group(num_nodes: int) -> NDArray[np.int64]:
    group = np.empty((_IMAGE + _KEPT, num_nodes + 1), np.int64)
    group[ORBIT, :num_nodes] = np.arange(num_nodes)
    group[LOCAL] = group[ORBIT]
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
    group[LOCAL, :n] = np.arange(n)
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


# Rows of the path from the root to the current tree node, by level.
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
"""The current path and leaf, the first, and the best so far: rows of leaves and of traces."""

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
    leaves = np.empty((3, 2 * n + 2 * len(rows.neighbour)), np.int64)
    group = new_group(n)
    shared = np.zeros(3, np.int64)  # levels that the current path has in common with the first and the best path
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
    part[AT, :n] = leaves[_BEST, :n]
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
        trace = refine_step(rows, part) if more else np.int64(0)
        # A trace is greater for more cells, since such paths are shorter.
        trace = (part[COUNT, CELLS] << _CELL_BITS) | (trace & ((1 << _CELL_BITS) - 1))
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
        path[_LIKE_FIRST, : level + 1] = 1
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
        path[_VERSUS_BEST, : level + 1] = 0
    return level - 1


@counted_part
def _keep(
    traces: NDArray[np.int64], leaves: NDArray[np.int64], shared: NDArray[np.int64], kind: int, level: int
) -> None:
    leaves[kind] = leaves[_HERE]
    traces[kind] = traces[_HERE]
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


class RankedGraphs(NamedTuple):
    """Graphs in shared arrays. Attributes are ranks: equal where the attributes are, in the order of their keys."""

    node_ptr: NDArray[np.int64]
    edge_ptr: NDArray[np.int64]
    edges: NDArray[np.int32]
    directed: NDArray[np.bool_]
    node_rank: NDArray[np.int64]
    edge_colours: EdgeColours


class Outcome(NamedTuple):
    """What the search found, graph by graph."""

    order: NDArray[np.int64]
    """per node row: the node at this canonical position; some order where the budget did not suffice"""
    solved: NDArray[np.bool_]
    """per graph: whether the budget sufficed"""
    invariant: NDArray[np.int64]
    """per graph: equal for isomorphic graphs, also where the budget did not suffice"""


@counted_entry
def canonicalise(graphs: RankedGraphs, budget: int) -> Outcome:
    num_graphs = len(graphs.directed)
    outcome = Outcome(
        np.empty(graphs.node_ptr[-1], np.int64),
        np.empty(num_graphs, np.bool_),
        np.empty(num_graphs, np.int64),
    )
    for g in range(num_graphs):
        begin, end = graphs.node_ptr[g], graphs.node_ptr[g + 1]
        rows, colour = _read_graph(graphs, g)
        twins = find_twins(rows, colour, len(graphs.edge_colours.weight))
        rows = drop_twins(rows, twins)
        order, starts = _sort_by_colour(twins, colour)
        part = new_partition(order, starts)
        outcome.invariant[g] = mix(refine(rows, part), len(order))
        outcome.solved[g] = find_greatest_leaf(rows, part, budget)
        spread_twins(part[AT], twins, outcome.order[begin:end])
    return outcome


@counted_part
def _read_graph(graphs: RankedGraphs, g: int) -> tuple[Rows, NDArray[np.int64]]:
    """Rows of one graph, and node colours that include self-loops."""
    begin, end = graphs.edge_ptr[g], graphs.edge_ptr[g + 1]
    colours = EdgeColours(graphs.edge_colours.rank[begin:end], graphs.edge_colours.weight)
    num_nodes = graphs.node_ptr[g + 1] - graphs.node_ptr[g]
    rows, colour = build_rows(num_nodes, graphs.edges[begin:end], colours, graphs.directed[g])
    for v in range(num_nodes):
        colour[v] += graphs.node_rank[graphs.node_ptr[g] + v] * len(colours.weight)
    return rows, colour


@counted_part
def _sort_by_colour(twins: Twins, colour: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The kept nodes by new number, sorted by colour and kind of twins, and where runs of equal ones start."""
    order = twins.kept.copy()
    starts = np.zeros(len(order), np.bool_)
    for keys in (colour, twins.copies, twins.joined_by):
        _sort_runs(order, starts, keys)
    return twins.new_number[order], starts


@counted_part
def _sort_runs(order: NDArray[np.int64], starts: NDArray[np.bool_], key: NDArray[np.int64]) -> None:
    begin = 0
    for end in range(1, len(order) + 1):
        if end < len(order) and not starts[end]:
            continue
        sort_by_key(order, key, begin, end)
        for p in range(begin, end):
            starts[p] = p == begin or key[order[p]] != key[order[p - 1]]
        begin = end


@counted_entry
def relabel_edges(graphs: RankedGraphs, order: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The edges in canonical numbers, sorted within each graph, and the edge row each comes from."""
    edges = np.empty_like(graphs.edges)
    source = np.empty(len(edges), np.int64)
    for g in range(len(graphs.directed)):
        begin, end = graphs.edge_ptr[g], graphs.edge_ptr[g + 1]
        nodes = order[graphs.node_ptr[g] : graphs.node_ptr[g + 1]]
        place = np.empty(len(nodes), np.int64)
        for p in range(len(nodes)):
            place[nodes[p]] = p
        pairs = np.empty((end - begin, 2), np.int64)
        for e in range(begin, end):
            u, v = place[graphs.edges[e, 0]], place[graphs.edges[e, 1]]
            swap = v < u and not graphs.directed[g]
            pairs[e - begin, 0] = v if swap else u
            pairs[e - begin, 1] = u if swap else v
        by_both = np.arange(end - begin)
        for keys in (pairs[:, 1], pairs[:, 0]):
            by_both = sort_into_runs(by_both, keys, point_to_runs(keys, len(nodes)))
        for i in range(end - begin):
            source[begin + i] = begin + by_both[i]
            edges[begin + i, 0] = pairs[by_both[i], 0]
            edges[begin + i, 1] = pairs[by_both[i], 1]
    return edges, source
