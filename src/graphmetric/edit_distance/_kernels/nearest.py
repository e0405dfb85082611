"""The nearest graphs by edit distance: bounded searches of one graph after another, each within the limit so far.

Each candidate has a lower bound of its distance to the query, which only rises, and an upper bound once a map to it was
found. Candidates are compared by distance / weight, which orders them as every view of the distance does. Isomorphic
graphs are one candidate, which counts as often as they occur. The last of the nearest graphs sets the limit: a
candidate whose distance is not below it can no longer be one of them.

One call does all the work for a query. The branch bound of a pair is the bound at the root of its search, and it ends
most searches; the others continue from there until the distance is found or proven not to be below the limit.
"""

from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import entry, fragment, part
from graphmetric.edit_distance._kernels.branch_bound import solve_root_assignment
from graphmetric.edit_distance._kernels.exact_search import (
    advance_search,
    choose_branch,
    find_lower_bound,
    refine_map,
)
from graphmetric.edit_distance._kernels.node_maps import price_root, write_map
from graphmetric.edit_distance._kernels.packing import Integers, PackedProblem
from graphmetric.edit_distance._kernels.workspace import (
    BOUND,
    DEPTH,
    EXPANDED,
    NO_LIMIT,
    ROOT,
    STOP,
    STOP_AT_LIMIT,
    UPPER,
    UPPER_LIMIT,
    Workspace,
    find_limit,
    load_pair,
)

Floats = NDArray[np.float64]

# Values of CandidateBounds.stage: the strongest method that has bounded a candidate
BY_COUNTS, BY_COMMON, BY_BRANCHES, BY_TREE, BY_DUAL, BY_SEARCH = range(6)
# Fields of NearestGraphs.status
SIZE, WANTED = range(2)
EVERY = -1  # in WANTED: all graphs within the limit, which stays as it is
# First index of SearchQueue.graphs
GRAPH, COLUMN = range(2)
# Fields of SearchQueue.status
PLACE, UNDER_WAY = range(2)
ROUNDING = 1e-6  # costs in whole units that are closer than this to a whole number are that number


class CandidateBounds(NamedTuple):
    """One entry for each candidate; distances are raw."""

    lower: Floats
    upper: Floats  # infinite where no map is known
    weight: Floats
    copies: Integers
    stage: Integers

    @staticmethod
    def begin(lower: Floats, weight: Floats, copies: Integers) -> "CandidateBounds":
        """Start from lower bounds alone; the array is written to."""
        stage = np.full(len(lower), BY_COUNTS, dtype=np.int64)
        return CandidateBounds(lower, np.full(len(lower), np.inf), weight, copies, stage)


class NearestGraphs(NamedTuple):
    """The nearest candidates so far by rising distance, just enough to have the wanted number of copies.

    Where every candidate within the limit is wanted they are not listed, and each has the map at its own place.
    """

    graphs: Integers  # one more place than graphs are wanted
    maps: Integers  # (place, node of the query): node of the graph, -1 for a deleted one
    limit: Floats  # one entry, distance / weight; infinite while there are too few
    status: Integers


def allocate_nearest(wanted: int, nodes: int) -> NearestGraphs:
    """Make room for ``wanted`` graphs, and for maps of a query with ``nodes`` nodes."""
    graphs, maps = np.zeros(wanted + 1, dtype=np.int64), np.full((wanted + 1, nodes), -1, dtype=np.int64)
    return NearestGraphs(graphs, maps, np.array([np.inf]), np.array([0, wanted], dtype=np.int64))


def allocate_within(candidates: int, nodes: int, limit: float) -> NearestGraphs:
    """The same for all of some candidates whose distance / weight is below the limit."""
    maps = np.empty((candidates, nodes), dtype=np.int64)
    return NearestGraphs(np.zeros(0, dtype=np.int64), maps, np.array([limit]), np.array([0, EVERY], dtype=np.int64))


@entry
def admit_maps(
    bounds: CandidateBounds, nearest: NearestGraphs, graphs: Integers, upper: Floats, maps: Integers
) -> None:
    """Record maps that other methods found, with their costs, where they are better than the known upper bounds."""
    for k in range(len(graphs)):
        graph = graphs[k]
        if upper[k] < bounds.upper[graph]:
            bounds.upper[graph] = upper[k]
            if upper[k] < nearest.limit[0] * bounds.weight[graph]:
                place = admit(bounds, nearest, graph)
                for u in range(nearest.maps.shape[1]):
                    nearest.maps[place, u] = maps[k, u]


@part
def admit(bounds: CandidateBounds, nearest: NearestGraphs, graph: int) -> int:
    """Make a graph whose upper bound is below the limit one of the nearest; returns its place, for its map."""
    if nearest.status[WANTED] == EVERY:
        return graph
    withdraw(nearest, graph)
    place = nearest.status[SIZE]
    while place > 0 and rate(bounds, graph) < rate(bounds, nearest.graphs[place - 1]):
        move(nearest, place - 1, place)
        place -= 1
    nearest.graphs[place] = graph
    nearest.status[SIZE] += 1
    drop_last(bounds, nearest)
    return place


@part
def rate(bounds: CandidateBounds, graph: int) -> float:
    """The number that orders the nearest graphs."""
    return bounds.upper[graph] / bounds.weight[graph]


@part
def withdraw(nearest: NearestGraphs, graph: int) -> None:
    """Take a graph out, if it is one of the nearest."""
    kept = 0
    for place in range(nearest.status[SIZE]):
        if nearest.graphs[place] != graph:
            if kept < place:
                move(nearest, place, kept)
            kept += 1
    nearest.status[SIZE] = kept


@part
def move(nearest: NearestGraphs, source: int, place: int) -> None:
    """Copy a graph with its map to another place."""
    nearest.graphs[place] = nearest.graphs[source]
    for u in range(nearest.maps.shape[1]):
        nearest.maps[place, u] = nearest.maps[source, u]


@part
def drop_last(bounds: CandidateBounds, nearest: NearestGraphs) -> None:
    """Drop what comes after the wanted number of copies; the last one kept sets the limit."""
    copies = 0
    for place in range(nearest.status[SIZE]):
        copies += bounds.copies[nearest.graphs[place]]
        if copies >= nearest.status[WANTED]:
            nearest.status[SIZE] = place + 1
            nearest.limit[0] = rate(bounds, nearest.graphs[place])
            return


class SearchQueue(NamedTuple):
    """Candidates that wait to be searched."""

    graphs: Integers  # (position in CandidateBounds or among the second graphs, place in the queue)
    status: Integers


class QueueLimits(NamedTuple):
    """Which query to search, and how far."""

    row: int  # of the query among the first graphs
    scale: float  # integer cost = scale * cost
    steps: int  # for each graph
    budget: int  # steps of this call
    refine: int  # 1: improve the first map of every pair by swaps even if it is above the limit


@entry
def search_queue(
    problem: PackedProblem,
    queue: SearchQueue,
    limits: QueueLimits,
    bounds: CandidateBounds,
    nearest: NearestGraphs,
    work: Workspace,
) -> None:
    """Search until the queue or the budget ends; after the budget the next call continues in the middle of a pair."""
    status, left = work.progress.status, limits.budget
    while queue.status[PLACE] < queue.graphs.shape[1] and left > 0 and work.progress.signals[STOP] == 0:
        graph = queue.graphs[GRAPH, queue.status[PLACE]]
        before = status[EXPANDED]
        if queue.status[UNDER_WAY] == 0:
            limit = find_largest_cost(bounds, nearest, graph, limits.scale)
            if bounds.lower[graph] * limits.scale > limit + ROUNDING:
                queue.status[PLACE] += 1
                continue
            load_pair(problem, limits.row, queue.graphs[COLUMN, queue.status[PLACE]], work.pair)
            if not start_within(work, limit, limits.refine):
                lower = (work.levels.state[0, BOUND] + 1) // 2
                bounds.lower[graph] = max(bounds.lower[graph], lower / limits.scale)
                return
            before = 0
        advance_search(work, min(limits.steps, before + left))
        left -= status[EXPANDED] - before
        record_bounds(work, bounds, nearest, graph, limits.scale)
        is_done = status[DEPTH] < 0 or status[EXPANDED] >= limits.steps
        queue.status[UNDER_WAY] = 0 if is_done else 1
        queue.status[PLACE] += 1 if is_done else 0


@fragment
def find_largest_cost(bounds: CandidateBounds, nearest: NearestGraphs, graph: int, scale: float) -> int:
    """The largest cost in whole units that is below both the limit and the upper bound of the graph."""
    bound = min(nearest.limit[0] * bounds.weight[graph], bounds.upper[graph]) * scale
    return ceil(bound - ROUNDING) - 1 if bound < NO_LIMIT else NO_LIMIT


@part
def start_within(work: Workspace, upper_limit: int, refine: int) -> bool:
    """Solve the root of the loaded pair; if its branch bound is above the limit, stop there with DEPTH -1.

    Returns False if it was canceled before the root was solved; only the bound of the root is valid then.

    Unlike :func:`start_search` it treats the limit as the cost of a known map. Most pairs are above the limit, where
    swaps are of no use; pass ``refine=1`` where maps are wanted.
    """
    pair, levels, progress = work.pair, work.levels, work.progress
    status = progress.status
    status[DEPTH] = -1
    status[EXPANDED] = 1
    status[UPPER] = upper_limit + 1
    status[UPPER_LIMIT] = upper_limit
    status[STOP_AT_LIMIT] = 0
    if not solve_root_assignment(work, 2 * upper_limit + 1):
        return progress.signals[STOP] == 0
    cost = price_root(work)
    limit = find_limit(levels, progress, ROOT)
    if levels.state[0, BOUND] >= limit:
        return True
    if cost < status[UPPER] or refine == 1:
        refine_map(work, ROOT, cost)
        limit = find_limit(levels, progress, ROOT)
    if levels.state[0, BOUND] < limit and choose_branch(pair, levels, ROOT, limit):
        status[DEPTH] = 0
    return True


@part
def record_bounds(work: Workspace, bounds: CandidateBounds, nearest: NearestGraphs, graph: int, scale: float) -> None:
    """Record the bounds of the current pair, and its map if it is within the limit."""
    status = work.progress.status
    bounds.stage[graph] = max(bounds.stage[graph], BY_TREE if status[EXPANDED] > 1 else BY_BRANCHES)
    lower = status[UPPER] if status[DEPTH] < 0 else find_lower_bound(work)
    bounds.lower[graph] = max(bounds.lower[graph], lower / scale)
    if status[UPPER] <= status[UPPER_LIMIT]:
        bounds.upper[graph] = status[UPPER] / scale
        bounds.lower[graph] = min(bounds.lower[graph], bounds.upper[graph])
        write_map(work, nearest.maps[admit(bounds, nearest, graph)])
