"""The reference: the algorithm as its authors state it."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings

from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair import dense_fixing
from graphmetric.metric_repair.triangle_fixing import triangle_fixing
from tests.metric_repair.random_matrices import distance_matrices, largest_violation


def fix_by_the_book(distances: np.ndarray, sweeps: int) -> np.ndarray:
    """Corrections e and multipliers z in dictionaries, line by line."""
    m = len(distances)
    e = np.zeros((m, m))
    z: dict[tuple[int, int, int], float] = {}
    for _ in range(sweeps):
        for i in range(m):
            for j in range(i + 1, m):
                for k in range(j + 1, m):
                    for a, b, c in ((i, j, k), (i, k, j), (j, k, i)):
                        excess = distances[a, c] + distances[b, c] - distances[a, b]
                        mu = (e[a, b] - e[a, c] - e[b, c] - excess) / 3
                        theta = min(-mu, z.get((a, b, c), 0.0))
                        for (u, v), sign in (((a, b), 1), ((a, c), -1), ((b, c), -1)):
                            e[u, v] += sign * theta
                            e[v, u] = e[u, v]
                        z[a, b, c] = z.get((a, b, c), 0.0) - theta
    return distances + e


@pytest.mark.slow
@settings(max_examples=30)
@given(distance_matrices(max_items=6))
def test_three_sweeps_are_those_of_the_book(matrix: np.ndarray) -> None:
    assert np.allclose(dense_fixing(matrix, 1e-300, max_sweeps=3).matrix, fix_by_the_book(matrix, 3), atol=1e-12)


@settings(max_examples=40)
@given(distance_matrices(max_items=7))
def test_finds_the_metric_that_triangle_fixing_finds(matrix: np.ndarray) -> None:
    result = dense_fixing(matrix, 1e-9)
    assert largest_violation(result.matrix) <= 1e-8
    assert result.max_violation <= 1e-8
    assert np.abs(result.matrix - triangle_fixing(matrix, tolerance=1e-9).matrix).max(initial=0.0) <= 1e-4


def test_a_side_gives_back_what_it_took() -> None:
    """Without the multipliers the result is a metric, but not the nearest."""
    matrix = np.array([[0, 1, 9, 1], [1, 0, 1, 5], [9, 1, 0, 1], [1, 5, 1, 0]], dtype=float)
    result = dense_fixing(matrix, stop="certificate")
    assert result.converged
    assert result.duality_gap <= 1e-6
    assert result.objective == pytest.approx(triangle_fixing(matrix).objective, rel=1e-5)
    assert result.changed_pairs == 5
    assert result.sweeps % 10 == 0


@pytest.mark.parametrize("m", [0, 1, 2])
def test_without_triangles_nothing_changes(m: int) -> None:
    matrix = np.ones((m, m)) - np.eye(m)
    result = dense_fixing(matrix)
    assert np.array_equal(result.matrix, matrix)
    assert result.converged
    assert (result.sweeps, result.max_violation) == (0, 0)


@pytest.mark.parametrize(
    ("matrix", "options", "message"),
    [
        (np.zeros((1200, 1200)), {}, "7 GB for 1,200 items.*triangle_fixing"),
        (np.zeros((3, 3)), {"tolerance": 0}, "tolerance must be above 0; got 0"),
        (np.zeros((3, 3)), {"stop": "soon"}, "'changes' or 'certificate'; got 'soon'"),
    ],
)
def test_refuses(matrix: np.ndarray, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        dense_fixing(matrix, **options)


@pytest.mark.parametrize("stop", ["changes", "certificate"])
def test_the_unit_of_the_distances_does_not_matter(stop: Literal["changes", "certificate"]) -> None:
    upper = np.triu(np.random.default_rng(0).random((9, 9)), 1)
    matrix = upper + upper.T
    plain = dense_fixing(matrix, 1e-4, stop=stop)
    for scale in (2.0**-40, 2.0**40):
        scaled = dense_fixing(scale * matrix, 1e-4, stop=stop)
        assert scaled.sweeps == plain.sweeps
        assert scaled.converged == plain.converged
        assert (scaled.matrix == scale * plain.matrix).all()
