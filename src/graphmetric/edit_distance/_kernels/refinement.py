"""Upper bounds by iterated local search: an assignment, improved by exchanging images, shaken and improved again.

Effort 0 is the assignment over branch costs with the best exchanges made until none helps; every further unit rotates
the images of a few random nodes of the best map and descends again, keeping the outcome unless it is worse. Better
with effort, never worse; for graphs that are too large for the exact search it is the method of choice. The branch
lower bound comes with it, and where the two meet the search stops: the value is exact.
"""

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import entry, fragment, part
from graphmetric.edit_distance._kernels.load_pair import load_pair
from graphmetric.edit_distance._kernels.local_search import evaluate_map
from graphmetric.edit_distance._kernels.packing import EditCostTables, Integers, PackedGraphs
from graphmetric.edit_distance._kernels.root_map import (
    BoundResults,
    keep_trial,
    list_inserted,
    solve_root,
    swap_trial,
    write_bounds,
)
from graphmetric.edit_distance._kernels.workspace import (
    BEST,
    N_NULL,
    N_QUERY,
    N_TARGET,
    REFINED,
    STOP,
    SWAPPED,
    TRIAL,
    UPPER,
    Workspace,
)

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
