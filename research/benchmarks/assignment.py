"""Microseconds per assignment problem: the shared solver, the two published ones, and scipy.

    python research/benchmarks/assignment.py [--repeats 5]

Costs are Euclidean distances between node states that are drawn around a dozen centres, as those of an encoder are, in
thousandths: the published solvers compare for equality, so they need whole numbers.
Where there are more columns than rows, a free column pays its norm; scipy and the published solvers, which know no
prices, get them subtracted, and the published ones a square matrix. All must find the same totals.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from graphmetric._foundation.assignment import COLUMN_DUAL, AssignmentWork, allocate_assignment, assign_rows
from graphmetric_research.baselines._kernels.assignment import (
    PathWork,
    StarWork,
    allocate_paths,
    allocate_stars,
    solve_by_paths,
    solve_by_stars,
)

Floats = NDArray[np.float64]
SIZES = [(5, 5), (10, 10), (25, 25), (50, 50), (7, 10), (9, 10), (20, 25), (40, 50)]
CENTRES, WIDTH = 12, 64


@njit
def solve_shared(costs: Floats, prices: Floats, work: AssignmentWork, totals: Floats) -> None:
    n, m = costs.shape[1:]
    for p in range(len(costs)):
        for j in range(m):
            work.values[COLUMN_DUAL, j] = -prices[p, j]
            for i in range(n):
                work.weight[i, j] = -costs[p, i, j]
        assign_rows(n, m, work)
        totals[p] = 0.0
        for i in range(n):
            totals[p] += costs[p, i, work.places[0, i]] - prices[p, work.places[0, i]]


@njit
def solve_paths(costs: Floats, work: PathWork, totals: Floats) -> None:
    for p in range(len(costs)):
        solve_by_paths(costs[p], costs.shape[1], work)
        totals[p] = 0.0
        for i in range(costs.shape[1]):
            totals[p] += costs[p, i, work.places[0, i]]


@njit
def solve_stars(costs: Floats, work: StarWork, totals: Floats) -> None:
    for p in range(len(costs)):
        solve_by_stars(costs[p], costs.shape[1], work)
        totals[p] = 0.0
        for i in range(costs.shape[1]):
            totals[p] += costs[p, i, work.places[0, i]]


def solve_scipy(costs: Floats, totals: Floats) -> None:
    for p, cost in enumerate(costs):
        totals[p] = cost[linear_sum_assignment(cost)].sum()


def draw_states(count: int, nodes: int, centres: Floats, rng: np.random.Generator) -> Floats:
    spread = 0.3 * rng.standard_normal((count, nodes, WIDTH))
    states: Floats = centres[rng.integers(CENTRES, size=(count, nodes))] + spread
    return states


def measure(work: Callable[[Floats], None], count: int, repeats: int) -> tuple[float, Floats]:
    totals, best = np.zeros(count), np.inf
    work(totals)
    for _ in range(repeats):
        started = time.process_time()
        work(totals)
        best = min(best, time.process_time() - started)
    return 1e6 * best / count, totals


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((CENTRES, WIDTH))
    print("| rows x columns | shared | paths, published | stars, published | scipy |\n|---|---|---|---|---|")
    for n, m in SIZES:
        count = max(100, 40_000 // m**2)
        rows, columns = draw_states(count, n, centres, rng), draw_states(count, m, centres, rng)
        costs = np.rint(1000 * np.linalg.norm(rows[:, :, None] - columns[:, None], axis=-1))
        prices = np.rint(1000 * np.linalg.norm(columns, axis=-1)) if n < m else np.zeros((count, m))
        reduced = costs - prices[:, None]
        square = np.zeros((count, m, m))
        square[:, :n] = reduced
        room, paths, stars = allocate_assignment(m), allocate_paths(m), allocate_stars(m)
        solvers: list[Callable[[Floats], None]] = [
            lambda totals, c=costs, p=prices, w=room: solve_shared(c, p, w, totals),
            lambda totals, c=square, w=paths: solve_paths(c, w, totals),
            lambda totals, c=square, w=stars: solve_stars(c, w, totals),
            lambda totals, c=reduced: solve_scipy(c, totals),
        ]
        found = [measure(solver, count, repeats) for solver in solvers]
        for _, totals in found[1:]:
            np.testing.assert_allclose(totals, found[0][1], rtol=1e-9, atol=1e-9)
        print(f"| {n} x {m} | {' | '.join(f'{cost:.2f}' for cost, _ in found)} |", flush=True)


if __name__ == "__main__":
    main()
