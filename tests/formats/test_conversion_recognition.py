"""Liberal input: one graph or many, of whatever kind."""

from __future__ import annotations

import doctest
from pathlib import Path
from types import ModuleType

import igraph as ig
import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from rdkit import Chem

from graphmetric.errors import ConversionWarning, InvalidArgument, InvalidGraph
from graphmetric.formats import edge_lists, molecules
from graphmetric.formats.conversion import as_graph, as_graphs, from_smiles
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph

EDGES = [(0, 1), (1, 2)]
PATH = Graph(3, EDGES)
MATRIX = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


class MyGraph(nx.Graph):
    """A class of a user's own."""


PATHS = {
    "ours": PATH,
    "networkx": nx.path_graph(3),
    "subclass": MyGraph(EDGES),
    "igraph": ig.Graph(edges=EDGES),
    "edges": (EDGES, None),
    "edge array": (np.array(EDGES), None),
    "dense": MATRIX,
    "csr": sp.csr_array(MATRIX),
    "coo matrix": sp.coo_matrix(MATRIX),
}


@pytest.mark.parametrize("kind", PATHS)
def test_one_graph_of_any_kind(kind: str) -> None:
    assert as_graph(PATHS[kind]) == PATH
    assert list(as_graphs(PATHS[kind])) == [PATH]
    assert list(as_graphs([PATHS[kind]] * 2)) == [PATH, PATH]
    assert list(as_graphs((PATHS[kind], PATHS[kind]))) == [PATH, PATH]
    assert list(as_graphs(PATHS[kind] for _ in range(3))) == [PATH] * 3


def test_all_kinds_in_one_list() -> None:
    assert list(as_graphs(list(PATHS.values()))) == [PATH] * len(PATHS)
    mixture = np.empty(len(PATHS), dtype=object)
    mixture[:] = list(PATHS.values())
    assert list(as_graphs(mixture)) == [PATH] * len(PATHS)


def test_stack_of_matrices() -> None:
    assert list(as_graphs(np.stack([MATRIX, MATRIX]))) == [PATH, PATH]
    assert list(as_graphs((np.eye(2), np.eye(2)))) == [as_graph(np.eye(2))] * 2


def test_molecules() -> None:
    ethanol = from_smiles("CCO")
    assert as_graph("CCO") == as_graph(Chem.MolFromSmiles("CCO")) == ethanol
    assert list(as_graphs("CCO")) == [ethanol]
    assert list(as_graphs(["CCO", "C"])) == [ethanol, from_smiles("C")]
    assert list(as_graphs(("CCO", "C"))) == [ethanol, from_smiles("C")]


@pytest.mark.parametrize(
    "labels", [["C", "C", "O"], "CCO", ("C", "C", "O"), np.array(["C", "C", "O"]), {0: "C", 1: "C", 2: "O"}]
)
def test_edges_and_labels(labels: object) -> None:
    expected = PATH.replace(node_labels="CCO")
    assert as_graph((EDGES, labels)) == expected
    assert list(as_graphs((EDGES, labels))) == [expected]
    assert list(as_graphs([(EDGES, labels), (tuple(EDGES), labels)])) == [expected] * 2
    assert list(as_graphs(((EDGES, labels), (EDGES, labels)))) == [expected] * 2


def test_edges_and_labels_without_edges_or_with_names() -> None:
    assert as_graph(([], ["C", "O"])) == Graph(2, node_labels="CO")
    assert as_graph(([("a", "b")], {"b": "B"})) == Graph(2, [(0, 1)], node_labels=[None, "B"])


def test_collection_passes_through() -> None:
    collection = GraphCollection([PATH])
    assert as_graphs(collection) is collection
    assert len(as_graphs([])) == 0
    assert as_graph(PATH) is PATH


@pytest.mark.parametrize(
    ("things", "error", "message"),
    [
        (
            [PATH] * 17 + [(EDGES, ["C"])],
            InvalidGraph,
            r"^graphs\[17\]: edge \(1, 2\) names node 2|^graphs\[17\]: edge \(0, 1\)",
        ),
        (["C", "CC("], InvalidGraph, r"^graphs\[1\]: SMILES 'CC\('"),
        ([PATH, 3], InvalidArgument, r"^graphs\[1\]: int 3 is not a graph; expected a Graph, a networkx"),
        ([PATH, None], InvalidArgument, r"^graphs\[1\]: NoneType None"),
        ((g for g in [np.zeros((2, 3))]), InvalidGraph, r"^graphs\[0\]: .*square"),
        (EDGES, InvalidArgument, r"^graphs\[0\]: tuple \(0, 1\) is not a graph"),
        ({"a": PATH}, InvalidArgument, "in an order"),
        ({PATH}, InvalidArgument, "in an order"),
        (Path("graphs.json"), InvalidArgument, "read_graphs"),
        (b"CCO", InvalidArgument, "neither"),
        (5, InvalidArgument, "neither"),
        ([{"edges": EDGES}], InvalidArgument, r"^graphs\[0\]: dict"),
    ],
)
def test_errors_name_the_item(things: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        as_graphs(things)


def test_one_warning_for_all() -> None:
    coloured = nx.path_graph(3)
    nx.set_node_attributes(coloured, "red", "colour")
    with pytest.warns(ConversionWarning, match="as_graphs left out node attribute 'colour'; ") as seen:
        as_graphs([coloured] * 5)
    assert len(seen) == 1
    assert seen[0].filename == __file__
    with pytest.warns(ConversionWarning, match="as_graph left out"):
        as_graph(coloured)


@pytest.mark.slow
@pytest.mark.parametrize("module", [edge_lists, molecules])
def test_examples_in_the_documentation(module: ModuleType) -> None:
    results = doctest.testmod(module)
    assert results.failed == 0
    assert results.attempted > 0
