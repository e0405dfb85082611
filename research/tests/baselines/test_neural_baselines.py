"""The neural baselines as a whole: what they promise, trained on a few molecules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmetric.distance.pair_distance import Axiom
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.training import PretrainingOptions, TrainingOptions
from graphmetric_research.baselines import BASELINES, TrainingTask, build_baseline
from graphmetric_research.baselines.neural import ConvolutionOptions, GreedOptions, SimGNNOptions, turn_half
from research.tests.baselines.small_tasks import NEURAL, TRAINING, make_task, molecules, short, trained
from tests.strategies import graphs

any_graphs = graphs(
    max_nodes=7,
    node_labels=st.sampled_from(["C", "N", "O", "Xx"]),
    edge_labels=None,
    edge_weights=False,
    node_features=False,
    node_texts=None,
    node_images=False,
    direction=False,
    loops=False,
    ids=None,
    metadata=None,
)


@pytest.mark.slow
@pytest.mark.parametrize("name", NEURAL)
def test_it_learns_and_answers_a_matrix(name: str) -> None:
    assert name in BASELINES
    baseline = trained(name)
    losses = [record["loss"] for record in baseline.result_.history]
    assert losses[-1] < losses[0]
    predicted = baseline.predict(molecules()[TRAINING:], molecules())
    assert predicted.shape == (20 - TRAINING, 20)
    assert predicted.dtype == np.float64
    assert np.isfinite(predicted).all()
    assert (predicted >= 0).all()
    if baseline.scale == "paper":
        assert (predicted <= 1).all()
    assert np.ptp(predicted) > 1e-3
    assert baseline.scale == baseline.model_.head.scale


@pytest.mark.parametrize("name", NEURAL)
@settings(max_examples=15)
@given(data=st.data())
def test_numbering_of_nodes_and_company_change_nothing(name: str, data: st.DataObject) -> None:
    """A relabelled graph is the same graph, and a pair has one distance whatever else is in the batch."""
    left, right = data.draw(any_graphs), data.draw(any_graphs)
    moved = left.relabeled(data.draw(st.permutations(range(left.num_nodes))))
    company = [moved, Graph(12, [(i, i + 1) for i in range(11)], node_labels=["C"] * 12), left]
    baseline = trained(name)
    alone = baseline.predict(GraphCollection([left]), GraphCollection([right]))[0, 0]
    among = baseline.predict(GraphCollection(company), GraphCollection([Graph(0), right]))[:, 1]
    tolerance = 1e-5 * max(1.0, alone)
    assert among[2] == pytest.approx(alone, abs=tolerance)
    assert among[0] == pytest.approx(alone, abs=tolerance)


@pytest.mark.parametrize("name", NEURAL)
def test_axioms_hold_where_the_design_promises_them(name: str) -> None:
    baseline = trained(name)
    axioms = baseline.model_.head.axioms
    matrix = baseline.predict(molecules(), molecules())
    asymmetry = np.abs(matrix - matrix.T).max()
    if Axiom.SYMMETRIC in axioms:
        assert asymmetry < 1e-5
    else:
        assert asymmetry > 1e-4  # it does matter which graph comes first
    if Axiom.ZERO_ON_EQUAL in axioms:
        assert np.abs(np.diag(matrix)).max() < 1e-5
    if Axiom.TRIANGLE_INEQUALITY in axioms:
        detour = (matrix[:, :, None] + matrix[None, :, :]).min(axis=1)
        assert (matrix <= detour + 1e-4).all()


@pytest.mark.parametrize("name", NEURAL)
def test_the_seed_decides(name: str) -> None:
    first, second, third = (short(name, steps=5).fit(make_task(seed)) for seed in (3, 3, 4))
    sides = molecules()[:4], molecules()[4:]
    np.testing.assert_array_equal(first.predict(*sides), second.predict(*sides))
    assert not np.array_equal(first.predict(*sides), third.predict(*sides))


def test_random_numbers_of_others_are_left_alone() -> None:
    torch.manual_seed(7)
    before = torch.get_rng_state()
    short("simgnn", steps=2).fit(make_task())
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", ["greed", "gmn"])
def test_a_finished_training_is_taken_from_its_folder(name: str, tmp_path: Path) -> None:
    first = short(name, steps=12).fit(make_task(folder=tmp_path))
    again = short(name, steps=12).fit(make_task(folder=tmp_path))
    sides = molecules()[:4], molecules()[4:]
    np.testing.assert_array_equal(first.predict(*sides), again.predict(*sides))
    assert first.result_.history == again.result_.history
    with pytest.raises(InvalidArgument, match="belongs to another training"):
        short(name, steps=13).fit(make_task(folder=tmp_path))


@pytest.mark.parametrize("name", NEURAL)
def test_graphs_without_labels_are_told_apart_by_degree(name: str) -> None:
    plain = GraphCollection(Graph(g.num_nodes, g.edges) for g in molecules())
    task = replace(make_task(), graphs=plain)
    baseline = short(name, steps=5).fit(task)
    star, path = Graph(4, [(0, 1), (0, 2), (0, 3)]), Graph(4, [(0, 1), (1, 2), (2, 3)])
    found = baseline.predict(GraphCollection([star]), GraphCollection([star, path]))
    assert found[0, 0] != found[0, 1]


@pytest.mark.parametrize("name", NEURAL)
def test_no_graphs_no_distances(name: str) -> None:
    baseline = trained(name)
    assert baseline.predict(GraphCollection(), molecules()).shape == (0, 20)
    assert baseline.predict(molecules(), GraphCollection()).shape == (20, 0)


def test_only_training_graphs_are_looked_at_for_the_features() -> None:
    task = make_task()
    strange = [Graph(3, [(0, 1)], node_labels=["Strange"] * 3) for _ in range(20 - TRAINING)]
    baseline = short("gcn-mean", steps=1).fit(replace(task, graphs=task.graphs[:TRAINING] + strange))
    tags = baseline.featurizer_.to_state()["parts"]["tags"]["tags"]
    assert "C" in tags
    assert "Strange" not in tags


def test_every_other_pair_is_turned_round() -> None:
    labels = PairBounds([(0, 1), (0, 2), (1, 2)], [1, 2, 3], [1, 5, 3])
    turned = turn_half(labels)
    assert turned.pairs.tolist() == [[1, 0], [0, 2], [2, 1]]
    assert (turned.lower.tolist(), turned.upper.tolist()) == ([1, 2, 3], [1, 5, 3])


def test_networks_of_other_sizes() -> None:
    narrow = build_baseline("simgnn", network=SimGNNOptions((8, 4), slices=3, bins=5, hidden=(6,)))
    narrow.training = short("simgnn", steps=2).training
    assert narrow.fit(make_task()).predict(molecules()[:2], molecules()).shape == (2, 20)
    assert build_baseline("greed", network=GreedOptions(8, 2)).network.layers == 2
    assert build_baseline("greed").network.layers == GreedOptions().layers


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"no baseline 'gcn'; there are: .*gcn-mean"):
        build_baseline("gcn")
    with pytest.raises(InvalidArgument, match="greed is not trained yet"):
        build_baseline("greed").predict(molecules(), molecules())
    with pytest.raises(InvalidArgument, match="ConvolutionOptions: widths must be 1 or more"):
        ConvolutionOptions(())
    with pytest.raises(InvalidArgument, match="GreedOptions: layers must be 1 or more; got 0"):
        GreedOptions(layers=0)
    baseline = short("gcn-mean", steps=1)
    baseline.training = replace(baseline.training, pretraining=PretrainingOptions(epochs=1))
    with pytest.raises(InvalidArgument, match="ConvolutionEncoder has none"):
        baseline.fit(make_task())


def test_muon_is_for_the_graph_transformer_only() -> None:
    graphs = molecules()[:6]
    labels = PairBounds.from_matrix(np.ones((6, 6)) - np.eye(6))
    baseline = build_baseline("greed", training=TrainingOptions(optimizer="muon", steps=2))
    with pytest.raises(InvalidArgument, match="'muon' is for the graph transformer"):
        baseline.fit(TrainingTask(graphs, labels, labels.take(np.arange(0)), 0, 1))
