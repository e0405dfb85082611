"""The embedded data sets are frozen, and their generators reproduce them."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import networkx as nx
import numpy as np
import pytest

from graphmetric.datasets import catalogue, load_dataset
from graphmetric.edit_distance import pairwise_edit_distances
from graphmetric.errors import FileError
from graphmetric.formats import write_graphs
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from tests.datasets.dataset_checks import assert_well_formed


def load_tool(name: str) -> ModuleType:
    path = Path(__file__).parents[2] / "tools" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "graphs", "nodes", "edges", "fewest", "most"),
    [
        ("molecules", 973, 8031, 7573, 2, 10),
        ("programs", 3975, 24682, 26015, 4, 10),
        ("atlas", 1252, 8475, 12342, 1, 7),
    ],
)
def test_embedded_sets_are_what_they_were(
    name: str, graphs: int, nodes: int, edges: int, fewest: int, most: int
) -> None:
    data = load_dataset(name)
    assert_well_formed(data)
    assert (len(data.graphs), data.graphs.sizes.sum(), data.graphs.edge_counts.sum()) == (graphs, nodes, edges)
    assert (data.graphs.sizes.min(), data.graphs.sizes.max()) == (fewest, most)
    assert len({graph.id for graph in data.graphs}) == graphs
    assert not any(graph.directed or (graph.edges[:, 0] == graph.edges[:, 1]).any() for graph in data.graphs)
    assert f"{graphs:,}" in data.description


@pytest.mark.parametrize("name", ["molecules", "programs"])
def test_embedded_graphs_are_connected(name: str) -> None:
    for graph in load_dataset(name).graphs:
        plain = nx.empty_graph(graph.num_nodes)
        plain.add_edges_from(graph.edges.tolist())
        assert nx.is_connected(plain), graph.id


@pytest.mark.parametrize("name", ["molecules", "programs"])
def test_embedded_files_are_small_and_have_their_checksum(name: str) -> None:
    content = (files("graphmetric.datasets") / "embedded" / f"{name}.gmg").read_bytes()
    assert hashlib.sha256(content).hexdigest() == catalogue.CATALOGUE[name].sha256
    assert len(content) < 300_000


def test_a_damaged_file_is_refused() -> None:
    with pytest.raises(FileError, match="damaged"):
        catalogue._read_frozen("molecules", "0" * 64)


def test_molecules_have_elements_and_bonds() -> None:
    toluquinone = load_dataset("molecules").graphs[0]
    assert toluquinone.id == "NSC 1"
    assert toluquinone.metadata["smiles"] == "CC1=CC(=O)C=CC1=O"
    assert sorted(toluquinone.node_labels or ()) == ["C"] * 7 + ["O"] * 2
    assert toluquinone.edge_labels is None

    labelled = load_dataset("molecules", edge_labels=True).graphs
    bonds = {label for graph in labelled for label in graph.edge_labels or ()}
    assert bonds == {"single", "double", "triple", "aromatic"}
    assert sorted(labelled[0].edge_labels or ()) == ["double"] * 4 + ["single"] * 5


def test_programs_are_named_after_their_function() -> None:
    programs = load_dataset("programs").graphs
    by_name = {graph.id: graph for graph in programs}
    assert "json.decoder:JSONDecoder.__init__" in by_name
    assert "json.decoder:JSONDecoder.decode" not in by_name  # has only three blocks
    choice = by_name["bisect:insort_right"]  # test, either branch, and what follows
    assert choice == Graph(4, [(0, 1), (0, 2), (1, 3), (2, 3)])
    assert not any(graph.node_labels for graph in programs)


def test_atlas_graphs_all_differ() -> None:
    data = load_dataset("atlas")
    assert data.graphs[0].id == "G1"
    assert len(set(data.isomorphism_classes.tolist())) == 1252
    assert data.leakage() == 0


def test_the_generator_reproduces_the_molecules(tmp_path: Path) -> None:
    tool = load_tool("make_molecules")
    write_graphs(GraphCollection(tool.small_molecules()), tmp_path / "molecules.gmg")
    assert (tmp_path / "molecules.gmg").read_bytes() == tool.TARGET.read_bytes()


@pytest.mark.slow
def test_the_generator_reproduces_the_programs(tmp_path: Path) -> None:
    tool = load_tool("make_programs")
    sources = tool.library_sources()
    if tool.made_with(sources) != tool.MADE_WITH:
        pytest.skip(f"the file was made with {tool.MADE_WITH}; this is {tool.made_with(sources)}")
    write_graphs(GraphCollection(tool.program_graphs(sources)), tmp_path / "programs.gmg")
    assert (tmp_path / "programs.gmg").read_bytes() == tool.TARGET.read_bytes()


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="other versions of Python have other bytecode")
@pytest.mark.parametrize(
    ("source", "blocks", "edges"),
    [
        ("def f(x):\n return x", 1, set()),
        ("def f(x):\n if x:\n  y()\n return z()", 3, {(0, 1), (0, 2), (1, 2)}),
        ("def f(x):\n return a() if x else b()", 4, {(0, 1), (0, 2), (1, 3), (2, 3)}),
        ("def f(x):\n while True:\n  x()", 2, {(0, 1)}),
        ("def f(x):\n try:\n  x()\n except E:\n  y()", 1, set()),
        ("def f(x):\n for y in x:\n  g(y)", 4, {(0, 1), (1, 2), (1, 3)}),
    ],
)
def test_basic_blocks(source: str, blocks: int, edges: set[tuple[int, int]]) -> None:
    tool = load_tool("make_programs")
    (code,) = tool.functions(tool.compile_quietly(source.encode(), "example"))
    assert tool.control_flow(code) == (blocks, edges)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["molecules", "programs", "atlas"])
def test_embedded_distances_are_exact(name: str) -> None:
    data = load_dataset(name)
    i, j, distance = data.known_pairs
    assert len(i) == 10_000
    assert "exact" in data.distance_kind
    chosen = np.arange(0, len(i), 25)
    computed = pairwise_edit_distances(data.graphs, pairs=np.column_stack([i, j])[chosen])
    assert np.array_equal(computed.distances, distance[chosen])
    assert np.isnan(load_dataset(name).distances).any()


def test_embedded_distances_do_not_fit_bond_types() -> None:
    labelled = load_dataset("molecules", edge_labels=True)
    assert len(labelled.known_pairs.i) == 0
    assert "ignore edge labels" in labelled.distance_kind
