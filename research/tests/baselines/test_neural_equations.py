"""The networks of the neural baselines against literal transcriptions for one pair of graphs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from graphmetric.distance import Representation
from graphmetric.encoder import BatchTensors, to_tensors
from graphmetric.features import FeatureSchema, GraphFeaturizer
from graphmetric.graphs.graph import Graph
from graphmetric_research.baselines.neural_networks import (
    FEATURES,
    AttentionPooling,
    ConvolutionEncoder,
    GatedMessages,
    GraphConvolution,
    GraphIsomorphism,
    HausdorffDistance,
    InputsAndEdges,
    MatchingDistance,
    MaxPooling,
    MeanPooling,
    SimGNNDistance,
    SumPooling,
    pad_nodes,
)
from research.tests.naive import neural_baselines as naive

SMALL = Graph(3, [(0, 1), (1, 2)], node_labels="CON")
LARGE = Graph(5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 1)], node_labels="CCOCN")
EMPTY = Graph(0, node_labels=[])
WIDTH = 4


class Batch(NamedTuple):
    """Three graphs in one batch, so that there is padding."""

    tensors: BatchTensors
    schema: FeatureSchema
    adjacency: list[np.ndarray]


@pytest.fixture(scope="module")
def batch() -> Batch:
    torch.manual_seed(0)
    featurizer = GraphFeaturizer(FEATURES).fit([SMALL, LARGE])
    tensors = to_tensors(featurizer.transform([SMALL, LARGE, EMPTY]).padded([0, 1, 2]), dtype=torch.float64)
    return Batch(tensors, featurizer.schema, [_adjacency(SMALL), _adjacency(LARGE)])


def _adjacency(graph: Graph) -> np.ndarray:
    matrix = np.zeros((graph.num_nodes, graph.num_nodes))
    for u, v in graph.edges:
        matrix[u, v] = matrix[v, u] = 1
    return matrix


def random_states(batch: Batch) -> Tensor:
    """With zeros in padding."""
    states = torch.randn(3, 5, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    return states * batch.tensors.mask[..., None]


def rows(states: Tensor, graph: int) -> np.ndarray:
    """The real rows of a graph."""
    return states[graph, : (3, 5, 0)[graph]].detach().numpy()


def array(parameter: Tensor) -> np.ndarray:
    return parameter.detach().numpy()


def weights_of(linear: nn.Linear) -> tuple[np.ndarray, np.ndarray]:
    return array(linear.weight), array(linear.bias)


def test_graph_convolution(batch: Batch) -> None:
    layer, states = GraphConvolution(WIDTH, 3).double(), random_states(batch)
    found = layer(states, batch.tensors)
    weight, bias = weights_of(layer.linear)
    for k, adjacency in enumerate(batch.adjacency):
        expected = naive.graph_convolution(adjacency, rows(states, k), weight.T, bias)
        np.testing.assert_allclose(rows(found, k), expected, atol=1e-12)
    assert (found[0, 3:] == 0).all()
    assert (found[2] == 0).all()


def test_isomorphism_layer_and_gated_messages(batch: Batch) -> None:
    states = random_states(batch)
    isomorphism, gated = GraphIsomorphism(WIDTH, 3).double(), GatedMessages(WIDTH).double()
    with torch.no_grad():
        isomorphism.own.fill_(0.3)
    summed, updated = isomorphism(states, batch.tensors), gated(states, batch.tensors)
    (inner, inner_bias), (outer, outer_bias) = (weights_of(isomorphism.mlp[k]) for k in (0, 2))
    cell = gated.update
    seen_by = array(cell.weight_ih), array(cell.bias_ih)
    state_by = array(cell.weight_hh), array(cell.bias_hh)
    for k, adjacency in enumerate(batch.adjacency):
        own = rows(states, k)
        for i in range(len(own)):
            mixed = 1.3 * own[i] + sum(adjacency[i, j] * own[j] for j in range(len(own)))
            expected = outer @ np.maximum(0, inner @ mixed + inner_bias) + outer_bias
            np.testing.assert_allclose(rows(summed, k)[i], expected, atol=1e-12)
            received = sum(adjacency[i, j] * (array(gated.message.weight) @ own[j]) for j in range(len(own)))
            expected = naive.gated_update(received, own[i], seen_by, state_by)
            np.testing.assert_allclose(rows(updated, k)[i], expected, atol=1e-12)


def test_pooling(batch: Batch) -> None:
    states, attention = random_states(batch), AttentionPooling(WIDTH).double()
    poolings = {
        SumPooling(): lambda h: h.sum(axis=0),
        MeanPooling(): lambda h: h.mean(axis=0),
        MaxPooling(): lambda h: h.max(axis=0),
        attention: lambda h: naive.attention_pooling(h, array(attention.context.weight)),
    }
    for pooling, expected in poolings.items():
        found = array(pooling(states, batch.tensors))
        for k in (0, 1):
            np.testing.assert_allclose(found[k], expected(rows(states, k)), atol=1e-12)
        assert (found[2] == 0).all()


def test_the_last_convolution_is_linear(batch: Batch) -> None:
    torch.manual_seed(3)
    encoder = ConvolutionEncoder(batch.schema, (6, WIDTH), MeanPooling()).double()
    encoded = encoder(batch.tensors)
    states = rows(encoder.inputs(batch.tensors), 1)
    for k, layer in enumerate(encoder.layers):
        weight, bias = weights_of(layer.linear)
        states = naive.graph_convolution(batch.adjacency[1], states, weight.T, bias)
        states = np.maximum(0, states) if k == 0 else states
    np.testing.assert_allclose(rows(encoded.states, 1), states, atol=1e-12)
    np.testing.assert_allclose(array(encoded.z[1]), states.mean(axis=0), atol=1e-12)
    assert (states < 0).any()


def represent(batch: Batch, states: Tensor, z: Tensor | None = None) -> Representation:
    vectors = states.sum(dim=1) if z is None else z
    start = torch.arange(3) * states.shape[1]
    return Representation(vectors, states.flatten(0, 1), start, batch.tensors.mask.sum(dim=1))


@pytest.mark.parametrize("pair", [(0, 1), (1, 0), (1, 1)])
def test_simgnn_head(batch: Batch, pair: tuple[int, int]) -> None:
    head, states = SimGNNDistance(WIDTH, slices=3, bins=8, hidden=(5, 4)).double(), random_states(batch)
    graphs = represent(batch, states)
    a, b = pair
    slices = array(head.tensor.slices.weight).reshape(3, WIDTH, WIDTH).transpose(0, 2, 1)
    bilinear = naive.neural_tensor(array(graphs.z[a]), array(graphs.z[b]), slices, *weights_of(head.tensor.linear))
    histogram = naive.similarity_histogram(rows(states, a), rows(states, b), bins=8)
    np.testing.assert_allclose(
        array(head.count_similarities(graphs.take([a]), graphs.take([b])))[0], histogram, atol=1e-12
    )
    assert histogram.sum() == pytest.approx(1)
    expected = naive.simgnn_distance(np.concatenate([bilinear, histogram]), [weights_of(w) for w in head.layers])
    assert head.batch_distances(graphs, torch.tensor([pair])).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("pair", [(0, 1), (1, 0), (0, 0), (0, 2)])
def test_hausdorff_head(batch: Batch, pair: tuple[int, int]) -> None:
    states, sizes = random_states(batch), (3, 5, 0)
    edits = naive.hausdorff_edits(rows(states, pair[0]), rows(states, pair[1]))
    expected = 1 - np.exp(-2 * edits / (sizes[pair[0]] + sizes[pair[1]]))
    found = HausdorffDistance().batch_distances(represent(batch, states), torch.tensor([pair])).item()
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("pair", [(0, 1), (1, 0), (1, 2)])
def test_graph_matching_network(batch: Batch, pair: tuple[int, int]) -> None:
    torch.manual_seed(5)
    head, encoder = MatchingDistance(WIDTH, rounds=2, vector_width=3).double(), InputsAndEdges(batch.schema, WIDTH)
    graphs = Representation.from_padded(encoder.double()(batch.tensors))
    inputs = encoder.inputs(batch.tensors)
    adjacency = [*batch.adjacency, np.zeros((0, 0))]
    sides = [rows(inputs, k) for k in pair]
    for _ in range(head.rounds):
        sides = [
            _exchange(head, adjacency[k], own, other) for k, own, other in zip(pair, sides, sides[::-1], strict=True)
        ]
    gate, value = weights_of(head.gate), weights_of(head.value)
    vectors = [np.zeros(3) + naive.gated_sum(side, gate, value) for side in sides]
    expected = naive.squared_distance(*vectors, array(head.distance.layers[0].weight)[0])
    assert head.batch_distances(graphs, torch.tensor([pair])).item() == pytest.approx(expected, abs=1e-12)


def _exchange(head: MatchingDistance, adjacency: np.ndarray, own: np.ndarray, other: np.ndarray) -> np.ndarray:
    receiver, bias = weights_of(head.receiver)
    received = naive.edge_messages(
        adjacency, own, receiver, bias, array(head.sender.weight), array(head.message.weight)
    )
    seen = np.concatenate([received, own - naive.cross_attention(own, other)], axis=1)
    cell = head.update
    weights = (array(cell.weight_ih), array(cell.bias_ih)), (array(cell.weight_hh), array(cell.bias_hh))
    return np.array([naive.gated_update(s, h, *weights) for s, h in zip(seen, own, strict=True)]).reshape(own.shape)


def test_a_table_is_made_of_pairs(batch: Batch) -> None:
    """Broadcasting, grouping by size and putting back in order, with an empty graph among them."""
    torch.manual_seed(5)
    head, encoder = MatchingDistance(WIDTH, rounds=2, vector_width=3).double(), InputsAndEdges(batch.schema, WIDTH)
    graphs = Representation.from_padded(encoder.double()(batch.tensors))
    table = head.compare(graphs.unsqueeze(1), graphs.unsqueeze(0))
    pairs = torch.cartesian_prod(torch.arange(3), torch.arange(3))
    torch.testing.assert_close(table.flatten(), head.batch_distances(graphs, pairs), atol=1e-12, rtol=0)
    assert table[2, 2] == 0


def test_padded_nodes_are_the_rows_of_each_graph(batch: Batch) -> None:
    states = random_states(batch)
    padded = pad_nodes(represent(batch, states).take([2, 0]), k=4)
    assert padded.mask.tolist() == [[False] * 4, [True, True, True, False]]
    assert torch.equal(padded.states[1, :3], states[0, :3])
    assert (padded.states[0] == 0).all()


def test_convolution_agrees_with_pyg(batch: Batch) -> None:
    pyg = pytest.importorskip("torch_geometric.nn")
    layer, states = GraphConvolution(WIDTH, 3).double(), random_states(batch)
    other = pyg.GCNConv(WIDTH, 3).double()
    other.load_state_dict({"bias": layer.linear.bias, "lin.weight": layer.linear.weight})
    arcs = torch.from_numpy(np.array(batch.adjacency[1].nonzero()))
    torch.testing.assert_close(other(states[1], arcs), layer(states, batch.tensors)[1], atol=1e-12, rtol=0)
