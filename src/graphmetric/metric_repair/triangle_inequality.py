r"""Does a matrix of distances keep the triangle inequality, and if not, where and by how much does it break it?

For three graphs the paper asks

.. math:: d(G^{(i)}, G^{(j)}) \le d(G^{(i)}, G^{(k)}) + d(G^{(k)}, G^{(j)}), \qquad (12)

and in terms of the matrix

.. math:: D(i, j) \le D(i, k) + D(j, k) \quad \forall i, j, k \in \{1, \dots, m\}. \qquad (13)

Each triple of items has three inequalities, one for each side as the long one; at most one of them is violated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric._foundation.limits import Deadline, effective_n_jobs
from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair._kernels.triangles import (
    COUNT,
    COUNTED,
    LIST,
    LIST_WORST,
    SCANNED_ROWS,
    UNITS,
    FoundTriangles,
    ScanRows,
    quantise,
    scan_rows,
)
from graphmetric.metric_repair.nearness import ROUNDING, Floats, Matrix, check_matrix, relative_violation

Triangles = NDArray[np.int32]
Answer = TypeVar("Answer")

_CONFIDENCE = 0.95
_LIST = 1 << 16  # triangles that a block lists between two copies
_NO_END = 1 << 62
_MOST_BLOCKS = 64
_ROWS_PER_BLOCK = 32
_SLICE = 1 << 25  # columns that a kernel looks at before the clock is read: up to a tenth of a second
_MISSED_UNITS = 3  # of the 16-bit values, by which the worst triangle of a leg may be deeper than the one listed


class ViolatedTriangle(NamedTuple):
    """D(i, j) exceeds D(i, k) + D(j, k) by ``depth``; i < j."""

    i: int
    j: int
    k: int
    depth: float


@dataclass(frozen=True, slots=True)
class TriangleViolations:
    """Violations of the triangle inequality by a matrix."""

    count: int
    """Violated inequalities among those tested. A triple has at most one, so this is the number of violated triples."""
    tested: int
    """Inequalities that were tested: all m (m - 1) (m - 2) / 2, or a sample of them."""
    total: int
    """Inequalities there are."""
    share: float
    """count / tested; 0 where there is nothing to test."""
    share_interval: tuple[float, float]
    """95 % confidence interval of the share among all inequalities (Clopper and Pearson); the share itself if exact."""
    max_depth: float
    """Largest D(i, j) - D(i, k) - D(j, k) that was seen; 0 where none is violated."""
    max_violation: float
    """``max_depth`` as a part of the largest distance: what ``tolerance`` is compared with."""
    mean_depth: float
    """Mean over the violated inequalities; 0 where there are none."""
    worst: tuple[ViolatedTriangle, ...]
    """The deepest violations, deepest first."""

    @property
    def exact(self) -> bool:
        """True if all inequalities were tested."""
        return self.tested == self.total

    def __str__(self) -> str:
        if self.exact:
            counted = f"{self.count:,} of {self.total:,} triangle inequalities violated ({self.share:.3%})"
        else:
            low, high = self.share_interval
            counted = f"{self.share:.3%} of triangle inequalities violated ({low:.3%} to {high:.3%}, from a sample)"
        return f"{counted}, deepest {self.max_depth:.3g}, mean {self.mean_depth:.3g}"


def triangle_violations(
    distances: ArrayLike,
    *,
    tolerance: float = ROUNDING,
    worst: int = 10,
    sample: int | None = None,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = -1,
) -> TriangleViolations:
    """Count and measure the violated triangle inequalities.

    An inequality counts as violated if D(i, j) - (D(i, k) + D(j, k)), in double precision, is more than ``tolerance``
    times the largest distance. By default that is a trillionth: a sum of two distances that ought to be equal to a
    third may be off by its last digits.

    All inequalities of a matrix of 5,000 items, 62 billion, take 3 seconds on one core if one in 10,000 is violated, 15
    if one in 500 is, and minutes for random numbers, where a sixth of them is.

    Args:
        distances: (m, m) symmetric, non-negative, zero diagonal.
        tolerance: A part of the largest distance.
        worst: How many of the deepest violations to list.
        sample: Test this number of random inequalities, drawn with replacement, instead of all.
        random_state: Seed of the sample.
        n_jobs: Threads, -1: one per core. The result is the same for any number.

    Example:
        >>> print(triangle_violations([[0, 1, 5], [1, 0, 1], [5, 1, 0]]))
        1 of 3 triangle inequalities violated (33.333%), deepest 3, mean 3
    """
    if not tolerance >= 0 or worst < 0 or (sample is not None and sample < 1):
        raise InvalidArgument(
            "tolerance and worst must be at least 0, sample at least 1 or None; "
            f"got tolerance={tolerance}, worst={worst}, sample={sample}"
        )
    matrix = check_matrix(distances)
    largest = float(matrix.max(initial=0.0))
    total = count_inequalities(len(matrix))
    threshold = tolerance * largest
    exact = sample is None or len(matrix) < 3
    if sample is None or exact:
        scanner = TriangleScanner(len(matrix), effective_n_jobs(n_jobs))
        tested, (count, depth, sides, depths) = total, scanner.count(matrix, threshold, max(worst, 1))
    else:
        tested = sample
        sides = draw_triangles(len(matrix), sample, np.random.default_rng(random_state))
        depths = measure_depths(matrix, sides)
        sides, depths = sides[depths > threshold], depths[depths > threshold]
        count, depth = len(depths), float(depths.sum())
    share = count / tested if tested else 0.0
    ranked = _rank(sides, depths, max(worst, 1))
    deepest = ranked[0].depth if ranked else 0.0
    return TriangleViolations(
        count=count,
        tested=tested,
        total=total,
        share=share,
        share_interval=(share, share) if exact else _find_interval(count, tested),
        max_depth=deepest,
        max_violation=relative_violation(deepest, largest),
        mean_depth=depth / count if count else 0.0,
        worst=ranked[:worst],
    )


def count_inequalities(m: int) -> int:
    """The number of triangle inequalities among m items."""
    return m * (m - 1) * (m - 2) // 2


def draw_triangles(m: int, size: int, generator: np.random.Generator) -> Triangles:
    """(size, 3) random rows (i, j, k), i < j, with replacement."""
    i = generator.integers(m, size=size)
    j = (i + generator.integers(1, m, size=size)) % m
    k = generator.integers(m - 2, size=size)
    i, j = np.minimum(i, j), np.maximum(i, j)
    k += k >= i  # skip the two that are taken
    k += k >= j
    return np.stack([i, j, k], axis=1).astype(np.int32)


def measure_depths(matrix: Matrix, triangles: Triangles) -> Floats:
    """By how much the long side of each triangle (i, j, k) exceeds the sum of the others."""
    i, j, k = triangles.T
    return np.asarray(matrix[i, j] - (matrix[i, k] + matrix[j, k]))


def _rank(sides: Triangles, depths: Floats, most: int) -> tuple[ViolatedTriangle, ...]:
    """The deepest triangles, each once, ties by their corners."""
    order = np.lexsort((*sides.T[::-1], -depths))
    sides = sides[order]
    first = np.ones(len(order), dtype=bool)
    first[1:] = (sides[1:] != sides[:-1]).any(axis=1)
    chosen = np.flatnonzero(first)[:most]
    triangles = sides[chosen].tolist()
    worst = depths[order[chosen]].tolist()
    return tuple(ViolatedTriangle(i, j, k, depth) for (i, j, k), depth in zip(triangles, worst, strict=True))


def _find_interval(count: int, tested: int) -> tuple[float, float]:
    from scipy.stats import binomtest

    low, high = binomtest(count, tested).proportion_ci(_CONFIDENCE, method="exact")
    return float(low), float(high)


class Scan(NamedTuple):
    """The violated triangles that a scan found."""

    triangles: Triangles
    """(n, 3) rows (i, j, k), i < j, with x_ij > x_ik + x_jk; in an order that does not depend on the threads."""
    largest: float
    """The largest violation among them; 0 when there is none."""
    unlisted: float
    """A violation that is not listed is at most this deep, or this much deeper than the one listed at its leg."""


class TriangleScanner:
    """Finds or counts the violated triangles of m x m matrices with several threads; keeps its memory between scans."""

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
        """List triangles violated by more than ``threshold``, which is at least 0.

        ``only_worst`` lists for each pair as the shorter leg about the worst one, and may miss violations of less than
        a ten-thousandth of the largest distance. Each block of rows stops when it has ``enough``.

        Raises:
            DeadlineExceeded: The deadline has passed.
        """
        blocks = self._scan(x, threshold, LIST_WORST if only_worst else LIST, deadline or Deadline(), enough=enough)
        triangles = np.concatenate([np.empty((0, 3), np.int32), *(found.triangles for found in blocks)])
        largest = max((float(found.depth[0]) for found in blocks), default=0.0)
        return Scan(triangles, largest, threshold + (_MISSED_UNITS * self._unit if only_worst else 0.0))

    def count(
        self, x: Matrix, threshold: float, worst: int, deadline: Deadline | None = None
    ) -> tuple[int, float, Triangles, Floats]:
        """The number of violated triangles, the sum of their depths, and the ``worst`` of every block with depths."""
        blocks = self._scan(x, threshold, COUNT, deadline or Deadline(), worst=worst)
        sides = np.concatenate([np.empty((0, 3), np.int32), *(found.triangles for found in blocks)])
        depths = np.concatenate([np.empty(0), *(found.depth[1:] for found in blocks)])
        count = sum(int(found.place[COUNTED]) for found in blocks)
        return count, sum(float(found.depth[0]) for found in blocks), sides[depths > 0], depths[depths > 0]

    def _scan(
        self, x: Matrix, threshold: float, mode: int, until: Deadline, *, enough: int = _NO_END, worst: int = 1
    ) -> list[FoundTriangles]:
        """Return the violations in each block of rows: all that were listed, or the ``worst`` of those counted."""
        span = float(x.max(initial=0.0)) - min(0.0, float(x.min(initial=0.0)))
        self._unit = span / UNITS or 1.0
        quantise(x, self._unit, self._coarse, self._half_range)
        rows = ScanRows(x, self._coarse, self._half_range)
        m = len(x)
        legs = max(SCANNED_ROWS, _SLICE // max(m, 1))

        def scan(block: range) -> FoundTriangles:
            room = max(min(enough, _LIST), worst) + SCANNED_ROWS * m
            place = np.array([block.start, 0, 0])
            found = FoundTriangles(np.empty((room, 3), np.int32), place, np.zeros(1 + worst))
            tile = np.empty((SCANNED_ROWS, m), np.int16)
            parts = [found.triangles[:0]]
            total = 0
            while place[0] < block.stop and total < enough:
                until.check()
                count = scan_rows(rows, block.stop, threshold, mode, legs, tile, found)
                parts.append(found.triangles[:count].copy())
                total += count
            listed = found.triangles[:worst].copy() if mode == COUNT else np.concatenate(parts)
            return found._replace(triangles=listed)  # the next block takes the same room, which is in the cache

        return run_blocks(scan, _split_rows(m), self.threads, until)


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


def _split_rows(m: int) -> list[range]:
    """Blocks of rows with about the same number of pairs each. They do not depend on the number of threads."""
    count = min(_MOST_BLOCKS, m // _ROWS_PER_BLOCK + 1)
    edges = np.unique((m * np.sqrt(np.linspace(0, 1, count + 1))).round().astype(int))
    return [range(begin, end) for begin, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
