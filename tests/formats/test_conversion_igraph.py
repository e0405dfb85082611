"""igraph: there and back again."""

from __future__ import annotations

import sys

import igraph as ig
import pytest
from hypothesis import given

from graphmetric.errors import ConversionWarning, InvalidArgument, InvalidGraph, MissingExtra
from graphmetric.formats.conversion import from_igraph, to_igraph
from graphmetric.graphs.graph import Graph
from tests.graphs.any_graphs import any_graphs
from tests.strategies import exact


@given(any_graphs())
def test_round_trip_keeps_everything(graph: Graph) -> None:
    assert exact(from_igraph(to_igraph(graph))) == exact(graph)


@given(any_graphs())
def test_igraph_sees_the_same_graph(graph: Graph) -> None:
    h = to_igraph(graph)
    assert (h.vcount(), h.ecount(), h.is_directed()) == (graph.num_nodes, graph.num_edges, graph.directed)
    assert sorted(h.get_edgelist()) == sorted(map(tuple, graph.edges.tolist()))
    assert h.degree() == graph.degrees().tolist()


def test_names_weights_and_attributes() -> None:
    h = ig.Graph.TupleList([("a", "b", 2.0), ("b", "c", None)], weights=True)
    graph = from_igraph(h)
    assert graph == Graph(3, [(0, 1), (1, 2)], edge_weights=[2, 1])
    assert graph.metadata == {"node_names": ("a", "b", "c")}
    assert from_igraph(h, keep_names=False).metadata == {}
    assert from_igraph(h, node_label="name").node_labels == ("a", "b", "c")
    h.vs["colour"] = ["red"] * 3
    with pytest.warns(ConversionWarning, match="node attribute 'colour'"):
        from_igraph(h)
    assert h.vs.attributes() == ["name", "colour"]


def test_parallel_edges() -> None:
    h = ig.Graph(edges=[(0, 1), (1, 0)])
    with pytest.raises(InvalidGraph, match="given 2 times"):
        from_igraph(h)
    assert from_igraph(h, parallel_edges="sum") == Graph(2, [(0, 1)], edge_weights=[2])


def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidArgument, match="igraph graph; got a str"):
        from_igraph("C")  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "igraph", None)
    with pytest.raises(MissingExtra, match=r"pip install 'graphmetric\[igraph\]'"):
        to_igraph(Graph(1))
