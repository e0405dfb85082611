"""Shortest paths: a metric, below what was given, and the largest such."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair import shortest_path_closure
from tests.metric_repair.random_matrices import distance_matrices, largest_violation, points_in_space
from tests.naive.repair_by_definition import close_by_loops


@given(distance_matrices())
def test_is_what_three_loops_find(matrix: np.ndarray) -> None:
    closed = shortest_path_closure(matrix)
    assert np.allclose(closed, np.array(close_by_loops(matrix.tolist())).reshape(matrix.shape), rtol=1e-12, atol=0)


@given(distance_matrices())
def test_is_a_metric_below_the_given_one_and_stays_so(matrix: np.ndarray) -> None:
    closed = shortest_path_closure(matrix)
    assert (closed <= matrix).all()
    assert np.array_equal(closed, closed.T)
    assert not closed.diagonal().any()
    assert largest_violation(closed) <= 0  # in double precision, not up to rounding
    assert np.array_equal(shortest_path_closure(closed), closed)


@given(distance_matrices(min_items=1), st.integers(0, 100), st.floats(0, 1))
def test_no_metric_below_is_larger_anywhere(matrix: np.ndarray, seed: int, share: float) -> None:
    other = points_in_space(len(matrix), seed)
    off = ~np.eye(len(matrix), dtype=bool)
    room = (matrix[off] / np.maximum(other[off], 1e-300)).min(initial=1.0)
    other *= share * room
    assert (other <= shortest_path_closure(matrix) * (1 + 1e-12) + 1e-300).all()


@settings(max_examples=5)
@given(st.integers(90, 200), st.integers(0, 1000))
def test_tiles_make_no_difference(m: int, seed: int) -> None:
    matrix = np.triu(np.random.default_rng(seed).random((m, m)) ** 3, 1)
    matrix += matrix.T
    closed, plain = shortest_path_closure(matrix), matrix.copy()
    for k in range(m):
        plain = np.minimum(plain, plain[:, k, None] + plain[None, k, :])
    assert np.allclose(closed, plain, rtol=1e-12, atol=0)


def test_zero_distances_of_different_items_are_edges() -> None:
    closed = shortest_path_closure([[0, 0, 5], [0, 0, 2], [5, 2, 0]])
    assert closed.tolist() == [[0, 0, 2], [0, 0, 2], [2, 2, 0]]


def test_memory_that_was_used_before_is_not_mistaken_for_a_result() -> None:
    matrix = np.array([[0.0, 1, 9], [1, 0, 1], [9, 1, 0]])
    for _ in range(20):
        assert shortest_path_closure(matrix)[0, 2] == 2


def test_given_matrix_is_not_changed_and_checked() -> None:
    matrix = np.array([[0.0, 1, 9], [1, 0, 1], [9, 1, 0]])
    shortest_path_closure(matrix)
    assert matrix[0, 2] == 9
    with pytest.raises(InvalidArgument, match="not symmetric"):
        shortest_path_closure([[0, 1], [2, 0]])
