"""The least possible sum of changes, as a linear programme with few of its constraints.

The changes of a distance up and down are two variables of cost w; the constraints are the triangles. Almost all of
these never matter, so the programme begins without any, and after each solution the violated ones are added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, hstack

from graphmetric.errors import WorkBudgetExceeded
from graphmetric.metric_repair.nearness_problem import NearnessProblem
from graphmetric.metric_repair.pair_matrix import Matrix
from graphmetric.metric_repair.scanner import TriangleScanner

Floats = NDArray[np.float64]
Triangles = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class SmallestSum:
    """A matrix without violated triangles and how small its sum of changes can be."""

    matrix: Matrix
    bound: float
    """No metric has a smaller weighted sum of changes."""
    rounds: int


class L1Programme:
    """Least weighted sum of changes subject to a growing list of triangles."""

    def __init__(self, problem: NearnessProblem) -> None:
        m = len(problem.given)
        self._pairs = np.triu_indices(m, 1)
        self._number = np.zeros((m, m), np.int64)
        self._number[self._pairs] = np.arange(len(self._pairs[0]))
        self._number += self._number.T
        self._unit = max(problem.largest, problem.lower)  # the solver's numbers are about one, whatever the bounds
        self._given = problem.given[self._pairs] / self._unit
        self._weight, low, high = _ranges(problem, self._pairs)
        self._low, self._high = low / self._unit, high / self._unit
        self._triangles = np.empty((0, 3), np.int32)
        self._multipliers = np.empty(0)

    def add(self, triangles: Triangles) -> None:
        """Take more triangles into account; those that are already are not doubled."""
        self._triangles = np.unique(np.concatenate([self._triangles, triangles]), axis=0)

    def __len__(self) -> int:
        return len(self._triangles)

    def solve(self) -> Matrix:
        """The least sum of changes under the triangles so far."""
        legs = self._legs()
        up = np.stack([self._low, self._high], axis=1).clip(min=0.0)
        down = np.stack([-self._high, -self._low], axis=1).clip(min=0.0)
        answer = _solve_programme(
            np.concatenate([self._weight, self._weight]),
            A_ub=hstack([legs, -legs], format="csr"),
            b_ub=-(legs @ self._given),
            bounds=np.concatenate([up, down]),
        )
        if not answer.success:
            raise WorkBudgetExceeded(f"the linear programme of {len(self)} triangles was not solved: {answer.message}")
        self._multipliers = np.maximum(-answer.ineqlin.marginals, 0.0)
        changes = answer.x[: len(self._given)] - answer.x[len(self._given) :]
        return self._as_matrix((self._given + changes) * self._unit)

    def bound(self) -> float:
        """What no metric can be below, by the multipliers: valid whatever they are, tight if they are optimal."""
        legs = self._legs()
        price = legs.T @ self._multipliers
        at_ends = [self._weight * np.abs(end) + price * end for end in (self._low, self._high)]
        best = np.minimum(*at_ends)
        best = np.where((self._low <= 0) & (self._high >= 0), np.minimum(best, 0.0), best)
        return float(self._multipliers @ (legs @ self._given) + best.sum()) * self._unit

    def _legs(self) -> csr_array:
        """(triangles, pairs): 1 for the long side, -1 for the two legs."""
        i, j, k = self._triangles.T
        columns = np.stack([self._number[i, j], self._number[i, k], self._number[j, k]], axis=1)
        rows = np.repeat(np.arange(len(columns)), 3)
        signs = np.tile([1.0, -1.0, -1.0], len(columns))
        shape = (len(columns), len(self._given))
        return csr_array(coo_array((signs, (rows, columns.ravel())), shape=shape))

    def _as_matrix(self, values: Floats) -> Matrix:
        matrix = np.zeros(self._number.shape)
        matrix[self._pairs] = values
        return matrix + matrix.T


def _solve_programme(cost: Floats, **constraints: Any) -> Any:
    from scipy.optimize import linprog  # slow to import

    return linprog(cost, method="highs-ipm", **constraints)  # several times faster here than the simplex method


def _ranges(problem: NearnessProblem, pairs: tuple[NDArray[np.intp], ...]) -> tuple[Floats, Floats, Floats]:
    """Weights of the changes and how far down and up they may go; a fixed distance has no range and no weight.

    No nearest metric is above the largest given distance: cut off there, it would still be a metric, and nearer.
    """
    given = problem.given[pairs]
    low = problem.lower - given
    high = max(min(problem.upper, problem.largest), problem.lower) - given
    if problem.inverse_weights is None:
        return np.ones_like(given), low, high
    inverse = problem.inverse_weights[pairs]
    free = inverse > 0
    weight = np.divide(1.0, inverse, out=np.zeros_like(inverse), where=free)
    return weight, np.where(free, low, 0.0), np.where(free, high, 0.0)


def find_smallest_sum(problem: NearnessProblem, scanner: TriangleScanner, tolerance: float) -> SmallestSum:
    """Solve and add what is violated, until nothing is by more than ``tolerance``."""
    if len(problem.given) < 2 or max(problem.largest, problem.lower) == 0:
        return SmallestSum(problem.given, 0.0, 0)
    programme, matrix, rounds = L1Programme(problem), problem.given, 0
    while True:
        found = scanner.find(matrix, tolerance, only_worst=True).triangles
        if len(found) == 0:
            found = scanner.find(matrix, tolerance).triangles
        if rounds and len(found) == 0:
            return SmallestSum(matrix, programme.bound(), rounds)
        programme.add(found)
        matrix = programme.solve()
        rounds += 1
