"""Small random graphs and costs, plain for the naive twins and packed for the kernels."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from graphmetric.edit_distance._kernels.packing import (
    EditCostTables,
    Integers,
    PackedGraphs,
    pack_graphs,
    tabulate_costs,
)
from graphmetric.edit_distance._kernels.workspace import Results, Workspace, WorkspaceSize, allocate_workspace
from graphmetric.edit_distance.scaling import EncodedProblem
from tests.edit_distance.directions import merge_directions, price_both_directions
from tests.naive.edit_distance_by_enumeration import PlainCosts, PlainGraph

N_NODE_LABELS, N_EDGE_LABELS, LARGEST = 3, 2, 4
MOST_EDGES = LARGEST * (LARGEST - 1) // 2
PAIR = np.array([[0, 1]], dtype=np.int64)


class Problem(NamedTuple):
    first: PlainGraph
    second: PlainGraph
    costs: PlainCosts
    graphs: PackedGraphs
    tables: EditCostTables


def adjacency(graph: PlainGraph) -> list[list[int | None]]:
    return [[graph.edge(u, v) for v in range(len(graph.labels))] for u in range(len(graph.labels))]


def pack(graphs: list[PlainGraph], costs: PlainCosts) -> tuple[PackedGraphs, EditCostTables]:
    """Node code: label. Edge code: label + 1, or both directions of a directed graph."""
    n_labels, directed = len(costs.edge_delete), graphs[0].directed
    table = np.zeros((n_labels + 1, n_labels + 1), dtype=np.int64)
    table[0, 1:], table[1:, 0], table[1:, 1:] = costs.edge_insert, costs.edge_delete, costs.edge_substitute
    edge_cost, reverse = price_both_directions(table) if directed else (table, np.arange(n_labels + 1))
    pairs, codes = [], []
    for graph in graphs:
        edges = [(u, v, label + 1) for (u, v), label in graph.edges.items()]
        tails, heads, labels = np.array(edges, dtype=np.int64).reshape(-1, 3).T
        merged = merge_directions(len(graph.labels), tails, heads, labels, n_labels)
        pairs.append(merged[0])
        codes.append(merged[1])
    node_start = np.cumsum([0, *(len(graph.labels) for graph in graphs)])
    edge_start = np.cumsum([0, *(len(code) for code in codes)])
    node_code = np.array([label for graph in graphs for label in graph.labels], dtype=np.int64)
    packed = pack_graphs(node_start, node_code, edge_start, np.concatenate(pairs), np.concatenate(codes), reverse)
    nodes = (np.array(part, dtype=np.int64) for part in (costs.node_substitute, costs.node_delete, costs.node_insert))
    return packed, tabulate_costs(*nodes, edge_cost, reverse)


@st.composite
def plain_graphs(draw: st.DrawFn, directed: bool, n_node_labels: int, n_edge_labels: int) -> PlainGraph:
    n = draw(st.integers(0, LARGEST))
    slots = [(u, v) for u in range(n) for v in range(n) if (u != v if directed else u < v)]
    present = draw(st.lists(st.none() | st.integers(0, n_edge_labels - 1), min_size=len(slots), max_size=len(slots)))
    labels = draw(st.lists(st.integers(0, n_node_labels - 1), min_size=n, max_size=n))
    edges = {slot: label for slot, label in zip(slots, present, strict=True) if label is not None}
    return PlainGraph(labels, edges, directed)


def unit_costs(n_node_labels: int, n_edge_labels: int) -> PlainCosts:
    def unequal(n: int) -> list[list[int]]:
        return (1 - np.eye(n, dtype=int)).tolist()

    ones, edge_ones = [1] * n_node_labels, [1] * n_edge_labels
    return PlainCosts(unequal(n_node_labels), ones, ones, unequal(n_edge_labels), edge_ones, edge_ones)


@st.composite
def any_costs(draw: st.DrawFn) -> PlainCosts:
    """Not a metric: substitution may cost more than deletion and insertion, and directions may differ."""

    def table(n: int) -> list[list[int]]:
        return [[0 if a == b else draw(st.integers(0, 7)) for b in range(n)] for a in range(n)]

    def row(n: int) -> list[int]:
        return [draw(st.integers(0, 5)) for _ in range(n)]

    nodes = table(N_NODE_LABELS), row(N_NODE_LABELS), row(N_NODE_LABELS)
    return PlainCosts(*nodes, table(N_EDGE_LABELS), row(N_EDGE_LABELS), row(N_EDGE_LABELS))


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    """Unit costs with plain edges (the compiled special case) or any costs with edge labels, directed or not."""
    directed, simple = draw(st.booleans()), draw(st.booleans())
    n_edge_labels = 1 if simple else N_EDGE_LABELS
    costs = unit_costs(N_NODE_LABELS, 1) if simple else draw(any_costs())
    graphs = [draw(plain_graphs(directed and not simple, N_NODE_LABELS, n_edge_labels)) for _ in range(2)]
    return Problem(graphs[0], graphs[1], costs, *pack(graphs, costs))


def make_workspace(tables: EditCostTables) -> Workspace:
    return allocate_workspace(WorkspaceSize(LARGEST, LARGEST, MOST_EDGES, len(tables.edge_reverse) - 1, True))


def integers(*shape: int) -> Integers:
    return np.zeros(shape, dtype=np.int64)


def bound_results() -> Results:
    return Results(*integers(4, 1), integers(1, LARGEST))


def encoded(problem: Problem) -> EncodedProblem:
    return EncodedProblem(problem.graphs, problem.graphs, problem.tables, 1.0)


def decode_map(node_map: Integers, n_nodes: int) -> list[int | None]:
    return [None if v < 0 else int(v) for v in node_map[0, :n_nodes]]
