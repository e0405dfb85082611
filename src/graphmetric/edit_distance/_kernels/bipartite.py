r"""Bipartite matching of nodes with their incident edges (Riesen and Bunke 2009; Fankhauser et al. 2011).

Both papers solve the same assignment problem: nodes of the larger graph and one dummy row for each node of the smaller
against nodes of the smaller graph and one dummy column for each node of the larger. An entry is the node cost plus
what the incident edges cost by themselves, every edge in full. The assignment is then priced as an edit path, which
is an **upper bound**; the value of the assignment itself bounds nothing.

"Hungarian" and "VJ" differ in their solver only, hence in the choice between equally good assignments. With the
choices made here (munkres.py, lsap.py) both give the published distances of AIDS700nef to the last entry.

What a node and its incident edges cost on their own: the ground that bipartite and Hausdorff matching stand on.

Hausdorff edit distance (Fischer, Suen, Frinken, Riesen and Bunke 2015): every node takes its cheapest partner.

Each node of either graph pays its own removal or half of its cheapest substitution; nodes may be chosen by several
others, so no assignment is solved. With c the node cost and D the cost of turning incident edges into each other,

    removal(u) = c(u, eps) + 1/2 \sum incident edges,      share(u, v) = (c(u, v) + w D(u, v)) / 2,
    HED = \sum_u min(removal(u), min_v share(u, v)) + \sum_v min(removal(v), min_u share(u, v)).

* ``admissible``, w = 1/2: a **lower bound**. In an edit path split every edge cost between its two ends and every node
  substitution with its edges between the two nodes; then each node pays at least its term above. Edges between u and
  mapped nodes cost at least D when summed over the edges at u, since the path turns one set of edges into the other.
* published, w = 1: what the public distances of AIDS700nef hold, raised to the difference in size times the cheapest
  removal in the tables. It is **neither a lower nor an upper bound**.

Values are four times the distance, so that they stay whole numbers.
"""

from typing import NamedTuple

import numpy as np

from graphmetric._foundation.compilation import entry, part
from graphmetric.edit_distance._kernels.cold_assignment import (
    ROW_MATCH,
    AssignmentWork,
    Floats,
    allocate_assignment,
    solve_square,
)
from graphmetric.edit_distance._kernels.local_search import MapResults, price_map
from graphmetric.edit_distance._kernels.munkres import ROW_STAR, MunkresWork, allocate_munkres, solve_by_stars
from graphmetric.edit_distance._kernels.packing import EditCostTables, Integers, PackedGraphs, fill_adjacency


class NodeProfiles(NamedTuple):
    """One row for every node of a packed collection, computed once and used for all its pairs."""

    total_degree: Integers
    degree: Integers  # (nodes, codes + 1): incident edges by code; column 0 is not used
    edge_removal: Integers  # deleting (first collection) or inserting (second) all incident edges


def profile_nodes(graphs: PackedGraphs, costs: EditCostTables, inserted: bool) -> NodeProfiles:
    """Profiles of the second collection of a comparison have ``inserted`` set, those of the first have not."""
    n_codes = costs.edge_cost.shape[1]
    n_nodes = len(graphs.node_code)
    profiles = NodeProfiles(
        np.zeros(n_nodes, dtype=np.int64),
        np.zeros((n_nodes, n_codes), dtype=np.int64),
        np.zeros(n_nodes, dtype=np.int64),
    )
    removal = costs.edge_cost[0, 0, :] if inserted else costs.edge_cost[0, :, 0]
    fill_profiles(graphs, costs.edge_reverse, np.ascontiguousarray(removal), profiles)
    return profiles


@entry
def fill_profiles(graphs: PackedGraphs, edge_reverse: Integers, removal: Integers, profiles: NodeProfiles) -> None:
    """Count every edge at both of its ends."""
    for graph in range(len(graphs.node_start) - 1):
        first = graphs.node_start[graph]
        for edge in range(graphs.edge_start[graph], graphs.edge_start[graph + 1]):
            code = graphs.edge_code[edge]
            tail, head = first + graphs.edge_tail[edge], first + graphs.edge_head[edge]
            profiles.total_degree[tail] += 1
            profiles.degree[tail, code] += 1
            profiles.total_degree[head] += 1
            profiles.degree[head, edge_reverse[code]] += 1
            profiles.edge_removal[tail] += removal[code]
            profiles.edge_removal[head] += removal[edge_reverse[code]]


@part
def compare_incident_edges(
    first: PackedGraphs,
    second: PackedGraphs,
    costs: EditCostTables,
    profiles: tuple[NodeProfiles, NodeProfiles],
    i: int,
    j: int,
    difference: Integers,
) -> None:
    """The cheapest way to turn the incident edges of one node into those of another, for all nodes of two graphs.

    Each edge counts in full. It is what an assignment between the two sets of edges costs when all deletions, all
    insertions and all substitutions of unequal codes cost the same; otherwise it takes the cheapest of each and is a
    lower bound. One call for each pair of graphs: arguments with this many arrays are too dear for an inner loop.
    """
    first_node, second_node = first.node_start[i], second.node_start[j]
    n_first, n_second = first.node_start[i + 1] - first_node, second.node_start[j + 1] - second_node
    others = profiles[1].total_degree[second_node : second_node + n_second]
    uniform = costs.uniform_edge
    deletion, insertion, substitution = costs.edge_floor[0, 0], costs.edge_floor[0, 1], costs.edge_floor[0, 2]
    degree, other_degree = profiles[0].degree, profiles[1].degree
    for u in range(n_first):
        total = profiles[0].total_degree[first_node + u]
        if uniform > 0:
            row = difference[u]
            for v in range(len(others)):
                row[v] = uniform * abs(total - others[v])
            continue
        for v in range(n_second):
            common = 0
            for code in range(1, degree.shape[1]):
                common += min(degree[first_node + u, code], other_degree[second_node + v, code])
            surplus, lack = total - common, others[v] - common
            replaced = min(surplus, lack)
            kept_apart = (surplus - replaced) * deletion + (lack - replaced) * insertion
            difference[u, v] = replaced * substitution + kept_apart


class HausdorffWork(NamedTuple):
    """Room for pairs of up to so many nodes."""

    difference: Integers
    column_least: Integers


def allocate_hausdorff(largest_first: int, largest_second: int) -> HausdorffWork:
    """Make room."""
    return HausdorffWork(
        np.zeros((largest_first, largest_second), dtype=np.int64), np.zeros(largest_second, dtype=np.int64)
    )


@entry
def match_hausdorff(
    first: PackedGraphs,
    second: PackedGraphs,
    costs: EditCostTables,
    profiles: tuple[NodeProfiles, NodeProfiles],
    pairs: Integers,
    admissible: bool,
    work: HausdorffWork,
    quadrupled: Integers,
) -> None:
    """Four times the Hausdorff edit distance of each row (i, j) of ``pairs``, into ``quadrupled``."""
    edge_weight = 1 if admissible else 2
    deletion, insertion = least_of(costs.node_delete), least_of(costs.node_insert)
    for p in range(len(pairs)):
        i, j = pairs[p, 0], pairs[p, 1]
        first_start, second_start = first.node_start[i], second.node_start[j]
        n_first, n_second = first.node_start[i + 1] - first_start, second.node_start[j + 1] - second_start
        for v in range(n_second):
            node = second_start + v
            work.column_least[v] = 4 * costs.node_insert[second.node_code[node]] + 2 * profiles[1].edge_removal[node]
        total = sum_rows(first, second, costs, profiles, i, j, edge_weight, work)
        for v in range(n_second):
            total += work.column_least[v]
        if not admissible:
            surplus = n_first - n_second
            total = max(total, 4 * (surplus * deletion if surplus > 0 else -surplus * insertion))
        quadrupled[p] = total


@part
def least_of(values: Integers) -> int:
    """The smallest entry; 0 of none."""
    if len(values) == 0:
        return 0
    least = values[0]
    for value in values:
        least = min(least, value)
    return int(least)


@part
def sum_rows(
    first: PackedGraphs,
    second: PackedGraphs,
    costs: EditCostTables,
    profiles: tuple[NodeProfiles, NodeProfiles],
    i: int,
    j: int,
    edge_weight: int,
    work: HausdorffWork,
) -> int:
    """Cheapest choices of the first graph's nodes, times four; lowers ``column_least`` on the way."""
    first_node, start, end = first.node_start[i], second.node_start[j], second.node_start[j + 1]
    codes, degrees = second.node_code[start:end], profiles[1].total_degree[start:end]
    column_least = work.column_least
    uniform = costs.uniform_edge
    if uniform == 0:
        compare_incident_edges(first, second, costs, profiles, i, j, work.difference)
    total = 0
    for u in range(first.node_start[i + 1] - first_node):
        code = first.node_code[first_node + u]
        substitute, difference = costs.node_substitute[code], work.difference[u]
        degree = profiles[0].total_degree[first_node + u]
        least = 4 * costs.node_delete[code] + 2 * profiles[0].edge_removal[first_node + u]
        for v in range(len(codes)):
            edges = uniform * abs(degree - degrees[v]) if uniform > 0 else difference[v]
            share = 2 * substitute[codes[v]] + edge_weight * edges
            least = min(least, share)
            column_least[v] = min(column_least[v], share)
        total += least
    return total


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
