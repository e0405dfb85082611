"""Structure, batches, warnings and the saved state."""

from __future__ import annotations

import json
import warnings
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmetric.errors import InvalidArgument
from graphmetric.features import BatchLimits, FeatureOptions, GraphBatch, GraphFeaturizer
from graphmetric.features.table import group_by_size
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from tests.features.graph_lists import any_graph, any_graphs
from tests.naive.walks import return_chances

PLAIN = FeatureOptions(canonical=False, return_steps=4)


def dense_weights(graph: Graph) -> np.ndarray:
    dense = np.zeros((graph.num_nodes, graph.num_nodes))
    weights = np.ones(graph.num_edges) if graph.edge_weights is None else graph.edge_weights
    for (u, v), weight in zip(graph.edges.tolist(), weights, strict=True):
        dense[u, v] = weight
        if not graph.directed:
            dense[v, u] = weight
    return dense


def same_batch(a: GraphBatch, b: GraphBatch) -> bool:
    values = ((getattr(a, field.name), getattr(b, field.name)) for field in fields(GraphBatch))
    return all(np.array_equal(x, y) if x is not None else y is None for x, y in values)


@given(any_graph)
def test_structure_against_plain_loops(graph: Graph) -> None:
    batch = GraphFeaturizer(PLAIN).fit([graph]).transform([graph]).padded([0])
    n = graph.num_nodes
    dense = dense_weights(graph)
    scaled = dense / (1 if graph.edge_weights is None or n == 0 else max(np.abs(dense).max(), 1e-300))
    np.testing.assert_allclose(batch.weights[0, :n, :n], scaled, rtol=1e-6, atol=1e-30)
    leaving = [sum((u == i) + (not graph.directed and v == i) for u, v in graph.edges.tolist()) for i in range(n)]
    entering = [sum((v == i) + (not graph.directed and u == i) for u, v in graph.edges.tolist()) for i in range(n)]
    assert batch.degree[0, :n].tolist() == [list(pair) for pair in zip(leaving, entering, strict=True)]
    assert batch.walks is not None
    np.testing.assert_allclose(batch.walks[0, :n], np.reshape(return_chances(scaled.tolist(), 4), (n, 4)), atol=1e-6)


def test_relations_tell_label_and_direction() -> None:
    edge = Graph(2, [(0, 1)], edge_labels=["a"])
    arc = Graph(2, [(0, 1)], edge_labels=["a"], directed=True)
    bare, new = Graph(2, [(0, 1)]), Graph(2, [(0, 1)], edge_labels=["never seen"])
    table = GraphFeaturizer(PLAIN).fit([edge, arc]).transform([edge, arc, bare, new])
    assert table.schema.num_relations == 5
    codes = [sorted(table.padded([k]).arc_relation.tolist()) for k in range(4)]
    assert codes == [[2, 2], [4, 4 + 5], [1, 1], [1, 1]]


@given(any_graph, any_graph)
def test_arcs_against_plain_loops(graph: Graph, other: Graph) -> None:
    featurizer = GraphFeaturizer(FeatureOptions(canonical=False)).fit([graph, other])
    table, schema = featurizer.transform([other, graph]), featurizer.schema
    batch, codes, expected = table.padded([0, 1]), iter(table.relation.tolist()), []
    for place, one in enumerate((other, graph)):
        first = place * batch.mask.shape[1]
        for row, (u, v) in enumerate(one.edges.tolist()):
            code = next(codes)
            weight = 1.0 if one.edge_weights is None else float(batch.weights[place, u, v])
            assert row < one.num_edges
            expected.append((first + u, first + v, code, weight))
            if one.directed or u != v:
                expected.append((first + v, first + u, code + schema.num_relations * one.directed, weight))
    weights = np.ones(len(expected)) if batch.arc_weight is None else batch.arc_weight
    found = zip(*batch.arc_ends.tolist(), batch.arc_relation.tolist(), weights.tolist(), strict=True)
    assert sorted(found) == sorted(expected)


def test_a_wild_weight_or_number_stays_finite() -> None:
    featurizer = GraphFeaturizer(PLAIN).fit([Graph(2, [(0, 1)], edge_weights=[1e-3], node_features=[[0.0], [1.0]])])
    for weight in (1e308, -1e308, 5e-324):
        wild = Graph(2, [(0, 1)], edge_weights=[weight], node_features=[[1e308], [-1e308]])
        batch = featurizer.transform([wild]).padded([0])
        found = (batch.weights, batch.strength, batch.walks, batch.vector)
        assert all(np.isfinite(array).all() for array in found if array is not None)


@given(any_graph, st.randoms(use_true_random=False))
def test_relabelled_graphs_have_equal_features(graph: Graph, random) -> None:
    order = random.sample(range(graph.num_nodes), graph.num_nodes)
    featurizer = GraphFeaturizer(FeatureOptions(return_steps=3)).fit([graph])
    table = featurizer.transform([graph, graph.relabeled(order)])
    assert same_batch(table.padded([0]), table.padded([1]))
    n = graph.num_nodes
    assert graph.relabeled(table.order[:n]) == graph.relabeled(order).relabeled(table.order[n:])


def test_beyond_the_budget_the_given_order_is_kept_with_a_warning() -> None:
    ring = Graph(6, [(i, (i + 1) % 6) for i in range(6)])
    featurizer = GraphFeaturizer(FeatureOptions(canonical_budget=0)).fit([ring])
    with pytest.warns(UserWarning, match=r"1 very regular graph.*position 1.*given order"):
        table = featurizer.transform([Graph(1), ring])
    assert table.order.tolist() == [0, *range(6)]


def test_larger_graphs_than_in_training_are_warned_of_once() -> None:
    featurizer = GraphFeaturizer().fit([Graph(3, [(0, 1)])])
    with pytest.warns(UserWarning, match="5 nodes, more than k_max=3"):
        featurizer.transform([Graph(5)])
    featurizer.transform([Graph(6)])
    quiet = GraphFeaturizer(FeatureOptions(neighbourhood=False)).fit([Graph(3)])
    quiet.transform([Graph(5)])


def test_columns_unknown_in_training_are_left_out_with_a_warning() -> None:
    featurizer = GraphFeaturizer().fit([Graph(1)])
    with pytest.warns(UserWarning, match="graphs have node texts, the training graphs had none"):
        table = featurizer.transform([Graph(1, node_texts=["a"])])
    assert table.padded([0]).text is None


def test_unknown_labels_are_warned_of_once_by_their_share() -> None:
    bond = [(0, 1)]
    fit = [Graph(2, bond, node_labels="CO", edge_labels=["double"])]
    few = Graph(20, [(0, k) for k in range(1, 20)], node_labels=["C"] * 19 + ["Zz"], edge_labels=["double"] * 19)
    many = few.replace(node_labels=["C"] * 18 + ["Zz", "Yy"])
    mostly = Graph(100, node_labels=["loop" if k % 33 else "C" for k in range(100)])
    featurizer = GraphFeaturizer(FeatureOptions(neighbourhood=False)).fit(fit)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        featurizer.transform([few])  # a twentieth
    for strange, share, labels in ((many, 10, "'Zz', 'Yy'"), (mostly, 96, "'loop'")):
        again = GraphFeaturizer.from_state(featurizer.to_state())
        message = f"{share}% of the nodes of these graphs have a label .*, such as {labels}; the model knows 'C', 'O'"
        with pytest.warns(UserWarning, match=message):
            again.transform([strange])
        assert list(again.describe_unknown_labels(GraphCollection([strange]))) == ["tags"]  # it may be asked again
    with (
        pytest.warns(UserWarning, match="100% of the nodes .* such as 6, 8; the model knows 'C', 'O'. Unknown"),
        pytest.warns(UserWarning, match="100% of the edges .* such as 2; the model knows 'double'. Unknown"),
    ):
        featurizer.transform([Graph(2, bond, node_labels=[6, 8], edge_labels=[2])])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        featurizer.transform([Graph(1, node_labels=[7])])


@given(any_graphs, any_graphs)
def test_the_state_survives_json(training: list[Graph], later: list[Graph]) -> None:
    featurizer = GraphFeaturizer(FeatureOptions(return_steps=2)).fit(training)
    again = GraphFeaturizer.from_state(json.loads(json.dumps(featurizer.to_state())))
    assert again.schema == featurizer.schema
    assert again.options == featurizer.options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        a, b = featurizer.transform(later), again.transform(later)
    everything = np.arange(len(later))
    assert same_batch(a.padded(everything), b.padded(everything))


@pytest.mark.parametrize("damage", [{"version": 2}, {"parts": {}}, {"facts": {}}, {"options": {"k": 1}}, {"parts": 3}])
def test_a_damaged_state_is_refused(damage: dict[str, object]) -> None:
    state = GraphFeaturizer().fit([Graph(1)]).to_state() | damage
    with pytest.raises(InvalidArgument, match=r"version|damaged"):
        GraphFeaturizer.from_state(state)


def test_what_is_not_fitted_or_out_of_range_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="not fitted"):
        GraphFeaturizer().transform([])
    with pytest.raises(InvalidArgument, match="empty collection"):
        GraphFeaturizer().fit([])
    with pytest.raises(InvalidArgument, match="k_max must be 1 or more; got 0"):
        FeatureOptions(k_max=0)


@given(st.lists(st.integers(0, 60), max_size=60), st.integers(1, 200), st.integers(1, 4000))
def test_batches_hold_every_graph_once_within_the_limits(sizes: list[int], nodes: int, pairs: int) -> None:
    array = np.array(sizes, dtype=np.int64)
    groups = list(group_by_size(array, BatchLimits(nodes=nodes, pairs=pairs, spare=20)))
    assert sorted(position for group in groups for position in group.tolist()) == list(range(len(sizes)))
    for group in groups:
        k = max(1, array[group].max())
        assert len(group) == 1 or (len(group) * k <= nodes and len(group) * k * k <= pairs)


def test_a_large_graph_does_not_make_small_ones_pay() -> None:
    sizes = np.array([2000, *([10] * 1000), *([9] * 1000)])
    groups = list(group_by_size(sizes, BatchLimits()))
    padded = sum(len(group) * sizes[group].max() for group in groups)
    assert padded < 1.1 * sizes.sum()


def test_an_empty_collection_and_empty_graphs() -> None:
    featurizer = GraphFeaturizer(PLAIN).fit([Graph(0)])
    assert list(featurizer.transform([]).batches()) == []
    [(positions, batch)] = featurizer.transform([Graph(0), Graph(0)]).batches()
    assert positions.tolist() == [0, 1]
    assert batch.mask.shape == (2, 1)
    assert not batch.mask.any()


def test_a_graph_of_two_thousand_nodes() -> None:
    path = Graph(2000, [(i, i + 1) for i in range(1999)])
    featurizer = GraphFeaturizer(FeatureOptions(return_steps=4)).fit([path])
    batch = featurizer.transform([path]).padded([0])
    assert np.count_nonzero(batch.weights) == 2 * 1999
    assert batch.walks is not None
    assert batch.walks[0, 1000].tolist() == [0, 0.5, 0, 0.375]


def test_what_counts_is_what_features_show() -> None:
    """Graphs are equal without what does not count exactly if their features are."""
    known = Graph(2, [(0, 1)], node_labels="CO")
    featurizer = GraphFeaturizer().fit([known, Graph(1, node_labels="N")])
    strange = [known.replace(node_labels=["C", label], edge_labels=[bond]) for label in "XYC" for bond in (1, 2)]
    kept = list(featurizer.drop_unused_attributes(GraphCollection(strange)))
    assert [graph == kept[0] for graph in kept] == [True] * 4 + [False] * 2
    assert all(graph.edge_labels is None for graph in kept)
    assert kept[4].node_labels == ("C", "C")
    plain = GraphCollection([known, known.replace(node_labels="NN")])
    assert featurizer.drop_unused_attributes(plain) is plain
    assert featurizer.drop_unused_attributes(plain, ["node_labels"])[0].node_labels is None
