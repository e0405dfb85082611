"""Bounds from one assignment of nodes: the branch lower bound, and upper bounds by local search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance._kernels.refinement import allocate_random, refine_maps, shake_maps
from graphmetric.edit_distance._kernels.root_map import BoundResults, bound_branches
from graphmetric.edit_distance.encoding import EncodedProblem
from graphmetric.edit_distance.method import EditDistanceMethod, Guarantee, Solutions, empty_maps, workspace_size
from graphmetric.edit_distance.watch import Watch, in_thread
from graphmetric.errors import InvalidArgument


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
