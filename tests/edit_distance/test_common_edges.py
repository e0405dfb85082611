"""Maximum common edge subgraphs and their distance: against enumeration, by the laws of a metric, and against RDKit."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric import Graph, mces_costs, mces_distance
from graphmetric.errors import InvalidArgument
from tests.naive.common_edges_by_enumeration import PlainGraph, largest_shared_weight
from tests.strategies import graphs

WEIGHTS = {"a": 1.0, "b": 2.0, "c": 1.5}
kinds = st.sampled_from("ab")
bonds = st.sampled_from(sorted(WEIGHTS))


def small_graphs(max_nodes: int = 4, **options) -> st.SearchStrategy[Graph]:
    off = {"edge_weights": False, "node_features": False, "node_texts": None, "node_images": False}
    choices = {"node_labels": kinds, "edge_labels": bonds, "ids": None, "metadata": None, "always": True}
    return graphs(max_nodes=max_nodes, **(off | choices | options))


@st.composite
def several(draw, number: int, **options) -> list[Graph]:
    """Graphs that are all directed or all not."""
    directed = draw(st.booleans())
    return [draw(small_graphs(direction=False, **options)).replace(directed=directed) for _ in range(number)]


def plain(graph: Graph) -> PlainGraph:
    labels = graph.edge_labels or (None,) * graph.num_edges
    edges = {(u, v): label for (u, v), label in zip(graph.edges.tolist(), labels, strict=True)}
    return PlainGraph(list(graph.node_labels or [None] * graph.num_nodes), edges, graph.directed)


def by_enumeration(first: Graph, second: Graph, weights: dict[str, float] | None) -> float:
    def shared(a: str, b: str) -> float:
        return 2.0 * (a == b) if weights is None else 2.0 * min(weights[a], weights[b])

    labels = [*(first.edge_labels or ()), *(second.edge_labels or ())]
    total = sum(1.0 if weights is None else weights[label] for label in labels)
    return total - largest_shared_weight(plain(first), plain(second), shared)


@settings(max_examples=150)
@given(several(2), st.sampled_from([None, WEIGHTS]))
def test_distance_agrees_with_enumeration(pair: list[Graph], weights: dict[str, float] | None) -> None:
    first, second = pair
    found = mces_distance(first, second, weights=weights)
    assert found.exact
    assert found.upper == by_enumeration(first, second, weights)
    assert mces_distance(second, first, weights=weights).upper == found.upper


@given(several(2), st.sampled_from([None, WEIGHTS]))
def test_the_common_edges_are_in_both_and_cost_what_is_said(
    pair: list[Graph], weights: dict[str, float] | None
) -> None:
    first, second = pair
    found = mces_distance(first, second, weights=weights)
    ours, theirs = (
        {(u, v): label for (u, v), label in zip(g.edges.tolist(), g.edge_labels, strict=True)} for g in pair
    )
    images = [v for v in found.node_map if v is not None]
    assert len(set(images)) == len(images)
    assert {u for edge, _ in found.common_edges for u in edge} == {
        u for u, v in enumerate(found.node_map) if v is not None
    }
    cost = sum(1.0 if weights is None else weights[label] for label in [*ours.values(), *theirs.values()])
    for (u, v), image in found.common_edges:
        a, b = found.node_map[u], found.node_map[v]
        assert image == ((a, b) if first.directed else (min(a, b), max(a, b)))
        assert first.node_labels[u] == second.node_labels[a]
        if weights is None:
            assert ours[u, v] == theirs[image]
            cost -= 2
        else:
            cost -= 2 * min(weights[ours[u, v]], weights[theirs[image]])
    assert cost == found.upper
    assert found.subgraph.num_edges == found.size
    assert found.subgraph.num_nodes == len(images)
    assert 0 <= found.similarity <= 1


def without_isolated_nodes(graph: Graph) -> Graph:
    return mces_distance(graph, graph).subgraph


@given(several(3), st.sampled_from([None, WEIGHTS]))
def test_it_is_a_metric_isolated_nodes_aside(three: list[Graph], weights: dict[str, float] | None) -> None:
    distances = gm.pairwise_edit_distances(three, costs=mces_costs(weights)).distances
    assert np.array_equal(distances, distances.T)
    assert distances[0, 2] <= distances[0, 1] + distances[1, 2]
    first, second = map(without_isolated_nodes, three[:2])
    assert (distances[0, 1] == 0) == first.is_isomorphic(second)


@given(several(2))
def test_the_dual_bound_holds_for_weights_without_a_common_unit(pair: list[Graph]) -> None:
    """Forbidden pairs of nodes then count for 2**49 units, and common edges for as little as one in 2**40 of that."""
    first, second = pair
    weights = {"a": 2**0.5, "b": 1e-3 * 3**0.5, "c": 1.1}
    found = gm.graph_edit_distance(first, second, costs=mces_costs(weights), method="dual")
    distance = by_enumeration(first, second, weights)
    assert found.lower <= distance + 1e-9
    assert found.upper >= distance - 1e-9
    images = [v for v in found.node_map if v is not None]
    assert len(set(images)) == len(images)


def test_other_edges_between_common_nodes_do_not_matter() -> None:
    ring, chain = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)]), Graph(4, [(0, 1), (1, 2), (2, 3)])
    found = mces_distance(ring, chain)
    assert (found.size, found.upper) == (3, 1)
    assert found.subgraph.is_isomorphic(chain)
    assert gm.maximum_common_subgraph(ring, chain).size == 3  # induced: three of four nodes
    assert found.similarity == (4 + 3) ** 2 / ((4 + 4) * (4 + 3))
    assert repr(found) == "CommonEdgeSubgraph(3 of 4 and 3 edges, distance 1, exact)"


def test_graphs_without_common_edges() -> None:
    carbon, nitrogen = (Graph(2, [(0, 1)], node_labels=label * 2) for label in "CN")
    found = mces_distance(carbon, nitrogen)
    assert (found.upper, found.size, found.node_map, found.similarity) == (2, 0, (None, None), 0)
    assert mces_distance(carbon, nitrogen, ignore={"node_labels"}).upper == 0
    empty = mces_distance(Graph(0), Graph(0))
    assert (empty.upper, empty.similarity) == (0, 1)
    assert mces_distance(Graph(0), carbon).similarity == 0


def test_weights_of_bonds() -> None:
    single, double, unlabelled = (Graph(2, [(0, 1)], edge_labels=label) for label in (["1"], ["2"], None))
    assert mces_distance(single, double).upper == 2
    assert mces_distance(single, double, weights="bond_orders").upper == 1
    assert mces_distance(single, double, weights={"1": 5, "2": 5}).upper == 0
    assert mces_distance(single, double, ignore={"edge_labels"}).upper == 0
    assert mces_distance(double, unlabelled, weights="bond_orders").upper == 1
    assert mces_distance(double, unlabelled, weights={"2": 4, None: 2}).upper == 2


def test_weights_that_are_refused() -> None:
    edge = Graph(2, [(0, 1)], edge_labels=["x"])
    with pytest.raises(InvalidArgument, match="positive finite"):
        mces_distance(edge, edge, weights={"x": 0})
    with pytest.raises(InvalidArgument, match="bond_orders"):
        mces_distance(edge, edge, weights="orders")
    with pytest.raises(InvalidArgument, match="none for the edge label 'x'"):
        mces_distance(edge, edge, weights="bond_orders")


def test_a_time_limit_leaves_bounds() -> None:
    rng = np.random.default_rng(3)
    first, second = (Graph(40, np.argwhere(np.triu(rng.random((40, 40)) < 0.3, 1))) for _ in range(2))
    found = mces_distance(first, second, time_limit=0)
    assert found.lower < found.upper
    assert not found.exact
    assert "time limit" in repr(found)
    assert found.upper == first.num_edges + second.num_edges - 2 * found.size


MOLECULES = (
    "CC(=O)Oc1ccccc1C(=O)O", "CC(=O)Nc1ccc(O)cc1", "Cn1cnc2c1c(=O)n(C)c(=O)n2C", "CC(C)Cc1ccc(cc1)C(C)C(=O)O",
    "NCCc1ccc(O)c(O)c1", "OC(=O)CCCCC1CCSS1", "c1ccc2ccccc2c1", "CN1CCCC1c1cccnc1", "C1CC1", "CC(C)C", "CCOP(=O)(C)F",
    "C#CCN(C)C(C)Cc1ccccc1",
)  # fmt: skip


def test_common_bonds_are_those_of_rascal() -> None:
    """Rascal's definition is ours if it has no threshold, takes parts of aromatic rings, and compares bond types.

    It reports nothing where there is at most one common bond, and it may choose another subgraph with as many bonds.
    Cyclopropane and isobutane are here since three bonds of a ring and three bonds of one atom touch each other alike.
    """
    chem, rascal = pytest.importorskip("rdkit.Chem"), pytest.importorskip("rdkit.Chem.rdRascalMCES")
    options = rascal.RascalOptions()
    options.similarityThreshold, options.completeAromaticRings, options.timeout = 0.0, False, -1
    options.maxBondMatchPairs = 10_000
    same_nodes = 0
    for one, other in combinations(MOLECULES, 2):
        found = mces_distance(Graph.from_smiles(one), Graph.from_smiles(other), time_limit=None)
        reported = rascal.FindMCES(chem.MolFromSmiles(one), chem.MolFromSmiles(other), options)
        if not reported:
            assert found.size <= 1, (one, other)
            continue
        assert found.size == len(reported[0].bondMatches()), (one, other)
        if found.subgraph.num_nodes == len(reported[0].atomMatches()):
            assert found.similarity == pytest.approx(reported[0].similarity)
            same_nodes += 1
    assert same_nodes > 40
