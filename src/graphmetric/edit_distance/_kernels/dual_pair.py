"""Two graphs laid out for the dual bound: savings instead of costs, arcs instead of edges.

The most expensive edit path deletes everything in the query and inserts everything in the target. Mapping node i to k
saves p[i, k] = delete(i) + insert(k) - substitute(i, k). If an edge of i is also mapped to an edge of k, that saves
s = delete + insert - substitute of the two edges. The distance is the cost of this path minus the largest saving of any
map.

The nodes of the target are renumbered by falling degree and called columns. Slot number s of all columns that have
more than s edges then holds arcs ``slot_start[s] + column``: a sum over the arcs of each column is a few sums of
contiguous stretches, which the compiler turns into vector instructions.

The last part finds which nodes of a graph are alike: an automorphism, which keeps all nodes and edges with what they
carry, takes one to the other. What has been proven of one of them then holds for all.
"""

from typing import Any, NamedTuple

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
SYMMETRIC_DEPTHS = 6  # of a search for which orbits are found; deeper down only twins are known to be alike
MOST_CHECKS = 200_000  # images of nodes that are tried to find the orbits of one graph, and at most
CHECKS_PER_PAIR = 50  # this many for each pair of its nodes
# Values of Orbits.known
UNKNOWN, ONLY_TWINS, BEYOND_TWINS = range(3)
# Fields of Orbits.lines: by position in the order of nodes, then by node
PLACED, BEFORE, CHOICE, NODE_IMAGE, NODE_PREIMAGE, HELD = range(6)
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


class Orbits(NamedTuple):
    """Which nodes are alike, by automorphisms that hold the nodes fixed on which a search has decided."""

    known: Integers  # (query or target, depth)
    classes: Integers  # (query or target, depth, node): a node that stands for its orbit
    lines: Integers  # (field, position or node): scratch
    checks: Integers  # how many images may still be tried


def allocate_orbits(size: DualSize) -> Orbits:
    """Make room."""
    widest = max(size.rows, size.columns)
    depths = min(SYMMETRIC_DEPTHS, size.rows + 1)
    return Orbits(integers(2, depths), integers(2, depths, widest), integers(6, widest), integers(1))


@part
def load_dual_pair(problem: PackedProblem, i: int, j: int, pair: Pair, dual: DualPair) -> None:
    """Lay out graph i of ``first`` and graph j of ``second``, which ``pair`` holds already."""
    costs = problem.costs
    sizes = dual.sizes
    sizes[N_ROWS] = pair.sizes[N_QUERY]
    sizes[N_COLUMNS] = pair.sizes[N_TARGET] - pair.sizes[N_NULL]
    sizes[N_ROW_EDGES] = pair.sizes[N_EDGES]
    list_row_arcs(pair.edges, dual)
    count_degrees(pair, dual)
    sort_columns(dual)
    list_column_arcs(pair, costs, dual)
    sum_everything(pair, problem, i, j, dual)
    place_savings(pair, problem, i, j, dual)
    refine_colours(pair, problem, i, j, dual)


@fragment
def list_row_arcs(ends: NDArray[Any], dual: DualPair) -> None:
    """List both directions of every edge of the query, whose ends are given, and the arcs of each row."""
    n_rows, n_edges = dual.sizes[N_ROWS], dual.sizes[N_ROW_EDGES]
    start, arcs = dual.lines[ROW_START], dual.arcs
    for i in range(n_rows + 1):
        start[i] = 0
    for edge in range(n_edges):
        u, v = ends[edge, 0], ends[edge, 1]
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
def count_degrees(pair: Pair, dual: DualPair) -> None:
    """Count the edges of each target node, where :func:`sort_columns` looks for them."""
    n_columns = dual.sizes[N_COLUMNS]
    for v in range(n_columns):
        count = 0
        for w in range(n_columns):
            count += pair.adjacency[TARGET, v, w] > 0
        dual.lines[COLUMN_OF, v] = count


@part
def sort_columns(dual: DualPair) -> None:
    """Sort the target nodes by falling degree (insertion sort, quick for few nodes), and find where the slots start.

    The degrees are in COLUMN_OF, which then gets the columns.
    """
    n_columns = dual.sizes[N_COLUMNS]
    nodes, degree, slot_start = dual.lines[NODE_OF], dual.lines[DEGREE_OF], dual.lines[SLOT_START]
    for v in range(n_columns):
        count = dual.lines[COLUMN_OF, v]
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


@part
def find_orbits(pair: Pair, dual: DualPair, orbits: Orbits, side: int, depth: int) -> None:
    """Find which nodes of the query or of the target are alike. Nodes marked as HELD stay where they are."""
    n_nodes = dual.sizes[N_ROWS] if side == QUERY else dual.sizes[N_COLUMNS]
    classes, held, twin = orbits.classes[side, depth], orbits.lines[HELD], pair.twin[side]
    for u in range(n_nodes):
        classes[u] = u
        for w in range(u):
            if classes[w] == w and twin[w] == twin[u] and held[u] == 0 and held[w] == 0:
                classes[u] = w
                break
    orbits.known[side, depth] = ONLY_TWINS
    if depth > 0 and orbits.known[side, depth - 1] == ONLY_TWINS:
        return
    orbits.checks[0] = min(MOST_CHECKS, CHECKS_PER_PAIR * n_nodes * n_nodes)
    for v in range(n_nodes):
        for u in range(v):
            if classes[u] == u and classes[v] == v and held[u] == 0 and held[v] == 0 and orbits.checks[0] > 0:
                if depth > 0 and orbits.classes[side, depth - 1, u] != orbits.classes[side, depth - 1, v]:
                    continue
                if has_automorphism(pair, dual, orbits, side, n_nodes, u, v):
                    orbits.known[side, depth] = BEYOND_TWINS
                    join_orbits(orbits, classes, n_nodes)


@fragment
def join_orbits(orbits: Orbits, classes: Integers, n_nodes: int) -> None:
    """Let one node stand for the orbit of every node and that of its image."""
    for u in range(n_nodes):
        one, other = classes[u], classes[orbits.lines[NODE_IMAGE, u]]
        if one != other:
            for w in range(n_nodes):
                if classes[w] == max(one, other):
                    classes[w] = min(one, other)


@part
def has_automorphism(pair: Pair, dual: DualPair, orbits: Orbits, side: int, n_nodes: int, u: int, v: int) -> bool:
    """Look for an automorphism that takes u to v and holds HELD nodes; it is left in NODE_IMAGE.

    Each node takes an image that has the same colour and the same edges to the images before it. Nodes come in an order
    in which neighbours follow each other, and remain where they are if they can, so that few images have to be tried.
    """
    lines = orbits.lines
    placed, choice, image, preimage = lines[PLACED], lines[CHOICE], lines[NODE_IMAGE], lines[NODE_PREIMAGE]
    if colour_of(dual, side, u) != colour_of(dual, side, v):
        return False
    first = order_nodes(pair, orbits, side, n_nodes, u)
    orbits.checks[0] -= n_nodes * n_nodes // 8  # the order takes about as long as so many images
    place = first
    choice[first] = -1
    while first <= place < n_nodes and orbits.checks[0] > 0:
        node = placed[place]
        if image[node] >= 0:
            preimage[image[node]] = -1
            image[node] = -1
        choice[place] += 1
        if choice[place] == n_nodes + 2 or (place == first and choice[place] > 0):
            place -= 1
            continue
        orbits.checks[0] -= 1
        if place == first:
            aim = v
        elif choice[place] < 2:
            aim = node if choice[place] == 0 else preimage[node]
        else:
            aim = choice[place] - 2
        if aim >= 0 and preimage[aim] == -1 and fits_before(pair, dual, orbits, side, place, aim):
            image[node], preimage[aim] = aim, node
            place += 1
            if place < n_nodes:
                choice[place] = -1
    return place == n_nodes


@fragment
def order_nodes(pair: Pair, orbits: Orbits, side: int, n_nodes: int, u: int) -> int:
    """Order the nodes: held ones, with themselves as images; u; those around it; then the rest. Returns the place of u.

    BEFORE is the place of a neighbour that comes earlier, or -1.
    """
    lines = orbits.lines
    placed, before, image, preimage = lines[PLACED], lines[BEFORE], lines[NODE_IMAGE], lines[NODE_PREIMAGE]
    n_placed = 0
    for w in range(n_nodes):
        image[w] = -1
        preimage[w] = -1
        lines[CHOICE, w] = 0  # 1 once it has a place
    for w in range(n_nodes):
        if lines[HELD, w] == 1:
            image[w], preimage[w], lines[CHOICE, w] = w, w, 1
            placed[n_placed], before[n_placed] = w, -1
            n_placed += 1
    first, seen = n_placed, n_placed
    placed[first], before[first], lines[CHOICE, u] = u, -1, 1
    n_placed += 1
    for start in range(n_nodes + 1):
        while seen < n_placed:
            for w in range(n_nodes):
                if lines[CHOICE, w] == 0 and pair.adjacency[side, placed[seen], w] > 0:
                    placed[n_placed], before[n_placed], lines[CHOICE, w] = w, seen, 1
                    n_placed += 1
            seen += 1
        if start < n_nodes and lines[CHOICE, start] == 0:
            placed[n_placed], before[n_placed], lines[CHOICE, start] = start, -1, 1
            n_placed += 1
    return first


@fragment
def fits_before(pair: Pair, dual: DualPair, orbits: Orbits, side: int, place: int, aim: int) -> bool:
    """Whether the node at a place has the same colour as ``aim``, and the same edges to the nodes before it.

    The code of an edge says what it is in the other direction.
    """
    placed, image, adjacency = orbits.lines[PLACED], orbits.lines[NODE_IMAGE], pair.adjacency[side]
    node, near = placed[place], orbits.lines[BEFORE, place]
    if near >= 0 and adjacency[node, placed[near]] != adjacency[aim, image[placed[near]]]:
        return False
    if colour_of(dual, side, node) != colour_of(dual, side, aim):
        return False
    if code_of(dual, side, node) != code_of(dual, side, aim):
        return False
    earlier = 0
    while earlier < place and adjacency[node, placed[earlier]] == adjacency[aim, image[placed[earlier]]]:
        earlier += 1
    return earlier == place


@hot_part
def colour_of(dual: DualPair, side: int, node: int) -> int:
    """The last colour of a node of the query or of the target."""
    if side == QUERY:
        return dual.row_colours[N_COLOURS - 1, node]
    return dual.column_colours[N_COLOURS - 1, dual.lines[COLUMN_OF, node]]


@hot_part
def code_of(dual: DualPair, side: int, node: int) -> int:
    """The code of a node of the query or of the target: its first colour."""
    return dual.row_colours[0, node] if side == QUERY else dual.column_colours[0, dual.lines[COLUMN_OF, node]]
