"""Two graphs laid out for the dual bound: savings instead of costs, arcs instead of edges.

The most expensive edit path deletes everything in the query and inserts everything in the target. Mapping node i to k
saves p[i, k] = delete(i) + insert(k) - substitute(i, k). If an edge of i is also mapped to an edge of k, that saves
s = delete + insert - substitute of the two edges. The distance is the cost of this path minus the largest saving of any
map.

The nodes of the target are renumbered by falling degree and called columns. Slot number s of all columns that have
more than s edges then holds arcs ``slot_start[s] + column``: a sum over the arcs of each column is a few sums of
contiguous stretches, which the compiler turns into vector instructions.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import fragment, hot_part, part
from graphmetric.edit_distance._kernels.packing import EditCostTables, Integers, PackedProblem, integers
from graphmetric.edit_distance._kernels.workspace import (
    N_EDGES,
    N_NULL,
    N_QUERY,
    N_TARGET,
    QUERY,
    SWAPPED,
    TARGET,
    Pair,
)

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

# Fields of DualPair.sizes
N_ROWS, N_COLUMNS, N_ROW_EDGES, N_COLUMN_ARCS, N_SLOTS, EVERYTHING, MAY_DELETE, LARGEST_SAVING = range(8)
N_DUAL_SIZES = 8
# Fields of DualPair.arcs; edge e of the query has the arcs 2 * e and 2 * e + 1, BY_ROW lists all arcs row by row
TAIL, HEAD, BY_ROW = range(3)
# Fields of DualPair.lines, by row, by target node, by column or by slot
ROW_START, COLUMN_OF, NODE_OF, DEGREE_OF, SLOT_START = range(5)
# Fields of DualPair.column_arcs
ARC_TAIL, ARC_HEAD, ARC_REVERSE, ARC_CODE = range(4)

MIX_STEP, MIX_FACTOR = 0x1E3779B97F4A7C15, 0x3F58476D1CE4E5B9  # odd; products wrap around
N_COLOURS = 5  # rounds of refinement; in the first a colour is the code of the node
EXACT_BITS = 42  # bits of the most expensive path; doubles hold 53 exactly, and splits may be larger than savings


class DualPair(NamedTuple):
    """Savings of one pair: whole numbers, held as doubles, ``unit`` times those of the costs, rounded up."""

    sizes: Integers
    unit: Floats  # one power of two
    arcs: Integers  # (field, arc of the query)
    lines: Integers  # (field, position): where the arcs of a row start; columns, nodes and degrees; where slots start
    column_arcs: Integers  # (field, arc of the target)
    node_saving: Floats  # (row, column)
    edge_saving: Floats  # (edge of the query in its own direction, arc of the target)
    row_colours: Integers  # (round, row): equal where the surroundings of nodes agree up to as many edges away
    column_colours: Integers  # (round, column)


class DualSize(NamedTuple):
    """The largest pairs that fit."""

    rows: int
    columns: int
    row_edges: int
    column_edges: int


def allocate_dual_pair(size: DualSize) -> DualPair:
    """Make room."""

    arcs, column_arcs = 2 * size.row_edges, 2 * size.column_edges
    return DualPair(
        integers(N_DUAL_SIZES),
        np.ones(1),
        integers(3, arcs),
        integers(5, max(size.rows, size.columns) + 2),
        integers(4, column_arcs),
        np.zeros((size.rows, size.columns)),
        np.zeros((size.row_edges, column_arcs)),
        integers(N_COLOURS, size.rows),
        integers(N_COLOURS, size.columns),
    )


@part
def load_dual_pair(problem: PackedProblem, i: int, j: int, pair: Pair, dual: DualPair) -> None:
    """Lay out graph i of ``first`` and graph j of ``second``, which ``pair`` holds already."""
    costs = problem.costs
    sizes = dual.sizes
    sizes[N_ROWS] = pair.sizes[N_QUERY]
    sizes[N_COLUMNS] = pair.sizes[N_TARGET] - pair.sizes[N_NULL]
    sizes[N_ROW_EDGES] = pair.sizes[N_EDGES]
    list_row_arcs(pair, dual)
    sort_columns(pair, dual)
    list_column_arcs(pair, costs, dual)
    sum_everything(pair, problem, i, j, dual)
    place_savings(pair, problem, i, j, dual)
    refine_colours(pair, problem, i, j, dual)


@fragment
def list_row_arcs(pair: Pair, dual: DualPair) -> None:
    """List both directions of every edge of the query, and the arcs of each row."""
    n_rows, n_edges = dual.sizes[N_ROWS], dual.sizes[N_ROW_EDGES]
    start, arcs = dual.lines[ROW_START], dual.arcs
    for i in range(n_rows + 1):
        start[i] = 0
    for edge in range(n_edges):
        u, v = pair.edges[edge, 0], pair.edges[edge, 1]
        arcs[TAIL, 2 * edge], arcs[HEAD, 2 * edge] = u, v
        arcs[TAIL, 2 * edge + 1], arcs[HEAD, 2 * edge + 1] = v, u
        start[u] += 1
        start[v] += 1
    total = 0
    for i in range(n_rows + 1):
        total += start[i]
        start[i] = total  # the end of the row; filling from behind makes it the start
    for arc in range(2 * n_edges - 1, -1, -1):
        tail = arcs[TAIL, arc]
        start[tail] -= 1
        arcs[BY_ROW, start[tail]] = arc


@fragment
def sort_columns(pair: Pair, dual: DualPair) -> None:
    """Sort the target nodes by falling degree (insertion sort, quick for few nodes), and find where the slots start."""
    n_columns = dual.sizes[N_COLUMNS]
    nodes, degree, slot_start = dual.lines[NODE_OF], dual.lines[DEGREE_OF], dual.lines[SLOT_START]
    for v in range(n_columns):
        count = 0
        for w in range(n_columns):
            count += pair.adjacency[TARGET, v, w] > 0
        place = v
        while place > 0 and degree[place - 1] < count:
            degree[place] = degree[place - 1]
            nodes[place] = nodes[place - 1]
            place -= 1
        degree[place] = count
        nodes[place] = v
    n_slots = degree[0] if n_columns > 0 else 0
    dual.sizes[N_SLOTS] = n_slots
    slot_start[0] = 0
    for slot in range(n_slots):
        reaching = 0
        while reaching < n_columns and degree[reaching] > slot:
            reaching += 1
        slot_start[slot + 1] = slot_start[slot] + reaching
    dual.sizes[N_COLUMN_ARCS] = slot_start[n_slots]
    for k in range(n_columns):
        dual.lines[COLUMN_OF, nodes[k]] = k


@fragment
def list_column_arcs(pair: Pair, costs: EditCostTables, dual: DualPair) -> None:
    """List every arc of the target, and the arc in the other direction."""
    n_columns = dual.sizes[N_COLUMNS]
    arcs = dual.column_arcs
    for k in range(n_columns):
        slot = 0
        for other in range(n_columns):
            code = pair.adjacency[TARGET, dual.lines[NODE_OF, k], dual.lines[NODE_OF, other]]
            if code > 0:
                arc = dual.lines[SLOT_START, slot] + k
                arcs[ARC_TAIL, arc], arcs[ARC_HEAD, arc], arcs[ARC_CODE, arc] = k, other, code
                slot += 1
    for arc in range(dual.sizes[N_COLUMN_ARCS]):
        tail, head = arcs[ARC_TAIL, arc], arcs[ARC_HEAD, arc]
        for slot in range(dual.lines[DEGREE_OF, head]):
            back = dual.lines[SLOT_START, slot] + head
            if arcs[ARC_HEAD, back] == tail:
                arcs[ARC_REVERSE, arc] = back


@fragment
def sum_everything(pair: Pair, problem: PackedProblem, i: int, j: int, dual: DualPair) -> None:
    """Sum the cost of deleting the first graph and inserting the second, and choose a unit that stays exact."""
    first, second, costs = problem
    total = 0
    for u in range(first.node_start[i], first.node_start[i + 1]):
        total += costs.node_delete[first.node_code[u]]
    for v in range(second.node_start[j], second.node_start[j + 1]):
        total += costs.node_insert[second.node_code[v]]
    for edge in range(first.edge_start[i], first.edge_start[i + 1]):
        total += costs.edge_cost[0, first.edge_code[edge], 0]
    for edge in range(second.edge_start[j], second.edge_start[j + 1]):
        total += costs.edge_cost[0, 0, second.edge_code[edge]]
    bits, left = 0, total
    while left > 0:
        bits += 1
        left >>= 1
    dual.sizes[EVERYTHING] = total
    # substitutions that cost more than everything count as forbidden, so no saving is below minus the total
    dual.unit[0] = 2.0 ** min(20, EXACT_BITS - bits)


@fragment
def place_savings(pair: Pair, problem: PackedProblem, i: int, j: int, dual: DualPair) -> None:
    """Fill in the savings of node pairs and of arc pairs."""
    first, second, costs = problem
    sizes, swapped = dual.sizes, pair.sizes[SWAPPED]
    unit, lowest = dual.unit[0], -sizes[EVERYTHING] - 1
    sizes[MAY_DELETE] = 0
    for row in range(sizes[N_ROWS]):
        for column in range(sizes[N_COLUMNS]):
            a, b = (dual.lines[NODE_OF, column], row) if swapped == 1 else (row, dual.lines[NODE_OF, column])
            code_a = first.node_code[first.node_start[i] + a]
            code_b = second.node_code[second.node_start[j] + b]
            saving = costs.node_delete[code_a] + costs.node_insert[code_b] - costs.node_substitute[code_a, code_b]
            if saving < 0:
                sizes[MAY_DELETE] = 1
            dual.node_saving[row, column] = np.ceil(max(saving, lowest) * unit)
    largest = 0
    cost = pair.edge_cost
    for edge in range(sizes[N_ROW_EDGES]):
        code = pair.edges[edge, 2]
        for arc in range(sizes[N_COLUMN_ARCS]):
            image = dual.column_arcs[ARC_CODE, arc]
            saving = cost[code, 0] + cost[0, image] - cost[code, image]
            largest = max(largest, saving)
            dual.edge_saving[edge, arc] = np.ceil(saving * unit)
    sizes[LARGEST_SAVING] = largest


@fragment
def refine_colours(pair: Pair, problem: PackedProblem, i: int, j: int, dual: DualPair) -> None:
    """Colour nodes by their codes, then round by round by the colours of their neighbours (Weisfeiler and Leman).

    Sums of mixed numbers stand for multisets. Where two of them agree by chance, a map starts worse, nothing else.
    """
    first, second, _ = problem
    sizes, rows, columns = dual.sizes, dual.row_colours, dual.column_colours
    swapped = pair.sizes[SWAPPED]
    query_start, target_start = second.node_start[j], first.node_start[i]
    for row in range(sizes[N_ROWS]):
        rows[0, row] = second.node_code[query_start + row] if swapped == 1 else first.node_code[target_start + row]
    for column in range(sizes[N_COLUMNS]):
        node = dual.lines[NODE_OF, column]
        columns[0, column] = (
            first.node_code[target_start + node] if swapped == 1 else second.node_code[query_start + node]
        )
    for depth in range(1, N_COLOURS):
        for row in range(sizes[N_ROWS]):
            rows[depth, row] = mixed(rows[depth - 1, row], 1)
        for column in range(sizes[N_COLUMNS]):
            columns[depth, column] = mixed(columns[depth - 1, column], 1)
        for arc in range(2 * sizes[N_ROW_EDGES]):
            tail, head = dual.arcs[TAIL, arc], dual.arcs[HEAD, arc]
            rows[depth, tail] += mixed(rows[depth - 1, head], 2 + pair.adjacency[QUERY, tail, head])
        for arc in range(sizes[N_COLUMN_ARCS]):
            tail, head = dual.column_arcs[ARC_TAIL, arc], dual.column_arcs[ARC_HEAD, arc]
            columns[depth, tail] += mixed(columns[depth - 1, head], 2 + dual.column_arcs[ARC_CODE, arc])


@hot_part
def mixed(colour: int, by: int) -> int:
    """A number that looks random, the same for the same two numbers."""
    word = (colour + by * MIX_STEP) * MIX_FACTOR
    word ^= word >> 29
    return word * MIX_FACTOR
