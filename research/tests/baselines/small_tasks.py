"""Twenty molecules with exact distances, and neural baselines trained on them in about a second each."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import torch

from graphmetric.datasets import load_dataset
from graphmetric.edit_distance import pairwise_edit_distances
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric_research.baselines import TrainingTask, build_baseline
from graphmetric_research.baselines.neural import NeuralBaseline

torch.set_num_threads(1)  # several threads on matrices this small take longer, the more so on a busy machine

NEURAL = ("emb-avg", "gcn-mean", "gcn-max", "siamese-mpnn", "simgnn", "gmn", "greed")
TRAINING = 16
"""Of the 20 molecules; the others are for validation."""


@cache
def molecules() -> GraphCollection:
    graphs = load_dataset("molecules").graphs
    small = np.flatnonzero((graphs.sizes >= 3) & (graphs.sizes <= 8))
    return graphs[small[:20]]


def make_task(seed: int = 0, folder: Path | None = None) -> TrainingTask:
    known = _labels()
    inside = known.pairs.max(axis=1) < TRAINING
    training, validation = (known.take(np.flatnonzero(chosen)) for chosen in (inside, ~inside))
    return TrainingTask(molecules(), training, validation, seed=seed, folder=folder)


@cache
def _labels() -> PairBounds:
    distances = pairwise_edit_distances(molecules()).distances
    pairs = np.array([(i, j) for i in range(20) for j in range(i + 1, 20) if i < TRAINING])
    return PairBounds.from_distances(pairs, distances[pairs[:, 0], pairs[:, 1]])


def short(name: str, steps: int = 40) -> NeuralBaseline:
    """The baseline, with few steps."""
    baseline = build_baseline(name)
    assert isinstance(baseline, NeuralBaseline)
    baseline.training = replace(baseline.training, steps=steps, warmup=5, graphs_per_step=8, validate_every=10)
    return baseline


@cache
def trained(name: str) -> NeuralBaseline:
    return short(name).fit(make_task())
