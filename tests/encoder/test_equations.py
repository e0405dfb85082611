"""Eq. 1-8 against a literal transcription."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import graphmetric.encoder
from graphmetric.encoder import EncoderOptions, GraphEncoder, normalised_adjacency, to_tensors
from graphmetric.encoder.embeddings import PositionEmbed
from graphmetric.encoder.graph_transformer import LayerContext, TypedMessages
from graphmetric.features import FeatureOptions, GraphFeaturizer
from graphmetric.graphs.graph import Graph
from tests.naive import encoder_equations as paper

GRAPH = Graph(
    4,
    [(0, 1), (1, 2), (1, 3)],
    node_labels="CCON",
    node_features=[[0.5, 1.0], [2.0, 0.0], [1.0, 1.0], [-1.0, 3.0]],
    edge_weights=[1.0, 0.5, 2.0],
)
K_MAX = 6


def numbers(tensor: Tensor) -> list:
    return tensor.detach().tolist()


@pytest.mark.parametrize("d_h", [2, 8, 32])
def test_position_embed_is_equation_2(d_h: int) -> None:
    codes = [0, 1, 2, 17, 300, 70_000]
    embedded = PositionEmbed(10, d_h)(torch.tensor([codes]))[0]
    np.testing.assert_allclose(numbers(embedded), [paper.position_embed(code, d_h) for code in codes], atol=1e-6)


def test_codes_within_and_beyond_the_kept_table_agree() -> None:
    codes = torch.arange(50)[None]
    torch.testing.assert_close(PositionEmbed(50, 8)(codes), PositionEmbed(5, 8)(codes))


def test_a_learned_table_serves_codes_beyond_it() -> None:
    embed = PositionEmbed(3, 8, "learned")
    assert torch.equal(embed(torch.tensor([[2, 9]]))[0, 0], embed(torch.tensor([[2, 9]]))[0, 1])


@pytest.mark.parametrize("residual", ["none", "raw", "graph-raw"])
def test_the_printed_encoder_is_equations_1_to_8(residual: str) -> None:
    """The whole way, one head, no BERT block; weights read from the model, everything else from the paper."""
    d_h, layers = 8, 2
    options = EncoderOptions(hidden_size=d_h, heads=1, layers=layers, block="printed", residual=residual)
    assert options.tags == "positional"
    featurizer = GraphFeaturizer(FeatureOptions(k_max=K_MAX)).fit([GRAPH])
    batch = featurizer.transform([GRAPH, Graph(6)]).padded([0, 1])  # with padding
    encoder = GraphEncoder(featurizer.schema, options).double().eval()
    encoded = encoder(to_tensors(batch, dtype=torch.float64))

    inputs, mlp = encoder.inputs, encoder.inputs.attributes.vectors
    rows = []
    for i in range(4):
        x = paper.input_embedding(
            [
                paper.position_embed(int(batch.tag[0, i]), d_h),
                paper.embed_vector(
                    numbers(mlp.inner.weight),
                    numbers(mlp.inner.bias),
                    numbers(mlp.outer.weight),
                    numbers(mlp.outer.bias),
                    batch.vector[0, i].tolist(),
                ),
            ]
        )
        r = paper.position_embed(int(batch.role[0, i]), d_h)
        w = paper.embed_weights(numbers(inputs.neighbourhood.columns.weight), batch.weights[0, i].tolist())
        d = paper.position_embed(int(batch.degree[0, i, 0]), d_h)
        s = paper.matrix_times(numbers(inputs.degree.strength.weight), batch.strength[0, i].tolist())
        rows.append(paper.input_embedding([x, r, w, d, s]))
    term = [[0.0] * d_h for _ in rows]
    if residual != "none":
        moved = paper.product(rows, numbers(encoder.residual.map.weight.T))
        term = [[a + b for a, b in zip(row, numbers(encoder.residual.map.bias), strict=True)] for row in moved]
    if residual == "graph-raw":
        term = paper.product(paper.normalised_adjacency(batch.weights[0, :4, :4].tolist()), term)
    for layer in encoder.layers:
        w_q, w_k, w_v = (numbers(part.T) for part in layer.attention.query_key_value.weight.chunk(3))
        rows = paper.g_transformer(rows, w_q, w_k, w_v, term)
    np.testing.assert_allclose(numbers(encoded.states[0, :4]), rows, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(numbers(encoded.z[0]), paper.fusion(rows, K_MAX), rtol=1e-5, atol=1e-6)


def test_a_learned_table_of_tags_is_the_option() -> None:
    featurizer = GraphFeaturizer().fit([GRAPH])
    batch = featurizer.transform([GRAPH]).padded([0])
    options = EncoderOptions(hidden_size=8, inputs=("attributes",), tags="table")
    embed = GraphEncoder(featurizer.schema, options).inputs.attributes.tags
    assert embed.table.requires_grad
    expected = [paper.embed_tag(numbers(embed.table), code) for code in batch.tag[0]]
    np.testing.assert_allclose(numbers(embed(torch.tensor(batch.tag[0]))), expected)


def test_the_bert_block_around_the_attention() -> None:
    d_h = 8
    options = EncoderOptions(hidden_size=d_h, heads=1, layers=1, residual="none")
    featurizer = GraphFeaturizer().fit([GRAPH])
    batch = to_tensors(featurizer.transform([GRAPH]).padded([0]), dtype=torch.float64)
    encoder = GraphEncoder(featurizer.schema, options).double().eval()
    for parameter in encoder.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    layer = encoder.layers[0]

    def norm(rows: list, module: torch.nn.LayerNorm) -> list:
        return [paper.layer_norm(row, numbers(module.weight), numbers(module.bias)) for row in rows]

    def linear(rows: list, module: torch.nn.Linear) -> list:
        moved = paper.product(rows, numbers(module.weight.T))
        return [[a + b for a, b in zip(row, numbers(module.bias), strict=True)] for row in moved]

    def add(a: list, b: list) -> list:
        return [paper.input_embedding([x, y]) for x, y in zip(a, b, strict=True)]

    hidden = norm(numbers(encoder.inputs(batch)[0]), encoder.input_norm)
    w_q, w_k, w_v = (numbers(part.T) for part in layer.attention.query_key_value.weight.chunk(3))
    mixed = paper.g_transformer(hidden, w_q, w_k, w_v, [[0.0] * d_h for _ in hidden])
    hidden = norm(add(hidden, linear(mixed, layer.mix)), layer.norm)
    forward = layer.feed_forward
    inner = numbers(torch.nn.functional.gelu(torch.tensor(linear(hidden, forward.inner), dtype=torch.float64)))
    hidden = norm(add(hidden, linear(inner, forward.outer)), forward.norm)
    np.testing.assert_allclose(numbers(encoder(batch).states[0]), hidden, atol=1e-6)


def test_heads_share_the_columns() -> None:
    featurizer = GraphFeaturizer().fit([GRAPH])
    encoder = GraphEncoder(featurizer.schema, EncoderOptions(hidden_size=8, heads=2, block="printed")).double().eval()
    attention = encoder.layers[0].attention
    states = torch.randn(3, 5, 8, dtype=torch.float64)
    query, key, value = attention.query_key_value(states).chunk(3, dim=-1)
    expected = [
        torch.softmax(q @ k.transpose(1, 2) / 4**0.5, dim=-1) @ v
        for q, k, v in zip(query.split(4, -1), key.split(4, -1), value.split(4, -1), strict=True)
    ]
    torch.testing.assert_close(attention(states, None), torch.cat(expected, dim=-1))


def test_typed_messages_against_plain_loops() -> None:
    graph = Graph(4, [(0, 1), (1, 2), (3, 1)], edge_labels="aba", edge_weights=[1.0, 0.5, 2.0], directed=True)
    featurizer = GraphFeaturizer(FeatureOptions(canonical=False)).fit([graph])
    batch = to_tensors(featurizer.transform([Graph(2), graph]).padded([0, 1]), dtype=torch.float64)
    messages = TypedMessages(featurizer.schema, 6).double()
    states = torch.randn(2, 4, 6, dtype=torch.float64)
    received = torch.zeros_like(states)
    codes = {label: featurizer.schema.num_relations // 2 + 2 + k for k, label in enumerate("ab")}
    for (u, v), label, weight in zip(graph.edges.tolist(), "aba", [0.5, 0.25, 1.0], strict=True):
        for source, target, back in ((u, v, 0), (v, u, featurizer.schema.num_relations)):
            sent = states[1, source] + messages.kind[codes[label] + back] + weight * messages.weight
            received[1, target] += sent.clamp(min=0)
    around = LayerContext(batch, None, None)
    torch.testing.assert_close(messages(states, around), received @ messages.receive.weight.T)


def test_normalised_adjacency() -> None:
    weights = torch.tensor([[[0.0, 2.0, -1.0], [0.0, 0.0, 0.5], [3.0, 0.0, 1.0]]])
    np.testing.assert_allclose(
        numbers(normalised_adjacency(weights)[0]), paper.normalised_adjacency(numbers(weights[0])), rtol=1e-6
    )


def test_each_of_the_equations_1_to_8_has_exactly_one_home() -> None:
    folder = Path(graphmetric.encoder.__file__).parent
    found = re.findall(r"\\qquad \((\d+)\)", "".join(path.read_text() for path in folder.rglob("*.py")))
    assert sorted(map(int, found)) == list(range(1, 9))
