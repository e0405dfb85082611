"""What is let through the door as a matrix of distances."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair import repair_matrix
from graphmetric.metric_repair.nearness import check_matrix
from graphmetric.metric_repair.triangle_fixing import triangle_fixing


def test_gives_a_copy_in_double_precision() -> None:
    given = np.array([[0, 2], [2, 0]], dtype=np.float32)
    matrix = check_matrix(given)
    matrix[0, 1] = 9
    assert given[0, 1] == 2
    assert matrix.dtype == np.float64
    assert matrix.flags.c_contiguous


def test_rounding_of_the_two_directions_is_averaged() -> None:
    matrix = check_matrix([[0, 1, 0.1], [1 + 1e-8, 1e-9, 2], [0.1, 2, 0]])
    assert (matrix == matrix.T).all()
    assert matrix[0, 1] == pytest.approx(1 + 5e-9, abs=1e-12)
    assert matrix[0, 2] == 0.1
    assert not matrix.diagonal().any()


@pytest.mark.parametrize("m", [0, 1])
def test_may_be_almost_empty(m: int) -> None:
    assert check_matrix(np.zeros((m, m))).shape == (m, m)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0, 1], [2, 0]], r"labels is not symmetric: \[0, 1\] = 1 but \[1, 0\] = 2"),
        ([[0, np.nan], [np.nan, 0]], r"labels\[0, 1\] = nan is not known"),
        ([[0, np.inf], [np.inf, 0]], r"labels\[0, 1\] = inf is not finite"),
        ([[0, 1e200], [1e200, 0]], r"labels\[0, 1\] = 1e\+200 is above 1e\+100"),
        ([[0, -1], [-1, 0]], r"labels\[0, 1\] = -1 is negative"),
        ([[0, 1], [1, 0.5]], r"labels\[1, 1\] = 0.5 is on the diagonal"),
        ([[0, 1, 2], [1, 0, 2]], "square"),
        ([0, 1], "square"),
        ([[0, "far"], ["far", 0]], "numbers"),
    ],
)
def test_refuses(values: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        check_matrix(values, "labels")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tolerance": "a"}, "tolerance must be a number above 0 and below 1; got 'a'"),
        ({"time_limit": "x"}, "time_limit must be at least 0 seconds, or None; got 'x'"),
    ],
)
@pytest.mark.parametrize("repair", [triangle_fixing, repair_matrix, partial(repair_matrix, decrease_only=True)])
def test_options_that_are_not_numbers_are_refused(
    repair: Callable[..., Any], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidArgument, match=message):
        repair(np.ones((3, 3)) - np.eye(3), **options)


def test_a_path_is_not_a_matrix() -> None:
    with pytest.raises(InvalidArgument, match=r"must be a square matrix of numbers; got the text 'D\.npy': load"):
        triangle_fixing("D.npy")
    with pytest.raises(InvalidArgument, match="max_scans must be a whole number"):
        triangle_fixing(np.zeros((2, 2)), max_scans=0.5)  # type: ignore[arg-type]


def test_names_an_entry_far_from_the_corner() -> None:
    values = np.zeros((700, 700))
    values[650, 520] = 1
    with pytest.raises(InvalidArgument, match=r"\[520, 650\] = 0 but \[650, 520\] = 1"):
        check_matrix(values)
