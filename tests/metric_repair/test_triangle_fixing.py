"""The nearest metric: optimal, certified, and the same however it is asked for."""

from __future__ import annotations

import io
import re
from dataclasses import asdict, astuple, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import graphmetric.metric_repair
from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair import RepairDuals, RepairResult, triangle_violations
from graphmetric.metric_repair._kernels import triangles
from graphmetric.metric_repair.triangle_fixing import triangle_fixing
from tests.naive import metric_nearness as naive

Matrix = NDArray[np.float64]
seeds = st.integers(0, 2**32 - 1)


class Question(NamedTuple):
    distances: Matrix
    options: dict[str, Any]


def symmetric(values: Matrix) -> Matrix:
    upper = np.triu(values, 1)
    return upper + upper.T


def make_metric(m: int, rng: np.random.Generator) -> Matrix:
    points = rng.random((m, 2))
    return symmetric(np.linalg.norm(points[:, None] - points, axis=-1))


def make_noisy(m: int, sd: float = 0.1, seed: int = 0) -> Matrix:
    rng = np.random.default_rng(seed)
    return symmetric(np.clip(make_metric(m, rng) + rng.normal(0, sd, (m, m)), 0, None))


@st.composite
def questions(draw: st.DrawFn) -> Question:
    """Small matrices, many of them with ties and zeros, with weights, fixed pairs and bounds that have a solution."""
    m, rng = draw(st.integers(3, 7)), np.random.default_rng(draw(seeds))
    metric = make_metric(m, rng)
    digits = draw(st.sampled_from([1, 2, 12]))
    distances = symmetric(np.abs(metric + rng.normal(0, draw(st.sampled_from([0.1, 0.5])), (m, m))).round(digits))
    options: dict[str, Any] = {}
    if draw(st.booleans()):
        options["weights"] = symmetric(rng.uniform(0.2, 5, (m, m)))
    if draw(st.booleans()):
        fixed = symmetric((rng.random((m, m)) < draw(st.sampled_from([0.2, 0.6]))).astype(float)).astype(bool)
        distances = np.where(fixed, metric, distances)
        options["fixed"] = fixed
    if draw(st.booleans()):
        held = metric[options["fixed"]] if "fixed" in options else np.empty(0)
        lower = min(draw(st.sampled_from([0.0, 0.2, 0.4])), held.min(initial=9))
        options["bounds"] = (lower, max(lower, draw(st.sampled_from([0.5, 0.8, 2.0])), held.max(initial=0)))
    return Question(distances, options)


@pytest.mark.slow
@settings(max_examples=300)
@given(questions())
def test_equals_a_general_quadratic_program(question: Question) -> None:
    distances, options = question
    result = triangle_fixing(distances, tolerance=1e-9, n_jobs=1, **options)
    assert result.converged
    np.testing.assert_allclose(result.matrix, naive.solve_nearest_metric(distances, **options), atol=1e-6)


@pytest.mark.slow
@settings(max_examples=100)
@given(questions())
def test_meets_the_optimality_conditions(question: Question) -> None:
    distances, options = question
    result = triangle_fixing(distances, tolerance=1e-9, n_jobs=1, **options)
    conditions = conditions_of(result, distances, **options)
    assert max(astuple(conditions)) < 1e-5
    assert conditions.fixed == 0
    assert conditions.violation <= 1e-9 * result.matrix.max()


def conditions_of(result: RepairResult, distances: Matrix, **options: Any) -> naive.Conditions:
    duals = result.duals
    assert duals is not None
    return naive.check_conditions(
        distances, result.matrix, duals.triangles.tolist(), duals.multipliers.tolist(),
        duals.bounded_pairs.tolist(), duals.bound_multipliers.tolist(), **options,
    )  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("fixed_share", [0.0, 0.6])
def test_a_larger_matrix_meets_the_optimality_conditions(fixed_share: float) -> None:
    distances, m = make_noisy(80), 80
    block = int(fixed_share * m)
    distances[:block, :block] = make_metric(block, np.random.default_rng(5))
    fixed = np.zeros((m, m), bool)
    fixed[:block, :block] = True
    result = triangle_fixing(distances, fixed=fixed)
    assert result.converged
    assert result.max_violation <= 1e-6
    assert result.duality_gap <= 1e-6
    assert max(astuple(conditions_of(result, distances, fixed=fixed))) < 1e-4
    assert result.objective == pytest.approx(((result.matrix - distances) ** 2).sum() / 4, rel=1e-12)


def test_the_result_has_no_violations_left() -> None:
    result = triangle_fixing(make_noisy(60))
    assert triangle_violations(result.matrix).count == 0
    assert result.max_violation == 0


@given(st.integers(0, 12), seeds)
def test_a_metric_comes_back_bit_for_bit(m: int, seed: int) -> None:
    metric = 37.3 * make_metric(m, np.random.default_rng(seed))
    result = triangle_fixing(metric)
    np.testing.assert_array_equal(result.matrix, metric)
    assert result.converged
    assert (result.objective, result.duality_gap, result.changed_pairs, result.sweeps) == (0, 0, 0, 0)


def test_input_is_not_changed() -> None:
    distances = make_noisy(20)
    before, weights, fixed = distances.copy(), np.ones((20, 20)), np.eye(20, dtype=bool)
    triangle_fixing(distances, weights, fixed, (0.1, 0.5))
    np.testing.assert_array_equal(distances, before)
    assert weights.all()
    assert fixed.sum() == 20


@given(questions(), st.integers(-20, 20))
def test_scaling_by_a_power_of_two_is_exact(question: Question, exponent: int) -> None:
    distances, options = question
    factor = 2.0**exponent
    scaled = dict(options, bounds=tuple(factor * b for b in options["bounds"])) if "bounds" in options else options
    plain = triangle_fixing(distances, n_jobs=1, **options)
    result = triangle_fixing(factor * distances, n_jobs=1, **scaled)
    np.testing.assert_array_equal(result.matrix, factor * plain.matrix)


@given(questions(), st.floats(1e-6, 1e6))
def test_scaling_scales_the_result(question: Question, factor: float) -> None:
    distances, options = question
    scaled = dict(options, bounds=tuple(factor * b for b in options["bounds"])) if "bounds" in options else options
    plain = triangle_fixing(distances, tolerance=1e-9, n_jobs=1, **options)
    result = triangle_fixing(factor * distances, tolerance=1e-9, n_jobs=1, **scaled)
    np.testing.assert_allclose(result.matrix / factor, plain.matrix, atol=1e-6)


@given(questions(), st.randoms())
def test_the_order_of_the_items_does_not_matter(question: Question, random: Any) -> None:
    distances, options = question
    order = np.array(random.sample(range(len(distances)), len(distances)))
    moved = {name: v if name == "bounds" else v[np.ix_(order, order)] for name, v in options.items()}
    plain = triangle_fixing(distances, tolerance=1e-9, n_jobs=1, **options)
    result = triangle_fixing(distances[np.ix_(order, order)], tolerance=1e-9, n_jobs=1, **moved)
    np.testing.assert_allclose(result.matrix, plain.matrix[np.ix_(order, order)], atol=1e-6)


def test_repair_never_leads_away_from_a_true_metric() -> None:
    truth, rng = make_metric(60, np.random.default_rng(0)), np.random.default_rng(1)
    noisy = symmetric(np.abs(truth + rng.normal(0, 0.1, truth.shape)))
    repaired = triangle_fixing(noisy).matrix
    gained = ((noisy - repaired) ** 2).sum()
    assert ((repaired - truth) ** 2).sum() <= ((noisy - truth) ** 2).sum() - gained + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("sd", [0.1, 0.5])
def test_any_number_of_threads_gives_the_same_bits(sd: float) -> None:
    distances = make_noisy(150, sd)
    one, three = (triangle_fixing(distances, n_jobs=n) for n in (1, 3))
    np.testing.assert_array_equal(one.matrix, three.matrix)
    assert one.duals is not None
    assert three.duals is not None
    np.testing.assert_array_equal(one.duals.triangles, three.duals.triangles)
    np.testing.assert_array_equal(one.duals.multipliers, three.duals.multipliers)


def test_weights_decide_who_gives_way() -> None:
    weights = np.ones((3, 3))
    weights[0, 2] = weights[2, 0] = 1e6
    result = triangle_fixing([[0, 1, 4], [1, 0, 1], [4, 1, 0]], weights)
    np.testing.assert_allclose(result.matrix, [[0, 2, 4], [2, 0, 2], [4, 2, 0]], atol=1e-5)


def test_values_outside_the_bounds_are_not_just_clipped() -> None:
    distances = [[0, 9, 1], [9, 0, 1], [1, 1, 0]]
    result = triangle_fixing(distances, bounds=(0, 4))
    np.testing.assert_allclose(result.matrix, [[0, 4, 2], [4, 0, 2], [2, 2, 0]], atol=1e-5)
    assert conditions_of(result, np.array(distances, float), bounds=(0, 4)).stationarity < 1e-4


class TestStart:
    def test_from_the_same_matrix_it_is_done_at_once(self) -> None:
        distances = make_noisy(60)
        first = triangle_fixing(distances)
        again = triangle_fixing(distances, start=first)
        assert again.sweeps == 0
        np.testing.assert_allclose(again.matrix, first.matrix, atol=1e-6)

    @pytest.mark.parametrize("options", [{}, {"bounds": (0.1, 0.8)}])
    def test_added_items_get_the_repair_of_the_whole(self, options: dict[str, Any]) -> None:
        distances = make_noisy(60)
        block = triangle_fixing(distances[:50, :50], **options)
        whole = triangle_fixing(distances, tolerance=1e-8, **options)
        continued = triangle_fixing(distances, tolerance=1e-8, start=block, **options)
        np.testing.assert_allclose(continued.matrix, whole.matrix, atol=1e-5)
        assert continued.objective == pytest.approx(whole.objective, rel=1e-7)

    def test_multipliers_can_be_saved(self) -> None:
        distances = make_noisy(40)
        first = triangle_fixing(distances)
        assert first.duals is not None
        file = io.BytesIO()
        np.savez(file, **asdict(first.duals))
        file.seek(0)
        with np.load(file) as arrays:
            loaded = replace(first, duals=RepairDuals(**arrays))
        assert triangle_fixing(distances, start=loaded).sweeps == 0

    @pytest.mark.parametrize(
        "wrong",
        [
            {"triangles": np.array([[0, 1, 20]], np.int32)},
            {"triangles": np.array([[0, 1, -1]], np.int32)},
            {"triangles": np.array([[1, 0, 2]], np.int32)},
            {"triangles": np.array([[0, 1, 1]], np.int32)},
            {"triangles": np.array([[0, 1, 2]])},
            {"multipliers": np.array([-1.0])},
            {"multipliers": np.array([np.nan])},
            {"multipliers": np.array([1.0, 1.0])},
        ],
    )
    def test_multipliers_from_elsewhere_are_checked(self, wrong: dict[str, Any]) -> None:
        distances = make_noisy(20)
        first = triangle_fixing(distances)
        assert first.duals is not None
        sound = {"triangles": np.array([[0, 1, 2]], np.int32), "multipliers": np.array([0.1])}
        triangle_fixing(distances, start=replace(first, duals=replace(first.duals, **sound)))
        with pytest.raises(InvalidArgument, match=r"multipliers|positions"):
            triangle_fixing(distances, start=replace(first, duals=replace(first.duals, **(sound | wrong))))

    def test_without_multipliers_is_refused(self) -> None:
        distances = make_noisy(20)
        with pytest.raises(InvalidArgument, match="no multipliers"):
            triangle_fixing(distances, start=replace(triangle_fixing(distances), duals=None))

    def test_of_more_items_is_refused(self) -> None:
        with pytest.raises(InvalidArgument, match="60 items"):
            triangle_fixing(make_noisy(50), start=triangle_fixing(make_noisy(60)))


class TestLimits:
    def test_out_of_time_gives_a_metric(self) -> None:
        distances = make_noisy(100, 0.3)
        result = triangle_fixing(distances, time_limit=0)
        assert not result.converged
        assert triangle_violations(result.matrix).count == 0
        assert result.duality_gap > 1e-6

    @pytest.mark.parametrize("scans", [1, 3])
    def test_out_of_scans_with_fixed_distances_gives_a_metric_that_has_them(self, scans: int) -> None:
        m, block = 100, 60
        distances = make_noisy(m, 0.3)
        distances[:block, :block] = make_metric(block, np.random.default_rng(0))
        fixed = np.zeros((m, m), bool)
        fixed[:block, :block] = True
        result = triangle_fixing(distances, fixed=fixed, bounds=(0, 2), max_scans=scans)
        assert not result.converged
        assert triangle_violations(result.matrix, tolerance=1e-6).count == 0
        np.testing.assert_array_equal(result.matrix[fixed], distances[fixed])
        assert result.matrix.max() <= 2

    def test_more_scans_come_nearer(self) -> None:
        distances = make_noisy(100, 0.3)
        objectives = [triangle_fixing(distances, max_scans=scans).objective for scans in (1, 4, 200)]
        assert objectives == sorted(objectives, reverse=True)


class TestRefusals:
    def test_contradicting_triangle(self) -> None:
        distances = [[0, 1, 5, 3], [1, 0, 1, 3], [5, 1, 0, 3], [3, 3, 3, 0]]
        with pytest.raises(InvalidArgument, match=r"\[0, 2\] = 5 .* triangle 0 - 1 - 2, \[0, 1\] = 1 \+ \[1, 2\] = 1"):
            triangle_fixing(distances, fixed=np.ones((4, 4), bool))

    def test_contradicting_path(self) -> None:
        fixed = np.zeros((4, 4), bool)
        for i, j in ((0, 1), (1, 2), (2, 3), (0, 3)):
            fixed[i, j] = fixed[j, i] = True
        distances = symmetric(np.full((4, 4), 7.0))
        for i, j in ((0, 1), (1, 2), (2, 3)):
            distances[i, j] = distances[j, i] = 2.0
        with pytest.raises(InvalidArgument, match="path 0 - 1 - 2 - 3"):
            triangle_fixing(distances, fixed=fixed)

    def test_contradictions_within_the_tolerance_are_let_be(self) -> None:
        distances = make_metric(12, np.random.default_rng(0))
        distances[0, 1] = distances[1, 0] = (distances[0] + distances[1])[2:].min() + 1e-7
        fixed = np.ones((12, 12), bool)
        fixed[3, 4] = fixed[4, 3] = False
        result = triangle_fixing(distances, fixed=fixed)
        np.testing.assert_array_equal(result.matrix[fixed], distances[fixed])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"fixed": np.ones((3, 3))}, "boolean"),
            ({"fixed": np.ones((2, 2), bool)}, "shape"),
            ({"fixed": np.triu(np.ones((3, 3), bool))}, "not symmetric"),
            ({"fixed": np.ones((3, 3), bool), "bounds": (0, 0.5)}, "outside the bounds"),
            ({"weights": np.zeros((3, 3))}, "positive"),
            ({"weights": np.ones((2, 2))}, "shape"),
            ({"weights": np.triu(np.ones((3, 3)), 1) + 1}, "symmetric"),
            ({"bounds": (0.5, 0.2)}, "lower <= upper"),
            ({"bounds": (-1, 1)}, "0 <= lower"),
            ({"tolerance": 0}, "tolerance"),
            ({"time_limit": -1}, "time_limit"),
            ({"max_scans": 0}, "max_scans"),
        ],
    )
    def test_options_that_cannot_be(self, options: dict[str, Any], message: str) -> None:
        with pytest.raises(InvalidArgument, match=message):
            triangle_fixing(1 - np.eye(3), **options)


@pytest.mark.parametrize("m", [0, 1, 2])
def test_few_items_have_no_triangles(m: int) -> None:
    distances = 3 * (1 - np.eye(m))
    result = triangle_fixing(distances)
    np.testing.assert_array_equal(result.matrix, distances)
    assert result.converged


def test_two_items_keep_the_bounds() -> None:
    np.testing.assert_allclose(triangle_fixing([[0, 3], [3, 0]], bounds=(0, 1)).matrix, [[0, 1], [1, 0]])


def test_all_zero_is_a_metric() -> None:
    assert not triangle_fixing(np.zeros((5, 5))).matrix.any()


def test_all_zero_is_raised_to_the_lower_bound() -> None:
    result = triangle_fixing(np.zeros((4, 4)), bounds=(0.3, 0.7))
    np.testing.assert_allclose(result.matrix, 0.3 * (1 - np.eye(4)))
    assert result.converged


def test_says_how_it_went() -> None:
    assert "converged, largest relative violation 0.0e+00" in repr(triangle_fixing(make_noisy(20)))


def test_each_equation_of_the_repair_has_exactly_one_home() -> None:
    folder = Path(graphmetric.metric_repair.__file__).parent
    found = re.findall(r"\\qquad \((\d+)\)", "".join(path.read_text() for path in folder.rglob("*.py")))
    assert sorted(map(int, found)) == [12, 13, 14, 16]


def test_every_kernel_is_compiled_once() -> None:
    """Python and numpy scalars, or arrays of another layout, would compile the same code again."""
    distances = make_noisy(30)
    for options in ({}, {"weights": np.ones((30, 30))}, {"bounds": (0.2, 0.6)}, {"max_scans": 1}):
        triangle_fixing(distances, **options)
    triangle_fixing(distances.astype(np.float32).T)
    kernels = (
        triangles.quantise,
        triangles.scan_rows,
        triangles.sweep_evenly,
        triangles.sweep_weighted,
        triangles.sweep_bounds,
    )
    kernels += (triangles.add_forces, triangles.number_sides, triangles.lower_long_sides)
    assert [len(kernel.signatures) for kernel in kernels] == [1] * len(kernels)
