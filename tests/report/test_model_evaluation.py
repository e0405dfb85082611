"""What is measured, and on which pairs."""

from __future__ import annotations

import json
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

import graphmetric as gm
from graphmetric.distance import HEADS
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.report import ModelEvaluation, evaluate_model, render_report
from tests.distance.random_representations import Coarse


@pytest.mark.slow
def test_predictions_are_the_models_and_truths_the_searchs(
    evaluation: ModelEvaluation, model: gm.GraphDistance, molecules: gm.GraphCollection
) -> None:
    task = evaluation.task
    assert len(task.queries) == 12
    assert task.database.tolist() == list(range(60))
    assert np.array_equal(evaluation.predicted, model.pairwise(molecules[task.queries], molecules))
    exact = gm.pairwise_edit_distances(molecules[task.queries], molecules).distances
    itself = task.queries[:, None] == task.database
    assert np.isnan(evaluation.true[itself]).all()
    assert np.array_equal(evaluation.true[~itself], exact[~itself])
    assert evaluation.pairs == 12 * 59


def test_scores_are_those_of_the_arrays(evaluation: ModelEvaluation) -> None:
    known = ~np.isnan(evaluation.true)
    rho = [
        spearmanr(guess[here], fact[here]).statistic
        for guess, fact, here in zip(evaluation.predicted, evaluation.true, known, strict=True)
    ]
    assert evaluation.raw_scores.ranking.rho == pytest.approx(np.mean(rho))
    errors = np.abs(evaluation.predicted - evaluation.true)[known]
    assert evaluation.raw_scores.mae == pytest.approx(errors.mean())
    assert evaluation.scores.mae == evaluation.raw_scores.mae
    sizes = evaluation.graphs.sizes
    mean_size = (sizes[evaluation.task.queries][:, None] + sizes[evaluation.task.database]) / 2
    scaled = [1 - np.exp(-distances / mean_size) for distances in (evaluation.predicted, evaluation.true)]
    assert evaluation.scores.mse == pytest.approx(((scaled[0] - scaled[1])[known] ** 2).mean())
    guess = np.median(evaluation.true[known])
    assert evaluation.error_of_median == pytest.approx(np.abs(evaluation.true[known] - guess).mean())
    assert evaluation.calibration.count.sum() == evaluation.size_errors.count.sum() == evaluation.pairs


@pytest.mark.slow
def test_a_data_set_is_asked_by_its_test_graphs(model: gm.GraphDistance) -> None:
    data = gm.load_dataset("molecules")
    found = evaluate_model(model, data, label_budget=3_000)
    assert set(found.task.queries) <= set(data.test)
    assert set(found.task.database) <= set(data.train) | set(data.val)
    assert found.pairs <= found.predicted.size <= 3_000
    assert found.truth_source.startswith("edit distances at unit costs")  # the set itself knows too few pairs


def test_a_data_set_that_knows_its_distances_is_believed(
    model: gm.GraphDistance, molecules: gm.GraphCollection
) -> None:
    small = gm.load_dataset("molecules")
    parts = [np.arange(30), np.arange(30, 40), np.arange(40, 60)]
    i, j = np.triu_indices(60, k=1)
    known = PairBounds.from_distances(np.column_stack([i, j]), 7.0 + (i + j) % 3)
    data = replace(
        small, graphs=molecules, train=parts[0], val=parts[1], test=parts[2], distance_bounds=known, classes=None
    )
    found = evaluate_model(model, data)
    assert found.task.queries.tolist() == list(range(40, 60))
    assert found.true.min() == 7
    assert found.truth_source.startswith("of the data set")


def test_labels_of_some_pairs(model: gm.GraphDistance, molecules: gm.GraphCollection, tmp_path: Path) -> None:
    labels = gm.label_graphs(molecules, tmp_path, pairs="random:700", n_jobs=1)
    found = evaluate_model(model, molecules, distances=labels, queries=60)
    known = {tuple(pair): value for pair, value in zip(labels.pairs.tolist(), labels.lower, strict=True)}
    for query, row in zip(found.task.queries, found.true, strict=True):
        expected = [known.get((min(query, other), max(query, other)), np.nan) for other in found.task.database]
        assert np.array_equal(row, expected, equal_nan=True)
    assert ((~np.isnan(found.true)).sum(axis=1) >= 20).all()
    assert any("left out" in note for note in found.notes)
    assert found.truth_source == "given with the graphs"


def test_train_says_which_graphs_are_ranked(model: gm.GraphDistance, molecules: gm.GraphCollection) -> None:
    found = evaluate_model(model, molecules, train=np.arange(40))
    assert found.task.database.tolist() == list(range(40))
    assert found.task.queries.tolist() == list(range(40, 60))


def test_familiar_queries_are_owned_up_to(
    model: gm.GraphDistance, model_folder: Path, molecules: gm.GraphCollection
) -> None:
    assert evaluate_model(model, molecules[:40]).notes[0].startswith("40 of 40 queries are graphs that the model was")
    assert "None of the queries" in evaluate_model(model, molecules, train=np.arange(40)).notes[0]
    loaded = evaluate_model(model_folder, molecules[:40], queries=40)
    assert loaded.queries_trained_on == 36  # the others were held out
    assert {"Trained with", "Measured with"} <= loaded.facts.keys()


def test_of_older_models_only_the_number_of_training_graphs_is_known(
    model: gm.GraphDistance, molecules: gm.GraphCollection
) -> None:
    older = copy(model)
    older.graphs_, older.report_ = None, {**model.report_, "classes": None}
    found = evaluate_model(older, molecules[:40], queries=5)
    assert found.queries_trained_on is None
    assert "trained on 36 graphs; if the queries are among them" in found.notes[0]
    held_out = evaluate_model(older, molecules, train=np.arange(20))
    assert "more than the 20 that are ranked here" in held_out.notes[0]


def test_size_alone_is_the_floor(evaluation: ModelEvaluation) -> None:
    task, graphs = evaluation.task, evaluation.graphs
    sizes = np.array([(graph.num_nodes, graph.num_edges) for graph in graphs])
    floor = np.abs(sizes[task.queries, None] - sizes[None, task.database]).sum(axis=2)
    known = ~np.isnan(evaluation.true)
    assert evaluation.size_scores is not None
    assert evaluation.size_scores.mae == pytest.approx(np.abs(floor - evaluation.true)[known].mean())
    assert evaluation.size_bound_scores.mae == pytest.approx((evaluation.size_scores.mae,) * 2)


@pytest.mark.slow
def test_large_graphs_are_measured_against_bounds(model: gm.GraphDistance) -> None:
    """Of which the exact search proves next to nothing."""
    rng = np.random.default_rng(0)
    graphs = []
    for k in range(30):
        n = int(rng.integers(40, 50))
        ends = {tuple(sorted(pair)) for pair in rng.integers(n, size=(2 * n, 2)).tolist() if pair[0] != pair[1]}
        graphs.append(gm.Graph(n, sorted(ends), node_labels=rng.choice(list("CNO"), n).tolist(), id=k))
    found = evaluate_model(model, graphs, queries=8, time_limit=3)
    assert found.scores is None
    assert found.proven < 0.95
    assert found.bound_scores.pairs == 8 * 29
    least, most = found.bound_scores.mae
    assert 0 <= least < most < 400
    assert found.to_dict()["scores"] == {"paper": {}, "raw": {}}
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["proven"] == found.proven
    assert any("of the true distances are proven" in note for note in found.notes)
    page = render_report(found)
    assert "of the truth is proven" in page
    assert "size alone" in page


def test_bounds_that_are_given_are_used(model: gm.GraphDistance, molecules: gm.GraphCollection) -> None:
    pairs = np.stack(np.triu_indices(60, k=1), axis=1)
    exact = gm.pairwise_edit_distances(molecules, pairs=pairs).distances
    labels = PairBounds(pairs, np.maximum(0, exact - 1), exact + 1)
    found = evaluate_model(model, molecules, distances=labels, queries=10)
    assert found.scores is None
    assert found.proven < 0.1
    truth = evaluate_model(model, molecules, distances=(pairs, exact), queries=10)
    assert truth.raw_scores is not None
    assert truth.raw_scores.mae is not None
    least, most = found.bound_scores.mae
    assert least <= truth.raw_scores.mae <= most
    least, most = found.bound_scores.precision[10]
    assert least <= truth.raw_scores.ranking.precision[10] <= most


def test_axioms_are_promised_and_measured(evaluation: ModelEvaluation, molecules: gm.GraphCollection) -> None:
    assert all(axiom.holds for axiom in evaluation.axioms if axiom.promised)
    assert [axiom.name for axiom in evaluation.axioms if not axiom.promised] == ["separation"]
    quick = {"max_steps": 3, "label_budget": 200, "n_jobs": 1}
    paper = gm.GraphDistance("small", head="squared-fc", strict=True, **quick).fit(molecules)
    found = {axiom.name: axiom for axiom in evaluate_model(paper, molecules, queries=5).axioms}
    assert not found["triangle inequality"].promised
    assert found["separation"].promised
    assert found["separation"].holds


@pytest.mark.slow
@pytest.mark.parametrize("strict", [False, True])
def test_a_tolerance_is_said(molecules: gm.GraphCollection, strict: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HEADS, "coarse", Coarse)
    quick = {"max_steps": 2, "label_budget": 50, "n_jobs": 1}
    model = gm.GraphDistance("small", head="coarse", strict=strict, **quick).fit(molecules[:20])
    found = {axiom.name: axiom for axiom in evaluate_model(model, molecules[:20], queries=4).axioms}
    within = "" if strict else " within 0.04 edits"
    assert found["triangle inequality"].promise == f"by construction{within}"
    assert found["triangle inequality"].holds
    assert found["symmetry"].promise == "by construction"
    assert found["separation"].promise == ("by construction" if strict else "not promised")


def test_exact_hits_are_for_whole_distances(model: gm.GraphDistance, molecules: gm.GraphCollection) -> None:
    rng = np.random.default_rng(0)
    distances = np.triu(rng.random((60, 60)), 1)
    found = evaluate_model(model, molecules, distances=distances + distances.T, queries=5)
    assert not found.whole
    assert all("exact hits" not in scores for scores in found.scores_by_name())


def test_what_the_model_has_never_seen_is_noted(model: gm.GraphDistance, molecules: gm.GraphCollection) -> None:
    strange = [gm.Graph(3, [(0, 1), (1, 2)], node_labels=["C", "O", name], edge_labels=[1, 2]) for name in "CNOSPFIB"]
    with pytest.warns(UserWarning, match="the training graphs had none"):
        found = evaluate_model(model, strange)
    assert any("the training graphs had none" in note for note in found.notes[1:])
    assert found.nearest == 3  # of seven candidates


def test_the_same_seed_measures_the_same(model: gm.GraphDistance, molecules: gm.GraphCollection) -> None:
    first, second = (evaluate_model(model, molecules, queries=5, seed=3) for _ in range(2))
    assert {**first.to_dict(), "date": ""} == {**second.to_dict(), "date": ""}
    assert json.loads(json.dumps(first.to_dict(), allow_nan=False)) == first.to_dict()
    assert evaluate_model(model, molecules, queries=5, seed=4).task.queries.tolist() != first.task.queries.tolist()


def test_a_fitted_model_keeps_its_threads(model: gm.GraphDistance, molecules: gm.GraphCollection) -> None:
    evaluate_model(model, molecules[:10], n_jobs=2)
    assert model.n_jobs == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"queries": 0}, "queries must be"),
        ({"label_budget": 2.5}, "label_budget must be"),
        ({"time_limit": 0}, "time_limit must be"),
        ({"train": [0, 70]}, r"0\.\.59"),
        ({"train": list(range(60))}, "not all"),
        ({"distances": np.full((60, 60), np.nan)}, "known distances"),
        ({"distances": np.zeros((3, 3))}, r"shape \(60, 60\)"),
    ],
)
def test_wrong_use_is_told(
    model: gm.GraphDistance, molecules: gm.GraphCollection, arguments: dict[str, object], said: str
) -> None:
    with pytest.raises(InvalidArgument, match=said):
        evaluate_model(model, molecules, **arguments)  # type: ignore[arg-type]


def test_two_graphs_are_no_ranking(model: gm.GraphDistance, molecules: gm.GraphCollection) -> None:
    with pytest.raises(InvalidArgument, match="three graphs"):
        evaluate_model(model, molecules[:2])
