"""The paper preset is the paper's section 5.1, word for word."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphmetric._foundation.options import from_plain, to_plain
from graphmetric.distance import METRIC
from graphmetric.errors import InvalidArgument
from graphmetric.features import FeatureSchema
from graphmetric.model import GraphDistanceNetwork, ModelOptions
from graphmetric.training import PRESETS, TrainingOptions, preset

SCHEMA = FeatureSchema(k_max=10, num_roles=20, largest_degree=4, num_tags=4)


def test_the_paper_s_parameters() -> None:
    model, training = preset("paper")
    encoder = model.encoder
    assert encoder.hidden_size == 32
    assert encoder.heads == 2
    assert encoder.layers == 2
    assert encoder.intermediate_size == 32
    assert (encoder.hidden_dropout, encoder.attention_dropout) == (0.5, 0.3)
    assert encoder.residual == "raw"
    assert encoder.inputs == ("attributes", "roles", "neighbourhood", "degree")
    assert (encoder.positions, encoder.tags) == ("sinusoidal", "positional")
    assert (encoder.messages, encoder.context) == ("none", False)
    assert (training.optimizer, training.learning_rate, training.weight_decay) == ("adam", 1e-3, 5e-4)
    assert (training.epochs, training.schedule, training.clip_norm) == (1000, "constant", None)
    assert training.patience is not None
    assert (training.loss, training.p, training.beta) == ("masked", 2, 1e3)
    assert training.pretraining is not None
    assert model.head.kind == "squared-fc"
    assert len(model.head.hidden) >= 2, "several fully connected layers"
    assert model.features.return_steps == 0
    assert model.features.role_rounds == 1


def test_the_others_are_metrics_by_construction() -> None:
    for name in ("small", "base"):
        options = preset(name)[0]
        schema = replace(SCHEMA, return_steps=options.features.return_steps)
        assert GraphDistanceNetwork.build(schema, options).head.axioms == METRIC
    assert GraphDistanceNetwork.build(SCHEMA, preset("paper")[0]).head.axioms < METRIC


@pytest.mark.parametrize("name", PRESETS)
def test_options_survive_json(name: str) -> None:
    model, training = preset(name)
    assert from_plain(ModelOptions, to_plain(model)) == model
    assert from_plain(TrainingOptions, to_plain(training)) == training


def test_an_unknown_preset() -> None:
    with pytest.raises(InvalidArgument, match="no preset 'huge'; there are: paper, small, base"):
        preset("huge")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"steps": 5, "epochs": 5}, "either epochs or steps"),
        ({"steps": None}, "either epochs or steps"),
        ({"loss": "mse"}, "loss must be one of masked, interval"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0"),
        ({"learning_rate": float("nan")}, "learning_rate must be above 0"),
        ({"alpha": 1.5, "loss": "masked"}, "alpha must lie in"),
        ({"alpha": 0.5}, "alpha belongs to loss='masked'"),
        ({"graphs_per_step": 1}, "graphs_per_step must be 2 or more"),
        ({"patience": 0}, "patience must be 1 or more"),
        ({"p": 0.5}, "p must be 1 or more"),
    ],
)
def test_options_are_checked(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        TrainingOptions(**wrong)
