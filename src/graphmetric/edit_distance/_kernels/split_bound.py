"""Lower bounds from splitting edge savings between the two ends of the edges.

For every arc i->j of the query and k->l of the target the saving s of mapping one to the other is split: block (i, k)
gets t, block (j, l) gets s - t. With M[i, k] the largest matching of the arcs of i with the arcs of k by weights
max(0, t), no map saves more than the largest assignment over p[i, k] + M[i, k]. The branch bound splits evenly; the
best split gives the relaxed edit distance.

All numbers are whole (held as doubles below 2**53), so that no rounding error can make a bound invalid.
"""

from typing import NamedTuple

import numpy as np

from graphmetric._foundation.assignment import (
    COLUMN_DUAL,
    COLUMN_MATCH,
    FREE,
    FREE_ROWS,
    ROW_MATCH,
    AssignmentWork,
    allocate_assignment,
    assign_rows,
    augment_matching,
)
from graphmetric._foundation.compilation import fragment, hot_part, part
from graphmetric.edit_distance._kernels.dual_pair import (
    ARC_REVERSE,
    BY_ROW,
    DEGREE_OF,
    HEAD,
    LARGEST_SAVING,
    MAY_DELETE,
    N_COLUMN_ARCS,
    N_COLUMNS,
    N_ROW_EDGES,
    N_ROWS,
    N_SLOTS,
    ROW_START,
    SLOT_START,
    TAIL,
    DualPair,
    DualSize,
    Floats,
)
from graphmetric.edit_distance._kernels.packing import Integers
from graphmetric.edit_distance._kernels.primal_dual import BACKWARD, FORWARD, IN_PRICE, Steps, add, unit_of_steps
from graphmetric.edit_distance._kernels.workspace import STOP

CLOSED = 4  # up to this degree a block is solved by a formula, many blocks at once
SOLVED = 12  # up to this degree a block is solved; the matching of a larger one is bounded by prices
HUGE = 4e15  # above any sum

# Fields of Splits.values and Splits.places
ROW_DUAL, WORK = 0, 1
ROW_PLACE, COLUMN_PLACE, COLUMN_AT = range(3)


class Splits(NamedTuple):
    """A split and the assignment over its blocks; the duals of row i and column k sum to at least weight[i, k]."""

    split: Floats  # (edge, arc): what the block of the edge's tail gets
    assignment: AssignmentWork  # rows beyond those of the query leave a column free
    values: Floats  # (field, position): duals of rows, and three lines from WORK on as scratch
    places: Integers  # (field, position)
    block: Floats  # (CLOSED, CLOSED, column): weights of the blocks of one row
    small: AssignmentWork  # one block, of up to SOLVED rows and columns
    signals: Integers  # shared with another thread, which may stop an assignment


def allocate_splits(size: DualSize, signals: Integers) -> Splits:
    """Make room."""
    widest = max(size.columns, SOLVED) + 1
    return Splits(
        np.zeros((size.row_edges, 2 * size.column_edges)),
        allocate_assignment(size.columns),
        np.zeros((WORK + 3, widest)),
        np.zeros((3, widest), dtype=np.int64),
        np.zeros((CLOSED, CLOSED, size.columns)),
        allocate_assignment(SOLVED),
        signals,
    )


@part
def split_by_prices(dual: DualPair, steps: Steps, splits: Splits) -> None:
    """Give each end of an edge the share of its prices, and half of the rest."""
    sizes = dual.sizes
    n_arcs, n_slots, slot_start = sizes[N_COLUMN_ARCS], sizes[N_SLOTS], dual.lines[SLOT_START]
    reverse = dual.column_arcs[ARC_REVERSE]
    forward, backward = steps.work[FORWARD], steps.work[BACKWARD]
    half = 0.5 * unit_of_steps(dual)
    most = 8.0 * sizes[LARGEST_SAVING] * dual.unit[0]
    for edge in range(sizes[N_ROW_EDGES]):
        i, j = dual.arcs[TAIL, 2 * edge], dual.arcs[HEAD, 2 * edge]
        out_price, out_backward = steps.outs[2 * edge], steps.outs[2 * edge + 1]
        in_price, in_backward = steps.ins[IN_PRICE, i], steps.ins[IN_PRICE, j]
        saving, split = dual.edge_saving[edge], splits.split[edge]
        for slot in range(n_slots):
            start, end = slot_start[slot], slot_start[slot + 1]
            add(out_price, in_price[start:end], forward[start:end])
            add(out_backward, in_backward[start:end], backward[start:end])
        for arc in range(n_arcs):
            back = np.uint64(reverse[arc])
            share = 0.5 * saving[arc] + half * (np.float64(forward[arc]) - np.float64(backward[back]))
            split[arc] = np.rint(min(most, max(-most, share)))


@part
def weigh_blocks(dual: DualPair, steps: Steps, splits: Splits) -> None:
    """weight[i, k] = p[i, k] + M[i, k], or more where a block is large."""
    sizes = dual.sizes
    n_columns = sizes[N_COLUMNS]
    for i in range(sizes[N_ROWS]):
        first = dual.lines[ROW_START, i]
        degree = dual.lines[ROW_START, i + 1] - first
        if degree <= CLOSED:
            place_blocks(dual, splits, first, degree)
            match_blocks(splits.block, dual.node_saving[i], splits.assignment.weight[i], n_columns)
        k = 0
        while k < n_columns and (degree > CLOSED or dual.lines[DEGREE_OF, k] > CLOSED):
            if max(degree, dual.lines[DEGREE_OF, k]) <= SOLVED:
                saving = match_block(dual, splits, first, degree, k)
            else:
                saving = bound_block(dual, steps, splits, np.int64(i), k)
            splits.assignment.weight[i, k] = dual.node_saving[i, k] + saving
            k += 1
        if sizes[MAY_DELETE] == 1:
            for k in range(n_columns):
                splits.assignment.weight[i, k] = max(0.0, splits.assignment.weight[i, k])  # both stay free
    for i in range(sizes[N_ROWS], n_columns):
        for k in range(n_columns):
            splits.assignment.weight[i, k] = 0.0


@fragment
def place_blocks(dual: DualPair, splits: Splits, first: int, degree: int) -> None:
    """Weights of the arcs of one row over the first slots of all columns, 0 where there is none."""
    slot_start, n_slots, n_columns = dual.lines[SLOT_START], dual.sizes[N_SLOTS], dual.sizes[N_COLUMNS]
    reverse = dual.column_arcs[ARC_REVERSE]
    for r in range(CLOSED):
        for s in range(CLOSED):
            block = splits.block[r, s]
            filled = 0
            if r < degree and s < n_slots:
                arc = dual.arcs[BY_ROW, first + r]
                split, start, end = splits.split[arc >> 1], slot_start[s], slot_start[s + 1]
                filled = end - start
                if arc & 1 == 0:
                    at_slot = split[start:end]
                    for k in range(filled):
                        block[k] = max(0.0, at_slot[k])
                else:
                    saving, backs = dual.edge_saving[arc >> 1], reverse[start:end]
                    for k in range(filled):
                        back = np.uint64(backs[k])
                        block[k] = max(0.0, saving[back] - split[back])
            for k in range(filled, n_columns):
                block[k] = 0.0


@fragment
def match_blocks(block: Floats, base: Floats, weight: Floats, n_columns: int) -> None:
    """The largest matching of four by four weights, none negative, for every column: by pairs of rows."""
    for k in range(n_columns):
        a0, a1, a2, a3 = block[0, 0, k], block[0, 1, k], block[0, 2, k], block[0, 3, k]
        b0, b1, b2, b3 = block[1, 0, k], block[1, 1, k], block[1, 2, k], block[1, 3, k]
        c0, c1, c2, c3 = block[2, 0, k], block[2, 1, k], block[2, 2, k], block[2, 3, k]
        d0, d1, d2, d3 = block[3, 0, k], block[3, 1, k], block[3, 2, k], block[3, 3, k]
        best = max(a0 + b1, a1 + b0) + max(c2 + d3, c3 + d2)
        best = max(best, max(a0 + b2, a2 + b0) + max(c1 + d3, c3 + d1))
        best = max(best, max(a0 + b3, a3 + b0) + max(c1 + d2, c2 + d1))
        best = max(best, max(a1 + b2, a2 + b1) + max(c0 + d3, c3 + d0))
        best = max(best, max(a1 + b3, a3 + b1) + max(c0 + d2, c2 + d0))
        best = max(best, max(a2 + b3, a3 + b2) + max(c0 + d1, c1 + d0))
        weight[k] = base[k] + best


@part
def match_block(dual: DualPair, splits: Splits, first: int, degree: int, k: int) -> float:
    """The largest matching of the arcs of one row with the arcs of column k, of degrees up to SOLVED."""
    n_slots = dual.lines[DEGREE_OF, k]
    flip = degree > n_slots
    for r in range(degree):
        for s in range(n_slots):
            weight = weight_in_block(dual, splits, dual.arcs[BY_ROW, first + r], dual.lines[SLOT_START, s] + k)
            if flip:
                splits.small.weight[s, r] = weight
            else:
                splits.small.weight[r, s] = weight
    return match_rectangle(splits.small, min(degree, n_slots), max(degree, n_slots))


@hot_part
def weight_in_block(dual: DualPair, splits: Splits, arc: int, image: int) -> float:
    """What the block of two arcs' tails gets for mapping one arc to the other, at least nothing."""
    if arc & 1 == 0:
        return max(0.0, splits.split[arc >> 1, image])
    back = dual.column_arcs[ARC_REVERSE, image]
    return max(0.0, dual.edge_saving[arc >> 1, back] - splits.split[arc >> 1, back])


@part
def bound_block(dual: DualPair, steps: Steps, splits: Splits, i: int, k: int) -> float:
    """An upper bound of the largest matching of one block: any prices of slots, and the rents of arcs they leave.

    The sum of all prices and rents bounds the matching, since each weight is at most the two of its ends. The prices of
    the in constraints come close to the best ones; without prices the rents are the largest weights of the arcs.
    """
    first, n_slots = dual.lines[ROW_START, i], dual.lines[DEGREE_OF, k]
    degree = dual.lines[ROW_START, i + 1] - first
    price, rent, top = splits.values[WORK], splits.values[WORK + 1], splits.values[WORK + 2]
    unit = unit_of_steps(dual)
    for s in range(n_slots):
        price[s] = np.rint(max(0.0, np.float64(steps.ins[IN_PRICE, i, dual.lines[SLOT_START, s] + k])) * unit)
        top[s] = 0.0
    by_arc, total = 0.0, 0.0
    for r in range(degree):
        arc, largest, left = dual.arcs[BY_ROW, first + r], 0.0, 0.0
        for s in range(n_slots):
            weight = weight_in_block(dual, splits, arc, dual.lines[SLOT_START, s] + k)
            largest, top[s], left = max(largest, weight), max(top[s], weight), max(left, weight - price[s])
        rent[r] = left
        by_arc += largest
        total += left
    by_slot = 0.0
    for s in range(n_slots):
        by_slot += top[s]
        lowest = 0.0
        for r in range(degree):
            arc = dual.arcs[BY_ROW, first + r]
            lowest = max(lowest, weight_in_block(dual, splits, arc, dual.lines[SLOT_START, s] + k) - rent[r])
        total += lowest
    return min(total, by_arc, by_slot)


@part
def match_rectangle(small: AssignmentWork, n_rows: int, n_columns: int) -> float:
    """The largest matching of all rows, at most as many as columns, by weights of which none is negative."""
    for k in range(n_columns):
        small.values[COLUMN_DUAL, k] = 0.0
    assign_rows(n_rows, n_columns, small)
    total = 0.0
    for i in range(n_rows):
        total += small.weight[i, small.places[ROW_MATCH, i]]
    return total


@part
def solve_weights(splits: Splits, n: int) -> float:
    """The largest assignment of n rows and columns, started from the previous prices and matching.

    Once it is told to stop, the sum of the prices so far, which is at least as large, and an incomplete matching.
    """
    work, row_price = splits.assignment, splits.values[ROW_DUAL]
    weight, column_price = work.weight, work.values[COLUMN_DUAL]
    row_match, column_match, free_rows = work.places[ROW_MATCH], work.places[COLUMN_MATCH], work.places[FREE_ROWS]
    for k in range(n):
        column_match[k] = FREE
    n_free = 0
    for i in range(n):
        line = weight[i]
        best = -HUGE
        for k in range(n):
            best = max(best, line[k] - column_price[k])
        row_price[i] = best
        k = row_match[i]
        if k != FREE and column_match[k] == FREE and line[k] - column_price[k] == best:
            column_match[k] = i
            continue
        row_match[i] = FREE
        free_rows[n_free] = i
        n_free += 1
    still_free = 0
    for f in range(n_free):
        i = free_rows[f]
        line, best = weight[i], row_price[i]
        for k in range(n):
            if column_match[k] == FREE and line[k] - column_price[k] == best:
                column_match[k] = i
                row_match[i] = k
                break
        if row_match[i] == FREE:
            free_rows[still_free] = i
            still_free += 1
    for f in range(still_free):
        if splits.signals[STOP] > 0:
            break
        augment_matching(free_rows[f], n, work)
    total = 0.0
    for i in range(n):
        if row_match[i] != FREE:
            row_price[i] = weight[i, row_match[i]] - column_price[row_match[i]]
        total += row_price[i] + column_price[i]
    return total
