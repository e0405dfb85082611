"""A model warns of graphs unlike those of its training: unknown labels, larger or denser graphs, by their share."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

import graphmetric as gm
from graphmetric.features.attributes import LabelVocabulary
from graphmetric.learned.learned_distance import LearnedDistance
from graphmetric.learned.model_folder import BUNDLED_MODELS
from graphmetric.report import evaluate_model

DENSER = r"100% of these graphs are denser than those the model was trained on: up to .* edges at a node on average"
LARGER = r"100% of these graphs are larger than those the model was trained on: up to 40 nodes, where 15 are usual"
UNKNOWN = r"97% of the nodes of these graphs have a label that was not in the training graphs, such as 'loop'"


def dense_graphs(count: int = 6, nodes: int = 12) -> gm.GraphCollection:
    made = (nx.gnp_random_graph(nodes, 0.6, seed=seed) for seed in range(count))
    return gm.GraphCollection(gm.Graph(nodes, list(graph.edges)) for graph in made)


@pytest.fixture
def unlabelled() -> LearnedDistance:
    return LearnedDistance.load("unlabelled")


def test_graphs_like_those_of_training_are_not_warned_of(unlabelled: LearnedDistance) -> None:
    graphs = gm.load_dataset("programs").graphs[:200]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unlabelled.pairwise(graphs[:20])
    assert unlabelled.describe_unfamiliar(graphs) == []
    few = graphs[:95] + dense_graphs(5)
    assert unlabelled.describe_unfamiliar(few) == []  # a twentieth
    assert len(unlabelled.describe_unfamiliar(few + dense_graphs(1))) == 1


def test_dense_and_large_graphs_are_warned_of_once(unlabelled: LearnedDistance) -> None:
    dense = dense_graphs()
    with pytest.warns(UserWarning, match=DENSER):
        unlabelled.pairwise(dense)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unlabelled.distance(dense[0], dense[1])
    with pytest.warns(UserWarning, match=LARGER):
        unlabelled.distance(gm.Graph(40, [(k, k + 1) for k in range(39)]), gm.Graph(40))
    assert len(unlabelled.describe_unfamiliar(dense)) == 1


def test_unknown_labels_are_searched_for_once_a_question_and_not_after_the_warning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searches: list[int] = []
    search = LabelVocabulary.find_unknown

    def counted(*arguments: Any) -> Any:
        searches.append(1)
        return search(*arguments)

    monkeypatch.setattr(LabelVocabulary, "find_unknown", counted)
    model = LearnedDistance.load("programs")
    known, unknown = (gm.Graph(2, [(0, 1)], node_labels=[label] * 2, directed=True) for label in ("return", "?"))
    model.pairwise(gm.GraphCollection([known]))
    assert len(searches) == 1
    with pytest.warns(UserWarning, match="100% of the nodes"):
        model.pairwise(gm.GraphCollection([unknown]))
    assert len(searches) == 2
    model.pairwise(gm.GraphCollection([unknown]))
    assert len(searches) == 2
    assert len(model.describe_unfamiliar(gm.GraphCollection([unknown]))) == 1


def test_models_without_a_range_do_not_warn(unlabelled: LearnedDistance, tmp_path: Path) -> None:
    assert unlabelled.report["graphs"].pop("usual_nodes") == [5.0, 15.0]
    assert unlabelled.report["graphs"].pop("usual_mean_degree")
    unlabelled.save(tmp_path / "old")
    old = LearnedDistance.load(tmp_path / "old")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        old.pairwise(dense_graphs())


@pytest.mark.parametrize("name", BUNDLED_MODELS)
def test_the_cards_of_shipped_models_say_what_is_usual(name: str) -> None:
    model = LearnedDistance.load(name)
    graphs = model.report["graphs"]
    assert graphs["usual_nodes"][0] < graphs["mean_nodes"] < graphs["usual_nodes"][1] <= graphs["most_nodes"]
    least, most = graphs["usual_mean_degree"]
    assert least < 2 * graphs["mean_edges"] / graphs["mean_nodes"] < most
    assert "| Usual nodes |" in model.describe()


def test_a_fit_says_what_is_usual() -> None:
    graphs = gm.load_dataset("molecules").graphs[:60]
    model = gm.GraphDistance("small", max_steps=2, label_budget=100, validation_fraction=0, n_jobs=1).fit(graphs)
    least, most = model.report_["graphs"]["usual_nodes"]
    assert graphs.sizes.min() <= least < most <= graphs.sizes.max()
    assert len(model.report_["graphs"]["usual_mean_degree"]) == 2


def mostly_unknown() -> gm.GraphCollection:
    """Control-flow graphs with one known word among many that the model has never seen."""
    chain = [(k, k + 1) for k in range(29)]
    return gm.GraphCollection(
        gm.Graph(30, chain, node_labels=["return" if v == k else "loop" for v in range(30)]) for k in range(4)
    )


def test_labels_of_which_one_is_known_are_warned_of_wherever_a_model_is_asked(tmp_path: Path) -> None:
    molecules = gm.load_dataset("molecules").graphs[:30]
    known = gm.GraphCollection(g.replace(node_labels=["return"] * g.num_nodes, edge_labels=None) for g in molecules)
    fitted = gm.GraphDistance("small", max_steps=2, label_budget=100, n_jobs=1).fit(known)
    fitted.save(tmp_path / "model")
    strange = mostly_unknown()

    def again() -> LearnedDistance:
        return LearnedDistance.load(tmp_path / "model")

    with pytest.warns(UserWarning, match=UNKNOWN):
        index = gm.GraphIndex.build(again(), strange)
    with pytest.warns(UserWarning, match=UNKNOWN):
        gm.GraphIndex.build(again(), known).search(strange[0], 2)
    report = evaluate_model(gm.GraphDistance.load(tmp_path / "model"), strange + known[:20], queries=4, n_jobs=1)
    assert any("have a label that was not in the training graphs" in note for note in report.notes)
    assert index.model is not None
    asked_before = gm.GraphDistance.load(tmp_path / "model")
    asked_before.pairwise(strange)
    noted = evaluate_model(asked_before, strange + known[:20], queries=4, n_jobs=1).notes
    assert any("have a label that was not in the training graphs" in note for note in noted)
