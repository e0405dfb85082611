"""The loops that change distances: sweeps of triangle fixing, and shortest paths.

Triangle fixing is projected over-relaxation (Hildreth, Dykstra) over a list of triangle constraints. The pairs that
occur in the list are numbered in the order in which a sweep meets them, and their values lie side by side: that is
several times as compact as the matrix, so that a sweep finds them in the cache.
"""

from __future__ import annotations

from typing import NamedTuple

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
def order_triangles(triangles: NDArray[np.int32], m: int, keys: NDArray[np.int64]) -> None:
    """Keys by which triangles are sorted: corners a < b < c, then which of them is opposite the long side.

    In this order a sweep goes along two rows of the matrix at a time.
    """
    for t in range(len(triangles)):
        i, j, k = np.int64(triangles[t, 0]), np.int64(triangles[t, 1]), np.int64(triangles[t, 2])
        if k < i:
            keys[t] = ((k * m + i) * m + j) * 3
        elif k < j:
            keys[t] = ((i * m + k) * m + j) * 3 + 1
        else:
            keys[t] = ((i * m + j) * m + k) * 3 + 2


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
def certify_triangles(x: Floats, z: Floats) -> tuple[float, float]:
    """The largest violation, and the sum over all triangles of multiplier times violation.

    That sum is the lower bound of the objective minus the objective. ``x`` is read above its diagonal only.
    """
    m, t, violation, slackness = len(x), 0, -np.inf, 0.0
    for i in range(m):
        for j in range(i + 1, m):
            for k in range(j + 1, m):
                first = x[i, j] - x[i, k] - x[j, k]
                second = x[i, k] - x[i, j] - x[j, k]
                third = x[j, k] - x[i, j] - x[i, k]
                violation = max(violation, first, second, third)
                slackness += z[t] * first + z[t + 1] * second + z[t + 2] * third
                t += 3
    return violation, slackness


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
