r"""Hausdorff edit distance (Fischer, Suen, Frinken, Riesen and Bunke 2015): every node takes its cheapest partner.

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

from graphmetric.compiling import entry, part
from graphmetric.edit_distance._kernels.node_profile import NodeProfiles, compare_incident_edges
from graphmetric.edit_distance._kernels.packing import EditCostTables, Integers, PackedGraphs


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
