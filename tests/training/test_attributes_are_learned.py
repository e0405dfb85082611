"""The CNN of images and the LSTM of texts learn: distances that only images or texts explain are predicted."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import graphmetric as gm
from graphmetric.evaluation import mean_rank_correlation
from graphmetric.training import TrainingOptions, preset

KINDS = 3
NODES = 6
OPTIONS = TrainingOptions(steps=200, graphs_per_step=48, optimizer="muon", learning_rate=3e-3, validate_every=50)
WORDS = ("red", "green", "blue", "small", "large", "old", "new")
SENTENCES = (("opens", "the", "door"), ("the", "door", "opens"), ("door", "the", "opens"))
"""Sentences of the same words: only their order tells them apart."""


def draw_image(kind: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Stripes down, stripes across, or a chessboard: of one mean brightness, shifted, and with noise."""
    rows, columns = np.indices((8, 8)) + rng.integers(0, 2, (2, 1, 1))
    pattern = ((columns, rows, rows + columns)[kind] % 2) * 120 + 60
    return (pattern + rng.integers(-40, 41, pattern.shape)).astype(np.uint8)[..., None]


def draw_text(kind: int, rng: np.random.Generator) -> str:
    return " ".join([str(rng.choice(WORDS)), *SENTENCES[kind]])


def make(attribute: str, count: int) -> tuple[gm.GraphCollection, NDArray[np.float64]]:
    """Stars whose nodes are of hidden kinds, and the least relabelings that turn the kinds of one into another's."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(0, KINDS, (count, NODES))
    edges = [(0, k) for k in range(1, NODES)]
    graphs = []
    for row in kinds.tolist():
        if attribute == "images":
            graphs.append(gm.Graph(NODES, edges, node_images=np.stack([draw_image(kind, rng) for kind in row])))
        else:
            graphs.append(gm.Graph(NODES, edges, node_texts=[draw_text(kind, rng) for kind in row]))
    counts = np.stack([(kinds == kind).sum(axis=1) for kind in range(KINDS)], axis=1)
    return gm.GraphCollection(graphs), np.abs(counts[:, None] - counts[None]).sum(axis=2) / 2


@pytest.mark.slow
@pytest.mark.parametrize("attribute", ["images", "texts"])
def test_distances_that_only_the_attribute_explains_are_learned(attribute: str) -> None:
    graphs, true = make(attribute, 160)
    train, test = np.arange(120), np.arange(120, 160)
    model = gm.GraphDistance((preset("small")[0], OPTIONS), n_jobs=1)
    model.fit(graphs[train], true[np.ix_(train, train)])
    pairs = test[np.column_stack(np.triu_indices(len(test), k=1))]
    known = true[pairs[:, 0], pairs[:, 1]]
    assert mean_rank_correlation(pairs, model.learned_.measure_pairs(graphs, pairs), known) > 0.85
    blind = gm.GraphDistance((preset("small")[0], OPTIONS), n_jobs=1, costs=gm.EditCosts(ignore={f"node_{attribute}"}))
    assert not blind.set_params(max_steps=1).fit(graphs[train], true[np.ix_(train, train)]).pairwise(graphs[:20]).any()
