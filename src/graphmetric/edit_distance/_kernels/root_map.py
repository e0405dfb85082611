"""The assignment over branch costs of a whole pair: a lower bound, and a first map with its cost (an upper bound)."""

from typing import NamedTuple

from graphmetric.compiling import entry, fragment, part
from graphmetric.edit_distance._kernels.assignment import match_anyhow, solve_assignment
from graphmetric.edit_distance._kernels.attainable import note_residue, round_up
from graphmetric.edit_distance._kernels.branch_cost import fill_root_costs
from graphmetric.edit_distance._kernels.exact_search import complete_map
from graphmetric.edit_distance._kernels.load_pair import load_pair
from graphmetric.edit_distance._kernels.local_search import evaluate_map, improve_by_swaps
from graphmetric.edit_distance._kernels.packing import EditCostTables, Integers, PackedGraphs
from graphmetric.edit_distance._kernels.workspace import (
    BEST,
    BLOCKED,
    BOUND,
    LOWER_SO_FAR,
    MODULUS,
    N_NULL,
    N_QUERY,
    N_TARGET,
    REFINED,
    ROOT,
    STOP,
    SWAPPED,
    TRIAL,
    UPPER,
    UPPER_SO_FAR,
    Workspace,
)


class BoundResults(NamedTuple):
    """One row for each pair; ``node_map`` gives the node of the second graph for every node of the first, or -1."""

    lower: Integers
    upper: Integers
    node_map: Integers


@entry
def bound_branches(
    first: PackedGraphs,
    second: PackedGraphs,
    costs: EditCostTables,
    pairs: Integers,
    work: Workspace,
    results: BoundResults,
) -> None:
    """The branch lower bound, and the cost and map of its assignment, for rows (i, j) of ``pairs``.

    Told to stop, this kernel and all that have a workspace finish the pair they are at and leave the rest untouched.
    """
    for p in range(len(pairs)):
        if p > 0 and work.progress.signals[STOP] > 0:
            return
        load_pair(first, second, costs, pairs[p, 0], pairs[p, 1], work.pair)
        lower = solve_root(work)
        write_bounds(work, results, p, lower)


@part
def solve_root(work: Workspace) -> int:
    """Solve the assignment of the loaded pair; the best and the trial map are its map. Returns the lower bound."""
    pair, levels, progress = work.pair, work.levels, work.progress
    n_query = pair.sizes[N_QUERY]
    fill_root_costs(pair, levels)
    for u in range(n_query):
        work.scratch.free_rows[u] = u + 1
    levels.state[0, BOUND] = 0
    n_target = pair.sizes[N_TARGET]
    if not solve_assignment(levels, work.scratch, progress.signals, ROOT, n_query, n_target, n_query, BLOCKED):
        match_anyhow(levels, ROOT, n_query, n_target)
    complete_map(pair, levels, progress, ROOT)
    cost = evaluate_map(pair, progress.maps)
    note_residue(pair, levels, ROOT, cost)
    keep_trial(work, cost)
    lower = round_up(levels.state[0, BOUND], cost, levels.state[0, MODULUS])
    progress.signals[LOWER_SO_FAR] = lower
    progress.signals[UPPER_SO_FAR] = cost
    return lower


@part
def swap_trial(work: Workspace, lower: int, cost: int) -> int:
    """Improve the trial map by exchanging images, down to the lower bound at most; returns its cost."""
    list_inserted(work)
    cost = improve_by_swaps(work.pair, work.progress.maps, work.scratch.agreement, work.progress.signals, cost, lower)
    for u in range(work.pair.sizes[N_QUERY]):
        work.progress.maps[TRIAL, u] = work.progress.maps[REFINED, u]
    return cost


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


@fragment
def keep_trial(work: Workspace, cost: int) -> None:
    """Make the trial map the best one."""
    work.progress.status[UPPER] = cost
    work.progress.signals[UPPER_SO_FAR] = cost
    for u in range(work.pair.sizes[N_QUERY]):
        work.progress.maps[BEST, u] = work.progress.maps[TRIAL, u]


@fragment
def write_bounds(work: Workspace, results: BoundResults, p: int, lower: int) -> None:
    """Best map, its cost and the lower bound, in the direction in which the pair was asked."""
    pair, node_map = work.pair, results.node_map
    results.lower[p] = lower
    results.upper[p] = work.progress.status[UPPER]
    for u in range(node_map.shape[1]):
        node_map[p, u] = -1
    n_target = pair.sizes[N_TARGET] - pair.sizes[N_NULL]
    for u in range(pair.sizes[N_QUERY]):
        v = work.progress.maps[BEST, u]
        if v < n_target:
            if pair.sizes[SWAPPED] == 1:
                node_map[p, v] = u
            else:
                node_map[p, u] = v
