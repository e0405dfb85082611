"""Bounds of pairs so large that matrices over their nodes would not fit into memory.

The lower bound is the best of label counts, degree sequences and, where its one matrix fits, the Hausdorff edit
distance. The upper bound is what a map costs that gives nodes of high degree to nodes of high degree, equal ones first.
Both take memory that grows with the nodes and edges.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance._kernels.hausdorff import allocate_hausdorff, match_hausdorff
from graphmetric.edit_distance._kernels.map_cost import TrueCosts, price_maps
from graphmetric.edit_distance._kernels.node_profile import profile_nodes
from graphmetric.edit_distance._kernels.packing import PackedGraphs
from graphmetric.edit_distance._kernels.vector_bounds import (
    bound_against_all,
    find_cheapest,
    lay_out_vectors,
    vectorize_graphs,
)
from graphmetric.edit_distance.scaling import EncodedProblem

_MOST_ENTRIES = 1 << 26
"""Of the matrix that the Hausdorff edit distance needs: half a gigabyte."""

Integers = NDArray[np.int64]


def bound_sparsely(problem: EncodedProblem, pair: Integers) -> tuple[int, int, Integers]:
    """Lower bound, upper bound, both in units, and node map of one pair (place in the first, in the second)."""
    first, second = _only(problem.first, int(pair[0])), _only(problem.second, int(pair[1]))
    node_map = _match_by_degree(problem, first, second)
    tables = problem.tables
    costs = TrueCosts(
        tables.node_substitute.astype(np.float64),
        tables.node_delete.astype(np.float64),
        tables.node_insert.astype(np.float64),
        tables.edge_cost[0].astype(np.float64),
        tables.edge_reverse,
    )
    work = np.zeros(len(second.node_code) + 1, np.int64), np.zeros(len(second.edge_code) + 1, np.int64)
    total = np.zeros(1)
    price_maps(first, second, costs, np.zeros((1, 2), dtype=np.int64), node_map[None, :], work, total)
    upper = int(total[0])
    lower = max(_bound_by_counts(problem, first, second), _bound_by_neighbourhoods(problem, first, second))
    return min(lower, upper), upper, node_map


def _bound_by_counts(problem: EncodedProblem, first: PackedGraphs, second: PackedGraphs) -> int:
    tables = problem.tables
    longest = max(len(first.node_code), len(second.node_code))
    layout = lay_out_vectors(len(tables.node_delete), tables.edge_cost.shape[1], longest)
    (query,), others = (vectorize_graphs(graph, tables.edge_reverse, layout) for graph in (first, second))
    doubled = np.zeros(1, dtype=np.int64)
    bound_against_all(query, others, layout, find_cheapest(tables), doubled)
    return -(-int(doubled[0]) // 2)


def _bound_by_neighbourhoods(problem: EncodedProblem, first: PackedGraphs, second: PackedGraphs) -> int:
    sizes, tables = (len(first.node_code), len(second.node_code)), problem.tables
    if max(sizes[0] * sizes[1], sum(sizes) * tables.edge_cost.shape[1]) > _MOST_ENTRIES:
        return 0
    profiles = profile_nodes(first, tables, False), profile_nodes(second, tables, True)
    pair, quadrupled = np.zeros((1, 2), dtype=np.int64), np.zeros(1, dtype=np.int64)
    match_hausdorff(first, second, tables, profiles, pair, True, allocate_hausdorff(*sizes), quadrupled)
    return -(-int(quadrupled[0]) // 4)


def _match_by_degree(problem: EncodedProblem, first: PackedGraphs, second: PackedGraphs) -> Integers:
    """A map: nodes of one code by falling degrees, then the others, where that is not dearer than a deletion."""
    tables = problem.tables
    degrees = [
        np.bincount(np.concatenate([graph.edge_tail, graph.edge_head]), minlength=len(graph.node_code))
        for graph in (first, second)
    ]
    node_map = np.full(len(first.node_code), -1, dtype=np.int64)
    rest: list[Integers] = []
    ranks = []
    for graph, degree in zip((first, second), degrees, strict=True):
        order = np.lexsort((-degree, graph.node_code))
        codes, starts = np.unique(graph.node_code[order], return_index=True)
        rank = np.arange(len(order)) - starts[np.searchsorted(codes, graph.node_code[order])]
        ranks.append((order, graph.node_code[order] * (1 << 32) + rank))
    _, mine, theirs = np.intersect1d(ranks[0][1], ranks[1][1], assume_unique=True, return_indices=True)
    node_map[ranks[0][0][mine]] = ranks[1][0][theirs]
    for (order, _), matched, degree in zip(ranks, (mine, theirs), degrees, strict=True):
        left = np.setdiff1d(np.arange(len(order)), matched, assume_unique=True)
        rest.append(order[left][np.argsort(-degree[order[left]], kind="stable")])
    count = min(len(rest[0]), len(rest[1]))
    nodes, images = rest[0][:count], rest[1][:count]
    codes, image_codes = first.node_code[nodes], second.node_code[images]
    around = tables.node_delete[codes] + tables.node_insert[image_codes]
    cheap = tables.node_substitute[codes, image_codes] <= around
    node_map[nodes[cheap]] = images[cheap]
    return node_map


def _only(graphs: PackedGraphs, place: int) -> PackedGraphs:
    """The collection of one graph."""
    nodes = slice(graphs.node_start[place], graphs.node_start[place + 1])
    edges = slice(graphs.edge_start[place], graphs.edge_start[place + 1])
    return PackedGraphs(
        np.array([0, nodes.stop - nodes.start]),
        graphs.node_code[nodes],
        graphs.node_twin[nodes],
        np.array([0, edges.stop - edges.start]),
        graphs.edge_tail[edges],
        graphs.edge_head[edges],
        graphs.edge_code[edges],
    )
