"""All violated triangle inequalities of a matrix, found by several threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.limits import Deadline
from graphmetric.metric_repair._kernels.scan import TILE, UNITS, FoundTriangles, ScanRows, quantise, scan_rows
from graphmetric.metric_repair.pair_matrix import Matrix

Triangles = NDArray[np.int32]
Answer = TypeVar("Answer")

_LIST = 1 << 16  # triangles that a block lists between two copies
_NO_END = 1 << 62
_MOST_BLOCKS = 64
_ROWS_PER_BLOCK = 32
_SLICE = 1 << 25  # columns that a kernel looks at before the clock is read: up to a tenth of a second
_MISSED_UNITS = 3  # of the 16-bit values, by which the worst triangle of a leg may be deeper than the one listed


class Scan(NamedTuple):
    """What a scan found."""

    triangles: Triangles
    """(n, 3) rows (i, j, k), i < j, with x_ij > x_ik + x_jk; in an order that does not depend on the threads."""
    largest: float
    """The largest violation among them; 0 when there is none."""
    unlisted: float
    """A violation that is not listed is at most so deep, or so much deeper than the one listed at its leg."""


class TriangleScanner:
    """Looks for violated triangles of m x m matrices; keeps its room between scans."""

    def __init__(self, m: int, threads: int) -> None:
        self.threads = threads
        self._coarse = np.empty((m, m), np.int16)
        self._half_range = np.empty(m, np.int16)
        self._unit = 1.0

    def find(
        self,
        x: Matrix,
        threshold: float,
        *,
        only_worst: bool = False,
        enough: int = _NO_END,
        deadline: Deadline | None = None,
    ) -> Scan:
        """Triangles violated by more than ``threshold``, at least 0.

        ``only_worst`` lists for each pair as the shorter leg about the worst one, and may miss violations of less than
        a ten-thousandth of the largest distance. Each block of rows stops when it has ``enough``.

        Raises:
            OutOfTime: The deadline has passed.
        """
        rows, until = self.prepare(x), deadline or Deadline()

        def search(block: range) -> Scan:
            return _search_block(rows, block, threshold, only_worst, enough, until)

        scans = run_blocks(search, split_rows(len(x)), self.threads, until)
        triangles = np.concatenate([np.empty((0, 3), np.int32), *(scan.triangles for scan in scans)])
        missed = _MISSED_UNITS * self._unit if only_worst else 0.0
        return Scan(triangles, max((scan.largest for scan in scans), default=0.0), threshold + missed)

    def prepare(self, x: Matrix) -> ScanRows:
        """The matrix in both precisions; overwrites what was prepared before."""
        span = float(x.max(initial=0.0)) - min(0.0, float(x.min(initial=0.0)))
        self._unit = span / UNITS or 1.0
        quantise(x, self._unit, self._coarse, self._half_range)
        return ScanRows(x, self._coarse, self._half_range)


def split_rows(m: int) -> list[range]:
    """Blocks of rows with about as many pairs each, the same for any number of threads."""
    count = min(_MOST_BLOCKS, m // _ROWS_PER_BLOCK + 1)
    edges = np.unique((m * np.sqrt(np.linspace(0, 1, count + 1))).round().astype(int))
    return [range(begin, end) for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]


def run_blocks(
    work: Callable[[range], Answer], blocks: Sequence[range], threads: int, deadline: Deadline
) -> list[Answer]:
    """The answers in the order of the blocks; an interrupt, or an error, ends the other blocks where they are."""
    if threads == 1 or len(blocks) == 1:
        return [work(block) for block in blocks]
    pool = ThreadPoolExecutor(threads)
    try:
        return list(pool.map(work, blocks))
    except BaseException:
        deadline.stopped = True
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        deadline.stopped = False


def make_tile(m: int) -> NDArray[np.int16]:
    """Room for the rows that a block is at."""
    return np.empty((TILE, m), np.int16)


def _search_block(
    rows: ScanRows, block: range, threshold: float, only_worst: bool, enough: int, deadline: Deadline
) -> Scan:
    m = len(rows.exact)
    place = np.array([block.start, 0])
    found = FoundTriangles(np.empty((min(enough, _LIST) + TILE * m, 3), np.int32), place, np.zeros(1))
    tile, legs, parts, total = make_tile(m), max(TILE, _SLICE // max(m, 1)), [], 0
    while place[0] < block.stop and total < enough:
        deadline.check()
        count = scan_rows(rows, block.stop, threshold, only_worst, legs, tile, found)
        parts.append(found.triangles[:count].copy())
        total += count
    return Scan(np.concatenate([np.empty((0, 3), np.int32), *parts]), float(found.largest[0]), threshold)
