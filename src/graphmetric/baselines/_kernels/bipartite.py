"""Bipartite matching of nodes with their incident edges (Riesen and Bunke 2009; Fankhauser et al. 2011).

Both papers solve the same assignment problem: nodes of the larger graph and one dummy row for each node of the smaller
against nodes of the smaller graph and one dummy column for each node of the larger. An entry is the node cost plus
what the incident edges cost by themselves, every edge in full. The assignment is then priced as an edit path, which
is an **upper bound**; the value of the assignment itself bounds nothing.

"Hungarian" and "VJ" differ only in their solver, hence in the choice between equally good assignments. With the
choices made in assignment.py both give the published distances of AIDS700nef to the last entry.
"""

from typing import NamedTuple

import numpy as np

from graphmetric._foundation.compilation import entry, part
from graphmetric.baselines._kernels.assignment import (
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
from graphmetric.edit_distance.scaling import Integers, PackedProblem, Profiles, compare_incident_edges, integers


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
    """Write node maps (-1: deleted) for rows (i, j) of ``pairs``, assigned as "Hungarian" (``by_stars``) or as "VJ"."""
    first = problem.first
    for p in range(len(pairs)):
        i, j = pairs[p, 0], pairs[p, 1]
        n_total = fill_local_costs(problem, profiles, i, j, work)
        if by_stars:
            solve_by_stars(work.cost, n_total, work.stars)
            row_match = work.stars.places[ROW_STAR]
        else:
            solve_by_paths(work.cost, n_total, work.paths)
            row_match = work.paths.places[ROW_MATCH]
        n_first = first.node_start[i + 1] - first.node_start[i]
        read_assignment(n_first, n_total - n_first, row_match, node_map[p])


@part
def fill_local_costs(problem: PackedProblem, profiles: Profiles, i: int, j: int, work: BipartiteWork) -> int:
    """The square matrix of the pair; the larger graph has the rows, the first one if both are of one size.

    Returns the number of rows.
    """
    first, second, costs = problem
    first_node, second_node = first.node_start[i], second.node_start[j]
    n_first, n_second = first.node_start[i + 1] - first_node, second.node_start[j + 1] - second_node
    n_rows, n_columns = max(n_first, n_second), min(n_first, n_second)
    cost, difference = work.cost, work.difference
    fill_dummies(n_rows, n_columns, cost)
    compare_incident_edges(problem, profiles, i, j, difference)
    for u in range(n_first):
        code = first.node_code[first_node + u]
        removal = costs.node_delete[code] + profiles[0].edge_removal[first_node + u]
        if n_first >= n_second:
            cost[u, n_columns + u] = removal
        else:
            cost[n_rows + u, u] = removal
        for v in range(n_second):
            local = costs.node_substitute[code, second.node_code[second_node + v]] + difference[u, v]
            if n_first >= n_second:
                cost[u, v] = local
            else:
                cost[v, u] = local
    for v in range(n_second):
        removal = costs.node_insert[second.node_code[second_node + v]] + profiles[1].edge_removal[second_node + v]
        if n_first >= n_second:
            cost[n_rows + v, v] = removal
        else:
            cost[v, n_columns + v] = removal
    return int(n_first + n_second)


@part
def fill_dummies(n_rows: int, n_columns: int, cost: Floats) -> None:
    """Dummies match each other at no cost, and no node but their own."""
    for row in range(n_rows):
        for column in range(n_columns, n_rows + n_columns):
            cost[row, column] = np.inf
    for row in range(n_rows, n_rows + n_columns):
        for column in range(n_columns):
            cost[row, column] = np.inf
        for column in range(n_columns, n_rows + n_columns):
            cost[row, column] = 0


@part
def read_assignment(n_first: int, n_second: int, row_match: Integers, node_map: Integers) -> None:
    """Read the map from the matches of all rows."""
    for u in range(len(node_map)):
        node_map[u] = -1
    if n_first >= n_second:
        for u in range(n_first):
            if row_match[u] < n_second:
                node_map[u] = row_match[u]
    else:
        for v in range(n_second):
            if row_match[v] < n_first:
                node_map[row_match[v]] = v
