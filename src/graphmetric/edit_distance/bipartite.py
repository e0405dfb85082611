"""Bipartite matching of nodes with their edges: Hungarian and VJ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance._kernels.bipartite import allocate_bipartite, match_hungarian, match_volgenant_jonker
from graphmetric.edit_distance._kernels.map_cost import MapResults
from graphmetric.edit_distance._kernels.node_profile import profile_nodes
from graphmetric.edit_distance.encoding import EncodedProblem
from graphmetric.edit_distance.method import (
    EditDistanceMethod,
    Guarantee,
    Solutions,
    empty_maps,
    largest_sizes,
    node_counts,
)


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
