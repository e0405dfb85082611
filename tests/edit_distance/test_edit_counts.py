"""Edits counted by kind, and rings, linkers and terminal edges against networkx."""

from __future__ import annotations

import json

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmetric import Graph, graph_edit_distance
from graphmetric.edit_distance import EditCosts, EditCounts
from graphmetric.edit_distance.edit_path import edge_places, edit_path_of
from tests.command_line import run
from tests.strategies import graphs

# A ring of three with a chain of three edges at it: 0-1-2, 2-3-4-5.
KITE = Graph(6, [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5)], node_labels="CCCCCO")
small = {"edge_weights": False, "node_features": False, "node_texts": None, "node_images": False, "direction": False}
labelled = graphs(max_nodes=5, node_labels=st.sampled_from("CN"), edge_labels=st.sampled_from("12"), **small)


def test_places_of_edges() -> None:
    assert dict(zip(map(tuple, KITE.edges.tolist()), edge_places(KITE), strict=True)) == {
        (0, 1): "ring",
        (1, 2): "ring",
        (0, 2): "ring",
        (2, 3): "linker",
        (3, 4): "linker",
        (4, 5): "terminal",
    }
    assert edge_places(Graph(2, [(0, 1)])) == ["terminal"]
    assert edge_places(Graph(2, [(0, 0), (0, 1)])) == ["ring", "terminal"]
    assert edge_places(Graph(2, [(0, 1), (1, 0)], directed=True)) == ["terminal", "terminal"]
    two_rings = [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (4, 5), (3, 5)]
    assert edge_places(Graph(6, two_rings)).count("linker") == 1


@given(graphs(max_nodes=8, loops=False))
def test_places_agree_with_networkx(graph: Graph) -> None:
    drawn = nx.Graph()
    drawn.add_nodes_from(range(graph.num_nodes))
    drawn.add_edges_from(graph.edges.tolist())
    bridges = {frozenset(edge) for edge in nx.bridges(drawn)}
    for (u, v), place in zip(graph.edges.tolist(), edge_places(graph), strict=True):
        assert (place == "ring") == (frozenset((u, v)) not in bridges)
        assert (place == "terminal") == (1 in (drawn.degree(u), drawn.degree(v)))


@pytest.mark.parametrize(
    ("smiles", "other", "counts"),
    [
        ("CCO", "CCN", EditCounts(nodes_relabeled=1)),
        ("CC=C", "CCC", EditCounts(edges_relabeled=1)),
        ("CCCC", "CCC", EditCounts(terminal_edges_deleted=1, nodes_deleted=1)),
        ("CCC", "CCCC", EditCounts(nodes_inserted=1, terminal_edges_inserted=1)),
        ("C1CCCCC1", "CCCCCC", EditCounts(ring_edges_deleted=1)),
        ("CCCCCC", "C1CCCCC1", EditCounts(ring_edges_inserted=1)),
        ("C1CC1CCC1CC1", "C1CC1CC.C1CC1", EditCounts(linker_edges_deleted=1)),
    ],
)
def test_kinds_of_molecular_edits(smiles: str, other: str, counts: EditCounts) -> None:
    pytest.importorskip("rdkit")
    found = graph_edit_distance(Graph.from_smiles(smiles), Graph.from_smiles(other))
    assert found.edit_path.counts == counts
    assert counts.total == found.upper


@given(labelled, labelled)
def test_counts_are_those_of_the_edits(first: Graph, second: Graph) -> None:
    found = graph_edit_distance(first, second)
    path = found.edit_path
    counts = path.counts
    kinds = [type(edit).__name__ for edit in path]
    assert counts.total == len(path) == found.upper
    assert counts.nodes_relabeled == kinds.count("RelabelNode")
    assert counts.edges_relabeled == kinds.count("RelabelEdge")
    assert counts.nodes_deleted == kinds.count("DeleteNode")
    assert counts.nodes_inserted == kinds.count("InsertNode")
    assert counts.edges_deleted == kinds.count("DeleteEdge")
    assert counts.edges_inserted == kinds.count("InsertEdge")


@given(labelled, st.data())
def test_going_back_exchanges_deletions_and_insertions(first: Graph, data: st.DataObject) -> None:
    second = data.draw(labelled)
    there = graph_edit_distance(first, second)
    back_map = [None] * second.num_nodes
    for u, v in enumerate(there.node_map):
        if v is not None:
            back_map[v] = u
    counts = there.edit_path.counts
    back = edit_path_of(second, first, tuple(back_map), EditCosts()).counts
    for place in ("ring_edges", "linker_edges", "terminal_edges", "nodes", "edges"):
        assert getattr(back, f"{place}_deleted") == getattr(counts, f"{place}_inserted")
        assert getattr(back, f"{place}_inserted") == getattr(counts, f"{place}_deleted")
    assert (back.nodes_relabeled, back.edges_relabeled) == (counts.nodes_relabeled, counts.edges_relabeled)


def test_counts_in_words() -> None:
    assert str(EditCounts()) == "none"
    assert str(EditCounts(ring_edges_deleted=1, nodes_inserted=2)) == "1 ring edge deleted, 2 nodes inserted"


def test_the_command_counts_edits(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("rdkit")
    _, text, _ = run(capsys, "ged", "C1CCCCC1O", "CCCCCCN", "--smiles")
    assert "edits     1 node relabeled, 1 ring edge deleted\n" in text
    report = json.loads(run(capsys, "ged", "C1CCCCC1O", "CCCCCCN", "--smiles", "--json")[1])
    assert {kind: count for kind, count in report["edit_counts"].items() if count} == {
        "nodes_relabeled": 1,
        "ring_edges_deleted": 1,
    }
    assert [edit["place"] for edit in report["edits"]] == [None, "ring"]
    _, text, _ = run(capsys, "ged", "CCO", "OCC", "--smiles")
    assert "edits     none: the graphs are the same" in text
