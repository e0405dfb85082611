"""Pictures of graphs: nothing overlaps, the same graph looks the same, and labels can be told apart."""

from __future__ import annotations

import re
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from graphmetric import Graph
from graphmetric.drawing import draw_graph, label_color, label_colors, lay_out
from graphmetric.drawing.layout import CLEARANCE

DRUGS = {
    "aspirin": "CC(=O)OC1=CC=CC=C1C(=O)O",
    "testosterone": "CC12CCC3C(C1CCC2O)CCC4=CC(=O)CCC34C",
    "losartan": "CCCCC1=NC(=C(N1CC2=CC=C(C=C2)C3=CC=CC=C3C4=NNN=N4)CO)Cl",
    "atorvastatin": "CC(C)C1=C(C(=C(N1CCC(CC(CC(=O)O)O)O)C2=CC=C(C=C2)F)C3=CC=CC=C3)C(=O)NC4=CC=CC=C4",
    "cubane": "C12C3C4C1C5C2C3C45",
    "adamantane": "C1C2CC3CC1CC(C2)C3",
}


def circles(svg: str) -> np.ndarray:
    """Rows (x, y, radius) of the nodes of a picture."""
    found = re.findall(r'<circle cx="([-.\d]+)" cy="([-.\d]+)" r="([.\d]+)" fill="#', svg)
    return np.array(found, dtype=float)


@pytest.mark.parametrize("smiles", DRUGS.values(), ids=DRUGS)
def test_atoms_of_a_drug_are_clear_of_each_other(smiles: str) -> None:
    discs = circles(draw_graph(Graph.from_smiles(smiles)))
    assert len(discs) >= 8
    assert pdist(discs[:, :2]).min() >= 2.2 * discs[0, 2]
    assert discs[0, 2] >= 7  # large enough for a letter


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 50), density=st.floats(0, 1), seed=st.integers(0, 9), directed=st.booleans())
def test_no_two_nodes_overlap(n: int, density: float, seed: int, directed: bool) -> None:
    network = nx.gnp_random_graph(n, density, seed=seed, directed=directed)
    graph = Graph(n, list(network.edges), directed=directed)
    positions = lay_out(graph)
    assert np.isfinite(positions).all()
    assert positions.min() >= 0
    if n > 1:
        assert pdist(positions).min() >= CLEARANCE - 1e-9
        discs = circles(draw_graph(graph))
        assert pdist(discs[:, :2]).min() > 2 * discs[0, 2]
    assert np.array_equal(positions, lay_out(graph))


@pytest.mark.parametrize(
    "network",
    [nx.star_graph(40), nx.path_graph(60), nx.grid_2d_graph(8, 8), nx.complete_graph(30), nx.balanced_tree(3, 4)],
    ids=["star", "path", "grid", "complete", "tree"],
)
def test_regular_graphs_of_many_nodes_fit_a_screen(network: nx.Graph) -> None:
    graph = Graph.from_networkx(nx.convert_node_labels_to_integers(network))
    discs = circles(draw_graph(graph))
    assert pdist(discs[:, :2]).min() > 2 * discs[0, 2]
    assert discs[:, :2].max() < 1500


def test_a_ring_at_the_end_of_a_chain_is_drawn_without_a_twist() -> None:
    ring = [(k, (k + 1) % 6) for k in range(6)]
    chain = [(0, 6), (6, 7), (7, 8), (8, 9), (9, 10)]
    far_ring = [(10 + k, 10 + (k + 1) % 6) for k in range(6)]
    positions = lay_out(Graph(16, ring + chain + far_ring))
    for nodes in (range(6), range(10, 16)):
        across = [np.linalg.norm(positions[nodes[k]] - positions[nodes[k + 3]]) for k in range(3)]
        assert min(across) > 1.6  # a hexagon of side 1 is 2 across


def test_a_large_graph_is_laid_out_by_pivots() -> None:
    graph = Graph.from_networkx(nx.convert_node_labels_to_integers(nx.grid_2d_graph(30, 30)))
    positions = lay_out(graph)
    edges = np.linalg.norm(positions[graph.edges[:, 0]] - positions[graph.edges[:, 1]], axis=1)
    assert pdist(positions).min() >= CLEARANCE - 1e-9
    assert edges.max() < 3


def test_components_lie_beside_each_other() -> None:
    graph = Graph(9, [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)])
    positions = lay_out(graph)
    first, second = positions[:3], positions[3:6]
    assert first[:, 0].max() < second[:, 0].min() or first[:, 1].max() < second[:, 1].min()
    assert lay_out(Graph(0, [])).shape == (0, 2)


def test_words_that_would_be_too_small_are_left_to_the_pointer() -> None:
    small = Graph(3, [(0, 1), (1, 2)], node_labels=["C", "N", "a very long label"])
    large = Graph.from_networkx(nx.path_graph(200)).replace(node_labels=["word"] * 200)
    assert ">C</text>" in draw_graph(small)
    assert "a ver…</text>" in draw_graph(small)
    assert "<title>a very long label</title>" in draw_graph(small)
    assert "word</text>" not in draw_graph(large)
    assert "<title>word</title>" in draw_graph(large)


@pytest.mark.slow
@given(labels=st.lists(st.text(min_size=1, max_size=8), min_size=2, max_size=12, unique=True))
def test_a_dozen_labels_have_colours_that_can_be_told_apart(labels: list[str]) -> None:
    colors = label_colors(labels)
    assert colors == label_colors(labels[::-1])
    channels = {text: np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)]) for text, color in colors.items()}
    assert all(np.linalg.norm(channels[a] - channels[b]) >= 40 for a, b in combinations(labels, 2))


def test_elements_have_their_customary_colours() -> None:
    colors = label_colors(["C", "N", "O", "Cl", "alpha", "beta"])
    assert [colors[name] for name in ("C", "N", "O")] == ["#9aa0a8", "#5b8def", "#e4574f"]
    assert len(set(colors.values())) == 6
    assert label_color("O") == colors["O"]
    assert len(set(label_colors(range(40)).values())) == 40
    assert label_color(None) == "#9aa0a8"
