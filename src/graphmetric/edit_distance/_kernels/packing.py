"""Graphs and costs as the flat integer arrays that the searches read."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import entry, fragment, part

Integers = NDArray[np.int64]

LARGEST_TOTAL = 1 << 51
"""The largest sum of costs. Searches double it, matchings count it in double precision, and beams rank by it."""


def integers(*shape: int) -> Integers:
    """An array of zeros."""
    return np.zeros(shape, dtype=np.int64)


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


class PackedProblem(NamedTuple):
    """Two packed collections and the costs of turning graphs of the first into graphs of the second."""

    first: PackedGraphs
    second: PackedGraphs
    costs: EditCostTables


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
        return integers(2, 3)
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
    starts = (
        np.array(node_start, dtype=np.int64),
        np.array(edge_start, dtype=np.int64),
    )  # writable copies, so that kernels compile once
    codes = np.ascontiguousarray(node_code, dtype=np.int64)
    graphs = PackedGraphs(
        starts[0],
        codes,
        integers(len(codes)),
        starts[1],
        np.ascontiguousarray(edges[:, 0], dtype=np.int64),
        np.ascontiguousarray(edges[:, 1], dtype=np.int64),
        np.ascontiguousarray(edge_code, dtype=np.int64),
    )
    twice, total = 2 * len(graphs.edge_code), len(codes)
    neighbours = Neighbours(*map(integers, (total + 1, twice, twice, total)))
    mark_twins(graphs, np.ascontiguousarray(edge_reverse, dtype=np.int64), neighbours)
    return graphs


class Neighbours(NamedTuple):
    """Every edge of a collection at both of its ends; the neighbours of node v of all nodes begin at start[v].

    Memory grows with the edges, not with the square of the nodes.
    """

    start: Integers
    node: Integers  # rising for each node
    code: Integers
    digest: Integers  # by node: a sum over its neighbours and their codes


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
def mark_twins(graphs: PackedGraphs, edge_reverse: Integers, neighbours: Neighbours) -> None:
    """Give twins a common representative; being twins is an equivalence, so comparing with those is enough.

    Twins have the same neighbours but for each other. Sums over neighbours spare the comparison of most other nodes.
    """
    list_neighbours(graphs, edge_reverse, neighbours)
    for graph in range(len(graphs.node_start) - 1):
        first = graphs.node_start[graph]
        for u in range(graphs.node_start[graph + 1] - first):
            graphs.node_twin[first + u] = u
            for w in range(u):
                if graphs.node_twin[first + w] == w and are_twins(graphs, neighbours, first, w, u):
                    graphs.node_twin[first + u] = w
                    break


@part
def list_neighbours(graphs: PackedGraphs, edge_reverse: Integers, neighbours: Neighbours) -> None:
    """Fill the lists. Where edges are listed by rising ends, neighbours come in order and none has to be moved."""
    start, node, code, digest = neighbours.start, neighbours.node, neighbours.code, neighbours.digest
    for graph in range(len(graphs.node_start) - 1):
        first = graphs.node_start[graph]
        for edge in range(graphs.edge_start[graph], graphs.edge_start[graph + 1]):
            start[first + graphs.edge_tail[edge] + 1] += 1
            start[first + graphs.edge_head[edge] + 1] += 1
    for v in range(len(digest)):
        start[v + 1] += start[v]
    for graph in range(len(graphs.node_start) - 1):
        first = graphs.node_start[graph]
        for edge in range(graphs.edge_start[graph], graphs.edge_start[graph + 1]):
            for side in range(2):
                here, there = graphs.edge_tail[edge], graphs.edge_head[edge]
                seen = graphs.edge_code[edge]
                if side == 1:
                    here, there, seen = there, here, edge_reverse[seen]
                place = start[first + here] + digest[first + here]  # digest counts the listed edges for now
                digest[first + here] += 1
                while place > start[first + here] and node[place - 1] > there:
                    node[place], code[place] = node[place - 1], code[place - 1]
                    place -= 1
                node[place], code[place] = there, seen
    for v in range(len(digest)):
        digest[v] = 0
        for place in range(start[v], start[v + 1]):
            digest[v] += spread(node[place]) * code[place]


@fragment
def spread(node: int) -> int:
    """A number for each node; different sums of such numbers are hardly ever equal. They may overflow."""
    return (node + 1) * (node + 1) * 0x9E3779B9 + node


@fragment
def are_twins(graphs: PackedGraphs, neighbours: Neighbours, first: int, u: int, w: int) -> bool:
    """Whether exchanging u and w is an automorphism that moves nothing else."""
    node, code, start, digest = neighbours.node, neighbours.code, neighbours.start, neighbours.digest
    place, end = start[first + u], start[first + u + 1]
    other, other_end = start[first + w], start[first + w + 1]
    if graphs.node_code[first + u] != graphs.node_code[first + w] or end - place != other_end - other:
        return False
    between = find_code(neighbours, place, end, w)
    if between != find_code(neighbours, other, other_end, u):
        return False
    if digest[first + u] + spread(u) * between != digest[first + w] + spread(w) * between:
        return False
    while place < end or other < other_end:
        if place < end and node[place] == w:
            place += 1
        elif other < other_end and node[other] == u:
            other += 1
        elif place == end or other == other_end or node[place] != node[other] or code[place] != code[other]:
            return False
        else:
            place += 1
            other += 1
    return True


@part
def find_code(neighbours: Neighbours, low: int, high: int, wanted: int) -> int:
    """The code of the edge to a neighbour, 0 if it is none; the neighbours stand at low:high."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if neighbours.node[middle] < wanted:
            low = middle + 1
        else:
            high = middle
    return neighbours.code[low] if low < end and neighbours.node[low] == wanted else 0
