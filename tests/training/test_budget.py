"""Budgets in pairs and in time, and what they are estimated to pay for."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.training.supervision import NODE_LIMIT, LabelBudget, estimate_seconds_per_pair


def paths(*sizes: int) -> GraphCollection:
    return GraphCollection(gm.Graph(n, [(k, k + 1) for k in range(n - 1)]) for n in sizes)


@pytest.mark.parametrize(
    ("amount", "seconds"), [("90s", 90), ("10min", 600), ("2h", 7200), ("1.5 h", 5400), ("auto", None), (5, None)]
)
def test_times_are_read(amount: int | str, seconds: float | None) -> None:
    assert LabelBudget(amount).seconds == seconds


@pytest.mark.parametrize("amount", [0, -3, True, 2.5, None, "0", "0s", "-1s", "1d", "10 minutes", "", "90S", "s"])
def test_wrong_budgets_are_explained(amount: Any) -> None:
    with pytest.raises(InvalidArgument, match=r"label_budget must be a number of pairs.*'90s'.*got"):
        LabelBudget(amount)


def test_pairs_are_taken_as_they_are() -> None:
    large = paths(100, 100)
    assert [LabelBudget(amount).pairs_for(large) for amount in (7, "7", np.int64(7))] == [7, 7, 7]


def test_the_automatic_budget_is_a_million_pairs_of_small_graphs_and_fewer_of_large_ones() -> None:
    pairs = [LabelBudget("auto").pairs_for(paths(n, n, n)) for n in (3, 9, 25, 50, 100, 290)]
    assert pairs[:2] == [1_000_000, 1_000_000]
    assert all(fewer < more for more, fewer in pairwise(pairs[1:]))
    assert pairs[-1] > 100
    assert LabelBudget("auto", seconds_per_pair=1e-3).pairs_for(paths(100, 100)) == 300_000


def test_time_pays_in_proportion() -> None:
    graphs = paths(30, 40)
    one, ten = (LabelBudget(amount).pairs_for(graphs) for amount in ("1min", "10min"))
    assert ten == pytest.approx(10 * one, abs=10)


@given(st.lists(st.integers(0, 400), min_size=1, max_size=8))
@settings(max_examples=40)
def test_the_estimate_is_a_mean_over_ordered_pairs_by_the_smaller_graph(sizes: list[int]) -> None:
    alone = {n: estimate_seconds_per_pair(paths(n)) for n in sizes}
    expected = np.mean([alone[min(n, m)] for n in sizes for m in sizes])
    assert estimate_seconds_per_pair(paths(*sizes)) == pytest.approx(expected)
    assert 0 < estimate_seconds_per_pair(paths(*sizes), most=1e-5) <= 1.001e-5


def test_sparse_graphs_of_some_size_get_intervals_and_all_others_are_searched(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    trees = [gm.Graph(n, [(int(rng.integers(k)), k) for k in range(1, n)]) for n in (9, 12, 13, 17, 20, 22)]
    graphs = GraphCollection([*trees, gm.Graph(14, [(i, k) for k in range(14) for i in range(k)])])
    pairs = np.column_stack(np.triu_indices(len(graphs), 1))
    labels, seconds = LabelBudget(1, n_jobs=1, store=tmp_path).label(graphs, pairs, "some")
    exact = gm.pairwise_edit_distances(graphs, pairs=pairs, method=gm.ExactSearch(), n_jobs=1)
    assert ((labels.lower <= exact.lower) & (exact.upper <= labels.upper)).all()
    between = (pairs >= 2).all(axis=1) & (pairs <= 5).all(axis=1)
    limited = gm.pairwise_edit_distances(graphs, pairs=pairs, method=gm.ExactSearch(node_limit=NODE_LIMIT), n_jobs=1)
    assert (labels.lower == limited.lower)[~between].all()
    assert (labels.upper == limited.upper)[~between].all()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["some", "some-intervals"]
    again, remembered = LabelBudget(1, n_jobs=1, store=tmp_path).label(graphs, pairs, "some")
    assert (again.digest(), remembered) == (labels.digest(), seconds)
    searched, _ = LabelBudget(1, seconds_per_pair=60.0, n_jobs=1).label(graphs, pairs)
    assert searched.exact.all()


def test_time_that_was_spent_is_remembered(tmp_path: Path) -> None:
    """A job that goes on counts the time of the one that was stopped, so that both end at the same label."""
    graphs, pairs = paths(3, 5, 7), np.array([[0, 1], [0, 2]])
    budget = LabelBudget(2, n_jobs=1, store=tmp_path)
    labels, seconds = budget.label(graphs, pairs, "some")
    again, remembered = budget.label(graphs, pairs, "some")
    assert remembered == seconds > 0
    assert again.digest() == labels.digest()
    assert labels.lower.tolist() == labels.upper.tolist() == [4, 8]
