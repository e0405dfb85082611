"""The methods: exact search, and bounds by beam search, local search, branches and neighbourhoods."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.options import checked_number
from graphmetric.edit_distance._kernels.beam import allocate_beam, search_beam
from graphmetric.edit_distance._kernels.exact_search import SearchLimits, search_pairs
from graphmetric.edit_distance._kernels.lower_bounds import sum_hausdorff
from graphmetric.edit_distance._kernels.node_maps import allocate_random, bound_branches, refine_maps, shake_maps
from graphmetric.edit_distance._kernels.workspace import NO_LIMIT, Results
from graphmetric.edit_distance.collection_bounds import map_by_degree
from graphmetric.edit_distance.dual import (
    DualBound,
    QuickInterval,
    RefinedMap,
    RelaxedDistance,
    dual_memory,
    search_with_dual_bound,
)
from graphmetric.edit_distance.method import (
    Answers,
    EditDistanceMethod,
    Guarantee,
    Pairs,
    Solutions,
    joined,
    merged,
    one_by_one,
    register,
    room_for,
    set_count,
)
from graphmetric.edit_distance.scaling import (
    EncodedProblem,
    edge_counts,
    exceeds_memory,
    node_counts,
    smaller_sizes,
    workspace_memory,
    workspace_size,
)
from graphmetric.edit_distance.stopping import Watch
from graphmetric.errors import InvalidArgument

LARGEST_SEARCHED = 300
"""The most nodes of a smaller graph for the search with the branch bound, which keeps a matrix for each level: 70 MB
in all at this size."""
LARGEST_EASY = 12
"""Nodes of the smaller graph up to which the search with the branch bound is quicker than the one with the dual bound;
measured on molecules of 8 to 18 atoms, where the times cross between 12 and 13."""
_TRY_SHARE = 4
"""The first try with the branch bound takes at most this part of a node limit: a quarter."""
_DENSE = 16.0
"""Product of the mean degrees of two graphs above which the branch bound may be the quicker one to the end."""
_FIRST_CHUNKS, _LONGER = 2, 4
"""Nodes with the dual bound in the first round of alternating searches, and how much longer every round is."""
_BEAM_WIDTH = 100
"""Width of the beam search whose map the search has to beat where the dual bound takes too much memory."""
_WIDER_BEAMS = (10, 30, 100, 300, 1_000)
"""Widths of the beam searches for graphs too large for an exact search, one after the other while there is time."""
_QUICK_NODES = 2_000
"""Search-tree nodes after which an easy pair is no longer a quick one: some milliseconds."""
_QUICK_SECONDS = 0.05
"""With a shorter time limit, pairs are never solved in batches."""
WIDEST_BEAM = 1_000


@dataclass(frozen=True, slots=True)
class ExactSearch(EditDistanceMethod):
    """Depth-first branch and bound: with the branch bound up to a dozen nodes, above that with the dual bound.

    Stopped early, it still returns a valid lower and upper bound and the best node map so far. Above a dozen nodes the
    branch bound has a first short try, about as long as the first steps of the dual bound. Where graphs have many
    edges, the two take turns: with many interchangeable nodes, as in ego networks, the branch bound is often quicker.

    Where the matrices of the dual bound do not fit into memory, which takes thousands of edges, the branch bound has
    to do. If the smaller graph has more than :data:`LARGEST_SEARCHED` nodes as well, no tree is searched: the lower
    bound is that of the root, and the time goes into better maps, by beams of growing width and then by local search
    until the limit. Without a time limit that ends with the widest beam. With only a node limit these steps are left
    out, and the map is that of the root.

    Example:
        >>> ExactSearch(time_limit=1.0, upper_bound=5)
        ExactSearch(time_limit=1.0, node_limit=None, upper_bound=5, decide=False)
    """

    time_limit: float | None = None
    """Seconds of wall-clock time for each pair."""
    node_limit: int | None = None
    """Search-tree nodes for each pair; unlike time, the same on every machine. A node with the dual bound counts as
    those with the branch bound that take as long: about a hundred at 25 nodes."""
    upper_bound: float | None = None
    """The search ends once the distance is proven to be larger than this."""
    decide: bool = False
    """End as soon as it is known whether the distance is at most ``upper_bound``."""

    name: ClassVar[str] = "exact"
    guarantee: ClassVar[Guarantee] = "exact"

    def __post_init__(self) -> None:
        if self.node_limit is not None:
            set_count(self, "node_limit")
        for name in ("time_limit", "upper_bound"):
            limit = getattr(self, name)
            if limit is not None:
                limit = checked_number(limit, name, "a number that is not negative, or None")
                object.__setattr__(self, name, limit + 0.0)
        if self.decide and self.upper_bound is None:
            raise InvalidArgument("decide=True asks whether the distance is at most upper_bound: give upper_bound")

    def solve_watched(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Solutions:
        if self.time_limit is None or len(pairs) == 0:
            with watch.limited(None):
                return self._solve_alike(problem, pairs, watch)
        return one_by_one(pairs, watch, self.time_limit, lambda pair: self._solve_alike(problem, pair, watch))

    def bounds_watched(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Answers:
        all_rounds = super(ExactSearch, self).bounds_watched
        if self.time_limit is None or len(pairs) == 0:
            return all_rounds(problem, pairs, watch)
        return one_by_one(pairs, watch, self.time_limit, lambda pair: all_rounds(problem, pair, watch))

    def is_quick(self, problem: EncodedProblem, pairs: Pairs) -> NDArray[np.bool_]:
        in_time = self.time_limit is None or self.time_limit >= _QUICK_SECONDS
        return (smaller_sizes(problem, pairs) <= LARGEST_EASY) & in_time

    def quick_try(self) -> ExactSearch | None:
        if self.time_limit is None and self._node_limit <= _QUICK_NODES:
            return None
        return replace(self, time_limit=None, node_limit=min(_QUICK_NODES, self._node_limit))

    def explain(self, problem: EncodedProblem, pair: Pairs, found: Answers, watch: Watch) -> str | None:
        if found.lower[0] == found.upper[0]:
            return None
        without_matrices = super(ExactSearch, self).explain(problem, pair, found, watch)
        if without_matrices is not None:
            return without_matrices
        too_large = not fits_dual_bound(problem, pair) and too_large_to_search(problem, pair)[0]
        if too_large:
            how = "its root" if self._bounds_only else "its root, upper bound by beam search and local search"
            smaller, larger = sorted(int(count[0]) for count in node_counts(problem, pair))
            nodes = smaller if smaller > LARGEST_SEARCHED else larger
            return f"{nodes} nodes are too many for the exact search: lower bound by {how}"
        if watch.stopped:
            return "interrupted"
        if watch.canceled:
            return "canceled"
        if watch.expired:
            return f"stopped by the time limit of {self.time_limit:g} s"
        if found.expanded[0] >= self._node_limit:
            return f"stopped after {self.node_limit} search-tree nodes"
        if self.upper_bound is not None:
            return f"more than {self.upper_bound:g}" if found.lower[0] > self.upper_bound else "decided"
        return "costs had to be rounded" if found.rounded[0] else "its search tree takes too much memory"

    @property
    def _bounds_only(self) -> bool:
        """Whether graphs that are too large get only the bounds of their root, because work is limited by count."""
        return self.time_limit is None and self.node_limit is not None

    def _solve_alike(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Solutions:
        """Solve small pairs together and larger ones singly."""
        easy = smaller_sizes(problem, pairs) <= LARGEST_EASY
        if easy.all():
            return self._search(problem, pairs, np.full(len(pairs), NO_LIMIT), watch)
        if easy.any():
            return merged(easy, *(self._solve_alike(problem, pairs[which], watch) for which in (easy, ~easy)))
        parts = list[Solutions]()
        for p in range(len(pairs)):
            if parts:
                watch.check()
            parts.append(self._solve_hard(problem, pairs[p : p + 1], watch))
        return joined(parts)

    def _solve_hard(self, problem: EncodedProblem, pair: Pairs, watch: Watch) -> Solutions:
        """Solve one pair of more than a dozen nodes."""
        too_large = too_large_to_search(problem, pair)[0]
        if not fits_dual_bound(problem, pair):
            return self._solve_in_little_memory(problem, pair, too_large, watch)
        found = self._alternate(problem, pair, too_large, watch)
        is_over = watch.is_over or self._is_settled(problem, found) or found.expanded[0] >= self._node_limit
        return found if is_over or self.time_limit is None else improve_maps(problem, pair, found, watch)

    def _alternate(self, problem: EncodedProblem, pair: Pairs, too_large: bool, watch: Watch) -> Solutions:
        """Search one pair by the branch bound and by the dual bound; dense graphs by both in turn, longer each time."""
        limit, tries = self._node_limit, first_try(problem, pair)
        worth = 1 + tries // 2  # nodes that the branch bound visits in the time of one with the dual bound
        if limit < 2 * worth:
            return self._solve_in_few_nodes(problem, pair, too_large, watch)
        chunks = _FIRST_CHUNKS if _is_dense(problem, pair) and not too_large else NO_LIMIT
        found, spent, used, resume = None, 0, 0, 0
        while True:
            if not too_large:
                room = limit // _TRY_SHARE if resume == 0 else limit - worth * used
                ahead = self._search(problem, pair, np.full(1, NO_LIMIT), watch, min(tries, room), resume)
                found, spent = ahead if found is None else _better_of(found, ahead), int(ahead.expanded[0])
                if watch.is_over or self._is_settled(problem, found):
                    return found
            most = min(chunks, (limit - spent) // worth)
            known = np.full(1, NO_LIMIT) if found is None else found.upper
            upper, refute = self._upper_limits(problem, known), int(self.upper_bound is not None)
            limits = SearchLimits(upper, int(self.decide), 1 + most, resume, refute)
            better = search_with_dual_bound(problem, pair, limits, watch)
            used = int(better.expanded[0]) - 1
            found = better if found is None else _better_of(found, better)
            is_spent = spent + worth * (used + 1) > limit
            found = found._replace(expanded=np.full(1, limit if is_spent else spent + worth * used))
            if watch.is_over or self._is_settled(problem, found) or is_spent or chunks == NO_LIMIT:
                return found
            tries, chunks, resume = _LONGER * tries, _LONGER * chunks, 1

    def _solve_in_few_nodes(self, problem: EncodedProblem, pair: Pairs, too_large: bool, watch: Watch) -> Solutions:
        """Solve one pair with a limit that leaves no room for the dual bound."""
        if not too_large:
            return self._search(problem, pair, np.full(1, NO_LIMIT), watch, self._node_limit)
        return BranchBound().solve_watched(problem, pair, watch)._replace(expanded=np.full(1, self._node_limit))

    def _solve_in_little_memory(self, problem: EncodedProblem, pair: Pairs, too_large: bool, watch: Watch) -> Solutions:
        """Solve one pair without the dual bound."""
        if too_large:
            return self._bound_largest(problem, pair, watch)
        ahead = BeamSearch(_BEAM_WIDTH).solve_watched(problem, pair, watch)
        return ahead if watch.is_over else _better_of(ahead, self._search(problem, pair, ahead.upper, watch))

    def _bound_largest(self, problem: EncodedProblem, pair: Pairs, watch: Watch) -> Solutions:
        """Bounds of graphs that are too large to be searched, with the best map that can be found in the time."""
        found = BranchBound().solve_watched(problem, pair, watch)
        if self._bounds_only:
            return found
        for width in _WIDER_BEAMS:
            if watch.is_over or self._is_settled(problem, found):
                return found
            found = _better_of(found, BeamSearch(width).solve_watched(problem, pair, watch))
        if self.time_limit is None or self._is_settled(problem, found):
            return found
        return improve_maps(problem, pair, found, watch)

    def _is_settled(self, problem: EncodedProblem, found: Solutions) -> bool:
        """Whether the one pair needs no more work."""
        lower, upper, bound = found.lower[0], found.upper[0], self._bound(problem)
        return bool(lower == upper or lower > bound or (self.decide and upper <= bound))

    def _search(
        self,
        problem: EncodedProblem,
        pairs: Pairs,
        known: NDArray[np.int64],
        watch: Watch,
        node_limit: int | None = None,
        resume: int = 0,
    ) -> Solutions:
        """Search by the branch bound for maps that cost less than ``known``, the costs of other maps."""
        results, work = room_for(problem, pairs), watch.workspace(workspace_size(problem, pairs))
        most = self._node_limit if node_limit is None else node_limit
        limits = SearchLimits(self._upper_limits(problem, known), int(self.decide), most, resume)
        search_pairs(problem.packed, pairs, limits, work, results)
        return Solutions.of(results)

    def _upper_limits(self, problem: EncodedProblem, known: NDArray[np.int64]) -> NDArray[np.int64]:
        """The largest costs to search for: below the known ones and within the user's bound."""
        if self.upper_bound is None:
            return known - 1
        bound = self._bound(problem)
        if self.decide:
            return np.where(known <= bound, -1, bound)  # -1: a map within the bound is known already
        return np.minimum(known - 1, bound)

    def _bound(self, problem: EncodedProblem) -> int:
        """The user's upper bound in the units of the problem."""
        if self.upper_bound is None:
            return NO_LIMIT
        return math.floor(min(NO_LIMIT, self.upper_bound * problem.scale * (1 + 1e-12)))  # 0.29 * 100 is 28.999...

    @property
    def _node_limit(self) -> int:
        return NO_LIMIT if self.node_limit is None else max(1, self.node_limit)


def too_large_to_search(problem: EncodedProblem, pairs: Pairs) -> NDArray[np.bool_]:
    """Which pairs have too many nodes for a search, or need too much memory for a matrix on each level."""
    many = smaller_sizes(problem, pairs) > LARGEST_SEARCHED
    return many if problem.is_small else many | exceeds_memory(workspace_memory(problem, pairs, root_only=False))


def fits_dual_bound(problem: EncodedProblem, pairs: Pairs) -> bool:
    """Whether the matrices of the dual bound fit into memory for each of the pairs."""
    return not exceeds_memory(dual_memory(problem, pairs)).any()


def first_try(problem: EncodedProblem, pairs: Pairs) -> int:
    """Search-tree nodes that the branch bound visits in the time of fifty steps of the dual bound, in the mean.

    A node takes 1 + n1 n2 / 400 microseconds, a step m1 m2 / 70.
    """
    nodes, edges = node_counts(problem, pairs), edge_counts(problem, pairs)
    return 1 + int(np.mean(0.7 * edges[0] * edges[1] / (1 + nodes[0] * nodes[1] / 400)))


def _is_dense(problem: EncodedProblem, pair: Pairs) -> bool:
    """Whether the graphs of one pair have so many edges that steps of the dual bound are slow."""
    nodes, edges = node_counts(problem, pair), edge_counts(problem, pair)
    return bool(4 * edges[0][0] * edges[1][0] > _DENSE * nodes[0][0] * nodes[1][0])


def _better_of(ahead: Solutions, found: Solutions) -> Solutions:
    """Bounds and maps of a search that looked only for better maps than those already known."""
    assert ahead.node_map is not None
    assert found.node_map is not None
    better = found.upper < ahead.upper
    upper = np.where(better, found.upper, ahead.upper)
    lower = np.minimum(np.maximum(ahead.lower, found.lower), upper)  # the search did not look beyond the known map
    return Solutions(lower, upper, found.expanded, np.where(better[:, None], found.node_map, ahead.node_map))


@dataclass(frozen=True, slots=True)
class BeamSearch(EditDistanceMethod):
    """Keep the best partial maps of each level, by cost and a look ahead. Includes the branch lower bound."""

    width: int = 10
    """Partial maps kept at each level, 1 to 1,000."""

    name: ClassVar[str] = "beam"
    guarantee: ClassVar[Guarantee] = "upper bound"
    symmetric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        set_count(self, "width", least=1)
        if self.width > WIDEST_BEAM:
            raise InvalidArgument(f"a beam is 1 to {WIDEST_BEAM} wide; got {self.width!r}")

    def memory(self, problem: EncodedProblem, pairs: Pairs) -> NDArray[np.float64]:
        first, second = node_counts(problem, pairs)
        candidates = np.minimum(self.width * (first + second), 2_000_000)
        return np.asarray(workspace_memory(problem, pairs, root_only=True) + 8.0 * 11 * candidates)

    def solve_watched(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Solutions:
        size = workspace_size(problem, pairs, root_only=True)
        larger = size.larger + (size.smaller if size.null_nodes else 0)
        width = np.int64(min(self.width, max(1, 2_000_000 // (larger + 1))))  # the kernel numbers candidates in 21 bits
        results, beam = room_for(problem, pairs), allocate_beam(int(width), size.smaller, larger)
        work = watch.workspace(size)
        search_beam(problem.packed, pairs, width, work, beam, results)
        return Solutions.of(results)


@dataclass(frozen=True, slots=True)
class LocalSearch(EditDistanceMethod):
    """Improve the branch assignment by exchanging images; ``effort`` times, shake the best map and improve it again."""

    effort: int = 10
    """How often the best map is shaken; 0 only descends once."""
    random_state: int = 0
    """Seed of the shaking; the answer to a pair does not depend on the other pairs."""

    name: ClassVar[str] = "local"
    guarantee: ClassVar[Guarantee] = "upper bound"
    symmetric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("effort", "random_state"):
            set_count(self, name)

    def solve_watched(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Solutions:
        results, work = room_for(problem, pairs), watch.workspace(workspace_size(problem, pairs, root_only=True))
        random, effort = allocate_random(self.random_state), np.int64(self.effort)
        refine_maps(problem.packed, pairs, effort, random, work, results)
        return Solutions.of(results)


def improve_maps(problem: EncodedProblem, pairs: Pairs, found: Solutions, watch: Watch) -> Solutions:
    """Shake the maps that another method found until the watch says that time is over."""
    assert found.node_map is not None
    expanded, finished = np.zeros((2, len(pairs)), dtype=np.int64)
    results = Results(found.lower.copy(), found.upper.copy(), expanded, finished, found.node_map.copy())
    work = watch.workspace(workspace_size(problem, pairs, root_only=True))
    effort = np.int64(np.iinfo(np.int64).max)
    shake_maps(problem.packed, pairs, effort, allocate_random(0), work, results)
    return Solutions.of(results)


@dataclass(frozen=True, slots=True)
class BranchBound(EditDistanceMethod):
    """The assignment over nodes with half of their edges: a lower bound. Its map gives an upper bound as well."""

    name: ClassVar[str] = "branch"
    guarantee: ClassVar[Guarantee] = "lower bound"
    symmetric: ClassVar[bool] = False  # the bounds are; the map is not

    def solve_watched(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Solutions:
        results, work = room_for(problem, pairs), watch.workspace(workspace_size(problem, pairs, root_only=True))
        bound_branches(problem.packed, pairs, work, results)
        return Solutions.of(results)


@dataclass(frozen=True, slots=True)
class Hausdorff(EditDistanceMethod):
    """Fischer et al. (2015) with half of each edge difference, which makes it a lower bound."""

    name: ClassVar[str] = "hed"
    guarantee: ClassVar[Guarantee] = "lower bound"
    replaceable: ClassVar[bool] = False

    def memory(self, problem: EncodedProblem, pairs: Pairs) -> NDArray[np.float64]:
        first, second = node_counts(problem, pairs)
        return np.asarray(8.0 * first * second, dtype=np.float64)

    def solve_watched(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Solutions:
        quadrupled = sum_hausdorff(problem.packed, pairs)
        return Solutions.without_maps(-(-quadrupled // 4), quadrupled / 4)  # a distance is a whole number of units


@dataclass(frozen=True, slots=True)
class DegreeMap(EditDistanceMethod):
    """Match nodes of one label by descending degree, then the others: a map at once where no time is left."""

    name: ClassVar[str] = "degree"
    guarantee: ClassVar[Guarantee] = "upper bound"
    symmetric: ClassVar[bool] = False

    def memory(self, problem: EncodedProblem, pairs: Pairs) -> NDArray[np.float64]:
        return np.zeros(len(pairs))

    def solve_watched(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Solutions:
        results = room_for(problem, pairs)
        map_by_degree(problem, pairs, results)
        return Solutions.of(results)


register(ExactSearch, DualBound, QuickInterval, RelaxedDistance, RefinedMap)
register(BeamSearch, LocalSearch, BranchBound, Hausdorff)
