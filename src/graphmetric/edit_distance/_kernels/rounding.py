"""Good node maps: rounding of masses, descent by exchanges, and shifts of whole regions.

**Rounding.** The assignment of a good bound is a poor map: nearly all pairs are tight, so it is an arbitrary one of
many. The masses of the primal-dual steps say more. The heaviest pair is mapped first; every edge that it would save
makes the pairs next to it heavier. On molecules of 25 atoms such a map is 3 edits above the distance where the
assignment is 20 above.

**Descent.** A map is judged by what it saves (dual_pair.py). ``saving[i, k]`` is what row i saves at column k while the
other rows stay: its node saving, and the savings of its edges to where its neighbours are. Moving a row changes this
table at its neighbours only. With it an exchange of two images is priced by four numbers, and only rows whose
neighbourhood has changed since they were last looked at need another look.

**Shifts.** Exchanges of two cannot move a ring or a branch. A shift maps a random row to a random column, unmaps the
rows around it and the rows whose columns lie around the new one, maps all these again greedily, most saving first, and
descends. The outcome is kept unless it is worse. A shift takes 3 microseconds at 25 nodes and 8 at 100.
"""

from typing import NamedTuple

import numpy as np

from graphmetric._foundation.compilation import fragment, part
from graphmetric.edit_distance._kernels.dual_pair import (
    ARC_CODE,
    ARC_HEAD,
    ARC_REVERSE,
    BY_ROW,
    DEGREE_OF,
    HEAD,
    N_COLUMNS,
    N_ROWS,
    NODE_OF,
    ROW_START,
    SLOT_START,
    DualPair,
    DualSize,
    Floats,
    Singles,
)
from graphmetric.edit_distance._kernels.node_maps import RandomState, draw_below
from graphmetric.edit_distance._kernels.packing import Integers, integers
from graphmetric.edit_distance._kernels.primal_dual import unit_of_steps
from graphmetric.edit_distance._kernels.workspace import BASE_COST, N_EDGES, N_NULL, QUERY, STOP, TARGET, Pair

EDGE_BONUS = 0.1  # what a saved edge adds to the mass of a pair, per half of the largest saving
NODE_BONUS = 0.01
TAKEN = -np.inf
MOST_AROUND = np.int64(8)  # rows or columns that a shift unmaps on either side
# Fields of LocalMap.lines
IMAGE, OWNER, OWNED, KEPT, QUEUE, WAITS, LIFTED, IS_LIFTED, OPEN_COLUMNS, WISH, WISHED = range(11)
# Fields of LocalMap.state
COST, N_WAITING, N_LIFTED, N_OPEN = range(4)


class LocalMap(NamedTuple):
    """A map, its cost, and what its rows save. Row number N_ROWS is nobody, column number N_COLUMNS is deletion.

    Savings are exact here. Where no node need be deleted, the deletion of a row counts as its dearest substitution.
    """

    saving: Integers  # (row, column): what the row saves there while the other rows stay
    mass: Singles  # (row, column): those of the steps; of columns where a row saves as much it takes the heaviest
    lines: Integers  # (field, row, column or position)
    state: Integers


def allocate_local_map(size: DualSize, mass: Singles) -> LocalMap:
    """Make room."""
    return LocalMap(
        integers(size.rows + 1, size.columns + 1), mass, integers(WISHED + 1, size.rows + size.columns + 2), integers(4)
    )


@fragment
def round_masses(dual: DualPair, local: LocalMap, score: Floats, column_of: Integers, signals: Integers) -> bool:
    """Complete a map greedily. ``score`` holds the masses, ``column_of`` the columns of rows that are fixed, or -1.

    False if it is told to stop before the map is complete.
    """
    n_rows, n_columns = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS]
    bonus = NODE_BONUS / unit_of_steps(dual)
    n_open = 0
    for i in range(n_rows):
        n_open += column_of[i] == -1
        for k in range(n_columns):
            score[i, k] += bonus * dual.node_saving[i, k]
    for i in range(n_rows):
        wish_heaviest(dual, local, score, i)
    for i in range(n_rows):
        if column_of[i] >= 0:
            take_pair(dual, local, score, i, column_of[i])
    for _ in range(n_open):
        if signals[STOP] > 0:
            return False
        best, row = TAKEN, np.int64(0)
        for i in range(n_rows):
            if column_of[i] == -1 and score[i, local.lines[WISH, i]] > best:
                best, row = score[i, local.lines[WISH, i]], np.int64(i)
        column_of[row] = local.lines[WISH, row]
        take_pair(dual, local, score, row, column_of[row])
    return True


@fragment
def wish_heaviest(dual: DualPair, local: LocalMap, score: Floats, i: int) -> None:
    """Find the column with which row i is heaviest."""
    line, chosen = score[i], np.int64(0)
    for k in range(1, dual.sizes[N_COLUMNS]):
        if line[k] > line[chosen]:
            chosen = np.int64(k)
    local.lines[WISH, i] = chosen


@part
def take_pair(dual: DualPair, local: LocalMap, score: Floats, row: int, column: int) -> None:
    """Take the column away from other rows; pairs that would save an edge to this pair get heavier."""
    for i in range(dual.sizes[N_ROWS]):
        score[i, column] = TAKEN
        if local.lines[WISH, i] == column:
            wish_heaviest(dual, local, score, i)
    lines, bonus = dual.lines, EDGE_BONUS / unit_of_steps(dual)
    for a in range(lines[ROW_START, row], lines[ROW_START, row + 1]):
        arc = dual.arcs[BY_ROW, a]
        other = dual.arcs[HEAD, arc]
        for slot in range(lines[DEGREE_OF, column]):
            image = lines[SLOT_START, slot] + column
            own = image if arc & 1 == 0 else dual.column_arcs[ARC_REVERSE, image]
            k = dual.column_arcs[ARC_HEAD, image]
            score[other, k] += bonus * dual.edge_saving[arc >> 1, own]
            if score[other, k] > score[other, local.lines[WISH, other]]:
                local.lines[WISH, other] = k


@part
def load_map(pair: Pair, dual: DualPair, local: LocalMap, column_of: Integers) -> None:
    """Load the map that gives each row this column, or deletes it where that is negative. All rows wait for a look."""
    n_rows, n_columns, lines = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS], local.lines
    for k in range(n_columns + 1):
        lines[OWNER, k], lines[OWNED, k], local.saving[n_rows, k] = n_rows, 0, 0
    cost = pair.sizes[BASE_COST]
    for i in range(n_rows):
        lines[IMAGE, i], local.saving[i, n_columns] = n_columns, 0
        deletion = pair.node_cost[i, n_columns] if pair.sizes[N_NULL] > 0 else 0
        if pair.sizes[N_NULL] == 0:
            for node in range(n_columns):
                deletion = max(deletion, pair.node_cost[i, node])
        for k in range(n_columns):
            node = dual.lines[NODE_OF, k]
            local.saving[i, k] = deletion + pair.node_cost[n_rows, node] - pair.node_cost[i, node]
        cost += deletion
    for edge in range(pair.sizes[N_EDGES]):
        cost += pair.edge_cost[pair.edges[edge, 2], 0]
    for place in range(n_rows + n_columns + 2):
        lines[WAITS, place], lines[IS_LIFTED, place] = 0, 0
    local.state[COST], local.state[N_WAITING] = cost, 0
    for i in range(n_rows):
        place_row(pair, dual, local, i, column_of[i] if column_of[i] >= 0 else n_columns)


@part
def place_row(pair: Pair, dual: DualPair, local: LocalMap, i: int, k: int) -> None:
    """Map an unmapped row to a free column."""
    local.lines[IMAGE, i] = k
    local.state[COST] -= local.saving[i, k]
    ask_for_look(local, i)
    if k < dual.sizes[N_COLUMNS]:
        local.lines[OWNER, k], local.lines[OWNED, k] = i, local.saving[i, k]
        change_savings(pair, dual, local, i, k, np.int64(1))


@part
def lift_row(pair: Pair, dual: DualPair, local: LocalMap, i: int) -> None:
    """Unmap a row."""
    k = local.lines[IMAGE, i]
    local.lines[IMAGE, i] = dual.sizes[N_COLUMNS]
    local.state[COST] += local.saving[i, k]
    if k < dual.sizes[N_COLUMNS]:
        local.lines[OWNER, k], local.lines[OWNED, k] = dual.sizes[N_ROWS], 0
        change_savings(pair, dual, local, i, k, np.int64(-1))


@part
def change_savings(pair: Pair, dual: DualPair, local: LocalMap, i: int, k: int, sign: int) -> None:
    """Around column k the neighbours of row i save more when it comes, and less when it leaves."""
    lines, cost = dual.lines, pair.edge_cost
    for a in range(lines[ROW_START, i], lines[ROW_START, i + 1]):
        j = dual.arcs[HEAD, dual.arcs[BY_ROW, a]]
        code, image = pair.adjacency[QUERY, i, j], local.lines[IMAGE, j]
        ask_for_look(local, j)
        for slot in range(lines[DEGREE_OF, k]):
            arc = lines[SLOT_START, slot] + k
            other, there = dual.column_arcs[ARC_HEAD, arc], dual.column_arcs[ARC_CODE, arc]
            change = sign * (cost[code, 0] + cost[0, there] - cost[code, there])
            local.saving[j, other] += change
            if other == image:
                local.lines[OWNED, other] += change


@fragment
def ask_for_look(local: LocalMap, place: int) -> None:
    """Put a row, or N_ROWS + 1 + a free column, on the list of those that need a look."""
    if local.lines[WAITS, place] == 0:
        local.lines[WAITS, place] = 1
        local.lines[QUEUE, local.state[N_WAITING]] = place
        local.state[N_WAITING] += 1


@part
def descend(pair: Pair, dual: DualPair, local: LocalMap, signals: Integers) -> None:
    """Move rows to free columns and exchange images while that saves more, or until it is told to stop."""
    n_rows, n_columns, lines = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS], local.lines
    while local.state[N_WAITING] > 0 and signals[STOP] == 0:
        local.state[N_WAITING] -= 1
        place = lines[QUEUE, local.state[N_WAITING]]
        lines[WAITS, place] = 0
        row = place if place < n_rows else best_row(dual, local, place - n_rows - 1)
        if row == n_rows:
            continue
        k = best_column(pair, dual, local, row) if place < n_rows else place - n_rows - 1
        left, other = lines[IMAGE, row], lines[OWNER, k]
        if k == left:
            continue
        lift_row(pair, dual, local, row)
        if other < n_rows:
            lift_row(pair, dual, local, other)
        place_row(pair, dual, local, row, k)
        if other < n_rows:
            place_row(pair, dual, local, other, left)
        elif left < n_columns:
            ask_for_look(local, n_rows + 1 + left)


@part
def best_column(pair: Pair, dual: DualPair, local: LocalMap, i: int) -> int:
    """The column that row i had best take, a free one or in exchange; its own if there is none better."""
    n_columns, lines, saving = dual.sizes[N_COLUMNS], local.lines, local.saving
    chosen = lines[IMAGE, i]
    own, line, owner, owned = chosen, saving[i], lines[OWNER], lines[OWNED]
    best = line[own]
    for k in range(n_columns + 1):
        gain = line[k] - owned[k] + saving[owner[k], own]
        if gain > best:
            best, chosen = gain, np.int64(k)
    if own == n_columns:
        return chosen
    cost, node = pair.edge_cost, dual.lines[NODE_OF, own]
    for a in range(dual.lines[ROW_START, i], dual.lines[ROW_START, i + 1]):
        j = dual.arcs[HEAD, dual.arcs[BY_ROW, a]]
        k = lines[IMAGE, j]
        if k == n_columns or pair.adjacency[TARGET, node, dual.lines[NODE_OF, k]] == 0:
            continue
        # the edge between the two keeps its image, in the other direction; the table counts it as lost twice
        code, there = pair.adjacency[QUERY, i, j], pair.adjacency[TARGET, node, dual.lines[NODE_OF, k]]
        back = pair.adjacency[TARGET, dual.lines[NODE_OF, k], node]
        kept = 2 * cost[code, 0] + cost[0, there] + cost[0, back] - cost[code, there] - cost[code, back]
        gain = line[k] - owned[k] + saving[j, own] + kept
        if gain > best:
            best, chosen = gain, k
    return chosen


@fragment
def best_row(dual: DualPair, local: LocalMap, k: int) -> int:
    """The row that gains most by taking column k; nobody if it is not free or no row gains."""
    n_rows = dual.sizes[N_ROWS]
    best, chosen = 0, np.int64(n_rows)
    if local.lines[OWNER, k] == n_rows:
        for i in range(n_rows):
            gain = local.saving[i, k] - local.saving[i, local.lines[IMAGE, i]]
            if gain > best:
                best, chosen = gain, np.int64(i)
    return int(chosen)


@part
def shift_regions(
    pair: Pair, dual: DualPair, local: LocalMap, random: RandomState, n_shifts: int, good_enough: int, signals: Integers
) -> None:
    """Shift regions of a map that no descent improves, until its cost is ``good_enough`` or it is told to stop."""
    n_rows, n_columns, state = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS], local.state
    for _ in range(n_shifts if n_rows > 1 else 0):
        if state[COST] <= good_enough or signals[STOP] > 0:
            return
        i, k = np.int64(draw_below(random, n_rows)), np.int64(draw_below(random, n_columns))
        shift_region(pair, dual, local, random, i, k, 1 + np.int64(draw_below(random, MOST_AROUND)), signals)


@part
def shift_region(
    pair: Pair, dual: DualPair, local: LocalMap, random: RandomState, i: int, k: int, n_around: int, signals: Integers
) -> None:
    """Map row i to column k, and what is around them again; go back if that makes the map worse."""
    lines, state = local.lines, local.state
    if k == lines[IMAGE, i]:
        return
    before = state[COST]
    for row in range(dual.sizes[N_ROWS]):
        lines[KEPT, row] = lines[IMAGE, row]
    lift_around(pair, dual, local, i, k, n_around)
    place_row(pair, dual, local, i, k)
    place_lifted(pair, dual, local, random)
    descend(pair, dual, local, signals)
    if state[COST] > before:
        restore_map(pair, dual, local)


@fragment
def lift_around(pair: Pair, dual: DualPair, local: LocalMap, row: int, column: int, n_around: int) -> None:
    """Unmap some rows around a row, itself first, and the owners of some columns around a column."""
    n_rows, lines, state = dual.sizes[N_ROWS], local.lines, local.state
    state[N_LIFTED] = 0
    list_lifted(pair, dual, local, row)
    seen = np.int64(0)
    while seen < state[N_LIFTED] < n_around:
        i = lines[LIFTED, seen]
        for a in range(dual.lines[ROW_START, i], dual.lines[ROW_START, i + 1]):
            if state[N_LIFTED] < n_around:
                list_lifted(pair, dual, local, dual.arcs[HEAD, dual.arcs[BY_ROW, a]])
        seen += 1
    columns, n_listed, seen = lines[OPEN_COLUMNS], np.int64(1), np.int64(0)
    columns[0] = column
    while seen < n_listed:
        k = columns[seen]
        for slot in range(dual.lines[DEGREE_OF, k]):
            other = dual.column_arcs[ARC_HEAD, dual.lines[SLOT_START, slot] + k]
            is_new = n_listed < n_around
            for place in range(n_listed):
                is_new &= columns[place] != other
            if is_new:
                columns[n_listed] = other
                n_listed += 1
        if lines[OWNER, k] < n_rows:
            list_lifted(pair, dual, local, lines[OWNER, k])
        seen += 1


@part
def list_lifted(pair: Pair, dual: DualPair, local: LocalMap, i: int) -> None:
    """Unmap a row and list it, unless that was done."""
    lines, state = local.lines, local.state
    if lines[IS_LIFTED, i] == 0:
        lines[IS_LIFTED, i] = 1
        lines[LIFTED, state[N_LIFTED]] = i
        state[N_LIFTED] += 1
        lift_row(pair, dual, local, i)


@fragment
def place_lifted(pair: Pair, dual: DualPair, local: LocalMap, random: RandomState) -> None:
    """Map the listed rows greedily, most saving first, except the first of the list, which is mapped already."""
    n_rows, n_columns, lines, state = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS], local.lines, local.state
    lifted, n_lifted = lines[LIFTED], state[N_LIFTED]
    state[N_OPEN] = 0
    for k in range(n_columns):
        if lines[OWNER, k] == n_rows:
            lines[OPEN_COLUMNS, state[N_OPEN]] = k
            state[N_OPEN] += 1
    lines[IS_LIFTED, lifted[0]] = 0
    for place in range(1, n_lifted):
        lines[IS_LIFTED, lifted[place]] = 0
        wish_best(dual, local, random, lifted[place])
    for first in range(1, n_lifted):
        at = np.int64(first)
        for place in range(first + 1, n_lifted):
            if lines[WISHED, lifted[place]] > lines[WISHED, lifted[at]]:
                at = np.int64(place)
        row = lifted[at]
        lifted[at] = lifted[first]
        k = lines[WISH, row]
        place_row(pair, dual, local, row, k)
        for place in range(first + 1, n_lifted):
            other = lifted[place]
            if k < n_columns and (lines[WISH, other] == k or pair.adjacency[QUERY, row, other] > 0):
                wish_best(dual, local, random, other)
    for place in range(state[N_OPEN]):
        if lines[OWNER, lines[OPEN_COLUMNS, place]] == n_rows:
            ask_for_look(local, n_rows + 1 + lines[OPEN_COLUMNS, place])


@part
def wish_best(dual: DualPair, local: LocalMap, random: RandomState, i: int) -> None:
    """Find the free column where row i saves most; deletion if nothing is saved anywhere.

    Of several the heaviest, and of these a random one.
    """
    n_rows, lines, n_open = dual.sizes[N_ROWS], local.lines, local.state[N_OPEN]
    saving, mass = local.saving[i], local.mass[i]
    best, heaviest, chosen = np.int64(-1), np.float32(-1), dual.sizes[N_COLUMNS]
    place = np.int64(draw_below(random, max(1, n_open)))
    for _ in range(n_open):
        k = lines[OPEN_COLUMNS, place]
        if lines[OWNER, k] == n_rows and (saving[k] > best or (saving[k] == best and mass[k] > heaviest)):
            best, heaviest, chosen = saving[k], mass[k], k
        place += 1
        if place == n_open:
            place = np.int64(0)
    lines[WISH, i], lines[WISHED, i] = chosen, best


@fragment
def restore_map(pair: Pair, dual: DualPair, local: LocalMap) -> None:
    """Go back to the map before the shift."""
    n_rows, lines = dual.sizes[N_ROWS], local.lines
    for i in range(n_rows):
        if lines[IMAGE, i] != lines[KEPT, i]:
            lines[IS_LIFTED, i] = 1
            lift_row(pair, dual, local, i)
    for i in range(n_rows):
        if lines[IS_LIFTED, i] == 1:
            lines[IS_LIFTED, i] = 0
            place_row(pair, dual, local, i, lines[KEPT, i])
    for place in range(local.state[N_WAITING]):
        lines[WAITS, lines[QUEUE, place]] = 0
    local.state[N_WAITING] = 0
