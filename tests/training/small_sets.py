"""A few graphs with exact distances, and models that train on them in a second."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import torch

from graphmetric.edit_distance import pairwise_edit_distances
from graphmetric.encoder import EncoderOptions
from graphmetric.features import FeatureOptions, FeatureTable, GraphFeaturizer
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.model import GraphDistanceNetwork, HeadOptions, ModelOptions
from graphmetric.training import TrainingOptions

torch.set_num_threads(1)  # several threads on matrices this small take longer, the more so on a busy machine

TRAINING = 16
"""Of the 20 graphs; the others are for validation."""


class SmallSet(NamedTuple):
    """Features and what is known."""

    table: FeatureTable
    labels: PairBounds
    """All pairs of the first graphs."""
    validation: PairBounds
    """The last graphs against the first."""


@cache
def small_set(model: ModelOptions) -> SmallSet:
    graphs = random_graphs(20)
    table = GraphFeaturizer(model.features).fit(graphs[:TRAINING]).transform(graphs)
    distances = pairwise_edit_distances(graphs).distances
    pairs = np.array([(i, j) for i in range(20) for j in range(i + 1, 20) if i < TRAINING])
    known = PairBounds.from_distances(pairs, distances[pairs[:, 0], pairs[:, 1]])
    inside = pairs[:, 1] < TRAINING
    return SmallSet(table, known.take(np.flatnonzero(inside)), known.take(np.flatnonzero(~inside)))


def random_graphs(count: int, seed: int = 0) -> list[Graph]:
    random = np.random.default_rng(seed)
    graphs = []
    for _ in range(count):
        n = int(random.integers(2, 7))
        edges = [(i, j) for i in range(n) for j in range(i + 1, n) if random.random() < 0.5]
        graphs.append(Graph(n, edges, node_labels=random.choice(list("CNO"), n).tolist()))
    return graphs


MATCHING = ModelOptions(
    EncoderOptions(
        hidden_size=32,
        heads=2,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        residual="none",
        norm="pre",
        inputs=("attributes", "roles", "degree", "walks"),
        positions="learned",
        output_size=16,
    ),
    FeatureOptions(return_steps=4),
    HeadOptions("matching"),
)
PAPER = ModelOptions(EncoderOptions(hidden_size=8, intermediate_size=8))
"""The paper's model, smaller, dropout included."""

QUICK = TrainingOptions(steps=60, graphs_per_step=8, learning_rate=3e-3, warmup=5, validate_every=10)


def new_model(options: ModelOptions, seed: int = 0) -> GraphDistanceNetwork:
    return GraphDistanceNetwork.build(small_set(options).table.schema, options, seed)


def same_weights(left: GraphDistanceNetwork, right: GraphDistanceNetwork) -> bool:
    """To the last bit."""
    a, b = left.state_dict(), right.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


class Stopped(Exception):
    """Raised in the middle of a training."""


def stop_after(step: int):
    def report(record) -> None:
        if record["step"] >= step:
            raise Stopped

    return report
