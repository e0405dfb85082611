"""Primal-dual steps for the relaxed edit distance (Chambolle and Pock 2011, diagonal preconditioning).

Variables x[i, k] >= 0 for node pairs and y >= 0 for pairs of an edge of the query and an arc of the target, largest
saving; prices (multipliers) of its constraints

    row i: sum_k x <= 1,   column k: sum_i x <= 1,
    out (arc i->j, k): the y of the arc over all arcs at k sum to at most x[i, k],
    in (i, arc k->l): the y of all arcs of i over this arc sum to at most x[i, k].

Single precision is enough: any prices give a valid bound (split_bound.py).

Loops over the arcs of a slot run over slices of lines, and gathered indices are unsigned. Otherwise each access would
first rule out a negative index, which counts from the end, and no loop would become vector code.
"""

from typing import Any, NamedTuple

import numpy as np

from graphmetric._foundation.compilation import fragment, hot_part, part
from graphmetric.edit_distance._kernels.dual_pair import (
    ARC_REVERSE,
    BY_ROW,
    DEGREE_OF,
    HEAD,
    LARGEST_SAVING,
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
    Singles,
)

ZERO: Any = np.float32(0)
ONE: Any = np.float32(1)
WEIGHT = np.float32(4)  # prices move this much faster than masses: the best of 1 to 14 on molecules of 25 and 35 atoms
OVER = np.float32(1.75)  # over-relaxation: a third fewer steps than without

# Fields of Steps.nodes, edges, ins, lines and work
NODE_SAVING, X, X_BAR, NODE_STEP = range(4)
EDGE_SAVING, Y = range(2)
IN_PRICE, IN_SUM = range(2)
ROW_PRICE, COLUMN_PRICE, ROW_WEIGHT, COLUMN_WEIGHT, SUMS, SUMS_BACKWARD = range(6)
FORWARD, BACKWARD, BAR, BAR_BACKWARD = range(4)
# Fields of Steps.pace: how much faster prices move than masses, how far a step goes where its aim is at 1, and how much
# rows and columns count compared with the constraints of arcs
BALANCE, REACH, EMPHASIS = range(3)


class Steps(NamedTuple):
    """Where the steps stand, in single precision and in units of half the largest edge saving."""

    nodes: Singles  # (field, row, column)
    edges: Singles  # (field, edge, arc of the target)
    outs: Singles  # (arc of the query, column): prices of the out constraints
    ins: Singles  # (field, row, arc of the target)
    lines: Singles  # (field, row or column); the weights are 1 / (degree + 1), the steps of the constraints
    work: Singles  # (field, arc of the target)
    pace: Singles  # (field)


def allocate_steps(size: DualSize) -> Steps:
    """Make room."""

    def singles(*shape: int) -> Singles:
        return np.zeros(shape, dtype=np.float32)

    rows, columns, edges, arcs = size.rows, size.columns, size.row_edges, 2 * size.column_edges
    return Steps(
        singles(4, rows, columns),
        singles(2, edges, arcs),
        singles(2 * edges, columns),
        singles(2, rows, arcs),
        singles(6, max(rows, columns)),
        singles(4, arcs),
        singles(3),
    )


@fragment
def unit_of_steps(dual: DualPair) -> float:
    """The unit of the steps, in units of the splits."""
    return max(1.0, 0.5 * dual.sizes[LARGEST_SAVING]) * dual.unit[0]


@part
def start_steps(dual: DualPair, steps: Steps) -> None:
    """Start without prices and masses, which splits every saving evenly, as in the branch bound."""
    sizes = dual.sizes
    n_rows, n_columns, n_arcs = sizes[N_ROWS], sizes[N_COLUMNS], sizes[N_COLUMN_ARCS]
    scale = 1.0 / unit_of_steps(dual)
    steps.pace[REACH], steps.pace[EMPHASIS] = OVER, ONE
    set_balance(dual, steps, WEIGHT)
    for i in range(n_rows):
        steps.lines[ROW_PRICE, i] = ZERO
        degree = dual.lines[ROW_START, i + 1] - dual.lines[ROW_START, i]
        steps.lines[ROW_WEIGHT, i] = 1.0 / (degree + 1)
        for k in range(n_columns):
            steps.nodes[NODE_SAVING, i, k] = dual.node_saving[i, k] * scale
            steps.nodes[X, i, k] = ZERO
        for arc in range(n_arcs):
            steps.ins[IN_PRICE, i, arc] = ZERO
    for k in range(n_columns):
        steps.lines[COLUMN_PRICE, k] = ZERO
        steps.lines[COLUMN_WEIGHT, k] = 1.0 / (dual.lines[DEGREE_OF, k] + 1)
    for edge in range(sizes[N_ROW_EDGES]):
        for arc in range(n_arcs):
            steps.edges[EDGE_SAVING, edge, arc] = dual.edge_saving[edge, arc] * scale
            steps.edges[Y, edge, arc] = ZERO
        for k in range(n_columns):
            steps.outs[2 * edge, k] = ZERO
            steps.outs[2 * edge + 1, k] = ZERO


@part
def set_balance(dual: DualPair, steps: Steps, balance: float) -> None:
    """Let prices move ``balance`` times as fast as masses."""
    steps.pace[BALANCE] = balance
    lines = 2 * steps.pace[EMPHASIS]
    for i in range(dual.sizes[N_ROWS]):
        degree = dual.lines[ROW_START, i + 1] - dual.lines[ROW_START, i]
        for k in range(dual.sizes[N_COLUMNS]):
            # entries of the variable: its arcs on both sides, its row and its column
            steps.nodes[NODE_STEP, i, k] = 1.0 / (balance * (degree + dual.lines[DEGREE_OF, k] + lines))


@part
def take_steps(dual: DualPair, steps: Steps, n_steps: int) -> None:
    """Take some steps."""
    for _ in range(n_steps):
        move_nodes(dual, steps)
        move_edges(dual, steps)
        move_in_prices(dual, steps)


@hot_part
def raised(price: float, rise: float) -> float:
    """Raise a price, which aims at no less than zero, beyond its aim."""
    return moved(price, rise, OVER)


@hot_part
def moved(price: float, rise: float, reach: float) -> float:
    """Move a price, which aims at no less than zero, ``reach`` times as far as its aim."""
    return price + reach * (max(ZERO, price + rise) - price)


@hot_part
def add(line: Singles, at_slot: Singles, total: Singles) -> None:
    """Add what the arcs of a slot have to what their columns have."""
    for k in range(len(at_slot)):
        total[k] = line[k] + at_slot[k]


@hot_part
def add_to(line: Singles, at_slot: Singles) -> None:
    """Add what the arcs of a slot have to the columns."""
    for k in range(len(at_slot)):
        line[k] += at_slot[k]


@hot_part
def subtract(at_slot: Singles, line: Singles, total: Singles) -> None:
    """Subtract what the columns have from what the arcs of their first slot have."""
    for k in range(len(at_slot)):
        total[k] = at_slot[k] - line[k]


@hot_part
def total_of(line: Singles, count: int) -> float:
    """The sum of the first numbers of a line. Four sums at once: each addition waits for the one before it."""
    one, two, three, four = ZERO, ZERO, ZERO, ZERO
    whole = count // 4 * 4
    for k in range(0, whole, 4):
        next_four = line[k : k + 4]
        one += next_four[0]
        two += next_four[1]
        three += next_four[2]
        four += next_four[3]
    for k in range(whole, count):
        one += line[k]
    return one + two + (three + four)


@fragment
def move_nodes(dual: DualPair, steps: Steps) -> None:
    """Move x, and the prices of rows and columns."""
    sizes = dual.sizes
    n_rows, n_columns, n_slots = sizes[N_ROWS], sizes[N_COLUMNS], sizes[N_SLOTS]
    gain, column_sum = steps.lines[SUMS], steps.lines[SUMS_BACKWARD]
    column_price = steps.lines[COLUMN_PRICE]
    balance, reach = steps.pace[EMPHASIS] * steps.pace[BALANCE], steps.pace[REACH]
    for k in range(n_columns):
        column_sum[k] = -ONE
    for i in range(n_rows):
        saving, in_price, x, x_bar = (
            steps.nodes[NODE_SAVING, i],
            steps.ins[IN_PRICE, i],
            steps.nodes[X, i],
            steps.nodes[X_BAR, i],
        )
        row_price, step = steps.lines[ROW_PRICE, i], steps.nodes[NODE_STEP, i]
        for k in range(n_columns):
            gain[k] = saving[k] - column_price[k] - row_price
        for a in range(dual.lines[ROW_START, i], dual.lines[ROW_START, i + 1]):
            out_price = steps.outs[dual.arcs[BY_ROW, a]]
            for k in range(n_columns):
                gain[k] += out_price[k]
        for slot in range(n_slots):
            add_to(gain, in_price[dual.lines[SLOT_START, slot] : dual.lines[SLOT_START, slot + 1]])
        for k in range(n_columns):
            new = max(ZERO, x[k] + step[k] * gain[k])
            bar = new + new - x[k]
            x[k] += reach * (new - x[k])
            x_bar[k] = bar
            column_sum[k] += bar
        row_sum = total_of(x_bar, n_columns) - ONE
        steps.lines[ROW_PRICE, i] = moved(row_price, balance / np.float32(n_columns) * row_sum, reach)
    for k in range(n_columns):
        column_price[k] = moved(column_price[k], balance / np.float32(n_rows) * column_sum[k], reach)


@fragment
def move_edges(dual: DualPair, steps: Steps) -> None:
    """Move y, and the prices of the out constraints; sums up the in constraints."""
    sizes = dual.sizes
    n_columns, n_arcs, n_slots = sizes[N_COLUMNS], sizes[N_COLUMN_ARCS], sizes[N_SLOTS]
    reverse, slot_start = dual.column_arcs[ARC_REVERSE], dual.lines[SLOT_START]
    forward, backward = steps.work[FORWARD], steps.work[BACKWARD]
    bar, bar_backward = steps.work[BAR], steps.work[BAR_BACKWARD]
    sums, sums_backward, column_weight = steps.lines[SUMS], steps.lines[SUMS_BACKWARD], steps.lines[COLUMN_WEIGHT]
    balance, reach = steps.pace[BALANCE], steps.pace[REACH]
    step = np.float32(0.25) / balance
    first = slot_start[1] if n_slots > 0 else 0  # columns with any arc
    for i in range(sizes[N_ROWS]):
        in_sum = steps.ins[IN_SUM, i]
        for arc in range(n_arcs):
            in_sum[arc] = ZERO
    for edge in range(sizes[N_ROW_EDGES]):
        i, j = dual.arcs[TAIL, 2 * edge], dual.arcs[HEAD, 2 * edge]
        out_price, out_backward = steps.outs[2 * edge], steps.outs[2 * edge + 1]
        in_price, in_backward = steps.ins[IN_PRICE, i], steps.ins[IN_PRICE, j]
        in_sum, in_sum_backward = steps.ins[IN_SUM, i], steps.ins[IN_SUM, j]
        y, saving = steps.edges[Y, edge], steps.edges[EDGE_SAVING, edge]
        for slot in range(n_slots):
            start, end = slot_start[slot], slot_start[slot + 1]
            add(out_price, in_price[start:end], forward[start:end])
            add(out_backward, in_backward[start:end], backward[start:end])
        for arc in range(n_arcs):
            bar_backward[arc] = backward[np.uint64(reverse[arc])]
        for arc in range(n_arcs):
            new = max(ZERO, y[arc] + step * (saving[arc] - forward[arc] - bar_backward[arc]))
            twice = new + new - y[arc]
            bar[arc] = twice
            in_sum[arc] += twice
            y[arc] += reach * (new - y[arc])
        for arc in range(n_arcs):
            bar_backward[arc] = bar[np.uint64(reverse[arc])]
        for arc in range(n_arcs):
            in_sum_backward[arc] += bar_backward[arc]
        x_i, x_j = steps.nodes[X_BAR, i], steps.nodes[X_BAR, j]
        subtract(bar[:first], x_i, sums)
        subtract(bar_backward[:first], x_j, sums_backward)
        for k in range(first, n_columns):
            sums[k], sums_backward[k] = -x_i[k], -x_j[k]
        for slot in range(1, n_slots):
            start, end = slot_start[slot], slot_start[slot + 1]
            add_to(sums, bar[start:end])
            add_to(sums_backward, bar_backward[start:end])
        for k in range(n_columns):
            out_price[k] = moved(out_price[k], balance * column_weight[k] * sums[k], reach)
        for k in range(n_columns):
            out_backward[k] = moved(out_backward[k], balance * column_weight[k] * sums_backward[k], reach)


@fragment
def move_in_prices(dual: DualPair, steps: Steps) -> None:
    """Move the prices of the in constraints."""
    slot_start, reach = dual.lines[SLOT_START], steps.pace[REACH]
    for i in range(dual.sizes[N_ROWS]):
        price, total, x_bar = steps.ins[IN_PRICE, i], steps.ins[IN_SUM, i], steps.nodes[X_BAR, i]
        rate = steps.pace[BALANCE] * steps.lines[ROW_WEIGHT, i]
        for slot in range(dual.sizes[N_SLOTS]):
            at_slot = price[slot_start[slot] : slot_start[slot + 1]]
            sums = total[slot_start[slot] : slot_start[slot + 1]]
            for k in range(len(at_slot)):
                at_slot[k] = moved(at_slot[k], rate * (sums[k] - x_bar[k]), reach)
