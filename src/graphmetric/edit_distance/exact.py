"""Exact search, stoppable at any time."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance._kernels.batch import NO_LIMIT, SearchLimits, SearchResults, search_pairs
from graphmetric.edit_distance._kernels.workspace import Workspace, allocate_workspace
from graphmetric.edit_distance.branch import BranchBound, LocalSearch
from graphmetric.edit_distance.encoding import EncodedProblem
from graphmetric.edit_distance.method import (
    EditDistanceMethod,
    Guarantee,
    Solutions,
    empty_maps,
    merged,
    smaller_sizes,
    workspace_size,
)
from graphmetric.errors import InvalidArgument

LARGEST_SEARCHED = 300
"""Nodes; the search keeps a matrix per level, 70 MB in all at this size."""
_LARGEST_IMPROVED = 100
_EFFORT = 100
"""Local search after a search that was stopped: a millisecond or two at 25 nodes."""
_SLICE = 20_000
"""Tree nodes between two looks at the clock, a few hundredths of a second."""


@dataclass(frozen=True, slots=True)
class ExactSearch(EditDistanceMethod):
    """Depth-first branch and bound with the anchored branch bound.

    Stopped early, it still returns a valid lower and upper bound and the best node map so far. Where the smaller graph
    of a pair has more than :data:`LARGEST_SEARCHED` nodes, only the bounds at the root are computed.

    Example:
        >>> ExactSearch(time_limit=1.0, upper_bound=5)
        ExactSearch(time_limit=1.0, node_limit=None, upper_bound=5, decide=False)
    """

    time_limit: float | None = None
    """Seconds of wall-clock time for each pair."""
    node_limit: int | None = None
    """Search-tree nodes for each pair; unlike time, the same on every machine."""
    upper_bound: float | None = None
    """Distances above this are of no interest: the search ends once the distance is proven to be larger."""
    decide: bool = False
    """End as soon as it is known whether the distance is at most ``upper_bound``."""

    name: ClassVar[str] = "exact"
    guarantee: ClassVar[Guarantee] = "exact"

    def __post_init__(self) -> None:
        for name in ("time_limit", "node_limit", "upper_bound"):
            limit = getattr(self, name)
            if limit is not None and not limit >= 0:
                raise InvalidArgument(f"{name} is {limit!r}; it must be a number that is not negative, or None")
        if self.decide and self.upper_bound is None:
            raise InvalidArgument("decide=True asks whether the distance is at most upper_bound: give upper_bound")

    def solve(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
        large = smaller_sizes(problem, pairs) > LARGEST_SEARCHED
        if not large.any():
            return self._search(problem, pairs)
        found, bounds = self._search(problem, pairs[~large]), BranchBound().solve(problem, pairs[large])
        return merged(pairs, large, bounds, found)

    def _search(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
        results = _room_for(problem, pairs)
        work = allocate_workspace(workspace_size(problem, pairs))
        if self.time_limit is None:
            limits = self._limits(problem, len(pairs), self._node_limit, resume=False)
            search_pairs(problem.first, problem.second, problem.tables, pairs, limits, work, results)
        else:
            for p in range(len(pairs)):
                self._search_by_the_clock(problem, pairs[p : p + 1], work, _row(results, p))
        _improve_open(problem, pairs, results)
        value = results.upper.astype(np.float64)
        return Solutions(results.lower, results.upper, value, results.expanded, results.node_map)

    @property
    def _node_limit(self) -> int:
        return NO_LIMIT if self.node_limit is None else max(1, self.node_limit)

    def _limits(self, problem: EncodedProblem, count: int, max_expanded: int, resume: bool) -> SearchLimits:
        cutoff = NO_LIMIT if self.upper_bound is None else min(NO_LIMIT, math.floor(self.upper_bound * problem.scale))
        return SearchLimits(np.full(count, cutoff), int(self.decide), max_expanded, int(resume))

    def _search_by_the_clock(
        self, problem: EncodedProblem, pair: NDArray[np.int64], work: Workspace, results: SearchResults
    ) -> None:
        """Search one pair in slices, looking at the clock between them."""
        assert self.time_limit is not None
        end = time.monotonic() + self.time_limit
        expanded, resume = 0, False
        while True:
            expanded = min(expanded + _SLICE, self._node_limit)
            limits = self._limits(problem, 1, expanded, resume)
            search_pairs(problem.first, problem.second, problem.tables, pair, limits, work, results)
            resume = True
            if results.finished[0] or expanded == self._node_limit or time.monotonic() > end:
                return


def _improve_open(problem: EncodedProblem, pairs: NDArray[np.int64], results: SearchResults) -> None:
    """A depth-first search that was stopped has seen one corner of the tree; local search sees more of it."""
    small = smaller_sizes(problem, pairs) <= _LARGEST_IMPROVED
    (unfinished,) = np.nonzero((results.finished == 0) & small)
    if not len(unfinished):
        return
    found = LocalSearch(effort=_EFFORT).solve(problem, np.ascontiguousarray(pairs[unfinished]))
    assert found.upper is not None
    assert found.node_map is not None
    better = found.upper < results.upper[unfinished]
    rows = unfinished[better]
    results.upper[rows] = found.upper[better]
    results.node_map[rows, : found.node_map.shape[1]] = found.node_map[better]
    results.node_map[rows, found.node_map.shape[1] :] = -1


def _room_for(problem: EncodedProblem, pairs: NDArray[np.int64]) -> SearchResults:
    lower, upper, expanded, finished = np.zeros((4, len(pairs)), dtype=np.int64)
    return SearchResults(lower, upper, expanded, finished, empty_maps(problem, pairs))


def _row(results: SearchResults, p: int) -> SearchResults:
    return SearchResults(*(column[p : p + 1] for column in results))
