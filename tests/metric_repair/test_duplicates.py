"""Duplicates of items: found as such, and the repair is that of the whole problem."""

from __future__ import annotations

import io
from dataclasses import asdict, astuple, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair import RepairDuals, RepairResult, duplicates, triangle_violations
from graphmetric.metric_repair.duplicates import merge_duplicates
from graphmetric.metric_repair.nearness import pose_problem
from graphmetric.metric_repair.triangle_fixing import triangle_fixing
from tests.metric_repair.random_matrices import distance_matrices
from tests.naive import metric_nearness as naive

Matrix = NDArray[np.float64]


class Question(NamedTuple):
    distances: Matrix
    options: dict[str, Any]
    group: NDArray[np.int64]

    def solve(self, **more: Any) -> RepairResult:
        return triangle_fixing(self.distances, n_jobs=1, **self.options, **more)


def symmetric(values: Matrix, diagonal: Matrix) -> Matrix:
    upper = np.triu(values, 1)
    return upper + upper.T + np.diag(diagonal)


def draw_question(rng: np.random.Generator, sizes: list[int], apart: float, **kinds: bool) -> Question:
    """Groups of duplicates in any order; ``apart`` is the share of groups whose members are not at distance 0."""
    g = len(sizes)
    half = np.where(rng.random(g) < apart, rng.uniform(0.01, 0.3, g), 0.0)
    points = rng.random((g, 2))
    metric = np.linalg.norm(points[:, None] - points, axis=-1) + (half[:, None] + half)
    between = symmetric(np.abs(metric + rng.normal(0, 0.4, (g, g))), np.where(half > 0, rng.uniform(0, 1.5, g), 0.0))
    group = rng.permutation(np.repeat(np.arange(g), sizes))
    whole = np.ix_(group, group)
    options: dict[str, Any] = {}
    if kinds.get("weights"):
        options["weights"] = symmetric(rng.uniform(0.2, 5, (g, g)), rng.uniform(0.2, 5, g))[whole]
    if kinds.get("fixed"):
        fixed = symmetric(rng.random((g, g)) < 0.4, rng.random(g) < 0.4).astype(bool)
        between = np.where(fixed, metric, between)
        options["fixed"] = fixed[whole]
    if kinds.get("bounds"):
        kept = metric[fixed] if kinds.get("fixed") else np.empty(0)
        lower = min(float(rng.choice([0.0, 0.3])), kept.min(initial=9))
        options["bounds"] = (lower, max(0.7, kept.max(initial=0)))
    distances = between[whole]
    np.fill_diagonal(distances, 0.0)
    return Question(distances, options, group)


@st.composite
def questions(draw: st.DrawFn) -> Question:
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4).filter(lambda sizes: sum(sizes) <= 9))
    kinds = {name: draw(st.booleans()) for name in ("weights", "fixed", "bounds")}
    return draw_question(rng, sizes, draw(st.sampled_from([0.0, 0.5, 1.0])), **kinds)


def make_question(m: int = 60, groups: int = 15, apart: float = 0.5, seed: int = 0, **kinds: bool) -> Question:
    rng = np.random.default_rng(seed)
    return draw_question(rng, (1 + rng.multinomial(m - groups, np.full(groups, 1 / groups))).tolist(), apart, **kinds)


def conditions_of(result: RepairResult, question: Question) -> naive.Conditions:
    assert result.duals is not None
    duals = result.duals.spread()
    duals.check(len(question.group))
    return naive.check_conditions(
        question.distances, result.matrix, duals.triangles.tolist(), duals.multipliers.tolist(),
        duals.bounded_pairs.tolist(), duals.bound_multipliers.tolist(), **question.options,
    )  # fmt: skip


@pytest.mark.slow
@settings(max_examples=200)
@given(questions())
def test_equals_a_general_quadratic_program_of_the_whole(question: Question) -> None:
    result = question.solve(tolerance=1e-9)
    assert result.converged
    expected = naive.solve_nearest_metric(dither(question), **question.options)
    np.testing.assert_allclose(result.matrix, expected, atol=1e-6)


def dither(question: Question) -> Matrix:
    """Distinguish duplicates, without which non-negative least squares loses its way; the answer moves by no more."""
    noise = np.triu(np.random.default_rng(0).uniform(0, 1e-8, question.distances.shape), 1)
    noise[question.options.get("fixed", np.zeros(noise.shape, bool))] = 0.0
    return question.distances + noise + noise.T


@settings(max_examples=100)
@given(questions())
def test_spread_multipliers_meet_the_optimality_conditions_of_the_whole(question: Question) -> None:
    conditions = conditions_of(question.solve(tolerance=1e-9), question)
    assert max(astuple(conditions)) < 1e-5
    assert conditions.fixed == 0


@given(questions())
def test_copies_come_out_as_copies(question: Question) -> None:
    matrix = question.solve().matrix
    np.testing.assert_array_equal(matrix, matrix.T)
    for p, q in zip(*np.nonzero(question.group[:, None] == question.group), strict=True):
        order = np.arange(len(matrix))
        order[[p, q]] = q, p
        np.testing.assert_allclose(matrix[np.ix_(order, order)], matrix, atol=1e-5)


@given(questions())
def test_one_or_two_of_each_group_are_kept(question: Question) -> None:
    merged = merge_duplicates(
        pose_problem(question.distances, *map(question.options.get, ("weights", "fixed", "bounds")))
    )
    assert np.bincount(merged.group[merged.kept]).max() <= 2
    assert len(merged.kept) <= 2 * len(np.unique(question.group))
    np.testing.assert_array_equal(merged.expand(merged.small.given), merged.whole.given)


@given(distance_matrices(max_items=7), st.data())
def test_finds_exactly_what_can_be_swapped(matrix: Matrix, data: st.DataObject) -> None:
    """With ties by chance, among them rows that agree but for a weight."""
    m = len(matrix)
    weights = np.ones((m, m))
    if m > 1:
        i, j = data.draw(st.tuples(st.integers(0, m - 1), st.integers(0, m - 1)))
        weights[i, j] = weights[j, i] = data.draw(st.sampled_from([1.0, 2.0]))
    merged = merge_duplicates(pose_problem(matrix, weights, None, None))
    expected = np.unique(naive.find_first_copies(matrix, weights), return_inverse=True)[1] if m else []
    np.testing.assert_array_equal(merged.group, expected)


@pytest.mark.parametrize("apart", [0.0, 1.0])
@pytest.mark.parametrize("kinds", [{}, {"weights": True}, {"fixed": True}, {"bounds": True}])
def test_the_answer_is_that_without_merging(
    apart: float, kinds: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    question = make_question(apart=apart, **kinds)
    merged = question.solve(tolerance=1e-8)
    monkeypatch.setattr(duplicates, "_find_first_duplicates", lambda problem: np.arange(len(problem.given)))
    plain = question.solve(tolerance=1e-8)
    assert merged.converged
    assert plain.converged
    np.testing.assert_allclose(merged.matrix, plain.matrix, atol=1e-5)
    assert merged.objective == pytest.approx(plain.objective, rel=1e-7)
    assert merged.duality_gap <= 1e-8


@pytest.mark.parametrize("apart", [0.0, 0.5])
def test_the_report_is_about_the_whole(apart: float) -> None:
    question = make_question(apart=apart)
    result = question.solve()
    assert result.matrix.shape == question.distances.shape
    assert triangle_violations(result.matrix).count == 0
    moved = np.triu(result.matrix - question.distances)
    assert result.objective == pytest.approx((moved**2).sum() / 2, rel=1e-12)
    assert result.changed_pairs == np.count_nonzero(moved)
    assert max(astuple(conditions_of(result, question))) < 1e-4


def test_members_of_a_group_may_come_apart_or_together() -> None:
    """Two items at distance 9 of each other and at 1 of a third; and two at distance 0 that must be at 1 or more."""
    wide = triangle_fixing([[0, 9, 1], [9, 0, 1], [1, 1, 0]], bounds=(0, 4)).matrix
    np.testing.assert_allclose(wide, [[0, 4, 2], [4, 0, 2], [2, 2, 0]], atol=1e-5)
    tight = triangle_fixing([[0, 0, 2], [0, 0, 2], [2, 2, 0]], bounds=(1, 4)).matrix
    np.testing.assert_allclose(tight, [[0, 1, 2], [1, 0, 2], [2, 2, 0]], atol=1e-5)


def test_items_that_differ_in_the_last_bit_are_not_copies() -> None:
    distances = make_question(apart=0.0).distances
    copy = int(np.flatnonzero(distances[0] == 0)[1])
    distances[0, 5] = distances[5, 0] = np.nextafter(distances[0, 5], 9)
    group = merge_duplicates(pose_problem(distances, None, None, None)).group
    assert group[0] != group[copy]


def test_a_metric_with_copies_comes_back_bit_for_bit() -> None:
    points = np.random.default_rng(0).random((8, 2))[np.arange(30) % 8]
    metric = 37.3 * np.linalg.norm(points[:, None] - points, axis=-1)
    result = triangle_fixing(metric)
    np.testing.assert_array_equal(result.matrix, metric)
    assert (result.converged, result.objective, result.sweeps) == (True, 0, 0)


def test_a_contradiction_names_items_of_the_whole() -> None:
    distances = np.full((5, 5), 3.0) - 3 * np.eye(5)
    distances[:3, :3] = 0
    distances[3, 4] = distances[4, 3] = 9
    with pytest.raises(InvalidArgument, match=r"\[3, 4\] = 9 .* triangle 3 - 0 - 4"):
        triangle_fixing(distances, fixed=np.ones((5, 5), bool))


@pytest.mark.parametrize("fixed", [False, True])
def test_out_of_time_gives_a_metric(fixed: bool) -> None:
    question = make_question(fixed=fixed)
    result = question.solve(max_scans=1)
    assert not result.converged
    assert triangle_violations(result.matrix, tolerance=1e-6).count == 0


class TestStart:
    @pytest.mark.parametrize("kinds", [{}, {"bounds": True}, {"fixed": True}])
    def test_from_the_same_matrix_it_is_done_at_once(self, kinds: dict[str, bool]) -> None:
        question = make_question(**kinds)
        first = question.solve()
        again = question.solve(start=first)
        assert again.sweeps == 0
        np.testing.assert_allclose(again.matrix, first.matrix, atol=1e-6)

    def test_from_multipliers_of_every_copy_it_is_done_at_once(self) -> None:
        question = make_question(apart=0.0)
        first = question.solve()
        assert first.duals is not None
        assert question.solve(start=replace(first, duals=first.duals.spread())).sweeps == 0

    @pytest.mark.parametrize("apart", [0.0, 1.0])
    def test_copies_that_are_told_apart_by_new_items(self, apart: float) -> None:
        question = make_question(apart=apart)
        m = len(question.group)
        distances = np.random.default_rng(1).uniform(0.2, 1, (m + 1, m + 1))
        distances[m] = distances[:, m]
        distances[:m, :m] = question.distances
        np.fill_diagonal(distances, 0.0)
        continued = triangle_fixing(distances, tolerance=1e-8, start=question.solve())
        plain = triangle_fixing(distances, tolerance=1e-8)
        np.testing.assert_allclose(continued.matrix, plain.matrix, atol=1e-5)
        assert continued.sweeps < plain.sweeps

    def test_multipliers_can_be_saved(self) -> None:
        question = make_question()
        first = question.solve()
        assert first.duals is not None
        file = io.BytesIO()
        np.savez(file, **asdict(first.duals))
        file.seek(0)
        with np.load(file) as arrays:
            loaded = replace(first, duals=RepairDuals(**arrays))
        assert question.solve(start=loaded).sweeps == 0

    @pytest.mark.parametrize(
        "wrong",
        [
            np.zeros(60),
            np.zeros(61, np.int32),
            np.zeros(2, np.int32),
            np.full(60, 60, np.int32),
            np.full(60, -1, np.int32),
            np.maximum(np.arange(60, dtype=np.int32) - 1, 0),
        ],
    )
    def test_copies_from_elsewhere_are_checked(self, wrong: NDArray[Any]) -> None:
        question = make_question()
        first = question.solve()
        assert first.duals is not None
        with pytest.raises(InvalidArgument, match="copy_of"):
            question.solve(start=replace(first, duals=replace(first.duals, copy_of=wrong)))
