"""The cost of a complete node map, and its improvement by exchanging two images.

The price of a node map that may leave nodes of either graph unmapped, in the direction in which it was asked.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import entry, fragment, hot_part, part
from graphmetric.edit_distance._kernels.packing import EditCostTables, Integers, PackedGraphs
from graphmetric.edit_distance._kernels.workspace import (
    BASE_COST,
    N_EDGES,
    N_QUERY,
    N_TARGET,
    QUERY,
    REFINED,
    STOP,
    TARGET,
    TRIAL,
    UNIFORM_EDGE,
    Pair,
)

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


@hot_part
def evaluate_map(pair: Pair, maps: Integers) -> int:
    """Cost of the edit path of the trial map, not doubled.

    ``BASE_COST`` inserts every node and edge of the target; mapping something replaces its insertion. Only edges of
    the query need a look: where it has none, the image is inserted either way.
    """
    n_query = pair.sizes[N_QUERY]
    total = pair.sizes[BASE_COST]
    for u in range(n_query):
        total += pair.node_cost[u, maps[TRIAL, u]] - pair.node_cost[n_query, maps[TRIAL, u]]
    for edge in range(pair.sizes[N_EDGES]):
        image = pair.adjacency[TARGET, maps[TRIAL, pair.edges[edge, 0]], maps[TRIAL, pair.edges[edge, 1]]]
        total += pair.edge_cost[pair.edges[edge, 2], image] - pair.edge_cost[0, image]
    return total


@part
def improve_by_swaps(
    pair: Pair, maps: Integers, agreement: Integers, signals: Integers, cost: int, good_enough: int
) -> int:
    """Exchange two images while that lowers the cost; stops at ``good_enough`` or when told to. Returns the cost.

    ``maps[REFINED]`` covers all target nodes: positions beyond the query hold the nodes to be inserted, so exchanging a
    query node with one of them moves it to a free image. ``agreement`` is scratch for a square matrix.
    """
    before = cost + 1
    while good_enough < cost < before:
        before = cost
        if pair.sizes[UNIFORM_EDGE] > 0:
            cost += make_best_uniform_swap(pair, maps, agreement, signals)
        else:
            cost += sweep_coded_swaps(pair, maps, signals)
    return cost


@fragment
def make_best_uniform_swap(pair: Pair, maps: Integers, agreement: Integers, signals: Integers) -> int:
    """Make the exchange that lowers the cost most; returns the change, 0 if there is none."""
    count_agreement(pair, maps, agreement, signals)
    best, best_u, best_w = 0, 0, 0
    for u in range(pair.sizes[N_QUERY]):
        if signals[STOP] > 0:
            return 0  # the counts may be incomplete
        for w in range(u + 1, pair.sizes[N_TARGET]):
            gain = price_uniform_swap(pair, maps, agreement, u, w)
            if gain < best:
                best, best_u, best_w = gain, u, w
    maps[REFINED, best_u], maps[REFINED, best_w] = maps[REFINED, best_w], maps[REFINED, best_u]
    return best


@fragment
def sweep_coded_swaps(pair: Pair, maps: Integers, signals: Integers) -> int:
    """Make every exchange that lowers the cost when it is seen: its price took linear time, too dear to drop."""
    total = 0
    for u in range(pair.sizes[N_QUERY]):
        if signals[STOP] > 0:
            break
        for w in range(u + 1, pair.sizes[N_TARGET]):
            gain = price_coded_swap(pair, maps, u, w)
            if gain < 0:
                maps[REFINED, u], maps[REFINED, w] = maps[REFINED, w], maps[REFINED, u]
                total += gain
    return total


@fragment
def count_agreement(pair: Pair, maps: Integers, agreement: Integers, signals: Integers) -> None:
    """agreement[u, w]: neighbours of u whose images are adjacent to the image of w."""
    for u in range(pair.sizes[N_TARGET]):
        for w in range(pair.sizes[N_TARGET]):
            agreement[u, w] = 0
    for edge in range(pair.sizes[N_EDGES]):
        if signals[STOP] > 0:
            break
        u, t = pair.edges[edge, 0], pair.edges[edge, 1]
        image_u, image_t = maps[REFINED, u], maps[REFINED, t]
        for w in range(pair.sizes[N_TARGET]):
            image_w = maps[REFINED, w]
            agreement[u, w] += pair.adjacency[TARGET, image_t, image_w]
            agreement[t, w] += pair.adjacency[TARGET, image_u, image_w]


@fragment
def price_uniform_swap(pair: Pair, maps: Integers, agreement: Integers, u: int, w: int) -> int:
    """Change of the cost when u and w exchange their images, from the agreement counts."""
    nodes, image_u, image_w = pair.node_cost, maps[REFINED, u], maps[REFINED, w]
    row_w = min(w, pair.sizes[N_QUERY])
    lost = agreement[u, u] + agreement[w, w] - agreement[u, w] - agreement[w, u]
    # an edge uw on an edge stays one, but the sums above count it as lost twice
    kept = pair.adjacency[QUERY, u, row_w] * pair.adjacency[TARGET, image_u, image_w]
    node_gain = nodes[u, image_w] - nodes[u, image_u] + nodes[row_w, image_u] - nodes[row_w, image_w]
    return node_gain + 2 * pair.sizes[UNIFORM_EDGE] * (lost - 2 * kept)


@fragment
def price_coded_swap(pair: Pair, maps: Integers, u: int, w: int) -> int:
    """Change of the cost when u and w exchange their images, for any edge costs."""
    n_query = pair.sizes[N_QUERY]
    image_u, image_w = maps[REFINED, u], maps[REFINED, w]
    row_w = min(w, n_query)
    nodes, adjacency, edges = pair.node_cost, pair.adjacency, pair.edge_cost
    gain = nodes[u, image_w] - nodes[u, image_u] + nodes[row_w, image_u] - nodes[row_w, image_w]
    if w < n_query:
        gain += edges[adjacency[QUERY, u, w], adjacency[TARGET, image_w, image_u]]
        gain -= edges[adjacency[QUERY, u, w], adjacency[TARGET, image_u, image_w]]
    for t in range(n_query):
        if t == u or t == w:
            continue
        before, after = adjacency[TARGET, maps[REFINED, t], image_u], adjacency[TARGET, maps[REFINED, t], image_w]
        if before == after:
            continue
        code_u, code_w = adjacency[QUERY, t, u], adjacency[QUERY, t, row_w]
        gain += edges[code_u, after] - edges[code_u, before] + edges[code_w, before] - edges[code_w, after]
    return gain
