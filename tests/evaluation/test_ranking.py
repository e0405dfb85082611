"""Ranking scores against literal transcriptions, scipy and known answers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from graphmetric.errors import InvalidArgument
from graphmetric.evaluation import kendall_tau, mean_rank_correlation, precision_at, score_rankings, spearman_rho
from tests.naive import distance_scores as naive

ties = st.integers(0, 6).map(float)
any_value = ties | st.floats(-3, 3, width=32)
rows = st.lists(st.tuples(any_value, ties), min_size=2, max_size=25)
Row = list[tuple[float, float]]


def columns(row: Row) -> tuple[np.ndarray, np.ndarray]:
    predicted, true = (np.array(column) for column in zip(*row, strict=True))
    return predicted, true


@given(rows, st.integers(1, 30))
def test_precision_is_its_definition(row: Row, k: int) -> None:
    predicted, true = columns(row)
    strict, inclusive, generous = (precision_at(predicted, true, k, ties=ties) for ties in ("none", "truth", "both"))
    assert strict == pytest.approx(naive.strict_precision(predicted.tolist(), true.tolist(), k))
    assert inclusive == pytest.approx(naive.precision(predicted.tolist(), true.tolist(), k))
    assert generous == pytest.approx(naive.generous_precision(predicted.tolist(), true.tolist(), k))
    assert strict <= inclusive <= generous


@given(rows)
def test_correlations_are_scipys_and_the_definitions(row: Row) -> None:
    predicted, true = columns(row)
    scores = score_rankings([predicted], [true])
    if len(set(true)) == 1:
        assert scores.queries == 0
        assert math.isnan(scores.rho)
    elif len(set(predicted)) == 1:
        assert (scores.rho, scores.tau) == (0.0, 0.0)
    else:
        expected = spearmanr(predicted, true).statistic, kendalltau(predicted, true).statistic
        assert (scores.rho, scores.tau) == pytest.approx(expected)
        assert scores.rho == pytest.approx(naive.spearman(predicted.tolist(), true.tolist()))
        assert scores.tau == pytest.approx(naive.tau_b(predicted.tolist(), true.tolist()))


@given(rows)
def test_only_the_order_of_the_prediction_counts(row: Row) -> None:
    predicted, true = columns(row)
    order = np.unique(predicted, return_inverse=True)[1].astype(float)
    assert str(score_rankings([order], [true])) == str(score_rankings([predicted], [true]))


@given(rows, rows)
def test_scores_are_means_over_the_queries(first: Row, second: Row) -> None:
    """Of which the shorter is filled up with pairs that are not known."""
    length = max(len(first), len(second))
    matrices = np.full((2, 2, length), np.nan)
    for k, row in enumerate((first, second)):
        matrices[:, k, : len(row)] = columns(row)
    alone = [score_rankings(*(column[None] for column in columns(row)), ks=[3]) for row in (first, second)]
    together = score_rankings(*matrices, ks=[3])
    assert together.precision[3] == pytest.approx(np.mean([one.precision[3] for one in alone]))
    assert together.strict_precision[3] == pytest.approx(np.mean([one.strict_precision[3] for one in alone]))
    assert together.queries == sum(one.queries for one in alone)
    if together.queries:
        assert together.rho == pytest.approx(np.mean([one.rho for one in alone if one.queries]))
        assert together.tau == pytest.approx(np.mean([one.tau for one in alone if one.queries]))


def test_the_truth_scores_one() -> None:
    true = np.random.default_rng(0).random((4, 50))
    scores = score_rankings(true, true)
    assert (scores.rho, scores.tau, scores.queries) == (pytest.approx(1), pytest.approx(1), 4)
    assert scores.precision == scores.strict_precision == scores.generous_precision == {10: 1.0, 20: 1.0}
    assert score_rankings(-true, true).rho == pytest.approx(-1)


def test_ties_of_the_truth_count_inclusively_or_not() -> None:
    predicted, true = np.array([3.0, 2.0, 1.0]), np.array([5.0, 5.0, 5.0])
    assert precision_at(predicted, true, 1) == 1.0
    assert precision_at(predicted, true, 1, ties="none") == 0.0
    nothing_learned = np.zeros(3)
    assert precision_at(nothing_learned, -np.arange(3.0), 1) == 0.0
    assert precision_at(nothing_learned, -np.arange(3.0), 1, ties="both") == 1.0


def test_correlation_of_what_does_not_vary_is_none() -> None:
    same, rising = np.ones(3), np.arange(3.0)
    assert spearman_rho(same, rising) == spearman_rho(rising, same) == 0.0
    assert kendall_tau(same, rising) == kendall_tau(rising, same) == 0.0


def test_pair_lists_rank_as_matrices_do() -> None:
    rng = np.random.default_rng(1)
    true, predicted = (matrix + matrix.T for matrix in rng.integers(0, 5, (2, 9, 9)).astype(float))
    pairs = np.column_stack(np.triu_indices(9, k=1))
    np.fill_diagonal(true, np.nan)
    expected = score_rankings(predicted, true).rho
    found = mean_rank_correlation(pairs, predicted[*pairs.T], true[*pairs.T])
    assert found == pytest.approx(expected)


def test_wrong_input_is_explained() -> None:
    with pytest.raises(InvalidArgument, match="one shape"):
        score_rankings([[1.0]], [[1.0, 2.0]])
    with pytest.raises(InvalidArgument, match="queries, database"):
        score_rankings([1.0], [1.0])
    with pytest.raises(InvalidArgument, match="1 are not"):
        score_rankings([[np.nan, np.nan]], [[1.0, np.nan]])
    with pytest.raises(InvalidArgument, match="NaN for a pair"):
        score_rankings([[1.0]], [[np.inf]])
    with pytest.raises(InvalidArgument, match="k = 0"):
        score_rankings([[1.0]], [[1.0]], ks=[0])


def test_nothing_known_is_nan() -> None:
    scores = score_rankings([[1.0]], [[np.nan]])
    assert math.isnan(scores.rho)
    assert math.isnan(scores.precision[10])
    assert math.isnan(precision_at(np.empty(0), np.empty(0), 10))
