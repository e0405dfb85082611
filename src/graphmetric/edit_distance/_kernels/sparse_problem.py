"""The sparse problem of the dual bound: the node pairs that may still be in a better map, one problem per depth.

Once some pairs are ruled out, most edge pairs are gone too, and what is left is far smaller than the dense layout
(dual_pair.py). A *pair* is (row, column). A *link* joins two pairs whose rows and whose columns are adjacent, and saves
something when both are chosen. Links of one pair that lead to the same row, or to the same column, exclude each other:
they form a *group*, which has the price of one out or in constraint. The problem of a depth lies behind that of the
depth before in common arrays.

Fixing a pair moves the savings of its links into the pairs at their other ends, and drops its row and column.
"""

from typing import NamedTuple

import numpy as np

from graphmetric._foundation.assignment import FREE
from graphmetric._foundation.compilation import fragment, hot_part, part
from graphmetric.edit_distance._kernels.dual_pair import (
    ARC_HEAD,
    ARC_REVERSE,
    ARC_TAIL,
    BY_ROW,
    HEAD,
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
    Singles,
)
from graphmetric.edit_distance._kernels.packing import Integers, integers
from graphmetric.edit_distance._kernels.primal_dual import COLUMN_PRICE as DENSE_COLUMN_PRICE
from graphmetric.edit_distance._kernels.primal_dual import (
    IN_PRICE,
    ONE,
    WEIGHT,
    ZERO,
    Steps,
    unit_of_steps,
)
from graphmetric.edit_distance._kernels.primal_dual import ROW_PRICE as DENSE_ROW_PRICE
from graphmetric.edit_distance._kernels.primal_dual import X as DENSE_X
from graphmetric.edit_distance._kernels.primal_dual import Y as DENSE_Y

LARGEST_SPARSE = 1 << 29
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


def allocate_sparse(size: DualSize, memory: int = LARGEST_SPARSE) -> Sparse:
    """Make room for all depths in about ``memory`` bytes at most: 270,000 links. Only what is used takes memory."""
    n_depths, widest = size.rows + 2, max(size.rows, size.columns) + 1
    all_pairs, all_links = size.rows * (size.columns + 1), 2 * size.row_edges * size.column_edges
    n_links = min(n_depths * all_links, memory // 2000) + 8
    room = max(4 * n_links, min(n_depths * all_pairs, memory // 1000)) + widest
    all_groups = 2 * (size.row_edges * size.columns + size.column_edges * size.rows)

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
    """Fill depth 0 from the dense layout and its steps, with the pairs in ``alive`` (row, column)."""
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
    """List the pairs, row by row; where rows may be deleted, each has one more. Notes the number of each pair."""
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
    """List the links between the pairs, and their groups with the prices of the dense steps."""
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
            whole[LEFT_SLOT, at], whole[RIGHT_SLOT, at] = 2 * edge, arc  # replaced by slots in `place_slots`
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
    """Note the place of a link in the blocks of its pairs: numbers of the arc at its row and at its column, packed."""
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
    """Derive the rest from pairs, links and groups: which links a pair has, and how far each variable steps."""
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


@hot_part
def end_of_links(sparse: Sparse, depth: int, p: int) -> int:
    """Where the links of a pair end."""
    if p + 1 < sparse.state[depth, END_PAIR]:
        return sparse.whole[FIRST_LINK, p + 1]
    return 2 * sparse.state[depth, END_LINK]


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
    """Whether the next depth may not fit."""
    state = sparse.state[depth]
    pairs, links = 1 + 2 * state[END_PAIR] - state[FIRST_PAIR], 1 + 2 * state[END_LINK] - state[FIRST_LINK_AT]
    return sparse.whole.shape[1] < pairs or sparse.incident.shape[0] < 2 * links


@part
def derive_level(dual: DualPair, sparse: Sparse, parent: int, depth: int) -> bool:
    """Write the problem of ``parent``, without dead pairs and with fixed ones, to ``depth``: itself or the next.

    False if two fixed pairs exclude each other, or if there is no room for the next depth.
    """
    if parent != depth:
        if is_full(sparse, parent):
            return False
        inherit_lines(dual, sparse, parent, depth)
    if not note_fixed(dual, sparse, parent, depth):
        return False
    # note where the parent's arrays end: they may be the level's own
    end_link, end_group = sparse.state[parent, END_LINK], sparse.state[parent, END_GROUP]
    move_pairs(dual, sparse, parent, depth)
    move_links(sparse, parent, depth, end_link, end_group)
    finish_level(sparse, dual, depth, 1.0 / unit_of_steps(dual))
    return True


@fragment
def inherit_lines(dual: DualPair, sparse: Sparse, parent: int, depth: int) -> None:
    """Begin a depth after its parent in the arrays, with the parent's map, prices and bound."""
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

    The parent keeps excluded pairs, which are possible again without the fixed pair.
    """
    old, whole, maps = sparse.state[parent], sparse.whole, sparse.maps
    n_columns, excluded = dual.sizes[N_COLUMNS], sparse.places[2]
    for p in range(old[FIRST_PAIR], old[END_PAIR]):
        excluded[p] = 0
    for e in range(old[FIRST_LINK_AT], old[END_LINK]):
        if whole[LINK_STATE, e] != ALIVE:  # a dead link excludes that both of its pairs are chosen
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
    """Copy the pairs that are alive in open rows and columns; notes their new places, -2 for fixed ones."""
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
    """Copy the links between copied pairs; savings of links to fixed pairs go to their other ends."""
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
