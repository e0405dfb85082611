"""The square assignment problem as the published bipartite matchings solve it.

Both solvers find an optimal assignment. They are here because of their choice between equally good ones, on which the
published distances depend: the order in which rows and columns are looked at is part of the contract.

"VJ" finds shortest augmenting paths (Jonker and Volgenant 1987). Entries that must not be used cost infinity.

"Hungarian" stars and primes zeros (Munkres 1957). Columns are not reduced at the start, the first free zero of a row is
starred, and while searching, the last zero of the first row that has one is primed.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from graphmetric._foundation.compilation import part
from graphmetric.edit_distance._kernels.packing import Integers

Floats = NDArray[np.float64]

# Fields of PathWork.places
ROW_MATCH, COLUMN_MATCH, PARENT_ROW, COLUMN_ORDER, FREE_ROWS, TIMES_CHOSEN = range(6)
# Fields of PathWork.values
COLUMN_DUAL, DISTANCE = range(2)
# Fields of StarWork.places
ROW_STAR, COLUMN_STAR, ROW_PRIME, ROW_COVERED, OPEN_LIST = range(5)
# Fields of StarWork.duals
ROW_DUAL, COLUMN_SHIFT, ROW_LEAST = range(3)
ONE_BIT, LOW_BITS, ALL_BITS = np.uint64(1), np.uint64(63), np.uint64(2**64 - 1)


class PathWork(NamedTuple):
    """Room for the largest problem, (field, position); after a solve `ROW_MATCH` holds the answer."""

    places: Integers
    values: Floats


def allocate_paths(largest: int) -> PathWork:
    """Make room."""
    return PathWork(np.zeros((6, largest + 1), dtype=np.int64), np.zeros((2, largest + 1)))


@part
def solve_by_paths(cost: Floats, n: int, work: PathWork) -> None:
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
        flip_path(work, find_shortest_path(cost, n, work, source), source)


@part
def reduce_columns(cost: Floats, n: int, work: PathWork) -> None:
    """Dual of a column: its least cost; from the last column on, the first row that attains it takes the column."""
    places, dual = work.places, work.values[COLUMN_DUAL]
    for j in range(n):
        places[TIMES_CHOSEN, j] = 0
        places[COLUMN_MATCH, j] = 0
        dual[j] = cost[0, j]
    for i in range(1, n):
        for j in range(n):
            if cost[i, j] < dual[j]:
                dual[j] = cost[i, j]
                places[COLUMN_MATCH, j] = i
    for j in range(n - 1, -1, -1):
        row = places[COLUMN_MATCH, j]
        places[TIMES_CHOSEN, row] += 1
        if places[TIMES_CHOSEN, row] == 1:
            places[ROW_MATCH, row] = j
        else:
            places[COLUMN_MATCH, j] = -1


@part
def transfer_reductions(cost: Floats, n: int, work: PathWork) -> int:
    """Lower the dual of a column whose row wanted no other one; list the rows without a column; returns how many."""
    places, dual = work.places, work.values[COLUMN_DUAL]
    n_free = 0
    for i in range(n):
        if places[TIMES_CHOSEN, i] == 0:
            places[FREE_ROWS, n_free] = i
            n_free += 1
        elif places[TIMES_CHOSEN, i] == 1:
            own = places[ROW_MATCH, i]
            least = np.inf
            for j in range(n):
                if j != own:
                    least = min(least, cost[i, j] - dual[j])
            dual[own] -= least
    return n_free


@part
def reassign_free_rows(cost: Floats, n: int, work: PathWork, n_free: int) -> int:
    """Give every free row its best column, taking it from whoever has it; that row is free in the next round."""
    places, dual = work.places, work.values[COLUMN_DUAL]
    still_free = 0
    for f in range(n_free):
        i = places[FREE_ROWS, f]
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
        loser = places[COLUMN_MATCH, best]
        if least < next_least:
            dual[best] -= next_least - least
        elif loser >= 0:
            best = second
            loser = places[COLUMN_MATCH, best]
        places[ROW_MATCH, i] = best
        places[COLUMN_MATCH, best] = i
        if loser >= 0:
            places[FREE_ROWS, still_free] = loser
            still_free += 1
    return still_free


@part
def find_shortest_path(cost: Floats, n: int, work: PathWork, source: int) -> int:
    """Dijkstra from a free row to the nearest free column, which is returned; updates the duals.

    `COLUMN_ORDER` holds three groups: done, at the current least distance, all others.
    """
    places, dual, distance = work.places, work.values[COLUMN_DUAL], work.values[DISTANCE]
    for j in range(n):
        distance[j] = cost[source, j] - dual[j]
        places[PARENT_ROW, j] = source
        places[COLUMN_ORDER, j] = j
    done, reached = 0, 0
    settled = 0  # columns that were done when the current least distance was found
    while True:
        if done == reached:
            settled = done
            reached = gather_nearest(work, n, done)
            for k in range(done, reached):
                column = places[COLUMN_ORDER, k]
                if places[COLUMN_MATCH, column] < 0:
                    lower_duals(work, settled, distance[column])
                    return column
        column = places[COLUMN_ORDER, done]
        done += 1
        row = places[COLUMN_MATCH, column]
        reach = distance[column]
        offset = cost[row, column] - dual[column] - reach
        for k in range(reached, n):
            j = places[COLUMN_ORDER, k]
            through = cost[row, j] - dual[j] - offset
            if through < distance[j]:
                places[PARENT_ROW, j] = row
                distance[j] = through
                if through == reach:
                    if places[COLUMN_MATCH, j] < 0:
                        lower_duals(work, settled, reach)
                        return j
                    places[COLUMN_ORDER, k] = places[COLUMN_ORDER, reached]
                    places[COLUMN_ORDER, reached] = j
                    reached += 1


@part
def gather_nearest(work: PathWork, n: int, start: int) -> int:
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
def lower_duals(work: PathWork, settled: int, reach: float) -> None:
    """Keep reduced costs non-negative along the shortest paths."""
    order, dual, distance = work.places[COLUMN_ORDER], work.values[COLUMN_DUAL], work.values[DISTANCE]
    for k in range(settled):
        column = order[k]
        dual[column] += distance[column] - reach


@part
def flip_path(work: PathWork, sink: int, source: int) -> None:
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


def _type_highest_bit(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return builder.sub(ir.Constant(ir.IntType(64), 63), zeros)

    return types.int64(types.uint64), generate


highest_bit = cast(Callable[[np.uint64], int], intrinsic(_type_highest_bit))
"""Position of the highest bit of a word that is not zero."""


class StarWork(NamedTuple):
    """Room for the largest problem, (field, position); after a solve `ROW_STAR` holds the answer."""

    places: Integers
    duals: Floats
    zeros: NDArray[np.uint64]  # (row, word): columns in which the reduced cost of the row is zero
    open_columns: NDArray[np.uint64]  # columns that are not covered


def allocate_stars(largest: int) -> StarWork:
    """One bit for every entry of the matrix and a few numbers for every row."""
    n, words = largest + 1, largest // 64 + 1
    zeros, open_columns = np.zeros((n, words), dtype=np.uint64), np.zeros(words, dtype=np.uint64)
    return StarWork(np.zeros((5, n), dtype=np.int64), np.zeros((3, n)), zeros, open_columns)


@part
def solve_by_stars(cost: Floats, n: int, work: StarWork) -> None:
    """Match the first n rows with the first n columns at least cost."""
    n_words = (n + 63) // 64
    n_starred = star_row_minima(cost, n, n_words, work)
    while n_starred < n:
        cover_starred_columns(n, n_words, work)
        row = prime_until_free_row(cost, n, n_words, work)
        augment_stars(work, row)
        n_starred += 1


@part
def star_row_minima(cost: Floats, n: int, n_words: int, work: StarWork) -> int:
    """Reduce rows, note the zeros, star the first zero of each row whose column has no star. Returns how many."""
    places = work.places
    places[COLUMN_STAR, :n] = -1
    work.duals[COLUMN_SHIFT, :n] = 0
    work.open_columns[:n_words] = ALL_BITS
    n_starred = 0
    for i in range(n):
        least = cost[i, 0]
        for j in range(1, n):
            least = min(least, cost[i, j])
        work.duals[ROW_DUAL, i] = least
        places[ROW_STAR, i] = -1
        for word in range(n_words):
            bits = np.uint64(0)
            for j in range(64 * word, min(n, 64 * word + 64)):
                bits |= np.uint64(cost[i, j] == least) << (np.uint64(j) & LOW_BITS)
            work.zeros[i, word] = bits
            bits &= work.open_columns[word]
            if places[ROW_STAR, i] < 0 and bits != 0:
                star = 64 * word + highest_bit(bits & (~bits + ONE_BIT))  # the lowest bit, which is left alone
                places[ROW_STAR, i] = star
                places[COLUMN_STAR, star] = i
                work.open_columns[word] ^= ONE_BIT << (np.uint64(star) & LOW_BITS)
                n_starred += 1
    return n_starred


@part
def cover_starred_columns(n: int, n_words: int, work: StarWork) -> None:
    """Start of a phase: columns with a star are covered, rows are not."""
    work.open_columns[:n_words] = 0
    work.places[ROW_COVERED, :n] = 0
    for j in range(n):
        if work.places[COLUMN_STAR, j] < 0:
            work.open_columns[j >> 6] |= ONE_BIT << (np.uint64(j) & LOW_BITS)


@part
def prime_until_free_row(cost: Floats, n: int, n_words: int, work: StarWork) -> int:
    """Prime open zeros, making new ones when there are none, until one lies in a row without a star: that row."""
    while True:
        row = prime_open_zero(n, n_words, work)
        if row < 0:
            make_open_zero(cost, n, n_words, work)
            continue
        star = work.places[ROW_STAR, row]
        if star < 0:
            return row
        work.places[ROW_COVERED, row] = 1
        work.open_columns[star >> 6] |= ONE_BIT << (np.uint64(star) & LOW_BITS)


@part
def prime_open_zero(n: int, n_words: int, work: StarWork) -> int:
    """Prime the last open zero of the first uncovered row that has one; -1 when there is none."""
    for i in range(n):
        if work.places[ROW_COVERED, i] == 1:
            continue
        for word in range(n_words - 1, -1, -1):
            bits = work.zeros[i, word] & work.open_columns[word]
            if bits != 0:
                work.places[ROW_PRIME, i] = 64 * word + highest_bit(bits)
                return i
    return -1


@part
def make_open_zero(cost: Floats, n: int, n_words: int, work: StarWork) -> None:
    """Shift the duals by the least open entry. Zeros that are covered twice vanish."""
    places, duals = work.places, work.duals
    n_open = 0
    for j in range(n):
        if (work.open_columns[j >> 6] >> (np.uint64(j) & LOW_BITS)) & ONE_BIT:
            places[OPEN_LIST, n_open] = j
            n_open += 1
    least = np.inf
    for i in range(n):
        if places[ROW_COVERED, i] == 0:
            row_least = np.inf
            for k in range(n_open):
                j = places[OPEN_LIST, k]
                row_least = min(row_least, cost[i, j] - duals[COLUMN_SHIFT, j])
            duals[ROW_LEAST, i] = row_least - duals[ROW_DUAL, i]
            least = min(least, duals[ROW_LEAST, i])
    for k in range(n_open):
        duals[COLUMN_SHIFT, places[OPEN_LIST, k]] += least
    for i in range(n):
        if places[ROW_COVERED, i] == 1:
            duals[ROW_DUAL, i] -= least
            for word in range(n_words):
                work.zeros[i, word] &= work.open_columns[word]
        elif duals[ROW_LEAST, i] == least:
            for k in range(n_open):
                j = places[OPEN_LIST, k]
                if cost[i, j] - duals[COLUMN_SHIFT, j] == duals[ROW_DUAL, i]:
                    work.zeros[i, j >> 6] |= ONE_BIT << (np.uint64(j) & LOW_BITS)


@part
def augment_stars(work: StarWork, row: int) -> None:
    """Star the prime of the row; a star it displaces gives way to the prime of its own row, and so on."""
    places = work.places
    while row >= 0:
        column = places[ROW_PRIME, row]
        displaced = places[COLUMN_STAR, column]
        places[ROW_STAR, row] = column
        places[COLUMN_STAR, column] = row
        row = displaced
