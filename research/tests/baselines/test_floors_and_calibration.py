"""Trivial floors are lower bounds; fitted ones find what they are given; factors change no ranking."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from graphmetric import graph_edit_distance, load_dataset, pairwise_edit_distances
from graphmetric.edit_distance.normalize import normalized_distance
from graphmetric.errors import InvalidArgument
from graphmetric.evaluation import score_rankings
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric_research.baselines import TrainingTask
from graphmetric_research.baselines.floors import (
    DegreeSequences,
    FittedLabelCounts,
    Floor,
    LabelCounts,
    LabelsAndDegrees,
    SizeDifference,
)
from graphmetric_research.baselines.kernels import WeisfeilerLehmanSubtree
from graphmetric_research.baselines.method import Calibrated, sample_labelled_block
from research.tests.baselines.labelled_tasks import NO_LABELS, labelled_task, tagged_graphs, unlabelled_task

BOUNDS = [SizeDifference(), LabelCounts(), DegreeSequences(), LabelsAndDegrees()]


def distance(floor: Floor, g: Graph, h: Graph) -> float:
    return float(floor.predict(GraphCollection([g]), GraphCollection([h]))[0, 0])


@pytest.mark.slow
@given(tagged_graphs(min_nodes=0, max_nodes=5), tagged_graphs(min_nodes=0, max_nodes=5))
def test_floors_are_lower_bounds(g: Graph, h: Graph) -> None:
    exact = graph_edit_distance(g, h).upper
    found = [distance(floor, g, h) for floor in BOUNDS]
    assert max(found) == found[3] <= exact


def test_floors_by_hand() -> None:
    g = Graph(4, [(0, 1), (1, 2), (2, 3)], node_labels="CCCO")
    h = Graph(5, [(0, 1), (0, 2), (0, 3), (0, 4)], node_labels="CNNNO")
    assert [distance(floor, g, h) for floor in BOUNDS] == [1 + 1, 3 + 1, 1 + 2, 3 + 2]


@pytest.fixture(scope="module")
def molecules() -> TrainingTask:
    graphs = load_dataset("molecules").graphs[:40]
    pairs = np.column_stack(np.triu_indices(40, 1))
    return labelled_task(graphs, pairs, pairwise_edit_distances(graphs, pairs=pairs).distances)


def test_three_parameters_are_found() -> None:
    graphs = load_dataset("molecules").graphs[:30]
    pairs = np.column_stack(np.triu_indices(30, 1))
    bounds = LabelCounts().predict(graphs, graphs)
    wanted = 1.5 * bounds + 0.25 * (graphs.sizes[:, None] + graphs.sizes) / 2 + 0.75
    fitted = FittedLabelCounts().fit(labelled_task(graphs, pairs, wanted[tuple(pairs.T)]))
    np.testing.assert_allclose(fitted.predict(graphs[:3], graphs), wanted[:3])


def test_public_floors(shared_data: Path) -> None:
    """rho .761, tau .617, p@10 .473 and a mean absolute error of 1.09 are known for this floor of AIDS700nef."""
    data = load_dataset("AIDS700nef", shared_data)
    database = np.sort(np.concatenate([data.train, data.val]))
    pairs = np.column_stack(np.triu_indices(len(data.train), 1))
    known = data.distances[np.ix_(data.train, data.train)][tuple(pairs.T)]
    fitted = FittedLabelCounts().fit(labelled_task(data.graphs[data.train], pairs, known))
    predicted = fitted.predict(data.graphs[data.test], data.graphs[database])
    truth = data.distances[np.ix_(data.test, database)]
    assert np.abs(predicted - truth).mean() == pytest.approx(1.09, abs=0.01)
    sizes = data.graphs.sizes[data.test], data.graphs.sizes[database]
    scores = score_rankings(normalized_distance(predicted, *sizes), normalized_distance(truth, *sizes))
    assert (scores.rho, scores.tau) == pytest.approx((0.761, 0.617), abs=6e-4)
    assert scores.generous_precision[10] == pytest.approx(0.473, abs=6e-4)
    assert scores.precision[10] < 0.32, "most of it is ties of the prediction"


def test_the_factor_of_an_order_is_found_on_the_papers_scale(molecules: TrainingTask) -> None:
    graphs = molecules.graphs
    pairs = molecules.training.pairs
    order = WeisfeilerLehmanSubtree().predict(graphs, graphs)
    wanted = 0.7 * order * (graphs.sizes[:, None] + graphs.sizes) / 2
    task = labelled_task(graphs, pairs, wanted[tuple(pairs.T)])
    calibrated = Calibrated(WeisfeilerLehmanSubtree()).fit(task)
    assert calibrated.scale == "paper"
    found = calibrated.predict(graphs, graphs)
    np.testing.assert_allclose(found, normalized_distance(wanted, graphs), atol=1e-4)


def test_calibration_keeps_rankings_and_lessens_errors(molecules: TrainingTask) -> None:
    graphs = molecules.graphs
    kernel = WeisfeilerLehmanSubtree()
    before, after = kernel.predict(graphs, graphs), Calibrated(kernel).fit(molecules).predict(graphs, graphs)
    np.testing.assert_array_equal(np.argsort(before, kind="stable"), np.argsort(after, kind="stable"))
    truth = normalized_distance(pairwise_edit_distances(graphs).distances, graphs)
    assert ((after - truth) ** 2).mean() < ((before - truth) ** 2).mean()


def test_no_calibration_twice_and_none_unfitted() -> None:
    calibrated = Calibrated(WeisfeilerLehmanSubtree())
    with pytest.raises(InvalidArgument, match="paper's scale already"):
        Calibrated(calibrated)
    with pytest.raises(InvalidArgument, match="size-difference predicts edits already"):
        Calibrated(SizeDifference())
    for baseline in (calibrated, FittedLabelCounts()):
        with pytest.raises(InvalidArgument, match="not fitted"):
            baseline.predict(GraphCollection([Graph(1)]), GraphCollection([Graph(1)]))


def test_a_block_holds_all_bounded_labels_among_its_graphs() -> None:
    graphs = [Graph(k + 1) for k in range(20)]
    pairs = np.column_stack(np.triu_indices(20))
    lower = np.abs(pairs[:, 0] - pairs[:, 1]).astype(float)
    upper = np.where(pairs[:, 0] == 3, np.inf, lower + 1)
    task = TrainingTask(GraphCollection(graphs), PairBounds(pairs, lower, upper), NO_LABELS)
    block = sample_labelled_block(task, largest=8)
    sizes = block.graphs.sizes
    assert len(block.graphs) == len(set(sizes.tolist())) == 8
    left, right = sizes[block.pairs].T
    np.testing.assert_array_equal(block.distances, np.abs(left - right) + 0.5)
    np.testing.assert_array_equal(block.mean_sizes, (left + right) / 2)
    lacking = sum(size > 4 for size in sizes) if 4 in sizes else 0
    assert len(block.pairs) == 8 * 7 // 2 - lacking


def test_nothing_to_fit_is_said() -> None:
    with pytest.raises(InvalidArgument, match="none of the 0 training labels"):
        FittedLabelCounts().fit(unlabelled_task([Graph(1)]))
