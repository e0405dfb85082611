"""The dual bound over the node pairs that may still be in a better map, one such problem per depth of a search tree.

Once some pairs are ruled out, most edge pairs are gone too, and what is left is far smaller than the dense layout
(dual_pair.py). A *pair* is (row, column); a *link* joins two pairs whose rows and whose columns are adjacent, and
saves something when both are chosen. Links of one pair that lead to the same row, or to the same column, exclude each
other: they form a *group*, which has the price of one out or in constraint. The problem of a depth lies behind that of
the depth before in common arrays.

To fix a pair is to move the savings of its links into the pairs at their other ends, and to drop its row and column.
"""

from typing import NamedTuple

import numpy as np

from graphmetric._foundation.compilation import fragment, hot_part, part
from graphmetric.edit_distance._kernels.dual_pair import (
    ARC_HEAD,
    ARC_REVERSE,
    ARC_TAIL,
    BY_ROW,
    DEAREST,
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
    UNIT,
    DualPair,
    DualSize,
    Floats,
    Singles,
)
from graphmetric.edit_distance._kernels.packing import Integers
from graphmetric.edit_distance._kernels.primal_dual import COLUMN_PRICE as DENSE_COLUMN_PRICE
from graphmetric.edit_distance._kernels.primal_dual import (
    IN_PRICE,
    ONE,
    OVER,
    WEIGHT,
    ZERO,
    Steps,
    raised,
    unit_of_steps,
)
from graphmetric.edit_distance._kernels.primal_dual import ROW_PRICE as DENSE_ROW_PRICE
from graphmetric.edit_distance._kernels.primal_dual import X as DENSE_X
from graphmetric.edit_distance._kernels.primal_dual import Y as DENSE_Y
from graphmetric.edit_distance._kernels.split_bound import (
    CLOSED,
    COLUMN_AT,
    COLUMN_DUAL,
    COLUMN_PLACE,
    FREE,
    ROW_DUAL,
    ROW_MATCH,
    ROW_PLACE,
    Splits,
    match_rectangle,
    solve_weights,
)

FORBIDDEN = -float(1 << 49)  # weight of a pair that is ruled out
DEAD, ALIVE, FIXED = range(3)

# Fields of Sparse.whole, .exact and .steps: of pairs, then of links, then of groups
ROW, COLUMN, STATE, FIRST_LINK, LEFT, RIGHT, LEFT_SLOT, RIGHT_SLOT, LINK_STATE, OWNER, MEMBERS, GROUP = range(12)
SAVING, BLOCK_WEIGHT, SLACK, LINK_SAVING, SHARE = range(5)
X, X_BAR, GAIN, STEP, STEP_SAVING, Y, Y_SAVING, PRICE, SUM, RATE, OLD_PRICE = range(11)
# Fields of Sparse.lines: of each depth, for rows and for columns
ROW_PRICE, ROW_RATE, COLUMN_PRICE, COLUMN_RATE, LINE_SUM = range(5)
# Fields of Sparse.state
FIRST_PAIR, END_PAIR, FIRST_LINK_AT, END_LINK, FIRST_GROUP, END_GROUP, BRANCH, PHASE, N_OPEN_ROWS = range(9)
# Fields of Sparse.values
FIXED_SAVING, BEST_BOUND, LAST_BOUND, ROOT_BOUND = range(4)
# Fields of Sparse.maps
IMAGE, PREIMAGE, MATCHED = range(3)
OPEN, DELETED = np.int64(-2), np.int64(-1)


class Sparse(NamedTuple):
    """The problems of all depths."""

    state: Integers  # (depth, field)
    values: Floats  # (depth, field)
    maps: Integers  # (depth, field, row or column): images of fixed rows, rows of fixed columns, the last matching
    prices: Floats  # (depth, column): of the last assignment
    lines: Singles  # (depth, field, row or column)
    whole: Integers  # (field, pair, link or group); the four groups of a link are fields from GROUP on
    exact: Floats
    steps: Singles
    incident: Integers  # links of each pair, twice their number plus the side on which the pair is
    places: Integers  # (field, scratch)


def allocate_sparse(size: DualSize, memory: int = 1 << 27) -> Sparse:
    """Make room for all depths in about ``memory`` bytes at most: 67,000 links."""
    n_depths, widest = size.rows + 2, max(size.rows, size.columns) + 1
    all_pairs, all_links = size.rows * (size.columns + 1), 2 * size.row_edges * size.column_edges
    n_links = min(n_depths * all_links, memory // 2000) + 8
    room = max(4 * n_links, min(n_depths * all_pairs, memory // 1000)) + widest
    all_groups = 2 * (size.row_edges * size.columns + size.column_edges * size.rows)

    def integers(*shape: int) -> Integers:
        return np.zeros(shape, dtype=np.int64)

    return Sparse(
        integers(n_depths, 9),
        np.zeros((n_depths, 4)),
        integers(n_depths, 3, widest),
        np.zeros((n_depths, widest)),
        np.zeros((n_depths, 5, widest), dtype=np.float32),
        integers(GROUP + 4, room),
        np.zeros((5, room)),
        np.zeros((11, room), dtype=np.float32),
        integers(2 * n_links),
        integers(3, max(room, min(max(all_groups, all_pairs), memory // 100))),
    )


@part
def fits_sparse(dual: DualPair, alive: Integers, sparse: Sparse) -> bool:
    """Whether there is room for the pairs in ``alive``, their links, and as many again."""
    sizes = dual.sizes
    n_rows, n_columns, n_arcs = sizes[N_ROWS], sizes[N_COLUMNS], sizes[N_COLUMN_ARCS]
    n_pairs, n_links = n_rows, 1
    for i in range(n_rows):
        for k in range(n_columns):
            n_pairs += alive[i, k]
    for edge in range(sizes[N_ROW_EDGES]):
        i, j = dual.arcs[TAIL, 2 * edge], dual.arcs[HEAD, 2 * edge]
        for arc in range(n_arcs):
            n_links += alive[i, dual.column_arcs[ARC_TAIL, arc]] & alive[j, dual.column_arcs[ARC_HEAD, arc]]
    n_groups = 2 * sizes[N_ROW_EDGES] * n_columns + n_rows * n_arcs
    return (
        2 * n_pairs <= sparse.whole.shape[1]
        and 4 * n_links <= sparse.incident.shape[0]
        and max(n_groups, n_rows * n_columns) <= sparse.places.shape[1]
    )


@part
def gather_root(dual: DualPair, steps: Steps, alive: Integers, sparse: Sparse) -> None:
    """Depth 0 from the dense layout: the pairs in ``alive`` (row, column), and where the steps stand."""
    sparse.values[0, FIXED_SAVING] = 0.0
    for i in range(dual.sizes[N_ROWS]):
        sparse.maps[0, IMAGE, i] = OPEN
        sparse.lines[0, ROW_PRICE, i] = steps.lines[DENSE_ROW_PRICE, i]
    for k in range(dual.sizes[N_COLUMNS]):
        sparse.maps[0, PREIMAGE, k] = OPEN
        sparse.lines[0, COLUMN_PRICE, k] = steps.lines[DENSE_COLUMN_PRICE, k]
    gather_pairs(dual, steps, alive, sparse)
    gather_links(dual, steps, sparse)
    place_slots(dual, sparse)
    finish_level(sparse, dual, np.int64(0), 1.0 / unit_of_steps(dual))


@fragment
def gather_pairs(dual: DualPair, steps: Steps, alive: Integers, sparse: Sparse) -> None:
    """The pairs, row by row; where rows may be deleted, each has one more. Notes the number of each pair."""
    n_columns, whole = dual.sizes[N_COLUMNS], sparse.whole
    number_of = sparse.places[0]
    at = 0
    for i in range(dual.sizes[N_ROWS]):
        for k in range(n_columns):
            number_of[i * n_columns + k] = FREE
            if alive[i, k] == 1:
                number_of[i * n_columns + k] = at
                whole[ROW, at], whole[COLUMN, at], whole[STATE, at] = i, k, ALIVE
                sparse.exact[SAVING, at] = dual.node_saving[i, k]
                sparse.steps[X, at] = steps.nodes[DENSE_X, i, k]
                at += 1
        if dual.sizes[MAY_DELETE] == 1:
            whole[ROW, at], whole[COLUMN, at], whole[STATE, at] = i, n_columns, ALIVE
            sparse.exact[SAVING, at] = 0.0
            sparse.steps[X, at] = ZERO
            at += 1
    sparse.state[0, FIRST_PAIR], sparse.state[0, END_PAIR] = 0, at


@fragment
def gather_links(dual: DualPair, steps: Steps, sparse: Sparse) -> None:
    """The links between the pairs, and their groups with the prices of the dense steps."""
    n_columns, n_arcs = dual.sizes[N_COLUMNS], dual.sizes[N_COLUMN_ARCS]
    number_of, group_of, whole = sparse.places[0], sparse.places[1], sparse.whole
    n_out = 2 * dual.sizes[N_ROW_EDGES] * n_columns  # out constraints (arc, column) first, then in ones (row, arc)
    for key in range(n_out + dual.sizes[N_ROWS] * n_arcs):
        group_of[key] = FREE
    at, n_groups = 0, 0
    for edge in range(dual.sizes[N_ROW_EDGES]):
        i, j = dual.arcs[TAIL, 2 * edge], dual.arcs[HEAD, 2 * edge]
        for arc in range(n_arcs):
            k, other = dual.column_arcs[ARC_TAIL, arc], dual.column_arcs[ARC_HEAD, arc]
            back, saving = dual.column_arcs[ARC_REVERSE, arc], dual.edge_saving[edge, arc]
            left, right = number_of[i * n_columns + k], number_of[j * n_columns + other]
            if saving <= 0.0 or left == FREE or right == FREE:
                continue
            whole[LEFT, at], whole[RIGHT, at], whole[LINK_STATE, at] = left, right, ALIVE
            whole[LEFT_SLOT, at], whole[RIGHT_SLOT, at] = 2 * edge, arc  # slots take their place
            sparse.exact[LINK_SAVING, at] = saving
            sparse.steps[Y, at] = steps.edges[DENSE_Y, edge, arc]
            for side in range(4):
                tail, column, row, image = (2 * edge, k, i, arc) if side < 2 else (2 * edge + 1, other, j, back)
                key = tail * n_columns + column if side % 2 == 0 else n_out + row * n_arcs + image
                if group_of[key] == FREE:
                    group_of[key] = n_groups
                    whole[OWNER, n_groups] = left if side < 2 else right
                    price = steps.outs[tail, column] if side % 2 == 0 else steps.ins[IN_PRICE, row, image]
                    sparse.steps[PRICE, n_groups] = price
                    n_groups += 1
                whole[GROUP + side, at] = group_of[key]
            at += 1
    state = sparse.state[0]
    state[FIRST_LINK_AT], state[END_LINK], state[FIRST_GROUP], state[END_GROUP] = 0, at, 0, n_groups


@fragment
def place_slots(dual: DualPair, sparse: Sparse) -> None:
    """Where a link stands in the blocks of its two pairs: number of the arc at its row and at its column, packed."""
    links = sparse.whole
    rank = sparse.places[1]
    for i in range(dual.sizes[N_ROWS]):
        for a in range(dual.lines[ROW_START, i], dual.lines[ROW_START, i + 1]):
            rank[dual.arcs[BY_ROW, a]] = a - dual.lines[ROW_START, i]
    slot_of = sparse.places[2]
    for slot in range(dual.sizes[N_SLOTS]):
        for arc in range(dual.lines[SLOT_START, slot], dual.lines[SLOT_START, slot + 1]):
            slot_of[arc] = slot
    for link in range(sparse.state[0, END_LINK]):
        arc, image = links[LEFT_SLOT, link], links[RIGHT_SLOT, link]
        links[LEFT_SLOT, link] = (rank[arc] << 20) + slot_of[image]
        links[RIGHT_SLOT, link] = (rank[arc + 1] << 20) + slot_of[dual.column_arcs[ARC_REVERSE, image]]


@part
def finish_level(sparse: Sparse, dual: DualPair, depth: int, scale: float) -> None:
    """What follows from pairs, links and groups: who is incident to whom, and how far each variable steps."""
    state, pairs, links, groups = sparse.state[depth], sparse.whole, sparse.whole, sparse.whole
    first, end = state[FIRST_PAIR], state[END_PAIR]
    first_link, end_link = state[FIRST_LINK_AT], state[END_LINK]
    first_group, end_group = state[FIRST_GROUP], state[END_GROUP]
    lines = sparse.lines[depth]
    n_rows, n_columns = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS]
    for i in range(n_rows):
        lines[ROW_RATE, i] = ZERO
    for k in range(n_columns + 1):
        lines[COLUMN_RATE, k] = ZERO
    for g in range(first_group, end_group):
        groups[MEMBERS, g] = 0
    for c in range(first, end):
        sparse.steps[STEP, c] = 2.0
        sparse.steps[STEP_SAVING, c] = sparse.exact[SAVING, c] * scale
        lines[ROW_RATE, pairs[ROW, c]] += ONE
        lines[COLUMN_RATE, pairs[COLUMN, c]] += ONE
        pairs[FIRST_LINK, c] = 0
    for link in range(first_link, end_link):
        sparse.steps[Y_SAVING, link] = sparse.exact[LINK_SAVING, link] * scale
        pairs[FIRST_LINK, links[LEFT, link]] += 1
        pairs[FIRST_LINK, links[RIGHT, link]] += 1
        for side in range(4):
            groups[MEMBERS, links[GROUP + side, link]] += 1
    for g in range(first_group, end_group):
        sparse.steps[RATE, g] = 1.0 / (groups[MEMBERS, g] + 1)
        sparse.steps[STEP, groups[OWNER, g]] += ONE
    at = 2 * first_link
    for c in range(first, end):
        sparse.steps[STEP, c] = 1.0 / (sparse.steps[STEP, c] * WEIGHT)
        at += pairs[FIRST_LINK, c]
        pairs[FIRST_LINK, c] = at
    for link in range(end_link - 1, first_link - 1, -1):
        for side in range(2):
            c = links[LEFT + side, link]
            pairs[FIRST_LINK, c] -= 1
            sparse.incident[pairs[FIRST_LINK, c]] = 2 * link + side
    open_rows = 0
    for i in range(n_rows):
        open_rows += sparse.maps[depth, IMAGE, i] == OPEN
        if lines[ROW_RATE, i] > ZERO:
            lines[ROW_RATE, i] = WEIGHT / lines[ROW_RATE, i]
    for k in range(n_columns):
        if lines[COLUMN_RATE, k] > ZERO:
            lines[COLUMN_RATE, k] = WEIGHT / lines[COLUMN_RATE, k]
    lines[COLUMN_RATE, n_columns] = ZERO  # any number of rows may be deleted
    lines[COLUMN_PRICE, n_columns] = ZERO
    state[N_OPEN_ROWS] = open_rows


@part
def take_sparse_steps(dual: DualPair, sparse: Sparse, depth: int, n_steps: int) -> None:
    """Primal-dual steps as in primal_dual.py; an open row must take one of its pairs, so its price may be negative."""
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
    owner, price, total, rate = (
        sparse.whole[OWNER],
        sparse.steps[PRICE],
        sparse.steps[SUM],
        sparse.steps[RATE],
    )
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
    """A lower bound of all maps of the level, whole in the unit of the splits; leaves slacks and a matching."""
    share_links(dual, sparse, depth)
    n = weigh_level(dual, sparse, splits, depth)
    total = solve_weights(splits, n)
    note_slacks(dual, sparse, splits, depth)
    bound = np.float64(dual.sizes[DEAREST]) * dual.sizes[UNIT] - sparse.values[depth, FIXED_SAVING] - total
    sparse.values[depth, LAST_BOUND] = bound
    sparse.values[depth, BEST_BOUND] = max(bound, sparse.values[depth, BEST_BOUND])
    return bound


@fragment
def share_links(dual: DualPair, sparse: Sparse, depth: int) -> None:
    """Split the saving of each link by the prices at its ends."""
    links, price = sparse.whole, sparse.steps[PRICE]
    half = 0.5 * unit_of_steps(dual)
    most = 8.0 * dual.sizes[LARGEST_SAVING] * dual.sizes[UNIT]
    saving, share = sparse.exact[LINK_SAVING], sparse.exact[SHARE]
    for e in range(sparse.state[depth, FIRST_LINK_AT], sparse.state[depth, END_LINK]):
        left = np.float64(price[links[GROUP, e]]) + np.float64(price[links[GROUP + 1, e]])
        right = np.float64(price[links[GROUP + 2, e]]) + np.float64(price[links[GROUP + 3, e]])
        share[e] = np.rint(min(most, max(-most, 0.5 * saving[e] + half * (left - right))))


@fragment
def weigh_level(dual: DualPair, sparse: Sparse, splits: Splits, depth: int) -> int:
    """Fill the assignment problem of the level; returns its size."""
    state, pairs = sparse.state[depth], sparse.whole
    n_rows, n_columns = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS]
    row_place, column_place = splits.places[ROW_PLACE], splits.places[COLUMN_PLACE]
    n_open = 0
    for i in range(n_rows):
        if sparse.maps[depth, IMAGE, i] == OPEN:
            row_place[i] = n_open
            n_open += 1
    n = 0
    for k in range(n_columns):
        if sparse.maps[depth, PREIMAGE, k] == OPEN:
            column_place[k] = n
            n += 1
    weight = splits.weight
    for i in range(n):
        base = FORBIDDEN if i < n_open else 0.0
        for k in range(n):
            weight[i, k] = base
    if dual.sizes[MAY_DELETE] == 1:
        for p in range(state[FIRST_PAIR], state[END_PAIR]):
            if pairs[COLUMN, p] == n_columns and pairs[STATE, p] == ALIVE:
                for k in range(n):
                    weight[row_place[pairs[ROW, p]], k] = sparse.exact[SAVING, p]
    for p in range(state[FIRST_PAIR], state[END_PAIR]):
        if pairs[STATE, p] == ALIVE and pairs[COLUMN, p] < n_columns:
            value = sparse.exact[SAVING, p] + match_links(sparse, splits, depth, p)
            sparse.exact[BLOCK_WEIGHT, p] = value
            i, k = row_place[pairs[ROW, p]], column_place[pairs[COLUMN, p]]
            weight[i, k] = max(weight[i, k], value)
    for i in range(n_rows):
        if sparse.maps[depth, IMAGE, i] == OPEN:
            k = sparse.maps[depth, MATCHED, i]
            kept = k >= 0 and sparse.maps[depth, PREIMAGE, k] == OPEN
            splits.places[ROW_MATCH, row_place[i]] = column_place[k] if kept else FREE
    for i in range(n_open, n):
        splits.places[ROW_MATCH, i] = FREE
    for k in range(n_columns):
        if sparse.maps[depth, PREIMAGE, k] == OPEN:
            splits.values[COLUMN_DUAL, column_place[k]] = sparse.prices[depth, k]
    return n


@hot_part
def end_of_links(sparse: Sparse, depth: int, p: int) -> int:
    """Where the links of a pair end."""
    if p + 1 < sparse.state[depth, END_PAIR]:
        return sparse.whole[FIRST_LINK, p + 1]
    return 2 * sparse.state[depth, END_LINK]


@fragment
def match_links(sparse: Sparse, splits: Splits, depth: int, p: int) -> float:
    """The largest matching of the links of one pair."""
    begin, end = sparse.whole[FIRST_LINK, p], end_of_links(sparse, depth, p)
    best, highest = 0.0, 0
    small = splits.small
    if end - begin <= 1:
        for at in range(begin, end):
            best = max(best, share_of(sparse, sparse.incident[at]))
        return best
    for at in range(begin, end):
        slots = slots_of(sparse, sparse.incident[at])
        highest = max(highest, max(slots >> 20, slots & 0xFFFFF))
    if highest < CLOSED:
        for r in range(CLOSED):
            for s in range(CLOSED):
                small[r, s] = 0.0
        for at in range(begin, end):
            slots = slots_of(sparse, sparse.incident[at])
            small[slots >> 20, slots & 0xFFFFF] = max(0.0, share_of(sparse, sparse.incident[at]))
        return match_four(small)
    highest += 1
    for r in range(highest):
        for s in range(highest):
            small[r, s] = 0.0
    for at in range(begin, end):
        slots = slots_of(sparse, sparse.incident[at])
        small[slots >> 20, slots & 0xFFFFF] = max(0.0, share_of(sparse, sparse.incident[at]))
    return match_rectangle(splits, highest, highest)


@hot_part
def share_of(sparse: Sparse, entry: int) -> float:
    """What the pair on this side of a link gets of its saving."""
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
    """How much choosing each pair lifts the bound; prices and matching for the next time."""
    state, pairs = sparse.state[depth], sparse.whole
    n_rows, n_columns = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS]
    n_open, n = 0, 0
    row_place, column_place = splits.places[ROW_PLACE], splits.places[COLUMN_PLACE]
    cheapest = 1e300
    column_of = splits.places[COLUMN_AT]
    for k in range(n_columns):
        if sparse.maps[depth, PREIMAGE, k] == OPEN:
            column_place[k] = n
            column_of[n] = k
            sparse.prices[depth, k] = splits.values[COLUMN_DUAL, n]
            cheapest = min(cheapest, splits.values[COLUMN_DUAL, n])
            n += 1
    for i in range(n_rows):
        if sparse.maps[depth, IMAGE, i] == OPEN:
            row_place[i] = n_open
            sparse.maps[depth, MATCHED, i] = column_of[splits.places[ROW_MATCH, n_open]]
            n_open += 1
    for p in range(state[FIRST_PAIR], state[END_PAIR]):
        if pairs[STATE, p] == ALIVE:
            price = splits.values[ROW_DUAL, row_place[pairs[ROW, p]]]
            if pairs[COLUMN, p] < n_columns:
                price += splits.values[COLUMN_DUAL, column_place[pairs[COLUMN, p]]]
                sparse.exact[SLACK, p] = price - sparse.exact[BLOCK_WEIGHT, p]
            else:
                sparse.exact[SLACK, p] = price + cheapest - sparse.exact[SAVING, p]


@part
def rule_out(sparse: Sparse, depth: int, limit: float) -> int:
    """Kill the pairs that lift the last bound above the limit, and links whose two pairs do; returns how many died."""
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


@part
def fix_forced(dual: DualPair, sparse: Sparse, depth: int) -> int:
    """Mark pairs that are the only ones of their row; returns how many, or -1 if some row has none."""
    state, pairs = sparse.state[depth], sparse.whole
    n_rows = dual.sizes[N_ROWS]
    count, last = sparse.places[0], sparse.places[1]
    for i in range(n_rows):
        count[i] = 0
    for p in range(state[FIRST_PAIR], state[END_PAIR]):
        if pairs[STATE, p] == ALIVE:
            count[pairs[ROW, p]] += 1
            last[pairs[ROW, p]] = p
    fixed = 0
    for i in range(n_rows):
        if sparse.maps[depth, IMAGE, i] == OPEN:
            if count[i] == 0:
                return -1
            if count[i] == 1:
                pairs[STATE, last[i]] = FIXED
                fixed += 1
    return fixed


@part
def is_full(sparse: Sparse, depth: int) -> bool:
    """Whether there may be no room for the next depth."""
    state = sparse.state[depth]
    return sparse.whole.shape[1] < 1 + 2 * state[END_PAIR] - state[FIRST_PAIR] or sparse.incident.shape[0] < 2 * (
        1 + 2 * state[END_LINK] - state[FIRST_LINK_AT]
    )


@part
def derive_level(dual: DualPair, sparse: Sparse, parent: int, depth: int) -> bool:
    """Write the problem of ``parent``, without what is dead and with what is fixed, to ``depth``: itself or the next.

    False if two fixed pairs exclude each other, or if there is no room for the next depth.
    """
    if parent != depth:
        if is_full(sparse, parent):
            return False
        inherit_lines(dual, sparse, parent, depth)
    if not note_fixed(dual, sparse, parent, depth):
        return False
    # where the parent's arrays end must be kept: they may be the level's own
    end_link, end_group = sparse.state[parent, END_LINK], sparse.state[parent, END_GROUP]
    move_pairs(dual, sparse, parent, depth)
    move_links(sparse, parent, depth, end_link, end_group)
    finish_level(sparse, dual, depth, 1.0 / unit_of_steps(dual))
    return True


@fragment
def inherit_lines(dual: DualPair, sparse: Sparse, parent: int, depth: int) -> None:
    """Begin a depth behind its parent with the parent's map, prices and bound."""
    state, old = sparse.state[depth], sparse.state[parent]
    state[FIRST_PAIR], state[FIRST_LINK_AT], state[FIRST_GROUP] = old[END_PAIR], old[END_LINK], old[END_GROUP]
    for i in range(dual.sizes[N_ROWS]):
        sparse.maps[depth, IMAGE, i] = sparse.maps[parent, IMAGE, i]
        sparse.maps[depth, MATCHED, i] = sparse.maps[parent, MATCHED, i]
        sparse.lines[depth, ROW_PRICE, i] = sparse.lines[parent, ROW_PRICE, i]
    for k in range(dual.sizes[N_COLUMNS]):
        sparse.maps[depth, PREIMAGE, k] = sparse.maps[parent, PREIMAGE, k]
        sparse.prices[depth, k] = sparse.prices[parent, k]
        sparse.lines[depth, COLUMN_PRICE, k] = sparse.lines[parent, COLUMN_PRICE, k]
    sparse.values[depth, FIXED_SAVING] = sparse.values[parent, FIXED_SAVING]
    sparse.values[depth, BEST_BOUND] = sparse.values[parent, BEST_BOUND]


@fragment
def note_fixed(dual: DualPair, sparse: Sparse, parent: int, depth: int) -> bool:
    """Enter the fixed pairs into the map, and note the pairs that they exclude; False if they exclude each other.

    The parent keeps excluded pairs: without the fixed pair they are as good as before.
    """
    old, whole, maps = sparse.state[parent], sparse.whole, sparse.maps
    n_columns, excluded = dual.sizes[N_COLUMNS], sparse.places[2]
    for p in range(old[FIRST_PAIR], old[END_PAIR]):
        excluded[p] = 0
    for e in range(old[FIRST_LINK_AT], old[END_LINK]):
        if whole[LINK_STATE, e] != ALIVE:  # a dead link: not both of its pairs
            left, right = whole[LEFT, e], whole[RIGHT, e]
            if whole[STATE, left] == FIXED:
                excluded[right] = 1
            if whole[STATE, right] == FIXED:
                excluded[left] = 1
    possible = True
    for p in range(old[FIRST_PAIR], old[END_PAIR]):
        if whole[STATE, p] != FIXED:
            continue
        i, k = whole[ROW, p], whole[COLUMN, p]
        if excluded[p] == 1 or maps[depth, IMAGE, i] != OPEN or (k < n_columns and maps[depth, PREIMAGE, k] != OPEN):
            possible = False
        maps[depth, IMAGE, i] = k if k < n_columns else DELETED
        if k < n_columns:
            maps[depth, PREIMAGE, k] = i
        sparse.values[depth, FIXED_SAVING] += sparse.exact[SAVING, p]
    return possible


@fragment
def move_pairs(dual: DualPair, sparse: Sparse, parent: int, depth: int) -> None:
    """Copy the pairs that are alive in open rows and columns; notes where they went, -2 for fixed ones."""
    state, old, whole, maps = sparse.state[depth], sparse.state[parent], sparse.whole, sparse.maps
    n_columns, place, excluded = dual.sizes[N_COLUMNS], sparse.places[0], sparse.places[2]
    at = state[FIRST_PAIR]
    for p in range(old[FIRST_PAIR], old[END_PAIR]):
        i, k = whole[ROW, p], whole[COLUMN, p]
        place[p] = FREE
        if whole[STATE, p] == FIXED:
            place[p] = -2
        elif whole[STATE, p] == ALIVE and excluded[p] == 0 and maps[depth, IMAGE, i] == OPEN:
            if k < n_columns and maps[depth, PREIMAGE, k] != OPEN:
                continue
            place[p] = at
            whole[ROW, at], whole[COLUMN, at], whole[STATE, at] = i, k, ALIVE
            sparse.exact[SAVING, at] = sparse.exact[SAVING, p]
            sparse.exact[SLACK, at] = sparse.exact[SLACK, p]
            sparse.steps[X, at] = sparse.steps[X, p]
            at += 1
    state[END_PAIR] = at


@fragment
def move_links(sparse: Sparse, parent: int, depth: int, end_link: int, end_group: int) -> None:
    """Copy the links between pairs that are left; the others' savings go to pairs that are, or to what is fixed."""
    state, old, whole, exact = sparse.state[depth], sparse.state[parent], sparse.whole, sparse.exact
    place, group_of, old_price = sparse.places[0], sparse.places[1], sparse.steps[OLD_PRICE]
    for g in range(old[FIRST_GROUP], end_group):
        group_of[g] = FREE
        old_price[g] = sparse.steps[PRICE, g]
    at, n_groups = state[FIRST_LINK_AT], state[FIRST_GROUP]
    for e in range(old[FIRST_LINK_AT], end_link):
        left, right, saving = place[whole[LEFT, e]], place[whole[RIGHT, e]], exact[LINK_SAVING, e]
        if left == -2 and right == -2:
            sparse.values[depth, FIXED_SAVING] += saving
        elif left == -2 and right >= 0:
            exact[SAVING, right] += saving
        elif right == -2 and left >= 0:
            exact[SAVING, left] += saving
        elif left >= 0 and right >= 0 and whole[LINK_STATE, e] == ALIVE:
            for side in range(4):
                g = whole[GROUP + side, e]
                if group_of[g] == FREE:
                    group_of[g] = n_groups
                    whole[OWNER, n_groups] = left if side < 2 else right
                    sparse.steps[PRICE, n_groups] = old_price[g]
                    n_groups += 1
                whole[GROUP + side, at] = group_of[g]
            whole[LEFT, at], whole[RIGHT, at], whole[LINK_STATE, at] = left, right, ALIVE
            whole[LEFT_SLOT, at], whole[RIGHT_SLOT, at] = whole[LEFT_SLOT, e], whole[RIGHT_SLOT, e]
            exact[LINK_SAVING, at] = saving
            sparse.steps[Y, at] = sparse.steps[Y, e]
            at += 1
    state[END_LINK], state[END_GROUP] = at, n_groups
