"""Graphs and costs as the flat integer arrays that the searches read."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import entry, fragment, part

Integers = NDArray[np.int64]

LARGEST_TOTAL = 1 << 51
"""The largest sum of costs. Searches double it, matchings count it in double precision, and beams rank by it."""


class PackedGraphs(NamedTuple):
    """A collection of graphs end to end; graph g owns nodes node_start[g]:node_start[g + 1], likewise edges.

    Node numbers are local to the graph. Every unordered pair of adjacent nodes occurs once, and never (u, u): a
    self-loop belongs to the code of its node. Edge code 0 is reserved for "no edge". For a directed graph the code
    of (tail, head) names the labels in both directions, and ``EditCostTables.edge_reverse`` gives the code seen from
    the head.
    """

    node_start: Integers
    node_code: Integers
    node_twin: Integers  # the first node of the same graph that has the same code and the same neighbours
    edge_start: Integers
    edge_tail: Integers
    edge_head: Integers
    edge_code: Integers


class EditCostTables(NamedTuple):
    """Integer costs by code. No map may cost more than `LARGEST_TOTAL`.

    ``edge_cost[0]`` reads from the first collection to the second, ``edge_cost[1]`` is its transpose, used when the
    two graphs of a pair change places because the first is the larger.
    """

    node_substitute: Integers  # (codes of the first collection, codes of the second)
    node_delete: Integers
    node_insert: Integers
    edge_cost: Integers  # (2, codes + 1, codes + 1), row and column 0 are "no edge"
    edge_reverse: Integers
    edge_floor: Integers  # (2, 3): the cheapest deletion, insertion and substitution of unequal codes
    uniform_edge: int  # the one cost of every edge edit when only one code exists, else 0
    step: int  # every total is a multiple of this


def tabulate_costs(
    node_substitute: Integers,
    node_delete: Integers,
    node_insert: Integers,
    edge_cost: Integers,
    edge_reverse: Integers | None = None,
) -> EditCostTables:
    """Complete the tables. ``edge_cost[0, b]`` inserts an edge of code b, ``edge_cost[a, 0]`` deletes one of code a.

    The diagonal of ``edge_cost`` must be zero, and the table must not change when both codes are reversed.
    """
    edges = cap_edge_substitution(edge_cost)
    n_codes = len(edges)
    reverse = np.arange(n_codes, dtype=np.int64) if edge_reverse is None else edge_reverse.astype(np.int64)
    every_cost = np.concatenate([node_substitute.ravel(), node_delete, node_insert, edges.ravel()]).astype(np.int64)
    return EditCostTables(
        np.ascontiguousarray(node_substitute, dtype=np.int64),
        np.ascontiguousarray(node_delete, dtype=np.int64),
        np.ascontiguousarray(node_insert, dtype=np.int64),
        np.ascontiguousarray(np.stack([edges, edges.T])),
        reverse,
        _edge_floors(edges),
        int(edges[0, 1]) if n_codes == 2 and edges[0, 1] == edges[1, 0] and edges[1, 1] == 0 else 0,
        max(1, int(np.gcd.reduce(every_cost))) if len(every_cost) else 1,
    )


def cap_edge_substitution(edge_cost: Integers) -> Integers:
    """An edge whose substitution costs more than deletion and insertion is deleted and inserted.

    For nodes the same is left to the search, since a deleted node takes its edges with it.
    """
    return np.minimum(edge_cost, edge_cost[:, :1] + edge_cost[:1, :]).astype(np.int64)


def _edge_floors(edges: Integers) -> Integers:
    """Smallest deletion, insertion and unequal substitution, in both reading directions."""
    if len(edges) == 1:
        return np.zeros((2, 3), dtype=np.int64)
    deletion, insertion = int(edges[1:, 0].min()), int(edges[0, 1:].min())
    unequal = edges[1:, 1:][~np.eye(len(edges) - 1, dtype=bool)]
    substitution = min(int(unequal.min(initial=deletion + insertion)), deletion + insertion)
    return np.array([[deletion, insertion, substitution], [insertion, deletion, substitution]], dtype=np.int64)


def pack_graphs(
    node_start: Integers,
    node_code: Integers,
    edge_start: Integers,
    edges: Integers,
    edge_code: Integers,
    edge_reverse: Integers,
) -> PackedGraphs:
    """Attach the twin classes. ``edges`` is (number of edges, 2); ``edge_reverse`` as in `EditCostTables`."""
    starts = np.array(node_start, dtype=np.int64), np.array(edge_start, dtype=np.int64)  # writable: one compilation
    codes = np.ascontiguousarray(node_code, dtype=np.int64)
    graphs = PackedGraphs(
        starts[0],
        codes,
        np.zeros(len(codes), dtype=np.int64),
        starts[1],
        np.ascontiguousarray(edges[:, 0], dtype=np.int64),
        np.ascontiguousarray(edges[:, 1], dtype=np.int64),
        np.ascontiguousarray(edge_code, dtype=np.int64),
    )
    largest = int(np.diff(starts[0]).max(initial=0))
    mark_twins(
        graphs, np.ascontiguousarray(edge_reverse, dtype=np.int64), np.zeros((1, largest + 1, largest), np.int64)
    )
    return graphs


@part
def fill_adjacency(graphs: PackedGraphs, graph: int, edge_reverse: Integers, adjacency: Integers, side: int) -> None:
    """Write the edge codes of one graph into the top left corner of adjacency[side]."""
    n_nodes = graphs.node_start[graph + 1] - graphs.node_start[graph]
    for u in range(n_nodes):
        for v in range(n_nodes):
            adjacency[side, u, v] = 0
    for edge in range(graphs.edge_start[graph], graphs.edge_start[graph + 1]):
        tail, head = graphs.edge_tail[edge], graphs.edge_head[edge]
        adjacency[side, tail, head] = graphs.edge_code[edge]
        adjacency[side, head, tail] = edge_reverse[graphs.edge_code[edge]]


@entry
def mark_twins(graphs: PackedGraphs, edge_reverse: Integers, adjacency: Integers) -> None:
    """Give twins a common representative; being twins is an equivalence, so comparing with those is enough.

    The last row of ``adjacency`` is for sums that twins have in common, which spare the comparison of most others.
    """
    last = adjacency.shape[1] - 1
    for graph in range(len(graphs.node_start) - 1):
        first = graphs.node_start[graph]
        fill_adjacency(graphs, graph, edge_reverse, adjacency, np.int64(0))
        n_nodes = graphs.node_start[graph + 1] - first
        for u in range(n_nodes):
            adjacency[0, last, u] = 0
            for t in range(n_nodes):
                adjacency[0, last, u] += spread(t) * adjacency[0, u, t]
        for u in range(n_nodes):
            graphs.node_twin[first + u] = u
            for w in range(u):
                if graphs.node_twin[first + w] != w:
                    continue
                without_each_other = adjacency[0, last, u] - spread(w) * adjacency[0, u, w]
                if adjacency[0, last, w] - spread(u) * adjacency[0, w, u] != without_each_other:
                    continue
                if are_twins(graphs, graph, adjacency, w, u):
                    graphs.node_twin[first + u] = w
                    break


@fragment
def spread(node: int) -> int:
    """A number for each node whose sums are hardly ever equal by chance; they may overflow."""
    return (node + 1) * (node + 1) * 0x9E3779B9 + node


@fragment
def are_twins(graphs: PackedGraphs, graph: int, adjacency: Integers, u: int, w: int) -> bool:
    """Whether exchanging u and w is an automorphism that moves nothing else."""
    first = graphs.node_start[graph]
    if graphs.node_code[first + u] != graphs.node_code[first + w] or adjacency[0, u, w] != adjacency[0, w, u]:
        return False
    for t in range(graphs.node_start[graph + 1] - first):
        if t != u and t != w and adjacency[0, u, t] != adjacency[0, w, t]:
            return False
    return True
