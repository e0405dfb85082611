"""Collections: the same graphs as a list, in shared arrays."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmetric import Graph, GraphCollection
from graphmetric.errors import InvalidGraph
from graphmetric.graphs.columns import GraphFlags, assemble_columns
from graphmetric.graphs.labels import LabelColumn
from tests.strategies import graph_lists


def exactly(graph: Graph) -> tuple:
    """Everything about a graph, for comparisons that include id and metadata."""
    return graph, graph.id, dict(graph.metadata)


@given(graph_lists())
def test_holds_the_graphs_it_was_given(items: list[Graph]) -> None:
    collection = GraphCollection(iter(items))
    assert len(collection) == len(items)
    assert [exactly(g) for g in collection] == [exactly(g) for g in items]
    assert collection.sizes.tolist() == [g.num_nodes for g in items]
    assert collection.edge_counts.tolist() == [g.num_edges for g in items]


@given(graph_lists(min_size=1), st.data())
def test_any_choice_is_the_choice_of_a_list(items: list[Graph], data) -> None:
    collection = GraphCollection(items)
    part = data.draw(st.slices(len(items)))
    chosen = data.draw(st.lists(st.integers(-len(items), len(items) - 1)))
    assert list(collection[part]) == items[part]
    assert list(collection[chosen]) == [items[k] for k in chosen]
    assert list(collection[part][::-1]) == items[part][::-1]
    again = pickle.loads(pickle.dumps(collection[chosen]))  # noqa: S301
    assert [exactly(g) for g in again] == [exactly(items[k]) for k in chosen]


@given(graph_lists(), graph_lists())
def test_sum_is_one_after_the_other(left: list[Graph], right: list[Graph]) -> None:
    assert [exactly(g) for g in GraphCollection(left) + right] == [exactly(g) for g in left + right]


def test_slices_and_graphs_share_memory() -> None:
    collection = GraphCollection([Graph(3, [(0, 1)]), Graph(3, [(1, 2)])])
    edges = collection.columns.edges
    assert np.shares_memory(collection[1:][0].edges, edges)
    assert np.shares_memory(collection[[1, 0]][0].edges, edges)


def test_graphs_with_and_without_columns_live_together() -> None:
    collection = GraphCollection([Graph(1, node_labels=["a"]), Graph(1), Graph(1, directed=True)])
    assert [g.node_labels for g in collection] == [("a",), None, None]
    assert collection.any_has(GraphFlags.DIRECTION)
    assert not collection[:2].any_has(GraphFlags.DIRECTION)


def test_refuses_what_cannot_be_packed() -> None:
    with pytest.raises(InvalidGraph, match=r"graphs\[1\] is of type str"):
        GraphCollection([Graph(1), "CCO"])
    with pytest.raises(InvalidGraph, match=r"graphs\[2\]: features per node \(2,\)"):
        GraphCollection([Graph(1, node_features=[1]), Graph(1), Graph(1, node_features=[[1, 2]])])
    with pytest.raises(InvalidGraph, match=r"features per node \(2,\)"):
        GraphCollection([Graph(1, node_features=[1])]) + GraphCollection([Graph(1, node_features=[[1, 2]])])
    with pytest.raises(IndexError, match="has 1 graphs"):
        GraphCollection([Graph(1)])[1]


def test_a_million_small_graphs_fit_in_a_fraction_of_a_gigabyte() -> None:
    # Ten nodes and ten edges each, by the sizes of the arrays of a thousand.
    ring = Graph(10, [(i, (i + 1) % 10) for i in range(10)], node_labels=list("CCCCCNNOOO"))
    assert GraphCollection([ring] * 1000).nbytes * 1000 < 200e6


@given(graph_lists())
def test_assembly_agrees_with_one_by_one(items: list[Graph]) -> None:
    plain = [Graph(g.num_nodes, g.edges, node_labels=["x"] * g.num_nodes) for g in items if not g.directed]
    expected = GraphCollection(plain).columns
    rng = np.random.default_rng(0)
    shuffled = [rng.permutation(g.edges)[:, ::-1] for g in plain]
    columns = assemble_columns(
        expected.node_ptr,
        expected.edge_ptr,
        np.concatenate([np.empty((0, 2), dtype=np.int32), *shuffled]),
        node_labels=LabelColumn.from_values("x" * int(expected.node_ptr[-1])),
    )
    assert list(GraphCollection._of(columns)) == plain


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"edges": np.array([[0, 1], [0, 5]])}, r"graphs\[1\]: edge \(0, 5\) names node 5; the graph has 2 nodes"),
        ({"edges": np.array([[0, 1], [1, -1]])}, r"graphs\[1\]: edge \(1, -1\) names node -1"),
        ({"edge_ptr": [0, 2, 2], "edges": np.array([[0, 1], [1, 0]])}, r"graphs\[0\]: edge \(0, 1\) is given twice"),
        ({"edge_ptr": [0, 2, 1]}, "edge_ptr must start at 0 and never decrease"),
        ({"edge_ptr": [0, 2]}, "node_ptr is for 2 graphs, edge_ptr for 1"),
        ({"edges": np.array([[0, 1]])}, "edges has 1 rows; the counts promise 2"),
        ({"edge_weights": np.array([1.0, np.nan])}, r"graphs\[1\]: edge_weights\[0\] is nan"),
        ({"edge_weights": np.array([0.0, 1.0])}, r"graphs\[0\]: edge_weights\[0\] is 0"),
        ({"node_features": np.full((4, 1), np.inf)}, r"graphs\[0\]: node_features\[0, 0\] is inf"),
    ],
)
def test_assembly_refuses_with_the_graph_and_the_reason(changes: dict, message: str) -> None:
    arguments = {"node_ptr": [0, 2, 4], "edge_ptr": [0, 1, 2], "edges": np.array([[0, 1], [1, 0]])} | changes
    with pytest.raises(InvalidGraph, match=message):
        assemble_columns(**arguments)


def test_a_part_of_a_collection_is_sent_without_the_labels_of_the_rest() -> None:
    graphs = GraphCollection([Graph(2, node_labels=[f"label {k}", f"other {k}"], id=k) for k in range(500)])
    part = graphs[[17, 3]]
    sent = pickle.dumps(part)
    assert len(sent) < 2000
    assert pickle.loads(sent) == part  # noqa: S301
    assert pickle.loads(pickle.dumps(graphs)) == graphs  # noqa: S301
