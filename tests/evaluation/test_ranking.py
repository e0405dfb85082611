"""Ranking scores against literal transcriptions and known answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from graphmetric.errors import InvalidArgument
from graphmetric.evaluation import precision_at, score_rankings

rows = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=25)


def literal_precision(predicted: list, true: list, k: int) -> float:
    """|top-k by prediction ∩ {items whose true distance <= the k-th smallest}| / k."""
    k = min(k, len(true))
    top = sorted(range(len(predicted)), key=lambda i: (predicted[i], i))[:k]
    within = {i for i in range(len(true)) if true[i] <= sorted(true)[k - 1]}
    return len(set(top) & within) / k


@given(rows, st.integers(1, 30))
def test_precision_is_its_definition(pairs: list, k: int) -> None:
    predicted, true = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    assert precision_at(predicted, true, k) == pytest.approx(literal_precision(list(predicted), list(true), k))


@given(rows)
def test_correlations_are_scipys(pairs: list) -> None:
    predicted, true = (np.array(column, dtype=float) for column in zip(*pairs, strict=True))
    scores = score_rankings([predicted], [true])
    if len(set(true)) == 1:
        assert scores.queries == 0
    elif len(set(predicted)) == 1:
        assert (scores.rho, scores.tau) == (0.0, 0.0)
    else:
        assert scores.rho == pytest.approx(spearmanr(predicted, true).statistic)
        assert scores.tau == pytest.approx(kendalltau(predicted, true).statistic)


def test_the_truth_scores_one() -> None:
    rng = np.random.default_rng(0)
    true = rng.random((4, 50))
    scores = score_rankings(true, true)
    assert (scores.rho, scores.tau, scores.p10, scores.p20, scores.mse) == pytest.approx((1, 1, 1, 1, 0))
    assert str(scores).startswith("rho 1.000")
    assert score_rankings(-true, true).rho == pytest.approx(-1)


def test_unknown_pairs_are_left_out() -> None:
    true = np.array([[0.0, 1.0, np.nan, 3.0]])
    scores = score_rankings([[0.0, 1.0, 100.0, 3.0]], true)
    assert (scores.rho, scores.mse) == (pytest.approx(1), 0.0)


def test_wrong_input_is_explained() -> None:
    with pytest.raises(InvalidArgument, match="one shape"):
        score_rankings([[1.0]], [[1.0, 2.0]])
    with pytest.raises(InvalidArgument, match="NaN"):
        score_rankings([[np.nan]], [[1.0]])
