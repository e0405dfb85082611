"""The rectangular assignment problem: every row gets a column of its own, some columns stay free.

Shortest augmenting paths (Jonker and Volgenant 1987), with a cheap first phase that settles most rows. A free column j
pays ``price[j]``, so a row that takes it gains that much: the problem is to minimise the sum over rows of
``cost[i, j] - price[j]``. The prices are simply where the column duals start, for subtracting them first would lose
the digits of small costs. Duals only ever fall, and never on a free column, which is what optimality asks of those.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import part

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FREE = -1
PASSES = 2
"""Of the first phase; more of them can cycle for long between equally good columns."""

# Fields of AssignmentWork.places
ROW_MATCH, COLUMN_MATCH, PARENT_ROW, SCANNED, FREE_ROWS = range(5)
# Fields of AssignmentWork.values
PRICE, COLUMN_DUAL, DISTANCE = range(3)


class AssignmentWork(NamedTuple):
    """Room for one problem at a time; ``values[PRICE]`` is asked and ``places[ROW_MATCH]`` answered, per position."""

    cost: Floats
    places: Integers
    values: Floats


def allocate_assignment(largest: int) -> AssignmentWork:
    """Make room for problems of up to so many rows and columns."""
    return AssignmentWork(
        np.empty((largest, largest)), np.empty((5, largest + 1), dtype=np.int64), np.empty((3, largest))
    )


@part
def solve_rectangular(n: int, m: int, work: AssignmentWork) -> None:
    """Match n rows into m >= n columns at least cost."""
    places, values = work.places, work.values
    for j in range(m):
        values[COLUMN_DUAL, j] = values[PRICE, j]
        places[COLUMN_MATCH, j] = FREE
    for i in range(n):
        places[FREE_ROWS, i] = i
    n_free = n
    if m > 1:
        for _ in range(PASSES):
            n_free = bid_for_columns(n_free, m, work)
    for f in range(n_free):
        source = places[FREE_ROWS, f]
        flip_path(work, find_shortest_path(source, m, work), source)


@part
def match_in_order(n: int, m: int, work: AssignmentWork) -> None:
    """Row i gets column i."""
    for j in range(m):
        work.places[COLUMN_MATCH, j] = j if j < n else FREE
    for i in range(n):
        work.places[ROW_MATCH, i] = i


@part
def bid_for_columns(n_free: int, m: int, work: AssignmentWork) -> int:
    """Every free row takes its best column from whoever has it, who is free in the next pass; returns how many are.

    The dual of the column falls by its lead over the second best: the most that keeps the row content with it.
    """
    cost, places, duals = work.cost, work.places, work.values[COLUMN_DUAL]
    still_free = 0
    for f in range(n_free):
        i = places[FREE_ROWS, f]
        best = 0
        least, second = cost[i, 0] - duals[0], np.inf
        for j in range(1, m):
            slack = cost[i, j] - duals[j]
            if slack < least:
                least, second, best = slack, least, j
            elif slack < second:
                second = slack
        duals[best] -= second - least
        loser = places[COLUMN_MATCH, best]
        places[COLUMN_MATCH, best] = i
        places[ROW_MATCH, i] = best
        if loser != FREE:
            places[FREE_ROWS, still_free] = loser
            still_free += 1
    return still_free


@part
def find_shortest_path(source: int, m: int, work: AssignmentWork) -> int:
    """Dijkstra in reduced costs from a free row to the nearest free column, which is returned; lowers the duals."""
    cost, places, values = work.cost, work.places, work.values
    for j in range(m):
        values[DISTANCE, j] = cost[source, j] - values[COLUMN_DUAL, j]
        places[PARENT_ROW, j] = source
        places[SCANNED, j] = 0
    while True:
        reach, nearest = np.inf, 0
        for j in range(m):
            if places[SCANNED, j] == 0 and values[DISTANCE, j] < reach:
                reach, nearest = values[DISTANCE, j], j
        row = places[COLUMN_MATCH, nearest]
        if row == FREE:
            break
        places[SCANNED, nearest] = 1
        offset = cost[row, nearest] - values[COLUMN_DUAL, nearest] - reach
        for j in range(m):
            through = cost[row, j] - values[COLUMN_DUAL, j] - offset
            if places[SCANNED, j] == 0 and through < values[DISTANCE, j]:
                values[DISTANCE, j] = through
                places[PARENT_ROW, j] = row
    for j in range(m):
        if places[SCANNED, j] == 1:
            values[COLUMN_DUAL, j] += values[DISTANCE, j] - reach
    return nearest


@part
def flip_path(work: AssignmentWork, sink: int, source: int) -> None:
    """Exchange matched and unmatched entries along the path that ends in column ``sink``."""
    places = work.places
    column = sink
    while True:
        row = places[PARENT_ROW, column]
        places[COLUMN_MATCH, column] = row
        column, places[ROW_MATCH, row] = places[ROW_MATCH, row], column
        if row == source:
            return
