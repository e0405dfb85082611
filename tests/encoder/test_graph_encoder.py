"""Laws of the encoder: order, batches, sizes, sensitivity."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmetric.encoder import EncoderOptions, GraphEncoder, paper_options, to_tensors
from graphmetric.errors import InvalidArgument
from graphmetric.features import BatchLimits, FeatureOptions, GraphFeaturizer
from graphmetric.graphs.graph import Graph
from tests.encoder.small_models import CONFIGURATIONS, FEATURES, SmallModel
from tests.features.graph_lists import any_graph, any_graphs

each_configuration = pytest.mark.parametrize("name", CONFIGURATIONS)


@pytest.mark.slow
@each_configuration
@settings(max_examples=20)
@given(graph=any_graph, others=any_graphs, random=st.randoms(use_true_random=False))
def test_relabelling_changes_nothing(name: str, graph: Graph, others: list[Graph], random) -> None:
    order = random.sample(range(graph.num_nodes), graph.num_nodes)
    model = SmallModel([graph, *others], CONFIGURATIONS[name])
    a, b = model.z(graph, graph.relabeled(order))
    np.testing.assert_allclose(a, b, atol=1e-5, rtol=1e-5)


@pytest.mark.slow
@each_configuration
@settings(max_examples=20)
@given(graph=any_graph, others=any_graphs)
def test_the_batch_changes_nothing(name: str, graph: Graph, others: list[Graph]) -> None:
    model = SmallModel([graph, *others], CONFIGURATIONS[name])
    alone, among = model.encode([graph]), model.encode([Graph(9, [(0, 8)]), *others, graph])
    n = graph.num_nodes
    scale = max(1.0, float(alone.states.abs().max()))
    np.testing.assert_allclose(alone.z[0] / scale, among.z[-1] / scale, atol=1e-6)
    np.testing.assert_allclose(alone.states[0, :n] / scale, among.states[-1, :n] / scale, atol=1e-6)
    assert not among.states[-1, n:].any(), "padding is exactly zero"
    assert among.mask.sum(dim=1).tolist() == [9, *(g.num_nodes for g in others), n]
    assert torch.isfinite(among.states).all()


@each_configuration
def test_the_empty_graph_is_the_zero_vector(name: str) -> None:
    model = SmallModel([Graph(0), Graph(3, [(0, 1)])], CONFIGURATIONS[name])
    assert not model.z(Graph(0), Graph(0)).any()
    z = model.z(Graph(0), Graph(3, [(0, 1)]))
    assert not z[0].any()
    assert z[1].any()


@each_configuration
def test_graphs_far_beyond_the_training_sizes(name: str) -> None:
    model = SmallModel([Graph(3, [(0, 1), (1, 2)])], CONFIGURATIONS[name])
    star = Graph(300, [(0, i) for i in range(1, 300)])
    z = model.z(star, Graph(1), Graph(2, [(0, 1)]))
    assert np.isfinite(z).all()
    assert len(np.unique(z.round(5), axis=0)) == 3


@pytest.mark.slow
def test_two_thousand_nodes_beside_one() -> None:
    long = Graph(2000, [(i, i + 1) for i in range(1999)], node_labels=["a", "b"] * 1000)
    graphs = [long, Graph(1), long.relabeled(np.random.default_rng(0).permutation(2000))]
    model = SmallModel(graphs, CONFIGURATIONS["everything"])
    z = model.network.embed_graphs(model.featurizer, graphs)
    assert np.isfinite(z).all()
    assert np.array_equal(z[0], z[2]), "the canonical form makes it exact"


PATH = [(0, 1), (1, 2), (2, 3)]
SENSITIVITY = {
    "direction": (Graph(4, PATH, directed=True), Graph(4, [(0, 1), (2, 1), (2, 3)], directed=True)),
    "directed or not": (Graph(4, PATH, directed=True), Graph(4, PATH)),
    "weight": (Graph(4, PATH, edge_weights=[1, 2, 1]), Graph(4, PATH, edge_weights=[1, 1, 2])),
    "edge label": (Graph(4, PATH, edge_labels="aba"), Graph(4, PATH, edge_labels="aab")),
    "tag": (Graph(4, PATH, node_labels="aaba"), Graph(4, PATH, node_labels="aaab")),
    "vector": (Graph(2, node_features=[[1.0], [2.0]]), Graph(2, node_features=[[1.0], [3.0]])),
    "text": (Graph(1, node_texts=["read file"]), Graph(1, node_texts=["write file"])),
    "image": (
        Graph(1, node_images=np.eye(5, dtype=np.uint8)[None] * 255),
        Graph(1, node_images=np.zeros((1, 5, 5), dtype=np.uint8)),
    ),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
@pytest.mark.parametrize("what", SENSITIVITY)
def test_what_graphs_carry_reaches_z(name: str, what: str) -> None:
    pair = SENSITIVITY[what]
    a, b = SmallModel(pair, CONFIGURATIONS[name]).z(*pair)
    assert np.abs(a - b).max() > 1e-4


@pytest.mark.parametrize("what", ["direction", "weight", "edge label"])
@pytest.mark.parametrize("name", ["everything", "typed"])
def test_edges_reach_the_layers_without_the_help_of_roles_and_degrees(name: str, what: str) -> None:
    options = replace(CONFIGURATIONS[name], inputs=("attributes", "neighbourhood"))
    features = FeatureOptions(canonical=False)
    pair = [graph.replace(node_labels="abcd") for graph in SENSITIVITY[what]]
    model = SmallModel(pair, options, features)
    with torch.no_grad():
        for parameter in model.encoder.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
        model.encoder.inputs.neighbourhood.columns.weight.zero_()
    a, b = model.z(*pair)
    assert np.abs(a - b).max() > 1e-4


def test_unseen_tags_words_and_labels_work() -> None:
    known = Graph(2, [(0, 1)], node_labels="ab", node_texts=["x", "y"], edge_labels=["e"])
    model = SmallModel([known], CONFIGURATIONS["everything"])
    new = Graph(2, [(0, 1)], node_labels="qr", node_texts=["never seen", ""], edge_labels=["f"])
    assert np.isfinite(model.z(known, new)).all()


MIXED = [
    Graph(3, [(0, 1)], node_labels="abc"),
    Graph(3, [(0, 1)], node_features=np.eye(3)),
    Graph(3, [(0, 1)], node_texts=["a", "b", "c"], node_images=np.ones((3, 2, 2, 1), dtype=np.float32)),
    Graph(3, [(0, 1)], edge_weights=[2.0], directed=True),
    Graph(3, [(0, 1)], edge_labels=["e"]),
    Graph(0),
]


def test_graphs_with_and_without_attributes_share_a_batch() -> None:
    z = SmallModel(MIXED, CONFIGURATIONS["everything"]).z(*MIXED)
    assert np.isfinite(z).all()
    assert len(np.unique(z.round(4), axis=0)) == 6


def test_a_table_is_embedded_in_the_order_of_the_collection() -> None:
    graphs = [Graph(n, [(i, i + 1) for i in range(n - 1)]) for n in (5, 0, 30, 1, 5, 12, 3)]
    model = SmallModel(graphs, CONFIGURATIONS["everything"])
    table = model.featurizer.transform(graphs)
    expected = model.z(*graphs)
    found = model.network.embed_table(table, limits=BatchLimits(nodes=31, spare=1))
    np.testing.assert_allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_collection_is_embedded_in_chunks(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphmetric.model.CHUNK", 3)
    graphs = [Graph(n, [(i, i + 1) for i in range(n - 1)]) for n in (5, 0, 30, 1, 5, 12, 3)]
    model = SmallModel(graphs, CONFIGURATIONS["everything"])
    before = torch.get_num_threads()
    found = model.network.embed_graphs(model.featurizer, graphs, threads=threads)
    assert torch.get_num_threads() == before
    np.testing.assert_allclose(found, model.z(*graphs), atol=1e-5)


@pytest.mark.parametrize("name", ["everything", "typed"])
def test_gradients_reach_every_parameter_and_match_finite_differences(name: str) -> None:
    graphs = [
        Graph(3, [(0, 1), (1, 2)], node_labels="aba", edge_labels="xy", edge_weights=[1.0, 2.0], directed=True),
        Graph(2, [(0, 1)], node_features=[[1.0], [2.0]]),
    ]
    featurizer = GraphFeaturizer(FEATURES).fit(graphs)
    batch = to_tensors(featurizer.transform(graphs).padded([0, 1]), dtype=torch.float64)
    torch.manual_seed(0)
    encoder = GraphEncoder(featurizer.schema, CONFIGURATIONS[name]).double().eval()
    direction = torch.randn(2, encoder.output_size, dtype=torch.float64)

    def value() -> torch.Tensor:
        return (encoder(batch).z * direction).sum()

    value().backward()
    for part, parameter in encoder.named_parameters():
        assert parameter.grad is not None, part
        push = torch.randn_like(parameter)
        slope = float((parameter.grad * push).sum())
        with torch.no_grad():
            parameter += 1e-6 * push
            above = value()
            parameter -= 2e-6 * push
            below = value()
            parameter += 1e-6 * push
        assert float(above - below) / 2e-6 == pytest.approx(slope, abs=1e-6, rel=1e-4), part


def test_dropout_is_for_training_only() -> None:
    graph = Graph(4, PATH)
    model = SmallModel([graph], paper_options())
    assert np.array_equal(model.z(graph), model.z(graph))
    model.encoder.train()
    assert not np.array_equal(model.z(graph), model.z(graph))


def test_the_defaults_are_the_paper_s() -> None:
    options = paper_options()
    assert (options.hidden_size, options.heads, options.layers, options.intermediate_size) == (32, 2, 2, 32)
    assert (options.hidden_dropout, options.attention_dropout, options.residual) == (0.5, 0.3, "raw")


@pytest.mark.parametrize(
    "wrong",
    [
        {"residual": "naive"},
        {"heads": 3},
        {"attention_size": 5},
        {"attention_size": 16, "block": "printed"},
        {"hidden_size": 9, "heads": 1},
        {"hidden_dropout": 1.0},
        {"heads": 0},
        {"inputs": ()},
        {"inputs": ("names",)},
        {"layers": 0},
        {"output_size": 0},
    ],
)
def test_options_outside_what_is_allowed_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument, match=r"must be|must divide|needs|has no"):
        EncoderOptions(**wrong)  # type: ignore[arg-type]


def test_options_that_need_other_features_say_so() -> None:
    schema = GraphFeaturizer().fit([Graph(1)]).schema
    with pytest.raises(InvalidArgument, match="needs FeatureOptions"):
        GraphEncoder(schema, EncoderOptions(inputs=("walks",)))


@pytest.mark.slow
def test_shapes_are_as_annotated() -> None:
    """In a process of its own: the check must be installed before the encoder is imported."""
    script = (
        "from jaxtyping import install_import_hook\n"
        "with install_import_hook('graphmetric.encoder', 'beartype.beartype'):\n"
        "    import graphmetric.encoder\n"
        "from tests.encoder.small_models import CONFIGURATIONS, SmallModel\n"
        "from tests.encoder.test_graph_encoder import MIXED\n"
        "for options in CONFIGURATIONS.values():\n"
        "    SmallModel(MIXED, options).z(*MIXED)\n"
        "try:\n"
        "    graphmetric.encoder.normalised_adjacency(__import__('torch').zeros(2, 3, 4))\n"
        "except Exception as problem:\n"
        "    assert 'graphs k k' in str(problem), problem\n"
        "else:\n"
        "    raise AssertionError('not checked')\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
