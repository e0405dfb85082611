"""Canonical order, certificates, isomorphism."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmetric.errors import InvalidArgument, InvalidGraph, WorkBudgetExceeded
from graphmetric.graphs import canonical
from graphmetric.graphs.collection import GraphCollection, certificates, isomorphism_classes
from graphmetric.graphs.columns import GraphFlags
from graphmetric.graphs.graph import Graph
from tests.graphs import regular_graphs as regular
from tests.naive.isomorphism import smallest_numbering
from tests.strategies import graphs, labels

few = st.sampled_from(["a", "b"])
canonical_order, certificate, is_isomorphic = Graph.canonical_order, Graph.certificate, Graph.is_isomorphic


def is_isomorphic_by_igraph(g: Graph, h: Graph) -> bool:
    return canonical.is_isomorphic_by_igraph(g._packed(), h._packed())


@st.composite
def symmetric_graphs(draw: Callable[..., Any], max_nodes: int = 7, min_nodes: int = 0) -> Graph:
    """Graphs with so few distinct attributes that most have symmetries or look-alikes."""
    n = draw(st.integers(min_nodes, max_nodes))
    directed = draw(st.booleans())
    possible = [(u, v) for u in range(n) for v in range(n) if directed or u <= v]
    edges = [pair for pair in possible if draw(st.booleans())]

    def column(count: int, values: st.SearchStrategy[Any]) -> list[Any] | None:
        return draw(st.none() | st.lists(values, min_size=count, max_size=count))

    return Graph(
        n,
        edges,
        directed=directed,
        node_labels=column(n, few),
        edge_labels=column(len(edges), few),
        edge_weights=column(len(edges), st.sampled_from([1.0, 2.0])),
        node_features=column(n, st.sampled_from([[0.0], [1.0]])) if n else None,
        node_texts=column(n, few),
    )


def shuffled(graph: Graph, seed: int) -> Graph:
    return graph.relabeled(np.random.default_rng(seed).permutation(graph.num_nodes))


def from_networkx(graph: nx.Graph, **columns: Any) -> Graph:
    numbered = nx.convert_node_labels_to_integers(graph)
    return Graph(len(numbered), list(numbered.edges), **columns)


def naive_form(graph: Graph) -> tuple[Any, ...]:
    """The naive canonical form together with everything that isomorphic graphs must share as it is."""
    features = None if graph.node_features is None else graph.node_features.tolist()
    weights = None if graph.edge_weights is None else graph.edge_weights.tolist()
    of_nodes, of_edges = (graph.node_labels, graph.node_texts, features), (graph.edge_labels, weights)
    nodes = [tuple(column and column[v] for column in of_nodes) for v in range(graph.num_nodes)]
    keys = [tuple(column and column[e] for column in of_edges) for e in range(graph.num_edges)]
    edges = dict(zip(map(tuple, graph.edges.tolist()), keys, strict=True))
    absent = tuple(column is None for column in of_nodes + of_edges)
    return graph.directed, absent, smallest_numbering(nodes, edges, graph.directed)


# Laws


@given(st.one_of(graphs(max_nodes=7), symmetric_graphs()), st.integers(0, 2**32 - 1))
def test_a_relabelled_graph_has_the_same_canonical_form(graph: Graph, seed: int) -> None:
    other = shuffled(graph, seed)
    assert certificate(other) == certificate(graph)
    assert other.relabeled(other.canonical_order()) == graph.relabeled(graph.canonical_order())
    assert is_isomorphic(graph, other)
    assert is_isomorphic_by_igraph(graph, other)


@given(graphs(max_nodes=12))
def test_canonical_order_is_a_permutation(graph: Graph) -> None:
    assert sorted(canonical_order(graph).tolist()) == list(range(graph.num_nodes))


@given(symmetric_graphs(max_nodes=5), symmetric_graphs(max_nodes=5))
def test_certificates_agree_exactly_when_the_naive_forms_do(g: Graph, h: Graph) -> None:
    same = naive_form(g) == naive_form(h)
    assert (certificate(g) == certificate(h)) == same
    assert is_isomorphic(g, h) == same
    assert is_isomorphic_by_igraph(g, h) == same


@given(symmetric_graphs(max_nodes=5, min_nodes=2), st.data())
def test_one_changed_edge_or_label_is_seen_exactly_when_it_matters(graph: Graph, data: st.DataObject) -> None:
    """Two graphs at random rarely look alike; these always do."""
    pairs = [(u, v) for u in range(graph.num_nodes) for v in range(graph.num_nodes) if graph.directed or u <= v]
    old, new = data.draw(st.sampled_from(pairs)), data.draw(st.sampled_from(pairs))
    edges = [pair for pair in map(tuple, graph.edges.tolist()) if pair not in (old, new)]
    plain = graph.replace(edges=edges, edge_labels=None, edge_weights=None)
    g, h = plain.replace(edges=[*edges, old]), plain.replace(edges=[*edges, new])
    assert is_isomorphic(g, h) == (naive_form(g) == naive_form(h))
    assert (certificate(g) == certificate(h)) == (naive_form(g) == naive_form(h))


@given(st.lists(graphs(max_nodes=5, node_labels=few | labels), max_size=6))
def test_a_certificate_does_not_depend_on_the_company(collection: list[Graph]) -> None:
    assert certificates(collection) == [certificate(graph) for graph in collection]
    assert certificates(GraphCollection(collection)[::-1]) == [certificate(graph) for graph in collection[::-1]]


@given(st.lists(symmetric_graphs(max_nodes=4), max_size=8))
def test_classes_are_numbered_in_order_of_first_appearance(collection: list[Graph]) -> None:
    numbers = isomorphism_classes(collection).tolist()
    seen: list[Graph] = []
    for graph, number in zip(collection, numbers, strict=True):
        known = next((k for k, other in enumerate(seen) if is_isomorphic(graph, other)), len(seen))
        assert number == known
        if known == len(seen):
            seen.append(graph)


# What counts as equal


PATH = Graph(3, [(0, 1), (1, 2)])


@pytest.mark.parametrize(
    "other",
    [
        PATH.replace(directed=True),
        PATH.replace(node_labels=[None] * 3),
        PATH.replace(edge_labels=[None] * 2),
        PATH.replace(edge_weights=[1, 1]),
        PATH.replace(node_texts=[""] * 3),
        PATH.replace(node_features=np.zeros((3, 1))),
        PATH.replace(node_features=np.zeros((3, 0))),
        PATH.replace(node_images=np.zeros((3, 1, 1))),
        Graph(3, [(0, 1), (1, 1)]),
        Graph(4, [(0, 1), (1, 2)]),
        Graph(0),
    ],
)
def test_every_kind_of_column_counts(other: Graph) -> None:
    assert certificate(PATH) != certificate(other)
    assert not is_isomorphic(PATH, other)


@pytest.mark.parametrize("name", ["node_labels", "node_texts"])
def test_the_same_values_in_another_column_differ(name: str) -> None:
    columns = {name: ["a", "b", "c"]}
    assert certificate(PATH.replace(**columns)) != certificate(PATH.replace(node_labels=["a", "b", "d"]))
    both = [PATH.replace(node_labels=list("abc")), PATH.replace(node_texts=list("abc"))]
    assert isomorphism_classes(both).tolist() == [0, 1]


def test_equal_numbers_are_equal_labels() -> None:
    same = [PATH.replace(node_labels=labels) for labels in ([1, 0, 0], [1.0, 0.0, -0.0], [True, False, 0])]
    assert len(set(certificates(same))) == 1
    assert len({certificate(graph) for graph in same}) == 1


def test_numbers_count_by_value() -> None:
    signed = [PATH.replace(node_features=[[zero], [1.0], [zero]]) for zero in (0.0, -0.0)]
    assert signed[0] == signed[1]
    assert is_isomorphic(*signed)
    pixels = np.array([0, 7, 255], dtype=np.uint8).reshape(3, 1, 1)
    images = [PATH.replace(node_images=pixels), PATH.replace(node_images=pixels.astype(np.float32))]
    assert images[0] == images[1]
    assert is_isomorphic(*images)
    assert certificate(images[0]) == certificate(images[1])


def test_direction_of_single_arcs_counts() -> None:
    there, back = Graph(3, [(0, 1), (0, 2)], directed=True), Graph(3, [(1, 0), (2, 0)], directed=True)
    cycle, broken = ([(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 2), (0, 2)])
    assert not is_isomorphic(there, back)
    assert not is_isomorphic(Graph(3, cycle, directed=True), Graph(3, broken, directed=True))


def test_labels_without_a_lasting_form_are_refused() -> None:
    with pytest.raises(InvalidGraph, match="no lasting form"):
        certificate(Graph(1, node_labels=[frozenset("a")]))


# Known graphs


def test_the_atlas_holds_1252_different_graphs() -> None:
    atlas = [from_networkx(graph) for graph in nx.graph_atlas_g()[1:]]
    assert len(set(certificates(atlas))) == len(atlas) == 1252
    assert certificates(shuffled(graph, k) for k, graph in enumerate(atlas)) == certificates(atlas)


FAMILIES = {
    "empty": nx.empty_graph(2000),
    "complete": nx.complete_graph(200),
    "complete bipartite": nx.complete_bipartite_graph(60, 60),
    "cocktail party": nx.complement(nx.Graph((2 * i, 2 * i + 1) for i in range(40))),
    "star": nx.star_graph(2000),
    "path": nx.path_graph(2000),
    "cycle": nx.cycle_graph(2000),
    "binary tree": nx.balanced_tree(2, 8),
    "random tree": nx.random_labeled_tree(2000, seed=1),
    "hypercube": nx.hypercube_graph(8),
    "torus": nx.grid_2d_graph(12, 12, periodic=True),
    "shrikhande": regular.shrikhande(),
    "rook": regular.rook(8),
    "paley 29": regular.paley(29),
    "paley 53": regular.paley(53),
    "line graph": nx.line_graph(nx.complete_graph(12)),
    "cyclic square": regular.cyclic_square(8),
    "bitwise square": regular.bitwise_square(8),
    "projective plane": regular.projective_plane(7),
    "twisted": regular.cai_furer_immerman(nx.petersen_graph(), twisted=True),
    "untwisted": regular.cai_furer_immerman(nx.petersen_graph(), twisted=False),
    "cubic": nx.random_regular_graph(3, 1000, seed=1),
    "dense regular": nx.random_regular_graph(20, 100, seed=1),
    "copies of Petersen": regular.copies(nx.petersen_graph(), 20),
    "copies of Shrikhande": regular.copies(regular.shrikhande(), 4),
    "sparse random": nx.gnm_random_graph(2000, 2500, seed=1),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_symmetric_and_regular_graphs_stay_far_below_the_budget(name: str) -> None:
    graph = from_networkx(FAMILIES[name])
    budget = canonical.DEFAULT_BUDGET // 10
    wanted = certificate(graph, budget=budget)
    assert {certificate(shuffled(graph, seed), budget=budget) for seed in range(3)} == {wanted}


@pytest.mark.parametrize(
    ("g", "h"),
    [
        (regular.shrikhande(), regular.rook(4)),
        (regular.cyclic_square(4), regular.bitwise_square(4)),
        (regular.cyclic_square(8), regular.bitwise_square(8)),
        *[
            (regular.cai_furer_immerman(base, twisted=False), regular.cai_furer_immerman(base, twisted=True))
            for base in (nx.complete_graph(4), nx.petersen_graph(), nx.random_regular_graph(3, 16, seed=3))
        ],
        (nx.cycle_graph(6), regular.copies(nx.cycle_graph(3), 2)),
    ],
)
def test_look_alikes_differ(g: nx.Graph, h: nx.Graph) -> None:
    assert not is_isomorphic(from_networkx(g), from_networkx(h))
    assert not is_isomorphic_by_igraph(from_networkx(g), from_networkx(h))
    mixed = [from_networkx(nx.disjoint_union(a, b)) for a, b in ((g, g), (g, h), (h, g), (h, h))]
    assert isomorphism_classes(mixed).tolist() == [0, 1, 1, 2]


# Agreement with other programs


def random_pair(rng: np.random.Generator) -> tuple[nx.Graph, nx.Graph]:
    """A small graph with labels, and a renumbered copy that kept all degrees or all labels but maybe not the shape."""
    n = int(rng.integers(4, 11))
    kind = nx.DiGraph if rng.random() < 0.5 else nx.Graph
    g = nx.gnp_random_graph(n, rng.uniform(0.15, 0.7), seed=int(rng.integers(2**31)), directed=kind is nx.DiGraph)
    if kind is nx.Graph and rng.random() < 0.5:
        g = nx.random_regular_graph(3, n + n % 2, seed=int(rng.integers(2**31)))
    distinct = int(rng.integers(1, 3))
    nx.set_node_attributes(g, {v: int(rng.integers(distinct)) for v in g}, "label")
    nx.set_edge_attributes(g, {e: int(rng.integers(distinct)) for e in g.edges}, "label")
    edges = [(u, v, g.edges[u, v]["label"]) for u, v in g.edges]
    if rng.random() < 0.7 and len(edges) >= 2:
        (a, b, x), (c, d, y) = (edges.pop(int(rng.integers(len(edges)))) for _ in range(2))
        free = not (g.has_edge(a, d) or g.has_edge(c, b))
        edges += [(a, d, x), (c, b, y)] if free and len({a, b, c, d}) == 4 else [(a, b, y), (c, d, x)]
    place = rng.permutation(len(g))
    h = kind()
    h.add_nodes_from((int(place[v]), {"label": g.nodes[v]["label"]}) for v in g)
    h.add_edges_from((int(place[u]), int(place[v]), {"label": label}) for u, v, label in edges)
    return g, h


def with_labels(graph: nx.Graph) -> Graph:
    return Graph(
        len(graph),
        list(graph.edges),
        directed=graph.is_directed(),
        node_labels=[graph.nodes[v]["label"] for v in range(len(graph))],
        edge_labels=[label for _, _, label in graph.edges.data("label")],
    )


def nauty_agrees(g: nx.Graph, h: nx.Graph) -> bool:
    """Isomorphism of node-labelled graphs by pynauty; edge labels are not looked at."""
    import pynauty

    if sorted(label for _, label in g.nodes.data("label")) != sorted(label for _, label in h.nodes.data("label")):
        return False
    described = [
        pynauty.Graph(
            len(graph),
            directed=graph.is_directed(),
            adjacency_dict={v: list(graph[v]) for v in graph},
            vertex_coloring=[
                cell for label in range(2) if (cell := {v for v in graph if graph.nodes[v]["label"] == label})
            ],
        )
        for graph in (g, h)
    ]
    return bool(pynauty.isomorphic(*described))


@pytest.mark.slow
def test_three_other_programs_agree_on_thousands_of_pairs() -> None:
    rng = np.random.default_rng(5)
    same = 0
    for _ in range(3000):
        g, h = random_pair(rng)
        ours_g, ours_h = with_labels(g), with_labels(h)
        match = nx.algorithms.isomorphism.categorical_node_match("label", None)
        edge_match = nx.algorithms.isomorphism.categorical_edge_match("label", None)
        expected = nx.is_isomorphic(g, h, node_match=match, edge_match=edge_match)
        assert is_isomorphic(ours_g, ours_h) == expected
        assert is_isomorphic_by_igraph(ours_g, ours_h) == expected
        plain_g, plain_h = ours_g.replace(edge_labels=None), ours_h.replace(edge_labels=None)
        assert is_isomorphic(plain_g, plain_h) == nauty_agrees(g, h)
        same += expected
    assert 500 < same < 2500


# The budget


HARD = from_networkx(regular.rook(6), id="chess")


def test_too_small_a_budget_is_an_error_that_says_what_to_do() -> None:
    for ask in (canonical_order, certificate):
        with pytest.raises(WorkBudgetExceeded, match=r"'chess', 36 nodes.*budget=100 .*larger budget.*igraph"):
            ask(HARD, budget=100)
    with pytest.raises(WorkBudgetExceeded, match=r"graphs\[1\] Graph\('chess'"):
        certificates([PATH, HARD], budget=100)
    with pytest.raises(InvalidArgument, match="budget"):
        certificate(HARD, budget=-1)


def test_igraph_steps_in_for_facts() -> None:
    others = [shuffled(HARD, 1), from_networkx(nx.complement(regular.rook(6))), PATH, shuffled(HARD, 2)]
    assert is_isomorphic(HARD, others[0], budget=100)
    assert isomorphism_classes([HARD, *others], budget=100).tolist() == [0, 0, 1, 2, 0]


def test_classes_are_the_same_whatever_the_budget() -> None:
    """Around the critical budget some numberings of one graph succeed and others do not."""
    rigid = [from_networkx(nx.random_regular_graph(3, 12, seed=seed)) for seed in range(6)]
    collection = [shuffled(graph, seed) for seed in range(6) for graph in (HARD, *rigid)]
    expected = isomorphism_classes(collection).tolist()
    for budget in (0, 300, 600, 1000, 2000, 4000, 8000):
        assert isomorphism_classes(collection, budget=budget).tolist() == expected


def test_a_certificate_is_the_same_whatever_the_budget() -> None:
    wanted = certificate(HARD)
    found = set()
    for budget in range(0, 20_000, 500):
        try:
            found.add(certificate(shuffled(HARD, budget), budget=budget))
        except WorkBudgetExceeded:
            continue
    assert found == {wanted}


def test_without_igraph_the_budget_error_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canonical, "find_spec", lambda name: None)
    with pytest.raises(WorkBudgetExceeded, match="igraph"):
        is_isomorphic(HARD, shuffled(HARD, 1), budget=100)
    with pytest.raises(WorkBudgetExceeded, match=r"graphs\[1\]"):
        isomorphism_classes([PATH, HARD], budget=100)


# Benchmarks and stability


@pytest.mark.slow
@pytest.mark.parametrize(("name", "classes"), [("AIDS700nef", 667), ("LINUX", 89), ("IMDBMulti", 387)])
def test_classes_of_the_benchmarks(name: str, classes: int, shared_data: Path) -> None:
    given_graphs = json.loads((shared_data / f"{name}.json").read_text())["graphs"]
    labelled = [Graph(len(one["nodes"]), one["edges"], node_labels=one["nodes"]) for one in given_graphs]
    numbers = isomorphism_classes(labelled)
    assert numbers.max() + 1 == classes
    assert len({*zip(numbers.tolist(), (one["iso_class"] for one in given_graphs), strict=True)}) == classes


FROZEN = {
    "4500ac6fe9f0be271c2119a979d34ffa": Graph(0),
    "b6fc1c09ee1c74bb7f9a23bf94f88666": PATH,
    "c80a12fb56fc91c539fff476b3001423": PATH.replace(
        node_labels=["C", "O", None], edge_labels=[1, ("x", 2.5)], edge_weights=[0.5, -2]
    ),
    "156c4d2ae76fcb9c92e3e3550c5d407b": Graph(
        3,
        [(0, 1), (1, 0), (2, 2)],
        directed=True,
        node_features=[[0, 1], [2, 3], [0, 1]],
        node_texts=["α", "", "b"],
        node_images=np.arange(3, dtype=np.uint8).reshape(3, 1, 1),
    ),
    "0c49bea357d978b6e73d9dd8bcc673f4": from_networkx(nx.petersen_graph()),
    "fe2525ceb5dd6c793a0bf9233649cf35": from_networkx(regular.shrikhande()),
    "91b5a46da801f656a97a6aae959b7502": from_networkx(regular.cai_furer_immerman(nx.petersen_graph(), twisted=True)),
}


def test_certificates_never_change() -> None:
    """People store them: a change here needs a new format version."""
    assert canonical.FORMAT_VERSION == 1
    assert certificates(shuffled(graph, 3) for graph in FROZEN.values() if graph.node_images is None) == [
        text for text, graph in FROZEN.items() if graph.node_images is None
    ]
    assert [certificate(graph) for graph in FROZEN.values()] == list(FROZEN)


def test_the_documented_bytes_are_what_is_hashed() -> None:
    """Written from the description in the module's docstring, for a graph that has one order only."""
    graph = Graph(2, [(0, 1)], node_labels=["a", "b"], edge_weights=[0.5])
    keys = [blake2b(struct.pack("<Q", 2) + key, digest_size=16).digest() for key in (b"sa", b"sb")]
    edge = blake2b(struct.pack("<Qd", 8, 0.5), digest_size=16).digest()
    form = struct.pack("<8Q", 1, GraphFlags.NODE_LABELS | GraphFlags.EDGE_WEIGHTS, 2, 1, 0, 0, 0, 0)
    form += b"".join(keys[v] for v in graph.canonical_order()) + struct.pack("<2i", 0, 1) + edge
    assert certificate(graph) == blake2b(form, digest_size=16, person=b"graphmetric-cert").hexdigest()
