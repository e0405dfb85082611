"""Bounds from one assignment of nodes: the branch lower bound, and upper bounds by local search.

Bipartite matching of nodes with their edges: Hungarian and VJ.

The Hausdorff edit distance, as a lower bound and as it was published.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance._kernels.bipartite import (
    allocate_bipartite,
    allocate_hausdorff,
    match_hausdorff,
    match_hungarian,
    match_volgenant_jonker,
    profile_nodes,
)
from graphmetric.edit_distance._kernels.local_search import MapResults
from graphmetric.edit_distance._kernels.root_map import (
    BoundResults,
    allocate_random,
    bound_branches,
    refine_maps,
    shake_maps,
)
from graphmetric.edit_distance.encoding import EncodedProblem
from graphmetric.edit_distance.method import (
    EditDistanceMethod,
    Guarantee,
    Solutions,
    empty_maps,
    largest_sizes,
    node_counts,
    workspace_size,
)
from graphmetric.edit_distance.stopping import Watch, in_thread
from graphmetric.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class Hungarian(EditDistanceMethod):
    """Riesen and Bunke (2009): an assignment of nodes by their own and their edges' costs, priced as an edit path."""

    name: ClassVar[str] = "hungarian"
    guarantee: ClassVar[Guarantee] = "upper bound"
    replaceable: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False

    def memory(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        return _memory(problem, pairs)

    def solve(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
        return _solve(match_hungarian, problem, pairs)


@dataclass(frozen=True, slots=True)
class VolgenantJonker(EditDistanceMethod):
    """Fankhauser, Riesen and Bunke (2011): the same assignment by another solver, which breaks ties otherwise."""

    name: ClassVar[str] = "vj"
    guarantee: ClassVar[Guarantee] = "upper bound"
    replaceable: ClassVar[bool] = False
    symmetric: ClassVar[bool] = False

    def memory(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        return _memory(problem, pairs)

    def solve(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
        return _solve(match_volgenant_jonker, problem, pairs)


def _memory(problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    first, second = node_counts(problem, pairs)
    return np.asarray(8.0 * ((first + second + 1.0) ** 2 + first * second + (second + 1.0) ** 2))


def _solve(match: Callable[..., Any], problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
    tables = problem.tables
    profiles = profile_nodes(problem.first, tables, False), profile_nodes(problem.second, tables, True)
    results = MapResults(np.zeros(len(pairs), dtype=np.int64), empty_maps(problem, pairs))
    work = allocate_bipartite(*largest_sizes(problem, pairs))
    match(problem.first, problem.second, tables, profiles, pairs, work, results)
    value = results.upper.astype(np.float64)
    return Solutions(None, results.upper, value, np.zeros(len(pairs), dtype=np.int64), results.node_map)


@dataclass(frozen=True, slots=True)
class Hausdorff(EditDistanceMethod):
    """Fischer et al. (2015) with half of each edge difference, which makes it a lower bound."""

    name: ClassVar[str] = "hed"
    guarantee: ClassVar[Guarantee] = "lower bound"
    replaceable: ClassVar[bool] = False

    def memory(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        return _hausdorff_memory(problem, pairs)

    def solve(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
        quadrupled = _hausdorff_solve(problem, pairs, admissible=True)
        lower = -(-quadrupled // 4)  # a distance is a whole number of units
        return Solutions(lower, None, quadrupled / 4, np.zeros(len(pairs), dtype=np.int64), None)


@dataclass(frozen=True, slots=True)
class PublishedHausdorff(EditDistanceMethod):
    """The variant behind the public distances of AIDS700nef: neither a lower nor an upper bound."""

    name: ClassVar[str] = "published-hed"
    guarantee: ClassVar[Guarantee] = "estimate"
    replaceable: ClassVar[bool] = False

    def memory(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        return _hausdorff_memory(problem, pairs)

    def solve(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
        quadrupled = _hausdorff_solve(problem, pairs, admissible=False)
        return Solutions(None, None, quadrupled / 4, np.zeros(len(pairs), dtype=np.int64), None)


def _hausdorff_memory(problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    first, second = node_counts(problem, pairs)
    return np.asarray(8.0 * first * second, dtype=np.float64)


def _hausdorff_solve(problem: EncodedProblem, pairs: NDArray[np.int64], admissible: bool) -> NDArray[np.int64]:
    tables = problem.tables
    profiles = profile_nodes(problem.first, tables, False), profile_nodes(problem.second, tables, True)
    quadrupled = np.zeros(len(pairs), dtype=np.int64)
    work = allocate_hausdorff(*largest_sizes(problem, pairs))
    match_hausdorff(problem.first, problem.second, tables, profiles, pairs, admissible, work, quadrupled)
    return quadrupled


@dataclass(frozen=True, slots=True)
class BranchBound(EditDistanceMethod):
    """The assignment over nodes with half of their edges: a lower bound; its map gives an upper bound as well."""

    name: ClassVar[str] = "branch"
    guarantee: ClassVar[Guarantee] = "lower bound"
    symmetric: ClassVar[bool] = False  # the bounds are; the map is not

    def solve(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
        return in_thread(lambda watch: self.solve_watched(problem, pairs, watch))

    def solve_watched(self, problem: EncodedProblem, pairs: NDArray[np.int64], watch: Watch) -> Solutions:
        results = _room_for(problem, pairs)
        work = watch.workspace(workspace_size(problem, pairs, root_only=True))
        bound_branches(problem.first, problem.second, problem.tables, pairs, work, results)
        return _solutions(results, results.lower)


@dataclass(frozen=True, slots=True)
class LocalSearch(EditDistanceMethod):
    """The branch assignment improved by exchanges, and with ``effort`` shaken and improved again."""

    effort: int = 10
    """How often the best map is shaken; 0 descends once."""
    random_state: int = 0
    """Seed of the shaking; a pair gets the same answer in whatever company it is computed."""

    name: ClassVar[str] = "local"
    guarantee: ClassVar[Guarantee] = "upper bound"
    symmetric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("effort", "random_state"):
            if not isinstance(getattr(self, name), int) or getattr(self, name) < 0:
                raise InvalidArgument(
                    f"{name} is {getattr(self, name)!r}; it must be a whole number that is not negative"
                )

    def solve(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
        return in_thread(lambda watch: self.solve_watched(problem, pairs, watch))

    def solve_watched(self, problem: EncodedProblem, pairs: NDArray[np.int64], watch: Watch) -> Solutions:
        results = _room_for(problem, pairs)
        work = watch.workspace(workspace_size(problem, pairs, root_only=True))
        random, effort = allocate_random(self.random_state), np.int64(self.effort)
        refine_maps(problem.first, problem.second, problem.tables, pairs, effort, random, work, results)
        return _solutions(results, results.upper)


def improve_maps(problem: EncodedProblem, pairs: NDArray[np.int64], found: Solutions, watch: Watch) -> Solutions:
    """Shake the maps that another method found until the watch says that time is over."""
    assert found.lower is not None
    assert found.upper is not None
    assert found.node_map is not None
    results = BoundResults(found.lower.copy(), found.upper.copy(), found.node_map.copy())
    work = watch.workspace(workspace_size(problem, pairs, root_only=True))
    effort = np.int64(np.iinfo(np.int64).max)
    shake_maps(problem.first, problem.second, problem.tables, pairs, effort, allocate_random(0), work, results)
    return _solutions(results, results.upper)


def _room_for(problem: EncodedProblem, pairs: NDArray[np.int64]) -> BoundResults:
    lower, upper = np.zeros((2, len(pairs)), dtype=np.int64)
    return BoundResults(lower, upper, empty_maps(problem, pairs))


def _solutions(results: BoundResults, value: NDArray[np.int64]) -> Solutions:
    nothing_expanded = np.zeros(len(value), dtype=np.int64)
    return Solutions(results.lower, results.upper, value.astype(np.float64), nothing_expanded, results.node_map)
