"""The assignment problem for kernels of any folder: every row gets a column of its own, so that weights sum to most.

Every column has a price, and a row would rather have the column whose weight exceeds its price by most. Prices only
ever rise, and never that of a free column, which is what optimality demands of free columns: a column that may stay
free for a gain of g starts at the price g. From a cold start a cheap first phase settles most rows (the bids of Jonker
and Volgenant 1987); from the prices and the matching of a similar problem most rows keep their columns. The rows that
are left are matched one by one, by shortest augmenting paths.

The loops over columns have no branches that depend on earlier columns, so that they are compiled to vector code. With
whole numbers all steps are exact.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import part

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

FREE = np.int64(-1)
SCANNED = np.inf  # distance of a column that is done
PASSES = 2
"""Passes of the first phase; more of them can cycle for long between equally good columns."""
# Fields of AssignmentWork.values
COLUMN_DUAL, DISTANCE, SCANNED_AT = range(3)
# Fields of AssignmentWork.places
ROW_MATCH, COLUMN_MATCH, FREE_ROWS, PARENT_ROW, SCAN_ORDER = range(5)


class AssignmentWork(NamedTuple):
    """Room for one problem at a time, its prices and its answer; values and places are (field, position)."""

    weight: Floats  # (row, column)
    values: Floats
    places: Integers


def allocate_assignment(largest: int) -> AssignmentWork:
    """Make room for problems of up to ``largest`` rows and columns."""
    return AssignmentWork(
        np.zeros((largest, largest)), np.zeros((3, largest + 1)), np.zeros((5, largest + 1), dtype=np.int64)
    )


@part
def assign_rows(n: int, m: int, work: AssignmentWork) -> None:
    """Match n rows with columns of the m >= n, from given prices and no matching."""
    places = work.places
    places[COLUMN_MATCH, :m] = FREE
    for i in range(n):
        places[FREE_ROWS, i] = i
    n_free = n
    if m > 1:
        for _ in range(PASSES):
            n_free = bid_for_columns(n_free, m, work)
    for f in range(n_free):
        augment_matching(places[FREE_ROWS, f], m, work)


@part
def bid_for_columns(n_free: int, m: int, work: AssignmentWork) -> int:
    """Every free row takes its best column from whoever has it, who is free in the next pass; returns how many are.

    The price of the column rises by its lead over the second best: the most that keeps the row content with it.
    """
    places, price = work.places, work.values[COLUMN_DUAL]
    still_free = 0
    for f in range(n_free):
        i = places[FREE_ROWS, f]
        weight = work.weight[i]
        best = 0
        most, second = weight[0] - price[0], -np.inf
        for j in range(1, m):
            gain = weight[j] - price[j]
            if gain > most:
                most, second, best = gain, most, j
            elif gain > second:
                second = gain
        price[best] += most - second
        loser = places[COLUMN_MATCH, best]
        places[COLUMN_MATCH, best] = i
        places[ROW_MATCH, i] = best
        if loser != FREE:
            places[FREE_ROWS, still_free] = loser
            still_free += 1
    return still_free


@part
def augment_matching(source: int, m: int, work: AssignmentWork) -> None:
    """Match one more row by a shortest path (Dijkstra) over what rows forgo; of equally near columns a free one."""
    places, price, distance = work.places, work.values[COLUMN_DUAL], work.values[DISTANCE]
    weight = work.weight[source]
    for j in range(m):
        distance[j] = price[j] - weight[j]
        places[PARENT_ROW, j] = source
    n_scanned = 0
    while True:
        reach = SCANNED
        for j in range(m):
            reach = min(reach, distance[j])
        nearest = FREE
        for j in range(m):
            if distance[j] == reach and (nearest == FREE or places[COLUMN_MATCH, j] == FREE):
                nearest = np.int64(j)
                if places[COLUMN_MATCH, j] == FREE:
                    break
        row = places[COLUMN_MATCH, nearest]
        if row == FREE:
            break
        distance[nearest] = SCANNED
        places[SCAN_ORDER, n_scanned] = nearest
        work.values[SCANNED_AT, n_scanned] = reach
        n_scanned += 1
        weight = work.weight[row]
        offset = weight[nearest] - price[nearest] + reach
        for j in range(m):
            through = offset + price[j] - weight[j]
            if through < distance[j] and distance[j] < SCANNED:
                distance[j] = through
                places[PARENT_ROW, j] = row
    for k in range(n_scanned):
        column = places[SCAN_ORDER, k]
        price[column] += reach - work.values[SCANNED_AT, k]
    column = nearest
    while True:
        row = places[PARENT_ROW, column]
        places[COLUMN_MATCH, column] = row
        column, places[ROW_MATCH, row] = places[ROW_MATCH, row], column
        if row == source:
            return
