"""Many pairs in one call that releases the GIL; threads over chunks of pairs scale."""

from typing import NamedTuple

from graphmetric._foundation.compilation import entry, fragment
from graphmetric.edit_distance._kernels.exact_search import advance_search, find_lower_bound, is_decided, start_search
from graphmetric.edit_distance._kernels.load_pair import load_pair
from graphmetric.edit_distance._kernels.packing import EditCostTables, Integers, PackedGraphs
from graphmetric.edit_distance._kernels.workspace import (
    BEST,
    DEPTH,
    EXPANDED,
    N_NULL,
    N_QUERY,
    N_TARGET,
    STOP,
    SWAPPED,
    UPPER,
    Workspace,
)

NO_LIMIT = 1 << 55  # above any total, and more steps than anybody waits for


class SearchLimits(NamedTuple):
    """When to stop, and whether to go on with what the workspace holds."""

    upper_limit: Integers  # for each pair; costs above are of no interest, NO_LIMIT searches them all
    stop_at_limit: int  # 1: any map within the limit will do
    max_expanded: int  # for each pair, counted from its start
    resume: int  # 1: the one pair given is the one in the workspace, stopped before by max_expanded


class SearchResults(NamedTuple):
    """One row for each pair; ``node_map`` gives the node of the second graph for every node of the first, or -1."""

    lower: Integers
    upper: Integers
    expanded: Integers
    finished: Integers  # 1 when more expansions would change nothing
    node_map: Integers


@entry
def search_pairs(
    first: PackedGraphs,
    second: PackedGraphs,
    costs: EditCostTables,
    pairs: Integers,
    limits: SearchLimits,
    work: Workspace,
    results: SearchResults,
) -> None:
    """Search every pair within its limits.

    Another thread may stop it by a signal: the pair under way gets bounds that hold, the rest is left untouched. To
    stop by a count and go on later, search one pair in slices: raise ``max_expanded`` and resume until it is finished.
    """
    for p in range(len(pairs)):
        if p > 0 and work.progress.signals[STOP] > 0:
            return
        if limits.resume == 0:
            load_pair(first, second, costs, pairs[p, 0], pairs[p, 1], work.pair)
            start_search(work, limits.upper_limit[p], limits.stop_at_limit)
        advance_search(work, limits.max_expanded)
        write_result(work, results, p)


@fragment
def write_result(work: Workspace, results: SearchResults, p: int) -> None:
    """Bounds and map of the current pair, in the direction in which it was asked."""
    pair, status = work.pair, work.progress.status
    results.lower[p] = find_lower_bound(work)
    results.upper[p] = status[UPPER]
    results.expanded[p] = status[EXPANDED]
    done = status[DEPTH] < 0 or is_decided(work.progress) or results.lower[p] == results.upper[p]
    results.finished[p] = 1 if done else 0
    n_target = pair.sizes[N_TARGET] - pair.sizes[N_NULL]
    node_map = results.node_map
    for k in range(node_map.shape[1]):
        node_map[p, k] = -1
    for u in range(pair.sizes[N_QUERY]):
        v = work.progress.maps[BEST, u]
        if v >= n_target:
            continue
        if pair.sizes[SWAPPED] == 1:
            node_map[p, v] = u
        else:
            node_map[p, u] = v
