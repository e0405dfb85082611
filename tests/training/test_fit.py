"""Training as a whole, on a few graphs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from graphmetric.errors import InvalidArgument, TrainingDiverged
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.model import ModelOptions
from graphmetric.training import PretrainingOptions, preset, train_model
from graphmetric.training.fit import Objective
from tests.training.small_sets import MATCHING, PAPER, QUICK, TRAINING, new_model, same_weights, small_set


@pytest.mark.slow
def test_a_small_set_is_learned_by_heart() -> None:
    data, model = small_set(MATCHING), new_model(MATCHING)
    options = replace(QUICK, steps=400, graphs_per_step=TRAINING, learning_rate=5e-3)
    objective = Objective(model, data.table, options)
    before = objective.of_labels(data.labels)
    train_model(model, data.table, data.labels, options)
    assert before > 5
    assert objective.of_labels(data.labels) < 0.05  # squared edits: nearly every distance rounds to the right number


@pytest.mark.slow
@pytest.mark.parametrize("options", [MATCHING, PAPER])
@pytest.mark.parametrize("loss", ["interval", "masked"])
def test_the_loss_goes_down(options: ModelOptions, loss: str) -> None:
    data = small_set(options)
    result = train_model(new_model(options), data.table, data.labels, replace(QUICK, loss=loss))
    losses = [record["loss"] for record in result.history]
    assert min(losses[-3:]) < 0.8 * losses[0]


@pytest.mark.slow
def test_one_seed_one_model() -> None:
    data = small_set(PAPER)
    models = [new_model(PAPER) for _ in range(3)]
    for model, seed in zip(models, (0, 0, 1), strict=True):
        train_model(model, data.table, data.labels, QUICK, validation=data.validation, seed=seed)
    assert same_weights(models[0], models[1])
    assert not same_weights(models[0], models[2])


def test_random_numbers_of_others_are_left_alone() -> None:
    data = small_set(PAPER)
    torch.manual_seed(7)
    before = torch.get_rng_state()
    options = replace(QUICK, steps=3, pretraining=PretrainingOptions(epochs=1))
    train_model(new_model(PAPER), data.table, data.labels, options)
    assert torch.equal(torch.get_rng_state(), before)


def test_the_best_weights_are_restored_and_training_stops_early() -> None:
    data, model = small_set(MATCHING), new_model(MATCHING)
    options = replace(QUICK, steps=2000, learning_rate=2e-2, schedule="constant", patience=4)
    result = train_model(model, data.table, data.labels, options, validation=data.validation)
    looks = {record["step"]: record["validation"] for record in result.history}
    assert result.stopped_early
    assert result.steps == result.best_step + 40 < 2000
    assert result.validation_loss == min(looks.values()) == looks[result.best_step]
    assert Objective(model, data.table, options).of_labels(data.validation) == result.validation_loss
    assert not model.training


def test_without_validation_the_last_weights_stay() -> None:
    data = small_set(MATCHING)
    result = train_model(new_model(MATCHING), data.table, data.labels, replace(QUICK, steps=15, patience=1))
    assert (result.steps, result.best_step, result.validation_loss, result.stopped_early) == (15, 15, None, False)
    assert [record["step"] for record in result.history] == [10, 15]


def test_validation_graphs_change_nothing_but_the_choice_of_weights() -> None:
    data = small_set(PAPER)
    options = replace(QUICK, loss="masked", alpha=0.5, steps=20, pretraining=PretrainingOptions(epochs=2))
    with_them, without = new_model(PAPER), new_model(PAPER)
    found = train_model(with_them, data.table, data.labels, options, validation=data.validation)
    other = train_model(without, data.table, data.labels, options)
    assert [record["loss"] for record in found.history] == [record["loss"] for record in other.history]


def test_the_learning_rate_warms_up_and_falls() -> None:
    data = small_set(PAPER)
    options = replace(QUICK, steps=20, warmup=10, validate_every=1)
    rates = [
        record["learning_rate"] for record in train_model(new_model(PAPER), data.table, data.labels, options).history
    ]
    assert rates[:10] == pytest.approx([options.learning_rate * (k + 1) / 10 for k in range(10)])
    assert np.all(np.diff(rates[10:]) < 0)
    assert rates[-1] < 0.05 * options.learning_rate


def test_history_is_logged_and_reported(tmp_path: Path) -> None:
    data, told = small_set(PAPER), []
    result = train_model(
        new_model(PAPER),
        data.table,
        data.labels,
        QUICK,
        validation=data.validation,
        folder=tmp_path,
        report=told.append,
    )
    lines = (tmp_path / "history.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == told == list(result.history)
    assert told[-1].keys() == {"step", "epoch", "loss", "validation", "learning_rate", "seconds"}


def test_a_loss_that_is_not_a_number_is_explained() -> None:
    data, model = small_set(MATCHING), new_model(MATCHING)
    with torch.no_grad():
        model.encoder.layers[1].mix.weight[0, 0] = torch.nan
    with pytest.raises(TrainingDiverged, match=r"loss is nan, first in encoder.layers.1.mix.weight \(step 1, learning"):
        train_model(model, data.table, data.labels, QUICK)


def test_an_explosion_is_stopped_with_finite_weights() -> None:
    data, model = small_set(MATCHING), new_model(MATCHING)
    options = replace(QUICK, learning_rate=10.0, warmup=0, clip_norm=None, schedule="constant")
    with pytest.raises(TrainingDiverged, match=r"times what it began with.*lower learning_rate"):
        train_model(model, data.table, data.labels, options)
    assert all(bool(weights.isfinite().all()) for weights in model.parameters())


def test_sparse_labels_and_bounds_train_too() -> None:
    data, model = small_set(MATCHING), new_model(MATCHING)
    few = data.labels.take(np.arange(0, len(data.labels), 9))
    bounds = PairBounds(few.pairs, few.lower, np.where(np.arange(len(few)) % 2, few.upper, np.inf))
    result = train_model(model, data.table, bounds, replace(QUICK, graphs_per_step=4))
    assert result.history[-1]["loss"] < result.history[0]["loss"]


def test_what_cannot_be_is_refused() -> None:
    data, model = small_set(PAPER), new_model(PAPER)
    with pytest.raises(InvalidArgument, match=r"graphs 0\.\.99; the table has graphs 0\.\.19"):
        train_model(model, data.table, PairBounds.from_distances([(0, 99)], [1]))
    with pytest.raises(InvalidArgument, match="no device 'gpu'"):
        train_model(model, data.table, data.labels, device="gpu")
    with pytest.raises(InvalidArgument, match="cannot be used here; available: cpu"):
        train_model(model, data.table, data.labels, device="meta")
    with pytest.raises(InvalidArgument, match="seed must be"):
        train_model(model, data.table, data.labels, seed=-1)
    with pytest.raises(InvalidArgument, match="threads must be"):
        train_model(model, data.table, data.labels, threads=0)


def test_threads_are_bounded_during_training_only() -> None:
    data, during = small_set(PAPER), []
    torch.set_num_threads(2)
    try:
        options = replace(QUICK, steps=1)
        train_model(
            new_model(PAPER),
            data.table,
            data.labels,
            options,
            threads=1,
            report=lambda _: during.append(torch.get_num_threads()),
        )
        assert during == [1]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(1)


@pytest.mark.parametrize("name", ["paper", "small", "base"])
def test_every_preset_runs(name: str) -> None:
    model, training = preset(name)
    data = small_set(model)
    short = replace(training, epochs=None, steps=2, pretraining=training.pretraining and PretrainingOptions(epochs=1))
    result = train_model(new_model(model), data.table, data.labels, short, validation=data.validation)
    assert np.isfinite(result.validation_loss)
