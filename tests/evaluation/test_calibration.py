"""Bins of predictions by true distance and of errors by size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmetric.errors import InvalidArgument
from graphmetric.evaluation import calibrate, errors_by_size, mean_absolute_error

pairs = st.lists(st.tuples(st.floats(0, 9), st.integers(0, 5)), min_size=1, max_size=40)


@given(pairs)
def test_one_bin_per_true_distance(given_pairs: list[tuple[float, int]]) -> None:
    predicted, true = (np.array(column, dtype=float) for column in zip(*given_pairs, strict=True))
    found = calibrate(predicted, true, levels=(0.0, 0.5, 1.0))
    assert found.true.tolist() == sorted(set(true))
    for k, value in enumerate(found.true):
        here = [p for p, t in given_pairs if t == value]
        assert found.count[k] == len(here)
        assert found.mean[k] == pytest.approx(np.mean(here))
        assert found.quantiles[k] == pytest.approx([min(here), np.median(here), max(here)])


@given(pairs, st.integers(1, 7))
def test_bins_of_equal_width_hold_every_pair_once(given_pairs: list[tuple[float, int]], bins: int) -> None:
    predicted, true = (np.array(column, dtype=float) for column in zip(*given_pairs, strict=True))
    found = calibrate(predicted, true, bins=bins)
    assert len(found.true) <= bins
    assert found.count.sum() == len(true)
    assert (np.diff(found.true) > 0).all()
    assert found.mean @ found.count == pytest.approx(predicted.sum())
    assert (np.diff(found.quantiles, axis=1) >= 0).all()


def test_unknown_pairs_are_left_out() -> None:
    found = calibrate([1.0, 2.0, 3.0], [1.0, np.nan, 1.0])
    assert (found.true.tolist(), found.count.tolist(), found.mean.tolist()) == ([1.0], [2], [2.0])
    nothing = calibrate([1.0], [np.nan])
    assert nothing.quantiles.shape == (0, 5)


def test_errors_by_mean_size() -> None:
    true = np.array([[0.0, 4.0, np.nan], [2.0, 3.0, 5.0]])
    predicted = np.array([[1.0, 3.0, 9.0], [2.0, 2.0, 8.0]])
    found = errors_by_size(predicted, true, [2, 4], [2, 4, 10], bins=None)
    assert found.mean_size.tolist() == [2, 3, 4, 7]
    assert found.count.tolist() == [1, 2, 1, 1]
    assert found.absolute.tolist() == [1, 0.5, 1, 3]
    assert found.bias.tolist() == [1, -0.5, -1, 3]


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_errors_by_size_add_up(bins: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    predicted, true = rng.random((2, 5, 7))
    sizes, others = rng.integers(1, 30, 5), rng.integers(1, 30, 7)
    found = errors_by_size(predicted, true, sizes, others, bins=bins)
    assert found.count.sum() == 35
    assert found.absolute @ found.count / 35 == pytest.approx(mean_absolute_error(predicted, true))
    assert found.bias @ found.count / 35 == pytest.approx((predicted - true).mean())
    assert (np.abs(found.bias) <= found.absolute + 1e-12).all()


def test_wrong_input_is_explained() -> None:
    with pytest.raises(InvalidArgument, match="as many sizes"):
        errors_by_size(np.ones((2, 3)), np.ones((2, 3)), [1, 2], [1, 2])
    with pytest.raises(InvalidArgument, match="bins must be 1 or more"):
        calibrate([1.0], [1.0], bins=0)
