"""The dual bound: the branch bound with edge savings divided in the best way, and the exact search that rests on it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance._kernels.batch import NO_LIMIT, SearchLimits, SearchResults
from graphmetric.edit_distance._kernels.dual_pair import DualSize
from graphmetric.edit_distance._kernels.dual_search import (
    DualBounds,
    DualWork,
    allocate_dual_work,
    bound_dual,
    search_dual,
)
from graphmetric.edit_distance._kernels.packing import PackedGraphs
from graphmetric.edit_distance._kernels.workspace import allocate_workspace
from graphmetric.edit_distance.encoding import EncodedProblem
from graphmetric.edit_distance.method import (
    EditDistanceMethod,
    Guarantee,
    Solutions,
    empty_maps,
    node_counts,
    workspace_size,
)
from graphmetric.errors import InvalidArgument

_SLICE = 2
"""Tree nodes between two looks at the clock, about a millisecond at 35 nodes."""


@dataclass(frozen=True, slots=True)
class DualBound(EditDistanceMethod):
    """A lower bound close to the linear programme, and the best map met on the way.

    The branch bound gives half of the saving of every matched edge to each of its two ends. Here the division moves, by
    primal-dual steps, towards the one with the largest bound; its limit is the tightest linear relaxation that is
    known. Every step gives a valid bound. At 25 nodes a hundred steps take one to two milliseconds and close nine tenths
    of the gap between branch bound and limit.
    """

    steps: int = 200
    """How many steps at most; fewer where the bounds meet before."""

    name: ClassVar[str] = "dual"
    guarantee: ClassVar[Guarantee] = "lower bound"
    symmetric: ClassVar[bool] = False  # equal up to the rounding of single precision

    def __post_init__(self) -> None:
        if not isinstance(self.steps, int) or self.steps < 0:
            raise InvalidArgument(f"steps is {self.steps!r}; it must be a whole number that is not negative")

    def solve(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
        lower, upper, expanded = np.zeros((3, len(pairs)), dtype=np.int64)
        results = DualBounds(lower, upper, np.zeros(len(pairs)), empty_maps(problem, pairs))
        work = dual_work(problem, pairs)
        bound_dual(problem.first, problem.second, problem.tables, pairs, np.int64(self.steps), work, results)
        return Solutions(lower, upper, lower.astype(np.float64), expanded, results.node_map)


@dataclass(frozen=True, slots=True)
class DualSearch(EditDistanceMethod):
    """Branch and bound with the dual bound; above a dozen nodes far quicker than with the branch bound."""

    time_limit: float | None = None
    """Seconds of wall-clock time for each pair."""
    node_limit: int | None = None
    """Search-tree nodes for each pair; unlike time, the same on every machine."""

    name: ClassVar[str] = "dual-search"
    guarantee: ClassVar[Guarantee] = "exact"

    def solve(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
        return self.solve_within(problem, pairs, np.full(len(pairs), NO_LIMIT))

    def solve_within(self, problem: EncodedProblem, pairs: NDArray[np.int64], limits: NDArray[np.int64]) -> Solutions:
        """Search every pair; costs above its limit, in integer units, are of no interest."""
        lower, upper, expanded, finished = np.zeros((4, len(pairs)), dtype=np.int64)
        results = SearchResults(lower, upper, expanded, finished, empty_maps(problem, pairs))
        work = dual_work(problem, pairs)
        most = NO_LIMIT if self.node_limit is None else max(1, self.node_limit)
        tables = problem.tables
        if self.time_limit is None:
            search_dual(problem.first, problem.second, tables, pairs, SearchLimits(limits, 0, most, 0), work, results)
        else:
            for p in range(len(pairs)):
                row = SearchResults(*(column[p : p + 1] for column in results))
                end, allowed, resume = time.monotonic() + self.time_limit, 0, 0
                while not resume or not (row.finished[0] or allowed >= most or time.monotonic() > end):
                    allowed = min(allowed + _SLICE, most)
                    slice_ = SearchLimits(limits[p : p + 1], 0, allowed, resume)
                    search_dual(problem.first, problem.second, tables, pairs[p : p + 1], slice_, work, row)
                    resume = 1
        return Solutions(lower, upper, upper.astype(np.float64), expanded, results.node_map)


def dual_work(problem: EncodedProblem, pairs: NDArray[np.int64]) -> DualWork:
    """Working memory for the largest of the pairs."""
    first, second = node_counts(problem, pairs)
    edges = np.stack(
        [np.diff(problem.first.edge_start)[pairs[:, 0]], np.diff(problem.second.edge_start)[pairs[:, 1]]]
    )
    most_edges = int(edges.max(initial=0))
    size = DualSize(
        rows=int(np.minimum(first, second).max(initial=0)),
        columns=int(np.maximum(first, second).max(initial=0)),
        row_edges=most_edges,
        column_edges=most_edges,
    )
    degree = max(_largest_degree(problem.first), _largest_degree(problem.second))
    return allocate_dual_work(allocate_workspace(workspace_size(problem, pairs, root_only=True)), size, degree)


def _largest_degree(graphs: PackedGraphs) -> int:
    starts = np.repeat(graphs.node_start[:-1], np.diff(graphs.edge_start))
    ends = np.concatenate([starts + graphs.edge_tail, starts + graphs.edge_head])
    return int(np.bincount(ends).max(initial=0)) if len(ends) else 0
