"""The published approximations: bipartite matching of nodes, and beam search.

**Bipartite matching** of nodes with their incident edges (Riesen and Bunke 2009; Fankhauser et al. 2011).

Both papers solve the same assignment problem: nodes of the larger graph and one dummy row for each node of the smaller
against nodes of the smaller graph and one dummy column for each node of the larger. An entry is the node cost plus
what the incident edges cost by themselves, every edge in full. The assignment is then priced as an edit path, which
is an **upper bound**; the value of the assignment itself bounds nothing.

"Hungarian" and "VJ" differ only in their solver, hence in the choice between equally good assignments. With the
choices made in assignment.py both give the published distances of AIDS700nef to the last entry.

**Beam search** as Neuhaus, Riesen and Bunke (2006) describe it and as the public distances were computed.

Partial edit paths of all depths stand in one list, ordered by the cost incurred so far, earlier ones first among
equals. The first is taken out and extended by the next node of the first graph (each unused node of the second in
turn, then deletion), and only the best ``width`` stay. The first complete path taken out is the answer: an **upper
bound**. Nodes are mapped in the order in which the graph lists them, so the value depends on that order, and on which
graph comes first. All beam distances of AIDS700nef are reproduced to the last entry. The method ``beam`` finds far
better ones.
"""

from typing import NamedTuple

import numpy as np

from graphmetric._foundation.compilation import entry, fragment, part
from graphmetric.edit_distance._kernels.lower_bounds import Profiles, compare_incident_edges
from graphmetric.edit_distance._kernels.packing import Integers, PackedProblem, fill_adjacency, integers
from graphmetric_research.baselines._kernels.assignment import (
    ROW_MATCH,
    ROW_STAR,
    Floats,
    PathWork,
    StarWork,
    allocate_paths,
    allocate_stars,
    solve_by_paths,
    solve_by_stars,
)

# Fields of OpenList.paths, followed by the image of each node of the first graph (-1: deleted)
COST, N_HANDLED, N_USED, IS_COMPLETE, IMAGES = range(5)
FIRST, SECOND = np.int64(0), np.int64(1)


class BipartiteWork(NamedTuple):
    """Room for the largest pair."""

    cost: Floats  # whole numbers or infinity
    difference: Integers
    stars: StarWork
    paths: PathWork


def allocate_bipartite(largest_first: int, largest_second: int) -> BipartiteWork:
    """Memory grows with the square of the sum: 260 kB for two graphs of 89 nodes."""
    total = largest_first + largest_second
    cost, difference = np.zeros((total + 1, total + 1)), integers(largest_first, largest_second)
    return BipartiteWork(cost, difference, allocate_stars(total), allocate_paths(total))


@entry
def match_bipartite(
    problem: PackedProblem, profiles: Profiles, pairs: Integers, by_stars: bool, work: BipartiteWork, node_map: Integers
) -> None:
    """Write node maps (-1: deleted) for rows (i, j) of ``pairs``, assigned as "Hungarian" (``by_stars``) or as "VJ".

    The larger graph has the rows, the first one if both are of one size.
    """
    first, second = problem.first, problem.second
    for p in range(len(pairs)):
        i, j = pairs[p, 0], pairs[p, 1]
        n_first = first.node_start[i + 1] - first.node_start[i]
        n_second = second.node_start[j + 1] - second.node_start[j]
        if n_first >= n_second:
            fill_local_costs(problem, profiles, i, j, work.difference, work.cost)
        else:
            fill_local_costs(problem, profiles, i, j, work.difference, work.cost.T)
        if by_stars:
            solve_by_stars(work.cost, n_first + n_second, work.stars)
            row_match = work.stars.places[ROW_STAR]
        else:
            solve_by_paths(work.cost, n_first + n_second, work.paths)
            row_match = work.paths.places[ROW_MATCH]
        read_assignment(n_first, n_second, row_match, node_map[p])


@part
def fill_local_costs(
    problem: PackedProblem, profiles: Profiles, i: int, j: int, difference: Integers, cost: Floats
) -> None:
    """The square matrix of the pair, the first graph and dummies for the second as its rows."""
    first, second, costs = problem
    first_node, second_node = first.node_start[i], second.node_start[j]
    n_first, n_second = first.node_start[i + 1] - first_node, second.node_start[j + 1] - second_node
    compare_incident_edges(problem, profiles, i, j, difference)
    for row in range(n_first + n_second):  # dummies match each other at no cost, and no node but their own
        for column in range(n_first + n_second):
            cost[row, column] = 0 if row >= n_first and column >= n_second else np.inf
    for u in range(n_first):
        code = first.node_code[first_node + u]
        cost[u, n_second + u] = costs.node_delete[code] + profiles[0].edge_removal[first_node + u]
        for v in range(n_second):
            cost[u, v] = costs.node_substitute[code, second.node_code[second_node + v]] + difference[u, v]
    for v in range(n_second):
        code = second.node_code[second_node + v]
        cost[n_first + v, v] = costs.node_insert[code] + profiles[1].edge_removal[second_node + v]


@part
def read_assignment(n_first: int, n_second: int, row_match: Integers, node_map: Integers) -> None:
    """Read the map from the matches of all rows."""
    node_map[:] = -1
    for row in range(max(n_first, n_second)):
        u, v = (row, row_match[row]) if n_first >= n_second else (row_match[row], row)
        if u < n_first and v < n_second:
            node_map[u] = v


class OpenList(NamedTuple):
    """The open paths; ``order`` lists their slots from the most to the least costly, so that the best is last."""

    paths: Integers  # (slot, field); the slot after the last is the path being extended
    order: Integers
    used: Integers  # by node of the second graph, for the path being extended
    adjacency: Integers  # (first or second graph, node, node)


def allocate_open_list(width: int, largest_first: int, largest_second: int) -> OpenList:
    """Room for ``width`` open paths."""
    largest = max(largest_first, largest_second) + 1
    paths = integers(width + 2, IMAGES + largest_first)
    return OpenList(paths, integers(width + 1), integers(largest), integers(2, largest, largest))


@entry
def search_published_beam(
    problem: PackedProblem, pairs: Integers, width: int, opened: OpenList, node_map: Integers
) -> None:
    """Write node maps (-1: deleted) for rows (i, j) of ``pairs``."""
    first, second, costs = problem
    for p in range(len(pairs)):
        i, j = pairs[p, 0], pairs[p, 1]
        fill_adjacency(first, i, costs.edge_reverse, opened.adjacency, FIRST)
        fill_adjacency(second, j, costs.edge_reverse, opened.adjacency, SECOND)
        path = find_complete_path(problem, i, j, width, opened)
        node_map[p, :] = -1
        for u in range(first.node_start[i + 1] - first.node_start[i]):
            node_map[p, u] = opened.paths[path, IMAGES + u]


@part
def find_complete_path(problem: PackedProblem, i: int, j: int, width: int, opened: OpenList) -> int:
    """Extend the best open path until it is complete; returns its slot."""
    first, second = problem.first, problem.second
    paths, order = opened.paths, opened.order
    n_first, n_second = first.node_start[i + 1] - first.node_start[i], second.node_start[j + 1] - second.node_start[j]
    current, trial = width, width + 1
    for slot in range(width):
        order[slot] = slot
    paths[0, :IMAGES] = 0
    order[0] = 0
    n_open = 1
    while True:
        n_open -= 1
        best = order[n_open]
        for field in range(IMAGES + n_first):
            paths[current, field] = paths[best, field]
        n_handled, n_used = paths[current, N_HANDLED], paths[current, N_USED]
        if paths[current, IS_COMPLETE] == 1 or (n_handled == n_first and n_used == n_second):
            return current
        mark_used(opened, current, n_second)
        if n_handled == n_first or n_used == n_second:
            complete_path(problem, i, j, opened, current, trial)
            n_open = insert_path(opened, trial, n_open, width, n_first)
            continue
        for v in range(n_second):
            if opened.used[v] == 0:
                extend_path(problem, i, j, opened, current, v)
                n_open = insert_path(opened, trial, n_open, width, n_first)
        extend_path(problem, i, j, opened, current, -1)
        n_open = insert_path(opened, trial, n_open, width, n_first)


@fragment
def mark_used(opened: OpenList, current: int, n_second: int) -> None:
    """List which nodes of the second graph the current path has used."""
    opened.used[:n_second] = 0
    for u in range(opened.paths[current, N_HANDLED]):
        if opened.paths[current, IMAGES + u] >= 0:
            opened.used[opened.paths[current, IMAGES + u]] = 1


@part
def extend_path(problem: PackedProblem, i: int, j: int, opened: OpenList, current: int, v: int) -> None:
    """The trial path: the current one plus the next node of the first graph mapped to v, or deleted if v is -1."""
    first, second, costs = problem
    paths, adjacency = opened.paths, opened.adjacency
    trial, u = current + 1, paths[current, N_HANDLED]
    code = first.node_code[first.node_start[i] + u]
    cost = costs.node_delete[code]
    if v >= 0:
        cost = costs.node_substitute[code, second.node_code[second.node_start[j] + v]]
    for t in range(u):
        image = paths[current, IMAGES + t]
        image_code = adjacency[SECOND, v, image] if v >= 0 and image >= 0 else 0
        cost += costs.edge_cost[0, adjacency[FIRST, u, t], image_code]
        paths[trial, IMAGES + t] = image
    paths[trial, IMAGES + u] = v
    paths[trial, COST] = paths[current, COST] + cost
    paths[trial, N_HANDLED] = u + 1
    paths[trial, N_USED] = paths[current, N_USED] + (1 if v >= 0 else 0)
    paths[trial, IS_COMPLETE] = 0


@part
def complete_path(problem: PackedProblem, i: int, j: int, opened: OpenList, current: int, trial: int) -> None:
    """The trial path: one graph is used up, what is left of the other is deleted or inserted."""
    first, second, costs = problem
    paths, adjacency, used = opened.paths, opened.adjacency, opened.used
    n_first, n_second = first.node_start[i + 1] - first.node_start[i], second.node_start[j + 1] - second.node_start[j]
    cost = paths[current, COST]
    for u in range(n_first):
        paths[trial, IMAGES + u] = paths[current, IMAGES + u]
    for u in range(paths[current, N_HANDLED], n_first):
        paths[trial, IMAGES + u] = -1
        cost += costs.node_delete[first.node_code[first.node_start[i] + u]]
        for t in range(u):
            cost += costs.edge_cost[0, adjacency[FIRST, u, t], 0]
    for v in range(n_second):
        if used[v] == 0:
            cost += costs.node_insert[second.node_code[second.node_start[j] + v]]
        for w in range(v):
            if used[v] == 0 or used[w] == 0:
                cost += costs.edge_cost[0, 0, adjacency[SECOND, v, w]]
    paths[trial, COST] = cost
    paths[trial, N_HANDLED] = n_first
    paths[trial, N_USED] = n_second
    paths[trial, IS_COMPLETE] = 1


@part
def insert_path(opened: OpenList, trial: int, n_open: int, width: int, n_first: int) -> int:
    """Insert the trial path behind those that cost no more; the worst falls out of a full list. Returns the length."""
    paths, order = opened.paths, opened.order
    cost = paths[trial, COST]
    if n_open == width:
        if paths[order[0], COST] <= cost:
            return n_open
        slot = order[0]
        place = 0
        while place + 1 < n_open and paths[order[place + 1], COST] > cost:
            order[place] = order[place + 1]
            place += 1
    else:
        slot = order[n_open]
        place = n_open
        n_open += 1
        while place > 0 and paths[order[place - 1], COST] <= cost:
            order[place] = order[place - 1]
            place -= 1
    order[place] = slot
    for field in range(IMAGES + n_first):
        paths[slot, field] = paths[trial, field]
    return n_open
