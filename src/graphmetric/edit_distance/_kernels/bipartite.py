"""Bipartite matching of nodes with their incident edges (Riesen and Bunke 2009; Fankhauser et al. 2011).

Both papers solve the same assignment problem: nodes of the larger graph and one dummy row for each node of the smaller
against nodes of the smaller graph and one dummy column for each node of the larger. An entry is the node cost plus
what the incident edges cost by themselves, every edge in full. The assignment is then priced as an edit path, which
is an **upper bound**; the value of the assignment itself bounds nothing.

"Hungarian" and "VJ" differ in their solver only, hence in the choice between equally good assignments. With the
choices made here (munkres.py, lsap.py) both give the published distances of AIDS700nef to the last entry.
"""

from typing import NamedTuple

import numpy as np

from graphmetric.compiling import entry, part
from graphmetric.edit_distance._kernels.lsap import ROW_MATCH, AssignmentWork, Floats, allocate_assignment, solve_square
from graphmetric.edit_distance._kernels.map_cost import MapResults, price_map
from graphmetric.edit_distance._kernels.munkres import ROW_STAR, MunkresWork, allocate_munkres, solve_by_stars
from graphmetric.edit_distance._kernels.node_profile import NodeProfiles, compare_incident_edges
from graphmetric.edit_distance._kernels.packing import EditCostTables, Integers, PackedGraphs, fill_adjacency


class BipartiteWork(NamedTuple):
    """Room for pairs that have together at most so many nodes."""

    cost: Floats  # whole numbers or infinity
    difference: Integers
    munkres: MunkresWork
    assignment: AssignmentWork
    second_adjacency: Integers


def allocate_bipartite(largest_first: int, largest_second: int) -> BipartiteWork:
    """Memory grows with the square of the sum: 260 kB for two graphs of 89 nodes."""
    total = largest_first + largest_second
    return BipartiteWork(
        np.zeros((total + 1, total + 1)),
        np.zeros((largest_first, largest_second), dtype=np.int64),
        allocate_munkres(total),
        allocate_assignment(total),
        np.zeros((1, largest_second + 1, largest_second + 1), dtype=np.int64),
    )


@entry
def match_hungarian(
    first: PackedGraphs,
    second: PackedGraphs,
    costs: EditCostTables,
    profiles: tuple[NodeProfiles, NodeProfiles],
    pairs: Integers,
    work: BipartiteWork,
    results: MapResults,
) -> None:
    """Upper bounds and node maps for rows (i, j) of ``pairs``, assigned as by Riesen and Bunke."""
    for p in range(len(pairs)):
        n_total = fill_local_costs(first, second, costs, profiles, pairs[p, 0], pairs[p, 1], work)
        solve_by_stars(work.cost, n_total, work.munkres)
        price_assignment(first, second, costs, pairs, p, work.munkres.places[ROW_STAR], work, results)


@entry
def match_volgenant_jonker(
    first: PackedGraphs,
    second: PackedGraphs,
    costs: EditCostTables,
    profiles: tuple[NodeProfiles, NodeProfiles],
    pairs: Integers,
    work: BipartiteWork,
    results: MapResults,
) -> None:
    """Upper bounds and node maps for rows (i, j) of ``pairs``, assigned as by Fankhauser, Riesen and Bunke."""
    for p in range(len(pairs)):
        n_total = fill_local_costs(first, second, costs, profiles, pairs[p, 0], pairs[p, 1], work)
        solve_square(work.cost, n_total, work.assignment)
        price_assignment(first, second, costs, pairs, p, work.assignment.places[ROW_MATCH], work, results)


@part
def fill_local_costs(
    first: PackedGraphs,
    second: PackedGraphs,
    costs: EditCostTables,
    profiles: tuple[NodeProfiles, NodeProfiles],
    i: int,
    j: int,
    work: BipartiteWork,
) -> int:
    """The square matrix of the pair; the larger graph has the rows, the first one if both are of one size.

    Returns the number of rows.
    """
    first_node, second_node = first.node_start[i], second.node_start[j]
    n_first, n_second = first.node_start[i + 1] - first_node, second.node_start[j + 1] - second_node
    n_rows, n_columns = max(n_first, n_second), min(n_first, n_second)
    cost, difference = work.cost, work.difference
    fill_dummies(n_rows, n_columns, cost)
    compare_incident_edges(first, second, costs, profiles, i, j, difference)
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
    """Dummies match each other for nothing and no node but their own."""
    for row in range(n_rows):
        for column in range(n_columns, n_rows + n_columns):
            cost[row, column] = np.inf
    for row in range(n_rows, n_rows + n_columns):
        for column in range(n_columns):
            cost[row, column] = np.inf
        for column in range(n_columns, n_rows + n_columns):
            cost[row, column] = 0


@part
def price_assignment(
    first: PackedGraphs,
    second: PackedGraphs,
    costs: EditCostTables,
    pairs: Integers,
    p: int,
    row_match: Integers,
    work: BipartiteWork,
    results: MapResults,
) -> None:
    """Read the map from the matches of all rows, and price it as an edit path."""
    i, j, node_map = pairs[p, 0], pairs[p, 1], results.node_map[p]
    n_first, n_second = first.node_start[i + 1] - first.node_start[i], second.node_start[j + 1] - second.node_start[j]
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
    fill_adjacency(second, j, costs.edge_reverse, work.second_adjacency, np.int64(0))
    results.upper[p] = price_map(first, second, costs, i, j, node_map, work.second_adjacency)
