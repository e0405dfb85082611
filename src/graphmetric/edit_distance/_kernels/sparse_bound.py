"""The dual bound of a sparse problem: primal-dual steps, the bound that their prices give, and what it rules out."""

import numpy as np

from graphmetric._foundation.assignment import COLUMN_DUAL, FREE, ROW_MATCH
from graphmetric._foundation.compilation import fragment, hot_part, part
from graphmetric.edit_distance._kernels.dual_pair import (
    EVERYTHING,
    LARGEST_SAVING,
    MAY_DELETE,
    N_COLUMNS,
    N_ROWS,
    DualPair,
    Floats,
)
from graphmetric.edit_distance._kernels.primal_dual import (
    ONE,
    OVER,
    WEIGHT,
    ZERO,
    raised,
    unit_of_steps,
)
from graphmetric.edit_distance._kernels.sparse_problem import (
    ALIVE,
    BEST_BOUND,
    BLOCK_WEIGHT,
    COLUMN,
    COLUMN_PRICE,
    COLUMN_RATE,
    DEAD,
    END_GROUP,
    END_LINK,
    END_PAIR,
    FIRST_GROUP,
    FIRST_LINK,
    FIRST_LINK_AT,
    FIRST_PAIR,
    FIXED_SAVING,
    FORBIDDEN,
    GAIN,
    GROUP,
    IMAGE,
    LAST_BOUND,
    LEFT,
    LEFT_SLOT,
    LINE_SUM,
    LINK_SAVING,
    LINK_STATE,
    MATCHED,
    OPEN,
    OWNER,
    PREIMAGE,
    PRICE,
    RATE,
    RIGHT,
    ROW,
    ROW_PRICE,
    ROW_RATE,
    SAVING,
    SHARE,
    SLACK,
    STATE,
    STEP,
    STEP_SAVING,
    SUM,
    X_BAR,
    Y_SAVING,
    Sparse,
    X,
    Y,
    end_of_links,
)
from graphmetric.edit_distance._kernels.split_bound import (
    CLOSED,
    COLUMN_AT,
    COLUMN_PLACE,
    ROW_DUAL,
    ROW_PLACE,
    SOLVED,
    WORK,
    Splits,
    match_rectangle,
    solve_weights,
)


@part
def take_sparse_steps(dual: DualPair, sparse: Sparse, depth: int, n_steps: int) -> None:
    """Take primal-dual steps as in primal_dual.py. Open rows must take one of their pairs: prices may be negative."""
    state, pairs, links = sparse.state[depth], sparse.whole, sparse.whole
    first, end = state[FIRST_PAIR], state[END_PAIR]
    first_link, end_link = state[FIRST_LINK_AT], state[END_LINK]
    first_group, end_group = state[FIRST_GROUP], state[END_GROUP]
    n_rows, n_columns = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS]
    full = n_rows == n_columns and dual.sizes[MAY_DELETE] == 0
    lines = sparse.lines[depth]
    row_price, column_price, line_sum = lines[ROW_PRICE], lines[COLUMN_PRICE], lines[LINE_SUM]
    row_rate, column_rate = lines[ROW_RATE], lines[COLUMN_RATE]
    row, column = pairs[ROW], pairs[COLUMN]
    x, x_bar, gain = sparse.steps[X], sparse.steps[X_BAR], sparse.steps[GAIN]
    step, saving = sparse.steps[STEP], sparse.steps[STEP_SAVING]
    owner, price, total, rate = sparse.whole[OWNER], sparse.steps[PRICE], sparse.steps[SUM], sparse.steps[RATE]
    y, y_saving = sparse.steps[Y], sparse.steps[Y_SAVING]
    a, b, c, d = links[GROUP], links[GROUP + 1], links[GROUP + 2], links[GROUP + 3]
    y_step = np.float32(0.25) / WEIGHT
    for _ in range(n_steps):
        for p in range(first, end):
            gain[p] = saving[p] - row_price[row[p]] - column_price[column[p]]
        for g in range(first_group, end_group):
            gain[owner[g]] += price[g]
        for p in range(first, end):
            new = max(ZERO, x[p] + step[p] * gain[p])
            x_bar[p] = new + new - x[p]
            x[p] += OVER * (new - x[p])
        for i in range(n_rows):
            line_sum[i] = -ONE
        for p in range(first, end):
            line_sum[row[p]] += x_bar[p]
        for i in range(n_rows):
            row_price[i] += OVER * row_rate[i] * line_sum[i]
        for k in range(n_columns + 1):
            line_sum[k] = -ONE
        for p in range(first, end):
            line_sum[column[p]] += x_bar[p]
        for k in range(n_columns):
            if full:
                column_price[k] += OVER * column_rate[k] * line_sum[k]
            else:
                column_price[k] = raised(column_price[k], column_rate[k] * line_sum[k])
        for g in range(first_group, end_group):
            total[g] = -x_bar[owner[g]]
        for e in range(first_link, end_link):
            ga, gb, gc, gd = a[e], b[e], c[e], d[e]
            new = max(ZERO, y[e] + y_step * (y_saving[e] - (price[ga] + price[gb]) - (price[gc] + price[gd])))
            bar = new + new - y[e]
            y[e] += OVER * (new - y[e])
            total[ga] += bar
            total[gb] += bar
            total[gc] += bar
            total[gd] += bar
        for g in range(first_group, end_group):
            price[g] = raised(price[g], WEIGHT * rate[g] * total[g])


@part
def bound_level(dual: DualPair, sparse: Sparse, splits: Splits, depth: int) -> float:
    """A lower bound for all maps of the level, a whole number of split units; leaves slacks and a matching."""
    share_links(dual, sparse, depth)
    n = weigh_level(dual, sparse, splits, depth)
    total = solve_weights(splits, n)
    note_slacks(dual, sparse, splits, depth)
    bound = np.float64(dual.sizes[EVERYTHING]) * dual.unit[0] - sparse.values[depth, FIXED_SAVING] - total
    sparse.values[depth, LAST_BOUND] = bound
    sparse.values[depth, BEST_BOUND] = max(bound, sparse.values[depth, BEST_BOUND])
    return bound


@fragment
def share_links(dual: DualPair, sparse: Sparse, depth: int) -> None:
    """Split the saving of each link by the prices at its ends."""
    links, price = sparse.whole, sparse.steps[PRICE]
    half = 0.5 * unit_of_steps(dual)
    most = 8.0 * dual.sizes[LARGEST_SAVING] * dual.unit[0]
    saving, share = sparse.exact[LINK_SAVING], sparse.exact[SHARE]
    for e in range(sparse.state[depth, FIRST_LINK_AT], sparse.state[depth, END_LINK]):
        left = np.float64(price[links[GROUP, e]]) + np.float64(price[links[GROUP + 1, e]])
        right = np.float64(price[links[GROUP + 2, e]]) + np.float64(price[links[GROUP + 3, e]])
        share[e] = np.rint(min(most, max(-most, 0.5 * saving[e] + half * (left - right))))


@fragment
def weigh_level(dual: DualPair, sparse: Sparse, splits: Splits, depth: int) -> int:
    """Fill the assignment problem of the level; returns its size."""
    state, pairs, maps, weight = sparse.state[depth], sparse.whole, sparse.maps[depth], splits.assignment.weight
    n_rows, n_columns = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS]
    row_place, column_place = splits.places[ROW_PLACE], splits.places[COLUMN_PLACE]
    row_match, price = splits.assignment.places[ROW_MATCH], splits.assignment.values[COLUMN_DUAL]
    n = 0
    for k in range(n_columns):
        if maps[PREIMAGE, k] == OPEN:
            column_place[k] = n
            price[n] = sparse.prices[depth, k]
            n += 1
    n_open = 0
    for i in range(n_rows):
        if maps[IMAGE, i] == OPEN:
            row_place[i] = n_open
            k = maps[MATCHED, i]
            row_match[n_open] = column_place[k] if k >= 0 and maps[PREIMAGE, k] == OPEN else FREE
            n_open += 1
    for i in range(n):
        base = FORBIDDEN if i < n_open else 0.0
        for k in range(n):
            weight[i, k] = base
    for i in range(n_open, n):
        row_match[i] = FREE
    if dual.sizes[MAY_DELETE] == 1:
        for p in range(state[FIRST_PAIR], state[END_PAIR]):
            if pairs[COLUMN, p] == n_columns and pairs[STATE, p] == ALIVE:
                for k in range(n):
                    weight[row_place[pairs[ROW, p]], k] = sparse.exact[SAVING, p]
    for p in range(state[FIRST_PAIR], state[END_PAIR]):
        if pairs[STATE, p] == ALIVE and pairs[COLUMN, p] < n_columns:
            value = sparse.exact[SAVING, p] + match_links(dual, sparse, splits, depth, p)
            sparse.exact[BLOCK_WEIGHT, p] = value
            i, k = row_place[pairs[ROW, p]], column_place[pairs[COLUMN, p]]
            weight[i, k] = max(weight[i, k], value)
    return n


@fragment
def match_links(dual: DualPair, sparse: Sparse, splits: Splits, depth: int, p: int) -> float:
    """The largest matching of the links of one pair, or an upper bound of it where they are many."""
    begin, end = sparse.whole[FIRST_LINK, p], end_of_links(sparse, depth, p)
    best, highest = 0.0, 0
    small = splits.small.weight
    if end - begin <= 1:
        for at in range(begin, end):
            best = max(best, share_of(sparse, sparse.incident[at]))
        return best
    for at in range(begin, end):
        slots = slots_of(sparse, sparse.incident[at])
        highest = max(highest, max(slots >> 20, slots & 0xFFFFF))
    if highest >= SOLVED:
        return bound_links(dual, sparse, splits, begin, end, highest + 1)
    size = max(CLOSED, highest + 1)
    for r in range(size):
        for s in range(size):
            small[r, s] = 0.0
    for at in range(begin, end):
        slots = slots_of(sparse, sparse.incident[at])
        small[slots >> 20, slots & 0xFFFFF] = max(0.0, share_of(sparse, sparse.incident[at]))
    return match_four(small) if size == CLOSED else match_rectangle(splits.small, size, size)


@part
def bound_links(dual: DualPair, sparse: Sparse, splits: Splits, begin: int, end: int, size: int) -> float:
    """As `bound_block`, for the links of one pair."""
    price, rent, lowest = splits.values[WORK], splits.values[WORK + 1], splits.values[WORK + 2]
    unit = unit_of_steps(dual)
    for s in range(size):
        price[s], rent[s], lowest[s] = 0.0, 0.0, 0.0
    for at in range(begin, end):
        link = sparse.incident[at]
        group = sparse.whole[GROUP + 2 * (link & 1) + 1, link >> 1]
        price[slots_of(sparse, link) & 0xFFFFF] = np.rint(np.float64(max(ZERO, sparse.steps[PRICE, group])) * unit)
    for at in range(begin, end):
        link = sparse.incident[at]
        slots = slots_of(sparse, link)
        rent[slots >> 20] = max(rent[slots >> 20], share_of(sparse, link) - price[slots & 0xFFFFF])
    for at in range(begin, end):
        link = sparse.incident[at]
        slots = slots_of(sparse, link)
        lowest[slots & 0xFFFFF] = max(lowest[slots & 0xFFFFF], share_of(sparse, link) - rent[slots >> 20])
    total = 0.0
    for s in range(size):
        total += rent[s] + lowest[s]
        price[s], rent[s] = 0.0, 0.0
    for at in range(begin, end):
        link = sparse.incident[at]
        slots, share = slots_of(sparse, link), share_of(sparse, link)
        rent[slots >> 20] = max(rent[slots >> 20], share)
        price[slots & 0xFFFFF] = max(price[slots & 0xFFFFF], share)
    by_arc, by_slot = 0.0, 0.0
    for s in range(size):
        by_arc += rent[s]
        by_slot += price[s]
    return min(total, by_arc, by_slot)


@hot_part
def share_of(sparse: Sparse, entry: int) -> float:
    """The share of a link's saving that the pair on this side gets."""
    share = sparse.exact[SHARE, entry >> 1]
    return share if entry & 1 == 0 else sparse.exact[LINK_SAVING, entry >> 1] - share


@hot_part
def slots_of(sparse: Sparse, entry: int) -> int:
    """Place of a link in the block of the pair on this side."""
    return sparse.whole[LEFT_SLOT + (entry & 1), entry >> 1]


@hot_part
def match_four(w: Floats) -> float:
    """The largest matching of four rows and four columns of weights that are not negative."""
    best = max(w[0, 0] + w[1, 1], w[0, 1] + w[1, 0]) + max(w[2, 2] + w[3, 3], w[2, 3] + w[3, 2])
    best = max(best, max(w[0, 0] + w[1, 2], w[0, 2] + w[1, 0]) + max(w[2, 1] + w[3, 3], w[2, 3] + w[3, 1]))
    best = max(best, max(w[0, 0] + w[1, 3], w[0, 3] + w[1, 0]) + max(w[2, 1] + w[3, 2], w[2, 2] + w[3, 1]))
    best = max(best, max(w[0, 1] + w[1, 2], w[0, 2] + w[1, 1]) + max(w[2, 0] + w[3, 3], w[2, 3] + w[3, 0]))
    best = max(best, max(w[0, 1] + w[1, 3], w[0, 3] + w[1, 1]) + max(w[2, 0] + w[3, 2], w[2, 2] + w[3, 0]))
    return max(best, max(w[0, 2] + w[1, 3], w[0, 3] + w[1, 2]) + max(w[2, 0] + w[3, 1], w[2, 1] + w[3, 0]))


@fragment
def note_slacks(dual: DualPair, sparse: Sparse, splits: Splits, depth: int) -> None:
    """Note how much choosing each pair lifts the bound, and the prices and the matching for the next time."""
    state, pairs, maps = sparse.state[depth], sparse.whole, sparse.maps[depth]
    n_columns = dual.sizes[N_COLUMNS]
    row_place, column_place, column_of = splits.places[ROW_PLACE], splits.places[COLUMN_PLACE], splits.places[COLUMN_AT]
    row_dual, column_dual = splits.values[ROW_DUAL], splits.assignment.values[COLUMN_DUAL]
    cheapest = 1e300
    for k in range(n_columns):
        if maps[PREIMAGE, k] == OPEN:
            column_of[column_place[k]] = k
            sparse.prices[depth, k] = column_dual[column_place[k]]
            cheapest = min(cheapest, column_dual[column_place[k]])
    for i in range(dual.sizes[N_ROWS]):
        if maps[IMAGE, i] == OPEN:
            place = splits.assignment.places[ROW_MATCH, row_place[i]]
            maps[MATCHED, i] = column_of[place] if place != FREE else FREE
    for p in range(state[FIRST_PAIR], state[END_PAIR]):
        if pairs[STATE, p] == ALIVE:
            price = row_dual[row_place[pairs[ROW, p]]]
            if pairs[COLUMN, p] < n_columns:
                price += column_dual[column_place[pairs[COLUMN, p]]]
                sparse.exact[SLACK, p] = price - sparse.exact[BLOCK_WEIGHT, p]
            else:
                sparse.exact[SLACK, p] = price + cheapest - sparse.exact[SAVING, p]


@part
def rule_out(sparse: Sparse, depth: int, limit: float) -> int:
    """Rule out pairs that lift the last bound above the limit, and links whose two pairs do; returns how many."""
    state, pairs, links = sparse.state[depth], sparse.whole, sparse.whole
    room = limit - sparse.values[depth, LAST_BOUND]
    slack = sparse.exact[SLACK]
    died = 0
    for p in range(state[FIRST_PAIR], state[END_PAIR]):
        if pairs[STATE, p] == ALIVE and slack[p] > room:
            pairs[STATE, p] = DEAD
            died += 1
    for e in range(state[FIRST_LINK_AT], state[END_LINK]):
        if links[LINK_STATE, e] == ALIVE and slack[links[LEFT, e]] + slack[links[RIGHT, e]] > room:
            links[LINK_STATE, e] = DEAD
            died += 1
    return died
