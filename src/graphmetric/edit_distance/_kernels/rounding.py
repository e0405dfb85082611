"""Node maps from the masses of the primal-dual steps, and their improvement by exchanges that look at edges only.

The assignment of a good bound is a poor map: nearly all pairs are tight, so it is an arbitrary one of many. The masses
x of the steps say more. The heaviest pair is mapped first; every edge that it would save makes the pairs next to it
heavier. On molecules of 25 atoms that starts 3 edits above the distance where the assignment starts 20 above.
"""

import numpy as np

from graphmetric.compiling import fragment
from graphmetric.edit_distance._kernels.dual_pair import (
    ARC_HEAD,
    ARC_REVERSE,
    BY_ROW,
    DEGREE_OF,
    HEAD,
    N_COLUMNS,
    N_ROWS,
    ROW_START,
    SLOT_START,
    DualPair,
    Floats,
)
from graphmetric.edit_distance._kernels.packing import Integers
from graphmetric.edit_distance._kernels.primal_dual import unit_of_steps
from graphmetric.edit_distance._kernels.workspace import N_QUERY, N_TARGET, QUERY, REFINED, TARGET, Pair

EDGE_BONUS = 0.1  # what a saved edge adds to the mass of a pair, per half of the largest saving
NODE_BONUS = 0.01
TAKEN = -1e6


@fragment
def round_masses(dual: DualPair, score: Floats, column_of: Integers) -> None:
    """Complete a map greedily. ``score`` holds the masses, ``column_of`` the columns of rows that are fixed, or -1."""
    n_rows, n_columns = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS]
    bonus = NODE_BONUS / unit_of_steps(dual)
    n_open = 0
    for i in range(n_rows):
        n_open += column_of[i] == -1
        for k in range(n_columns):
            score[i, k] += bonus * dual.node_saving[i, k]
    for i in range(n_rows):
        if column_of[i] >= 0:
            take_pair(dual, score, i, column_of[i])
    for _ in range(n_open):
        best, row, column = 2.0 * TAKEN, np.int64(0), np.int64(0)
        for i in range(n_rows):
            if column_of[i] == -1:
                line = score[i]
                for k in range(n_columns):
                    if line[k] > best:
                        best, row, column = line[k], np.int64(i), np.int64(k)
        column_of[row] = column
        take_pair(dual, score, row, column)


@fragment
def take_pair(dual: DualPair, score: Floats, row: int, column: int) -> None:
    """The column is gone; pairs that would save an edge to this pair get heavier."""
    for i in range(dual.sizes[N_ROWS]):
        score[i, column] = TAKEN
    lines, bonus = dual.lines, EDGE_BONUS / unit_of_steps(dual)
    for a in range(lines[ROW_START, row], lines[ROW_START, row + 1]):
        arc = dual.arcs[BY_ROW, a]
        for slot in range(lines[DEGREE_OF, column]):
            image = lines[SLOT_START, slot] + column
            own = image if arc & 1 == 0 else dual.column_arcs[ARC_REVERSE, image]
            score[dual.arcs[HEAD, arc], dual.column_arcs[ARC_HEAD, image]] += bonus * dual.edge_saving[arc >> 1, own]


@fragment
def exchange_images(pair: Pair, dual: DualPair, maps: Integers, cost: int, good_enough: int) -> int:
    """Exchange two images of the refined map while that lowers the cost; returns the cost.

    As in local_search.py the map lists the free target nodes behind, so that an exchange may move a node to one. Only
    the edges of the two nodes are looked at, which is quicker where degrees are low.
    """
    n_query, n_target = pair.sizes[N_QUERY], pair.sizes[N_TARGET]
    before = cost + 1
    while good_enough < cost < before:
        before = cost
        for u in range(n_query):
            for w in range(u + 1, n_target):
                gain = price_exchange(pair, dual, maps, u, w)
                if gain < 0:
                    maps[REFINED, u], maps[REFINED, w] = maps[REFINED, w], maps[REFINED, u]
                    cost += gain
    return cost


@fragment
def price_exchange(pair: Pair, dual: DualPair, maps: Integers, u: int, w: int) -> int:
    """Change of the cost when u and w exchange their images."""
    n_query, nodes = pair.sizes[N_QUERY], pair.node_cost
    image_u, image_w = maps[REFINED, u], maps[REFINED, w]
    row_w = min(w, n_query)
    gain = nodes[u, image_w] - nodes[u, image_u] + nodes[row_w, image_u] - nodes[row_w, image_w]
    gain += price_move(pair, dual, maps, u, w, image_u, image_w)
    if w < n_query:
        gain += price_move(pair, dual, maps, w, u, image_w, image_u)
        code = pair.adjacency[QUERY, u, w]
        if code > 0:
            before, after = pair.adjacency[TARGET, image_u, image_w], pair.adjacency[TARGET, image_w, image_u]
            gain += pair.edge_cost[code, after] - pair.edge_cost[0, after]
            gain -= pair.edge_cost[code, before] - pair.edge_cost[0, before]
    return gain


@fragment
def price_move(pair: Pair, dual: DualPair, maps: Integers, u: int, w: int, image: int, new_image: int) -> int:
    """Change of the cost of the edges of u, except one to w, when its image changes."""
    gain = 0
    adjacency, cost = pair.adjacency, pair.edge_cost
    for a in range(dual.lines[ROW_START, u], dual.lines[ROW_START, u + 1]):
        t = dual.arcs[HEAD, dual.arcs[BY_ROW, a]]
        if t == w:
            continue
        before, after = adjacency[TARGET, image, maps[REFINED, t]], adjacency[TARGET, new_image, maps[REFINED, t]]
        if before != after:
            code = adjacency[QUERY, u, t]
            gain += cost[code, after] - cost[0, after] - cost[code, before] + cost[0, before]
    return gain
