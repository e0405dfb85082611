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
from graphmetric.edit_distance.beam import BeamSearch
from graphmetric.edit_distance.branch import BranchBound
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
_LARGEST_EASY = 12
"""Nodes up to which searching at once is quicker than a beam search before it."""
_BEAM_WIDTH = 100
"""Of the beam search whose map the exact search has to beat: three milliseconds at 35 nodes."""
_SLICE = 1_000
"""Tree nodes between two looks at the clock, a few milliseconds."""


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
        sizes = smaller_sizes(problem, pairs)
        large = sizes > LARGEST_SEARCHED
        if large.any():
            return merged(large, BranchBound().solve(problem, pairs[large]), self.solve(problem, pairs[~large]))
        hard = sizes > _LARGEST_EASY
        if hard.any() and not hard.all():
            return merged(hard, self.solve(problem, pairs[hard]), self.solve(problem, pairs[~hard]))
        if not hard.any():
            return self._search(problem, pairs, np.full(len(pairs), NO_LIMIT))
        ahead = BeamSearch(_BEAM_WIDTH).solve(problem, pairs)
        assert ahead.upper is not None
        return _better_of(ahead, self._search(problem, pairs, ahead.upper))

    def _search(self, problem: EncodedProblem, pairs: NDArray[np.int64], known: NDArray[np.int64]) -> Solutions:
        """Search for maps that cost less than ``known``, which says what some other map costs."""
        results = _room_for(problem, pairs)
        work = allocate_workspace(workspace_size(problem, pairs))
        limits = self._upper_limits(problem, known)
        if self.time_limit is None:
            at_once = SearchLimits(limits, int(self.decide), self._node_limit, 0)
            search_pairs(problem.first, problem.second, problem.tables, pairs, at_once, work, results)
        else:
            for p in range(len(pairs)):
                self._search_by_the_clock(problem, pairs[p : p + 1], limits[p : p + 1], work, _row(results, p))
        value = results.upper.astype(np.float64)
        return Solutions(results.lower, results.upper, value, results.expanded, results.node_map)

    def _upper_limits(self, problem: EncodedProblem, known: NDArray[np.int64]) -> NDArray[np.int64]:
        """The largest cost that is of interest: below what is known already, and within the user's bound."""
        if self.upper_bound is None:
            return known - 1
        bound = math.floor(min(NO_LIMIT, self.upper_bound * problem.scale * (1 + 1e-12)))  # 0.29 * 100 is 28.999...
        if self.decide:
            return np.where(known <= bound, -1, bound)  # -1: a map within the bound is known, nothing is to be found
        return np.minimum(known - 1, bound)

    @property
    def _node_limit(self) -> int:
        return NO_LIMIT if self.node_limit is None else max(1, self.node_limit)

    def _search_by_the_clock(
        self,
        problem: EncodedProblem,
        pair: NDArray[np.int64],
        upper_limit: NDArray[np.int64],
        work: Workspace,
        results: SearchResults,
    ) -> None:
        """Search one pair in slices, looking at the clock between them."""
        assert self.time_limit is not None
        end = time.monotonic() + self.time_limit
        expanded, resume = 0, 0
        while True:
            expanded = min(expanded + _SLICE, self._node_limit)
            limits = SearchLimits(upper_limit, int(self.decide), expanded, resume)
            search_pairs(problem.first, problem.second, problem.tables, pair, limits, work, results)
            resume = 1
            if results.finished[0] or expanded == self._node_limit or time.monotonic() > end:
                return


def _better_of(ahead: Solutions, found: Solutions) -> Solutions:
    """Bounds and maps of a search that looked only for better maps than those known before."""
    assert ahead.lower is not None
    assert ahead.upper is not None
    assert ahead.node_map is not None
    assert found.lower is not None
    assert found.upper is not None
    assert found.node_map is not None
    better = found.upper < ahead.upper
    upper = np.where(better, found.upper, ahead.upper)
    lower = np.minimum(np.maximum(ahead.lower, found.lower), upper)  # beyond the known map nothing was looked at
    node_map = np.where(better[:, None], found.node_map, ahead.node_map)
    return Solutions(lower, upper, upper.astype(np.float64), found.expanded, node_map)


def _room_for(problem: EncodedProblem, pairs: NDArray[np.int64]) -> SearchResults:
    lower, upper, expanded, finished = np.zeros((4, len(pairs)), dtype=np.int64)
    return SearchResults(lower, upper, expanded, finished, empty_maps(problem, pairs))


def _row(results: SearchResults, p: int) -> SearchResults:
    return SearchResults(*(column[p : p + 1] for column in results))
