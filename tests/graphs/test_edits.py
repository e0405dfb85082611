"""Edits and random mutations."""

from __future__ import annotations

import doctest
from collections import Counter
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmetric.errors import InvalidArgument
from graphmetric.graphs import edits as edits_module
from graphmetric.graphs.edits import (
    EDIT_KINDS,
    DeleteEdge,
    DeleteNode,
    Edit,
    InsertEdge,
    InsertNode,
    NodeAttributes,
    RelabelEdge,
    RelabelNode,
    apply_edits,
    mutate,
)
from graphmetric.graphs.graph import Graph
from tests.graphs.any_graphs import any_graphs

SEEDS = st.integers(0, 2**32)
KIND_OF = {
    RelabelNode: "relabel_node",
    InsertNode: "insert_node",
    DeleteNode: "delete_node",
    RelabelEdge: "relabel_edge",
    InsertEdge: "insert_edge",
    DeleteEdge: "delete_edge",
}
RING = Graph(5, [(i, (i + 1) % 5) for i in range(5)], node_labels="CCCNO", edge_labels=["1", "2", "1", "2", "1"])


@st.composite
def connected_graphs(draw: st.DrawFn, max_nodes: int = 7) -> Graph:
    n = draw(st.integers(1, max_nodes))
    directed = draw(st.booleans())
    edges = {(draw(st.integers(0, v - 1)), v) for v in range(1, n)}
    if n > 1:
        more = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=6))
        edges |= {(u, v) if directed else (min(u, v), max(u, v)) for u, v in more}
    labels = draw(st.none() | st.lists(st.sampled_from("CNO"), min_size=n, max_size=n))
    bonds = draw(st.none() | st.lists(st.sampled_from("12"), min_size=len(edges), max_size=len(edges)))
    return Graph(n, list(edges), directed=directed, node_labels=labels, edge_labels=bonds)


def as_networkx(graph: Graph) -> nx.Graph:
    h = nx.DiGraph() if graph.directed else nx.Graph()
    labels = graph.node_labels or [None] * graph.num_nodes
    h.add_nodes_from((i, {"label": label}) for i, label in enumerate(labels))
    bonds = graph.edge_labels or [None] * graph.num_edges
    weights = [1] * graph.num_edges if graph.edge_weights is None else graph.edge_weights.tolist()
    for (u, v), label, weight in zip(graph.edges.tolist(), bonds, weights, strict=True):
        h.add_edge(u, v, label=label, weight=weight)
    return h


def replayed(graph: Graph, edits: tuple[Edit, ...]) -> tuple[list, list]:
    """What the edits mean, said with networkx: labels of the nodes in order, and the edges."""
    h = as_networkx(graph)
    for edit in edits:
        match edit:
            case RelabelNode(node, old, new):
                assert h.nodes[node]["label"] == old != new
                h.nodes[node]["label"] = new
            case InsertNode(node, label):
                assert node not in h
                h.add_node(node, label=label)
            case DeleteNode(node, label):
                assert h.degree[node] == 0
                assert h.nodes[node]["label"] == label
                h.remove_node(node)
            case RelabelEdge(u, v, old, new):
                assert h.edges[u, v]["label"] == old != new
                h.edges[u, v]["label"] = new
            case InsertEdge(u, v, label, weight):
                assert u != v
                assert not h.has_edge(u, v)
                h.add_edge(u, v, label=label, weight=weight)
            case DeleteEdge(u, v, label):
                assert h.edges[u, v]["label"] == label
                h.remove_edge(u, v)
    return in_order(h)


def in_order(h: nx.Graph) -> tuple[list, list]:
    names = sorted(h)
    number = {name: i for i, name in enumerate(names)}
    edges = []
    for u, v, data in h.edges(data=True):
        ends = (number[u], number[v])
        edges.append((ends if h.is_directed() else tuple(sorted(ends)), data["label"], data["weight"]))
    return [h.nodes[name]["label"] for name in names], sorted(edges, key=lambda edge: edge[0])


@given(any_graphs(), st.integers(0, 12), SEEDS)
def test_edits_lead_to_the_graph(graph: Graph, count: int, seed: int) -> None:
    mutation = mutate(graph, count, random_state=seed, min_nodes=0)
    assert apply_edits(graph, mutation.edits) == mutation.graph
    assert replayed(graph, mutation.edits) == in_order(as_networkx(mutation.graph))
    assert len(mutation.edits) <= count
    assert mutation.graph.directed == graph.directed
    for column in ("node_labels", "edge_labels", "edge_weights", "node_features", "node_texts", "node_images"):
        assert (getattr(mutation.graph, column) is None) == (getattr(graph, column) is None)


@given(connected_graphs(), st.integers(0, 12), SEEDS)
def test_connected_graphs_stay_connected(graph: Graph, count: int, seed: int) -> None:
    mutation = mutate(graph, count, random_state=seed, connected=True)
    assert apply_edits(graph, mutation.edits) == mutation.graph
    assert nx.is_connected(as_networkx(mutation.graph).to_undirected())
    assert len(mutation.edits) <= count


@given(connected_graphs(), st.integers(0, 20), st.booleans(), SEEDS)
def test_limits_are_kept(graph: Graph, count: int, connected: bool, seed: int) -> None:
    limits = {"min_nodes": 3, "max_nodes": 5, "max_edges": 6}
    changed = mutate(graph, count, random_state=seed, connected=connected, **limits).graph
    assert min(3, graph.num_nodes) <= changed.num_nodes <= max(5, graph.num_nodes)
    assert changed.num_edges <= max(6, graph.num_edges)


@given(connected_graphs(), st.integers(0, 15), SEEDS)
def test_the_number_is_exact_where_nodes_may_be_inserted(graph: Graph, count: int, seed: int) -> None:
    assert len(mutate(graph, count, random_state=seed).edits) == count


@given(st.integers(0, 5), st.booleans(), SEEDS)
def test_the_number_is_exact_on_a_ring(count: int, connected: bool, seed: int) -> None:
    assert len(mutate(RING, count, random_state=seed, connected=connected).edits) == count


@given(connected_graphs(), st.integers(0, 15), st.booleans(), SEEDS)
def test_nothing_is_changed_twice(graph: Graph, count: int, connected: bool, seed: int) -> None:
    edits = mutate(graph, count, random_state=seed, connected=connected).edits
    places = [
        edit.node if hasattr(edit, "node") else (edit.u, edit.v) if graph.directed else frozenset((edit.u, edit.v))
        for edit in edits
    ]
    assert len(places) == len(set(places))


@pytest.mark.slow
@settings(max_examples=40)
@given(connected_graphs(max_nodes=4), st.integers(0, 3), st.booleans(), SEEDS)
def test_the_number_bounds_the_distance(graph: Graph, count: int, connected: bool, seed: int) -> None:
    mutation = mutate(graph, count, random_state=seed, connected=connected, max_nodes=4)

    def same(a: dict[str, Any], b: dict[str, Any]) -> bool:
        return bool(a["label"] == b["label"])

    distance = nx.graph_edit_distance(as_networkx(graph), as_networkx(mutation.graph), node_match=same, edge_match=same)
    assert distance <= len(mutation.edits)


@given(connected_graphs(), st.sets(st.sampled_from(EDIT_KINDS)), st.integers(0, 8), SEEDS)
def test_only_the_kinds_asked_for(graph: Graph, kinds: set, count: int, seed: int) -> None:
    kinds -= {"relabel_node"} if graph.node_labels is None else set()
    kinds -= {"relabel_edge"} if graph.edge_labels is None else set()
    edits = mutate(graph, count, random_state=seed, kinds=kinds).edits
    implied = {"delete_edge"} if "delete_node" in kinds else set()
    assert {KIND_OF[type(edit)] for edit in edits} <= kinds | implied


@pytest.mark.slow
def test_every_kind_occurs() -> None:
    generator = np.random.default_rng(0)
    for connected in (False, True):
        mutations = [mutate(RING, 4, random_state=generator, connected=connected) for _ in range(300)]
        seen = Counter(KIND_OF[type(edit)] for mutation in mutations for edit in mutation.edits)
        assert set(seen) == set(EDIT_KINDS)
        assert min(seen.values()) > 50


def test_choices_are_even() -> None:
    generator = np.random.default_rng(1)
    pairs = Counter(
        (edit.u, edit.v)
        for _ in range(2000)
        for edit in mutate(Graph(5, [(0, 1)]), 1, random_state=generator, kinds=["insert_edge"]).edits
    )
    assert len(pairs) == 9  # of the 10 pairs one is taken
    assert max(pairs.values()) < 1.5 * min(pairs.values())


def test_seeds() -> None:
    def run(state: Any) -> Any:
        return mutate(RING, 4, random_state=state)

    assert run(3) == run(3) == run(np.random.default_rng(3))
    assert len({run(seed).edits for seed in range(20)}) > 15
    generator = np.random.default_rng(3)
    assert run(generator) == run(3)
    assert run(generator) != run(3)
    assert run(None).edits != run(None).edits or run(None).edits != run(None).edits


def test_vocabularies() -> None:
    mutation = mutate(
        RING, 30, random_state=0, node_labels=["S"], edge_labels=np.array(["#"]), kinds=["relabel_node", "relabel_edge"]
    )
    assert mutation.graph.node_labels == ("S",) * 5
    assert mutation.graph.edge_labels == ("#",) * 5
    assert len(mutation.edits) == 10  # everything is relabelled once, then nothing is left
    assert all(type(edit.new) is str for edit in mutation.edits)  # type: ignore[union-attr]


def test_complete_graphs_and_trees_have_nowhere_to_go() -> None:
    triangle = Graph(3, [(0, 1), (0, 2), (1, 2)])
    assert mutate(triangle, 3, random_state=0, kinds=["insert_edge"]).edits == ()
    path = Graph(3, [(0, 1), (1, 2)])
    assert mutate(path, 3, random_state=0, kinds=["delete_edge"], connected=True).edits == ()
    assert len(mutate(path, 3, random_state=0, kinds=["delete_edge"]).edits) == 2
    assert mutate(path, 1, random_state=0, kinds=["delete_node"]).edits == ()
    leaf = mutate(path, 3, random_state=0, kinds=["delete_node"], connected=True, min_nodes=2)
    assert len(leaf.edits) == 2
    assert leaf.graph == Graph(2, [(0, 1)])


def test_mutating_nothing() -> None:
    empty = Graph(0, node_labels=[])
    assert mutate(empty, 3, random_state=0).edits == ()
    assert mutate(empty, 3, random_state=0, node_labels="C", connected=True).graph.num_nodes >= 1
    assert mutate(RING, 0).graph == RING


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (RING, {"edits": -1}, "edits must be an integer of at least 0; got -1"),
        (RING, {"edits": 1.5}, "edits"),
        (RING, {"max_nodes": True}, "max_nodes"),
        (RING, {"min_nodes": 4, "max_nodes": 3}, "max_nodes=3 is less than min_nodes=4"),
        (RING, {"kinds": ["swap"]}, "'swap' is not one of relabel_node, insert_node"),
        (RING, {"random_state": "seed"}, "random_state"),
        (RING, {"random_state": -1}, "random_state"),
        (Graph(2), {"connected": True}, "not connected"),
        (Graph(2), {"kinds": ["relabel_node"]}, "no node labels"),
        (Graph(2), {"kinds": ["relabel_edge"]}, "no edge labels"),
        (Graph(2), {"node_labels": "CN"}, "node_labels are given"),
        (Graph(2, node_texts=["a", "b"]), {"kinds": ["insert_node"]}, "node_texts, which an inserted node would lack"),
    ],
)
def test_impossible_requests(graph: Graph, options: dict, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        mutate(graph, **({"edits": 1} | options))


def test_columns_follow_their_nodes() -> None:
    graph = Graph(
        3, [(0, 1), (1, 2)], node_features=[[0], [1], [2]], node_texts=list("abc"), edge_weights=[2, 3], id="g"
    )
    edits = [DeleteEdge(1, 0), DeleteNode(0), InsertEdge(2, 2, weight=0.5)]
    expected = Graph(2, [(0, 1), (1, 1)], node_features=[[1], [2]], node_texts=list("bc"), edge_weights=[3, 0.5])
    assert apply_edits(graph, edits) == expected
    assert apply_edits(graph, edits).id is None


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ([DeleteNode(0, "C")], r"edits\[0\], delete node 0 'C': node 0 still has 2 edges"),
        ([RelabelNode(9, "C", "O")], "no node 9"),
        ([RelabelNode(0, "O", "C")], "node 0 has label 'C', not 'O'"),
        ([InsertNode(6, "C")], "next inserted node is 5, not 6"),
        ([InsertNode(5, "C"), InsertNode(5, "C")], r"edits\[1\].*next inserted node is 6"),
        ([InsertEdge(1, 0, "1")], r"edge \(0, 1\) is there already"),
        ([InsertEdge(0, 5, "1")], "no node 5"),
        ([DeleteEdge(0, 2, "1")], r"no edge \(0, 2\)"),
        ([DeleteEdge(0, 1, "9")], r"edge \(0, 1\) has label '1', not '9'"),
        ([RelabelEdge(0, 2, "1", "2")], r"no edge \(0, 2\)"),
    ],
)
def test_edits_that_do_not_fit(edits: list[Edit], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        apply_edits(RING, edits)


def test_edits_may_bring_a_column() -> None:
    plain = Graph(2, [(0, 1)])
    assert apply_edits(plain, [RelabelNode(0, None, "C")]).node_labels == ("C", None)
    assert apply_edits(plain, [RelabelEdge(0, 1, None, "1", 2.0)]) == plain.replace(edge_labels="1", edge_weights=[2])
    assert apply_edits(plain, [InsertNode(2, "C")]).node_labels == (None, None, "C")
    with pytest.raises(InvalidArgument, match="some nodes have node_texts and node 0 has none"):
        apply_edits(plain, [InsertNode(2, attributes=NodeAttributes(text="new"))])


def test_attributes_come_with_changed_and_inserted_nodes() -> None:
    pixels = np.zeros((1, 1, 1), dtype=np.uint8)
    graph = Graph(1, node_features=[[1.0]], node_texts=["old"], node_images=[pixels])
    new = NodeAttributes((2.0,), "new", pixels + 1)
    changed = Graph(1, node_features=[[2.0]], node_texts=["new"], node_images=[pixels + 1])
    assert apply_edits(graph, [RelabelNode(0, None, None, new)]) == changed
    both = apply_edits(graph, [InsertNode(1, attributes=new)])
    assert both.node_texts == ("old", "new")
    assert both.node_features is not None
    assert both.node_features.tolist() == [[1.0], [2.0]]


def test_words() -> None:
    words = {
        RelabelNode(3, "C", "O"): "relabel node 3 'C' to 'O'",
        InsertNode(5, "C"): "insert node 5 'C'",
        InsertNode(5): "insert node 5",
        DeleteNode(3, "C"): "delete node 3 'C'",
        RelabelEdge(0, 1, "1", "2"): "relabel edge (0, 1) '1' to '2'",
        InsertEdge(0, 5, "1"): "insert edge (0, 5) '1'",
        InsertEdge(0, 5, weight=2.5): "insert edge (0, 5) of weight 2.5",
        DeleteEdge(0, 1): "delete edge (0, 1)",
    }
    assert [str(edit) for edit in words] == list(words.values())


@pytest.mark.slow
@pytest.mark.parametrize("module", [edits_module])
def test_examples_in_the_documentation(module: Any) -> None:
    results = doctest.testmod(module)
    assert results.failed == 0
    assert results.attempted > 0


@pytest.mark.parametrize(
    ("graph", "edits", "message"),
    [
        (nx.path_graph(3), [], r"got Graph: convert it with graphmetric\.as_graph"),
        ([RING], [], r"graphmetric\.Graph.*; got list"),
        (RING, None, "edits must be a list of edits or an edit path; got NoneType"),
        (RING, ["relabel"], r"edits\[0\] is str 'relabel'; an edit is one of RelabelNode"),
    ],
)
def test_wrong_types_are_refused(graph: Any, edits: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        apply_edits(graph, edits)
