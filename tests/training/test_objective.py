"""Losses of mini-batches and of validation pairs, against plain arithmetic."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.training import TrainingOptions
from graphmetric.training.fit import Objective
from graphmetric.training.mini_batches import MiniBatches
from tests.training.small_sets import MATCHING, PAPER, new_model, small_set

INTERVAL = TrainingOptions(graphs_per_step=20)
MASKED = replace(INTERVAL, loss="masked")


def distances_of(options_name: str, labels: PairBounds) -> tuple[Objective, np.ndarray, np.ndarray]:
    options = {"matching": MATCHING, "paper": PAPER}[options_name]
    data, model = small_set(options), new_model(options).eval()
    with torch.no_grad():
        found = model.head.batch_distances(model.encode_table(data.table), torch.from_numpy(labels.pairs.copy()))
    return Objective(model, data.table, INTERVAL), found.double().numpy(), data.table.sizes[labels.pairs].sum(axis=1)


def bounded() -> PairBounds:
    """Some exact, some bounds, some open upwards."""
    labels = small_set(MATCHING).labels
    slack = np.resize([0, 1, np.inf], len(labels))
    return PairBounds(labels.pairs, labels.lower, labels.lower + slack)


def test_bounds_in_edits_for_a_head_in_edits() -> None:
    labels = bounded()
    objective, found, _ = distances_of("matching", labels)
    outside = [max(lo - d, 0, d - up) ** 2 for d, lo, up in zip(found, labels.lower, labels.upper, strict=True)]
    assert objective.of_labels(labels) == pytest.approx(sum(outside) / len(outside), rel=1e-5)


def test_near_pairs_count_more() -> None:
    labels = small_set(MATCHING).labels
    objective, found, _ = distances_of("matching", labels)
    larger = objective.table.sizes[labels.pairs].max(axis=1)
    weights = 2.0 ** (-labels.lower / larger / 0.4)
    objective.options = replace(INTERVAL, near_halving=0.4)
    expected = np.average((found - labels.lower) ** 2, weights=weights)
    assert objective.of_labels(labels) == pytest.approx(expected, rel=1e-5)


def test_the_paper_s_head_is_compared_on_the_paper_s_scale() -> None:
    labels = bounded()
    objective, found, nodes = distances_of("paper", labels)

    def scaled(bounds: np.ndarray) -> list[float]:
        return [1 - math.exp(-d / (n / 2)) for d, n in zip(bounds, nodes, strict=True)]

    triples = zip(found, scaled(labels.lower), scaled(labels.upper), strict=True)
    outside = [max(lo - d, 0, d - up) ** 2 for d, lo, up in triples]
    assert objective.of_labels(labels) == pytest.approx(sum(outside) / len(outside), rel=1e-4)


@pytest.mark.parametrize("name", ["matching", "paper"])
@pytest.mark.parametrize("alpha", [0.0, 0.25])
def test_the_masked_loss_takes_exact_labels_and_puts_the_others_at_one(name: str, alpha: float) -> None:
    labels = bounded()
    _, found, nodes = distances_of(name, labels)
    options = {"matching": MATCHING, "paper": PAPER}[name]
    objective = Objective(new_model(options).eval(), small_set(options).table, replace(MASKED, alpha=alpha))
    total = 0.0
    for d, lo, up, n in zip(found, labels.lower, labels.upper, nodes, strict=True):
        predicted = d if name == "paper" else 1 - math.exp(-d / (n / 2))
        error = predicted - (1 - math.exp(-lo / (n / 2))) if lo == up else alpha * (predicted - 1)
        total += error**2
    assert objective.of_labels(labels) == pytest.approx(math.sqrt(total / len(labels)), rel=1e-4)


@pytest.mark.parametrize("options", [INTERVAL, MASKED])
def test_a_batch_of_everything_has_the_loss_of_everything(options: TrainingOptions) -> None:
    data, model = small_set(MATCHING), new_model(MATCHING).eval()
    objective = Objective(model, data.table, options)
    batch = MiniBatches(data.labels, options, seed=0).at(0)
    assert objective.of_batch(batch).item() == pytest.approx(objective.of_labels(data.labels), rel=1e-5)


def test_validation_switches_dropout_off_and_on_again() -> None:
    data, model = small_set(PAPER), new_model(PAPER).train()
    objective = Objective(model, data.table, MASKED)
    assert objective.of_labels(data.validation) == objective.of_labels(data.validation)
    assert model.training
