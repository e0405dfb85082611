"""The assignment solver against scipy: square and rectangular problems, prices, ties, and warm starts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from scipy.optimize import linear_sum_assignment

from graphmetric._foundation.assignment import (
    COLUMN_DUAL,
    COLUMN_MATCH,
    FREE,
    ROW_MATCH,
    AssignmentWork,
    allocate_assignment,
    assign_rows,
    augment_matching,
)


@njit
def call_assign_rows(n: int, m: int, work: AssignmentWork) -> None:
    assign_rows(n, m, work)


@njit
def call_augment_matching(source: int, m: int, work: AssignmentWork) -> None:
    augment_matching(source, m, work)


def pose(n: int, m: int, seed: int, highest: int) -> AssignmentWork:
    """Whole numbers with many ties or, with 0 as the highest, real ones; prices where columns stay free."""
    rng = np.random.default_rng(seed)
    work = allocate_assignment(m)
    work.weight[:n, :m] = rng.integers(-highest, highest + 1, (n, m)) if highest else rng.standard_normal((n, m))
    if n < m:
        work.values[COLUMN_DUAL, :m] = rng.integers(0, highest + 1, m) if highest else rng.random(m)
    return work


def check_optimal(n: int, m: int, work: AssignmentWork, prices: np.ndarray) -> None:
    weight, match, owner = work.weight[:n, :m], work.places[ROW_MATCH, :n], work.places[COLUMN_MATCH, :m]
    assert len(set(match.tolist())) == n
    assert owner[match].tolist() == list(range(n))
    assert (owner == FREE).sum() == m - n
    gains = weight - prices
    best = gains[linear_sum_assignment(gains, maximize=True)].sum()
    assert gains[np.arange(n), match].sum() == pytest.approx(best, rel=1e-12, abs=1e-12)
    final = work.values[COLUMN_DUAL, :m]
    np.testing.assert_array_equal(final[owner == FREE], prices[owner == FREE])
    left = weight - final
    assert (left[np.arange(n), match] >= left.max(axis=1, initial=-np.inf) - 1e-12).all()


@pytest.mark.slow
@given(
    n=st.integers(0, 9) | st.sampled_from([30, 63]),
    free=st.integers(0, 3) | st.just(20),
    seed=st.integers(0, 2**32 - 1),
    highest=st.sampled_from([0, 1, 3, 1000]),
)
def test_an_assignment_is_optimal_and_its_prices_prove_it(n: int, free: int, seed: int, highest: int) -> None:
    work = pose(n, n + free, seed, highest)
    prices = work.values[COLUMN_DUAL, : n + free].copy()
    call_assign_rows(n, n + free, work)
    check_optimal(n, n + free, work, prices)


@pytest.mark.slow
@given(n=st.integers(1, 9), seed=st.integers(0, 2**32 - 1), highest=st.sampled_from([1, 3, 1000]))
def test_a_row_that_changed_is_matched_again_from_the_prices_of_before(n: int, seed: int, highest: int) -> None:
    work = pose(n, n, seed, highest)
    call_assign_rows(n, n, work)
    rng = np.random.default_rng(seed)
    row = int(rng.integers(n))
    work.weight[row, :n] = rng.integers(-highest, highest + 1, n)
    work.places[COLUMN_MATCH, work.places[ROW_MATCH, row]] = FREE
    call_augment_matching(row, n, work)
    gains = work.weight[:n, :n]
    assert sorted(work.places[ROW_MATCH, :n].tolist()) == list(range(n))
    best = gains[linear_sum_assignment(gains, maximize=True)].sum()
    assert gains[np.arange(n), work.places[ROW_MATCH, :n]].sum() == best
