"""Definition 1: what a Graph accepts, refuses and keeps."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmetric import Graph
from graphmetric.errors import InvalidGraph
from tests.strategies import graphs

FEATURES = [[0.5, 1.0], [2.0, 3.0], [4.0, 5.0]]


def full_graph() -> Graph:
    """A graph with every column."""
    return Graph(
        3,
        [(2, 1), (0, 2)],
        node_labels=["C", 7, ("a", 1)],
        edge_labels=["double", "single"],
        edge_weights=[-1.5, 2],
        node_features=FEATURES,
        node_texts=["one", "two", "one"],
        node_images=np.arange(12, dtype=np.uint8).reshape(3, 2, 2),
        id="full",
        metadata={"class": 1},
    )


def test_columns_follow_the_sorted_edges() -> None:
    graph = full_graph()
    assert graph.edges.tolist() == [[0, 2], [1, 2]]
    assert graph.edge_labels == ("single", "double")
    assert graph.edge_weights is not None
    assert graph.edge_weights.tolist() == [2.0, -1.5]
    assert graph.node_images is not None
    assert graph.node_images.shape == (3, 2, 2, 1)


def test_directed_edges_keep_their_direction() -> None:
    graph = Graph(3, [(2, 1), (1, 2), (0, 0)], directed=True)
    assert graph.edges.tolist() == [[0, 0], [1, 2], [2, 1]]
    assert graph.adjacency.indices.tolist() == [0, 2, 1]
    assert graph.in_adjacency.indices.tolist() == [0, 2, 1]
    assert graph.degrees().tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_nodes": 5, "edges": [(3, 7)]}, r"edge \(3, 7\) names node 7; the graph has 5 nodes \(0\.\.4\)"),
        ({"num_nodes": 5, "edges": [(-1, 2)]}, r"edge \(-1, 2\) names node -1"),
        ({"num_nodes": 0, "edges": [(0, 0)]}, "the graph has no nodes"),
        ({"num_nodes": 3, "edges": [(0, 1), (1, 0)]}, r"edge \(0, 1\) is given twice"),
        ({"num_nodes": 3, "edges": [(0, 1), (0, 1)], "directed": True}, "given twice"),
        ({"num_nodes": 3, "edges": [(0, 1, 2)]}, "pairs of node numbers"),
        ({"num_nodes": 3, "edges": [(0, 1), (1,)]}, "pairs of node numbers"),
        ({"num_nodes": 3, "edges": [(0, 1.5)]}, "not a pair of integers"),
        ({"num_nodes": 3, "edges": [("a", "b")]}, "not a pair of integers"),
        ({"num_nodes": 3, "edges": [(0, 2**70)]}, "integers|beyond"),
        ({"num_nodes": 3, "edges": np.array([[0, 2**63]], dtype=np.uint64)}, "beyond the largest"),
        ({"num_nodes": -1}, "between 0 and"),
        ({"num_nodes": 2.0}, "must be an integer"),
        ({"num_nodes": True}, "must be an integer"),
        ({"num_nodes": 2, "node_labels": ["C"]}, "node_labels has 1 entry; the graph has 2 nodes"),
        ({"num_nodes": 1, "node_labels": [["C"]]}, "not hashable"),
        ({"num_nodes": 1, "node_labels": [float("nan")]}, "NaN"),
        ({"num_nodes": 2, "edges": [(0, 1)], "edge_labels": []}, "edge_labels has 0 entries; the graph has 1 edge"),
        ({"num_nodes": 2, "edges": [(0, 1)], "edge_weights": [np.nan]}, "weight nan"),
        ({"num_nodes": 2, "edges": [(0, 1)], "edge_weights": [np.inf]}, "weight inf"),
        ({"num_nodes": 2, "edges": [(0, 1)], "edge_weights": [0]}, "weight 0"),
        ({"num_nodes": 2, "edges": [(0, 1)], "edge_weights": ["heavy"]}, "must be numbers"),
        ({"num_nodes": 2, "edges": [(0, 1)], "edge_weights": ["2.5"]}, "must be numbers"),
        ({"num_nodes": 2, "edges": [(0, 1)], "edge_weights": [10**400]}, "must be numbers"),
        ({"num_nodes": 2, "node_labels": 5}, "node_labels must be a sequence"),
        ({"num_nodes": 2, "edges": [(0, 1)], "edge_weights": [[1.0, 2.0]]}, "one number per edge"),
        ({"num_nodes": 2, "edges": [(0, 1)], "edge_weights": 1.0}, "edge_weights has 0 entries"),
        ({"num_nodes": 2, "node_features": [[1.0], [np.inf]]}, r"node_features\[1, 0\] is inf"),
        ({"num_nodes": 2, "node_features": [[1.0], [1.0, 2.0]]}, "equal length"),
        ({"num_nodes": 2, "node_features": [[1.0]]}, "node_features has 1 entry;"),
        ({"num_nodes": 2, "node_texts": ["a", 3]}, "node_texts must be strings; got 3"),
        ({"num_nodes": 1, "node_images": [[1, 2]]}, "node_images must have shape"),
        ({"num_nodes": 1, "node_images": [[["x"]]]}, "uint8"),
    ],
)
def test_refuses_with_a_reason(arguments: dict, message: str) -> None:
    with pytest.raises(InvalidGraph, match=message):
        Graph(**arguments)


def test_empty_and_edgeless_graphs_are_graphs() -> None:
    assert Graph(0).num_edges == 0
    assert Graph(0) == Graph(0, [], node_labels=None)
    assert Graph(4).adjacency.indptr.tolist() == [0, 0, 0, 0, 0]
    assert Graph(0, node_labels=[]).node_labels == ()


def test_is_immutable() -> None:
    graph = full_graph()
    with pytest.raises(AttributeError, match=r"replace\(num_nodes"):
        graph.num_nodes = 4
    with pytest.raises(ValueError, match="read-only"):
        graph.edges[0, 0] = 1
    with pytest.raises(TypeError):
        graph.metadata["class"] = 2  # type: ignore[index]
    with pytest.raises(AttributeError):
        del graph.id


def test_does_not_keep_or_change_what_it_was_given() -> None:
    edges, weights = np.array([[2, 1], [0, 2]]), np.array([1.0, 2.0])
    graph = Graph(3, edges, edge_weights=weights)
    weights[0] = edges[0, 0] = 0
    assert graph.edges.tolist() == [[0, 2], [1, 2]]
    assert graph.edge_weights is not None
    assert graph.edge_weights.tolist() == [2.0, 1.0]


def test_equality_looks_at_everything_but_id_and_metadata() -> None:
    graph = full_graph()
    assert graph == graph.replace(id="other", metadata={})
    assert hash(graph) == hash(graph.replace(id="other"))
    for changed in (
        {"node_labels": ["C", 7, "b"]}, {"edge_labels": None}, {"edge_weights": [2, -1]}, {"node_features": None},
        {"node_texts": ["one", "two", "two"]}, {"node_images": None}, {"directed": True},
    ):  # fmt: skip
        assert graph != graph.replace(**changed)
    assert graph != "graph"


def test_repr_says_what_matters() -> None:
    assert repr(full_graph()) == (
        "Graph('full', 3 nodes, 2 edges, labels ('a', 1) 7 C, edge labels double single, weighted, 2 features, "
        "texts, images)"
    )
    assert repr(Graph(1)) == "Graph(1 node, 0 edges)"


def test_copies_and_worker_processes_see_the_same_graph() -> None:
    graph = full_graph()
    assert copy.deepcopy(graph) is graph
    sent = pickle.loads(pickle.dumps(graph))  # noqa: S301
    assert (sent, sent.id, dict(sent.metadata)) == (graph, "full", {"class": 1})


@given(graphs(), st.randoms(use_true_random=False))
def test_relabeling_there_and_back(graph: Graph, random) -> None:
    order = list(range(graph.num_nodes))
    random.shuffle(order)
    inverse = np.argsort(order)
    moved = graph.relabeled(order)
    assert moved.num_edges == graph.num_edges
    if graph.node_labels is not None:
        assert moved.node_labels == tuple(graph.node_labels[old] for old in order)
    assert moved.relabeled(inverse) == graph
    arcs = {(order[u], order[v]) for u, v in moved.edges.tolist()}
    assert arcs == {(u, v) if (u, v) in arcs else (v, u) for u, v in graph.edges.tolist()}


def test_names_of_nodes_move_with_them() -> None:
    named = Graph(3, metadata={"node_names": ["a", "b", "c"], "class": 1}).relabeled([2, 0, 1])
    assert named.metadata == {"node_names": ["c", "a", "b"], "class": 1}


@pytest.mark.parametrize("permutation", [[0, 1], [0, 1, 1], [0, 1, 3], [[0, 1, 2]]])
def test_relabeled_refuses_what_is_no_permutation(permutation) -> None:
    with pytest.raises(InvalidGraph, match=r"each of the nodes 0\.\.2 once"):
        full_graph().relabeled(permutation)


@given(graphs())
def test_adjacency_lists_every_edge_end(graph: Graph) -> None:
    rows = graph.adjacency
    arcs = [(u, int(v)) for u in range(graph.num_nodes) for v in rows.indices[rows.indptr[u] : rows.indptr[u + 1]]]
    expected = [tuple(edge) for edge in graph.edges.tolist()]
    if not graph.directed:
        expected += [(v, u) for u, v in expected if u != v]
    assert arcs == sorted(expected)
    assert [tuple(sorted(arc)) for arc in arcs] == [tuple(sorted(graph.edges[edge].tolist())) for edge in rows.edge]


def test_two_numberings_of_a_path_stay_isomorphic_as_directed_graphs() -> None:
    path, renumbered = Graph(3, [(0, 1), (1, 2)]), Graph(3, [(0, 2), (1, 2)])
    assert path.is_isomorphic(renumbered)
    assert path.replace(directed=True).is_isomorphic(renumbered.replace(directed=True))
    assert path.replace(directed=True).edges.tolist() == [[0, 1], [1, 0], [1, 2], [2, 1]]


def test_direction_changes_keep_labels_and_weights() -> None:
    edges = Graph(3, [(0, 1), (1, 1), (1, 2)], edge_labels=list("abc"), edge_weights=[1, 2, 3])
    arcs = edges.replace(directed=True)
    assert arcs.edges.tolist() == [[0, 1], [1, 0], [1, 1], [1, 2], [2, 1]]
    assert arcs.edge_labels == tuple("aabcc")
    assert arcs.edge_weights is not None
    assert arcs.edge_weights.tolist() == [1, 1, 2, 3, 3]
    assert arcs.replace(directed=False) == edges
    one_way = Graph(3, [(2, 0), (0, 1), (1, 0)], directed=True, edge_labels=list("abb"))
    assert one_way.replace(directed=False) == Graph(3, [(0, 1), (0, 2)], edge_labels=list("ba"))
    assert one_way.replace(directed=False, edge_labels=None, id="x") == Graph(3, [(0, 1), (0, 2)])
    assert edges.replace(directed=True, edges=edges.edges).num_edges == 3


@pytest.mark.parametrize("column", ["edge_labels", "edge_weights"])
def test_opposite_arcs_that_differ_are_not_made_one_edge(column: str) -> None:
    arcs = Graph(3, [(1, 2), (2, 1)], directed=True, **{column: [1, 2]})
    with pytest.raises(InvalidGraph, match=r"arcs \(1, 2\) and \(2, 1\) differ in label or weight"):
        arcs.replace(directed=False)


@given(graphs(), st.data())
def test_changing_direction_commutes_with_relabelling(graph: Graph, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(graph.num_nodes)))
    if graph.directed:
        graph = graph.replace(edge_labels=None, edge_weights=None)
    changed = graph.replace(directed=not graph.directed)
    assert changed.relabeled(order) == graph.relabeled(order).replace(directed=not graph.directed)
    assert changed.replace() == changed
    if not graph.directed:
        assert changed.replace(directed=False) == graph
