"""Upper bounds by iterated local search: an assignment, improved by exchanging images, shaken and improved again.

Effort 0 is the assignment over branch costs with the best exchanges made until none helps; every further unit rotates
the images of a few random nodes of the best map and descends again, keeping the outcome unless it is worse. Better
with effort, never worse; for graphs that are too large for the exact search it is the method of choice. The branch
lower bound comes with it, and where the two meet the search stops: the value is exact.
"""

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import entry, fragment
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
from graphmetric.edit_distance._kernels.workspace import BEST, N_QUERY, N_TARGET, REFINED, TRIAL, UPPER, Workspace

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
        load_pair(first, second, costs, pairs[p, 0], pairs[p, 1], work.pair)
        lower = solve_root(work)
        keep_trial(work, swap_trial(work, lower, status[UPPER]))
        seed_pair(random, pairs[p, 0], pairs[p, 1])
        for _ in range(effort if work.pair.sizes[N_QUERY] > 1 else 0):
            if status[UPPER] <= lower:
                break
            rotate_images(work, random)
            cost = swap_trial(work, lower, evaluate_map(work.pair, work.progress.maps))
            if cost <= status[UPPER]:
                keep_trial(work, cost)
        write_bounds(work, results, p, lower)


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
