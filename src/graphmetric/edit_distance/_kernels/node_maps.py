"""Node maps: what they cost, how they are read and written, and how local search improves them.

A map may leave nodes of either graph unmapped. Pricing by the true costs works on packed graphs, in the direction in
which the pair was asked for; everything else works on the pair in the workspace.

The assignment over branch costs gives a lower bound and a first map. Local search exchanges images of that map until no
exchange helps. Every further unit of effort rotates the images of a few random nodes of the best map and descends
again; the outcome is kept unless it is worse. So more effort never gives a worse map. Where the cost meets the lower
bound the search stops: the value is exact. It is the method of choice for graphs too large for the exact search.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import entry, fragment, hot_part, part
from graphmetric.edit_distance._kernels.branch_bound import match_anyhow, solve_root_assignment
from graphmetric.edit_distance._kernels.packing import Integers, PackedGraphs, PackedProblem
from graphmetric.edit_distance._kernels.workspace import (
    BASE_COST,
    BEST,
    BLOCKED,
    BOUND,
    LOWER_SO_FAR,
    MATCH,
    MODULUS,
    N_EDGES,
    N_NULL,
    N_QUERY,
    N_TARGET,
    NODE,
    QUERY,
    REFINED,
    ROOT,
    STOP,
    SWAPPED,
    TARGET,
    TRIAL,
    UNIFORM_EDGE,
    UPPER,
    UPPER_SO_FAR,
    Levels,
    Pair,
    Results,
    TreeProgress,
    Workspace,
    load_pair,
    note_residue,
    round_up,
)

Floats = NDArray[np.float64]
RandomState = NDArray[np.uint64]  # one word
SHORTEST_ROTATION, LONGEST_ROTATION = 3, 6  # exchanges; the local search would undo fewer


class TrueCosts(NamedTuple):
    """Costs by code as they were given, before they become whole numbers; infinite where an edit is forbidden."""

    node_substitute: Floats  # (codes of the first collection, codes of the second)
    node_delete: Floats
    node_insert: Floats
    edge_cost: Floats  # (codes + 1, codes + 1), row and column 0 are "no edge"
    edge_reverse: Integers


def allocate_random(seed: int) -> RandomState:
    """State of the generator; a pair draws the same numbers in whatever batch it stands."""
    return np.array([seed, 0], dtype=np.uint64)


@entry
def bound_branches(problem: PackedProblem, pairs: Integers, work: Workspace, results: Results) -> None:
    """The branch lower bound, and the cost and map of its assignment, for rows (i, j) of ``pairs``.

    Told to stop, this kernel and all that have a workspace finish the pair they are at and leave the rest untouched.
    """
    for p in range(len(pairs)):
        if p > 0 and work.progress.signals[STOP] > 0:
            return
        load_pair(problem, pairs[p, 0], pairs[p, 1], work.pair)
        lower = solve_root(work)
        write_bounds(work, results, p, lower)


@entry
def refine_maps(
    problem: PackedProblem, pairs: Integers, effort: int, random: RandomState, work: Workspace, results: Results
) -> None:
    """Bounds and maps for rows (i, j) of ``pairs``."""
    status = work.progress.status
    for p in range(len(pairs)):
        if p > 0 and work.progress.signals[STOP] > 0:
            return
        load_pair(problem, pairs[p, 0], pairs[p, 1], work.pair)
        lower = solve_root(work)
        keep_trial(work, swap_trial(work, lower, status[UPPER]))
        seed_pair(random, pairs[p, 0], pairs[p, 1])
        shake_best(work, random, effort, lower)
        write_bounds(work, results, p, lower)


@entry
def shake_maps(
    problem: PackedProblem, pairs: Integers, effort: int, random: RandomState, work: Workspace, results: Results
) -> None:
    """As `refine_maps`, from the maps and lower bounds that ``results`` holds already, found by another method."""
    for p in range(len(pairs)):
        if p > 0 and work.progress.signals[STOP] > 0:
            return
        load_pair(problem, pairs[p, 0], pairs[p, 1], work.pair)
        read_map(work, results.node_map[p])
        keep_trial(work, evaluate_map(work.pair, work.progress.maps))
        seed_pair(random, pairs[p, 0], pairs[p, 1])
        shake_best(work, random, effort, results.lower[p])
        write_bounds(work, results, p, results.lower[p])


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
def solve_root(work: Workspace) -> int:
    """Solve the assignment of the loaded pair; its map becomes the best and the trial map. Returns the lower bound."""
    levels, signals = work.levels, work.progress.signals
    if not solve_root_assignment(work, BLOCKED):
        match_anyhow(levels, ROOT, work.pair.sizes[N_QUERY], work.pair.sizes[N_TARGET])
    cost = price_root(work)
    keep_trial(work, cost)
    lower = round_up(levels.state[0, BOUND], cost, levels.state[0, MODULUS])
    signals[LOWER_SO_FAR] = lower
    signals[UPPER_SO_FAR] = cost
    return lower


@part
def swap_trial(work: Workspace, lower: int, cost: int) -> int:
    """Improve the trial map by exchanging images, down to the lower bound at most; returns its cost."""
    list_inserted(work)
    cost = improve_by_swaps(work.pair, work.progress.maps, work.scratch.agreement, work.progress.signals, cost, lower)
    for u in range(work.pair.sizes[N_QUERY]):
        work.progress.maps[TRIAL, u] = work.progress.maps[REFINED, u]
    return cost


@part
def shake_best(work: Workspace, random: RandomState, effort: int, lower: int) -> None:
    """Shake the best map and descend from there, ``effort`` times; keeps every outcome that is not worse."""
    status = work.progress.status
    for _ in range(effort if work.pair.sizes[N_QUERY] > 1 else 0):
        if status[UPPER] <= lower or work.progress.signals[STOP] > 0:
            break
        rotate_images(work, random)
        cost = swap_trial(work, lower, evaluate_map(work.pair, work.progress.maps))
        if cost <= status[UPPER]:
            keep_trial(work, cost)


@fragment
def seed_pair(random: RandomState, i: int, j: int) -> None:
    """Start the generator of a pair from the seed and its two numbers."""
    mixed = random[0] + np.uint64(i) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(j) * np.uint64(0xC2B2AE3D27D4EB4F)
    random[1] = mixed | np.uint64(1)


@fragment
def draw_below(random: RandomState, bound: int) -> int:
    """A random number from 0 to bound - 1 (xorshift; the remainder is uniform enough for small bounds)."""
    word = random[1]
    word ^= word << np.uint64(13)
    word ^= word >> np.uint64(7)
    word ^= word << np.uint64(17)
    random[1] = word
    return int((word >> np.uint64(33)) % np.uint64(bound))


@fragment
def rotate_images(work: Workspace, random: RandomState) -> None:
    """The trial map: the best map with the images of a few random positions passed on in a circle."""
    maps, n_query = work.progress.maps, work.pair.sizes[N_QUERY]
    for u in range(n_query):
        maps[TRIAL, u] = maps[BEST, u]
    list_inserted(work)
    position = draw_below(random, n_query)
    for _ in range(SHORTEST_ROTATION + draw_below(random, LONGEST_ROTATION - SHORTEST_ROTATION + 1)):
        other = draw_below(random, work.pair.sizes[N_TARGET])
        maps[REFINED, position], maps[REFINED, other] = maps[REFINED, other], maps[REFINED, position]
    for u in range(n_query):
        maps[TRIAL, u] = maps[REFINED, u]


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


@fragment
def complete_map(pair: Pair, levels: Levels, progress: TreeProgress, depth: int) -> None:
    """Extend the partial map by the assignment of the level."""
    for i in range(1, pair.sizes[N_QUERY] - depth + 1):
        progress.maps[TRIAL, levels.rows[depth, NODE, i]] = levels.columns[depth, NODE, levels.rows[depth, MATCH, i]]


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


@fragment
def price_root(work: Workspace) -> int:
    """Make the assignment of the root the trial map, and note which costs are attainable; returns its cost."""
    complete_map(work.pair, work.levels, work.progress, ROOT)
    cost = evaluate_map(work.pair, work.progress.maps)
    note_residue(work.pair, work.levels, ROOT, cost)
    return cost


@fragment
def keep_trial(work: Workspace, cost: int) -> None:
    """Make the trial map the best one."""
    work.progress.status[UPPER] = cost
    work.progress.signals[UPPER_SO_FAR] = cost
    for u in range(work.pair.sizes[N_QUERY]):
        work.progress.maps[BEST, u] = work.progress.maps[TRIAL, u]


@fragment
def write_bounds(work: Workspace, results: Results, p: int, lower: int) -> None:
    """Write the lower bound, the best map and its cost."""
    results.lower[p] = lower
    results.upper[p] = work.progress.status[UPPER]
    write_map(work, results.node_map[p])


@fragment
def write_map(work: Workspace, node_map: Integers) -> None:
    """Write the best map of the loaded pair, in the direction in which the pair was asked for."""
    pair = work.pair
    n_target = pair.sizes[N_TARGET] - pair.sizes[N_NULL]
    for u in range(len(node_map)):
        node_map[u] = -1
    for u in range(pair.sizes[N_QUERY]):
        v = work.progress.maps[BEST, u]
        if v < n_target:
            if pair.sizes[SWAPPED] == 1:
                node_map[v] = u
            else:
                node_map[u] = v


@fragment
def read_map(work: Workspace, node_map: Integers) -> None:
    """Make the map of the pair, in the direction in which it was asked, the trial map; null nodes take the deleted."""
    pair, maps = work.pair, work.progress.maps
    n_query, null_node = pair.sizes[N_QUERY], pair.sizes[N_TARGET] - pair.sizes[N_NULL]
    for u in range(n_query):
        maps[TRIAL, u] = -1
    for u in range(len(node_map)):
        if node_map[u] >= 0 and pair.sizes[SWAPPED] == 1:
            maps[TRIAL, node_map[u]] = u
        elif node_map[u] >= 0:
            maps[TRIAL, u] = node_map[u]
    for u in range(n_query):
        if maps[TRIAL, u] < 0:
            maps[TRIAL, u] = null_node
            null_node += 1


@fragment
def list_inserted(work: Workspace) -> None:
    """The refined map: the trial map with the nodes that it leaves to be inserted behind."""
    maps, n_query, n_target = work.progress.maps, work.pair.sizes[N_QUERY], work.pair.sizes[N_TARGET]
    is_image = work.scratch.agreement[0]
    for v in range(n_target):
        is_image[v] = 0
    for u in range(n_query):
        maps[REFINED, u] = maps[TRIAL, u]
        is_image[maps[TRIAL, u]] = 1
    position = n_query
    for v in range(n_target):
        if is_image[v] == 0:
            maps[REFINED, position] = v
            position += 1


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
    """Make every exchange that lowers the cost as soon as it is found, because pricing it took linear time."""
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
