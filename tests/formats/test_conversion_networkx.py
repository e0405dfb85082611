"""networkx: there and back again, and what happens to graphs that come from elsewhere."""

from __future__ import annotations

import copy
import warnings

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmetric.errors import ConversionWarning, InvalidArgument, InvalidGraph
from graphmetric.formats.conversion import IfPresent, from_networkx, to_networkx
from graphmetric.graphs.graph import Graph
from tests.graphs.any_graphs import any_graphs
from tests.strategies import exact


@given(any_graphs())
def test_round_trip_keeps_everything(graph: Graph) -> None:
    assert exact(from_networkx(to_networkx(graph))) == exact(graph)


@given(any_graphs())
def test_networkx_sees_the_same_graph(graph: Graph) -> None:
    h = to_networkx(graph)
    assert list(h) == list(range(graph.num_nodes))
    assert h.is_directed() == graph.directed
    assert sorted(map(tuple, h.edges)) == sorted(map(tuple, graph.edges.tolist()))
    if graph.node_labels is not None:
        assert tuple(h.nodes[i]["label"] for i in h) == graph.node_labels
    if graph.edge_weights is not None:
        assert [h.edges[edge]["weight"] for edge in graph.edges.tolist()] == graph.edge_weights.tolist()


@given(st.permutations(range(5)), st.booleans())
def test_integers_from_0_stay_node_numbers(order: list[int], directed: bool) -> None:
    h = nx.DiGraph() if directed else nx.Graph()
    h.add_nodes_from((i, {"label": str(i)}) for i in order)
    h.add_edges_from([(4, 0), (1, 3)])
    graph = from_networkx(h)
    assert graph.node_labels == ("0", "1", "2", "3", "4")
    assert graph.metadata == {}


def test_other_names_are_numbered_in_order_and_kept() -> None:
    h = nx.Graph([("main", "parse"), ("parse", "read")], title="calls", id="a")
    graph = from_networkx(h)
    assert graph == Graph(3, [(0, 1), (1, 2)])
    assert graph.id == "a"
    assert graph.metadata == {"title": "calls", "node_names": ("main", "parse", "read")}
    assert from_networkx(h, keep_names=False).metadata == {"title": "calls"}
    back = to_networkx(graph)
    assert nx.relabel_nodes(back, dict(enumerate(back.graph["node_names"]))).adj == h.adj


def test_numpy_integers_are_node_numbers() -> None:
    graph = from_networkx(nx.Graph([(np.int64(1), np.int64(0)), (np.int64(1), np.int64(2))]))
    assert graph == Graph(3, [(0, 1), (1, 2)])
    assert graph.metadata == {}


def test_attributes_by_name() -> None:
    h = nx.Graph()
    h.add_node("a", element="C", size=1.5, pos=[0, 1], doc="x")
    h.add_node("b", element="O", size=2, pos=[2, 3], doc="y")
    h.add_edge("a", "b", kind="double", strength=3)
    graph = from_networkx(
        h,
        node_label="element",
        node_features=["size", "pos"],
        node_text="doc",
        edge_label="kind",
        edge_weight="strength",
    )
    expected = Graph(
        2,
        [(0, 1)],
        node_labels="CO",
        node_features=[[1.5, 0, 1], [2, 2, 3]],
        node_texts=["x", "y"],
        edge_labels=["double"],
        edge_weights=[3],
    )
    assert graph == expected


def test_what_is_left_out_is_said_once() -> None:
    h = nx.path_graph(3)
    nx.set_node_attributes(h, {0: {"pos": 1, "label": "C"}, 1: {"colour": "red"}})
    nx.set_edge_attributes(h, 2, "length")
    before = copy.deepcopy(h)
    with pytest.warns(ConversionWarning, match=r"'pos'.*'colour'.*edge attribute 'length'") as seen:
        graph = from_networkx(h)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert graph.node_labels == ("C", None, None)
    assert nx.utils.graphs_equal(h, before)


def test_explicit_names_must_exist() -> None:
    h = nx.path_graph(2)
    for parameter in ("node_label", "node_features", "node_text", "node_image", "edge_label", "edge_weight"):
        with pytest.raises(InvalidGraph, match=f"{parameter}='nothing'"):
            from_networkx(h, **{parameter: "nothing"})
        assert from_networkx(h, **{parameter: IfPresent("nothing")}) == from_networkx(h, **{parameter: None})
    assert from_networkx(nx.empty_graph(0), node_label="nothing").node_labels == ()
    assert from_networkx(nx.empty_graph(2), edge_label="nothing").edge_labels == ()


def test_partly_present_attributes() -> None:
    h = nx.path_graph(3)
    h.edges[0, 1]["weight"] = 2.5
    assert from_networkx(h).edge_weights.tolist() == [2.5, 1]
    h.nodes[0]["text"] = "a"
    with pytest.raises(InvalidGraph, match=r"node 1 has no attribute 'text'.*node_text=None"):
        from_networkx(h)
    del h.nodes[0]["text"]
    h.nodes[2]["x"] = [1.0]
    with pytest.raises(InvalidGraph, match="node 0 has no attribute 'x'"):
        from_networkx(h)


@pytest.mark.parametrize("weight", [0, float("nan"), "heavy", float("inf")])
def test_impossible_weights(weight: object) -> None:
    h = nx.Graph()
    h.add_edge(0, 1, weight=weight)
    with pytest.raises(InvalidGraph):
        from_networkx(h)


def test_parallel_edges() -> None:
    h = nx.MultiGraph([(0, 1), (1, 0), (1, 2)])
    with pytest.raises(InvalidGraph, match=r"edge \(0, 1\) is given 2 times.*parallel_edges='sum'"):
        from_networkx(h)
    assert from_networkx(h, parallel_edges="first") == Graph(3, [(0, 1), (1, 2)])
    assert from_networkx(h, parallel_edges="sum") == Graph(3, [(0, 1), (1, 2)], edge_weights=[2, 1])
    directed = nx.MultiDiGraph([(0, 1), (1, 0)])
    assert from_networkx(directed) == Graph(2, [(0, 1), (1, 0)], directed=True)
    with pytest.raises(InvalidArgument, match="parallel_edges"):
        from_networkx(h, parallel_edges="max")  # type: ignore[arg-type]


def test_parallel_edges_with_attributes() -> None:
    h = nx.MultiGraph()
    h.add_edge(0, 1, weight=2, label="a")
    h.add_edge(0, 1, weight=3, label="b")
    assert from_networkx(h, parallel_edges="first") == Graph(2, [(0, 1)], edge_labels="a", edge_weights=[2])
    with pytest.raises(InvalidGraph, match="labels 'a' and 'b'"):
        from_networkx(h, parallel_edges="sum")
    with pytest.warns(ConversionWarning, match="edge attribute 'label'"):
        assert from_networkx(h, parallel_edges="sum", edge_label=None) == Graph(2, [(0, 1)], edge_weights=[5])


def test_meaningful_edge_keys_are_said() -> None:
    h = nx.MultiGraph()
    h.add_edge(0, 1, key="bond")
    with pytest.warns(ConversionWarning, match="edge key 'bond'"):
        from_networkx(h)


def test_refuses_what_is_no_networkx_graph() -> None:
    with pytest.raises(InvalidArgument, match="list"):
        from_networkx([1, 2])  # type: ignore[arg-type]


def test_graph_classes_of_networkx_convert_without_a_word() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert from_networkx(nx.petersen_graph()).num_edges == 15
        assert from_networkx(nx.grid_2d_graph(2, 2)).metadata["node_names"] == ((0, 0), (0, 1), (1, 0), (1, 1))
        assert from_networkx(nx.freeze(nx.path_graph(3))).num_nodes == 3
        assert from_networkx(nx.subgraph_view(nx.path_graph(4), filter_node=lambda v: v > 1)).num_edges == 1
