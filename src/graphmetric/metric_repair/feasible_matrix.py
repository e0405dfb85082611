"""From a matrix that nearly keeps the triangle inequality to one that does."""

from __future__ import annotations

import numpy as np

from graphmetric.metric_repair._kernels.sweeps import lower_long_sides
from graphmetric.metric_repair.completion import complete_fixed
from graphmetric.metric_repair.nearness_problem import NearnessProblem
from graphmetric.metric_repair.pair_matrix import Matrix
from graphmetric.metric_repair.scanner import TriangleScanner
from graphmetric.metric_repair.shortest_path_closure import shortest_path_closure

ROUNDING = 1e-12
"""Times the largest distance: violations up to this are rounding, not violations."""

_RAISE = 2  # from one trial to the next


def close_paths(problem: NearnessProblem, x: Matrix, scanner: TriangleScanner, *, near: bool) -> Matrix:
    """Lower distances to shortest paths until no triangle is violated by more than rounding.

    If ``near``, that is, if little is to be done, a handful of scans; otherwise the m^3 steps that any matrix takes.
    """
    closed = keep_bounds(problem, x)
    if not near:
        return shortest_path_closure(closed)
    while len(found := scanner.find(closed, ROUNDING * problem.largest).triangles):
        while lower_long_sides(found, closed):
            pass
    return closed


def raise_free(problem: NearnessProblem, x: Matrix, scanner: TriangleScanner, tolerance: float) -> Matrix:
    """Raise the free distances, all by the same, until shortest paths leave the fixed ones alone.

    Shortest paths of ``x`` itself might lower a fixed distance. The last resort is a metric that has the fixed
    distances and nothing in common with ``x``.
    """
    assert problem.fixed is not None
    by = scanner.find(x, tolerance * problem.largest, only_worst=True).largest
    while by < problem.largest:
        raised = np.where(problem.fixed, problem.given, x + by)
        closed = close_paths(problem, raised, scanner, near=False)
        if (problem.given - closed).max(where=problem.fixed, initial=0.0) <= ROUNDING * problem.largest:
            return np.where(problem.fixed, problem.given, closed)
        by = _RAISE * max(by, tolerance * problem.largest)
    return complete_fixed(problem, scanner, tolerance)


def keep_bounds(problem: NearnessProblem, x: Matrix) -> Matrix:
    """A copy within the bounds, which the repair respects in the end but not on the way."""
    kept = x.clip(problem.lower, problem.upper)
    np.fill_diagonal(kept, 0.0)
    return kept
