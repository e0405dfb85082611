"""Certified predictions: bounds that hold for every network, and maps that attain the upper one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric import Graph
from graphmetric.edit_distance import PairStarts, QuickInterval
from graphmetric.edit_distance.edit_path import edit_path_of
from graphmetric.edit_distance.encoding import encode
from graphmetric.errors import FileError, InvalidArgument
from graphmetric.features import GraphFeaturizer
from graphmetric.graphs.collection import GraphCollection
from graphmetric.learned.interval_predictor import (
    IntervalOptions,
    StartPredictor,
    bound_pairs,
    read_inputs,
    train_predictor,
)
from graphmetric.learned.learned_distance import LearnedDistance
from graphmetric.learned.model_folder import write_model
from tests.edit_distance.hard_graphs import sparse
from tests.strategies import graphs

LITTLE = IntervalOptions(width=8, rounds=1, rank=4, pairs=60, settled_after=60, epochs=2)
letters = st.sampled_from("ab")
PLAIN = {"node_features": False, "node_texts": None, "node_images": False, "edge_weights": False}


@st.composite
def pairs_of_graphs(draw) -> tuple[Graph, Graph]:
    kind = graphs(max_nodes=6, node_labels=letters, edge_labels=letters, ids=None, metadata=None, always=True, **PLAIN)
    first = draw(kind)
    return first, draw(kind.filter(lambda second: second.directed == first.directed))


@pytest.fixture(scope="module")
def molecules() -> GraphCollection:
    return gm.load_dataset("molecules").graphs[:30]


@pytest.fixture(scope="module")
def model(molecules: GraphCollection) -> gm.GraphDistance:
    estimator = gm.GraphDistance("small", max_steps=2, label_budget=30, n_jobs=1).fit(molecules)
    return estimator.fit_interval(options=LITTLE)


@given(pairs_of_graphs(), st.integers(0, 2**31), st.sampled_from([0.0, 1.0, 30.0, 1e30, np.nan]), st.integers(0, 12))
def test_the_interval_holds_for_any_network(pair: tuple[Graph, Graph], seed: int, scale: float, n_steps: int) -> None:
    both = GraphCollection(pair)
    featurizer = GraphFeaturizer().fit(both)
    predictor = StartPredictor.build(featurizer, LITTLE, seed)
    with torch.no_grad():
        for weights in predictor.parameters():
            weights.mul_(scale)
    found = bound_pairs(predictor, featurizer, both, np.array([[0, 1]]), gm.EditCosts(), QuickInterval(n_steps, 1))
    true = gm.graph_edit_distance(*pair).upper
    assert found.lower[0] <= true <= found.upper[0]
    assert found.node_map is not None
    images = tuple(None if image < 0 else image for image in found.node_map[0, : pair[0].num_nodes].tolist())
    path = edit_path_of(*pair, images, gm.EditCosts())
    assert len(path) == found.upper[0]
    reached = path.apply(pair[0])
    assert reached.replace(node_labels=reached.node_labels or ()).is_isomorphic(pair[1])


@pytest.mark.parametrize("costs", [gm.EditCosts(), gm.EditCosts(edge_delete=3, edge_insert=3, edge_substitute=1.5)])
@pytest.mark.parametrize("scale", [None, 0.5, 1.0])
def test_the_interval_holds_after_further_steps(scale: float | None, costs: gm.EditCosts) -> None:
    """Without a start and from bad ones, on graphs whose bounds do not meet at the first look."""
    some = GraphCollection(sparse(14, seed) for seed in range(12))
    featurizer = GraphFeaturizer().fit(some)
    predictor = None if scale is None else StartPredictor.build(featurizer, LITTLE, seed=3)
    if predictor is not None:
        with torch.no_grad():
            for weights in predictor.parameters():
                weights.mul_(scale)
    pairs = np.arange(12).reshape(6, 2)
    true = gm.pairwise_edit_distances(some, pairs=pairs, costs=costs)
    assert true.exact.all()
    lower = []
    for steps in (1, 90, 300):
        found = bound_pairs(predictor, featurizer, some, pairs, costs, QuickInterval(steps, 1))
        assert np.all(found.lower <= true.upper)
        assert np.all(true.upper <= found.upper)
        lower.append(found.lower.mean())
    assert lower[0] < lower[1] <= lower[2]


def test_the_network_sees_labels_and_directions_of_edges() -> None:
    chain = Graph(3, [(0, 1), (1, 2)], node_labels="abb", edge_labels="xy", directed=True)
    turned = chain.replace(edges=[(1, 0), (1, 2)])
    both = GraphCollection([chain, turned])
    featurizer = GraphFeaturizer().fit(both)
    inputs = read_inputs(featurizer, both, encode(both, both, gm.EditCosts()))
    x, y = featurizer.encode_labels(both)[1][:2].tolist()
    assert x != y
    assert inputs.leaving.tolist()[:4] == [x, 0, y, 0]
    assert inputs.entering.tolist()[:4] == [0, x, 0, y]
    assert inputs.leaving.tolist()[4:6] == [0, x]
    starts = StartPredictor.build(featurizer, LITTLE).predict(inputs)
    assert not np.allclose(starts.nodes[0], starts.nodes[3])


def test_a_batch_says_what_single_pairs_say(model: gm.GraphDistance, molecules: GraphCollection) -> None:
    pairs = np.array([[0, 1], [3, 2], [7, 7], [29, 4], [1, 0]])
    together = model.learned_.intervals(molecules, pairs)
    for place, (i, j) in enumerate(pairs.tolist()):
        alone = model.interval(molecules[i], molecules[j])
        assert (alone.lower, alone.upper) == (together.lower[place], together.upper[place])
        assert len(alone.edit_path) == alone.upper
        assert alone.lower <= gm.graph_edit_distance(molecules[i], molecules[j]).upper
    again = model.learned_.intervals(molecules, pairs)
    assert np.array_equal(again.node_map, together.node_map)
    assert together.lower[2] == together.upper[2] == 0


def test_training_again_gives_the_same_weights(model: gm.GraphDistance, molecules: GraphCollection) -> None:
    again = model.learned_.with_intervals(molecules, LITTLE, seed=0).predictor
    other = model.learned_.with_intervals(molecules, LITTLE, seed=1).predictor
    for name, weights in model.predictor_.state_dict().items():
        assert torch.equal(weights, again.state_dict()[name])
    assert not torch.equal(model.predictor_.bias, other.bias)


def test_it_is_saved_with_the_model(model: gm.GraphDistance, molecules: GraphCollection, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    loaded = gm.GraphDistance.load(tmp_path / "model")
    assert loaded.predictor_.options == LITTLE
    pairs = np.array([[0, 1], [5, 9]])
    before, after = (one.learned_.intervals(molecules, pairs) for one in (model, loaded))
    assert np.array_equal(before.lower, after.lower)
    assert np.array_equal(before.node_map, after.node_map)
    assert model.distance(molecules[0], molecules[1]) == loaded.distance(molecules[0], molecules[1])
    with pytest.raises(InvalidArgument, match="pass graphs to learn from"):
        loaded.fit_interval()


def test_a_model_without_a_predictor_takes_plain_steps(model: gm.GraphDistance, molecules: GraphCollection) -> None:
    learned = model.learned_
    bare = LearnedDistance(learned.network, learned.featurizer)
    found = bare.interval(molecules[0], molecules[20])
    plain = gm.graph_edit_distance(molecules[0], molecules[20], method="interval")
    assert (found.lower, found.upper) == (plain.lower, plain.upper)


def test_a_new_fit_forgets_the_predictor(molecules: GraphCollection) -> None:
    estimator = gm.GraphDistance("small", max_steps=1, label_budget=20, n_jobs=1).fit(molecules[:8])
    estimator.fit_interval(options=IntervalOptions(width=4, rounds=0, rank=2, pairs=4, settled_after=5, epochs=1))
    assert estimator.predictor_ is not None
    assert estimator.fit(molecules[:8]).predictor_ is None


def test_starts_of_another_collection_are_refused(molecules: GraphCollection) -> None:
    starts = PairStarts(*(np.zeros((3, fields, 2), dtype=np.float32) for fields in (6, 2, 2)))
    problem = encode(molecules, molecules, gm.EditCosts())
    with pytest.raises(InvalidArgument, match="starts have shapes"):
        QuickInterval(starts=starts).solve(problem, np.array([[0, 1]]))


def test_damaged_weights_of_the_predictor_are_refused(model: gm.GraphDistance, tmp_path: Path) -> None:
    learned = model.learned_
    other = StartPredictor.build(learned.featurizer, IntervalOptions(width=9, rounds=1, rank=4))
    write_model(tmp_path / "model", learned.network, other, learned._config(), "card")
    with pytest.raises(FileError, match="does not fit"):
        gm.GraphDistance.load(tmp_path / "model")


@pytest.mark.slow
def test_a_trained_predictor_narrows_the_interval() -> None:
    molecules = gm.load_dataset("molecules").graphs[:300]
    featurizer = GraphFeaturizer().fit(molecules[:200])
    options = IntervalOptions(width=24, rounds=2, rank=12, pairs=600, settled_after=200, epochs=6)
    predictor = train_predictor(featurizer, molecules[:200], gm.EditCosts(), options, seed=0)
    pairs = np.random.default_rng(0).integers(200, 300, (200, 2))
    few = QuickInterval(10, 1)
    widths = []
    for chosen in (None, predictor):
        found = bound_pairs(chosen, featurizer, molecules, pairs, gm.EditCosts(), few)
        widths.append(float(np.mean(found.upper - found.lower)))
    assert widths[1] < 0.9 * widths[0]
