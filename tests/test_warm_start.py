"""A fit that goes on from the weights that are there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import graphmetric as gm
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.training import preset

QUICK: dict[str, Any] = {"preset": "small", "max_steps": 8, "label_budget": 200, "n_jobs": 1}


@pytest.fixture(scope="module")
def molecules() -> GraphCollection:
    return gm.load_dataset("molecules").graphs[:40]


@pytest.fixture
def model(molecules: GraphCollection) -> gm.GraphDistance:
    return gm.GraphDistance(**QUICK).fit(molecules[:20])


def weights(model: gm.GraphDistance) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in model.model_.state_dict().items()}


def are_equal(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return all(torch.equal(first[name], second[name]) for name in first)


def test_no_steps_change_nothing(model: gm.GraphDistance, molecules: GraphCollection) -> None:
    before, features = weights(model), model.featurizer_
    model.set_params(warm_start=True, max_steps=0).fit(molecules[20:])
    assert are_equal(weights(model), before)
    assert model.featurizer_ is features


def test_steps_go_on_from_there(model: gm.GraphDistance, molecules: GraphCollection) -> None:
    distances = gm.pairwise_edit_distances(molecules, n_jobs=1).upper
    start = np.abs(model.pairwise(molecules) - distances).mean()
    model.set_params(warm_start=True, max_steps=4).fit(molecules, distances)
    new = gm.GraphDistance(**QUICK | {"max_steps": 4}).fit(molecules, distances)
    after, alone = (np.abs(fitted.pairwise(molecules) - distances).mean() for fitted in (model, new))
    assert after < start
    assert after < alone


def test_a_loaded_model_goes_on_though_its_preset_has_changed(
    model: gm.GraphDistance, molecules: GraphCollection, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.set_params(warm_start=True).save(tmp_path / "model")
    monkeypatch.setattr("graphmetric.training.preset", lambda name: preset("base"))
    loaded = gm.GraphDistance.load(tmp_path / "model")
    assert loaded.preset[0] == model.model_.options
    loaded.fit(molecules[10:])
    assert loaded.model_.options == model.model_.options


def test_a_loaded_model_goes_on_as_the_one_that_was_saved(
    model: gm.GraphDistance, molecules: GraphCollection, tmp_path: Any
) -> None:
    model.set_params(warm_start=True).save(tmp_path / "model")
    loaded = gm.GraphDistance.load(tmp_path / "model")
    for fitted in (loaded, model):
        fitted.fit(molecules[10:])
    assert are_equal(weights(loaded), weights(model))


def test_labels_it_does_not_know_stay_one_to_it(model: gm.GraphDistance) -> None:
    strange = [gm.Graph(k % 4 + 2, [(0, 1)], node_labels=["Xx"] * (k % 4 + 2)) for k in range(8)]
    tags = model.featurizer_.schema.num_tags
    with pytest.warns(UserWarning, match="100% of the nodes of these graphs have a label that was not in the training"):
        model.set_params(warm_start=True).fit(strange)
    assert model.featurizer_.schema.num_tags == tags
    others = [graph.replace(node_labels=["Yy"] * graph.num_nodes) for graph in strange]
    assert (model.pairwise(strange) == model.pairwise(others)).all()


@pytest.mark.slow
def test_without_a_model_it_begins_anew(molecules: GraphCollection) -> None:
    fits = [gm.GraphDistance(**QUICK, warm_start=warm).fit(molecules) for warm in (False, True)]
    assert are_equal(*map(weights, fits))
    again = fits[0].fit(molecules)  # no warm start: the same once more
    assert are_equal(weights(again), weights(gm.GraphDistance(**QUICK).fit(molecules)))


def test_another_network_is_refused_and_the_model_stays(model: gm.GraphDistance, molecules: GraphCollection) -> None:
    before = weights(model)
    with pytest.raises(InvalidArgument, match="preset and head describe another one"):
        model.set_params(warm_start=True, head="block-norm").fit(molecules)
    assert are_equal(weights(model), before)
