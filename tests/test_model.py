"""Figure 1: options, and what a model promises whatever its weights."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmetric._foundation.options import from_plain, to_plain
from graphmetric.distance import Comparison, distance_matrix
from graphmetric.encoder import EncoderOptions, to_tensors
from graphmetric.errors import InvalidArgument
from graphmetric.features import FeatureOptions, GraphFeaturizer
from graphmetric.graphs.graph import Graph
from graphmetric.model import GraphDistanceNetwork, HeadOptions, ModelOptions
from graphmetric.training import preset

torch.set_num_threads(1)

ENCODER = EncoderOptions(hidden_size=8, inputs=("attributes", "roles", "degree", "walks"))
FEATURES = FeatureOptions(return_steps=3, neighbourhood=False)
HEADS = {
    "squared-fc": HeadOptions("squared-fc", hidden=(4,)),
    "block-norm": HeadOptions("block-norm", blocks=4, block_width=3),
    "matching": HeadOptions("matching", matching_heads=2),
    "concave": HeadOptions("concave", hidden=(4,), bases=("matching", "block-norm")),
    "concave of matching": HeadOptions("concave", bases=("matching",), coordinates=False),
}
ALL = [pytest.param(ModelOptions(ENCODER, FEATURES, head), id=name) for name, head in HEADS.items()]


def random_graph(seed: int, largest: int = 7) -> Graph:
    random = np.random.default_rng(seed)
    n = int(random.integers(0, largest + 1))
    edges = [(i, j) for i in range(n) for j in range(i + 1, n) if random.random() < 0.4]
    return Graph(n, edges, node_labels=random.choice(list("CNO"), n).tolist())


GRAPHS = [random_graph(seed) for seed in range(12)]


class Fitted:
    """A model with random weights for a few graphs."""

    def __init__(self, options: ModelOptions, seed: int = 0) -> None:
        self.featurizer = GraphFeaturizer(options.features).fit(GRAPHS)
        self.model = GraphDistanceNetwork.build(self.featurizer.schema, options, seed=seed).eval()

    def matrix(self, graphs: list[Graph]) -> np.ndarray:
        """On the scale of the head."""
        head, encoded = self.model.head, self.model.encode_graphs(self.featurizer, graphs)
        return distance_matrix(Comparison.prepare(head, encoded, view=head.scale))


@pytest.mark.parametrize("options", ALL)
def test_options_survive_json(options: ModelOptions) -> None:
    assert from_plain(ModelOptions, json.loads(json.dumps(to_plain(options)))) == options


def broken(**changes: object) -> dict[str, object]:
    return to_plain(ModelOptions()) | changes


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "ModelOptions must be a table of fields"),
        (broken(colour="red"), "ModelOptions has no field colour; its fields are: encoder, features, head"),
        ({"encoder": {}, "features": {}}, "ModelOptions lacks head"),
        (broken(head={"kind": "squared-fc"}), r"ModelOptions\.head lacks hidden, blocks"),
        (broken(head=3), r"ModelOptions\.head must be a table of fields; got 3"),
    ],
)
def test_what_is_not_a_model_s_options_is_refused(data: object, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        from_plain(ModelOptions, data)


@pytest.mark.parametrize(
    ("part", "field", "value", "message"),
    [
        ("encoder", "hidden_size", "32", r"encoder\.hidden_size must be a whole number; got '32'"),
        ("encoder", "hidden_size", True, r"encoder\.hidden_size must be a whole number; got True"),
        ("encoder", "hidden_size", -2, "hidden_size must be 1 or more"),
        ("encoder", "hidden_dropout", None, r"encoder\.hidden_dropout must be a number; got None"),
        ("encoder", "inputs", "roles", r"encoder\.inputs must be a list"),
        ("encoder", "inputs", ["smell"], r"encoder\.inputs\[0\] must be one of attributes"),
        ("encoder", "context", 1, r"encoder\.context must be of type bool"),
        ("features", "k_max", 0, "k_max must be 1 or more"),
        ("head", "kind", "cosine", "no head 'cosine'; there are: squared-fc"),
        ("head", "bases", ["concave"], "cannot start from another one"),
    ],
)
def test_fields_are_checked(part: str, field: str, value: object, message: str) -> None:
    data = to_plain(ModelOptions())
    data[part][field] = value
    with pytest.raises(InvalidArgument, match=message):
        from_plain(ModelOptions, data)


def test_whole_numbers_may_stand_for_real_ones() -> None:
    data = to_plain(ModelOptions())
    data["encoder"]["hidden_dropout"] = 0
    assert from_plain(ModelOptions, data).encoder.hidden_dropout == 0.0


def test_heads_that_do_not_fit_are_refused() -> None:
    schema = GraphFeaturizer(FEATURES).fit(GRAPHS).schema
    with pytest.raises(InvalidArgument, match="3 matching heads cannot share states of width 8"):
        GraphDistanceNetwork.build(schema, ModelOptions(ENCODER, FEATURES, HeadOptions("matching", matching_heads=3)))
    with pytest.raises(InvalidArgument, match="no head 'cosine'"):
        HeadOptions("cosine")


def test_weights_come_from_the_seed_alone() -> None:
    options = ALL[0].values[0]
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = Fitted(options, seed=3).model.state_dict()
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    second, other = Fitted(options, seed=3).model.state_dict(), Fitted(options, seed=4).model.state_dict()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert any(not torch.equal(first[name], other[name]) for name in first)


@pytest.mark.parametrize("options", ALL)
def test_a_pair_is_an_entry_of_the_matrix(options: ModelOptions) -> None:
    fitted = Fitted(options)
    table = fitted.featurizer.transform(GRAPHS)
    pairs = torch.tensor([(0, 1), (3, 2), (5, 5), (11, 4)])
    with torch.no_grad():
        found = fitted.model(to_tensors(table.padded(range(len(GRAPHS)))), pairs).numpy()
    assert found == pytest.approx(fitted.matrix(GRAPHS)[pairs[:, 0], pairs[:, 1]], abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("options", ALL)
def test_promises_hold_for_random_weights(options: ModelOptions) -> None:
    @settings(max_examples=25)
    @given(st.integers(0, 10**6), st.lists(st.integers(0, 10**6), min_size=3, max_size=8))
    def check(seed: int, seeds: list[int]) -> None:
        fitted = Fitted(options, seed)
        with torch.no_grad():
            for weights in fitted.model.parameters():
                weights.mul_(1.5)
        graphs = [random_graph(each) for each in seeds]
        order = np.random.default_rng(seed)
        graphs.append(graphs[0].relabeled(order.permutation(graphs[0].num_nodes)))
        matrix = fitted.matrix(graphs).astype(np.float64)
        size = max(1.0, matrix.max())
        assert np.array_equal(matrix, matrix.T)
        assert (matrix >= 0).all()
        assert (np.diag(matrix) <= 1e-6 * size).all()
        assert matrix[0, -1] <= 1e-6 * size
        if fitted.model.head.is_metric:
            detours = (matrix[:, :, None] + matrix[None, :, :]).min(axis=1)
            assert (matrix <= detours + 1e-5 * size).all()

    check()


def test_rows_come_in_the_order_asked_for_and_gradients_flow() -> None:
    fitted = Fitted(ALL[2].values[0])
    table = fitted.featurizer.transform(GRAPHS)
    positions = [7, 0, 7, 11, 3]
    found = fitted.model.encode_rows(table, positions)
    whole = fitted.model.encode_table(table)
    assert torch.allclose(found.z, whole.z[positions], atol=1e-6)
    assert found.size.tolist() == table.sizes[positions].tolist()
    found.z.sum().backward()
    assert next(fitted.model.parameters()).grad is not None
    assert not whole.z.requires_grad


def test_a_graph_does_not_depend_on_its_batch() -> None:
    fitted = Fitted(ALL[2].values[0])
    large = Graph(60, [(k, k + 1) for k in range(59)], node_labels=["C"] * 60)
    alone = fitted.model.encode_graphs(fitted.featurizer, GRAPHS[:1])
    among = fitted.model.encode_graphs(fitted.featurizer, [large, *GRAPHS])
    assert torch.allclose(alone.z[0], among.z[1], atol=1e-6)


def test_chunks_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    fitted = Fitted(ModelOptions(ENCODER, FEATURES, HEADS["matching"]))
    at_once = fitted.model.encode_graphs(fitted.featurizer, GRAPHS)
    monkeypatch.setattr("graphmetric.model.CHUNK", 5)
    for threads in (1, 2):
        found = fitted.model.encode_graphs(fitted.featurizer, GRAPHS, threads=threads)
        for part, other in zip(found.compacted(), at_once.compacted(), strict=True):
            assert torch.allclose(part, other, atol=1e-6)
    assert torch.get_num_threads() == 1


@pytest.mark.parametrize("ask", [lambda: HeadOptions("coupling"), lambda: preset("large")])
def test_the_coupling_and_its_preset_are_refused_with_what_to_do(ask: Callable[[], object]) -> None:
    with pytest.raises(InvalidArgument, match=r"are gone: .* relaxed_edit_distance\(g, h, round_up=True\)"):
        ask()


def test_no_graphs_at_all() -> None:
    fitted = Fitted(ALL[1].values[0])
    assert fitted.matrix([]).shape == (0, 0)


def test_a_model_of_the_defaults_is_the_paper_s() -> None:
    options = ModelOptions()
    assert options == ModelOptions(EncoderOptions(), FeatureOptions(), HeadOptions("squared-fc"))
    assert options.encoder == replace(EncoderOptions(), hidden_size=32, heads=2, layers=2)
