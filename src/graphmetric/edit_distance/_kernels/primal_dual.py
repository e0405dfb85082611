"""Primal-dual steps for the relaxed edit distance (Chambolle and Pock 2011, diagonal preconditioning).

Variables x[i, k] >= 0 for node pairs and y >= 0 for pairs of an edge of the query and an arc of the target, largest
saving; prices (multipliers) of its constraints

    row i: sum_k x <= 1,   column k: sum_i x <= 1,
    out (arc i->j, k): the y of the arc over all arcs at k sum to at most x[i, k],
    in (i, arc k->l): the y of all arcs of i over this arc sum to at most x[i, k].

Single precision is enough: whatever the prices are, they give a valid bound (split_bound.py).
"""

from typing import NamedTuple

import numpy as np

from graphmetric.compiling import fragment, hot_part, part
from graphmetric.edit_distance._kernels.dual_pair import (
    ARC_REVERSE,
    HEAD,
    LARGEST_SAVING,
    N_COLUMN_ARCS,
    N_COLUMNS,
    N_ROW_EDGES,
    N_ROWS,
    N_SLOTS,
    TAIL,
    UNIT,
    DualPair,
    DualSize,
    Singles,
)

ZERO, ONE = np.float32(0), np.float32(1)
WEIGHT = np.float32(4)  # prices move that much faster than masses; of 1 to 14, on molecules of 25 and 35 atoms
OVER = np.float32(1.75)  # over-relaxation: a third fewer steps than without

# Fields of Steps.work, one line of the target's arcs each
FORWARD, BACKWARD, BAR, BAR_BACKWARD = range(4)


class Steps(NamedTuple):
    """Where the steps stand, in single precision and in units of half the largest edge saving."""

    node_saving: Singles  # (row, column)
    edge_saving: Singles  # (edge, arc)
    x: Singles  # (row, column)
    x_bar: Singles
    y: Singles  # (edge, arc)
    row_price: Singles
    column_price: Singles
    out_price: Singles  # (arc of the query, column)
    in_price: Singles  # (row, arc of the target)
    in_sum: Singles
    row_weight: Singles
    column_weight: Singles  # 1 / (degree + 1), the step of the out constraints
    work: Singles  # (field, arc)
    sums: Singles  # (2, column)


def allocate_steps(size: DualSize) -> Steps:
    """Make room."""

    def singles(*shape: int) -> Singles:
        return np.zeros(shape, dtype=np.float32)

    rows, columns, edges, arcs = size.rows, size.columns, size.row_edges, 2 * size.column_edges
    return Steps(
        singles(rows, columns),
        singles(edges, arcs),
        singles(rows, columns),
        singles(rows, columns),
        singles(edges, arcs),
        singles(rows),
        singles(columns),
        singles(2 * edges, columns),
        singles(rows, arcs),
        singles(rows, arcs),
        singles(rows),
        singles(columns),
        singles(4, arcs),
        singles(2, columns),
    )


@fragment
def unit_of_steps(dual: DualPair) -> float:
    """How much a saving of one is in the steps' own unit, in units of the splits."""
    return max(1.0, 0.5 * dual.sizes[LARGEST_SAVING]) * dual.sizes[UNIT]


@part
def start_steps(dual: DualPair, steps: Steps) -> None:
    """All prices half of the saving at each end, as in the branch bound; no mass anywhere."""
    sizes = dual.sizes
    n_rows, n_columns, n_arcs = sizes[N_ROWS], sizes[N_COLUMNS], sizes[N_COLUMN_ARCS]
    scale = 1.0 / unit_of_steps(dual)
    for i in range(n_rows):
        steps.row_price[i] = ZERO
        steps.row_weight[i] = 1.0 / (dual.row_start[i + 1] - dual.row_start[i] + 1)
        for k in range(n_columns):
            steps.node_saving[i, k] = dual.node_saving[i, k] * scale
            steps.x[i, k] = ZERO
        for arc in range(n_arcs):
            steps.in_price[i, arc] = ZERO
    for k in range(n_columns):
        steps.column_price[k] = ZERO
        steps.column_weight[k] = 1.0 / (dual.degree[k] + 1)
    for edge in range(sizes[N_ROW_EDGES]):
        for arc in range(n_arcs):
            steps.edge_saving[edge, arc] = dual.edge_saving[edge, arc] * scale
            steps.y[edge, arc] = ZERO
        for k in range(n_columns):
            steps.out_price[2 * edge, k] = ZERO
            steps.out_price[2 * edge + 1, k] = ZERO


@part
def take_steps(dual: DualPair, steps: Steps, n_steps: int) -> None:
    """Take some steps."""
    for _ in range(n_steps):
        move_nodes(dual, steps)
        move_edges(dual, steps)
        move_in_prices(dual, steps)


@hot_part
def raised(price: float, rise: float) -> float:
    """A price that is never negative, moved beyond its aim."""
    return price + OVER * (max(ZERO, price + rise) - price)


@fragment
def move_nodes(dual: DualPair, steps: Steps) -> None:
    """x, and the prices of rows and columns."""
    sizes = dual.sizes
    n_rows, n_columns, n_slots = sizes[N_ROWS], sizes[N_COLUMNS], sizes[N_SLOTS]
    gain, column_sum = steps.sums[0], steps.sums[1]
    column_price, column_weight = steps.column_price, steps.column_weight
    for k in range(n_columns):
        column_sum[k] = -ONE
    for i in range(n_rows):
        saving, in_price, x, x_bar = steps.node_saving[i], steps.in_price[i], steps.x[i], steps.x_bar[i]
        row_price = steps.row_price[i]
        for k in range(n_columns):
            gain[k] = saving[k] - column_price[k] - row_price
        for a in range(dual.row_start[i], dual.row_start[i + 1]):
            out_price = steps.out_price[dual.row_arcs[a]]
            for k in range(n_columns):
                gain[k] += out_price[k]
        for slot in range(n_slots):
            start = dual.slot_start[slot]
            for k in range(dual.slot_start[slot + 1] - start):
                gain[k] += in_price[start + k]
        degree = ONE / steps.row_weight[i]
        row_sum = -ONE
        for k in range(n_columns):
            # entries of the variable: its arcs on both sides, its row and its column
            step = column_weight[k] / ((ONE + degree * column_weight[k]) * WEIGHT)
            new = max(ZERO, x[k] + step * gain[k])
            bar = new + new - x[k]
            x[k] += OVER * (new - x[k])
            x_bar[k] = bar
            column_sum[k] += bar
        for k in range(n_columns):
            row_sum += x_bar[k]
        steps.row_price[i] = raised(row_price, WEIGHT / np.float32(n_columns) * row_sum)
    for k in range(n_columns):
        column_price[k] = raised(column_price[k], WEIGHT / np.float32(n_rows) * column_sum[k])


@fragment
def move_edges(dual: DualPair, steps: Steps) -> None:
    """y, and the prices of the out constraints; sums up the in constraints."""
    sizes = dual.sizes
    n_columns, n_arcs, n_slots = sizes[N_COLUMNS], sizes[N_COLUMN_ARCS], sizes[N_SLOTS]
    reverse, slot_start = dual.column_arcs[ARC_REVERSE], dual.slot_start
    forward, backward = steps.work[FORWARD], steps.work[BACKWARD]
    bar, bar_backward = steps.work[BAR], steps.work[BAR_BACKWARD]
    sums, sums_backward, column_weight = steps.sums[0], steps.sums[1], steps.column_weight
    step = np.float32(0.25) / WEIGHT
    for i in range(sizes[N_ROWS]):
        in_sum = steps.in_sum[i]
        for arc in range(n_arcs):
            in_sum[arc] = ZERO
    for edge in range(sizes[N_ROW_EDGES]):
        i, j = dual.arcs[TAIL, 2 * edge], dual.arcs[HEAD, 2 * edge]
        out_price, out_backward = steps.out_price[2 * edge], steps.out_price[2 * edge + 1]
        in_price, in_backward = steps.in_price[i], steps.in_price[j]
        in_sum, in_sum_backward = steps.in_sum[i], steps.in_sum[j]
        y, saving = steps.y[edge], steps.edge_saving[edge]
        for slot in range(n_slots):
            start = slot_start[slot]
            for k in range(slot_start[slot + 1] - start):
                forward[start + k] = out_price[k] + in_price[start + k]
                backward[start + k] = out_backward[k] + in_backward[start + k]
        for arc in range(n_arcs):
            bar_backward[arc] = backward[reverse[arc]]
        for arc in range(n_arcs):
            new = max(ZERO, y[arc] + step * (saving[arc] - forward[arc] - bar_backward[arc]))
            bar[arc] = new + new - y[arc]
            y[arc] += OVER * (new - y[arc])
        for arc in range(n_arcs):
            bar_backward[arc] = bar[reverse[arc]]
        for arc in range(n_arcs):
            in_sum[arc] += bar[arc]
        for arc in range(n_arcs):
            in_sum_backward[arc] += bar_backward[arc]
        x_i, x_j = steps.x_bar[i], steps.x_bar[j]
        for k in range(n_columns):
            sums[k] = -x_i[k]
            sums_backward[k] = -x_j[k]
        for slot in range(n_slots):
            start = slot_start[slot]
            for k in range(slot_start[slot + 1] - start):
                sums[k] += bar[start + k]
                sums_backward[k] += bar_backward[start + k]
        for k in range(n_columns):
            out_price[k] = raised(out_price[k], WEIGHT * column_weight[k] * sums[k])
            out_backward[k] = raised(out_backward[k], WEIGHT * column_weight[k] * sums_backward[k])


@fragment
def move_in_prices(dual: DualPair, steps: Steps) -> None:
    """The prices of the in constraints."""
    slot_start = dual.slot_start
    for i in range(dual.sizes[N_ROWS]):
        price, total, x_bar = steps.in_price[i], steps.in_sum[i], steps.x_bar[i]
        rate = WEIGHT * steps.row_weight[i]
        for slot in range(dual.sizes[N_SLOTS]):
            start = slot_start[slot]
            for k in range(slot_start[slot + 1] - start):
                price[start + k] = raised(price[start + k], rate * (total[start + k] - x_bar[k]))
