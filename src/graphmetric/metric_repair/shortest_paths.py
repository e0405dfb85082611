"""Metrics from shortest paths: the repair that only lowers distances, and the last step of every other repair.

The length of the shortest path between two items is a metric, the largest that is nowhere above the given lengths.
:func:`shortest_path_closure` is that metric. The other functions turn a matrix that nearly keeps the triangle
inequality into one that does, also where some distances are fixed and where there is little time.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike

from graphmetric._foundation.limits import Deadline, DeadlineExceeded, clock, effective_n_jobs
from graphmetric._foundation.options import checked_number
from graphmetric.errors import InvalidArgument, WorkBudgetExceeded
from graphmetric.metric_repair._kernels.triangles import TILE, lower_long_sides, open_tile, relax_rows
from graphmetric.metric_repair.nearness import ROUNDING, Matrix, NearnessProblem, check_matrix
from graphmetric.metric_repair.triangle_inequality import Scan, TriangleScanner, measure_depths, run_blocks

_FEW_ITEMS = 500  # threads would wait for each other longer than they work
_TRIAL = 288  # items
_RAISE = 2  # from one trial to the next


def shortest_path_closure(distances: ArrayLike, *, time_limit: float | None = None, n_jobs: int | None = -1) -> Matrix:
    """The largest metric that is nowhere above the given distances.

    A metric below them is below the length of every path, hence below the shortest; and shortest paths are a metric.
    So of all metrics that only lower distances, this one is the nearest in every norm that grows with each change.
    Against the nearest metric of all it is poor: one distance that is too small drags down every pair it is a short
    cut for. Use it where the given distances are upper bounds, and :func:`triangle_fixing` where they are estimates.

    It is a fixed point: in double precision no entry is above the rounded sum of two others, and a second closure
    changes nothing. Zero distances between different items are kept as such. Time grows with the cube of the items,
    about half a second at 1,000.

    Args:
        distances: (m, m) symmetric, non-negative, zero diagonal.
        time_limit: Seconds after which it gives up; a closure that is not finished is not a metric.
        n_jobs: Threads, -1: one per core. The result is the same for any number.
    """
    if time_limit is not None:
        checked_number(time_limit, "time_limit", "at least 0 seconds, or None")
    matrix = check_matrix(distances)
    matrix = matrix.copy() if matrix is distances else matrix
    try:
        close_in_place(matrix, effective_n_jobs(n_jobs), Deadline.after(time_limit))
    except DeadlineExceeded:
        raise WorkBudgetExceeded(
            f"the shortest paths of {len(matrix):,} items were not found within {time_limit:g} s; give them more time"
        ) from None
    return matrix


def close_in_place(matrix: Matrix, threads: int, deadline: Deadline | None = None, *, once: bool = False) -> None:
    """Replace distances by shortest paths; ``once`` leaves violations of the size of rounding errors.

    Raises:
        DeadlineExceeded: The deadline has passed; the matrix is between the given one and the closure.
    """
    until = deadline or Deadline()
    threads = 1 if len(matrix) < _FEW_ITEMS else threads
    tiles = range(0, len(matrix), TILE)
    blocks = [range(start, start + TILE) for start in tiles]
    shorter = 1
    while shorter:  # rounding may leave more to do; every round only lowers, so this ends
        shorter = 0
        for via in tiles:
            until.check()
            shorter += open_tile(matrix, via)

            def relax(rows: range, via: int = via) -> int:
                until.check()
                return int(relax_rows(matrix, via, rows.start))

            shorter += sum(run_blocks(relax, blocks, threads, until))
        if once:
            return


def time_closure(threads: int) -> float:
    """Seconds that shortest paths take, divided by the cube of the items, from a small trial."""
    started = clock()
    close_in_place(np.ones((_TRIAL, _TRIAL)), threads, once=True)
    return (clock() - started) / _TRIAL**3


def find_shortest_path(lengths: Matrix, start: int, end: int) -> list[int]:
    """The items on a shortest path, both ends included (Dijkstra on a dense matrix)."""
    reached = np.full(len(lengths), np.inf)
    before = np.full(len(lengths), start)
    reached[start] = 0.0
    open_items = np.ones(len(lengths), dtype=bool)
    while open_items[end]:
        nearest = int(np.where(open_items, reached, np.inf).argmin())
        open_items[nearest] = False
        ways = reached[nearest] + lengths[nearest]
        shorter = ways < reached
        reached[shorter], before[shorter] = ways[shorter], nearest
    path = [end]
    while path[-1] != start:
        path.append(int(before[path[-1]]))
    return path[::-1]


def complete_fixed(
    problem: NearnessProblem, scanner: TriangleScanner, tolerance: float, deadline: Deadline | None = None
) -> tuple[Matrix, float]:
    """A metric within the bounds that has the fixed distances; its other distances may be far from the given ones.

    Also gives the largest violation, which only fixed distances that contradict each other within the tolerance leave.

    Raises InvalidArgument if a fixed distance is longer than a path over fixed ones by more than ``tolerance`` times
    the largest fixed distance. Otherwise shortest paths are such a metric. Bounds need no second look: with every free
    pair as long as the longest fixed one, no path over it is a short cut, and no distance leaves the range of the
    fixed ones.
    """
    assert problem.fixed is not None
    longest = problem.given.max(where=problem.fixed, initial=0.0)
    lengths = np.where(problem.fixed, problem.given, longest)
    np.fill_diagonal(lengths, 0.0)
    *_, depths = scanner.count(lengths, ROUNDING * longest, 1, deadline)
    violation = float(depths.max(initial=0.0))
    if violation <= tolerance * longest:
        return lengths, violation
    closed = lengths.copy()
    close_in_place(closed, scanner.threads, deadline)
    excess = np.where(problem.fixed, lengths - closed, 0.0)
    i, j = map(int, np.unravel_index(int(excess.argmax()), excess.shape))
    if excess[i, j] > tolerance * longest:
        raise InvalidArgument(_describe_contradiction(lengths * problem.scale, i, j))
    return np.where(problem.fixed, lengths, closed), float(excess[i, j])


def _describe_contradiction(lengths: Matrix, i: int, j: int) -> str:
    path = find_shortest_path(lengths, i, j)
    steps = " + ".join(f"[{a}, {b}] = {lengths[a, b]:g}" for a, b in pairwise(path))
    what = "triangle" if len(path) == 3 else "path"
    return (
        f"the fixed distances contradict each other: [{i}, {j}] = {lengths[i, j]:g} is longer than the other sides of "
        f"the {what} {' - '.join(map(str, path))}, {steps}; free one of them, or repair the fixed part first"
    )


def close_paths(
    problem: NearnessProblem, x: Matrix, scanner: TriangleScanner, deadline: Deadline, *, near: bool
) -> Matrix:
    """Lower distances to shortest paths until no triangle is violated by more than rounding.

    If ``near``, that is, if there is little to do, this takes a handful of scans; otherwise m^3 steps.
    """
    closed = keep_bounds(problem, x)
    if not near:
        close_in_place(closed, scanner.threads, deadline, once=True)
        return closed
    while True:
        rounding = ROUNDING * float(closed.max(initial=0.0))
        found = scanner.find(closed, rounding, deadline=deadline).triangles
        if not len(found):
            return closed
        while lower_long_sides(found, closed):
            pass


def raise_free(
    problem: NearnessProblem, x: Matrix, scanner: TriangleScanner, tolerance: float, deadline: Deadline
) -> tuple[Matrix, float]:
    """Raise all free distances by the same amount until shortest paths leave the fixed ones alone.

    Also gives the largest violation, see :func:`complete_fixed`.

    Shortest paths of ``x`` itself might lower a fixed distance. The last resort is a metric that has the fixed
    distances and nothing in common with ``x``.
    """
    assert problem.fixed is not None
    by = scanner.find(x, tolerance * problem.largest, only_worst=True, deadline=deadline).largest
    while by < problem.largest:
        raised = np.where(problem.fixed, problem.given, x + by)
        closed = close_paths(problem, raised, scanner, deadline, near=False)
        lowered = (problem.given - closed).max(where=problem.fixed, initial=0.0)
        if lowered <= ROUNDING * float(closed.max(initial=0.0)):
            return np.where(problem.fixed, problem.given, closed), 0.0
        by = _RAISE * max(by, tolerance * problem.largest)
    return complete_fixed(problem, scanner, tolerance, deadline)


def raise_corners(problem: NearnessProblem, x: Matrix, scan: Scan) -> Matrix:
    """A metric in m^2 steps, x_ij + r_i + r_j with r_k half the deepest violation at corner k; overwrites ``x``.

    The way i - k - j becomes longer by r_i + r_j + 2 r_k, the distance of i and j by r_i + r_j only.
    """
    rise = np.full(len(x), scan.unlisted)
    depth = measure_depths(x, scan.triangles) + scan.unlisted
    for corner in scan.triangles.T:  # a scan lists one triangle of a leg; others may have either end as their corner
        np.maximum.at(rise, corner, depth)
    x += rise[:, None] / 2
    x += rise / 2
    return keep_bounds(problem, x, out=x)


def raise_to_half(problem: NearnessProblem, x: Matrix) -> Matrix:
    """A metric that takes no search: where no distance is below half of the largest, no way round is shorter."""
    kept = keep_bounds(problem, x)
    np.maximum(kept, kept.max(initial=0.0) / 2, out=kept)
    np.fill_diagonal(kept, 0.0)
    return kept


def keep_bounds(problem: NearnessProblem, x: Matrix, out: Matrix | None = None) -> Matrix:
    """Clip distances to the bounds, which a repair respects in the end but not on the way."""
    kept = np.clip(x, problem.lower, problem.upper, out=out)
    np.fill_diagonal(kept, 0.0)
    return kept
