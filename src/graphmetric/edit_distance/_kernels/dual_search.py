"""Branch and bound with the dual bound: few tree nodes, each with a bound that is nearly exact.

The root starts with primal-dual steps over all node pairs. Every bound on the way rules out pairs, and once enough are
gone the rest continues as a sparse problem (sparse_bound.py). A tree node takes steps while they promise to close it,
then splits: one pair is fixed in the child; when the child is done, the pair is ruled out and the node continues
without it. So there is one open problem per depth, and the least of their bounds is a lower bound of the distance at
any time.

The tree looks for maps up to a target: first for those that cost as little as the lower bound of the root allows. If
there is none, the lower bound has risen, and the tree starts again with a higher target. The last tree takes most of
the time, so the others cost little, and a search that is stopped knows far better lower bounds.
"""

from typing import NamedTuple

import numpy as np

from graphmetric._foundation.assignment import COLUMN_DUAL, FREE, ROW_MATCH
from graphmetric._foundation.compilation import entry, fragment, part
from graphmetric.edit_distance._kernels.dual_pair import (
    COLUMN_OF,
    EVERYTHING,
    HELD,
    LARGEST_SAVING,
    N_COLOURS,
    N_COLUMNS,
    N_ROWS,
    NODE_OF,
    UNKNOWN,
    DualPair,
    DualSize,
    Floats,
    Orbits,
    allocate_dual_pair,
    allocate_orbits,
    find_orbits,
    load_dual_pair,
)
from graphmetric.edit_distance._kernels.exact_search import SearchLimits
from graphmetric.edit_distance._kernels.node_maps import (
    RandomState,
    allocate_random,
    keep_trial,
    seed_pair,
    solve_root,
    write_bounds,
)
from graphmetric.edit_distance._kernels.packing import Integers, PackedProblem
from graphmetric.edit_distance._kernels.primal_dual import (
    ZERO,
    Steps,
    allocate_steps,
    start_steps,
    take_steps,
    unit_of_steps,
)
from graphmetric.edit_distance._kernels.primal_dual import X as DENSE_X
from graphmetric.edit_distance._kernels.rounding import (
    COST,
    LocalMap,
    allocate_local_map,
    descend,
    load_map,
    round_masses,
    shift_regions,
)
from graphmetric.edit_distance._kernels.rounding import IMAGE as LOCAL_IMAGE
from graphmetric.edit_distance._kernels.sparse_bound import bound_level, rule_out, take_sparse_steps
from graphmetric.edit_distance._kernels.sparse_problem import (
    ALIVE,
    BEST_BOUND,
    BRANCH,
    COLUMN,
    DEAD,
    END_PAIR,
    FIRST_LINK,
    FIRST_PAIR,
    FIXED,
    IMAGE,
    LARGEST_SPARSE,
    MATCHED,
    N_OPEN_ROWS,
    OPEN,
    PHASE,
    ROOT_BOUND,
    ROW,
    SLACK,
    STATE,
    Sparse,
    X,
    allocate_sparse,
    derive_level,
    end_of_links,
    fits_sparse,
    fix_forced,
    gather_root,
    is_full,
)
from graphmetric.edit_distance._kernels.split_bound import (
    ROW_DUAL,
    Splits,
    allocate_splits,
    solve_weights,
    split_by_prices,
    weigh_blocks,
)
from graphmetric.edit_distance._kernels.workspace import (
    BEST,
    LOWER_SO_FAR,
    MODULUS,
    N_NULL,
    N_TARGET,
    NO_LIMIT,
    QUERY,
    RESIDUE,
    STOP,
    TARGET,
    TRIAL,
    UPPER,
    Results,
    Workspace,
    load_pair,
    round_up,
)

STEPS_PER_BOUND = 25  # primal-dual steps between two bounds at the root
SHORT_ROUNDS, STEPS_PER_SHORT_ROUND = (
    6,
    10,
)  # bounds before any map, if most pairs are above the limit
MOST_DENSE = 8  # bounds from dense steps before the sparse problem, unless that is too large
MOST_DENSE_IF_FULL = 40
FEW_PAIRS = 0.33  # share of pairs left below which the sparse problem is quicker
SPARSE_STEPS = 10  # steps between two bounds in the tree
LEAST_ROUNDS = 3  # bounds of a tree node before it may be split
PATIENCE, ROOT_PATIENCE = 6.0, 20.0  # continue while this many rounds like the last would close the node
AGREEMENT = 0.2  # mass that each round of equal colours gives to a pair of nodes
ROOT_SHIFTS = 2  # shifts of a rounded map per row, and of the best one; thrice as many after eight bounds
TREE_SHIFTS = 10
TARGETS = 4  # a tree looks through this part of the costs that are still possible: a quarter
DEATH = 0.002  # value of ruling out a pair or link, compared with raising the bound by one
# Fields of DualWork.status
DEPTH, CHUNKS, EXPANDED, UPPER_LIMIT, STOP_AT_LIMIT, FULL_MEMORY, BEST_LOWER, TARGET_COST, MAPS_DUE = range(9)
NEW, RETURNED = range(2)
SPARSE = 1 << 20  # in CHUNKS: the dense steps are over


class DualWork(NamedTuple):
    """Everything a search writes to."""

    base: Workspace  # its root only
    dual: DualPair
    steps: Steps
    splits: Splits
    sparse: Sparse
    alive: Integers  # (row, column): 1 unless ruled out
    score: Floats  # (row, column): scratch of rounding
    image: Integers  # (row)
    local: LocalMap
    orbits: Orbits
    random: RandomState
    status: Integers


def allocate_dual_work(base: Workspace, size: DualSize, tree_memory: int = LARGEST_SPARSE) -> DualWork:
    """Make room, with at most about ``tree_memory`` bytes for the tree; the signals of ``base`` stop the search."""
    steps = allocate_steps(size)
    return DualWork(
        base,
        allocate_dual_pair(size),
        steps,
        allocate_splits(size, base.progress.signals),
        allocate_sparse(size, tree_memory),
        np.zeros((size.rows, size.columns), dtype=np.int64),
        np.zeros((size.rows, size.columns)),
        np.zeros(size.rows, dtype=np.int64),
        allocate_local_map(size, steps.nodes[DENSE_X]),
        allocate_orbits(size),
        allocate_random(0),
        np.zeros(9, dtype=np.int64),
    )


@entry
def search_dual(
    problem: PackedProblem,
    pairs: Integers,
    limits: SearchLimits,
    root_only: int,
    work: DualWork,
    results: Results,
    relaxed: Floats,
) -> None:
    """Search every pair within its limits; an expansion takes a fraction of a millisecond at 35 nodes.

    A chunk of steps at the root counts as one expansion; with ``root_only`` there are no others. ``relaxed`` gets the
    best bound of the root, not rounded up. Another thread may stop it by a signal: the current pair gets valid bounds,
    the rest is left untouched. To stop by a count and continue later, search one pair in slices: raise ``max_expanded``
    and resume until it is finished.
    """
    signals = work.base.progress.signals
    for p in range(len(pairs)):
        if p > 0 and signals[STOP] > 0:
            return
        if limits.resume == 0:
            load_pair(problem, pairs[p, 0], pairs[p, 1], work.base.pair)
            load_dual_pair(problem, pairs[p, 0], pairs[p, 1], work.base.pair, work.dual)
            seed_pair(work.random, pairs[p, 0], pairs[p, 1])
            start_dual(work, limits.upper_limit[p], limits.stop_at_limit, limits.refute, np.int64(ROOT_SHIFTS))
            if not is_over(work) and signals[STOP] == 0:
                start_steps(work.dual, work.steps)
        status = work.status
        while not is_over(work) and status[EXPANDED] < limits.max_expanded and signals[STOP] == 0:
            status[EXPANDED] += 1
            if status[CHUNKS] != SPARSE:
                advance_root(work, root_only)
            else:
                advance_tree(work)
                if status[DEPTH] < 0 and status[TARGET_COST] < best_of_interest(work):
                    start_tree(work)
            signals[LOWER_SO_FAR] = lower_bound_of(work)
        lower = lower_bound_of(work)
        write_bounds(work.base, results, p, lower)
        relaxed[p] = max(0.0, work.sparse.values[0, ROOT_BOUND] / work.dual.unit[0])
        results.expanded[p] = status[EXPANDED]
        results.finished[p] = 1 if is_over(work) or lower == results.upper[p] else 0


@fragment
def start_dual(work: DualWork, upper_limit: int, stop_at_limit: int, refute: int, shifts: int) -> None:
    """Start a pair with the branch bound and first maps, improved by so many shifts per row.

    Nothing is ruled out yet, and the steps are not ready.
    """
    status, dual = work.status, work.dual
    start_root(work, upper_limit, stop_at_limit)
    status[MAPS_DUE] = SHORT_ROUNDS if refute == 1 and work.base.progress.status[UPPER] > upper_limit else 0
    if dual.sizes[N_ROWS] > 0 and status[MAPS_DUE] == 0:
        make_first_maps(work, shifts)
    if status[BEST_LOWER] > best_of_interest(work) or dual.sizes[N_ROWS] == 0:
        status[DEPTH] = -1


@fragment
def start_root(work: DualWork, upper_limit: int, stop_at_limit: int) -> None:
    """Start a pair with the branch bound and its map."""
    status, dual = work.status, work.dual
    status[DEPTH], status[CHUNKS], status[EXPANDED], status[FULL_MEMORY] = -1, 0, 1, 0
    status[UPPER_LIMIT], status[STOP_AT_LIMIT], status[TARGET_COST] = upper_limit, stop_at_limit, NO_LIMIT
    status[BEST_LOWER] = solve_root(work.base)
    for i in range(dual.sizes[N_ROWS]):
        for k in range(dual.sizes[N_COLUMNS]):
            work.alive[i, k] = 1
            work.local.mass[i, k] = ZERO  # those of the pair before
    for k in range(dual.sizes[N_COLUMNS]):
        work.splits.assignment.values[COLUMN_DUAL, k] = 0.0
        work.splits.assignment.places[ROW_MATCH, k] = FREE
    work.sparse.values[0, BEST_BOUND], work.sparse.values[0, ROOT_BOUND] = -1e300, -1e300
    work.orbits.known[QUERY, 0] = UNKNOWN
    status[DEPTH], status[MAPS_DUE] = 0, 0


@fragment
def best_of_interest(work: DualWork) -> int:
    """The largest cost that is attainable, below the incumbent's and within the upper limit."""
    root = work.base.levels.state[0]
    upper = work.base.progress.status[UPPER]
    gap = (upper - root[RESIDUE]) % root[MODULUS]
    return min(upper - (gap if gap > 0 else root[MODULUS]), work.status[UPPER_LIMIT])


@fragment
def limit_of(work: DualWork) -> float:
    """A problem whose bound is above this, in the unit of the splits, is done."""
    return np.float64(min(best_of_interest(work), work.status[TARGET_COST])) * work.dual.unit[0]


@fragment
def is_over(work: DualWork) -> bool:
    """Whether nothing is left to do."""
    decided = work.status[STOP_AT_LIMIT] == 1 and work.base.progress.status[UPPER] <= work.status[UPPER_LIMIT]
    return decided or work.status[DEPTH] < 0 or work.status[FULL_MEMORY] == 1


@fragment
def lower_bound_of(work: DualWork) -> int:
    """A lower bound of the distance, at any time."""
    root, status = work.base.levels.state[0], work.status
    lower = work.base.progress.status[UPPER]
    searched = min(status[UPPER_LIMIT], status[TARGET_COST])
    if lower > searched:
        lower = round_up(2 * searched + 1, root[RESIDUE], root[MODULUS])
    for depth in range(status[DEPTH] + 1):
        lower = min(lower, rounded(work, work.sparse.values[depth, BEST_BOUND]))
    status[BEST_LOWER] = max(lower, status[BEST_LOWER])
    return status[BEST_LOWER]


@fragment
def rounded(work: DualWork, bound: float) -> int:
    """The least attainable cost that is not below a bound in the unit of the splits."""
    root = work.base.levels.state[0]
    if bound < 0.0:
        return round_up(0, root[RESIDUE], root[MODULUS])
    whole = np.int64(np.ceil(bound / work.dual.unit[0]))
    return round_up(2 * whole, root[RESIDUE], root[MODULUS])


@fragment
def advance_root(work: DualWork, root_only: int) -> None:
    """Take dense steps, bound, round to a map; change to the sparse problem when enough is ruled out."""
    status, dual, splits, values = work.status, work.dual, work.splits, work.sparse.values
    n_rows, n_columns = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS]
    for _ in range(STEPS_PER_BOUND if status[MAPS_DUE] == 0 else STEPS_PER_SHORT_ROUND):
        if work.base.progress.signals[STOP] > 0:
            return
        take_steps(dual, work.steps, np.int64(1))
    status[CHUNKS] += 1
    bound = bound_root(work)
    if values[0, BEST_BOUND] > limit_of(work):
        status[DEPTH] = -1
        return
    if work.base.progress.signals[STOP] == 0:
        if status[MAPS_DUE] > 1:
            status[MAPS_DUE] -= 1
            return
        if status[MAPS_DUE] == 1:
            status[MAPS_DUE] = 0
            make_first_maps(work, np.int64(ROOT_SHIFTS))
        round_root(work, ROOT_SHIFTS * dual.sizes[N_ROWS] * (4 + min(8, status[CHUNKS])) // 4)
    limit = limit_of(work)
    if values[0, BEST_BOUND] > limit or status[BEST_LOWER] > best_of_interest(work):
        status[DEPTH] = -1
        return
    if root_only == 1:
        return
    left = 0
    assignment, row_dual = splits.assignment, splits.values[ROW_DUAL]
    for i in range(n_rows):
        for k in range(n_columns):
            slack = row_dual[i] + assignment.values[COLUMN_DUAL, k] - assignment.weight[i, k]
            if slack > limit - bound:
                work.alive[i, k] = 0
            left += work.alive[i, k]
    if status[CHUNKS] < MOST_DENSE and left >= FEW_PAIRS * n_rows * n_columns:
        return
    if fits_sparse(dual, work.alive, work.sparse):
        status[CHUNKS] = SPARSE
        start_tree(work)
    elif status[CHUNKS] >= MOST_DENSE_IF_FULL:
        status[FULL_MEMORY] = 1


@part
def start_tree(work: DualWork) -> None:
    """Start a tree that looks for maps of the least cost that is still possible, or of about an edit more."""
    status, dual, sparse = work.status, work.dual, work.sparse
    lower, most = lower_bound_of(work), best_of_interest(work)
    edit = max(1, dual.sizes[LARGEST_SAVING] // 2)
    status[TARGET_COST] = min(most, lower + max(edit - 1, (most - lower) // TARGETS))
    gather_root(dual, work.steps, work.alive, sparse)
    sparse.values[0, BEST_BOUND] = sparse.values[0, ROOT_BOUND]
    for i in range(dual.sizes[N_ROWS]):
        sparse.maps[0, MATCHED, i] = FREE
    for k in range(dual.sizes[N_COLUMNS]):
        sparse.prices[0, k] = 0.0
    sparse.state[0, PHASE] = NEW
    status[DEPTH] = 0


@part
def bound_root(work: DualWork) -> float:
    """The bound from the prices of the dense steps, in the unit of the splits; the best so far is kept."""
    dual, splits, values = work.dual, work.splits, work.sparse.values[0]
    split_by_prices(dual, work.steps, splits)
    weigh_blocks(dual, work.steps, splits)
    bound = np.float64(dual.sizes[EVERYTHING]) * dual.unit[0] - solve_weights(splits, dual.sizes[N_COLUMNS])
    values[BEST_BOUND] = max(values[BEST_BOUND], bound)
    values[ROOT_BOUND] = max(values[ROOT_BOUND], bound)
    return bound


@part
def round_root(work: DualWork, n_shifts: int) -> None:
    """Round the masses of the dense steps to a map."""
    for i in range(work.dual.sizes[N_ROWS]):
        work.image[i] = FREE
        for k in range(work.dual.sizes[N_COLUMNS]):
            work.score[i, k] = work.steps.nodes[DENSE_X, i, k]
    try_rounding(work, n_shifts)


@part
def make_first_maps(work: DualWork, shifts: int) -> None:
    """Improve the map of the branch bound, and round equal colours to another one."""
    improve_best(work, np.int64(0))
    round_colours(work, shifts * work.dual.sizes[N_ROWS])


@part
def round_colours(work: DualWork, n_shifts: int) -> None:
    """Make a first map of nodes whose surroundings agree; where graphs differ by a few edits it is often the best."""
    dual = work.dual
    for i in range(dual.sizes[N_ROWS]):
        work.image[i] = FREE
        for k in range(dual.sizes[N_COLUMNS]):
            agreement = 0.0
            for depth in range(N_COLOURS):
                agreement += dual.row_colours[depth, i] == dual.column_colours[depth, k]
            work.score[i, k] = AGREEMENT * agreement
    try_rounding(work, n_shifts)


@part
def try_rounding(work: DualWork, n_shifts: int) -> None:
    """Round the masses in ``work.score`` to a map and improve it, and then the best one, by some shifts each."""
    if not round_masses(work.dual, work.local, work.score, work.image, work.base.progress.signals):
        return
    improve_image(work, n_shifts)
    if work.base.progress.status[UPPER] < work.local.state[COST]:
        improve_best(work, n_shifts)


@fragment
def improve_best(work: DualWork, n_shifts: int) -> None:
    """Improve the best map."""
    base, dual = work.base, work.dual
    n_target = base.pair.sizes[N_TARGET] - base.pair.sizes[N_NULL]
    for i in range(dual.sizes[N_ROWS]):
        node = base.progress.maps[BEST, i]
        work.image[i] = dual.lines[COLUMN_OF, node] if node < n_target else FREE
    improve_image(work, n_shifts)


@part
def improve_image(work: DualWork, n_shifts: int) -> None:
    """Improve the map in ``work.image``, and keep it if it is the best."""
    base, dual, local = work.base, work.dual, work.local
    load_map(base.pair, dual, local, work.image)
    descend(base.pair, dual, local, base.progress.signals)
    shift_regions(base.pair, dual, local, work.random, n_shifts, work.status[BEST_LOWER], base.progress.signals)
    keep_local(work)


@part
def keep_local(work: DualWork) -> None:
    """Keep the local map if it is the best."""
    base, dual, local = work.base, work.dual, work.local
    cost = local.state[COST]
    if cost >= base.progress.status[UPPER]:
        return
    n_target = base.pair.sizes[N_TARGET] - base.pair.sizes[N_NULL]
    for i in range(dual.sizes[N_ROWS]):
        k = local.lines[LOCAL_IMAGE, i]
        base.progress.maps[TRIAL, i] = n_target + i if k == dual.sizes[N_COLUMNS] else dual.lines[NODE_OF, k]
    keep_trial(base, cost)


@part
def round_level(work: DualWork, depth: int) -> None:
    """Round the masses of a level to a map."""
    dual, sparse = work.dual, work.sparse
    n_rows, n_columns = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS]
    for i in range(n_rows):
        k = sparse.maps[depth, IMAGE, i]
        work.image[i] = FREE if k == OPEN else (k if k >= 0 else -2)
        for column in range(n_columns):
            work.score[i, column] = -1.0
    for p in range(sparse.state[depth, FIRST_PAIR], sparse.state[depth, END_PAIR]):
        if sparse.whole[COLUMN, p] < n_columns:
            work.score[sparse.whole[ROW, p], sparse.whole[COLUMN, p]] = sparse.steps[X, p]
    try_rounding(work, np.int64(TREE_SHIFTS))


@fragment
def advance_tree(work: DualWork) -> None:
    """Bound the deepest problem; leave it or split it."""
    sparse, status = work.sparse, work.status
    depth = status[DEPTH]
    if sparse.state[depth, PHASE] == RETURNED:
        rule_out_branch(work, depth)
        sparse.state[depth, PHASE] = NEW
    left_open = bound_node(work, depth)
    if work.base.progress.signals[STOP] > 0:
        return
    if left_open:
        choose_pair(work, depth)
        branch = sparse.state[depth, BRANCH]
        sparse.whole[STATE, branch] = FIXED
        possible = derive_level(work.dual, sparse, depth, depth + 1)
        sparse.whole[STATE, branch] = ALIVE
        sparse.state[depth, PHASE] = RETURNED
        if possible:
            sparse.state[depth + 1, PHASE] = NEW
            if depth + 1 < work.orbits.known.shape[1]:
                work.orbits.known[QUERY, depth + 1] = UNKNOWN
            status[DEPTH] = depth + 1
        elif is_full(sparse, depth):
            status[FULL_MEMORY] = 1
        return
    status[DEPTH] = depth - 1


@fragment
def rule_out_branch(work: DualWork, depth: int) -> None:
    """Rule out the fixed pair, and all pairs of a row and a column that are like its own, which are no better.

    Rows are alike if an automorphism takes one to the other and holds all rows that were fixed before; so are columns.
    If a better map had a pair like the fixed one, automorphisms of both graphs would make of it a map that costs the
    same and has the fixed pair, but there is none.
    """
    sparse, dual, pair, orbits = work.sparse, work.dual, work.base.pair, work.orbits
    state, pairs, node_of = sparse.state[depth], sparse.whole, dual.lines[NODE_OF]
    row_class, node_class = pair.twin[QUERY], pair.twin[TARGET]
    if depth < orbits.known.shape[1]:
        find_orbits_of_levels(work, depth)
        row_class, node_class = orbits.classes[QUERY, depth], orbits.classes[TARGET, depth]
    row, column, n_columns = pairs[ROW, state[BRANCH]], pairs[COLUMN, state[BRANCH]], dual.sizes[N_COLUMNS]
    for p in range(state[FIRST_PAIR], state[END_PAIR]):
        k = pairs[COLUMN, p]
        if row_class[pairs[ROW, p]] == row_class[row] and (
            k == column or (max(k, column) < n_columns and node_class[node_of[k]] == node_class[node_of[column]])
        ):
            pairs[STATE, p] = DEAD


@part
def find_orbits_of_levels(work: DualWork, deepest: int) -> None:
    """Find which rows are alike, and which columns, while the pairs that were fixed at smaller depths stay."""
    sparse, dual, orbits = work.sparse, work.dual, work.orbits
    held, sides = orbits.lines[HELD], (QUERY, TARGET)
    for depth in range(deepest + 1):
        if orbits.known[QUERY, depth] != UNKNOWN:
            continue
        for side in sides:
            for node in range(held.shape[0]):
                held[node] = 0
            for before in range(depth):
                branch = sparse.state[before, BRANCH]
                column = sparse.whole[COLUMN, branch]
                if side == QUERY:
                    held[sparse.whole[ROW, branch]] = 1
                elif column < dual.sizes[N_COLUMNS]:
                    held[dual.lines[NODE_OF, column]] = 1
            find_orbits(work.base.pair, dual, orbits, side, depth)


@fragment
def bound_node(work: DualWork, depth: int) -> bool:
    """Take steps while they promise to close the node; False when it is closed. Told to stop, it ends soon."""
    sparse, dual = work.sparse, work.dual
    values = sparse.values[depth]
    if not shrink(work, depth):
        return False
    rounds = 0
    while True:
        if rounds > 0:
            take_sparse_steps(dual, sparse, depth, np.int64(SPARSE_STEPS))
        before = values[BEST_BOUND]
        bound_level(dual, sparse, work.splits, depth)
        limit = limit_of(work)
        if values[BEST_BOUND] > limit:
            return False
        died = rule_out(sparse, depth, limit)
        if died > 0 and not shrink(work, depth):
            return False
        gain = values[BEST_BOUND] - before + DEATH * died * unit_of_steps(dual)
        rounds += 1
        if rounds == 2:
            round_level(work, depth)
            limit = limit_of(work)
        patience = ROOT_PATIENCE if depth == 0 else PATIENCE
        if rounds >= LEAST_ROUNDS and gain * patience < limit + 1.0 - values[BEST_BOUND]:
            return True
        if work.base.progress.signals[STOP] > 0:
            return True


@part
def shrink(work: DualWork, depth: int) -> bool:
    """Drop dead pairs and fix forced ones; False if no map is left, or only one, which is tried."""
    sparse, dual = work.sparse, work.dual
    while True:
        fixed = fix_forced(dual, sparse, depth)
        if fixed < 0 or not derive_level(dual, sparse, depth, depth):
            return False
        if sparse.state[depth, N_OPEN_ROWS] == 0:
            round_level(work, depth)
            return False
        if fixed == 0:
            return True


@fragment
def choose_pair(work: DualWork, depth: int) -> None:
    """Choose a row with few pairs and many links to each, and in it the pair with least slack, then most mass."""
    sparse, dual = work.sparse, work.dual
    state, whole = sparse.state[depth], sparse.whole
    count, links = sparse.places[0], sparse.places[1]
    n_rows = dual.sizes[N_ROWS]
    for i in range(n_rows):
        count[i] = 0
        links[i] = 0
    for p in range(state[FIRST_PAIR], state[END_PAIR]):
        count[whole[ROW, p]] += 1
        links[whole[ROW, p]] += end_of_links(sparse, depth, p) - whole[FIRST_LINK, p]
    chosen, top = FREE, 0.0
    for i in range(n_rows):
        if sparse.maps[depth, IMAGE, i] == OPEN:
            score = links[i] / max(1, count[i]) - count[i]
            if chosen == FREE or score > top:
                chosen, top = np.int64(i), score
    best = FREE
    slack, mass = sparse.exact[SLACK], sparse.steps[X]
    for p in range(state[FIRST_PAIR], state[END_PAIR]):
        if whole[ROW, p] != chosen:
            continue
        if best == FREE or slack[p] < slack[best] or (slack[p] == slack[best] and mass[p] > mass[best]):
            best = np.int64(p)
    state[BRANCH] = best
