"""The square assignment problem by starring and priming zeros (Munkres 1957), the "Hungarian" of the literature.

It finds what lsap.py finds, more slowly; it is here because of the choice between equally good assignments that comes
with it. Distances published for bipartite matching depend on this choice: columns are not reduced at the start, the
first free zero of a row is starred, and while searching the last zero of the first row that has one is primed.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import part
from graphmetric.edit_distance._kernels.cold_assignment import Floats
from graphmetric.edit_distance._kernels.packing import Integers
from graphmetric.edit_distance._kernels.workspace import highest_bit, lowest_bit

# Fields of MunkresWork.places
ROW_STAR, COLUMN_STAR, ROW_PRIME, ROW_COVERED, OPEN_LIST = range(5)
# Fields of MunkresWork.duals
ROW_DUAL, COLUMN_DUAL, ROW_LEAST = range(3)

ONE_BIT, LOW_BITS, ALL_BITS = np.uint64(1), np.uint64(63), np.uint64(2**64 - 1)


class MunkresWork(NamedTuple):
    """Room for problems of up to so many rows, (field, position); after a solve `ROW_STAR` holds the answer."""

    places: Integers
    duals: Floats
    zeros: NDArray[np.uint64]  # (row, word): columns in which the reduced cost of the row is zero
    open_columns: NDArray[np.uint64]  # columns that are not covered


def allocate_munkres(largest: int) -> MunkresWork:
    """One bit for every entry of the matrix and a few numbers for every row."""
    n, words = largest + 1, largest // 64 + 1
    zeros, open_columns = np.zeros((n, words), dtype=np.uint64), np.zeros(words, dtype=np.uint64)
    return MunkresWork(np.zeros((5, n), dtype=np.int64), np.zeros((3, n)), zeros, open_columns)


@part
def solve_by_stars(cost: Floats, n: int, work: MunkresWork) -> None:
    """Match the first n rows with the first n columns at least cost."""
    n_words = (n + 63) // 64
    n_starred = star_row_minima(cost, n, n_words, work)
    while n_starred < n:
        cover_starred_columns(n, n_words, work)
        row = prime_until_free_row(cost, n, n_words, work)
        augment_stars(work, row)
        n_starred += 1


@part
def star_row_minima(cost: Floats, n: int, n_words: int, work: MunkresWork) -> int:
    """Reduce rows, note the zeros, star the first zero of each row whose column has no star. Returns how many."""
    places = work.places
    for j in range(n):
        places[COLUMN_STAR, j] = -1
        work.duals[COLUMN_DUAL, j] = 0
    for word in range(n_words):
        work.open_columns[word] = ALL_BITS
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
                star = 64 * word + lowest_bit(bits)
                places[ROW_STAR, i] = star
                places[COLUMN_STAR, star] = i
                work.open_columns[word] ^= ONE_BIT << (np.uint64(star) & LOW_BITS)
                n_starred += 1
    return n_starred


@part
def cover_starred_columns(n: int, n_words: int, work: MunkresWork) -> None:
    """Start of a phase: columns with a star are covered, rows are not."""
    for word in range(n_words):
        work.open_columns[word] = 0
    for j in range(n):
        work.places[ROW_COVERED, j] = 0
        if work.places[COLUMN_STAR, j] < 0:
            work.open_columns[j >> 6] |= ONE_BIT << (np.uint64(j) & LOW_BITS)


@part
def prime_until_free_row(cost: Floats, n: int, n_words: int, work: MunkresWork) -> int:
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
def prime_open_zero(n: int, n_words: int, work: MunkresWork) -> int:
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
def make_open_zero(cost: Floats, n: int, n_words: int, work: MunkresWork) -> None:
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
                row_least = min(row_least, cost[i, j] - duals[COLUMN_DUAL, j])
            duals[ROW_LEAST, i] = row_least - duals[ROW_DUAL, i]
            least = min(least, duals[ROW_LEAST, i])
    for k in range(n_open):
        duals[COLUMN_DUAL, places[OPEN_LIST, k]] += least
    for i in range(n):
        if places[ROW_COVERED, i] == 1:
            duals[ROW_DUAL, i] -= least
            for word in range(n_words):
                work.zeros[i, word] &= work.open_columns[word]
        elif duals[ROW_LEAST, i] == least:
            for k in range(n_open):
                j = places[OPEN_LIST, k]
                if cost[i, j] - duals[COLUMN_DUAL, j] == duals[ROW_DUAL, i]:
                    work.zeros[i, j >> 6] |= ONE_BIT << (np.uint64(j) & LOW_BITS)


@part
def augment_stars(work: MunkresWork, row: int) -> None:
    """Star the prime of the row; a star it displaces gives way to the prime of its own row, and so on."""
    places = work.places
    while row >= 0:
        column = places[ROW_PRIME, row]
        displaced = places[COLUMN_STAR, column]
        places[ROW_STAR, row] = column
        places[COLUMN_STAR, column] = row
        row = displaced
