"""The Hausdorff edit distance, as a lower bound and as it was published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance._kernels.hausdorff import allocate_hausdorff, match_hausdorff
from graphmetric.edit_distance._kernels.node_profile import profile_nodes
from graphmetric.edit_distance.encoding import EncodedProblem
from graphmetric.edit_distance.method import EditDistanceMethod, Guarantee, Solutions, largest_sizes, node_counts


@dataclass(frozen=True, slots=True)
class Hausdorff(EditDistanceMethod):
    """Fischer et al. (2015) with half of each edge difference, which makes it a lower bound."""

    name: ClassVar[str] = "hed"
    guarantee: ClassVar[Guarantee] = "lower bound"
    replaceable: ClassVar[bool] = False

    def memory(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        return _memory(problem, pairs)

    def solve(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
        quadrupled = _solve(problem, pairs, admissible=True)
        lower = -(-quadrupled // 4)  # a distance is a whole number of units
        return Solutions(lower, None, quadrupled / 4, np.zeros(len(pairs), dtype=np.int64), None)


@dataclass(frozen=True, slots=True)
class PublishedHausdorff(EditDistanceMethod):
    """The variant behind the public distances of AIDS700nef: neither a lower nor an upper bound."""

    name: ClassVar[str] = "published-hed"
    guarantee: ClassVar[Guarantee] = "estimate"
    replaceable: ClassVar[bool] = False

    def memory(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
        return _memory(problem, pairs)

    def solve(self, problem: EncodedProblem, pairs: NDArray[np.int64]) -> Solutions:
        quadrupled = _solve(problem, pairs, admissible=False)
        return Solutions(None, None, quadrupled / 4, np.zeros(len(pairs), dtype=np.int64), None)


def _memory(problem: EncodedProblem, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    first, second = node_counts(problem, pairs)
    return np.asarray(8.0 * first * second, dtype=np.float64)


def _solve(problem: EncodedProblem, pairs: NDArray[np.int64], admissible: bool) -> NDArray[np.int64]:
    tables = problem.tables
    profiles = profile_nodes(problem.first, tables, False), profile_nodes(problem.second, tables, True)
    quadrupled = np.zeros(len(pairs), dtype=np.int64)
    work = allocate_hausdorff(*largest_sizes(problem, pairs))
    match_hausdorff(problem.first, problem.second, tables, profiles, pairs, admissible, work, quadrupled)
    return quadrupled
