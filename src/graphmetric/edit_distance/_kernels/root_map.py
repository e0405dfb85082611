"""The assignment over branch costs of a whole pair: a lower bound, and a first map with its cost (an upper bound).

Upper bounds by iterated local search: an assignment, improved by exchanging images, shaken and improved again.

Effort 0 is the assignment over branch costs with the best exchanges made until none helps; every further unit rotates
the images of a few random nodes of the best map and descends again, keeping the outcome unless it is worse. Better
with effort, never worse; for graphs that are too large for the exact search it is the method of choice. The branch
lower bound comes with it, and where the two meet the search stops: the value is exact.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import entry, fragment, part
from graphmetric.edit_distance._kernels.branch_cost import fill_root_costs
from graphmetric.edit_distance._kernels.exact_search import complete_map
from graphmetric.edit_distance._kernels.load_pair import load_pair
from graphmetric.edit_distance._kernels.local_search import evaluate_map, improve_by_swaps
from graphmetric.edit_distance._kernels.packing import EditCostTables, Integers, PackedGraphs
from graphmetric.edit_distance._kernels.warm_assignment import match_anyhow, solve_assignment
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
    note_residue,
    round_up,
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


RandomState = NDArray[np.uint64]  # one word
SHORTEST_ROTATION, LONGEST_ROTATION = 3, 6  # exchanges; the local search would undo fewer


def allocate_random(seed: int) -> RandomState:
    """State of the generator; a pair draws the same numbers in whatever batch it stands."""
    return np.array([seed, 0], dtype=np.uint64)


@entry
def refine_maps(
    first: PackedGraphs,
    second: PackedGraphs,
    costs: EditCostTables,
    pairs: Integers,
    effort: int,
    random: RandomState,
    work: Workspace,
    results: BoundResults,
) -> None:
    """Bounds and maps for rows (i, j) of ``pairs``."""
    status = work.progress.status
    for p in range(len(pairs)):
        if p > 0 and work.progress.signals[STOP] > 0:
            return
        load_pair(first, second, costs, pairs[p, 0], pairs[p, 1], work.pair)
        lower = solve_root(work)
        keep_trial(work, swap_trial(work, lower, status[UPPER]))
        seed_pair(random, pairs[p, 0], pairs[p, 1])
        shake_best(work, random, effort, lower)
        write_bounds(work, results, p, lower)


@entry
def shake_maps(
    first: PackedGraphs,
    second: PackedGraphs,
    costs: EditCostTables,
    pairs: Integers,
    effort: int,
    random: RandomState,
    work: Workspace,
    results: BoundResults,
) -> None:
    """As `refine_maps`, from the maps and lower bounds that ``results`` holds already, found by another method."""
    for p in range(len(pairs)):
        if p > 0 and work.progress.signals[STOP] > 0:
            return
        load_pair(first, second, costs, pairs[p, 0], pairs[p, 1], work.pair)
        read_map(work, results.node_map[p])
        keep_trial(work, evaluate_map(work.pair, work.progress.maps))
        seed_pair(random, pairs[p, 0], pairs[p, 1])
        shake_best(work, random, effort, results.lower[p])
        write_bounds(work, results, p, results.lower[p])


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
