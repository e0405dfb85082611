"""The loops over triangles: sweeps of triangle fixing, shortest paths, and the search for violated inequalities.

Triangle fixing is projected over-relaxation (Hildreth, Dykstra) over a list of triangle constraints. The pairs that
occur in the list are numbered in the order in which a sweep meets them, and their values lie side by side: that is
several times as compact as the matrix, so that a sweep finds them in the cache.

The search looks for violated inequalities among all m(m-1)(m-2)/2 in a fraction of the work of looking at each. If
x_pj > x_pq + x_qj with p-q the shorter leg, then x_pq < x_pj / 2: only short pairs can be that leg. For such a pair
both orientations of all its triangles hold exactly when |x_pj - x_qj| <= x_pq for every j, a maximum over two rows. It
is taken over 16-bit values first, eight times as many to an instruction as double precision: with x rounded down to
multiples of a unit u, a violation of more than 0 leaves floor(x_pj / u) - floor(x_qj / u) >= floor(x_pq / u). Only
columns that pass this are looked at in double precision.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import entry, hot_part, part

Floats = NDArray[np.float64]

TILE = 96  # rows of a tile of shortest paths: three tiles of doubles fit the second-level cache


class Constraints(NamedTuple):
    """x[long] <= x[left] + x[right], in numbers of pairs, each with its multiplier."""

    sides: NDArray[np.int32]  # (n, 3): long, left, right
    multiplier: Floats
    gain: Floats  # 1 / (sum of the three inverse weights); empty where all weights are one


class PairValues(NamedTuple):
    """The pairs that occur in a list."""

    value: Floats
    inverse_weight: Floats  # 0: the pair is fixed


class BoundConstraints(NamedTuple):
    """sign * x[pair] <= sign * limit."""

    pair: NDArray[np.int32]
    sign: Floats
    limit: Floats
    multiplier: Floats  # at least 0


class PairNumbers(NamedTuple):
    """Pairs by number, and numbers by pair."""

    number: NDArray[np.int32]  # (m, m), read above the diagonal only; -1: the pair does not occur
    ends: NDArray[np.int32]  # (room, 2): first < second


@entry
def sweep_evenly(constraints: Constraints, pairs: PairValues, omega: float) -> float:
    """One pass with unit weights; gives the largest change of a value."""
    sides, multiplier, x = constraints.sides, constraints.multiplier, pairs.value
    pace, largest = omega / 3, 0.0
    for t in range(len(sides)):
        long, left, right = sides[t, 0], sides[t, 1], sides[t, 2]
        step = max((x[long] - x[left] - x[right]) * pace, -multiplier[t])
        multiplier[t] += step
        x[long] -= step
        x[left] += step
        x[right] += step
        largest = max(largest, abs(step))
    return largest


@entry
def sweep_weighted(constraints: Constraints, pairs: PairValues, omega: float) -> float:
    """One pass with weights and fixed pairs; gives the largest change of a violation."""
    sides, multiplier, gain = constraints.sides, constraints.multiplier, constraints.gain
    x, inverse = pairs.value, pairs.inverse_weight
    largest = 0.0
    for t in range(len(sides)):
        long, left, right = sides[t, 0], sides[t, 1], sides[t, 2]
        step = max((x[long] - x[left] - x[right]) * (omega * gain[t]), -multiplier[t])
        multiplier[t] += step
        x[long] -= step * inverse[long]
        x[left] += step * inverse[left]
        x[right] += step * inverse[right]
        largest = max(largest, abs(step) / gain[t])
    return largest


@entry
def sweep_bounds(bounds: BoundConstraints, pairs: PairValues, omega: float) -> float:
    """One pass over the pairs that were given outside their bounds; gives the largest change of a value."""
    x, inverse = pairs.value, pairs.inverse_weight
    largest = 0.0
    for t in range(len(bounds.pair)):
        p, sign = bounds.pair[t], bounds.sign[t]
        step = max(sign * (x[p] - bounds.limit[t]) * (omega / inverse[p]), -bounds.multiplier[t])
        bounds.multiplier[t] += step
        x[p] -= sign * step * inverse[p]
        largest = max(largest, abs(step) * inverse[p])
    return largest


@entry
def add_forces(constraints: Constraints, bounds: BoundConstraints, force: Floats) -> None:
    """force += A' multiplier: how much each pair is pushed down."""
    sides, multiplier = constraints.sides, constraints.multiplier
    for t in range(len(sides)):
        force[sides[t, 0]] += multiplier[t]
        force[sides[t, 1]] -= multiplier[t]
        force[sides[t, 2]] -= multiplier[t]
    for t in range(len(bounds.pair)):
        force[bounds.pair[t]] += bounds.sign[t] * bounds.multiplier[t]


@entry
def number_sides(triangles: NDArray[np.int32], pairs: PairNumbers, count: int, sides: NDArray[np.int32]) -> int:
    """Number the sides of triangles after the ``count`` pairs that have numbers already; gives the new count."""
    for t in range(len(triangles)):
        i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        sides[t, 0], count = number_pair(i, j, pairs, count)
        sides[t, 1], count = number_pair(min(i, k), max(i, k), pairs, count)
        sides[t, 2], count = number_pair(min(j, k), max(j, k), pairs, count)
    return count


@hot_part
def number_pair(first: int, second: int, pairs: PairNumbers, count: int) -> tuple[int, int]:
    """The number of a pair and the count of numbers."""
    known = pairs.number[first, second]
    if known >= 0:
        return known, count
    pairs.number[first, second] = count
    pairs.ends[count, 0], pairs.ends[count, 1] = first, second
    return count, count + 1


@entry
def lower_long_sides(triangles: NDArray[np.int32], x: Floats) -> int:
    """Cut the long side of each triangle to the length of the way round; gives how many were cut."""
    lowered = 0
    for t in range(len(triangles)):
        i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        way_round = x[i, k] + x[j, k]
        if way_round < x[i, j]:
            x[i, j] = way_round
            x[j, i] = way_round
            lowered += 1
    return lowered


@entry
def sweep_triangles(x: Floats, z: Floats) -> float:
    """Fix every side of every triangle i < j < k once, as Algorithm 1 does; gives the sum of all changes.

    ``x`` is changed above its diagonal only. ``z`` has three multipliers per triangle, for the sides ij, ik, jk.
    """
    m, t, changes = len(x), 0, 0.0
    for i in range(m):
        for j in range(i + 1, m):
            for k in range(j + 1, m):
                changes += fix_side(x, z, t, (i, j), (i, k), (j, k))
                changes += fix_side(x, z, t + 1, (i, k), (i, j), (j, k))
                changes += fix_side(x, z, t + 2, (j, k), (i, j), (i, k))
                t += 3
    return 3 * changes


@hot_part
def fix_side(
    x: Floats, z: Floats, t: int, long: tuple[int, int], left: tuple[int, int], right: tuple[int, int]
) -> float:
    """Move three sides by a third of the excess of the long one, or give back at most what was moved before."""
    theta = min(-(x[long] - x[left] - x[right]) / 3, z[t])
    z[t] -= theta
    x[long] += theta
    x[left] -= theta
    x[right] -= theta
    return abs(theta)


@entry
def open_tile(x: Floats, via: int) -> int:
    """Paths within the tile that begins at ``via``, then those from it to all others; gives how many got shorter.

    With :func:`relax_rows` for all tiles of rows, and for one ``via`` after the other, this is the algorithm of Floyd
    and Warshall, in place, on the upper triangle; the lower is its mirror to the last bit.
    """
    shorter = _relax_tile(x, via, via, via)
    for other in range(0, len(x), TILE):
        if other != via:
            shorter += _relax_tile(x, via, other, via)
            _mirror_tile(x, via, other)
    return shorter


@entry
def relax_rows(x: Floats, via: int, rows: int) -> int:
    """Paths over the opened tile ``via`` from a tile of rows to all columns above the diagonal.

    Several tiles of rows may be worked on at once: they write to different places and read none of these.
    """
    shorter = 0
    for columns in range(rows, len(x), TILE):
        if rows != via and columns != via:
            found = _relax_tile(x, rows, columns, via)
            if found:
                _mirror_tile(x, rows, columns)
            shorter += found
    return shorter


@part
def _relax_tile(x: Floats, rows: int, columns: int, via: int) -> int:
    m, shorter = len(x), 0
    for k in range(via, min(via + TILE, m)):
        through = x[k, columns : min(columns + TILE, m)]
        for i in range(rows, min(rows + TILE, m)):
            leg = x[i, k]
            row = x[i, columns : min(columns + TILE, m)]
            for j in range(len(row)):
                length = leg + through[j]
                shorter += length < row[j]
                row[j] = length if length < row[j] else row[j]
    return shorter


@part
def _mirror_tile(x: Floats, rows: int, columns: int) -> None:
    m = len(x)
    for i in range(rows, min(rows + TILE, m)):
        for j in range(columns, min(columns + TILE, m)):
            x[j, i] = x[i, j]


@entry
def lower_towards(x: Floats, goal: Floats) -> float:
    """Lower each distance of a metric that is above its goal to it, or as far as it can go as a leg of a triangle.

    Each sees what became of those before it. Returns the largest change.
    """
    m, largest = len(x), 0.0
    for i in range(m):
        for j in range(i):
            if x[i, j] <= goal[i, j]:
                continue
            least = goal[i, j]
            for k in range(m):
                if k != i and k != j:
                    least = max(least, abs(x[i, k] - x[j, k]))
            lowered = min(x[i, j], least)  # rounding may have put the least above it
            largest = max(largest, x[i, j] - lowered)
            x[i, j] = x[j, i] = lowered
    return largest


UNITS = 32766  # the range of the values, so that their differences fit
SCANNED_ROWS = 16  # rows whose 16-bit values stay in the second-level cache while the others pass by
CHUNK = 512  # columns that are tested together
SPAN = 64  # columns that are looked at in double precision together

ROW, COLUMN, COUNTED = 0, 1, 2
LIST, LIST_WORST, COUNT = 0, 1, 2  # what a scan does with violated triangles

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
    ``mode`` is LIST, LIST_WORST (for each leg only about the worst) or COUNT. ``tile`` has room for
    ``SCANNED_ROWS`` rows.
    """
    count, place, m = 0, found.place, len(rows.exact)
    while place[ROW] < end:
        begin, stop = place[ROW], min(place[ROW] + SCANNED_ROWS, end)
        load_tile(rows, begin, stop, tile)
        while place[COLUMN] < stop - 1:
            if count + SCANNED_ROWS * m > len(found.triangles) or legs <= 0:
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
                        count = count_all(rows, p, q, threshold, near, found, count)
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
def count_span(
    rows: ScanRows, p: int, q: int, threshold: float, span: tuple[int, int], found: FoundTriangles, count: int
) -> int:
    """Count the violated triangles with the shorter leg p-q and their third corner within the span."""
    near, far, leg = rows.exact[p], rows.exact[q], rows.exact[p, q]
    for j in range(span[0], span[1]):
        depth = max(near[j], far[j]) - (min(near[j], far[j]) + leg)
        if depth > threshold and is_shorter_leg(near[j], far[j], leg, p, q, j):
            found.place[COUNTED] += 1
            found.depth[0] += depth
            if depth > found.depth[-1]:
                keep_deep(p, q, j, near[j] > far[j], depth, found)
    return count


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


def _look_at_spans(visit: Callable[..., int]) -> Callable[..., int]:
    """A loop that calls ``visit`` where 16-bit values leave a violated triangle with the shorter leg p-q possible.

    With a flag instead of a loop for each visitor, listing is a tenth slower.
    """

    @part
    def look_at_spans(
        rows: ScanRows, p: int, q: int, threshold: float, near: Units, found: FoundTriangles, count: int
    ) -> int:
        """Visit spans of columns; ``near`` is row p without the columns p and q."""
        far, leg = rows.coarse[q], rows.coarse[p, q]
        for start in range(0, len(near), CHUNK):
            end = min(start + CHUNK, len(near))
            if find_widest(near[start:end], far[start:end]) >= leg:
                for begin in range(start, end, SPAN):
                    stop = min(begin + SPAN, end)
                    if find_widest(near[begin:stop], far[begin:stop]) >= leg:
                        count = visit(rows, p, q, threshold, (begin, stop), found, count)
        return count

    return cast(Callable[..., int], look_at_spans)


list_all, count_all = _look_at_spans(list_span), _look_at_spans(count_span)
