"""Count violated triangle inequalities, sum their depths and keep the deepest."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import entry, hot_part, part
from graphmetric.metric_repair._kernels.scan import (
    CHUNK,
    SPAN,
    TILE,
    ScanRows,
    Units,
    find_widest,
    is_shorter_leg,
    load_tile,
    write_triangle,
)

Floats = NDArray[np.float64]


class Tally(NamedTuple):
    """What a count found."""

    violated: NDArray[np.int64]  # one entry
    total_depth: Floats  # one entry
    deepest: NDArray[np.int32]  # (room, 3) rows (i, j, k), the deepest first
    depth: Floats  # (room,) of those, 0 where there is none


@entry
def count_rows(rows: ScanRows, begin: int, end: int, threshold: float, tile: Units, tally: Tally) -> None:
    """Count triangles violated by more than ``threshold`` whose shorter leg p-q, q < p, has begin <= p < end."""
    for first in range(begin, end, TILE):
        stop = min(first + TILE, end)
        load_tile(rows, first, stop, tile)
        for q in range(stop - 1):
            for p in range(max(first, q + 1), stop):
                leg = rows.coarse[p, q]
                if leg < max(rows.half_range[p], rows.half_range[q]):
                    near = tile[p - first]
                    near[p], near[q] = leg, 0  # the columns p and q are no triangles
                    count_leg(rows, p, q, threshold, near, tally)
                    near[q] = leg


@part
def count_leg(rows: ScanRows, p: int, q: int, threshold: float, near: Units, tally: Tally) -> None:
    """Violated triangles with the shorter leg p-q; ``near`` is row p without the columns p and q."""
    far, leg = rows.coarse[q], rows.coarse[p, q]
    for start in range(0, len(near), CHUNK):
        end = min(start + CHUNK, len(near))
        if find_widest(near[start:end], far[start:end]) >= leg:
            for begin in range(start, end, SPAN):
                stop = min(begin + SPAN, end)
                if find_widest(near[begin:stop], far[begin:stop]) >= leg:
                    count_span(rows, p, q, threshold, (begin, stop), tally)


@part
def count_span(rows: ScanRows, p: int, q: int, threshold: float, span: tuple[int, int], tally: Tally) -> None:
    """Those whose third corner is within the span."""
    near, far, leg = rows.exact[p], rows.exact[q], rows.exact[p, q]
    for j in range(span[0], span[1]):
        depth = measure_depth(near[j], far[j], leg)
        if depth > threshold and is_shorter_leg(near[j], far[j], leg, p, q, j):
            tally.violated[0] += 1
            tally.total_depth[0] += depth
            if depth > tally.depth[-1]:
                keep_deep(p, q, j, near[j] > far[j], depth, tally)


@hot_part
def measure_depth(near: float, far: float, leg: float) -> float:
    """By how much the longest of three sides exceeds the sum of the others, which is rounded first."""
    return max(near, far) - (min(near, far) + leg)


@part
def keep_deep(p: int, q: int, j: int, near_is_long: bool, depth: float, tally: Tally) -> None:
    """Insert a triangle among the deepest; the last one falls off."""
    place = len(tally.depth) - 1
    while place > 0 and tally.depth[place - 1] < depth:
        tally.depth[place] = tally.depth[place - 1]
        for side in range(3):
            tally.deepest[place, side] = tally.deepest[place - 1, side]
        place -= 1
    tally.depth[place] = depth
    write_triangle(tally.deepest[place], p, q, j, near_is_long)
