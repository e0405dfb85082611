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
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.assignment import COLUMN_DUAL, COLUMN_MATCH, FREE, ROW_MATCH, AssignmentWork, assign_rows
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
    for k in range(left.size[a]):
        i, j = left.start[a] + k, right.start[b] + k
        for c in range(left.first, left.last):
            if left.rows[i, c] != right.rows[j, c]:
                return -1 if left.rows[i, c] < right.rows[j, c] else 1
    return 0


@part
def solve_pair(few: NodeStates, a: int, many: NodeStates, b: int, work: AssignmentWork) -> float:
    """The distance; ``work`` holds the matching afterwards. States that are not finite give NaN and any matching."""
    n, m = few.size[a], many.size[b]
    if np.isfinite(fill_costs(few, a, many, b, work)):
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
