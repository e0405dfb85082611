"""Violated triangle inequalities: all of them, the deepest, and their share by sampling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair import triangle_violations
from tests.naive import metric_nearness as naive

seeds = st.integers(0, 2**32 - 1)


def make_symmetric(m: int, seed: int, digits: int = 12) -> NDArray[np.float64]:
    upper = np.triu(np.random.default_rng(seed).random((m, m)).round(digits), 1)
    return upper + upper.T


@given(st.integers(0, 12), seeds, st.sampled_from([1, 2, 12]), st.sampled_from([0.0, 1e-12, 0.1]))
def test_equals_a_loop_over_all_triangles(m: int, seed: int, digits: int, tolerance: float) -> None:
    distances = make_symmetric(m, seed, digits)
    found = triangle_violations(distances, tolerance=tolerance, worst=5, n_jobs=1)
    expected = naive.find_violations(distances, tolerance * distances.max(initial=0))
    assert found.count == len(expected)
    assert found.tested == found.total == len(naive.list_triangles(m))
    assert [entry.depth for entry in found.worst] == [depth for depth, *_ in expected[:5]]
    assert {(entry.depth, *entry[:3]) for entry in found.worst} <= set(expected)
    assert found.max_depth == (expected[0][0] if expected else 0)
    assert found.mean_depth == pytest.approx(np.mean([depth for depth, *_ in expected]) if expected else 0)


def test_wide_matrices_are_searched_to_their_last_column() -> None:
    """Rows are tested in chunks; each single violation must be found wherever it lies."""
    m = 1100
    distances = 2.0 * (1 - np.eye(m))
    for i, j, k in ((0, 1, 2), (700, 511, 512), (1099, 3, 1098), (63, 64, 1023), (1024, 1025, 1026)):
        distances[i, j] = distances[j, i] = distances[i, k] = distances[k, i] = 1.5
        distances[j, k] = distances[k, j] = 3.25
    found = triangle_violations(distances)
    assert found.count == 5
    assert [entry[:3] for entry in found.worst] == [
        (1, 2, 0), (3, 1098, 1099), (64, 1023, 63), (511, 512, 700), (1025, 1026, 1024),
    ]  # fmt: skip
    assert {entry.depth for entry in found.worst} == {0.25}


def test_any_number_of_threads_gives_the_same() -> None:
    distances = make_symmetric(150, 0)
    assert triangle_violations(distances, n_jobs=1) == triangle_violations(distances, n_jobs=3)


def test_sums_that_round_are_no_violations() -> None:
    distances = [[0, 0.1, 0.1 + 0.2 + 4e-17], [0.1, 0, 0.2], [0.1 + 0.2 + 4e-17, 0.2, 0]]
    assert triangle_violations(distances).count == 0


class TestSample:
    def test_interval_holds_the_share(self) -> None:
        distances = make_symmetric(40, 0)
        share = triangle_violations(distances).share
        held = 0
        for seed in range(50):
            found = triangle_violations(distances, sample=2000, random_state=seed)
            low, high = found.share_interval
            assert low <= found.share <= high
            assert not found.exact
            held += low <= share <= high
        assert held >= 43  # 95 % of 50 is 47; fewer than 43 happens once in 500 times

    def test_none_found_leaves_room_above_zero(self) -> None:
        low, high = triangle_violations(1 - np.eye(30), sample=1000).share_interval
        assert low == 0
        assert 0 < high < 0.005

    def test_every_inequality_is_as_likely(self) -> None:
        """With one violated inequality among 60, a sixtieth of the sample finds it."""
        distances = 1 - np.eye(6)
        distances[2, 4] = distances[4, 2] = 2.5
        found = triangle_violations(distances, sample=60_000)
        assert found.share == pytest.approx(4 / 60, rel=0.05)
        assert {entry[:3] for entry in found.worst} == {(2, 4, k) for k in (0, 1, 3, 5)}

    def test_seed_repeats(self) -> None:
        distances = make_symmetric(20, 0)
        one, two = (triangle_violations(distances, sample=100, random_state=7) for _ in range(2))
        assert one == two


@pytest.mark.parametrize("options", [{"tolerance": -1}, {"worst": -1}, {"sample": 0}])
def test_options_that_cannot_be(options: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument, match=next(iter(options))):
        triangle_violations(np.zeros((3, 3)), **options)


@pytest.mark.parametrize("sample", [None, 10])
@pytest.mark.parametrize("m", [0, 1, 2])
def test_too_few_items_for_a_triangle(m: int, sample: int | None) -> None:
    found = triangle_violations(1 - np.eye(m), sample=sample)
    assert (found.count, found.total, found.share) == (0, 0, 0)


def test_says_what_it_found() -> None:
    distances = [[0, 1, 5], [1, 0, 1], [5, 1, 0]]
    assert str(triangle_violations(distances)).startswith("1 of 3 triangle inequalities violated (33.333%), deepest 3")
    assert "from a sample" in str(triangle_violations(distances, sample=10))
