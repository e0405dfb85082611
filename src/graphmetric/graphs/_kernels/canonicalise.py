"""Canonical order of many packed graphs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import counted_entry, counted_part
from graphmetric.graphs._kernels.mixing import mix, sort_by_key
from graphmetric.graphs._kernels.refinement import AT, COUNT, WORK, new_partition, refine
from graphmetric.graphs._kernels.rows import EdgeColours, Rows, build_rows
from graphmetric.graphs._kernels.search import find_greatest_leaf
from graphmetric.graphs._kernels.twins import Twins, drop_twins, find_twins, spread_twins


class PackedGraphs(NamedTuple):
    """Graphs in shared arrays. Attributes are ranks: equal where the attributes are, in the order of their keys."""

    node_ptr: NDArray[np.int64]
    edge_ptr: NDArray[np.int64]
    edges: NDArray[np.int32]
    directed: NDArray[np.bool_]
    node_rank: NDArray[np.int64]
    edge_colours: EdgeColours


class Outcome(NamedTuple):
    """What the search found, graph by graph."""

    order: NDArray[np.int64]
    """per node row: the node at this canonical position; some order where the budget did not suffice"""
    solved: NDArray[np.bool_]
    """per graph: whether the budget sufficed"""
    work: NDArray[np.int64]
    """per graph: array entries read"""
    invariant: NDArray[np.int64]
    """per graph: equal for isomorphic graphs, also where the budget did not suffice"""


@counted_entry
def canonicalise(graphs: PackedGraphs, budget: int) -> Outcome:
    num_graphs = len(graphs.directed)
    outcome = Outcome(
        np.empty(graphs.node_ptr[-1], np.int64),
        np.empty(num_graphs, np.bool_),
        np.empty(num_graphs, np.int64),
        np.empty(num_graphs, np.int64),
    )
    for g in range(num_graphs):
        begin, end = graphs.node_ptr[g], graphs.node_ptr[g + 1]
        rows, colour = _read_graph(graphs, g)
        twins = find_twins(rows, colour, len(graphs.edge_colours.weight))
        rows = drop_twins(rows, twins)
        order, starts = _sort_by_colour(twins, colour)
        part = new_partition(order, starts)
        outcome.invariant[g] = mix(refine(rows, part), len(order))
        outcome.solved[g] = find_greatest_leaf(rows, part, budget)
        outcome.work[g] = part[COUNT, WORK]
        spread_twins(part[AT], twins, outcome.order[begin:end])
    return outcome


@counted_part
def _read_graph(graphs: PackedGraphs, g: int) -> tuple[Rows, NDArray[np.int64]]:
    """Rows of one graph, and node colours that include self-loops."""
    begin, end = graphs.edge_ptr[g], graphs.edge_ptr[g + 1]
    colours = EdgeColours(graphs.edge_colours.rank[begin:end], graphs.edge_colours.weight)
    num_nodes = graphs.node_ptr[g + 1] - graphs.node_ptr[g]
    rows, colour = build_rows(num_nodes, graphs.edges[begin:end], colours, graphs.directed[g])
    for v in range(num_nodes):
        colour[v] += graphs.node_rank[graphs.node_ptr[g] + v] * len(colours.weight)
    return rows, colour


@counted_part
def _sort_by_colour(twins: Twins, colour: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The kept nodes by new number, sorted by colour and kind of twins, and where runs of equal ones start."""
    order = twins.kept.copy()
    starts = np.zeros(len(order), np.bool_)
    for keys in (colour, twins.copies, twins.joined_by):
        _sort_runs(order, starts, keys)
    for i in range(len(order)):
        order[i] = twins.new_number[order[i]]
    return order, starts


@counted_part
def _sort_runs(order: NDArray[np.int64], starts: NDArray[np.bool_], key: NDArray[np.int64]) -> None:
    begin = 0
    for end in range(1, len(order) + 1):
        if end < len(order) and not starts[end]:
            continue
        sort_by_key(order, key, begin, end)
        for p in range(begin, end):
            starts[p] = p == begin or key[order[p]] != key[order[p - 1]]
        begin = end


@counted_entry
def relabel_edges(graphs: PackedGraphs, order: NDArray[np.int64]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The edges in canonical numbers, sorted within each graph, and the edge row each comes from."""
    edges = np.empty_like(graphs.edges)
    source = np.empty(len(edges), np.int64)
    for g in range(len(graphs.directed)):
        begin, end = graphs.edge_ptr[g], graphs.edge_ptr[g + 1]
        nodes = order[graphs.node_ptr[g] : graphs.node_ptr[g + 1]]
        place = np.empty(len(nodes), np.int64)
        for p in range(len(nodes)):
            place[nodes[p]] = p
        pairs = np.empty((end - begin, 2), np.int64)
        for e in range(begin, end):
            u, v = place[graphs.edges[e, 0]], place[graphs.edges[e, 1]]
            swap = v < u and not graphs.directed[g]
            pairs[e - begin, 0] = v if swap else u
            pairs[e - begin, 1] = u if swap else v
        by_target = _counting_sort(np.arange(end - begin), pairs[:, 1], len(nodes))
        by_both = _counting_sort(by_target, pairs[:, 0], len(nodes))
        for i in range(end - begin):
            source[begin + i] = begin + by_both[i]
            edges[begin + i, 0] = pairs[by_both[i], 0]
            edges[begin + i, 1] = pairs[by_both[i], 1]
    return edges, source


@counted_part
def _counting_sort(items: NDArray[np.int64], key: NDArray[np.int64], num_keys: int) -> NDArray[np.int64]:
    """Items by ascending key, equal keys in the given order."""
    begin = np.zeros(num_keys + 1, np.int64)
    for item in items:
        begin[key[item] + 1] += 1
    for k in range(num_keys):
        begin[k + 1] += begin[k]
    ordered = np.empty(len(items), np.int64)
    for item in items:
        ordered[begin[key[item]]] = item
        begin[key[item]] += 1
    return ordered
