r"""Does a matrix of distances keep the triangle inequality, and if not, where and by how much does it break it?

For three graphs the paper asks

.. math:: d(G^{(i)}, G^{(j)}) \le d(G^{(i)}, G^{(k)}) + d(G^{(k)}, G^{(j)}), \qquad (12)

and in terms of the matrix

.. math:: D(i, j) \le D(i, k) + D(j, k) \quad \forall i, j, k \in \{1, \dots, m\}. \qquad (13)

Each triple of items stands for three inequalities, one for each side as the long one; at most one of them is violated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric._foundation.limits import Deadline, effective_n_jobs
from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair._kernels.scan import TILE, ScanRows, Tally, count_rows
from graphmetric.metric_repair.pair_matrix import Matrix, check_matrix
from graphmetric.metric_repair.scanner import TriangleScanner, make_tile, run_blocks, split_rows
from graphmetric.metric_repair.shortest_path_closure import ROUNDING

_CONFIDENCE = 0.95


class ViolatedTriangle(NamedTuple):
    """D(i, j) exceeds D(i, k) + D(j, k) by ``depth``; i < j."""

    i: int
    j: int
    k: int
    depth: float


@dataclass(frozen=True, slots=True)
class TriangleViolations:
    """How a matrix breaks the triangle inequality."""

    count: int
    """Violated inequalities among those that were looked at; as many triples, since each has at most one."""
    tested: int
    """Inequalities that were looked at: all m (m - 1) (m - 2) / 2, or a sample of them."""
    total: int
    """Inequalities there are."""
    share: float
    """count / tested; 0 where there is nothing to test."""
    share_interval: tuple[float, float]
    """Holds the share among all inequalities with 95 % confidence (Clopper and Pearson); the share itself if exact."""
    max_depth: float
    """Largest D(i, j) - D(i, k) - D(j, k) that was seen; 0 where none is violated."""
    mean_depth: float
    """Over the violated ones; 0 where none is."""
    worst: tuple[ViolatedTriangle, ...]
    """The deepest, deepest first."""

    @property
    def exact(self) -> bool:
        """Whether all inequalities were looked at."""
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
    if one in 500 is, and minutes for random numbers, of which a sixth is.

    Args:
        distances: (m, m) symmetric, non-negative, zero diagonal.
        tolerance: As part of the largest distance.
        worst: How many of the deepest to list.
        sample: Look at so many random inequalities, with replacement, instead of all.
        random_state: Of the sample.
        n_jobs: Threads, -1: one per core. The result is the same for any number.

    Example:
        >>> print(triangle_violations([[0, 1, 5], [1, 0, 1], [5, 1, 0]]))
        1 of 3 triangle inequalities violated (33.333%), deepest 3, mean 3
    """
    return count_violations(
        check_matrix(distances),
        tolerance=tolerance,
        worst=worst,
        sample=sample,
        random_state=random_state,
        n_jobs=n_jobs,
    )


def count_violations(
    matrix: Matrix,
    *,
    tolerance: float = ROUNDING,
    worst: int = 10,
    sample: int | None = None,
    random_state: int | np.random.Generator | None = 0,
    n_jobs: int | None = -1,
) -> TriangleViolations:
    """The same for a matrix that passed ``check_matrix``."""
    if not tolerance >= 0 or worst < 0 or (sample is not None and sample < 1):
        raise InvalidArgument(
            "tolerance and worst must be at least 0, sample at least 1 or None; "
            f"got tolerance={tolerance}, worst={worst}, sample={sample}"
        )
    threshold = tolerance * float(matrix.max(initial=0.0))
    if sample is None or len(matrix) < 3:
        return _count_all(matrix, threshold, worst, effective_n_jobs(n_jobs))
    return _sample(matrix, threshold, worst, sample, np.random.default_rng(random_state))


def _count_all(matrix: Matrix, threshold: float, worst: int, threads: int) -> TriangleViolations:
    rows, halt = TriangleScanner(len(matrix), threads).prepare(matrix), Deadline()

    def count(block: range) -> Tally:
        return _count_block(rows, block, threshold, worst, halt)

    tallies = run_blocks(count, split_rows(len(matrix)), threads, halt)
    violated = sum(int(tally.violated[0]) for tally in tallies)
    depth = sum(float(tally.total_depth[0]) for tally in tallies)
    deepest = [
        _as_triangle(row, depth) for tally in tallies for row, depth in zip(tally.deepest, tally.depth, strict=True)
    ]
    total = _count_inequalities(len(matrix))
    share = violated / total if total else 0.0
    return _report(violated, total, total, (share, share), depth, deepest, worst)


def _count_block(rows: ScanRows, block: range, threshold: float, worst: int, halt: Deadline) -> Tally:
    room = max(worst, 1)  # the deepest is always reported
    tally = Tally(np.zeros(1, np.int64), np.zeros(1), np.zeros((room, 3), np.int32), np.zeros(room))
    tile = make_tile(len(rows.exact))
    for start in range(block.start, block.stop, TILE):  # in slices, so that an interrupt is heard
        halt.check()
        count_rows(rows, start, min(start + TILE, block.stop), threshold, tile, tally)
    return tally


def _sample(
    matrix: Matrix, threshold: float, worst: int, size: int, generator: np.random.Generator
) -> TriangleViolations:
    from scipy.stats import binomtest

    m = len(matrix)
    i = generator.integers(m, size=size)
    j = (i + generator.integers(1, m, size=size)) % m
    k = generator.integers(m - 2, size=size)
    k += k >= np.minimum(i, j)  # skip the two that are taken
    k += k >= np.maximum(i, j)
    depths = matrix[i, j] - (matrix[i, k] + matrix[j, k])
    found = np.flatnonzero(depths > threshold)
    deepest = found[np.argsort(-depths[found], kind="stable")]
    low, high = binomtest(len(found), size).proportion_ci(_CONFIDENCE, method="exact")
    sides = np.stack([np.minimum(i, j), np.maximum(i, j), k], axis=1)[deepest]
    _, first = np.unique(sides, axis=0, return_index=True)
    listed = [_as_triangle(sides[at], depths[deepest[at]]) for at in np.sort(first)[: max(worst, 1)]]
    interval = (float(low), float(high))
    return _report(len(found), size, _count_inequalities(m), interval, float(depths[found].sum()), listed, worst)


def _report(
    count: int,
    tested: int,
    total: int,
    interval: tuple[float, float],
    depth: float,
    deepest: list[ViolatedTriangle],
    worst: int,
) -> TriangleViolations:
    ranked = sorted((entry for entry in deepest if entry.depth > 0), key=lambda entry: (-entry.depth, entry))
    return TriangleViolations(
        count=count,
        tested=tested,
        total=total,
        share=count / tested if tested else 0.0,
        share_interval=interval,
        max_depth=ranked[0].depth if ranked else 0.0,
        mean_depth=depth / count if count else 0.0,
        worst=tuple(ranked[:worst]),
    )


def _as_triangle(sides: NDArray[np.integer], depth: float) -> ViolatedTriangle:
    i, j, k = sides.tolist()
    return ViolatedTriangle(i, j, k, float(depth))


def _count_inequalities(m: int) -> int:
    return m * (m - 1) * (m - 2) // 2
