"""The axioms, measured: on metrics, on matrices that break one axiom each, and against plain loops."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from graphmetric.errors import InvalidArgument
from graphmetric.evaluation import measure_axioms
from tests.naive import distance_scores as naive

squares = st.integers(0, 6).flatmap(lambda m: arrays.arrays(float, (m, m), elements=st.integers(0, 9).map(float)))


def points(count: int = 12) -> np.ndarray:
    where = np.random.default_rng(0).random((count, 3))
    return np.linalg.norm(where[:, None] - where, axis=2)


def test_a_metric_is_one() -> None:
    found = measure_axioms(points(), copies=np.zeros((3, 4)), classes=np.arange(12), n_jobs=1)
    assert found.is_pseudo_metric
    assert found.is_metric is True
    assert "BROKEN" not in str(found)
    assert len(str(found).splitlines()) == 6


@pytest.mark.parametrize("broken", ["identity", "symmetry", "non-negativity", "triangle", "separation"])
def test_one_axiom_broken(broken: str) -> None:
    matrix, copies = points(), np.zeros(2)
    if broken == "identity":
        copies[1] = -0.25
    elif broken == "symmetry":
        matrix[1, 0] += 0.01
    elif broken == "non-negativity":
        matrix[2, 3] = matrix[3, 2] = -0.5
    elif broken == "triangle":
        matrix[4, 5] = matrix[5, 4] = 9.0
    else:
        matrix[:, 6], matrix[6] = matrix[:, 7], matrix[7]
        matrix[6, 6] = matrix[7, 6] = 0.0
    found = measure_axioms(matrix, copies=copies, classes=np.arange(12), n_jobs=1)
    lines = [line.split()[0] for line in str(found).splitlines() if "BROKEN" in line]
    assert lines == (["non-negativity", "triangle"] if broken == "non-negativity" else [broken])
    assert found.is_metric is False
    assert found.is_pseudo_metric is (broken == "separation")


@given(squares)
def test_measurements_are_the_definitions(matrix: np.ndarray) -> None:
    found = measure_axioms(matrix, tolerance=0.0, n_jobs=1)
    plain, count = matrix.tolist(), len(matrix)
    everything = [(i, j) for i in range(count) for j in range(count)]
    assert found.identity == max([abs(plain[i][i]) for i in range(count)], default=0.0)
    assert found.asymmetry == max([abs(plain[i][j] - plain[j][i]) for i, j in everything], default=0.0)
    assert found.smallest == min(map(min, plain)) if count else math.isnan(found.smallest)
    means = [[(plain[i][j] + plain[j][i]) / 2 for j in range(count)] for i in range(count)]
    assert found.triangles is not None
    assert found.triangles.max_depth == pytest.approx(naive.deepest_triangle(means))
    assert (found.triangles.count > 0) is (naive.deepest_triangle(means) > 0)


def test_classes_say_what_must_and_must_not_be_zero() -> None:
    matrix = np.array([[0.0, 0.5, 0.0], [0.5, 0.0, 0.5], [0.0, 0.5, 0.0]])
    copies_apart = measure_axioms(matrix, classes=[0, 0, 1], n_jobs=1)
    assert (copies_apart.identity, copies_apart.unseparated) == (0.5, 1)
    right = measure_axioms(matrix, classes=["a", "b", "a"], n_jobs=1)
    assert (right.identity, right.unseparated, right.is_metric) == (0.0, 0, True)
    assert measure_axioms(matrix, n_jobs=1).is_metric is None


def test_rounding_is_no_violation() -> None:
    matrix = points().astype(np.float32).astype(float)
    matrix[0, 1] *= 1 + 1e-7
    assert measure_axioms(matrix, n_jobs=1).is_pseudo_metric
    assert not measure_axioms(matrix, tolerance=1e-9, n_jobs=1).is_pseudo_metric


def test_plain_data_is_json() -> None:
    for matrix in (points(), -points(), np.empty((0, 0))):
        plain = measure_axioms(matrix, n_jobs=1).to_dict()
        assert json.loads(json.dumps(plain, allow_nan=False)) == plain


def test_a_sample_of_triangles() -> None:
    matrix = 1.0 - np.eye(30)
    matrix[0, 1:] = matrix[1:, 0] = 0.1
    found = measure_axioms(matrix, sample=5000, n_jobs=1).triangles
    assert found is not None
    assert found.tested == 5000
    assert found.share == pytest.approx(1 / 30, abs=0.02)


def test_wrong_input_is_explained() -> None:
    with pytest.raises(InvalidArgument, match="square"):
        measure_axioms(np.zeros((2, 3)))
    with pytest.raises(InvalidArgument, match="distances must all be finite"):
        measure_axioms([[0, np.nan], [1, 0]])
    with pytest.raises(InvalidArgument, match="copies must all be finite"):
        measure_axioms([[0, 1], [1, 0]], copies=[np.inf])
    with pytest.raises(InvalidArgument, match="one class for each of the 2"):
        measure_axioms([[0, 1], [1, 0]], classes=[1])
