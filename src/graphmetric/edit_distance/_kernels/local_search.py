"""The cost of a complete node map, and its improvement by exchanging two images."""

from graphmetric.compiling import fragment, hot_part, part
from graphmetric.edit_distance._kernels.packing import Integers
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
