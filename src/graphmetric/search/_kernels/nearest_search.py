"""Bounded searches of graph after graph, each within the limit that those before it have left.

One call does all for a query: the branch bound of a pair is that of the root of its search, and ends most of them; the
others go on from there until their distance is found or proven not to be below the limit.
"""

from math import ceil
from typing import NamedTuple

from graphmetric._foundation.compilation import entry, fragment, part
from graphmetric.edit_distance._kernels.batch import NO_LIMIT
from graphmetric.edit_distance._kernels.branch_cost import fill_root_costs
from graphmetric.edit_distance._kernels.exact_search import (
    advance_search,
    choose_branch,
    complete_map,
    find_lower_bound,
    refine_map,
)
from graphmetric.edit_distance._kernels.load_pair import load_pair
from graphmetric.edit_distance._kernels.local_search import evaluate_map
from graphmetric.edit_distance._kernels.packing import EditCostTables, Integers, PackedGraphs
from graphmetric.edit_distance._kernels.warm_assignment import solve_assignment
from graphmetric.edit_distance._kernels.workspace import (
    BEST,
    BOUND,
    DEPTH,
    EXPANDED,
    N_NULL,
    N_QUERY,
    N_TARGET,
    ROOT,
    STOP,
    STOP_AT_LIMIT,
    SWAPPED,
    UPPER,
    UPPER_LIMIT,
    Workspace,
    find_limit,
    note_residue,
)
from graphmetric.search._kernels.nearest_graphs import BY_BRANCHES, BY_SEARCH, Known, Nearest, admit

ROUNDING = 1e-6  # costs in whole units that are closer than this to a whole number are that number
# First index of Queue.graphs
GRAPH, COLUMN = range(2)
# Fields of Queue.status
PLACE, UNDER_WAY = range(2)


class Queue(NamedTuple):
    """Graphs that wait to be searched."""

    graphs: Integers  # (number in Known or column among the second graphs, place)
    status: Integers


class Effort(NamedTuple):
    """Which query, and how far to go."""

    row: int  # of the query among the first graphs
    scale: float  # integer cost = scale * cost
    steps: int  # for each graph
    budget: int  # steps of this call
    refine: int  # 1: improve the first map of every pair by swaps, though it be above the limit


@entry
def search_queue(
    first: PackedGraphs,
    second: PackedGraphs,
    costs: EditCostTables,
    queue: Queue,
    effort: Effort,
    known: Known,
    nearest: Nearest,
    work: Workspace,
) -> None:
    """Search until the queue or the budget ends; in the latter case the next call goes on in the middle of a pair."""
    status, left = work.progress.status, effort.budget
    while queue.status[PLACE] < queue.graphs.shape[1] and left > 0 and work.progress.signals[STOP] == 0:
        graph = queue.graphs[GRAPH, queue.status[PLACE]]
        before = status[EXPANDED]
        if queue.status[UNDER_WAY] == 0:
            limit = find_largest_cost(known, nearest, graph, effort.scale)
            if known.lower[graph] * effort.scale > limit + ROUNDING:
                queue.status[PLACE] += 1
                continue
            load_pair(first, second, costs, effort.row, queue.graphs[COLUMN, queue.status[PLACE]], work.pair)
            start_within(work, limit, effort.refine)
            before = 0
        advance_search(work, min(effort.steps, before + left))
        left -= status[EXPANDED] - before
        learn(work, known, nearest, graph, effort.scale)
        is_done = status[DEPTH] < 0 or status[EXPANDED] >= effort.steps
        queue.status[UNDER_WAY] = 0 if is_done else 1
        queue.status[PLACE] += 1 if is_done else 0


@fragment
def find_largest_cost(known: Known, nearest: Nearest, graph: int, scale: float) -> int:
    """The largest cost in whole units that is below both the limit and the upper bound of the graph."""
    bound = min(nearest.limit[0] * known.weight[graph], known.upper[graph]) * scale
    return ceil(bound - ROUNDING) - 1 if bound < NO_LIMIT else NO_LIMIT


@part
def start_within(work: Workspace, upper_limit: int, refine: int) -> None:
    """Solve the root of the loaded pair, no further than to a branch bound above the limit (then DEPTH is -1).

    Unlike :func:`start_search` it takes the limit for the cost of a known map. Most pairs are above it, and then swaps
    are of no use; where maps are what is wanted, ``refine`` is 1.
    """
    pair, levels, progress = work.pair, work.levels, work.progress
    n_query, n_target = pair.sizes[N_QUERY], pair.sizes[N_TARGET]
    status = progress.status
    status[DEPTH] = -1
    status[EXPANDED] = 1
    status[UPPER] = upper_limit + 1
    status[UPPER_LIMIT] = upper_limit
    status[STOP_AT_LIMIT] = 0
    fill_root_costs(pair, levels)
    for u in range(n_query):
        work.scratch.free_rows[u] = u + 1
    levels.state[0, BOUND] = 0
    limit = 2 * upper_limit + 1
    if not solve_assignment(levels, work.scratch, progress.signals, ROOT, n_query, n_target, n_query, limit):
        return
    complete_map(pair, levels, progress, ROOT)
    cost = evaluate_map(pair, progress.maps)
    note_residue(pair, levels, ROOT, cost)
    limit = find_limit(levels, progress, ROOT)
    if levels.state[0, BOUND] >= limit:
        return
    if cost < status[UPPER] or refine == 1:
        refine_map(work, ROOT, cost)
        limit = find_limit(levels, progress, ROOT)
    if levels.state[0, BOUND] < limit and choose_branch(pair, levels, ROOT, limit):
        status[DEPTH] = 0


@part
def learn(work: Workspace, known: Known, nearest: Nearest, graph: int, scale: float) -> None:
    """Take over the bounds of the current pair, and its map if that is within the limit."""
    status = work.progress.status
    known.stage[graph] = max(known.stage[graph], BY_SEARCH if status[EXPANDED] > 1 else BY_BRANCHES)
    lower = status[UPPER] if status[DEPTH] < 0 else find_lower_bound(work)
    known.lower[graph] = max(known.lower[graph], lower / scale)
    if status[UPPER] <= status[UPPER_LIMIT]:
        known.upper[graph] = status[UPPER] / scale
        known.lower[graph] = min(known.lower[graph], known.upper[graph])
        write_map(work, nearest.maps[admit(known, nearest, graph)])


@part
def write_map(work: Workspace, node_map: Integers) -> None:
    """The best map of the current pair, in the direction in which it was asked."""
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
