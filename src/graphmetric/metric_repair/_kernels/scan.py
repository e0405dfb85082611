"""Find the violated triangle inequalities among all m(m-1)(m-2)/2 in a fraction of the work of looking at each.

If x_pj > x_pq + x_qj with p-q the shorter leg, then x_pq < x_pj / 2: only short pairs can be that leg. For such a pair
both orientations of all its triangles hold exactly when |x_pj - x_qj| <= x_pq for every j, a maximum over two rows. It
is taken over 16-bit values first, eight times as many to an instruction as double precision: with x rounded down to
multiples of a unit u, a violation of more than 0 leaves floor(x_pj / u) - floor(x_qj / u) >= floor(x_pq / u). Only
columns that pass this are looked at in double precision.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import entry, hot_part, part

UNITS = 32766  # the range of the values, so that their differences fit
TILE = 16  # rows whose 16-bit values stay in the second-level cache while the others pass by
CHUNK = 512  # columns that are tested together
SPAN = 64  # columns that are looked at in double precision together

ROW, COLUMN, COUNTED = 0, 1, 2
LIST, LIST_WORST, COUNT = 0, 1, 2  # what a scan does with violated triangles

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Units = NDArray[np.int16]


class ScanRows(NamedTuple):
    """A symmetric matrix in two precisions."""

    exact: Floats
    coarse: Units  # whole units, rounded down
    half_range: Units  # of each row: half of its largest value, rounded up


class FoundTriangles(NamedTuple):
    """The violated triangles, as rows (i, j, k) with x_ij > x_ik + x_jk."""

    triangles: NDArray[np.int32]  # those that are listed; of those that are counted the deepest, the deepest first
    place: Integers  # ROW, COLUMN of the next pair; COUNTED: how many were counted
    depth: Floats  # the largest violation listed, or the sum of those counted; then those of the deepest


@entry
def quantise(exact: NDArray[np.float64], unit: float, coarse: Units, half: Units) -> None:
    """Round rows down to whole units."""
    for p in range(len(exact)):
        row, target = exact[p], coarse[p]
        largest = np.int16(0)
        for j in range(len(row)):
            value = np.int16(np.floor(row[j] / unit))  # iterates may be below zero
            target[j] = value
            largest = max(largest, value)
        half[p] = (largest + 2) // 2


@entry
def scan_rows(
    rows: ScanRows, end: int, threshold: float, mode: int, legs: int, tile: Units, found: FoundTriangles
) -> int:
    """Visit triangles violated by more than ``threshold`` with the shorter leg p-q, q < p, p from the place to ``end``.

    Gives the number listed; where the list is full, or after about ``legs`` legs, the place says where to go on.
    ``mode`` is LIST, LIST_WORST (for each leg only about the worst) or COUNT. ``tile`` has room for ``TILE`` rows.
    """
    count, place, m = 0, found.place, len(rows.exact)
    while place[ROW] < end:
        begin, stop = place[ROW], min(place[ROW] + TILE, end)
        load_tile(rows, begin, stop, tile)
        while place[COLUMN] < stop - 1:
            if count + TILE * m > len(found.triangles) or legs <= 0:
                return count
            q = place[COLUMN]
            legs -= stop - max(begin, q + 1)
            for p in range(max(begin, q + 1), stop):
                leg = rows.coarse[p, q]
                if leg < max(rows.half_range[p], rows.half_range[q]):
                    near = tile[p - begin]
                    near[p], near[q] = leg, 0  # the columns p and q are not triangles
                    if mode == LIST_WORST:
                        count = list_worst(rows, p, q, threshold, near, found, count)
                    elif mode == LIST:
                        count = list_all(rows, p, q, threshold, near, found, count)
                    else:
                        count_all(rows, p, q, threshold, near, found)
                    near[q] = leg
            place[COLUMN] = q + 1
        place[ROW], place[COLUMN] = stop, 0
    return count


@part
def load_tile(rows: ScanRows, begin: int, stop: int, tile: Units) -> None:
    """Copy rows, since a scan writes into them."""
    for p in range(begin, stop):
        source, target = rows.coarse[p], tile[p - begin]
        for j in range(len(source)):
            target[j] = source[j]


@hot_part
def find_widest(first: Units, second: Units) -> int:
    """The largest |first - second|."""
    highest, lowest = np.int16(0), np.int16(0)
    for j in range(len(first)):
        apart = np.int16(first[j] - second[j])
        highest, lowest = max(highest, apart), min(lowest, apart)
    return max(int(highest), -int(lowest))


@part
def list_all(rows: ScanRows, p: int, q: int, threshold: float, near: Units, found: FoundTriangles, count: int) -> int:
    """List every violated triangle with the shorter leg p-q; ``near`` is row p without the columns p and q."""
    far, leg = rows.coarse[q], rows.coarse[p, q]
    for start in range(0, len(near), CHUNK):
        end = min(start + CHUNK, len(near))
        if find_widest(near[start:end], far[start:end]) >= leg:
            for begin in range(start, end, SPAN):
                stop = min(begin + SPAN, end)
                if find_widest(near[begin:stop], far[begin:stop]) >= leg:
                    count = list_span(rows, p, q, threshold, (begin, stop), found, count)
    return count


@part
def list_span(
    rows: ScanRows, p: int, q: int, threshold: float, span: tuple[int, int], found: FoundTriangles, count: int
) -> int:
    """The violated triangles with the shorter leg p-q and their third corner within the span."""
    near, far, leg = rows.exact[p], rows.exact[q], rows.exact[p, q]
    for j in range(span[0], span[1]):
        depth = abs(near[j] - far[j]) - leg
        if depth > threshold and is_shorter_leg(near[j], far[j], leg, p, q, j):
            write_triangle(found.triangles[count], p, q, j, near[j] > far[j])
            found.depth[0] = max(found.depth[0], depth)
            count += 1
    return count


@part
def list_worst(rows: ScanRows, p: int, q: int, threshold: float, near: Units, found: FoundTriangles, count: int) -> int:
    """The worst triangle with the leg p-q among the columns where 16-bit values are furthest apart."""
    begin = find_worst_span(near, rows.coarse[q], rows.coarse[p, q])
    if begin < 0:
        return count
    first, second, leg = rows.exact[p], rows.exact[q], rows.exact[p, q]
    deepest, third = threshold, -1
    for j in range(begin, min(begin + SPAN, len(near))):
        depth = abs(first[j] - second[j]) - leg
        if depth > deepest and j != p and j != q:
            deepest, third = depth, j
    if third < 0:
        return count
    write_triangle(found.triangles[count], p, q, third, first[third] > second[third])
    found.depth[0] = max(found.depth[0], deepest)
    return count + 1


@part
def find_worst_span(near: Units, far: Units, leg: int) -> int:
    """Where the columns begin that are furthest apart; -1 if none are as far apart as the leg is long."""
    widest, chunk = int(leg) - 1, -1
    for start in range(0, len(near), CHUNK):
        end = min(start + CHUNK, len(near))
        apart = find_widest(near[start:end], far[start:end])
        if apart > widest:
            widest, chunk = apart, start
    if chunk < 0:
        return -1
    for begin in range(chunk, len(near), SPAN):
        stop = min(begin + SPAN, len(near))
        if find_widest(near[begin:stop], far[begin:stop]) == widest:
            return begin
    return -1


@hot_part
def is_shorter_leg(near: float, far: float, leg: float, p: int, q: int, j: int) -> bool:
    """Whether p-q, and not the other leg of a violated triangle with j, is to list it; never for j = p or j = q."""
    if j == p or j == q:
        return False
    shorter = min(near, far)
    if leg == shorter:
        return q < j if near < far else p < j  # the leg with the smaller outer corner
    return leg < shorter


@hot_part
def write_triangle(row: NDArray[np.int32], p: int, q: int, j: int, near_is_long: bool) -> None:
    """The long side is p-j or q-j; the other of p and q is the corner opposite."""
    outer, corner = (p, q) if near_is_long else (q, p)
    row[0], row[1], row[2] = min(outer, j), max(outer, j), corner


@part
def count_all(rows: ScanRows, p: int, q: int, threshold: float, near: Units, found: FoundTriangles) -> None:
    """Count what :func:`list_all` lists; with a flag instead of a second loop, listing is a tenth slower."""
    far, leg = rows.coarse[q], rows.coarse[p, q]
    for start in range(0, len(near), CHUNK):
        end = min(start + CHUNK, len(near))
        if find_widest(near[start:end], far[start:end]) >= leg:
            for begin in range(start, end, SPAN):
                stop = min(begin + SPAN, end)
                if find_widest(near[begin:stop], far[begin:stop]) >= leg:
                    count_span(rows, p, q, threshold, (begin, stop), found)


@part
def count_span(rows: ScanRows, p: int, q: int, threshold: float, span: tuple[int, int], found: FoundTriangles) -> None:
    """Count the violated triangles with the shorter leg p-q and their third corner within the span."""
    near, far, leg = rows.exact[p], rows.exact[q], rows.exact[p, q]
    for j in range(span[0], span[1]):
        depth = max(near[j], far[j]) - (min(near[j], far[j]) + leg)
        if depth > threshold and is_shorter_leg(near[j], far[j], leg, p, q, j):
            found.place[COUNTED] += 1
            found.depth[0] += depth
            if depth > found.depth[-1]:
                keep_deep(p, q, j, near[j] > far[j], depth, found)


@part
def keep_deep(p: int, q: int, j: int, near_is_long: bool, depth: float, found: FoundTriangles) -> None:
    """Insert a triangle among the deepest; the last one falls off."""
    place = len(found.depth) - 1
    while place > 1 and found.depth[place - 1] < depth:
        found.depth[place] = found.depth[place - 1]
        for side in range(3):
            found.triangles[place - 1, side] = found.triangles[place - 2, side]
        place -= 1
    found.depth[place] = depth
    write_triangle(found.triangles[place - 1], p, q, j, near_is_long)
