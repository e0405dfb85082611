"""Adjacency matrices and lists of edges."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphmetric.errors import InvalidGraph
from graphmetric.formats.conversion import from_adjacency, from_edge_list, to_adjacency
from graphmetric.graphs.graph import Graph
from tests.graphs.any_graphs import any_graphs

MATRICES = st.integers(0, 5).flatmap(lambda n: hnp.arrays(np.float64, (n, n), elements=st.integers(-2, 2)))


def structure(graph: Graph) -> Graph:
    """V, E, w only; weights that are all 1 are no weights to a matrix."""
    weights = graph.edge_weights
    all_one = weights is not None and (weights == 1).all()
    return Graph(graph.num_nodes, graph.edges, directed=graph.directed, edge_weights=None if all_one else weights)


@pytest.mark.slow
@given(any_graphs(), st.booleans())
def test_round_trip(graph: Graph, sparse: bool) -> None:
    matrix = to_adjacency(graph, sparse=sparse)
    assert from_adjacency(matrix, directed=graph.directed) == structure(graph)


@given(any_graphs())
def test_entries_are_weights(graph: Graph) -> None:
    dense, sparse = to_adjacency(graph), to_adjacency(graph, sparse=True)
    assert np.array_equal(dense, sparse.toarray())
    weights = np.ones(graph.num_edges) if graph.edge_weights is None else graph.edge_weights
    expected = np.zeros((graph.num_nodes, graph.num_nodes))
    for (u, v), weight in zip(graph.edges, weights, strict=True):
        expected[u, v] = weight
        if not graph.directed:
            expected[v, u] = weight
    assert np.array_equal(dense, expected)


@given(MATRICES, st.sampled_from([np.asarray, sp.csr_array, sp.coo_matrix, sp.csc_array, sp.lil_array]))
def test_any_matrix(matrix: np.ndarray, kind: type) -> None:
    given_matrix = kind(matrix)
    graph = from_adjacency(given_matrix)
    assert graph.directed == (not np.array_equal(matrix, matrix.T))
    assert np.array_equal(to_adjacency(graph), matrix)
    again = given_matrix if isinstance(given_matrix, np.ndarray) else given_matrix.toarray()
    assert np.array_equal(again, matrix)


def test_sparse_zeros_and_repeats() -> None:
    stored = sp.coo_array(([1, 1, 0, 2.0], ([0, 0, 1, 1], [1, 1, 2, 0])), shape=(3, 3))
    assert from_adjacency(stored) == Graph(3, [(0, 1)], edge_weights=[2])
    assert stored.nnz == 4


def test_bool_and_integer_matrices_and_columns() -> None:
    matrix = ~np.eye(3, dtype=bool)
    graph = from_adjacency(matrix, node_labels="CNO", node_features=np.eye(3), id="triangle")
    assert graph == Graph(3, [(0, 1), (0, 2), (1, 2)], node_labels="CNO", node_features=np.eye(3))
    assert graph.id == "triangle"
    assert from_adjacency(matrix.astype(np.int8), directed=True).num_edges == 6


@pytest.mark.parametrize(
    ("matrix", "directed", "message"),
    [
        (np.zeros((2, 3)), None, r"square; got shape \(2, 3\)"),
        (np.zeros(3), None, "square"),
        (np.array([["a", "b"], ["c", "d"]]), None, "numbers"),
        (np.array([[0, np.nan], [1, 0]]), None, r"matrix\[0, 1\] is nan"),
        (sp.csr_array(np.array([[0, np.inf], [1, 0]])), None, r"matrix\[0, 1\] is inf"),
        (np.array([[0, 1], [0, 0]]), False, r"matrix\[0, 1\] and matrix\[1, 0\] differ"),
        (np.array([[0, 1.0], [1 + 1e-12, 0]]), None, "rounding"),
        (np.zeros((2, 2), dtype=complex), None, "complex"),
    ],
)
def test_impossible_matrices(matrix: object, directed: bool | None, message: str) -> None:
    with pytest.raises(InvalidGraph, match=message):
        from_adjacency(matrix, directed=directed)


NAMES = st.one_of(st.text(max_size=2), st.tuples(st.integers(0, 2)), st.none())


@given(st.lists(st.tuples(NAMES, NAMES), unique_by=frozenset, max_size=8))
def test_names_are_numbered_by_first_appearance(edges: list) -> None:
    graph = from_edge_list(edges)
    names = graph.metadata.get("node_names", ())
    assert list(names) == list(dict.fromkeys(name for edge in edges for name in edge))
    assert {frozenset((names[u], names[v])) for u, v in graph.edges} == set(map(frozenset, edges))


@given(any_graphs())
def test_numbers_stay_numbers(graph: Graph) -> None:
    labels = [None] * graph.num_nodes
    for edges in (graph.edges, graph.edges.tolist(), map(tuple, graph.edges)):
        again = from_edge_list(edges, labels, directed=graph.directed)
        assert again == Graph(graph.num_nodes, graph.edges, directed=graph.directed, node_labels=labels)
        assert again.metadata == {}


def test_labels_and_nodes() -> None:
    by_name = from_edge_list([("a", "b")], {"b": "B", "alone": "A"}, edge_labels=["x"], edge_weights=[2], id=1)
    assert by_name == Graph(3, [(0, 1)], node_labels=[None, "B", "A"], edge_labels=["x"], edge_weights=[2])
    assert by_name.id == 1
    assert from_edge_list([("a", "b")], ["A", "B"]).node_labels == ("A", "B")
    assert from_edge_list([("a", "b")], nodes=["c", "b"]).metadata["node_names"] == ("c", "b", "a")
    assert from_edge_list([(2, 1)], nodes=range(4)) == Graph(4, [(1, 2)])
    assert from_edge_list([(10, 20), (20, 30)]).metadata["node_names"] == (10, 20, 30)
    assert from_edge_list([(1, 0), (0, 1)], parallel_edges="sum") == Graph(2, [(0, 1)], edge_weights=[2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([(0, 1), (3, 12)], list("CCCCCCCCCC")), r"edge \(3, 12\) names node 12; there are 10 labels \(0..9\)"),
        (([(0, 1, 2)],), r"edges\[0\] is \(0, 1, 2\); an edge is a pair.*edge_weights="),
        ((["ab"],), "pair of nodes"),
        (([([1], 2)],), r"\[1\] is of type list"),
        (([("a", "b")], ["A"]), "node_labels has 1 entry; the graph has 2 nodes"),
        (([(0, 1), (1, 0)],), "given 2 times"),
        (([(0, 0.5)], ["A", "B", "C"]), "node_labels has 3"),
    ],
)
def test_impossible_edge_lists(arguments: tuple, message: str) -> None:
    with pytest.raises(InvalidGraph, match=message):
        from_edge_list(*arguments)


def test_edge_columns_must_fit() -> None:
    with pytest.raises(InvalidGraph, match="edge_labels has 2 entries; the list has 1 edge"):
        from_edge_list([(0, 1)], edge_labels="ab")
