"""Repair that only lowers distances: every pair gets the length of the shortest path between its two items."""

from __future__ import annotations

from numpy.typing import ArrayLike

from graphmetric.errors import WorkBudgetExceeded
from graphmetric.jobs import effective_n_jobs
from graphmetric.metric_repair._kernels.closure import TILE, open_tile, relax_rows
from graphmetric.metric_repair.deadline import Deadline, OutOfTime
from graphmetric.metric_repair.pair_matrix import Matrix, check_matrix
from graphmetric.metric_repair.scanner import run_blocks


def shortest_path_closure(distances: ArrayLike, *, time_limit: float | None = None, n_jobs: int | None = -1) -> Matrix:
    """The largest metric that is nowhere above the given distances.

    A metric below them is below the length of every path, hence below the shortest; and shortest paths are a metric.
    So of all metrics that lower only, this one is the nearest in every norm that grows with each change. Against the
    nearest metric of all it is poor: one distance that is too small drags down every pair it is a short cut for. Use
    it where the given distances are upper bounds, and :func:`triangle_fixing` where they are estimates.

    It is a fixed point: in double precision no entry is above the rounded sum of two others, and a second closure
    changes nothing. Zero distances between different items are kept as such. Time grows with the cube of the items,
    about half a second at 1,000.

    Args:
        distances: (m, m) symmetric, non-negative, zero diagonal.
        time_limit: Seconds after which it gives up; a closure that is not finished is not a metric.
        n_jobs: Threads, -1: one per core. The result is the same for any number.
    """
    matrix = check_matrix(distances)
    try:
        close_in_place(matrix, effective_n_jobs(n_jobs), Deadline.after(time_limit))
    except OutOfTime:
        raise WorkBudgetExceeded(
            f"the shortest paths of {len(matrix):,} items were not found within {time_limit:g} s; give them more time"
        ) from None
    return matrix


_FEW_ITEMS = 500
"""Threads would wait for each other longer than they work."""


def close_in_place(
    matrix: Matrix, threads: int, deadline: Deadline | None = None, *, rounds: int | None = None
) -> None:
    """Shortest paths of a checked matrix; ``rounds`` of 1 leaves violations of the size of rounding.

    Raises:
        OutOfTime: The deadline has passed; the matrix is between the given one and the closure.
    """
    until = deadline or Deadline()
    threads = 1 if len(matrix) < _FEW_ITEMS else threads
    tiles = range(0, len(matrix), TILE)
    blocks = [range(start, start + TILE) for start in tiles]
    done = 0
    while rounds is None or done < rounds:
        shorter = 0
        for via in tiles:
            until.check()
            shorter += open_tile(matrix, via)

            def relax(rows: range, via: int = via) -> int:
                until.check()
                return int(relax_rows(matrix, via, rows.start))

            shorter += sum(run_blocks(relax, blocks, threads, until))
        done += 1
        if not shorter:  # rounding may leave more to do; every round only lowers, so this ends
            return
