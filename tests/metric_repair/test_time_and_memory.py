"""A repair keeps its time limit, with a metric in any case, and asks for no more memory than there is."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmetric.errors import WorkBudgetExceeded
from graphmetric.metric_repair import repair_matrix, shortest_path_closure, triangle_violations
from graphmetric.metric_repair.nearness import check_matrix, pose_problem
from graphmetric.metric_repair.shortest_paths import raise_corners, raise_to_half
from graphmetric.metric_repair.triangle_fixing import triangle_fixing
from graphmetric.metric_repair.triangle_inequality import TriangleScanner
from tests.clocks import counted_seconds


def symmetric(values: np.ndarray) -> np.ndarray:
    upper = np.triu(values, 1)
    return upper + upper.T


def random_matrix(m: int, seed: int = 0) -> np.ndarray:
    return symmetric(np.random.default_rng(seed).random((m, m)))


readings = st.sampled_from([0, 1, 2, 3, 5, 8, 13, 20, 50, 200])
"""Of the clock, until the time is over."""


@pytest.mark.slow
@settings(max_examples=60)
@given(m=st.integers(2, 40), seed=st.integers(0, 99), limit=readings, data=st.data())
def test_whatever_the_time_limit_the_answer_is_a_metric(m: int, seed: int, limit: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    distances = random_matrix(m, seed).round(data.draw(st.sampled_from([1, 3, 12])))
    options = {}
    if data.draw(st.booleans()):
        options["weights"] = symmetric(10.0 ** rng.uniform(-3, 3, (m, m)))
    if data.draw(st.booleans()):
        options["bounds"] = (0.2, 0.7)
    with counted_seconds(1):
        result = triangle_fixing(distances, time_limit=limit, n_jobs=1, **options)
    assert triangle_violations(result.matrix, worst=1).count == 0
    assert result.duality_gap <= 1 + 1e-9
    best = triangle_fixing(distances, n_jobs=1, **options)
    assert result.objective >= best.objective * (1 - 1e-5)
    low, high = options.get("bounds", (0.0, np.inf))
    apart = result.matrix[np.triu_indices(m, 1)]
    assert ((apart >= low) & (apart <= high)).all()


@pytest.mark.slow
@settings(max_examples=60)
@given(m=st.integers(3, 30), seed=st.integers(0, 99), limit=readings)
def test_fixed_distances_stay_or_the_time_was_too_short(m: int, seed: int, limit: int) -> None:
    metric = shortest_path_closure(random_matrix(m, seed))
    fixed = symmetric(np.random.default_rng(seed).random((m, m)) < 0.3).astype(bool)
    distances = np.where(fixed, metric, random_matrix(m, seed + 1))
    np.fill_diagonal(distances, 0)
    try:
        with counted_seconds(1):
            result = triangle_fixing(distances, fixed=fixed, time_limit=limit, n_jobs=1)
    except WorkBudgetExceeded:
        return
    assert (result.matrix[fixed] == metric[fixed]).all()
    assert result.max_violation <= 1e-6
    assert triangle_violations(result.matrix, tolerance=1e-6).count == 0


@settings(max_examples=60)
@given(m=st.integers(3, 60), seed=st.integers(0, 99), only_worst=st.booleans(), share=st.floats(0, 1))
def test_raised_corners_are_a_metric(m: int, seed: int, only_worst: bool, share: float) -> None:
    """Also where small violations are not listed, and where iterates are below zero."""
    x = random_matrix(m, seed) - 0.1
    np.fill_diagonal(x, 0)
    problem = pose_problem(random_matrix(m, seed), None, None, None)
    scan = TriangleScanner(m, 1).find(x, share * 0.5, only_worst=only_worst)
    raised = raise_corners(problem, x.copy(), scan)
    assert triangle_violations(raised).count == 0
    assert triangle_violations(raise_to_half(problem, x)).count == 0


@pytest.mark.parametrize("limit", [10, 40, 300])
def test_a_time_limit_is_kept(limit: int) -> None:
    """Once the time is over the clock is read a few times more and nothing new is begun."""
    distances = random_matrix(300)
    triangle_fixing(distances[:9, :9], n_jobs=1)  # compiles
    with counted_seconds(1) as clock:
        result = triangle_fixing(distances, time_limit=limit, n_jobs=1)
        assert clock.readings <= limit + 4
    assert not result.converged
    assert result.seconds <= limit + 4
    assert triangle_violations(result.matrix, worst=1).count == 0


def test_shortest_paths_give_up_in_time() -> None:
    with counted_seconds(1) as clock:
        with pytest.raises(WorkBudgetExceeded, match=r"700 items were not found within 2 s"):
            repair_matrix(random_matrix(700), decrease_only=True, time_limit=2, n_jobs=1)
        assert clock.readings <= 5


def test_threads_do_not_change_shortest_paths() -> None:
    distances = random_matrix(700)
    assert np.array_equal(shortest_path_closure(distances, n_jobs=1), shortest_path_closure(distances, n_jobs=3))


def test_a_sound_matrix_is_not_copied_and_none_is_written_to() -> None:
    matrix = random_matrix(30)
    assert check_matrix(matrix) is matrix
    uneven = matrix.copy()
    uneven[3, 4] *= 1 + 1e-9
    for distances in (matrix, uneven, np.asfortranarray(matrix[:20, :20]), matrix.astype(np.float32)):
        before, checked = distances.copy(), check_matrix(distances)
        assert checked is distances or not np.shares_memory(checked, distances)
        for repair in (triangle_fixing, shortest_path_closure, repair_matrix, triangle_violations):
            repair(distances)
        assert np.array_equal(distances, before)


@pytest.mark.slow
def test_too_little_memory_is_said_before_the_work() -> None:
    script = """
import resource
import numpy as np
from graphmetric.errors import NotEnoughMemory
from graphmetric.metric_repair.triangle_fixing import triangle_fixing

triangle_fixing(np.ones((3, 3)) - np.eye(3), n_jobs=1)
matrix = np.random.default_rng(0).random((3_000, 3_000), dtype=np.float32)
matrix = np.triu(matrix, 1) + np.triu(matrix, 1).T
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 300_000_000, resource.RLIM_INFINITY))
try:
    triangle_fixing(matrix, n_jobs=1)
except NotEnoughMemory as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert "the nearest metric of 3,000 items needs about" in said
    assert "MB are available" in said
    assert "repair fewer items" in said
