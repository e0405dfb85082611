r"""Beam search over node maps, level by level: query nodes are mapped in a fixed order, the best partial maps survive.

A partial map is judged by the cost it has incurred plus an estimate of the rest, everything doubled:

    2 (nodes and edges among mapped nodes) + \sum_{u unmapped} r_u + \sum_{v unused} s_v + \sum_{x mapped} |open(x)|,

where r and s are the duals of the assignment over branch costs, solved once for the pair, and open(x) is what the
edges from x to unmapped nodes cost more or less than those of its image. Each edge between a mapped and an unmapped
node is thereby seen from both ends, half each, so with one cost for all edge edits the sum is a lower bound on
every completion. The search starts from the map of that assignment, improved by exchanging images, as its incumbent.

Differs from the paper of Neuhaus, Riesen and Bunke (2006), which takes the incurred cost alone and keeps maps of
different depth in one list: that is ``published-beam`` of the baselines. The result is an **upper bound**, and not
above the incumbent.
"""

from typing import NamedTuple

import numpy as np

from graphmetric._foundation.compilation import entry, fragment, part
from graphmetric.edit_distance._kernels.node_maps import (
    evaluate_map,
    keep_trial,
    solve_root,
    swap_trial,
    write_bounds,
)
from graphmetric.edit_distance._kernels.packing import Integers, PackedProblem, integers
from graphmetric.edit_distance._kernels.workspace import (
    BEST,
    BOUND,
    DUAL,
    N_QUERY,
    N_TARGET,
    QUERY,
    STOP,
    TARGET,
    TRIAL,
    UPPER,
    Pair,
    Results,
    Workspace,
    load_pair,
)

# Fields of BeamWork.plan, by position in the order
ORDER, OPEN_EDGES, LINKED, DEGREE = range(4)
# First index of BeamWork.states
IMAGE, OPEN, USED = range(3)
# Fields of BeamWork.candidates and BeamWork.kept
COST, PARENT, IMAGE_NODE, ESTIMATE, OPEN_SUM = range(5)

INDEX_BITS = 21  # low bits of a key on the heap, the number of the candidate; the score is above them
SCORE_BITS = 41  # bits for a score; larger scores lose their last bits in keys
NO_KEY = np.int64((1 << 63) - 1)


class BeamWork(NamedTuple):
    """Two generations of partial maps and the candidates for the next one."""

    plan: Integers
    query: Integers  # adjacency of the query in the order of the plan
    removal: Integers  # by target node: inserting all its edges
    states: Integers  # (generation, field, map, position or target node)
    kept: Integers  # (map, field): the maps of the current generation
    candidates: Integers  # (candidate, field): the same for their extensions
    heap: Integers  # keys of the best candidates, the worst on top


def allocate_beam(width: int, smaller: int, larger: int) -> BeamWork:
    """Room for ``width`` maps between graphs of these sizes; null nodes count as nodes of the larger graph.

    The width times the larger number of nodes must stay below two million, the range of a candidate's number.
    """
    n = larger + 1

    return BeamWork(
        integers(4, n),
        integers(smaller + 1, smaller + 1),
        integers(n),
        integers(2, 3, width, n),
        integers(width, 5),
        integers(width * n, 5),
        integers(width),
    )


@entry
def search_beam(
    problem: PackedProblem, pairs: Integers, width: int, work: Workspace, beam: BeamWork, results: Results
) -> None:
    """Bounds and maps for rows (i, j) of ``pairs``; ``width`` is at most that of ``beam``."""
    for p in range(len(pairs)):
        if p > 0 and work.progress.signals[STOP] > 0:
            return
        load_pair(problem, pairs[p, 0], pairs[p, 1], work.pair)
        lower = solve_root(work)
        keep_trial(work, swap_trial(work, lower, work.progress.status[UPPER]))
        if work.progress.status[UPPER] > lower:
            search_levels(work, beam, width, lower)
        write_bounds(work, results, p, lower)


@part
def search_levels(work: Workspace, beam: BeamWork, width: int, lower: int) -> None:
    """Advance all maps of a generation by one query node, until every query node is mapped or no map is left.

    When it is told to stop, it leaves the incumbent as it is.
    """
    n_query = work.pair.sizes[N_QUERY]
    plan_order(work, beam)
    beam.kept[0, COST] = 0
    beam.kept[0, OPEN_SUM] = 0
    beam.kept[0, ESTIMATE] = work.levels.state[0, BOUND]
    for v in range(work.pair.sizes[N_TARGET]):
        beam.states[0, USED, 0, v] = 0
    n_maps = 1
    for position in range(n_query):
        generation = position % 2
        n_candidates, n_kept = 0, 0
        for parent in range(n_maps):
            if work.progress.signals[STOP] > 0:
                return
            n_candidates, n_kept = list_candidates(
                work, beam, generation, parent, position, n_candidates, n_kept, width
            )
        n_maps = n_kept
        for index in range(n_maps):
            adopt_candidate(work, beam, generation, index, position)
    for index in range(n_maps):
        offer_map(work, beam, n_query % 2, index)
    for u in range(n_query):
        work.progress.maps[TRIAL, u] = work.progress.maps[BEST, u]
    cost = work.progress.status[UPPER]
    if cost > lower:
        keep_trial(work, swap_trial(work, lower, cost))


@fragment
def plan_order(work: Workspace, beam: BeamWork) -> None:
    """Order the query: next is the node with most neighbours before it, then most edges. Sums up edge costs as well."""
    pair, plan = work.pair, beam.plan
    n_query, n_target = pair.sizes[N_QUERY], pair.sizes[N_TARGET]
    for v in range(n_target):
        beam.removal[v] = 0
        for w in range(n_target):
            beam.removal[v] += pair.edge_cost[0, pair.adjacency[TARGET, v, w]]
    for u in range(n_query):
        plan[ORDER, u] = u
        plan[LINKED, u] = 0
        plan[DEGREE, u] = 0
        for other in range(n_query):
            plan[DEGREE, u] += pair.adjacency[QUERY, u, other] > 0
    for position in range(n_query):
        best, best_rank = position, -1
        for later in range(position, n_query):
            rank = plan[LINKED, plan[ORDER, later]] * n_query + plan[DEGREE, plan[ORDER, later]]
            if rank > best_rank:
                best, best_rank = later, rank
        plan[ORDER, position], plan[ORDER, best] = plan[ORDER, best], plan[ORDER, position]
        u = plan[ORDER, position]
        plan[OPEN_EDGES, position] = 0
        for other in range(n_query):
            code = pair.adjacency[QUERY, u, plan[ORDER, other]]
            plan[LINKED, plan[ORDER, other]] += code > 0
            if other > position:
                plan[OPEN_EDGES, position] += pair.edge_cost[code, 0]
    for position in range(n_query):
        for other in range(n_query):
            beam.query[position, other] = pair.adjacency[QUERY, plan[ORDER, position], plan[ORDER, other]]


@part
def list_candidates(
    work: Workspace,
    beam: BeamWork,
    generation: int,
    parent: int,
    position: int,
    n_candidates: int,
    n_kept: int,
    width: int,
) -> tuple[int, int]:
    """Score every extension of a map and put the ``width`` best on the heap; returns both counts, updated."""
    pair, states, candidates, heap = work.pair, beam.states, beam.candidates, beam.heap
    adjacency, edge_cost, columns = pair.adjacency, pair.edge_cost, work.levels.columns
    u, open_edges = beam.plan[ORDER, position], beam.plan[OPEN_EDGES, position]
    parent_cost, parent_open = beam.kept[parent, COST], beam.kept[parent, OPEN_SUM]
    rest = beam.kept[parent, ESTIMATE] - work.levels.rows[0, DUAL, u + 1]
    limit, shift = 2 * work.progress.status[UPPER], 0
    while limit >> shift >= 1 << SCORE_BITS:
        shift += 1
    worst = heap[0] if n_kept == width else NO_KEY
    for v in range(pair.sizes[N_TARGET]):
        cost, estimate = parent_cost + pair.node_cost[u, v], rest - columns[0, DUAL, v]
        # an edge that does not match raises the score: its cost counts twice, the edges it closes only once
        score = 2 * cost + estimate + parent_open
        if states[generation, USED, parent, v] == 1 or score >= limit or (score >> shift) << INDEX_BITS >= worst:
            continue
        if has_free_twin_before(pair, states, generation, parent, v):
            continue
        open_sum, open_here = parent_open, open_edges - beam.removal[v]
        for earlier in range(position):
            code = beam.query[position, earlier]
            image = adjacency[TARGET, v, states[generation, IMAGE, parent, earlier]]
            open_here += edge_cost[0, image]
            if code != image:
                cost += edge_cost[code, image]
                before = states[generation, OPEN, parent, earlier]
                open_sum += abs(before - edge_cost[code, 0] + edge_cost[0, image]) - abs(before)
        open_sum += abs(open_here)
        score = 2 * cost + estimate + open_sum
        key = ((score >> shift) << INDEX_BITS) + n_candidates
        if score >= limit or key >= worst:
            continue
        candidates[n_candidates, COST] = cost
        candidates[n_candidates, PARENT] = parent
        candidates[n_candidates, IMAGE_NODE] = v
        candidates[n_candidates, ESTIMATE] = estimate
        candidates[n_candidates, OPEN_SUM] = open_sum
        n_candidates += 1
        if n_kept < width:
            push_key(heap, n_kept, key)
            n_kept += 1
        else:
            replace_top(heap, n_kept, key)
        if n_kept == width:
            worst = heap[0]
    return n_candidates, n_kept


@fragment
def has_free_twin_before(pair: Pair, states: Integers, generation: int, parent: int, v: int) -> bool:
    """Whether a twin of v with a smaller number is unused, which would give the same map."""
    for w in range(pair.twin[TARGET, v], v):
        if pair.twin[TARGET, w] == pair.twin[TARGET, v] and states[generation, USED, parent, w] == 0:
            return True
    return False


@fragment
def push_key(heap: Integers, size: int, key: int) -> None:
    """Add a key to a heap that has room."""
    slot = size
    while slot > 0 and heap[(slot - 1) // 2] < key:
        heap[slot] = heap[(slot - 1) // 2]
        slot = (slot - 1) // 2
    heap[slot] = key


@fragment
def replace_top(heap: Integers, size: int, key: int) -> None:
    """Put a smaller key in the place of the largest."""
    slot, child = 0, 1
    while child < size:
        if child + 1 < size and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= key:
            break
        heap[slot] = heap[child]
        slot = child
        child = 2 * slot + 1
    heap[slot] = key


@fragment
def adopt_candidate(work: Workspace, beam: BeamWork, generation: int, index: int, position: int) -> None:
    """Make the candidate at a place of the heap a map of the next generation."""
    pair, states, edge_cost = work.pair, beam.states, work.pair.edge_cost
    copy, candidate = 1 - generation, beam.heap[index] & ((1 << INDEX_BITS) - 1)
    for field in range(5):
        beam.kept[index, field] = beam.candidates[candidate, field]
    parent, v = beam.kept[index, PARENT], beam.kept[index, IMAGE_NODE]
    for w in range(pair.sizes[N_TARGET]):
        states[copy, USED, index, w] = states[generation, USED, parent, w]
    states[copy, USED, index, v] = 1
    open_here = beam.plan[OPEN_EDGES, position] - beam.removal[v]
    for earlier in range(position):
        image = states[generation, IMAGE, parent, earlier]
        code, image_code = beam.query[position, earlier], pair.adjacency[TARGET, v, image]
        open_here += edge_cost[0, image_code]
        states[copy, IMAGE, index, earlier] = image
        change = edge_cost[0, image_code] - edge_cost[code, 0]
        states[copy, OPEN, index, earlier] = states[generation, OPEN, parent, earlier] + (
            change if code != image_code else 0
        )
    states[copy, IMAGE, index, position] = v
    states[copy, OPEN, index, position] = open_here


@part
def offer_map(work: Workspace, beam: BeamWork, generation: int, index: int) -> None:
    """Price a complete map and make it the incumbent if it is better."""
    pair, progress = work.pair, work.progress
    n_query = pair.sizes[N_QUERY]
    for position in range(n_query):
        progress.maps[TRIAL, beam.plan[ORDER, position]] = beam.states[generation, IMAGE, index, position]
    cost = evaluate_map(pair, progress.maps)
    if cost < progress.status[UPPER]:
        keep_trial(work, cost)
