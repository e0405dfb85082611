r"""The matching distance of many pairs of graphs, and lower bounds of it from one graph to many.

*Orientation.* A pair is always solved in the same orientation, whichever graph was named first: the graph with fewer
nodes gives the rows, and of two graphs of one size the one whose states come first in lexicographic order. The distance
is therefore symmetric to the last bit. Graphs with identical states are at distance exactly 0.

*Assignment.* Every row gets a column of its own and some columns stay free. Distances count as negative weights of
:mod:`graphmetric._foundation.assignment`, and the norm of a node that stays alone as the price of its column.

*Bounds along axes.* Along an axis a the states of a graph are numbers, and the cheapest matching of numbers is the
sorted one; call its cost :math:`w_a`. For the best matching of the states themselves
:math:`\sum_i |x_{ia}| \ge w_a`, with x_i the differences of matched states, and so, by Minkowski's inequality over
orthonormal axes,

.. math:: g = \sum_i \lVert x_i \rVert \ge \sqrt{\textstyle\sum_a (\sum_i |x_{ia}|)^2}
          \ge \sqrt{\textstyle\sum_a w_a^2}.

On the other axes :math:`w_a \ge \delta_a`, the difference of the sums of the states. Together these differences are
the difference of the pooled vectors: :math:`g^2 \ge \lVert \delta \rVert^2 + \sum_a (w_a^2 - \delta_a^2)`, with a
over the sorted axes. The smaller graph is padded with zeros, as in the distance.

*Stars.* A node may be matched together with the edges at it, its star. Every edge has two *halves*, one for either
end, numbered by twice the number of the edge, plus one for the second end. What two stars cost is a small assignment
of its own, and there is a shorter way where one of them has two halves at most, as most atoms have.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.assignment import (
    COLUMN_DUAL,
    COLUMN_MATCH,
    FREE,
    ROW_MATCH,
    AssignmentWork,
    allocate_assignment,
    assign_rows,
)
from graphmetric._foundation.compilation import entry, hot_part, part

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

NOBODY = -1
"""In place of a row: the zero vector that pads the smaller graph."""


class NodeStates(NamedTuple):
    """Graph g has the rows start[g] .. start[g] + size[g] - 1, of which the columns first .. last - 1 matter."""

    rows: NDArray[Any]
    start: Integers
    size: Integers
    first: int
    last: int


class Stars(NamedTuple):
    """Graphs whose nodes are matched with the edges at them. Graph g has num_edges[g] edges from first_edge[g] on."""

    nodes: NodeStates
    """Behind the columns of a node itself are two equal pieces for its edges: as their near end, and as the far one."""
    ends: NDArray[np.int32]
    """(edges, 2): the numbers of its nodes within their graph."""
    codes: NDArray[np.int32]
    """(edges, 2, 2): the labels of an edge as either end sees it."""
    weights: NDArray[Any]
    """(edges, 2, 2): the weights likewise."""
    first_edge: Integers
    num_edges: Integers
    per_weight: NDArray[Any]
    """(2, width): what weights there and back add to the state of a half."""
    price: float
    """What another label costs."""


class StarRoom(NamedTuple):
    """Room for the halves of a pair of graphs; the second index is the side."""

    matching: AssignmentWork
    star: AssignmentWork
    degree: Integers  # (node, side)
    start: Integers  # (node, side): where the halves of a node begin, and where the last ones end
    halves: Integers  # (place, side): halves in the order of their nodes
    share: Floats  # (place, side): how much a half counts
    alone: Floats  # (place, side): what a half pays without a partner
    states: NDArray[Any]  # (place, side, column)
    apart: Floats  # (place, place): what two halves pay


class StarMatches(NamedTuple):
    """Which nodes and which halves every pair matches, and how much of labels changes."""

    nodes: Integers  # (slots, 2): rows of the states, NOBODY for padding
    node_start: Integers  # (pairs): the first slot of each pair
    halves: Integers  # (slots, 2): halves, NOBODY for none; slots that a pair does not need stay as they are
    half_start: Integers
    changes: Floats  # (pairs)


MOST_EDGES = 8
"""Up to this many edges of a node count in full."""
TOO_MANY_EDGES = 12
"""From this many on no edge of a node counts, and in between all count in part: stars stay small."""


def allocate_stars(nodes: int, edges: int, width: int, dtype: Any) -> StarRoom:
    """Make room for graphs of up to so many nodes and edges, and for states of halves of this width and type."""
    halves = min(2 * edges, (TOO_MANY_EDGES - 1) * nodes)
    return StarRoom(
        allocate_assignment(nodes),
        allocate_assignment(TOO_MANY_EDGES),
        np.zeros((nodes + 1, 2), dtype=np.int64),
        np.zeros((nodes + 1, 2), dtype=np.int64),
        np.zeros((halves, 2), dtype=np.int64),
        np.zeros((halves, 2)),
        np.zeros((halves, 2)),
        np.zeros((halves, 2, width), dtype=dtype),
        np.zeros((halves, halves)),
    )


@entry
def measure_pairs(left: NodeStates, right: NodeStates, pairs: Integers, work: AssignmentWork, out: Floats) -> None:
    """Add the distance of each pair of graphs (left, right) to ``out``."""
    for p in range(len(pairs)):
        a, b = pairs[p, 0], pairs[p, 1]
        order = compare_graphs(left, a, right, b)
        if order < 0:
            out[p] += solve_pair(left, a, right, b, work)
        elif order > 0:
            out[p] += solve_pair(right, b, left, a, work)


@entry
def match_pairs(
    left: NodeStates, right: NodeStates, pairs: Integers, slot_start: Integers, work: AssignmentWork, slots: Integers
) -> None:
    """Which rows each pair matches: (left row, right row) from ``slots[slot_start[p]]`` on, NOBODY for padding.

    A pair fills as many slots as its larger graph has nodes, in the order of the orientation it was solved in.
    """
    for p in range(len(pairs)):
        a, b = pairs[p, 0], pairs[p, 1]
        order = compare_graphs(left, a, right, b)
        if order == 0:
            for k in range(left.size[a]):
                slots[slot_start[p] + k, 0] = left.start[a] + k
                slots[slot_start[p] + k, 1] = right.start[b] + k
        elif order < 0:
            solve_pair(left, a, right, b, work)
            list_matches(left, a, right, b, work, slots[slot_start[p] :])
        else:
            solve_pair(right, b, left, a, work)
            list_matches(right, b, left, a, work, slots[slot_start[p] :, ::-1])


@part
def compare_graphs(left: NodeStates, a: int, right: NodeStates, b: int) -> int:
    """Negative if graph a comes before graph b, positive if after, 0 if their states are identical."""
    if left.size[a] != right.size[b]:
        return -1 if left.size[a] < right.size[b] else 1
    return compare_columns(left, a, right, b, left.first, left.last)


@part
def compare_columns(left: NodeStates, a: int, right: NodeStates, b: int, first: int, last: int) -> int:
    """The same for two graphs of one size by some columns of their states."""
    for k in range(left.size[a]):
        i, j = left.start[a] + k, right.start[b] + k
        for c in range(first, last):
            if left.rows[i, c] != right.rows[j, c]:
                return -1 if left.rows[i, c] < right.rows[j, c] else 1
    return 0


@part
def solve_pair(few: NodeStates, a: int, many: NodeStates, b: int, work: AssignmentWork) -> float:
    """The distance; ``work`` holds the matching afterwards. States that are not finite give NaN and any matching."""
    return assign_filled(few.size[a], many.size[b], fill_costs(few, a, many, b, work), work)


@part
def assign_filled(n: int, m: int, sum_of_weights: float, work: AssignmentWork) -> float:
    """Match n rows with columns of the m >= n, by weights and prices that are filled in; returns the cost."""
    if np.isfinite(sum_of_weights):
        assign_rows(n, m, work)
    else:
        match_in_order(n, m, work)  # shortest paths would never end
    total = 0.0
    for i in range(n):
        total -= work.weight[i, work.places[ROW_MATCH, i]]
    if n < m:
        for j in range(m):
            if work.places[COLUMN_MATCH, j] == FREE:
                total -= work.values[COLUMN_DUAL, j]
    return total if np.isfinite(total) else np.nan


@part
def match_in_order(n: int, m: int, work: AssignmentWork) -> None:
    """Row i gets column i."""
    for j in range(m):
        work.places[COLUMN_MATCH, j] = j if j < n else FREE
    for i in range(n):
        work.places[ROW_MATCH, i] = i


@part
def fill_costs(few: NodeStates, a: int, many: NodeStates, b: int, work: AssignmentWork) -> float:
    """Weights of all pairs of rows and, where nodes stay alone, prices; returns the sum, finite if all are."""
    n, m = few.size[a], many.size[b]
    total = 0.0
    for i in range(n):
        for j in range(m):
            work.weight[i, j] = -row_distance(few, few.start[a] + i, many, many.start[b] + j)
            total += work.weight[i, j]
    for j in range(m):
        work.values[COLUMN_DUAL, j] = -row_norm(many, many.start[b] + j) if n < m else 0.0
        total += work.values[COLUMN_DUAL, j]
    return total


@part
def list_matches(few: NodeStates, a: int, many: NodeStates, b: int, work: AssignmentWork, slots: Integers) -> None:
    """Rows of ``few`` with their partners, then the rows that stay alone."""
    n = few.size[a]
    for i in range(n):
        slots[i, 0] = few.start[a] + i
        slots[i, 1] = many.start[b] + work.places[ROW_MATCH, i]
    for j in range(many.size[b]):
        if work.places[COLUMN_MATCH, j] == FREE:
            slots[n, 0] = NOBODY
            slots[n, 1] = many.start[b] + j
            n += 1


@part
def row_distance(left: NodeStates, i: int, right: NodeStates, j: int) -> float:
    """The Euclidean distance of two rows."""
    a, b = left.rows[i, left.first : left.last], right.rows[j, right.first : right.last]
    return np.sqrt(np.float64(square_difference(a, b)))


@hot_part
def square_difference(a: NDArray[Any], b: NDArray[Any]) -> float:
    """The squared Euclidean distance, in the precision of the vectors.

    Four running sums, which do not wait for each other, make it twice as fast as one.
    """
    s0 = s1 = s2 = s3 = a.dtype.type(0)
    fours = len(a) // 4
    for k in range(fours):
        c = 4 * k
        d0, d1, d2, d3 = a[c] - b[c], a[c + 1] - b[c + 1], a[c + 2] - b[c + 2], a[c + 3] - b[c + 3]
        s0, s1, s2, s3 = s0 + d0 * d0, s1 + d1 * d1, s2 + d2 * d2, s3 + d3 * d3
    for c in range(4 * fours, len(a)):
        s0 += (a[c] - b[c]) * (a[c] - b[c])
    return (s0 + s1) + (s2 + s3)


@part
def row_norm(states: NodeStates, i: int) -> float:
    """The Euclidean norm of a row."""
    total = 0.0
    for c in range(states.first, states.last):
        total += np.float64(states.rows[i, c]) ** 2
    return np.sqrt(total)


@entry
def measure_stars(left: Stars, right: Stars, pairs: Integers, room: StarRoom, out: Floats) -> None:
    """The distance of each pair of graphs (left, right)."""
    for p in range(len(pairs)):
        a, b = pairs[p, 0], pairs[p, 1]
        order = compare_stars(left, a, right, b)
        out[p] = 0.0
        if order < 0:
            out[p] = solve_stars(left, a, right, b, room)
        elif order > 0:
            out[p] = solve_stars(right, b, left, a, room)


@entry
def match_stars(left: Stars, right: Stars, pairs: Integers, room: StarRoom, matches: StarMatches) -> None:
    """Fill in ``matches``, in the order of the orientation in which each pair is solved."""
    for p in range(len(pairs)):
        a, b = pairs[p, 0], pairs[p, 1]
        nodes, halves = matches.nodes[matches.node_start[p] :], matches.halves[matches.half_start[p] :]
        if compare_stars(left, a, right, b) <= 0:
            solve_stars(left, a, right, b, room)
            list_matches(left.nodes, a, right.nodes, b, room.matching, nodes)
            matches.changes[p] = list_halves(left, a, right, b, room, halves)
        else:
            solve_stars(right, b, left, a, room)
            list_matches(right.nodes, b, left.nodes, a, room.matching, nodes[:, ::-1])
            matches.changes[p] = list_halves(right, b, left, a, room, halves[:, ::-1])


@part
def compare_stars(left: Stars, a: int, right: Stars, b: int) -> int:
    """Negative if graph a comes before graph b, positive if after, 0 if states and edges are identical."""
    order = compare_graphs(left.nodes, a, right.nodes, b)
    if order != 0:
        return order
    if left.num_edges[a] != right.num_edges[b]:
        return -1 if left.num_edges[a] < right.num_edges[b] else 1
    for k in range(left.num_edges[a]):
        e, f = left.first_edge[a] + k, right.first_edge[b] + k
        for view in range(2):
            if left.ends[e, view] != right.ends[f, view]:
                return -1 if left.ends[e, view] < right.ends[f, view] else 1
            for way in range(2):
                if left.codes[e, view, way] != right.codes[f, view, way]:
                    return -1 if left.codes[e, view, way] < right.codes[f, view, way] else 1
                if left.weights[e, view, way] != right.weights[f, view, way]:
                    return -1 if left.weights[e, view, way] < right.weights[f, view, way] else 1
    return compare_columns(left.nodes, a, right.nodes, b, left.nodes.last, left.nodes.rows.shape[1])


@part
def solve_stars(few: Stars, a: int, many: Stars, b: int, room: StarRoom) -> float:
    """The distance; ``room`` holds the matching of the nodes afterwards, and what halves pay."""
    n, m = few.nodes.size[a], many.nodes.size[b]
    lay_out_halves(few, a, 0, room)
    lay_out_halves(many, b, 1, room)
    total = fill_costs(few.nodes, a, many.nodes, b, room.matching)
    for x in range(room.start[n, 0]):
        for y in range(room.start[m, 1]):
            gap = np.sqrt(np.float64(square_difference(room.states[x, 0], room.states[y, 1])))
            room.apart[x, y] = gap + few.price * change_label(few, many, x, y, room)
    weight, price = room.matching.weight, room.matching.values[COLUMN_DUAL]
    for i in range(n):
        for j in range(m):
            cost = compare_two_stars(i, j, room)
            weight[i, j] -= cost
            total -= cost
    if n < m:
        for j in range(m):
            price[j] -= sum_alone(j, 1, room)
    return assign_filled(n, m, total, room.matching)


@part
def lay_out_halves(graphs: Stars, g: int, side: int, room: StarRoom) -> None:
    """Sort the halves of a graph by their nodes, leave out those of nodes with too many, and make their states."""
    n, first, degree, start = graphs.nodes.size[g], graphs.first_edge[g], room.degree, room.start
    for i in range(n):
        degree[i, side] = 0
    for edge in range(first, first + graphs.num_edges[g]):
        for view in range(2):
            degree[graphs.ends[edge, view], side] += 1
    start[0, side] = 0
    for i in range(n):
        start[i + 1, side] = start[i, side] + (degree[i, side] if degree[i, side] < TOO_MANY_EDGES else 0)
    for edge in range(first + graphs.num_edges[g] - 1, first - 1, -1):
        for view in range(1, -1, -1):
            i = graphs.ends[edge, view]
            degree[i, side] -= 1
            if start[i, side] + degree[i, side] < start[i + 1, side]:
                make_half(graphs, g, edge, view, start[i, side] + degree[i, side], side, room)


@part
def make_half(graphs: Stars, g: int, edge: int, view: int, x: int, side: int, room: StarRoom) -> None:
    """Put a half at place x."""
    i, j = graphs.ends[edge, view], graphs.ends[edge, 1 - view]
    degree = room.start[i + 1, side] - room.start[i, side]
    share = min(1.0, (TOO_MANY_EDGES - degree) / (TOO_MANY_EDGES - MOST_EDGES))
    rows, width, origin = graphs.nodes.rows, graphs.per_weight.shape[1], graphs.nodes.start[g]
    near = rows[origin + i, graphs.nodes.last : graphs.nodes.last + width]
    far = rows[origin + j, graphs.nodes.last + width :]
    there, back = graphs.weights[edge, view, 0], graphs.weights[edge, view, 1]
    square = 0.0
    for c in range(width):
        value = near[c] + far[c] + there * graphs.per_weight[0, c] + back * graphs.per_weight[1, c]
        room.states[x, side, c] = share * value
        square += np.float64(room.states[x, side, c]) ** 2
    room.halves[x, side] = 2 * edge + view
    room.share[x, side] = share
    room.alone[x, side] = np.sqrt(square) + graphs.price * share


@part
def change_label(few: Stars, many: Stars, x: int, y: int, room: StarRoom) -> float:
    """How much of a label changes between two halves: their vectors of labels in the maximum norm."""
    e, u = room.halves[x, 0] // 2, room.halves[x, 0] % 2
    f, v = room.halves[y, 1] // 2, room.halves[y, 1] % 2
    if few.codes[e, u, 0] == many.codes[f, v, 0] and few.codes[e, u, 1] == many.codes[f, v, 1]:
        return abs(room.share[x, 0] - room.share[y, 1])
    return max(room.share[x, 0], room.share[y, 1])


@part
def compare_two_stars(i: int, j: int, room: StarRoom) -> float:
    """What it costs to turn the halves of node i of the first graph into those of node j of the second."""
    p, q = room.start[i + 1, 0] - room.start[i, 0], room.start[j + 1, 1] - room.start[j, 1]
    if min(p, q) > 2:
        return assign_halves(i, j, room)
    few, many = (0, 1) if p <= q else (1, 0)
    x0, y0 = (room.start[i, 0], room.start[j, 1]) if p <= q else (room.start[j, 1], room.start[i, 0])
    total = sum_alone(j, 1, room) if p <= q else sum_alone(i, 0, room)
    p, q = min(p, q), max(p, q)
    if p == 0:
        return total
    best = np.inf
    for y in range(y0, y0 + q):
        gain = pay(x0, y, few, room) - room.alone[y, many]
        if p == 1:
            best = min(best, gain)
            continue
        for z in range(y0, y0 + q):
            if z != y:
                best = min(best, gain + pay(x0 + 1, z, few, room) - room.alone[z, many])
    return total + best


@part
def pay(x: int, y: int, side: int, room: StarRoom) -> float:
    """What half x of this side and half y of the other one pay."""
    return room.apart[x, y] if side == 0 else room.apart[y, x]


@part
def sum_alone(node: int, side: int, room: StarRoom) -> float:
    """What the halves of a node pay without partners."""
    total = 0.0
    for x in range(room.start[node, side], room.start[node + 1, side]):
        total += room.alone[x, side]
    return total


@part
def assign_halves(i: int, j: int, room: StarRoom) -> float:
    """The same cost as an assignment, which is in ``room.star`` afterwards; its rows are those of the smaller star."""
    p, q = room.start[i + 1, 0] - room.start[i, 0], room.start[j + 1, 1] - room.start[j, 1]
    side, x0, y0 = (0, room.start[i, 0], room.start[j, 1]) if p <= q else (1, room.start[j, 1], room.start[i, 0])
    p, q = min(p, q), max(p, q)
    total = 0.0
    for y in range(q):
        room.star.values[COLUMN_DUAL, y] = -room.alone[y0 + y, 1 - side] if p < q else 0.0
        for x in range(p):
            room.star.weight[x, y] = -pay(x0 + x, y0 + y, side, room)
            total += room.star.weight[x, y]
    return assign_filled(p, q, total, room.star)


@part
def list_halves(few: Stars, a: int, many: Stars, b: int, room: StarRoom, slots: Integers) -> float:
    """Halves of matched nodes with their partners, and those that have none; returns how much of labels changes."""
    filled, changes = 0, 0.0
    for j in range(many.nodes.size[b]):
        i = room.matching.places[COLUMN_MATCH, j]
        second = room.start[j, 1]
        q = room.start[j + 1, 1] - second
        first = room.start[i, 0] if i != FREE else 0
        p = room.start[i + 1, 0] - first if i != FREE else 0
        if i != FREE:
            assign_halves(i, j, room)
        for k in range(max(p, q)):  # the columns of the assignment
            row = room.star.places[COLUMN_MATCH, k] if min(p, q) > 0 else FREE
            x, y = (row, k) if p <= q else (k, row)
            slots[filled, 0] = NOBODY if x == FREE else room.halves[first + x, 0]
            slots[filled, 1] = NOBODY if y == FREE else room.halves[second + y, 1]
            filled += 1
            if x == FREE:
                changes += room.share[second + y, 1]
            elif y == FREE:
                changes += room.share[first + x, 0]
            else:
                changes += change_label(few, many, first + x, second + y, room)
    return changes


_SHELL_GAPS = (701, 301, 132, 57, 23, 10, 4, 1)
"""Steps of Shell's sort, by Ciura (2001)."""


class AxisValues(NamedTuple):
    """States of graphs along some axes: graph g has the next size[g] rows from start[g] on, every column rising."""

    rows: NDArray[np.float32]
    start: Integers
    size: Integers


@entry
def add_axis_gaps(query: NDArray[np.float32], graphs: AxisValues, out: Floats) -> None:
    """The sum of w_a^2 - delta_a^2 for the query, (nodes, axes) with rising columns, and each graph."""
    for g in range(len(graphs.start)):
        first = graphs.start[g]
        total = 0.0
        for axis in range(query.shape[1]):
            total += measure_axis(query[:, axis], graphs.rows[first : first + graphs.size[g], axis])
        out[g] = total


@part
def measure_axis(a: NDArray[np.float32], b: NDArray[np.float32]) -> float:
    """w^2 - delta^2 of two rising sequences of numbers."""
    n = max(len(a), len(b))
    a_zeros, b_zeros = n - len(a), n - len(b)
    a_negative, b_negative = count_negative(a), count_negative(b)
    apart, together = 0.0, 0.0
    for k in range(n):
        difference = pick(a, k, a_negative, a_zeros) - pick(b, k, b_negative, b_zeros)
        apart += abs(difference)
        together += difference
    return apart * apart - together * together


@part
def count_negative(values: NDArray[np.float32]) -> int:
    """Values below zero, which come first."""
    count = 0
    while count < len(values) and values[count] < 0:
        count += 1
    return count


@part
def pick(values: NDArray[np.float32], k: int, negative: int, zeros: int) -> float:
    """The k-th of the values in rising order, with some zeros among them."""
    if k < negative:
        return np.float64(values[k])
    if k < negative + zeros:
        return 0.0
    return np.float64(values[k - zeros])


@entry
def sort_runs(values: NDArray[np.float32], ptr: Integers) -> None:
    """Sort each column of the rows ptr[k] .. ptr[k + 1] for every k, in place, by Shell's method."""
    for k in range(len(ptr) - 1):
        first, last = ptr[k], ptr[k + 1]
        for column in range(values.shape[1]):
            for gap in _SHELL_GAPS:
                for i in range(first + gap, last):
                    value, j = values[i, column], i
                    while j >= first + gap and values[j - gap, column] > value:
                        values[j, column] = values[j - gap, column]
                        j -= gap
                    values[j, column] = value


@entry
def scan_vectors(vectors: NDArray[Any], query: NDArray[Any], blocks: int, out: NDArray[np.float32]) -> None:
    """Sums of Euclidean norms over ``blocks`` equal pieces of the differences to each row."""
    width = len(query) // blocks
    for row in range(len(vectors)):
        total = np.float32(0)
        for first in range(0, blocks * width, width):
            last = first + width
            total += np.sqrt(square_difference(vectors[row, first:last], query[first:last]))
        out[row] = total
