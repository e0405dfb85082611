"""From a matrix that nearly keeps the triangle inequality to one that does."""

from __future__ import annotations

import numpy as np

from graphmetric.metric_repair._kernels.sweeps import lower_long_sides
from graphmetric.metric_repair.completion import complete_fixed
from graphmetric.metric_repair.deadline import Deadline
from graphmetric.metric_repair.nearness_problem import NearnessProblem
from graphmetric.metric_repair.pair_matrix import Matrix
from graphmetric.metric_repair.scanner import Scan, TriangleScanner
from graphmetric.metric_repair.shortest_path_closure import close_in_place

ROUNDING = 1e-12
"""Times the largest distance: violations up to this are rounding, not violations."""

_RAISE = 2  # from one trial to the next


def close_paths(
    problem: NearnessProblem, x: Matrix, scanner: TriangleScanner, deadline: Deadline, *, near: bool
) -> Matrix:
    """Lower distances to shortest paths until no triangle is violated by more than rounding.

    If ``near``, that is, if little is to be done, a handful of scans; otherwise the m^3 steps that any matrix takes.
    """
    closed = keep_bounds(problem, x)
    if not near:
        close_in_place(closed, scanner.threads, deadline, rounds=1)
        return closed
    while len(found := scanner.find(closed, ROUNDING * problem.largest, deadline=deadline).triangles):
        while lower_long_sides(found, closed):
            pass
    return closed


def raise_free(
    problem: NearnessProblem, x: Matrix, scanner: TriangleScanner, tolerance: float, deadline: Deadline
) -> Matrix:
    """Raise the free distances, all by the same, until shortest paths leave the fixed ones alone.

    Shortest paths of ``x`` itself might lower a fixed distance. The last resort is a metric that has the fixed
    distances and nothing in common with ``x``.
    """
    assert problem.fixed is not None
    by = scanner.find(x, tolerance * problem.largest, only_worst=True, deadline=deadline).largest
    while by < problem.largest:
        raised = np.where(problem.fixed, problem.given, x + by)
        closed = close_paths(problem, raised, scanner, deadline, near=False)
        if (problem.given - closed).max(where=problem.fixed, initial=0.0) <= ROUNDING * problem.largest:
            return np.where(problem.fixed, problem.given, closed)
        by = _RAISE * max(by, tolerance * problem.largest)
    return complete_fixed(problem, scanner, tolerance, deadline)


def raise_corners(problem: NearnessProblem, x: Matrix, scan: Scan) -> Matrix:
    """A metric in m^2 steps, x_ij + r_i + r_j with r_k half the deepest violation at corner k; overwrites ``x``.

    The way i - k - j becomes longer by r_i + r_j + 2 r_k, the distance of i and j by r_i + r_j only.
    """
    rise = np.full(len(x), scan.unlisted)
    i, j, k = scan.triangles.T
    depth = x[i, j] - x[i, k] - x[j, k] + scan.unlisted
    for corner in (i, j, k):  # a scan lists one triangle of a leg; others may have either of its ends as their corner
        np.maximum.at(rise, corner, depth)
    x += rise[:, None] / 2
    x += rise / 2
    return keep_bounds(problem, x, own=True)


def raise_to_half(problem: NearnessProblem, x: Matrix) -> Matrix:
    """A metric from nothing: where no distance is below half of the largest, no way round is shorter."""
    kept = keep_bounds(problem, x)
    np.maximum(kept, kept.max(initial=0.0) / 2, out=kept)
    np.fill_diagonal(kept, 0.0)
    return kept


def keep_bounds(problem: NearnessProblem, x: Matrix, *, own: bool = False) -> Matrix:
    """Within the bounds, which the repair respects in the end but not on the way; a copy unless it is our ``own``."""
    kept = np.clip(x, problem.lower, problem.upper, out=x if own else None)
    np.fill_diagonal(kept, 0.0)
    return kept
