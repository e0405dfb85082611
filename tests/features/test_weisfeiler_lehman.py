"""Weisfeiler-Lehman roles against strings."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given

from graphmetric.features import FeatureOptions, GraphFeaturizer
from graphmetric.graphs.graph import Graph
from tests.features.graph_lists import any_graphs
from tests.naive.weisfeiler_lehman import colour_strings

ROUNDS = 2


def strings_of(graph: Graph) -> list[list[str]]:
    tags = [("absent",)] * graph.num_nodes if graph.node_labels is None else [("tag", t) for t in graph.node_labels]
    labels = graph.edge_labels or [("absent",)] * graph.num_edges
    labels = labels if graph.edge_labels is None else [("label", label) for label in labels]
    weights = [None] * graph.num_edges if graph.edge_weights is None else graph.edge_weights.tolist()
    carried = zip(graph.edges.tolist(), labels, weights, strict=True)
    edges = [(u, v, (label, weight)) for (u, v), label, weight in carried]
    return colour_strings(tags, edges, graph.directed, ROUNDS)


def codes_of(featurizer: GraphFeaturizer, graphs: list[Graph]) -> list[int]:
    return featurizer.transform(graphs).role.tolist()


def fitted(graphs: list[Graph], **options: object) -> GraphFeaturizer:
    return GraphFeaturizer(FeatureOptions(role_rounds=ROUNDS, canonical=False, **options)).fit(graphs)


@given(any_graphs)
def test_codes_are_equal_exactly_where_the_strings_are(graphs: list[Graph]) -> None:
    codes = codes_of(fitted(graphs), graphs)
    strings = [string for graph in graphs for string in strings_of(graph)[ROUNDS]]
    assert len(set(zip(codes, strings, strict=True))) == len(set(codes)) == len(set(strings))


@given(any_graphs, any_graphs)
def test_a_node_has_the_code_of_its_deepest_known_round(training: list[Graph], later: list[Graph]) -> None:
    featurizer = GraphFeaturizer(FeatureOptions(role_rounds=ROUNDS, canonical=False, neighbourhood=False)).fit(training)
    parts = [featurizer._fitted()["roles"]]
    known = [{string for graph in training for string in strings_of(graph)[r]} for r in range(ROUNDS + 1)]
    first = np.cumsum([1, *(len(strings) for strings in known)])
    assert parts[0].num_codes == first[-1]
    unlabelled = [graph.replace(node_features=None, node_images=None, node_texts=None) for graph in later]
    graphs = [g for g in unlabelled if _fits(training, g)]
    codes = codes_of(featurizer, graphs) if graphs else []
    strings = [levels for graph in graphs for levels in zip(*strings_of(graph), strict=True)]
    for code, levels in zip(codes, strings, strict=True):
        depth = max((r for r in range(ROUNDS + 1) if levels[r] in known[r]), default=None)
        if depth is None:
            assert code == 0
        else:
            assert first[depth] <= code < first[depth + 1]


def _fits(training: list[Graph], graph: Graph) -> bool:
    """Whether no column comes up that the training graphs lack, which is warned of."""
    return all(
        getattr(graph, name) is None or any(getattr(g, name) is not None and len(getattr(g, name)) for g in training)
        for name in ("node_labels", "edge_labels")
    )


def test_frequent_roles_come_first_and_rare_ones_back_off() -> None:
    graphs = [Graph(3, [(0, 1)], node_labels="CCO"), Graph(1, node_labels="C")]
    assert codes_of(fitted(graphs), graphs)[-1] != codes_of(fitted(graphs), graphs)[0]
    rare = fitted(graphs, role_min_count=2)
    codes = codes_of(rare, graphs)
    assert codes[2] == 0, "the tag O is seen once: no code"
    assert codes[3] == 1, "an isolated C is seen once: the code of C"
    assert codes[0] == codes[1] == rare.schema.num_roles - 1


def test_codes_do_not_depend_on_the_order_of_training_graphs_or_nodes() -> None:
    graphs = [Graph(4, [(0, 1), (1, 2), (1, 3)], node_labels="CCON"), Graph(3, [(0, 1), (1, 2)], node_labels="COC")]
    moved = [graphs[1].relabeled([2, 0, 1]), graphs[0].relabeled([3, 2, 0, 1])]
    assert fitted(graphs).to_state() == fitted(moved).to_state()


def test_colours_are_the_same_on_every_machine() -> None:
    state = fitted([Graph(2, [(0, 1)], node_labels="CO")]).to_state()
    assert json.loads(json.dumps(state)) == state
    assert state["parts"]["roles"]["rounds"][0] == [-7595425501123354299, -6383104672965058903]
