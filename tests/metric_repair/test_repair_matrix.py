"""Predictions and truth in one metric, and the picture of it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmetric.errors import InvalidArgument, MissingExtra
from graphmetric.metric_repair import draw_repair, repair_matrix, shortest_path_closure
from graphmetric.metric_repair.triangle_fixing import triangle_fixing
from tests.metric_repair.random_matrices import distance_matrices, largest_violation, points_in_space


@pytest.mark.slow
@settings(max_examples=30)
@given(distance_matrices(min_items=3), st.integers(0, 1000), st.sampled_from(["l2", "l1", "linf"]))
def test_known_distances_are_kept(predicted: np.ndarray, seed: int, norm: Any) -> None:
    truth = points_in_space(len(predicted), seed)
    unknown = np.triu(np.random.default_rng(seed).random(truth.shape) < 0.5, 1)
    known = np.where(unknown | unknown.T, np.nan, truth)
    result = repair_matrix(predicted, known, norm=norm)
    assert np.array_equal(result.matrix[~np.isnan(known)], truth[~np.isnan(known)])
    assert largest_violation(result.matrix) <= 2e-5


def test_one_direction_is_enough_and_predictions_may_lack_what_is_known() -> None:
    predicted = np.array([[0, 1, np.nan], [1, 0, 1], [np.nan, 1, 0]])
    known = np.full((3, 3), np.nan)
    known[2, 0] = 2.0
    result = repair_matrix(predicted, known)
    assert result.matrix.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]
    assert np.isnan(predicted[0, 2])


def test_modes_are_those_of_their_functions() -> None:
    matrix = points_in_space(12, 3)
    matrix[0, 1] = matrix[1, 0] = 4
    assert np.array_equal(repair_matrix(matrix).matrix, triangle_fixing(matrix).matrix)
    assert np.array_equal(repair_matrix(matrix, np.full((12, 12), np.nan)).matrix, triangle_fixing(matrix).matrix)
    lowered = repair_matrix(matrix, decrease_only=True)
    assert np.array_equal(lowered.matrix, shortest_path_closure(matrix))
    assert lowered.converged
    assert lowered.changed_pairs == 1
    assert lowered.objective == pytest.approx((4 - lowered.matrix[0, 1]) ** 2 / 2)


@pytest.mark.parametrize(
    ("known", "options", "message"),
    [
        (np.zeros((2, 2)), {}, r"known has shape \(2, 2\), the matrix \(3, 3\)"),
        (np.zeros(3), {}, "known must be a square matrix"),
        ([[0, 1, 1], [2, 0, 1], [1, 1, 0]], {}, "known is not symmetric"),
        ([[0, 1, 9], [1, 0, 1], [9, 1, 0]], {}, "contradict each other"),
        (None, {"norm": "l3"}, "'l2', 'l1' or 'linf'; got 'l3'"),
        (None, {"norm": "l1", "time_limit": 3}, "time_limit is for the norm l2"),
        (None, {"decrease_only": True, "bounds": (0, 1)}, "decrease_only takes no known"),
    ],
)
def test_refuses(known: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        repair_matrix([[0, 1, 3], [1, 0, 1], [3, 1, 0]], known, **options)


def noisy(m: int) -> np.ndarray:
    noise = np.triu(np.random.default_rng(0).normal(0, 0.2, (m, m)), 1)
    matrix = np.abs(points_in_space(m, 0) + noise + noise.T)
    np.fill_diagonal(matrix, 0)
    return matrix


@pytest.mark.slow
@pytest.mark.parametrize("m", [3, 60, 320])
def test_picture(tmp_path: Path, m: int) -> None:
    matrix = noisy(m)
    figure = draw_repair(matrix, triangle_fixing(matrix).matrix, title="noise")
    depths, moves, places, *_ = figure.axes
    assert figure.get_suptitle() == "noise"
    assert [text.get_text() for text in depths.get_legend().get_texts()][1] == "after: none"
    assert "pairs moved" in moves.get_title()
    assert len(places.images[0].get_array()) == (m if m <= 150 else 107)
    figure.savefig(tmp_path / "repair.png")
    assert (tmp_path / "repair.png").stat().st_size > 10_000


def test_picture_of_no_change() -> None:
    matrix = points_in_space(8, 1)
    assert "0 of 28 pairs moved" in draw_repair(matrix, matrix).axes[1].get_title()


def test_picture_refuses() -> None:
    with pytest.raises(InvalidArgument, match="one shape"):
        draw_repair(np.zeros((3, 3)), np.zeros((4, 4)))
    with pytest.raises(InvalidArgument, match="at least 3 items; got 2"):
        draw_repair(np.zeros((2, 2)), np.zeros((2, 2)))


def test_pictures_are_an_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtra, match=r"graphmetric\[plot\]"):
        draw_repair(np.zeros((3, 3)), np.zeros((3, 3)))
