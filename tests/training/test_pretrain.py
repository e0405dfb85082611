"""Both pre-training tasks."""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np
import pytest
import torch

from graphmetric._foundation import progress
from graphmetric.encoder import EncoderOptions, GraphEncoder, to_tensors
from graphmetric.errors import InvalidArgument
from graphmetric.features import GraphFeaturizer
from graphmetric.graphs.graph import Graph
from graphmetric.training import PretrainingOptions, pretrain_encoder
from graphmetric.training.pretrain import PretrainingTasks, recover_structure
from tests.training.small_sets import PAPER, random_graphs, small_set

OPTIONS = PretrainingOptions(epochs=40, learning_rate=5e-3, graphs_per_step=8)


def new_encoder(dropout: float = 0.0) -> GraphEncoder:
    torch.manual_seed(0)
    options = EncoderOptions(hidden_size=16, hidden_dropout=dropout, attention_dropout=dropout)
    return GraphEncoder(small_set(PAPER).table.schema, options)


def test_both_losses_go_down() -> None:
    losses = pretrain_encoder(new_encoder(), small_set(PAPER).table, OPTIONS)
    assert len(losses.attributes) == len(losses.structure) == 40
    assert losses.attributes[-1] < 0.3 * losses.attributes[0]
    assert losses.structure[-1] < 0.7 * losses.structure[0]


def test_its_progress_is_shown(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_SILENT_SECONDS", 0.0)
    with caplog.at_level(logging.INFO):
        pretrain_encoder(new_encoder(), small_set(PAPER).table, replace(OPTIONS, epochs=1))
    assert "pre-training: 1 of " in caplog.text


def test_one_seed_one_encoder_and_it_changes() -> None:
    encoders = [new_encoder(0.3) for _ in range(3)]
    start = {name: weights.clone() for name, weights in encoders[0].state_dict().items()}
    short = replace(OPTIONS, epochs=2)
    for encoder, seed in zip(encoders, (0, 0, 1), strict=True):
        pretrain_encoder(encoder, small_set(PAPER).table, short, seed=seed)
        assert not encoder.training
    first, same, other = (encoder.state_dict() for encoder in encoders)
    assert all(torch.equal(first[name], same[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)
    assert any(not torch.equal(first[name], start[name]) for name in first)


def test_only_the_chosen_graphs_are_learned_from() -> None:
    graphs = random_graphs(20)
    table = small_set(PAPER).table
    changed = graphs[:10] + random_graphs(10, seed=9)
    featurizer = GraphFeaturizer().fit(graphs[:16])
    encoders = [new_encoder(), new_encoder()]
    for encoder, features in zip(encoders, (table, featurizer.transform(changed)), strict=True):
        pretrain_encoder(encoder, features, replace(OPTIONS, epochs=2), graphs=np.arange(10))
    first, second = (encoder.state_dict() for encoder in encoders)
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_losses_against_plain_arithmetic() -> None:
    table = small_set(PAPER).table
    tasks = PretrainingTasks(table.schema, new_encoder()).eval()
    batch = to_tensors(table.padded([0, 3, 5]))
    with torch.no_grad():
        encoded = tasks.encoder(batch)
        attributes, structure = tasks(batch)
    entropies, errors = [], []
    for graph, size in enumerate(batch.mask.sum(dim=1).tolist()):
        states = encoded.states[graph, :size].double()
        weights = batch.weights[graph, :size, :size].double() + torch.eye(size)
        degree = weights.sum(dim=1)
        for i in range(size):
            logits = tasks.tags(encoded.states[graph, i]).detach().double()
            entropies.append(float(torch.log(torch.exp(logits).sum()) - logits[int(batch.tag[graph, i])]))
            for j in range(size):
                cosine = states[i] @ states[j] / (states[i].norm() * states[j].norm())
                errors.append(float(cosine - weights[i, j] / (degree[i] * degree[j]) ** 0.5) ** 2)
    assert attributes.item() == pytest.approx(np.mean(entropies), rel=1e-4)
    assert structure.item() == pytest.approx(np.mean(errors), rel=1e-4)


def test_vectors_are_reconstructed_and_bare_graphs_have_structure_alone() -> None:
    random = np.random.default_rng(0)
    vectors = [
        graph.replace(node_labels=None, node_features=random.normal(size=(graph.num_nodes, 2)))
        for graph in random_graphs(8)
    ]
    for graphs, has_attributes in ((vectors, True), ([Graph(3, [(0, 1)]), Graph(1, [])], False)):
        table = GraphFeaturizer().fit(graphs).transform(graphs)
        encoder = GraphEncoder(table.schema, EncoderOptions(hidden_size=16, hidden_dropout=0, attention_dropout=0))
        losses = pretrain_encoder(encoder, table, OPTIONS)
        assert losses.structure[-1] < losses.structure[0]
        assert (losses.attributes[0] > 0) == has_attributes
        assert not has_attributes or losses.attributes[-1] < 0.7 * losses.attributes[0]


def test_the_empty_graph_does_no_harm() -> None:
    graphs = [Graph(0, []), Graph(2, [(0, 1)], node_labels="CO")]
    table = GraphFeaturizer().fit(graphs).transform(graphs)
    encoder = GraphEncoder(table.schema, EncoderOptions(hidden_size=8))
    with torch.no_grad():
        batch = to_tensors(table.padded([0]))
        assert recover_structure(encoder(batch), batch).item() == 0
    assert np.isfinite(pretrain_encoder(encoder, table, replace(OPTIONS, epochs=2, graphs_per_step=1))).all()


def test_nothing_to_learn_from() -> None:
    with pytest.raises(InvalidArgument, match="nothing to pre-train on"):
        pretrain_encoder(new_encoder(), small_set(PAPER).table, graphs=[])
