"""The exact search against enumeration, against published distances, and when it is stopped early."""

import json
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmetric.edit_distance._kernels.exact_search import SearchLimits, search_pairs
from graphmetric.edit_distance._kernels.packing import (
    EditCostTables,
    PackedGraphs,
    PackedProblem,
    pack_graphs,
    tabulate_costs,
)
from graphmetric.edit_distance._kernels.workspace import NO_LIMIT, Results, Workspace, WorkspaceSize, allocate_workspace
from tests.edit_distance.directions import merge_directions, price_both_directions

sys.path.insert(0, str(Path(__file__).parents[1] / "naive"))
from edit_distance_by_enumeration import PlainCosts, PlainGraph, cost_of_map, edit_distance

N_LABELS = 3


class Problem(NamedTuple):
    graphs: PackedGraphs
    costs: EditCostTables


def encode(graphs: list[PlainGraph], costs: PlainCosts, directed: bool) -> Problem:
    """Codes and tables of plain graphs: a node code is label and loop, an edge code label + 1 or both directions."""
    n_edge_labels = len(costs.edge_delete)
    table = np.zeros((n_edge_labels + 1, n_edge_labels + 1), dtype=np.int64)
    table[0, 1:], table[1:, 0], table[1:, 1:] = costs.edge_insert, costs.edge_delete, costs.edge_substitute
    loops = [None, *range(n_edge_labels)]
    kinds = [(label, loop) for label in range(len(costs.node_delete)) for loop in loops]
    substitute = np.array([[costs.node_substitute[a][b] + costs.edge(p, q) for b, q in kinds] for a, p in kinds])
    delete = np.array([costs.node_delete[a] + costs.edge(p, None) for a, p in kinds])
    insert = np.array([costs.node_insert[a] + costs.edge(None, p) for a, p in kinds])
    node_start, edge_start, node_code, pairs, codes = (
        [0],
        [0],
        [],
        [np.zeros((0, 2), np.int64)],
        [np.zeros(0, np.int64)],
    )
    for graph in graphs:
        node_code += [kinds.index((label, graph.edge(u, u))) for u, label in enumerate(graph.labels)]
        plain = [(u, v, label + 1) for (u, v), label in graph.edges.items() if u != v]
        tails, heads, labels = np.array(plain, dtype=np.int64).reshape(-1, 3).T
        if directed:
            merged = merge_directions(len(graph.labels), tails, heads, labels, n_edge_labels)
        else:
            merged = np.stack([tails, heads], axis=1), labels
        pairs.append(merged[0])
        codes.append(merged[1])
        node_start.append(len(node_code))
        edge_start.append(edge_start[-1] + len(merged[1]))
    edge_cost, reverse = price_both_directions(table) if directed else (table, np.arange(n_edge_labels + 1))
    packed = pack_graphs(
        np.array(node_start),
        np.array(node_code),
        np.array(edge_start),
        np.concatenate(pairs),
        np.concatenate(codes),
        reverse,
    )
    return Problem(packed, tabulate_costs(substitute, delete, insert, edge_cost, reverse))


def make_workspace(problem: Problem) -> Workspace:
    nodes = int(np.diff(problem.graphs.node_start).max(initial=0))
    edges = int(np.diff(problem.graphs.edge_start).max(initial=0))
    return allocate_workspace(WorkspaceSize(nodes, nodes, edges, len(problem.costs.edge_reverse) - 1, True))


def make_results(n_pairs: int, width: int) -> Results:
    return Results(*(np.zeros(n_pairs, dtype=np.int64) for _ in range(4)), np.zeros((n_pairs, width), dtype=np.int64))


def search(
    problem: Problem,
    pairs: np.ndarray,
    upper_limit: int = NO_LIMIT,
    stop_at_limit: int = 0,
    max_expanded: int = NO_LIMIT,
) -> Results:
    results = make_results(len(pairs), int(np.diff(problem.graphs.node_start).max(initial=0)))
    limits = SearchLimits(np.full(len(pairs), upper_limit), stop_at_limit, max_expanded, 0)
    search_pairs(
        PackedProblem(problem.graphs, problem.graphs, problem.costs),
        np.asarray(pairs, np.int64),
        limits,
        make_workspace(problem),
        results,
    )
    return results


def decode_map(results: Results, p: int, n_nodes: int) -> list[int | None]:
    return [None if v < 0 else int(v) for v in results.node_map[p, :n_nodes]]


def random_graph(
    rng: np.random.Generator, max_nodes: int, directed: bool, n_node_labels: int, n_edge_labels: int
) -> PlainGraph:
    n, density = int(rng.integers(0, max_nodes + 1)), rng.choice([0.2, 0.5, 0.8])
    edges = {}
    for u in range(n):
        for v in range(n):
            if (directed or u <= v) and rng.random() < (density if u != v else 0.15):
                edges[u, v] = int(rng.integers(n_edge_labels))
    return PlainGraph([int(a) for a in rng.integers(0, n_node_labels, n)], edges, directed)


def unit_costs(n_node_labels: int, n_edge_labels: int) -> PlainCosts:
    nodes, edges = (1 - np.eye(n, dtype=int) for n in (n_node_labels, n_edge_labels))
    ones = [1] * max(n_node_labels, n_edge_labels)
    return PlainCosts(
        nodes.tolist(),
        ones[:n_node_labels],
        ones[:n_node_labels],
        edges.tolist(),
        ones[:n_edge_labels],
        ones[:n_edge_labels],
    )


def random_costs(rng: np.random.Generator, highest: int, n_node_labels: int, n_edge_labels: int) -> PlainCosts:
    def table(n: int) -> list[list[int]]:
        values = rng.integers(1, highest + 1, (n, n))
        np.fill_diagonal(values, 0)
        return values.tolist()

    def row(n: int) -> list[int]:
        return rng.integers(0, 6, n).tolist()

    return PlainCosts(
        table(n_node_labels),
        row(n_node_labels),
        row(n_node_labels),
        table(n_edge_labels),
        row(n_edge_labels),
        row(n_edge_labels),
    )


def check_against_enumeration(graphs: list[PlainGraph], costs: PlainCosts, directed: bool) -> None:
    pairs = np.array([(i, j) for i in range(len(graphs)) for j in range(len(graphs))])
    results = search(encode(graphs, costs, directed), pairs)
    for p, (i, j) in enumerate(pairs):
        expected = edit_distance(graphs[i], graphs[j], costs)
        assert (results.lower[p], results.upper[p], results.finished[p]) == (expected, expected, 1)
        node_map = decode_map(results, p, len(graphs[i].labels))
        assert cost_of_map(graphs[i], graphs[j], costs, node_map) == expected


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(("n_node_labels", "n_edge_labels"), [(1, 1), (3, 1), (2, 3)])
def test_unit_costs_equal_enumeration(seed: int, directed: bool, n_node_labels: int, n_edge_labels: int) -> None:
    rng = np.random.default_rng(seed)
    graphs = [random_graph(rng, 4, directed, n_node_labels, n_edge_labels) for _ in range(7)]
    check_against_enumeration(graphs, unit_costs(n_node_labels, n_edge_labels), directed)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("highest", [2, 20])  # 20: substitution dearer than deletion and insertion, for nodes and edges
def test_arbitrary_costs_equal_enumeration(seed: int, directed: bool, highest: int) -> None:
    rng = np.random.default_rng(seed)
    graphs = [random_graph(rng, 4, directed, 3, 2) for _ in range(6)]
    check_against_enumeration(graphs, random_costs(rng, highest, 3, 2), directed)


@pytest.mark.parametrize("seed", range(4))
def test_one_edge_price_beside_arbitrary_node_costs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graphs = [random_graph(rng, 5, False, 3, 1) for _ in range(5)]
    costs = random_costs(rng, 8, 3, 1)
    check_against_enumeration(
        graphs, PlainCosts(costs.node_substitute, costs.node_delete, costs.node_insert, [[0]], [3], [3]), False
    )


def clique_union(rng: np.random.Generator, n: int, n_node_labels: int) -> PlainGraph:
    """Overlapping cliques, sometimes with one pair flipped: most nodes are twins."""
    edges = set()
    for _ in range(rng.integers(1, 4)):
        members = sorted(int(u) for u in rng.choice(n, rng.integers(1, n + 1), replace=False))
        edges |= {(u, v) for v in members for u in members if u < v}
    if rng.random() < 0.4:
        edges ^= {(0, n - 1)}
    return PlainGraph([int(a) for a in rng.integers(0, n_node_labels, n)], dict.fromkeys(edges, 0), False)


@pytest.mark.slow
@pytest.mark.parametrize("n_node_labels", [1, 2])
def test_twins_equal_enumeration(n_node_labels: int) -> None:
    rng = np.random.default_rng(n_node_labels)
    graphs = [clique_union(rng, int(rng.integers(3, 6)), n_node_labels) for _ in range(8)]
    check_against_enumeration(graphs, unit_costs(n_node_labels, 1), False)


@pytest.mark.parametrize("n_node_labels", [2, 3])  # with one label the root bound is tight: nothing to save
def test_twins_change_no_distance_and_save_work(n_node_labels: int) -> None:
    rng = np.random.default_rng(n_node_labels)
    graphs = [clique_union(rng, int(rng.integers(9, 12)), n_node_labels) for _ in range(12)]
    problem = encode(graphs, unit_costs(n_node_labels, 1), False)
    own = np.concatenate([np.arange(len(graph.labels)) for graph in graphs])
    assert (problem.graphs.node_twin != own).mean() > 0.2
    pairs = np.array([(i, j) for i in range(12) for j in range(12)])
    with_twins, without = (
        search(problem, pairs),
        search(problem._replace(graphs=problem.graphs._replace(node_twin=own)), pairs),
    )
    assert np.array_equal(with_twins.upper, without.upper)
    assert with_twins.expanded.sum() < without.expanded.sum()


@st.composite
def graph_triples(draw: st.DrawFn) -> list[PlainGraph]:
    graphs = []
    for _ in range(3):
        labels = draw(st.lists(st.integers(0, N_LABELS - 1), max_size=7))
        possible = [(u, v) for v in range(len(labels)) for u in range(v)]
        chosen = draw(st.lists(st.sampled_from(possible), unique=True)) if possible else []
        graphs.append(PlainGraph(labels, {edge: draw(st.integers(0, 1)) for edge in chosen}, False))
    return graphs


@given(graph_triples())
@settings(max_examples=150, deadline=None)
def test_distances_are_a_metric(graphs: list[PlainGraph]) -> None:
    problem = encode(graphs, unit_costs(N_LABELS, 2), False)
    pairs = np.array([(i, j) for i in range(3) for j in range(3)])
    distance = search(problem, pairs).upper.reshape(3, 3)
    assert np.array_equal(distance, distance.T)
    assert not distance.diagonal().any()
    assert distance[0, 2] <= distance[0, 1] + distance[1, 2]


@given(graph_triples(), st.integers(0, 2**32 - 1))
@settings(max_examples=100, deadline=None)
def test_renumbering_changes_nothing(graphs: list[PlainGraph], seed: int) -> None:
    graph, other = graphs[:2]
    new = np.random.default_rng(seed).permutation(len(graph.labels))
    edges = {(int(min(new[u], new[v])), int(max(new[u], new[v]))): label for (u, v), label in graph.edges.items()}
    renumbered = PlainGraph([graph.labels[k] for k in np.argsort(new)], edges, False)
    results = search(
        encode([graph, renumbered, other], unit_costs(N_LABELS, 2), False), np.array([(0, 1), (0, 2), (1, 2)])
    )
    assert results.upper[0] == 0
    assert results.upper[1] == results.upper[2]


@pytest.fixture(scope="module")
def larger() -> tuple[list[PlainGraph], PlainCosts, Problem, np.ndarray, np.ndarray]:
    """Pairs that need dozens of expansions, with their distances."""
    rng = np.random.default_rng(5)
    graphs = []
    while len(graphs) < 12:
        graph = random_graph(rng, 9, False, 2, 2)
        if len(graph.labels) >= 7:
            graphs.append(graph)
    costs = unit_costs(2, 2)
    problem = encode(graphs, costs, False)
    pairs = np.array([(i, j) for i in range(12) for j in range(12)])
    return graphs, costs, problem, pairs, search(problem, pairs).upper


@pytest.mark.parametrize("max_expanded", [1, 2, 3, 7, 20, 60])
def test_interrupted_search_brackets_the_distance(larger, max_expanded: int) -> None:
    graphs, costs, problem, pairs, distance = larger
    results = search(problem, pairs, max_expanded=max_expanded)
    assert (results.lower <= distance).all()
    assert (results.upper >= distance).all()
    assert (results.expanded <= max_expanded).all()
    assert (results.lower[results.finished == 1] == distance[results.finished == 1]).all()
    for p, (i, j) in enumerate(pairs):
        node_map = decode_map(results, p, len(graphs[i].labels))
        assert cost_of_map(graphs[i], graphs[j], costs, node_map) == results.upper[p]


def test_interrupted_search_leaves_some_open(larger) -> None:
    _, _, problem, pairs, _ = larger
    assert (search(problem, pairs, max_expanded=2).finished == 0).any()


def test_resumed_search_ends_where_an_uninterrupted_one_does(larger) -> None:
    _, _, problem, pairs, distance = larger
    whole = search(problem, pairs)
    work = make_workspace(problem)
    for p in range(0, len(pairs), 5):
        results = make_results(1, 9)
        lower = -1
        for resume, max_expanded in enumerate(range(1, 10_000, 5)):
            limits = SearchLimits(np.array([NO_LIMIT]), 0, max_expanded, min(resume, 1))
            search_pairs(
                PackedProblem(problem.graphs, problem.graphs, problem.costs), pairs[p : p + 1], limits, work, results
            )
            assert lower <= results.lower[0] <= distance[p] <= results.upper[0]
            lower = results.lower[0]
            if results.finished[0]:
                break
        assert results.upper[0] == distance[p] == lower
        assert results.expanded[0] <= whole.expanded[p]


@pytest.mark.parametrize("limit", [0, 2, 5, 9, 14])
@pytest.mark.parametrize("stop_at_limit", [0, 1])
def test_threshold_is_decided_either_way(larger, limit: int, stop_at_limit: int) -> None:
    _, _, problem, pairs, distance = larger
    results = search(problem, pairs, upper_limit=limit, stop_at_limit=stop_at_limit)
    assert results.finished.all()
    within = distance <= limit
    assert (results.upper[within] <= limit).all()
    assert (results.lower[~within] > limit).all()
    assert (results.lower <= distance).all()
    if not stop_at_limit:
        assert (results.upper[within] == distance[within]).all()
    assert results.expanded.sum() <= search(problem, pairs).expanded.sum()


def test_graphs_beyond_one_machine_word() -> None:
    """Nothing is special about 64 nodes: a renumbered graph of 90 nodes with one edge more is found at distance 1."""
    rng = np.random.default_rng(0)
    n = 90
    edges = {(int(rng.integers(v)), v): 0 for v in range(1, n)}
    graph = PlainGraph([int(a) for a in rng.integers(0, 3, n)], edges, False)
    extra = next((u, v) for v in range(n) for u in range(v) if (u, v) not in edges)
    problem = encode([graph, PlainGraph(graph.labels, edges | {extra: 0}, False)], unit_costs(3, 1), False)
    results = search(problem, np.array([(0, 1), (1, 0)]), max_expanded=2000)
    assert (results.lower == 1).all()
    assert (results.upper >= 1).all()


def test_kernels_compile_once() -> None:
    assert len(search_pairs.signatures) == 1


def test_kernels_keep_no_references(larger) -> None:
    """The kernels are compiled without reference counting: they must neither leak nor release what they are given."""
    problem, pairs = larger[2], larger[3]
    before = [sys.getrefcount(array) for array in problem.graphs]
    for _ in range(3):
        search(problem, pairs)
    assert [sys.getrefcount(array) for array in problem.graphs] == before


def read_published(folder: Path, name: str) -> Problem:
    records = json.loads((folder / f"{name}.json").read_text())["graphs"]
    labels = sorted({str(label) for record in records for label in record["nodes"]})
    graphs = [
        PlainGraph(
            [labels.index(str(label)) for label in record["nodes"]],
            dict.fromkeys(map(tuple, record["edges"]), 0),
            False,
        )
        for record in records
    ]
    return encode(graphs, unit_costs(len(labels), 1), False)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_pairs"), [("AIDS700nef", 20_000), ("LINUX", 40_000), ("ALKANE", 10_000)])
def test_published_distances(shared_data: Path, name: str, n_pairs: int) -> None:
    distance = np.load(shared_data / f"{name}.ged.npz")["ged"]
    pairs = np.random.default_rng(0).integers(0, len(distance), (n_pairs, 2))
    results = search(read_published(shared_data, name), pairs)
    assert np.array_equal(results.upper, distance[pairs[:, 0], pairs[:, 1]])
    assert np.array_equal(results.lower, results.upper)


@pytest.mark.slow
def test_published_distances_with_edge_labels(shared_data: Path) -> None:
    arrays, truth = dict(np.load(shared_data / "AIDS42k.npz")), np.load(shared_data / "AIDS42k.ged.npz")
    n_labels = int(arrays["node_label"].max()) + 1
    apart = (1 - np.eye(n_labels)).astype(np.int64)
    ones = np.ones(n_labels, dtype=np.int64)
    edges = np.stack([arrays["edge_u"], arrays["edge_v"]], axis=1)
    packed = pack_graphs(
        arrays["node_ptr"], arrays["node_label"], arrays["edge_ptr"], edges, arrays["edge_label"], np.arange(4)
    )
    problem = Problem(packed, tabulate_costs(apart, ones, ones, 1 - np.eye(4, dtype=np.int64)))
    chosen = slice(None, None, 3)
    pairs = np.stack([truth["i"][chosen], truth["j"][chosen]], axis=1)
    results = make_results(len(pairs), 40)
    work = allocate_workspace(WorkspaceSize(10, 40, 60, 3, False))
    limits = SearchLimits(np.full(len(pairs), NO_LIMIT), 0, NO_LIMIT, 0)
    search_pairs(PackedProblem(packed, packed, problem.costs), pairs.astype(np.int64), limits, work, results)
    assert np.array_equal(results.upper, truth["ged"][chosen])
