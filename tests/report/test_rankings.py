"""Which graphs ask which, and what is known of their distances."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphmetric.report.rankings import KnownDistances, RankingTask, choose_examples, plan_rankings


@given(st.integers(3, 400), st.integers(1, 5_000), st.integers(0, 5))
def test_a_budget_is_kept_and_used(count: int, budget: int, seed: int) -> None:
    whole = plan_rankings(count, None, None)
    task = whole.within(budget, np.random.default_rng(seed))
    assert 1 <= len(task.queries) * len(task.database) <= budget or count**2 <= budget
    for part, of in ((task.queries, whole.queries), (task.database, whole.database)):
        assert (np.diff(part) > 0).all()
        assert np.isin(part, of).all()
    if count**2 <= budget:
        assert np.array_equal(task.queries, whole.queries)
        assert np.array_equal(task.database, whole.database)
    if len(task.database) < count:  # the database shrinks last
        assert len(task.queries) <= 25


@given(st.data())
def test_known_distances_as_a_matrix(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 8))
    possible = [(i, j) for i in range(count) for j in range(i + 1, count)]
    pairs = data.draw(st.lists(st.sampled_from(possible), min_size=1, unique=True))
    values = {pair: float(k) for k, pair in enumerate(pairs)}
    known = KnownDistances.given((np.array(pairs), np.array(list(values.values()))), count)
    queries, database = (
        np.array(data.draw(st.lists(st.integers(0, count - 1), min_size=1, unique=True))) for _ in range(2)
    )
    found = known.between(queries, database)
    partners = known.partners(database)
    for row, i in enumerate(queries.tolist()):
        expected = [values.get((min(i, j), max(i, j)), math.nan) for j in database.tolist()]
        assert np.array_equal(found.exact[row], expected, equal_nan=True)
        assert partners[i] == np.isfinite(expected).sum()


@given(st.integers(1, 30), st.integers(2, 40), st.integers(1, 12), st.integers(0, 3))
def test_examples_are_the_nearest_from_best_to_worst(queries: int, database: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    predicted, true = rng.random((queries, database)), rng.integers(0, 6, (queries, database)).astype(float)
    task = RankingTask(np.arange(queries), np.arange(100, 100 + database), "", split=False)
    examples = choose_examples(task, predicted, true, true, k)
    assert len(examples) == min(queries, 5)
    assert [example.right for example in examples] == sorted((example.right for example in examples), reverse=True)
    for example in examples:
        limit = sorted(true[example.graph])[min(k, database) - 1]
        row = sorted(range(database), key=lambda n, q=example.graph: predicted[q, n])[:k]  # type: ignore[misc]
        assert [neighbour.graph for neighbour in example.by_model] == [100 + n for n in row]
        assert [neighbour.right for neighbour in example.by_model] == [true[example.graph, n] <= limit for n in row]
        assert [n.lower for n in example.by_truth] == sorted(true[example.graph])[:k]
