"""The least possible largest change, from shortest paths.

If every distance may change by e / w, a metric is possible exactly if the largest one below d + e / w, which is its
shortest paths, is nowhere below d - e / w. Both sides are linear in e along a given path, so the least e is the root
of a convex piecewise linear function. Newton's method finds it from below in a few steps, each step with a path
as its proof: the pair at its ends and the pairs along it cannot all change less.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from graphmetric.metric_repair._kernels.closure import lower_towards
from graphmetric.metric_repair.completion import find_shortest_path
from graphmetric.metric_repair.nearness_problem import NearnessProblem
from graphmetric.metric_repair.pair_matrix import Matrix
from graphmetric.metric_repair.shortest_path_closure import close_in_place

_MOST_STEPS = 200
_SETTLED = 1e-9  # of the largest distance
_ROUNDING = 1e-13  # of the largest distance


class LeastChange(NamedTuple):
    """A metric and how much its most changed distance had to change."""

    matrix: Matrix
    bound: float
    """No metric has a smaller largest change; weighted."""
    steps: int


def find_least_change(problem: NearnessProblem, threads: int) -> LeastChange:
    """A metric with the least largest change.

    There are many. Starting from the largest of them, every distance above its given one is lowered to it as far as
    the others allow, one after the other and again, until none of them could be lowered by itself.
    """
    if len(problem.given) < 2:
        return LeastChange(problem.given, 0.0, 0)
    inverse = problem.inverse_weights if problem.inverse_weights is not None else np.ones_like(problem.given)
    change, steps = _leave_bounds(problem, inverse), 0
    while True:
        below, above = _allowed(problem, inverse, change)
        closed = above.copy()
        close_in_place(closed, threads)
        excess = below - closed
        i, j = map(int, np.unravel_index(int(excess.argmax()), excess.shape))
        steps += 1
        if excess[i, j] <= _ROUNDING * problem.largest or steps == _MOST_STEPS:
            break
        slope = _slope(problem, inverse, change, find_shortest_path(above, i, j))
        if slope == 0:  # fixed distances that contradict each other by less than the tolerance
            break
        change += float(excess[i, j]) / slope
    goal = np.maximum(problem.given, problem.lower)
    while lower_towards(closed, goal) > _SETTLED * problem.largest:
        pass
    if problem.fixed is not None:
        closed[problem.fixed] = problem.given[problem.fixed]
    return LeastChange(closed, change, steps)


def _leave_bounds(problem: NearnessProblem, inverse: Matrix) -> float:
    """The change that brings all given distances within the bounds."""
    outside = np.maximum(problem.given - problem.upper, problem.lower - problem.given)
    np.fill_diagonal(outside, 0.0)
    needed = np.divide(outside, inverse, out=np.zeros_like(outside), where=(outside > 0) & (inverse > 0))
    return float(needed.max(initial=0.0))


def _allowed(problem: NearnessProblem, inverse: Matrix, change: float) -> tuple[Matrix, Matrix]:
    """The least and the largest that every distance may be."""
    below = np.maximum(problem.given - change * inverse, problem.lower)
    above = np.minimum(problem.given + change * inverse, problem.upper)
    for limit in (below, above):
        np.fill_diagonal(limit, 0.0)
    return below, np.maximum(above, below)  # which rounding may have put in the wrong order


def _slope(problem: NearnessProblem, inverse: Matrix, change: float, path: list[int]) -> float:
    """How fast the gap between the ends of a path closes as the allowed change grows."""
    given, total = problem.given, 0.0
    for a, b in pairwise(path):
        if given[a, b] + change * inverse[a, b] < problem.upper:
            total += inverse[a, b]
    i, j = path[0], path[-1]
    return float(total + inverse[i, j] * (given[i, j] - change * inverse[i, j] > problem.lower))
