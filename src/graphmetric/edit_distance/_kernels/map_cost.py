"""The price of a node map that may leave nodes of either graph unmapped, in the direction in which it was asked."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import entry, part
from graphmetric.edit_distance._kernels.packing import EditCostTables, Integers, PackedGraphs

Floats = NDArray[np.float64]


class TrueCosts(NamedTuple):
    """Costs by code as they were given, before they become whole numbers; infinite where an edit is forbidden."""

    node_substitute: Floats  # (codes of the first collection, codes of the second)
    node_delete: Floats
    node_insert: Floats
    edge_cost: Floats  # (codes + 1, codes + 1), row and column 0 are "no edge"
    edge_reverse: Integers


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


@entry
def price_maps(
    first: PackedGraphs,
    second: PackedGraphs,
    costs: TrueCosts,
    pairs: Integers,
    node_map: Integers,
    work: tuple[Integers, Integers],
    totals: Floats,
) -> None:
    """What the maps of rows (i, j) of ``pairs`` cost by the true costs, into ``totals``.

    Nothing is ever subtracted, so that large costs do not swallow small ones, and the rounding of the sum is carried
    along (Neumaier 1974). Edges of a graph must be listed by rising ends, (small, large). ``work`` has room for the
    nodes and for the edges of the largest second graph.
    """
    preimage, is_image = work
    for p in range(len(pairs)):
        i, j = pairs[p, 0], pairs[p, 1]
        first_node, second_node = first.node_start[i], second.node_start[j]
        n_second = second.node_start[j + 1] - second_node
        edges, others = range(first.edge_start[i], first.edge_start[i + 1]), second.edge_start[j]
        for v in range(n_second):
            preimage[v] = -1
        for edge in range(second.edge_start[j + 1] - others):
            is_image[edge] = 0
        total, lost = 0.0, 0.0
        for u in range(first.node_start[i + 1] - first_node):
            code, v = first.node_code[first_node + u], node_map[p, u]
            if v < 0:
                total, lost = add_cost(total, lost, costs.node_delete[code])
            else:
                preimage[v] = u
                total, lost = add_cost(total, lost, costs.node_substitute[code, second.node_code[second_node + v]])
        for v in range(n_second):
            if preimage[v] < 0:
                total, lost = add_cost(total, lost, costs.node_insert[second.node_code[second_node + v]])
        for edge in edges:
            tail, head = node_map[p, first.edge_tail[edge]], node_map[p, first.edge_head[edge]]
            image = find_edge(second, j, min(tail, head), max(tail, head)) if min(tail, head) >= 0 else -1
            code = 0
            if image >= 0:
                is_image[image - others] = 1
                code = second.edge_code[image]
                if second.edge_tail[image] != tail:
                    code = costs.edge_reverse[code]
            total, lost = add_cost(total, lost, costs.edge_cost[first.edge_code[edge], code])
        for edge in range(others, second.edge_start[j + 1]):
            if is_image[edge - others] == 0:
                total, lost = add_cost(total, lost, costs.edge_cost[0, second.edge_code[edge]])
        totals[p] = total + lost


@part
def add_cost(total: float, lost: float, cost: float) -> tuple[float, float]:
    """Add a cost to a sum, and what the rounding of the sum loses to ``lost``."""
    grown = total + cost
    if grown == np.inf:
        return grown, 0.0
    return grown, lost + (total - grown + cost if total >= cost else cost - grown + total)


@part
def find_edge(graphs: PackedGraphs, graph: int, tail: int, head: int) -> int:
    """The place of the edge between two nodes of a graph, the smaller given first; -1 if there is none."""
    low, high = graphs.edge_start[graph], graphs.edge_start[graph + 1]
    while low < high:
        middle = (low + high) // 2
        if (graphs.edge_tail[middle], graphs.edge_head[middle]) < (tail, head):
            low = middle + 1
        else:
            high = middle
    found = low < graphs.edge_start[graph + 1] and graphs.edge_tail[low] == tail and graphs.edge_head[low] == head
    return low if found else -1
