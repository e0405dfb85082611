"""Bring one pair of a packed collection into the workspace."""

from graphmetric._foundation.compilation import fragment, part
from graphmetric.edit_distance._kernels.packing import EditCostTables, PackedGraphs, fill_adjacency
from graphmetric.edit_distance._kernels.workspace import (
    BASE_COST,
    CHEAPEST_DELETE,
    HAS_TWINS,
    N_EDGE_CODES,
    N_EDGES,
    N_NULL,
    N_QUERY,
    N_TARGET,
    QUERY,
    STEP,
    SWAPPED,
    TARGET,
    UNIFORM_EDGE,
    Pair,
)


@part
def load_pair(first: PackedGraphs, second: PackedGraphs, costs: EditCostTables, i: int, j: int, pair: Pair) -> None:
    """Make graph i of ``first`` and graph j of ``second`` query and target, the smaller one being the query.

    Of graphs with equally many nodes the one with fewer edges: that takes about 6 % fewer expansions.
    """
    n_first = first.node_start[i + 1] - first.node_start[i]
    n_second = second.node_start[j + 1] - second.node_start[j]
    m_first = first.edge_start[i + 1] - first.edge_start[i]
    m_second = second.edge_start[j + 1] - second.edge_start[j]
    swapped = 1 if n_first > n_second or (n_first == n_second and m_first > m_second) else 0
    pair.sizes[SWAPPED] = swapped
    queries, query = (second, j) if swapped == 1 else (first, i)
    targets, target = (first, i) if swapped == 1 else (second, j)
    place_graphs(queries, targets, costs, query, target, pair)
    place_costs(first, second, costs, i, j, pair)
    sum_insertions(targets, target, pair)


@fragment
def place_graphs(
    queries: PackedGraphs, targets: PackedGraphs, costs: EditCostTables, query: int, target: int, pair: Pair
) -> None:
    """Adjacency, twins and the edge list of the query."""
    query_start, target_start = queries.node_start[query], targets.node_start[target]
    n_query, n_target = queries.node_start[query + 1] - query_start, targets.node_start[target + 1] - target_start
    fill_adjacency(queries, query, costs.edge_reverse, pair.adjacency, QUERY)
    fill_adjacency(targets, target, costs.edge_reverse, pair.adjacency, TARGET)
    for u in range(n_query):
        pair.adjacency[QUERY, u, n_query] = 0
        pair.adjacency[QUERY, n_query, u] = 0
    pair.adjacency[QUERY, n_query, n_query] = 0
    has_twins = 0
    for u in range(n_query):
        pair.twin[QUERY, u] = queries.node_twin[query_start + u]
        has_twins |= pair.twin[QUERY, u] != u
    for v in range(n_target):
        pair.twin[TARGET, v] = targets.node_twin[target_start + v]
        has_twins |= pair.twin[TARGET, v] != v
    first_edge = queries.edge_start[query]
    n_edges = queries.edge_start[query + 1] - first_edge
    for edge in range(n_edges):
        pair.edges[edge, 0] = queries.edge_tail[first_edge + edge]
        pair.edges[edge, 1] = queries.edge_head[first_edge + edge]
        pair.edges[edge, 2] = queries.edge_code[first_edge + edge]
    pair.sizes[N_QUERY] = n_query
    pair.sizes[N_TARGET] = n_target
    pair.sizes[N_EDGES] = n_edges
    pair.sizes[HAS_TWINS] = has_twins


@fragment
def place_costs(first: PackedGraphs, second: PackedGraphs, costs: EditCostTables, i: int, j: int, pair: Pair) -> None:
    """Node costs of the pair, read in the direction query to target, and the edge tables of that direction."""
    swapped = pair.sizes[SWAPPED]
    n_query, n_target = pair.sizes[N_QUERY], pair.sizes[N_TARGET]
    needs_deletion = False
    for u in range(n_query):
        for v in range(n_target):
            a, b = (v, u) if swapped == 1 else (u, v)
            code_a = first.node_code[first.node_start[i] + a]
            code_b = second.node_code[second.node_start[j] + b]
            cost = costs.node_substitute[code_a, code_b]
            pair.node_cost[u, v] = cost
            needs_deletion |= cost > costs.node_delete[code_a] + costs.node_insert[code_b]
    for v in range(n_target):
        if swapped == 1:
            pair.node_cost[n_query, v] = costs.node_delete[first.node_code[first.node_start[i] + v]]
        else:
            pair.node_cost[n_query, v] = costs.node_insert[second.node_code[second.node_start[j] + v]]
    for a in range(costs.edge_cost.shape[1]):
        for b in range(costs.edge_cost.shape[1]):
            pair.edge_cost[a, b] = costs.edge_cost[swapped, a, b]
    for k in range(3):
        pair.sizes[CHEAPEST_DELETE + k] = costs.edge_floor[swapped, k]
    pair.sizes[N_EDGE_CODES] = costs.edge_cost.shape[1] - 1
    pair.sizes[UNIFORM_EDGE] = costs.uniform_edge
    pair.sizes[STEP] = costs.step
    pair.sizes[N_NULL] = 0
    if needs_deletion:
        for u in range(n_query):
            if swapped == 1:
                deletion = costs.node_insert[second.node_code[second.node_start[j] + u]]
            else:
                deletion = costs.node_delete[first.node_code[first.node_start[i] + u]]
            for v in range(n_target, n_target + n_query):
                pair.node_cost[u, v] = deletion
        add_null_nodes(pair)


@fragment
def add_null_nodes(pair: Pair) -> None:
    """Pad the target with as many null nodes as the query has nodes."""
    n_query, n_target = pair.sizes[N_QUERY], pair.sizes[N_TARGET]
    for v in range(n_target, n_target + n_query):
        pair.node_cost[n_query, v] = 0
        pair.twin[TARGET, v] = n_target
        for w in range(n_target + n_query):
            pair.adjacency[TARGET, v, w] = 0
            pair.adjacency[TARGET, w, v] = 0
    pair.sizes[N_TARGET] = n_target + n_query
    pair.sizes[N_NULL] = n_query
    pair.sizes[HAS_TWINS] = 1


@fragment
def sum_insertions(targets: PackedGraphs, target: int, pair: Pair) -> None:
    """Cost of inserting the whole target: where the price of a map starts."""
    total = 0
    for v in range(pair.sizes[N_TARGET]):
        total += pair.node_cost[pair.sizes[N_QUERY], v]
    for edge in range(targets.edge_start[target], targets.edge_start[target + 1]):
        total += pair.edge_cost[0, targets.edge_code[edge]]
    pair.sizes[BASE_COST] = total
