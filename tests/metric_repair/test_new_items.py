"""A new row on a fixed metric: nearest, feasible, certified."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair import repair_row, repair_rows, shortest_path_closure, triangle_violations
from graphmetric.metric_repair.triangle_fixing import triangle_fixing
from tests.metric_repair.random_matrices import distance_matrices, largest_violation, points_in_space
from tests.naive.repair_by_definition import project_row

ROWS = st.lists(st.one_of(st.integers(0, 6).map(float), st.floats(0, 12)), min_size=7, max_size=7)


def extended(base: np.ndarray, row: np.ndarray) -> np.ndarray:
    return np.block([[base, row[:, None]], [row[None, :], np.zeros((1, 1))]])


@pytest.mark.slow
@given(distance_matrices(max_items=7), ROWS)
def test_the_whole_stays_a_metric(matrix: np.ndarray, values: list[float]) -> None:
    base = shortest_path_closure(matrix)
    result = repair_row(base, values[: len(base)])
    assert result.converged
    assert result.max_violation <= 1e-6
    whole = extended(base, result.row)
    assert triangle_violations(whole, tolerance=1e-6, n_jobs=1).count == 0
    assert largest_violation(whole) <= (result.max_violation + 1e-12) * whole.max()
    assert result.changed == np.count_nonzero(result.row != values[: len(base)])


@pytest.mark.slow
@settings(max_examples=60)
@given(distance_matrices(min_items=1, max_items=7), ROWS, st.integers(0, 1000))
def test_is_the_projection_that_least_squares_finds(matrix: np.ndarray, values: list[float], seed: int) -> None:
    base = shortest_path_closure(matrix)
    row = np.array(values[: len(base)])
    weights = np.random.default_rng(seed).uniform(0.3, 3, len(base))
    found = repair_row(base, row, weights=weights, tolerance=1e-10)
    expected = project_row(base, row, weights)
    assert np.abs(found.row - expected).max() <= 1e-4
    assert found.objective == pytest.approx((weights * (found.row - row) ** 2).sum() / 2)


@pytest.mark.parametrize("copies", [False, True])
@pytest.mark.parametrize("noise", [0.02, 0.3])
def test_is_the_projection_that_fixing_all_triangles_finds(copies: bool, noise: float) -> None:
    whole = points_in_space(41, 7, copies)
    row = np.abs(whole[0, 1:] + np.random.default_rng(1).normal(0, noise, 40))
    base = whole[1:, 1:]
    found = repair_row(base, row)
    fixed = np.ones((41, 41), dtype=bool)
    fixed[:, 40] = fixed[40, :] = False
    other = triangle_fixing(extended(base, row), fixed=fixed)
    assert found.converged
    assert found.duality_gap <= 1e-6
    assert found.objective == pytest.approx(other.objective, rel=1e-4)
    assert np.abs(found.row - other.matrix[40, :40]).max() <= 1e-3


def test_is_nearer_to_the_truth_than_the_estimate() -> None:
    whole = points_in_space(201, 9)
    row = np.abs(whole[0, 1:] + np.random.default_rng(2).normal(0, 0.1, 200))
    found = repair_row(whole[1:, 1:], row).row
    assert ((found - whole[0, 1:]) ** 2).sum() < ((row - whole[0, 1:]) ** 2).sum() - ((found - row) ** 2).sum() + 1e-6


def test_a_row_that_fits_keeps_its_bits() -> None:
    whole = points_in_space(20, 4)
    result = repair_row(whole[1:, 1:], whole[0, 1:])
    assert np.abs(result.row - whole[0, 1:]).max() <= 1e-12
    line = np.abs(np.arange(5.0)[:, None] - np.arange(5.0))
    result = repair_row(line, [3, 2, 1, 2, 3])
    assert result.row.tolist() == [3, 2, 1, 2, 3]
    assert (result.changed, result.objective, result.duality_gap) == (0, 0, 0)


def test_copies_get_their_mean() -> None:
    result = repair_row(np.zeros((4, 4)), [1, 2, 3, 6])
    assert result.row.tolist() == [3, 3, 3, 3]
    assert repair_row(np.zeros((2, 2)), [1, 4], weights=[1, 2]).row.tolist() == [3, 3]
    assert repair_row(np.zeros((3, 3)), [1, 4, 7], fixed=[False, True, False]).row.tolist() == [4, 4, 4]


@given(distance_matrices(min_items=2, max_items=7), ROWS, st.integers(0, 100))
def test_known_entries_stay(matrix: np.ndarray, values: list[float], seed: int) -> None:
    base = shortest_path_closure(matrix)
    truth = repair_row(base, values[: len(base)], tolerance=1e-9).row
    fixed = np.random.default_rng(seed).random(len(base)) < 0.5
    row = np.where(fixed, truth, np.array(values[: len(base)])[::-1])
    result = repair_row(base, row, fixed=fixed)
    assert np.array_equal(result.row[fixed], truth[fixed])
    assert largest_violation(extended(base, result.row)) <= 2e-5


@pytest.mark.parametrize("m", [0, 1])
def test_almost_no_items(m: int) -> None:
    result = repair_row(np.zeros((m, m)), [3.0] * m)
    assert result.row.tolist() == [3.0] * m
    assert result.converged


def test_several_rows_with_distances_among_them() -> None:
    whole = points_in_space(30, 11)
    generator = np.random.default_rng(5)
    rows = np.abs(whole[:3, 3:] + generator.normal(0, 0.2, (3, 27)))
    among = np.array([[0, 5, 1], [5, 0, 1], [1, 1, 0]], dtype=float)
    fixed = np.zeros((3, 27), dtype=bool)
    fixed[0, 4], rows[0, 4] = True, whole[0, 7]
    result = repair_rows(whole[3:, 3:], rows, among, fixed=fixed)
    assert result.converged
    assert np.array_equal(result.matrix[:27, :27], whole[3:, 3:])
    assert result.matrix[27, 4] == whole[0, 7]
    assert largest_violation(result.matrix) <= 1e-5
    alone = repair_rows(whole[3:, 3:], rows[1:2], [[0]])
    assert np.abs(alone.matrix[27, :27] - repair_row(whole[3:, 3:], rows[1]).row).max() <= 1e-3


@pytest.mark.parametrize(
    ("row", "options", "message"),
    [
        ([1], {}, "row has 1 entry; base has 2 items"),
        ([1, -1], {}, r"row\[1\] = -1"),
        ([1, np.nan], {}, r"row\[1\] = nan"),
        ([[1, 2]], {}, "one dimension"),
        (["a", 2], {}, "numbers"),
        ([1, 2], {"weights": [1, 0]}, r"weights\[1\] = 0"),
        ([1, 2], {"weights": [1]}, "weights has 1 entry"),
        ([1, 2], {"fixed": [1, 0]}, "boolean"),
        ([1, 5], {"fixed": [True, True]}, "1 to item 0 and 5 to item 1 contradict the distance 3"),
        ([1, 1], {"fixed": [True, True]}, "1 to item 0 and 1 to item 1 contradict the distance 3"),
        ([1, 2], {"tolerance": 0}, "tolerance"),
    ],
)
def test_refuses(row: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        repair_row([[0, 3], [3, 0]], row, **options)


def test_several_rows_must_fit_together() -> None:
    with pytest.raises(InvalidArgument, match=r"rows must be of shape \(1, 2\)"):
        repair_rows([[0, 3], [3, 0]], [[1, 2, 3]], [[0]])
    with pytest.raises(InvalidArgument, match="fixed must be boolean of shape"):
        repair_rows([[0, 3], [3, 0]], [[1, 2]], [[0]], fixed=[True, False])
