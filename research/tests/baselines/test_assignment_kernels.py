"""The two published assignment solvers against scipy, on matrices with many ties, forbidden entries and any size."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from scipy.optimize import linear_sum_assignment

from graphmetric_research.baselines._kernels.assignment import (
    ROW_MATCH,
    ROW_STAR,
    Floats,
    PathWork,
    StarWork,
    allocate_paths,
    allocate_stars,
    solve_by_paths,
    solve_by_stars,
)


@njit
def call_solve_by_paths(cost: Floats, n: int, work: PathWork) -> None:
    solve_by_paths(cost, n, work)


@njit
def call_solve_by_stars(cost: Floats, n: int, work: StarWork) -> None:
    solve_by_stars(cost, n, work)


def random_costs(n: int, seed: int, highest: int, forbidden: float) -> Floats:
    """Whole numbers, some entries infinite; the diagonal stays finite so that an assignment exists."""
    rng = np.random.default_rng(seed)
    cost = rng.integers(0, highest + 1, (n, n)).astype(float)
    blocked = rng.random((n, n)) < forbidden
    np.fill_diagonal(blocked, False)
    cost[blocked] = np.inf
    return cost


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["jonker-volgenant", "munkres"])
@given(
    n=st.integers(0, 12) | st.sampled_from([63, 64, 65, 90, 130]),
    seed=st.integers(0, 2**32 - 1),
    highest=st.sampled_from([0, 1, 3, 1000]),
    forbidden=st.sampled_from([0.0, 0.3]),
)
def test_assignment_is_optimal(solver: str, n: int, seed: int, highest: int, forbidden: float) -> None:
    cost = random_costs(n, seed, highest, forbidden)
    if solver == "munkres":
        stars = allocate_stars(n)
        call_solve_by_stars(cost, n, stars)
        match = stars.places[ROW_STAR, :n]
    else:
        work = allocate_paths(n)
        call_solve_by_paths(cost, n, work)
        match = work.places[ROW_MATCH, :n]
    assert sorted(match) == list(range(n))
    assert cost[np.arange(n), match].sum() == cost[linear_sum_assignment(cost)].sum()
