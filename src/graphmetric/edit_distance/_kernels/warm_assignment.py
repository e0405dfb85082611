"""Assignment by shortest augmenting paths, started from whatever duals and matching the level already holds.

A level is feasible when row dual + column dual <= cost everywhere and matched entries are tight. The sum of all duals
(the insertion row counted once per column it must take) is then a lower bound, and every step below raises it, so a
solve may stop as soon as the bound reaches ``limit``.
"""

import numpy as np

from graphmetric._foundation.compilation import fragment, part
from graphmetric.edit_distance._kernels.packing import Integers
from graphmetric.edit_distance._kernels.workspace import (
    BLOCKED,
    BOUND,
    COST_START,
    DISTANCE,
    DUAL,
    FREE,
    INSERTION,
    MATCH,
    ONE,
    REACHED_FROM,
    SCANNED,
    STOP,
    Levels,
    Scratch,
)


@part
def solve_assignment(
    levels: Levels,
    scratch: Scratch,
    signals: Integers,
    depth: int,
    n_rows: int,
    n_columns: int,
    n_free: int,
    limit: int,
) -> bool:
    """Complete the matching of ``n_rows`` query rows; False as soon as the bound of the level reaches ``limit``.

    ``scratch.free_rows[:n_free]`` are the unmatched query rows. When it is told to stop, it returns False as well; the
    bound is valid then, and the matching is not complete.
    """
    unplaced = raise_insertion_row(levels, depth, n_rows, n_columns)
    n_free = raise_free_rows(levels, scratch, depth, n_columns, n_free)
    if levels.state[depth, BOUND] >= limit:
        return False
    if n_free + unplaced == 0:
        return True
    raise_free_columns(levels, depth, n_rows, n_columns)
    if levels.state[depth, BOUND] >= limit:
        return False
    for k in range(unplaced + n_free):
        if signals[STOP] > 0:
            return False
        source, units = (INSERTION, unplaced - k) if k < unplaced else (scratch.free_rows[k - unplaced], ONE)
        if not augment(levels, scratch, depth, n_columns, source, units, limit):
            return False
    return True


@part
def match_anyhow(levels: Levels, depth: int, n_rows: int, n_columns: int) -> None:
    """Give the rows that a stopped solve left unmatched the columns that are free, in order; the rest is inserted."""
    free = 0
    for i in range(1, n_rows + 1):
        j = levels.rows[depth, MATCH, i]
        if 0 <= j < n_columns and levels.columns[depth, MATCH, j] == i:
            continue
        while levels.columns[depth, MATCH, free] != FREE:
            free += 1
        levels.columns[depth, MATCH, free] = i
        levels.rows[depth, MATCH, i] = free
    for j in range(free, n_columns):
        if levels.columns[depth, MATCH, j] == FREE:
            levels.columns[depth, MATCH, j] = INSERTION


@fragment
def raise_insertion_row(levels: Levels, depth: int, n_rows: int, n_columns: int) -> int:
    """Raise the shared dual of the insertion row as far as it goes; returns how many columns it still lacks."""
    inserted = n_columns - n_rows
    if inserted == 0:
        return 0
    start = levels.state[depth, COST_START]
    unplaced = inserted
    least = BLOCKED
    for j in range(n_columns):
        if levels.columns[depth, MATCH, j] == INSERTION:
            unplaced -= 1
        least = min(least, levels.cost[start + j] - levels.columns[depth, DUAL, j])
    levels.state[depth, BOUND] += inserted * (least - levels.rows[depth, DUAL, INSERTION])
    levels.rows[depth, DUAL, INSERTION] = least
    return unplaced


@fragment
def raise_free_rows(levels: Levels, scratch: Scratch, depth: int, n_columns: int, n_free: int) -> int:
    """Raise the duals of free rows and match those with a tight free column; returns how many rows stay free."""
    still_free = 0
    for f in range(n_free):
        i = scratch.free_rows[f]
        row = levels.state[depth, COST_START] + i * n_columns
        least = 2 * BLOCKED
        best = 0
        for j in range(n_columns):
            slack = 2 * (levels.cost[row + j] - levels.columns[depth, DUAL, j]) + (levels.columns[depth, MATCH, j] >= 0)
            if slack < least:
                least = slack
                best = j
        least >>= 1
        levels.state[depth, BOUND] += least - levels.rows[depth, DUAL, i]
        levels.rows[depth, DUAL, i] = least
        if levels.columns[depth, MATCH, best] == FREE:
            levels.columns[depth, MATCH, best] = i
            levels.rows[depth, MATCH, i] = best
        else:
            scratch.free_rows[still_free] = i
            still_free += 1
    return still_free


@fragment
def raise_free_columns(levels: Levels, depth: int, n_rows: int, n_columns: int) -> None:
    """Raise the duals of free columns as far as they go."""
    first = INSERTION if n_columns > n_rows else INSERTION + 1
    for j in range(n_columns):
        if levels.columns[depth, MATCH, j] != FREE:
            continue
        least = BLOCKED
        entry = levels.state[depth, COST_START] + first * n_columns + j
        for i in range(first, n_rows + 1):
            least = min(least, levels.cost[entry] - levels.rows[depth, DUAL, i])
            entry += n_columns
        levels.state[depth, BOUND] += least - levels.columns[depth, DUAL, j]
        levels.columns[depth, DUAL, j] = least


@fragment
def augment(levels: Levels, scratch: Scratch, depth: int, n_columns: int, source: int, units: int, limit: int) -> bool:
    """Match one more column, starting from row ``source``, by a shortest path in reduced costs (Dijkstra).

    ``units`` is how many columns the source still lacks: its dual counts that often in the bound.
    """
    columns, work = levels.columns, scratch.columns
    row = levels.state[depth, COST_START] + source * n_columns
    offset = levels.rows[depth, DUAL, source]
    for j in range(n_columns):
        work[DISTANCE, j] = levels.cost[row + j] - offset - columns[depth, DUAL, j]
        work[REACHED_FROM, j] = source
        work[SCANNED, j] = 0
    entry_of_insertion = FREE
    while True:
        reach = 4 * BLOCKED
        nearest = INSERTION
        for j in range(n_columns):
            # among equals a free column, since it ends the path
            key = 2 * work[DISTANCE, j] + (columns[depth, MATCH, j] >= 0)
            if work[SCANNED, j] == 0 and key < reach:
                reach = key
                nearest = np.int64(j)
        reach >>= 1
        if levels.state[depth, BOUND] + units * reach >= limit:
            return False
        i = columns[depth, MATCH, nearest]
        if i == FREE:
            break
        work[SCANNED, nearest] = 1
        if i == INSERTION:
            if entry_of_insertion >= 0 or source == INSERTION:
                continue
            entry_of_insertion = nearest
        row = levels.state[depth, COST_START] + i * n_columns
        offset = levels.rows[depth, DUAL, i] - reach
        for j in range(n_columns):
            through = levels.cost[row + j] - offset - columns[depth, DUAL, j]
            if through < work[DISTANCE, j] and work[SCANNED, j] == 0:
                work[DISTANCE, j] = through
                work[REACHED_FROM, j] = i
    if reach > 0:
        shift_duals(levels, scratch, depth, n_columns, entry_of_insertion, reach)
        levels.rows[depth, DUAL, source] += reach
        levels.state[depth, BOUND] += units * reach
    flip_path(levels, scratch, depth, nearest, source, entry_of_insertion)
    return True


@fragment
def shift_duals(
    levels: Levels, scratch: Scratch, depth: int, n_columns: int, entry_of_insertion: int, reach: int
) -> None:
    """Make the shortest path tight without losing feasibility; the insertion row moves once, by its first column."""
    for j in range(n_columns):
        if scratch.columns[SCANNED, j] == 1:
            rise = reach - scratch.columns[DISTANCE, j]
            levels.columns[depth, DUAL, j] -= rise
            i = levels.columns[depth, MATCH, j]
            if i != INSERTION or j == entry_of_insertion:
                levels.rows[depth, DUAL, i] += rise


@fragment
def flip_path(levels: Levels, scratch: Scratch, depth: int, column: int, source: int, entry_of_insertion: int) -> None:
    """Shift the matching along the path that ends in the free column."""
    while True:
        i = scratch.columns[REACHED_FROM, column]
        levels.columns[depth, MATCH, column] = i
        if i == source:
            levels.rows[depth, MATCH, i] = column  # never read for the insertion row
            return
        following = entry_of_insertion if i == INSERTION else levels.rows[depth, MATCH, i]
        levels.rows[depth, MATCH, i] = column
        column = following
