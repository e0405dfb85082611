"""The square assignment problem, solved cold by the shortest augmenting paths of Jonker and Volgenant (1987).

For matrices up to about 40 rows this is several times faster than a general library call. Entries that must not be
used cost infinity. The order in which columns and rows are looked at decides between equally good assignments, and is
part of the contract: distances published for this method depend on it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import part
from graphmetric.edit_distance._kernels.packing import Integers

Floats = NDArray[np.float64]

# Fields of AssignmentWork.places
ROW_MATCH, COLUMN_MATCH, PARENT_ROW, COLUMN_ORDER, FREE_ROWS, TIMES_CHOSEN = range(6)
# Fields of AssignmentWork.values
COLUMN_DUAL, DISTANCE = range(2)


class AssignmentWork(NamedTuple):
    """Room for problems of up to so many rows, (field, position); after a solve `ROW_MATCH` holds the answer."""

    places: Integers
    values: Floats


def allocate_assignment(largest: int) -> AssignmentWork:
    """Make room."""
    return AssignmentWork(np.zeros((6, largest + 1), dtype=np.int64), np.zeros((2, largest + 1)))


@part
def solve_square(cost: Floats, n: int, work: AssignmentWork) -> None:
    """Match the first n rows with the first n columns at least cost."""
    if n == 0:
        return
    reduce_columns(cost, n, work)
    n_free = transfer_reductions(cost, n, work)
    if n > 1:
        for _ in range(2):
            n_free = reassign_free_rows(cost, n, work, n_free)
    for f in range(n_free):
        source = work.places[FREE_ROWS, f]
        sink = find_nearest_free(cost, n, work, source)
        if sink < 0:
            sink = find_shortest_path(cost, n, work, source)
        flip_path(work, sink, source)


@part
def reduce_columns(cost: Floats, n: int, work: AssignmentWork) -> None:
    """Dual of a column: its least cost; from the last column on, the first row that attains it takes the column."""
    row_match, column_match, times_chosen, dual = (
        work.places[ROW_MATCH],
        work.places[COLUMN_MATCH],
        work.places[TIMES_CHOSEN],
        work.values[COLUMN_DUAL],
    )
    for j in range(n):
        times_chosen[j] = 0
        column_match[j] = 0
        dual[j] = cost[0, j]
    for i in range(1, n):
        for j in range(n):
            if cost[i, j] < dual[j]:
                dual[j] = cost[i, j]
                column_match[j] = i
    for j in range(n - 1, -1, -1):
        row = column_match[j]
        times_chosen[row] += 1
        if times_chosen[row] == 1:
            row_match[row] = j
        else:
            column_match[j] = -1


@part
def transfer_reductions(cost: Floats, n: int, work: AssignmentWork) -> int:
    """Lower the dual of a column whose row wanted no other one; list the rows without a column; returns how many."""
    row_match, free_rows, times_chosen, dual = (
        work.places[ROW_MATCH],
        work.places[FREE_ROWS],
        work.places[TIMES_CHOSEN],
        work.values[COLUMN_DUAL],
    )
    n_free = 0
    for i in range(n):
        if times_chosen[i] == 0:
            free_rows[n_free] = i
            n_free += 1
        elif times_chosen[i] == 1:
            own = row_match[i]
            least = np.inf
            for j in range(n):
                if j != own:
                    least = min(least, cost[i, j] - dual[j])
            dual[own] -= least
    return n_free


@part
def reassign_free_rows(cost: Floats, n: int, work: AssignmentWork, n_free: int) -> int:
    """Give every free row its best column, taking it from whoever has it; that row is free in the next round."""
    row_match, column_match, free_rows, dual = (
        work.places[ROW_MATCH],
        work.places[COLUMN_MATCH],
        work.places[FREE_ROWS],
        work.values[COLUMN_DUAL],
    )
    still_free = 0
    for f in range(n_free):
        i = free_rows[f]
        best, second = 0, 0
        least, next_least = cost[i, 0] - dual[0], np.inf
        for j in range(1, n):
            slack = cost[i, j] - dual[j]
            if slack < next_least:
                if slack >= least:
                    next_least, second = slack, j
                else:
                    next_least, second = least, best
                    least, best = slack, j
        loser = column_match[best]
        if least < next_least:
            dual[best] -= next_least - least
        elif loser >= 0:
            best = second
            loser = column_match[best]
        row_match[i] = best
        column_match[best] = i
        if loser >= 0:
            free_rows[still_free] = loser
            still_free += 1
    return still_free


@part
def find_nearest_free(cost: Floats, n: int, work: AssignmentWork, source: int) -> int:
    """The first free column among those nearest to a free row; -1 if all of them are matched.

    What `find_shortest_path` would find in its first step, without the preparation for further ones.
    """
    column_match, parent_row, dual = work.places[COLUMN_MATCH], work.places[PARENT_ROW], work.values[COLUMN_DUAL]
    nearest, least = -1, np.inf
    for j in range(n):
        slack = cost[source, j] - dual[j]
        if slack <= least:
            if slack < least:
                least, nearest = slack, -1
            if nearest < 0 and column_match[j] < 0:
                nearest = j
    if nearest >= 0:
        parent_row[nearest] = source
    return nearest


@part
def find_shortest_path(cost: Floats, n: int, work: AssignmentWork, source: int) -> int:
    """Dijkstra from a free row to the nearest free column, which is returned; updates the duals.

    `COLUMN_ORDER` holds three groups: done, at the current least distance, all others.
    """
    column_match, parent_row, order, dual, distance = (
        work.places[COLUMN_MATCH],
        work.places[PARENT_ROW],
        work.places[COLUMN_ORDER],
        work.values[COLUMN_DUAL],
        work.values[DISTANCE],
    )
    for j in range(n):
        distance[j] = cost[source, j] - dual[j]
        parent_row[j] = source
        order[j] = j
    done, reached = 0, 0
    settled = 0  # columns that were done when the current least distance was found
    while True:
        if done == reached:
            settled = done
            reached = gather_nearest(work, n, done)
            for k in range(done, reached):
                column = order[k]
                if column_match[column] < 0:
                    lower_duals(work, settled, distance[column])
                    return column
        column = order[done]
        done += 1
        row = column_match[column]
        reach = distance[column]
        offset = cost[row, column] - dual[column] - reach
        for k in range(reached, n):
            j = order[k]
            through = cost[row, j] - dual[j] - offset
            if through < distance[j]:
                parent_row[j] = row
                distance[j] = through
                if through == reach:
                    if column_match[j] < 0:
                        lower_duals(work, settled, reach)
                        return j
                    order[k] = order[reached]
                    order[reached] = j
                    reached += 1


@part
def gather_nearest(work: AssignmentWork, n: int, start: int) -> int:
    """Move the columns at least distance to the front of those from ``start`` on; returns where they end."""
    order, distance = work.places[COLUMN_ORDER], work.values[DISTANCE]
    end = start + 1
    least = distance[order[start]]
    for k in range(end, n):
        column = order[k]
        if distance[column] <= least:
            if distance[column] < least:
                end = start
                least = distance[column]
            order[k] = order[end]
            order[end] = column
            end += 1
    return end


@part
def lower_duals(work: AssignmentWork, settled: int, reach: float) -> None:
    """Keep reduced costs non-negative along the shortest paths."""
    order, dual, distance = work.places[COLUMN_ORDER], work.values[COLUMN_DUAL], work.values[DISTANCE]
    for k in range(settled):
        column = order[k]
        dual[column] += distance[column] - reach


@part
def flip_path(work: AssignmentWork, sink: int, source: int) -> None:
    """Exchange matched and unmatched entries along the path that ends in column ``sink``."""
    row_match, column_match, parent_row = work.places[ROW_MATCH], work.places[COLUMN_MATCH], work.places[PARENT_ROW]
    column = sink
    while True:
        row = parent_row[column]
        column_match[column] = row
        following = row_match[row]
        row_match[row] = column
        if row == source:
            return
        column = following
