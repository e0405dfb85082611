"""Branch and bound with the dual bound: few tree nodes, each with a bound that is nearly exact.

The root starts with primal-dual steps over all node pairs. Every bound on the way rules out pairs, and once enough are
gone the rest goes on as a sparse problem (sparse_bound.py). A tree node takes steps while they promise to close it, then
splits: one pair is fixed in the child; when that is done with, the pair is ruled out and the node goes on without it.
So there is one open problem per depth, and the least of their bounds is a lower bound of the distance at any time.
"""

from typing import NamedTuple

import numpy as np

from graphmetric.compiling import entry, fragment, part
from graphmetric.edit_distance._kernels.attainable import round_up
from graphmetric.edit_distance._kernels.batch import NO_LIMIT, SearchLimits, SearchResults
from graphmetric.edit_distance._kernels.dual_pair import (
    DEAREST,
    MAY_DELETE,
    N_COLUMNS,
    N_ROWS,
    UNIT,
    DualPair,
    DualSize,
    Floats,
    allocate_dual_pair,
    load_dual_pair,
)
from graphmetric.edit_distance._kernels.load_pair import load_pair
from graphmetric.edit_distance._kernels.local_search import evaluate_map
from graphmetric.edit_distance._kernels.packing import EditCostTables, Integers, PackedGraphs
from graphmetric.edit_distance._kernels.primal_dual import Steps, allocate_steps, start_steps, take_steps
from graphmetric.edit_distance._kernels.root_map import keep_trial, solve_root, swap_trial, write_bounds, BoundResults
from graphmetric.edit_distance._kernels.sparse_bound import (
    ALIVE,
    BEST_BOUND,
    BRANCH,
    COLUMN,
    DEAD,
    DELETED,
    END_LINK,
    END_PAIR,
    FIRST_LINK,
    FIRST_LINK_AT,
    FIRST_PAIR,
    FIXED,
    IMAGE,
    LAST_BOUND,
    MATCHED,
    N_OPEN_ROWS,
    OPEN,
    PHASE,
    ROW,
    SLACK,
    STATE,
    Sparse,
    X,
    allocate_sparse,
    bound_level,
    derive_level,
    fix_forced,
    gather_root,
    rule_out,
    take_sparse_steps,
)
from graphmetric.edit_distance._kernels.split_bound import (
    FREE,
    Splits,
    allocate_splits,
    solve_weights,
    split_by_prices,
    weigh_blocks,
)
from graphmetric.edit_distance._kernels.workspace import (
    HAS_TWINS,
    MODULUS,
    N_NULL,
    N_QUERY,
    N_TARGET,
    QUERY,
    RESIDUE,
    ROOT,
    TARGET,
    TRIAL,
    UPPER,
    Workspace,
)

import os
DENSE_CHUNK = int(os.environ.get('DC','25'))  # steps between two bounds at the root
MOST_CHUNKS = int(os.environ.get('MC','8'))
CHUNK = int(os.environ.get('CH','10'))
PATIENCE = float(os.environ.get('PA','6'))
ROOT_PATIENCE = float(os.environ.get('RP','20'))
# Fields of DualWork.status
DEPTH, CHUNKS, EXPANDED, UPPER_LIMIT, STOP_AT_LIMIT, FULL_MEMORY, BEST_LOWER, LAST_COST = range(8)
NEW, RETURNED = range(2)


class DualWork(NamedTuple):
    """Everything a search writes to."""

    base: Workspace  # its root only
    dual: DualPair
    steps: Steps
    splits: Splits
    sparse: Sparse
    alive: Integers  # (row, column): 1 unless ruled out
    status: Integers


def allocate_dual_work(base: Workspace, size: DualSize, largest_degree: int) -> DualWork:
    """Make room."""
    return DualWork(
        base,
        allocate_dual_pair(size),
        allocate_steps(size),
        allocate_splits(size, largest_degree),
        allocate_sparse(size),
        np.zeros((size.rows, size.columns), dtype=np.int64),
        np.zeros(8, dtype=np.int64),
    )


@entry
def search_dual(
    first: PackedGraphs,
    second: PackedGraphs,
    costs: EditCostTables,
    pairs: Integers,
    limits: SearchLimits,
    work: DualWork,
    results: SearchResults,
) -> None:
    """As `search_pairs`; an expansion is a tree node or a few steps at the root, a fraction of a millisecond."""
    for p in range(len(pairs)):
        if limits.resume == 0:
            load_pair(first, second, costs, pairs[p, 0], pairs[p, 1], work.base.pair)
            load_dual_pair(first, second, costs, pairs[p, 0], pairs[p, 1], work.base.pair, work.dual)
            start_dual(work, limits.upper_limit[p], limits.stop_at_limit)
        advance_dual(work, limits.max_expanded)
        lower = lower_bound_of(work)
        bounds = BoundResults(results.lower, results.upper, results.node_map)
        write_bounds(work.base, bounds, p, lower)
        results.expanded[p] = work.status[EXPANDED]
        results.finished[p] = 1 if is_over(work) or lower == results.upper[p] else 0


class DualBounds(NamedTuple):
    """One row for each pair; ``bound`` is the lower bound before it is rounded up to what is attainable."""

    lower: Integers
    upper: Integers
    bound: Floats
    node_map: Integers


@entry
def bound_dual(
    first: PackedGraphs,
    second: PackedGraphs,
    costs: EditCostTables,
    pairs: Integers,
    n_steps: int,
    work: DualWork,
    results: DualBounds,
) -> None:
    """Bounds of every pair by at most ``n_steps`` steps, and the best map met on the way."""
    for p in range(len(pairs)):
        load_pair(first, second, costs, pairs[p, 0], pairs[p, 1], work.base.pair)
        load_dual_pair(first, second, costs, pairs[p, 0], pairs[p, 1], work.base.pair, work.dual)
        start_dual(work, np.int64(NO_LIMIT), np.int64(0))
        left = n_steps
        while left > 0 and work.status[DEPTH] == 0:
            step_root(work, np.int64(min(left, DENSE_CHUNK)))
            left -= DENSE_CHUNK
        lower = lower_bound_of(work)
        write_bounds(work.base, BoundResults(results.lower, results.upper, results.node_map), p, lower)
        results.bound[p] = max(0.0, work.sparse.values[0, BEST_BOUND] / work.dual.sizes[UNIT])


@part
def start_dual(work: DualWork, upper_limit: int, stop_at_limit: int) -> None:
    """The branch bound and its map; nothing is ruled out yet."""
    status, dual = work.status, work.dual
    status[DEPTH], status[CHUNKS], status[EXPANDED], status[FULL_MEMORY] = -1, 0, 1, 0
    status[UPPER_LIMIT], status[STOP_AT_LIMIT], status[LAST_COST] = upper_limit, stop_at_limit, -1
    status[BEST_LOWER] = solve_root(work.base)
    cost = work.base.progress.status[UPPER]
    cost = swap_trial(work.base, status[BEST_LOWER], cost)
    if cost < work.base.progress.status[UPPER]:
        keep_trial(work.base, cost)
    start_steps(dual, work.steps)
    for i in range(dual.sizes[N_ROWS]):
        for k in range(dual.sizes[N_COLUMNS]):
            work.alive[i, k] = 1
    for k in range(dual.sizes[N_COLUMNS]):
        work.splits.column_price[k] = 0.0
        work.splits.row_match[k] = FREE
    work.sparse.values[0, BEST_BOUND] = -1e300
    status[DEPTH] = 0
    if status[BEST_LOWER] > best_of_interest(work) or dual.sizes[N_ROWS] == 0:
        status[DEPTH] = -1


@fragment
def best_of_interest(work: DualWork) -> int:
    """The largest cost that is attainable, below the incumbent's and within the upper limit."""
    root = work.base.levels.state[0]
    upper = work.base.progress.status[UPPER]
    gap = (upper - root[RESIDUE]) % root[MODULUS]
    return min(upper - (gap if gap > 0 else root[MODULUS]), work.status[UPPER_LIMIT])


@part
def limit_of(work: DualWork) -> float:
    """Bounds above this lead to nothing of interest, in the unit of the splits."""
    return np.float64(best_of_interest(work)) * work.dual.sizes[UNIT]


@part
def is_over(work: DualWork) -> bool:
    """Whether nothing is left to do."""
    decided = work.status[STOP_AT_LIMIT] == 1 and work.base.progress.status[UPPER] <= work.status[UPPER_LIMIT]
    return decided or work.status[DEPTH] < 0 or work.status[FULL_MEMORY] == 1


@part
def lower_bound_of(work: DualWork) -> int:
    """A lower bound of the distance, at any time."""
    root, status = work.base.levels.state[0], work.status
    lower = work.base.progress.status[UPPER]
    if lower > status[UPPER_LIMIT]:
        lower = round_up(2 * status[UPPER_LIMIT] + 1, root[RESIDUE], root[MODULUS])
    for depth in range(status[DEPTH] + 1):
        lower = min(lower, rounded(work, work.sparse.values[depth, BEST_BOUND]))
    status[BEST_LOWER] = max(lower, status[BEST_LOWER])
    return status[BEST_LOWER]


@part
def rounded(work: DualWork, bound: float) -> int:
    """The least attainable cost that is not below a bound in the unit of the splits."""
    root = work.base.levels.state[0]
    if bound < 0.0:
        return round_up(0, root[RESIDUE], root[MODULUS])
    whole = np.int64(np.ceil(bound / work.dual.sizes[UNIT]))
    return round_up(2 * whole, root[RESIDUE], root[MODULUS])


@part
def advance_dual(work: DualWork, max_expanded: int) -> None:
    """Go on until all is done or ``max_expanded`` is reached in total."""
    status = work.status
    while not is_over(work) and status[EXPANDED] < max_expanded:
        status[EXPANDED] += 1
        if status[CHUNKS] < MOST_CHUNKS:
            advance_root(work)
        else:
            advance_tree(work)


@part
def step_root(work: DualWork, n_steps: int) -> None:
    """Some dense steps, a bound, a map."""
    status, dual, splits = work.status, work.dual, work.splits
    take_steps(dual, work.steps, n_steps)
    split_by_prices(dual, work.steps, splits)
    weigh_blocks(dual, splits)
    n_rows, n_columns = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS]
    bound = np.float64(dual.sizes[DEAREST]) * dual.sizes[UNIT] - solve_weights(splits, n_columns)
    values = work.sparse.values
    values[0, BEST_BOUND] = max(values[0, BEST_BOUND], bound)
    for i in range(n_rows):
        k = splits.row_match[i]
        work.sparse.maps[0, MATCHED, i] = k
        work.sparse.maps[0, IMAGE, i] = OPEN
    try_map(work, ROOT, True)
    values[0, LAST_BOUND] = bound
    if values[0, BEST_BOUND] > limit_of(work) or status[BEST_LOWER] > best_of_interest(work):
        status[DEPTH] = -1


@part
def advance_root(work: DualWork) -> None:
    """Take dense steps; go over to the sparse problem when enough is ruled out."""
    status, dual, splits = work.status, work.dual, work.splits
    step_root(work, np.int64(DENSE_CHUNK))
    status[CHUNKS] += 1
    if status[DEPTH] < 0:
        return
    n_rows, n_columns = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS]
    limit, bound = limit_of(work), work.sparse.values[0, LAST_BOUND]
    left = 0
    for i in range(n_rows):
        for k in range(n_columns):
            if splits.row_price[i] + splits.column_price[k] - splits.weight[i, k] > limit - bound:
                work.alive[i, k] = 0
            left += work.alive[i, k]
    if 3 * left < n_rows * n_columns:
        status[CHUNKS] = MOST_CHUNKS
    if status[CHUNKS] >= MOST_CHUNKS:
        gather_root(dual, work.steps, work.alive, work.sparse)
        for k in range(n_columns):
            work.sparse.prices[0, k] = splits.column_price[k]
        work.sparse.state[0, PHASE] = NEW
        work.sparse.state[0, BRANCH] = FREE


@part
def try_map(work: DualWork, depth: int, refine: bool) -> None:
    """Price the map of the last matching; improve it if it is new and asked for, and keep it if it is the best."""
    base, dual, sparse = work.base, work.dual, work.sparse
    trial = base.progress.maps[TRIAL]
    n_target = base.pair.sizes[N_TARGET] - base.pair.sizes[N_NULL]
    for i in range(dual.sizes[N_ROWS]):
        k = sparse.maps[depth, IMAGE, i]
        if k == OPEN:
            k = sparse.maps[depth, MATCHED, i]
            deleted = dual.sizes[MAY_DELETE] == 1 and dual.node_saving[i, k] < 0.0
        else:
            deleted = k == DELETED
        trial[i] = n_target + i if deleted else dual.nodes[k]
    cost = evaluate_map(base.pair, base.progress.maps)
    known = base.progress.status[UPPER]
    if cost < known:
        keep_trial(base, cost)
    if cost < known or (refine and cost != work.status[LAST_COST]):
        work.status[LAST_COST] = cost
        cost = swap_trial(base, work.status[BEST_LOWER], cost)
        if cost < base.progress.status[UPPER]:
            keep_trial(base, cost)


@part
def advance_tree(work: DualWork) -> None:
    """Bound the deepest problem; leave it or split it."""
    sparse, status = work.sparse, work.status
    depth = status[DEPTH]
    if sparse.state[depth, PHASE] == RETURNED:
        rule_out_branch(work, depth)
    if bound_node(work, depth):
        choose_pair(work, depth)
        branch = sparse.state[depth, BRANCH]
        sparse.pairs[STATE, branch] = FIXED
        possible = derive_level(work.dual, sparse, depth, depth + 1)
        sparse.pairs[STATE, branch] = ALIVE
        sparse.state[depth, PHASE] = RETURNED
        if possible:
            sparse.state[depth + 1, PHASE] = NEW
            status[DEPTH] = depth + 1
        elif is_full(sparse, depth):
            status[FULL_MEMORY] = 1
        return
    status[DEPTH] = depth - 1


@fragment
def is_full(sparse: Sparse, depth: int) -> bool:
    """Whether the next depth has no room."""
    state = sparse.state[depth]
    return (
        sparse.pairs.shape[1] < 1 + 2 * state[END_PAIR] - state[FIRST_PAIR]
        or sparse.links.shape[1] < 1 + 2 * state[END_LINK] - state[FIRST_LINK_AT]
    )


@part
def rule_out_branch(work: DualWork, depth: int) -> None:
    """The fixed pair leads to nothing better: nor do the twins of its row with the twins of its column."""
    sparse, dual, pair = work.sparse, work.dual, work.base.pair
    state, pairs = sparse.state[depth], sparse.pairs
    branch = state[BRANCH]
    pairs[STATE, branch] = DEAD
    n_columns = dual.sizes[N_COLUMNS]
    if pair.sizes[HAS_TWINS] == 0 or pairs[COLUMN, branch] == n_columns:
        return
    row_twin, column_twin = pair.twin[QUERY, pairs[ROW, branch]], pair.twin[TARGET, dual.nodes[pairs[COLUMN, branch]]]
    for p in range(state[FIRST_PAIR], state[END_PAIR]):
        if pairs[COLUMN, p] < n_columns and pair.twin[QUERY, pairs[ROW, p]] == row_twin:
            if pair.twin[TARGET, dual.nodes[pairs[COLUMN, p]]] == column_twin:
                pairs[STATE, p] = DEAD


@part
def bound_node(work: DualWork, depth: int) -> bool:
    """Take steps as long as they promise to close the node; False when nothing of interest is left in it."""
    sparse, dual = work.sparse, work.dual
    state, values = sparse.state[depth], sparse.values[depth]
    if not shrink(work, depth):
        return False
    rounds = 0
    while True:
        if rounds > 0:
            take_sparse_steps(dual, sparse, depth, CHUNK)
        before = values[BEST_BOUND]
        bound_level(dual, sparse, work.splits, depth)
        try_map(work, depth, False)
        limit = limit_of(work)
        if values[BEST_BOUND] > limit:
            return False
        died = rule_out(sparse, depth, limit)
        if died > 0 and not shrink(work, depth):
            return False
        gain = values[BEST_BOUND] - before + 0.002 * died * dual.sizes[UNIT]
        rounds += 1
        if rounds > 2 and gain * (ROOT_PATIENCE if depth == 0 else PATIENCE) < limit + 1.0 - values[BEST_BOUND]:
            return True


@part
def shrink(work: DualWork, depth: int) -> bool:
    """Drop what is dead and fix what is forced; False if no map is left, or only one, which is tried."""
    sparse, dual = work.sparse, work.dual
    while True:
        fixed = fix_forced(dual, sparse, depth)
        if fixed < 0 or not derive_level(dual, sparse, depth, depth):
            return False
        if sparse.state[depth, N_OPEN_ROWS] == 0:
            try_map(work, depth, False)
            return False
        if fixed == 0:
            return True


@part
def choose_pair(work: DualWork, depth: int) -> None:
    """The row with fewest pairs left, many links first among equals; in it the pair with the least slack."""
    sparse, dual = work.sparse, work.dual
    state, pairs = sparse.state[depth], sparse.pairs
    count, links = sparse.places[0], sparse.places[1]
    n_rows = dual.sizes[N_ROWS]
    for i in range(n_rows):
        count[i] = 0
        links[i] = 0
    end_all = 2 * state[END_LINK]
    for p in range(state[FIRST_PAIR], state[END_PAIR]):
        end = pairs[FIRST_LINK, p + 1] if p + 1 < state[END_PAIR] else end_all
        count[pairs[ROW, p]] += 1
        links[pairs[ROW, p]] += end - pairs[FIRST_LINK, p]
    chosen = FREE
    for i in range(n_rows):
        if sparse.maps[depth, IMAGE, i] == OPEN:
            if (
                chosen == FREE
                or count[i] < count[chosen]
                or (count[i] == count[chosen] and links[i] > links[chosen])
            ):
                chosen = np.int64(i)
    best = FREE
    for p in range(state[FIRST_PAIR], state[END_PAIR]):
        if pairs[ROW, p] == chosen:
            if best == FREE or sparse.pair_values[SLACK, p] < sparse.pair_values[SLACK, best]:
                best = np.int64(p)
            elif sparse.pair_values[SLACK, p] == sparse.pair_values[SLACK, best] and sparse.pair_steps[X, p] > sparse.pair_steps[X, best]:
                best = np.int64(p)
    state[BRANCH] = best


_ = ALIVE, N_QUERY
