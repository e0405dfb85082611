"""Exact search, stoppable at any time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance._kernels.batch import NO_LIMIT, SearchLimits, SearchResults, search_pairs
from graphmetric.edit_distance.assignment_bounds import BranchBound, improve_maps
from graphmetric.edit_distance.beam import BeamSearch
from graphmetric.edit_distance.method import (
    EditDistanceMethod,
    Guarantee,
    PairBounds,
    Rows,
    Solutions,
    empty_maps,
    exceeds_memory,
    joined,
    merged,
    node_counts,
    smaller_sizes,
    workspace_memory,
    workspace_size,
)
from graphmetric.edit_distance.scaling import EncodedProblem
from graphmetric.edit_distance.stopping import Watch, in_thread
from graphmetric.errors import InvalidArgument

LARGEST_SEARCHED = 300
"""Nodes; the search keeps a matrix per level, 70 MB in all at this size."""
_LARGEST_EASY = 12
"""Nodes up to which searching at once is quicker than a beam search before it."""
_BEAM_WIDTH = 100
"""Of the beam search whose map the exact search has to beat: three milliseconds at 35 nodes."""
_WIDER_BEAMS = (10, 30, 100, 300, 1_000)
"""What graphs that are too large to be searched get, one after the other, while there is time."""
_QUICK_NODES = 2_000
"""Search-tree nodes after which an easy pair is no longer a quick one: some milliseconds."""
_QUICK_SECONDS = 0.05
"""Time limits below this are kept pair by pair."""


@dataclass(frozen=True, slots=True)
class ExactSearch(EditDistanceMethod):
    """Depth-first branch and bound with the anchored branch bound.

    Stopped early, it still returns a valid lower and upper bound and the best node map so far. Where the smaller graph
    of a pair has more than :data:`LARGEST_SEARCHED` nodes, no tree is searched: the lower bound is that of the root,
    and the time goes into better maps, by beams of growing width and then by local search until the limit. Without a
    time limit that ends with the widest beam. With a node limit alone it is left out, and the map is that of the root.

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
            if limit is not None and (isinstance(limit, bool | str) or not limit >= 0):
                raise InvalidArgument(f"{name} is {limit!r}; it must be a number that is not negative, or None")
        if self.decide and self.upper_bound is None:
            raise InvalidArgument("decide=True asks whether the distance is at most upper_bound: give upper_bound")

    def solve(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
        return in_thread(lambda watch: self.solve_watched(problem, pairs, watch))

    def solve_watched(self, problem: EncodedProblem, pairs: NDArray[np.int64], watch: Watch) -> Solutions:
        if self.time_limit is None or len(pairs) == 0:
            with watch.limited(None):
                return self._solve_alike(problem, pairs, watch)
        return self._one_by_one(problem, pairs, watch, self._solve_alike)

    def bounds_watched(self, problem: EncodedProblem, pairs: NDArray[np.int64], watch: Watch) -> PairBounds:
        all_rounds = super(ExactSearch, self).bounds_watched
        if self.time_limit is None or len(pairs) == 0:
            return all_rounds(problem, pairs, watch)
        return self._one_by_one(problem, pairs, watch, all_rounds)

    def _one_by_one(
        self,
        problem: EncodedProblem,
        pairs: NDArray[np.int64],
        watch: Watch,
        solve: Callable[[EncodedProblem, NDArray[np.int64], Watch], Rows],
    ) -> Rows:
        """Solve every pair within the time limit."""
        parts = list[Rows]()
        while len(parts) < len(pairs) and not (parts and watch.stopped):
            with watch.limited(self.time_limit):
                parts.append(solve(problem, pairs[len(parts) : len(parts) + 1], watch))
        return joined(parts)

    def is_quick(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
        sizes = smaller_sizes(problem, pairs)
        if self.time_limit is None and self._node_limit <= _QUICK_NODES:
            return np.ones(len(pairs), dtype=np.bool_)
        return (sizes <= _LARGEST_EASY) & (self.time_limit is None or self.time_limit >= _QUICK_SECONDS)

    def quick_try(self) -> ExactSearch | None:
        if self.time_limit is None and self._node_limit <= _QUICK_NODES:
            return None
        return replace(self, time_limit=None, node_limit=min(_QUICK_NODES, self._node_limit))

    def explain(self, problem: EncodedProblem, pair: NDArray[np.int64], found: PairBounds, watch: Watch) -> str | None:
        if found.lower[0] == found.upper[0]:
            return None
        without_matrices = super(ExactSearch, self).explain(problem, pair, found, watch)
        if without_matrices is not None:
            return without_matrices
        if too_large_to_search(problem, pair)[0]:
            how = "its root" if self._bounds_only else "its root, upper bound by beam search and local search"
            smaller, larger = sorted(int(count[0]) for count in node_counts(problem, pair))
            nodes = smaller if smaller > LARGEST_SEARCHED else larger
            return f"{nodes} nodes are too many for the exact search: lower bound by {how}"
        if watch.stopped:
            return "interrupted"
        if watch.expired:
            return f"stopped by the time limit of {self.time_limit:g} s"
        if found.expanded[0] >= self._node_limit:
            return f"stopped after {self.node_limit} search-tree nodes"
        if self.upper_bound is None:
            return "costs had to be rounded"
        return f"more than {self.upper_bound:g}" if found.lower[0] > self.upper_bound else "decided"

    @property
    def _bounds_only(self) -> bool:
        """Whether too large graphs get only their bounds, because the work is counted and not timed."""
        return self.time_limit is None and self.node_limit is not None

    def _solve_alike(self, problem: EncodedProblem, pairs: NDArray[np.int64], watch: Watch) -> Solutions:
        """Part the pairs by size and solve each part as is quickest for it."""
        sizes, large = smaller_sizes(problem, pairs), too_large_to_search(problem, pairs)
        for chosen in (large, sizes > _LARGEST_EASY):
            if chosen.any() and not chosen.all():
                parts = (self._solve_alike(problem, pairs[which], watch) for which in (chosen, ~chosen))
                return merged(chosen, *parts)
        if large.any():
            return self._bound_largest(problem, pairs, watch)
        if not (sizes > _LARGEST_EASY).any():
            return self._search(problem, pairs, np.full(len(pairs), NO_LIMIT), watch)
        ahead = BeamSearch(_BEAM_WIDTH).solve_watched(problem, pairs, watch)
        assert ahead.upper is not None
        if watch.is_over and len(pairs) == 1:
            return ahead
        return _better_of(ahead, self._search(problem, pairs, ahead.upper, watch))

    def _bound_largest(self, problem: EncodedProblem, pairs: NDArray[np.int64], watch: Watch) -> Solutions:
        """Bounds of graphs that are too large to be searched, with the best maps that can be had in the time."""
        found = BranchBound().solve_watched(problem, pairs, watch)
        if not self._bounds_only:
            rows = [self._map_large(problem, pairs[p : p + 1], _row(found, p), watch) for p in range(len(pairs))]
            found = joined(rows)
        assert found.upper is not None
        return found._replace(value=found.upper.astype(np.float64))

    def _map_large(self, problem: EncodedProblem, pair: NDArray[np.int64], found: Solutions, watch: Watch) -> Solutions:
        for width in _WIDER_BEAMS:
            if watch.is_over or self._is_settled(problem, found):
                return found
            found = _better_of(found, BeamSearch(width).solve_watched(problem, pair, watch))
        if self.time_limit is None or self._is_settled(problem, found):
            return found
        return improve_maps(problem, pair, found, watch)

    def _is_settled(self, problem: EncodedProblem, found: Solutions) -> bool:
        """Whether nothing more is asked of the one pair."""
        assert found.lower is not None
        assert found.upper is not None
        lower, upper, bound = found.lower[0], found.upper[0], self._bound(problem)
        return bool(lower == upper or lower > bound or (self.decide and upper <= bound))

    def _search(
        self, problem: EncodedProblem, pairs: NDArray[np.int64], known: NDArray[np.int64], watch: Watch
    ) -> Solutions:
        """Search for maps that cost less than ``known``, which says what some other map costs."""
        lower, upper, expanded, finished = np.zeros((4, len(pairs)), dtype=np.int64)
        results = SearchResults(lower, upper, expanded, finished, empty_maps(problem, pairs))
        work = watch.workspace(workspace_size(problem, pairs))
        limits = SearchLimits(self._upper_limits(problem, known), int(self.decide), self._node_limit, 0)
        search_pairs(problem.first, problem.second, problem.tables, pairs, limits, work, results)
        return Solutions(lower, upper, upper.astype(np.float64), expanded, results.node_map)

    def _upper_limits(self, problem: EncodedProblem, known: NDArray[np.int64]) -> NDArray[np.int64]:
        """The largest cost that is of interest: below what is known already, and within the user's bound."""
        if self.upper_bound is None:
            return known - 1
        bound = self._bound(problem)
        if self.decide:
            return np.where(known <= bound, -1, bound)  # -1: a map within the bound is known, nothing is to be found
        return np.minimum(known - 1, bound)

    def _bound(self, problem: EncodedProblem) -> int:
        """The user's upper bound in the units of the problem."""
        if self.upper_bound is None:
            return NO_LIMIT
        return math.floor(min(NO_LIMIT, self.upper_bound * problem.scale * (1 + 1e-12)))  # 0.29 * 100 is 28.999...

    @property
    def _node_limit(self) -> int:
        return NO_LIMIT if self.node_limit is None else max(1, self.node_limit)


def too_large_to_search(problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Pairs that are not searched, because of their nodes or of the memory that a matrix per level would take."""
    many = smaller_sizes(problem, pairs) > LARGEST_SEARCHED
    return many if problem.is_small else many | exceeds_memory(workspace_memory(problem, pairs, root_only=False))


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


def _row(found: Solutions, p: int) -> Solutions:
    part: list[Any] = [None if column is None else column[p : p + 1] for column in found]
    return Solutions(*part)
