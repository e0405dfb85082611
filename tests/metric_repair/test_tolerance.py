"""One meaning of tolerance: a repair that converged has no violation that the check counts at the same tolerance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphmetric.metric_repair import (
    RepairResult,
    dense_fixing,
    repair_matrix,
    repair_row,
    repair_rows,
    shortest_path_closure,
    triangle_violations,
)
from graphmetric.metric_repair.triangle_fixing import triangle_fixing
from tests.command_line import run
from tests.metric_repair.random_matrices import largest_violation

Matrix = np.ndarray
seeds = st.integers(0, 999)
tolerances = st.sampled_from([1e-8, 1e-6, 1e-3])


def symmetric(values: Matrix) -> Matrix:
    upper = np.triu(values, 1)
    return upper + upper.T


def half_known(m: int, seed: int, unit: float = 1.0) -> tuple[Matrix, Matrix]:
    """Random distances, of which a third are known and short: the repair is much smaller than what it was given."""
    metric = shortest_path_closure(symmetric(np.random.default_rng(seed).random((m, m))))
    fixed = symmetric(np.random.default_rng(seed).random((m, m)) < 0.3).astype(bool)
    distances = np.where(fixed, metric, symmetric(np.random.default_rng(seed + 1).random((m, m))))
    np.fill_diagonal(distances, 0)
    return unit * distances, fixed


def check_promise(result: RepairResult, tolerance: float) -> None:
    counted = triangle_violations(result.matrix, tolerance=tolerance, n_jobs=1).count
    assert result.converged
    assert counted == 0
    assert result.max_violation <= tolerance
    largest = largest_violation(result.matrix)
    assert largest <= (result.max_violation + 2e-12) * result.matrix.max(initial=0.0)


@example(m=8, seed=73, unit=1.0, tolerance=1e-6)
@given(m=st.integers(3, 20), seed=seeds, unit=st.sampled_from([1e-9, 1.0, 300.0]), tolerance=tolerances)
def test_fixed_distances(m: int, seed: int, unit: float, tolerance: float) -> None:
    distances, fixed = half_known(m, seed, unit)
    check_promise(triangle_fixing(distances, fixed=fixed, tolerance=tolerance, n_jobs=1), tolerance)


@settings(max_examples=30)
@given(m=st.integers(3, 9), seed=seeds, spread=st.integers(4, 8))
def test_a_long_distance_that_matters_little(m: int, seed: int, spread: int) -> None:
    """It comes down to what the short ones allow, a millionth of what it was, and what is left is small against that.

    How near the nearest metric it is cannot be proven every time: the numbers are too far apart.
    """
    rng = np.random.default_rng(seed)
    distances, weights = 1e-6 * symmetric(rng.random((m, m))), np.ones((m, m))
    distances[0, 1] = distances[1, 0] = 1.0
    weights[0, 1] = weights[1, 0] = 10.0**-spread
    result = triangle_fixing(distances, weights, n_jobs=1, max_scans=20)
    assert triangle_violations(result.matrix, n_jobs=1).count == 0


@pytest.mark.parametrize("norm", ["l1", "linf"])
@pytest.mark.parametrize("seed", range(6))
def test_other_norms_with_known_distances(norm: Any, seed: int) -> None:
    distances, fixed = half_known(8, seed)
    result = repair_matrix(distances, np.where(fixed, distances, np.nan), norm=norm, n_jobs=1)
    check_promise(result, 1e-6)


@given(m=st.integers(3, 10), seed=seeds, tolerance=tolerances)
def test_all_triangles_fixed_to_a_certificate(m: int, seed: int, tolerance: float) -> None:
    distances = symmetric(np.random.default_rng(seed).random((m, m)))
    check_promise(dense_fixing(distances, tolerance, stop="certificate"), tolerance)


@given(m=st.integers(2, 12), seed=seeds, tolerance=tolerances)
def test_new_items_far_from_a_small_metric(m: int, seed: int, tolerance: float) -> None:
    """Estimates that are much too long and disagree come down to their mean."""
    rng = np.random.default_rng(seed)
    base = shortest_path_closure(symmetric(rng.random((m, m))))
    row = np.where(np.arange(m) == 0, 1_000.0, rng.random(m))
    found = repair_row(base, row, tolerance=tolerance)
    whole = np.block([[base, found.row[:, None]], [found.row, np.zeros((1, 1))]])
    assert found.converged
    assert triangle_violations(whole, tolerance=tolerance, n_jobs=1).count == 0
    assert found.max_violation <= tolerance
    check_promise(repair_rows(base, row[None], [[0]], tolerance=tolerance, n_jobs=1), tolerance)


def test_fixed_distances_that_nearly_contradict_each_other_are_measured() -> None:
    """Within the tolerance they stay, and the record states their violation, also where the time was over at once."""
    distances = 1 - np.eye(4)
    distances[0, 1] = distances[1, 0] = 2 + 1e-7
    fixed = np.zeros((4, 4), bool)
    fixed[:3, :3] = True
    distances[2, 3] = distances[3, 2] = 9.0
    for options in ({}, {"max_scans": 1}):
        result = triangle_fixing(distances, fixed=fixed, n_jobs=1, **options)
        assert (result.matrix[fixed] == distances[fixed]).all()
        assert result.max_violation == pytest.approx(1e-7 / result.matrix.max(), rel=1e-6)


def test_the_command_states_the_same_measure(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    distances, fixed = half_known(8, 73, 300.0)
    np.save(tmp_path / "in.npy", distances)
    np.save(tmp_path / "known.npy", np.where(fixed, distances, np.nan))
    arguments = ("repair", tmp_path / "in.npy", tmp_path / "out.npy", "--known", tmp_path / "known.npy")
    report = json.loads(run(capsys, *arguments, "--json")[1])
    before, after = triangle_violations(distances), np.load(tmp_path / "out.npy")
    assert report["max_violation_before"] == before.max_violation == before.max_depth / distances.max()
    assert 0 < report["max_violation"] <= 1e-6
    assert triangle_violations(after, tolerance=1e-6).count == 0
    assert "of the largest distance (1e-06 is accepted)" in run(capsys, *arguments)[1]
