"""Fixed distances as part of a metric, if they can be."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair.deadline import Deadline
from graphmetric.metric_repair.nearness_problem import NearnessProblem
from graphmetric.metric_repair.pair_matrix import Matrix
from graphmetric.metric_repair.scanner import TriangleScanner
from graphmetric.metric_repair.shortest_path_closure import close_in_place


def complete_fixed(
    problem: NearnessProblem, scanner: TriangleScanner, tolerance: float, deadline: Deadline | None = None
) -> Matrix:
    """A metric within the bounds that has the fixed distances; it is nowhere near the others.

    Raises if a fixed distance is longer than a path over fixed ones by more than ``tolerance`` times the largest
    distance. Otherwise shortest paths are such a metric. Bounds need no second look: with every free pair as long as
    the longest fixed one, no path over it is a short cut, and no distance leaves the range of the fixed ones.
    """
    assert problem.fixed is not None
    longest = problem.given.max(where=problem.fixed, initial=0.0)
    lengths = np.where(problem.fixed, problem.given, longest)
    np.fill_diagonal(lengths, 0.0)
    if not len(scanner.find(lengths, tolerance * problem.largest, enough=1, deadline=deadline).triangles):
        return lengths
    closed = lengths.copy()
    close_in_place(closed, scanner.threads, deadline)
    excess = np.where(problem.fixed, lengths - closed, 0.0)
    i, j = map(int, np.unravel_index(int(excess.argmax()), excess.shape))
    if excess[i, j] > tolerance * problem.largest:
        raise InvalidArgument(_describe_contradiction(lengths * problem.scale, i, j))
    return np.where(problem.fixed, lengths, closed)


def _describe_contradiction(lengths: Matrix, i: int, j: int) -> str:
    path = find_shortest_path(lengths, i, j)
    steps = " + ".join(f"[{a}, {b}] = {lengths[a, b]:g}" for a, b in pairwise(path))
    what = "triangle" if len(path) == 3 else "path"
    return (
        f"the fixed distances contradict each other: [{i}, {j}] = {lengths[i, j]:g} is longer than the other sides of "
        f"the {what} {' - '.join(map(str, path))}, {steps}; free one of them, or repair the fixed part first"
    )


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
