"""Scores against bounds hold whatever the true distances are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from graphmetric.errors import InvalidArgument
from graphmetric.evaluation import score_against_bounds
from graphmetric.evaluation.scores import mean_absolute_error, mean_squared_error, score_rankings


@settings(deadline=None)
@given(seed=st.integers(0, 10_000), queries=st.integers(1, 4), count=st.integers(2, 12), known=st.booleans())
def test_the_score_against_any_truth_within_the_bounds_is_within_the_score(
    seed: int, queries: int, count: int, known: bool
) -> None:
    rng = np.random.default_rng(seed)
    lower = rng.integers(0, 8, (queries, count)).astype(float)
    upper = lower + (0 if known else rng.integers(0, 4, (queries, count)))
    predicted = rng.uniform(0, 10, (queries, count))
    found = score_against_bounds(predicted, lower, upper, ks=[1, 3])
    for _ in range(5):
        truth = rng.integers(lower.astype(int), upper.astype(int) + 1).astype(float)
        rankings = score_rankings(predicted, truth, ks=[1, 3])
        within = [
            (found.mae, mean_absolute_error(predicted, truth)),
            (found.mse, mean_squared_error(predicted, truth)),
            (found.precision[1], rankings.precision[1]),
            (found.precision[3], rankings.precision[3]),
        ]
        for (least, most), value in within:
            assert least - 1e-12 <= value <= most + 1e-12
        if known:
            assert all(least == pytest.approx(most) for (least, most), _ in within)
    assert found.proven == pytest.approx((lower == upper).mean())


@given(seed=st.integers(0, 10_000), count=st.integers(2, 15))
def test_the_order_is_that_of_all_pairs_that_are_decided(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    lower = rng.integers(0, 10, count).astype(float)
    upper = lower + rng.integers(0, 4, count)
    predicted = rng.permutation(count).astype(float)
    right = wrong = 0
    for i in range(count):
        for j in range(count):
            if upper[i] < lower[j]:
                right += predicted[i] < predicted[j]
                wrong += predicted[i] > predicted[j]
    found = score_against_bounds([predicted], [lower], [upper], ks=[1])
    assert found.decided == pytest.approx((right + wrong) / (count * (count - 1) / 2))
    if right + wrong:
        assert found.order == pytest.approx((right - wrong) / (right + wrong))
    distinct = rng.permutation(count).astype(float)
    tau = score_against_bounds([predicted], [distinct], [distinct], ks=[1]).order
    assert tau == pytest.approx(kendalltau(predicted, distinct).statistic)


def test_pairs_without_bounds_are_left_out() -> None:
    found = score_against_bounds([[1, 2, 9]], [[1, 2, np.nan]], [[1, 4, np.nan]], ks=[1])
    assert found.pairs == 2
    assert found.proven == 0.5
    assert found.mae == (0, 1)
    assert found.to_dict()["p@1"] == [1, 1]


@pytest.mark.parametrize(
    ("lower", "upper"), [([[1, 2]], [[1, np.inf]]), ([[2, 2]], [[1, 3]]), ([[1, 2, 3]], [[1, 2, 3]])]
)
def test_bounds_that_cannot_be(lower: list[list[float]], upper: list[list[float]]) -> None:
    with pytest.raises(InvalidArgument):
        score_against_bounds([[1, 2]], lower, upper)
