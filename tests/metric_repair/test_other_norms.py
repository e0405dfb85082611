"""L1 and L-infinity: as good as the whole linear programme, and proven so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair import RepairResult, repair_matrix
from graphmetric.metric_repair.other_norms import MOST_ITEMS_L1
from graphmetric.metric_repair.triangle_fixing import triangle_fixing
from tests.metric_repair.random_matrices import distance_matrices, largest_violation, points_in_space
from tests.naive.repair_by_definition import nearest_by_programme

NORMS: list[Any] = ["l1", "linf"]


def repair(norm: Any, matrix: Any, fixed: np.ndarray | None = None, **options: Any) -> RepairResult:
    known = None if fixed is None else np.where(fixed, matrix, np.nan)
    return repair_matrix(matrix, known, norm=norm, **options)


def measure(norm: str, changes: np.ndarray) -> float:
    above = np.triu(np.abs(changes), 1)
    return float(above.sum() if norm == "l1" else above.max(initial=0.0))


@pytest.mark.slow
@pytest.mark.parametrize("norm", NORMS)
@settings(max_examples=30)
@given(matrix=distance_matrices(min_items=3, max_items=6), seed=st.integers(0, 1000), choice=st.integers(0, 7))
def test_is_as_near_as_the_whole_programme_says(norm: str, matrix: np.ndarray, seed: int, choice: int) -> None:
    m, generator = len(matrix), np.random.default_rng(seed)
    weights = np.ones((m, m))
    if choice & 1:
        weights = np.triu(generator.uniform(0.2, 3, (m, m)))
        weights = weights + np.triu(weights, 1).T
    bounds = (1.0, 4.0) if choice & 2 else (0.0, None)
    fixed = np.zeros((m, m), dtype=bool)
    if choice & 4:
        fixed[0, 1] = fixed[1, 0] = True
        matrix[0, 1] = matrix[1, 0] = 2.5
    result = repair(norm, matrix, fixed, weights=weights, bounds=(1.0, 4.0) if choice & 2 else None)
    assert result.converged
    assert result.objective == pytest.approx(nearest_by_programme(matrix, norm, weights, fixed, bounds), abs=1e-5)
    assert result.objective == pytest.approx(measure(norm, weights * (result.matrix - matrix)), abs=1e-9)
    assert largest_violation(result.matrix) <= 1e-5
    assert np.array_equal(result.matrix[fixed], matrix[fixed])
    apart = result.matrix[np.triu_indices(m, 1)]
    assert apart.min() >= bounds[0]
    assert bounds[1] is None or apart.max() <= bounds[1]


@pytest.mark.parametrize("norm", NORMS)
def test_the_bound_is_one_for_every_metric(norm: str) -> None:
    generator = np.random.default_rng(3)
    truth = points_in_space(25, 3)
    noise = np.triu(generator.normal(0, 0.2, truth.shape), 1)
    matrix = np.clip(truth + noise + noise.T, 0, None)
    np.fill_diagonal(matrix, 0)
    result = repair(norm, matrix)
    assert result.duality_gap <= 1e-6
    for other in (truth, triangle_fixing(matrix).matrix):
        assert result.objective <= measure(norm, other - matrix) + 1e-6


def test_no_single_distance_is_raised_without_need_in_linf() -> None:
    matrix = points_in_space(12, 5)
    matrix[0, 1] = matrix[1, 0] = 5.0
    moved = repair("linf", matrix).matrix
    for i, j in np.argwhere(np.triu(moved > matrix)):
        others = [k for k in range(12) if k not in (i, j)]
        assert moved[i, j] <= max(matrix[i, j], np.abs(moved[i, others] - moved[j, others]).max()) + 1e-7


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("m", [0, 1, 2, 10])
def test_a_metric_is_left_alone(norm: str, m: int) -> None:
    matrix = points_in_space(m, 1) if m else np.zeros((0, 0))
    result = repair(norm, matrix, bounds=(0, 9))
    assert np.allclose(result.matrix, matrix, atol=1e-12)
    assert result.objective <= 1e-12
    assert result.converged


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fixed": np.ones((3, 3), dtype=bool)}, "fixed distances contradict each other"),
        ({"bounds": (3, 1)}, "bounds"),
        ({"weights": np.zeros((3, 3))}, "weights"),
        ({"tolerance": 0}, "tolerance"),
    ],
)
def test_refuses(norm: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        repair(norm, [[0, 1, 9], [1, 0, 1], [9, 1, 0]], **options)


@pytest.mark.parametrize("norm", NORMS)
def test_copies_are_kept_apart_by_bounds(norm: str) -> None:
    assert repair(norm, np.zeros((3, 3)), bounds=(2, 3)).matrix.tolist() == [[0, 2, 2], [2, 0, 2], [2, 2, 0]]
    assert repair(norm, np.zeros((1, 1)), bounds=(2, 3)).matrix.tolist() == [[0]]


def test_l1_says_when_there_are_too_many() -> None:
    with pytest.raises(InvalidArgument, match="at most 300 items; got 301"):
        repair("l1", np.zeros((MOST_ITEMS_L1 + 1, MOST_ITEMS_L1 + 1)))
