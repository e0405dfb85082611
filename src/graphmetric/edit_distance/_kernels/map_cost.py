"""The price of a node map that may leave nodes of either graph unmapped, in the direction in which it was asked."""

from typing import NamedTuple

from graphmetric.compiling import part
from graphmetric.edit_distance._kernels.packing import EditCostTables, Integers, PackedGraphs


class MapResults(NamedTuple):
    """One row for each pair; ``node_map`` gives the node of the second graph for every node of the first, or -1."""

    upper: Integers
    node_map: Integers


@part
def price_map(
    first: PackedGraphs,
    second: PackedGraphs,
    costs: EditCostTables,
    i: int,
    j: int,
    node_map: Integers,
    second_adjacency: Integers,
) -> int:
    """Cost of the edit path from graph i of ``first`` to graph j of ``second`` that the map implies; -1 deletes a node.

    Everything in the second graph is inserted to begin with; what is the image of something was not inserted after
    all. Only the adjacency matrix of the second graph is needed for that.
    """
    first_node, second_node = first.node_start[i], second.node_start[j]
    edge_cost = costs.edge_cost[0]
    total = 0
    for v in range(second_node, second.node_start[j + 1]):
        total += costs.node_insert[second.node_code[v]]
    for edge in range(second.edge_start[j], second.edge_start[j + 1]):
        total += edge_cost[0, second.edge_code[edge]]
    for u in range(first.node_start[i + 1] - first_node):
        code = first.node_code[first_node + u]
        if node_map[u] < 0:
            total += costs.node_delete[code]
        else:
            image = second.node_code[second_node + node_map[u]]
            total += costs.node_substitute[code, image] - costs.node_insert[image]
    for edge in range(first.edge_start[i], first.edge_start[i + 1]):
        tail, head = node_map[first.edge_tail[edge]], node_map[first.edge_head[edge]]
        image = second_adjacency[0, tail, head] if tail >= 0 and head >= 0 else 0
        total += edge_cost[first.edge_code[edge], image] - edge_cost[0, image]
    return total
