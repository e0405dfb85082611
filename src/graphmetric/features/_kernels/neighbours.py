"""Loops over the neighbours of all nodes of a collection: colours, random walks, and dense matrices for a batch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import counted_entry
from graphmetric._foundation.mixing import mix, scramble

UNDIRECTED, OUT, IN = 0, 1, 2
"""Directions in which an edge is seen from the node whose row it is in."""
_OWN = 0x5EED


class Edges(NamedTuple):
    """Edge rows of a packed collection; node numbers are local to their graph."""

    node_ptr: NDArray[np.int64]
    edge_ptr: NDArray[np.int64]
    ends: NDArray[np.int32]
    directed: NDArray[np.bool_]
    """One per graph."""


class Arcs(NamedTuple):
    """Node row v is next to the node rows ``node[ptr[v]:ptr[v + 1]]``; an arc shows up at both of its ends."""

    ptr: NDArray[np.int64]
    node: NDArray[np.int64]
    edge: NDArray[np.int64]
    """The edge row."""
    direction: NDArray[np.int8]


@counted_entry
def build_arcs(edges: Edges) -> Arcs:
    """Both ends of each edge; an undirected self-loop is in its row once, a directed one as OUT and as IN."""
    ptr = np.zeros(edges.node_ptr[-1] + 1, np.int64)
    for g in range(len(edges.directed)):
        first = edges.node_ptr[g]
        for e in range(edges.edge_ptr[g], edges.edge_ptr[g + 1]):
            u, v = edges.ends[e, 0], edges.ends[e, 1]
            ptr[first + u + 1] += 1
            if u != v or edges.directed[g]:
                ptr[first + v + 1] += 1
    for v in range(len(ptr) - 1):
        ptr[v + 1] += ptr[v]
    arcs = Arcs(ptr, np.empty(ptr[-1], np.int64), np.empty(ptr[-1], np.int64), np.empty(ptr[-1], np.int8))
    free = ptr[:-1].copy()
    for g in range(len(edges.directed)):
        first = edges.node_ptr[g]
        for e in range(edges.edge_ptr[g], edges.edge_ptr[g + 1]):
            u, v = first + edges.ends[e, 0], first + edges.ends[e, 1]
            a = free[u]
            free[u] += 1
            arcs.node[a], arcs.edge[a], arcs.direction[a] = v, e, OUT if edges.directed[g] else UNDIRECTED
            if u != v or edges.directed[g]:
                a = free[v]
                free[v] += 1
                arcs.node[a], arcs.edge[a], arcs.direction[a] = u, e, IN if edges.directed[g] else UNDIRECTED
    return arcs


@counted_entry
def refine_colours(
    arcs: Arcs, node_key: NDArray[np.int64], edge_key: NDArray[np.int64], rounds: int
) -> NDArray[np.int64]:
    """(rounds + 1, nodes) colours: row 0 from the keys, each further one from a node's own and its neighbours'."""
    colours = np.empty((rounds + 1, len(node_key)), np.int64)
    for v in range(len(node_key)):
        colours[0, v] = scramble(node_key[v])
    for r in range(rounds):
        for v in range(len(node_key)):
            around = np.int64(0)
            for a in range(arcs.ptr[v], arcs.ptr[v + 1]):
                seen = mix(mix(scramble(arcs.direction[a]), edge_key[arcs.edge[a]]), colours[r, arcs.node[a]])
                around += scramble(seen)  # a sum, so that the order of neighbours does not count
            colours[r + 1, v] = scramble(mix(mix(_OWN, colours[r, v]), around))
    return colours


@counted_entry
def fill_edges(edges: Edges, value: NDArray[Any], chosen: NDArray[np.int64], dense: NDArray[Any]) -> None:
    """dense[b, i, j] = value of the edge from i to j; ``dense`` is zero before."""
    for b in range(len(chosen)):
        g = chosen[b]
        for e in range(edges.edge_ptr[g], edges.edge_ptr[g + 1]):
            u, v = edges.ends[e, 0], edges.ends[e, 1]
            dense[b, u, v] = value[e]
            if not edges.directed[g]:
                dense[b, v, u] = value[e]


@counted_entry
def list_arcs(
    node_ptr: NDArray[np.int64], arcs: Arcs, relation: NDArray[np.int32], chosen: NDArray[np.int64], k: int, back: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(2, arcs) rows that each edge joins in a batch padded to ``k`` nodes; its relation; its edge row.

    Node i of graph b is row b * k + i. An edge is listed both ways. From the head of a directed one to its tail,
    ``back`` is added to its relation.
    """
    count = 0
    for b in range(len(chosen)):
        count += arcs.ptr[node_ptr[chosen[b] + 1]] - arcs.ptr[node_ptr[chosen[b]]]
    ends, code, edge = np.empty((2, count), np.int64), np.empty(count, np.int64), np.empty(count, np.int64)
    place = 0
    for b in range(len(chosen)):
        first = node_ptr[chosen[b]]
        for v in range(first, node_ptr[chosen[b] + 1]):
            for a in range(arcs.ptr[v], arcs.ptr[v + 1]):
                ends[0, place], ends[1, place] = b * k + arcs.node[a] - first, b * k + v - first
                code[place] = relation[arcs.edge[a]] + (back if arcs.direction[a] == OUT else 0)
                edge[place] = arcs.edge[a]
                place += 1
    return ends, code, edge


@counted_entry
def find_return_probabilities(
    node_ptr: NDArray[np.int64], arcs: Arcs, weight: NDArray[np.float64], steps: int
) -> NDArray[np.float32]:
    """(nodes, steps): the chance that a walk from v is back at v after 1, 2, .. steps; ``weight`` is by edge row.

    Each step leaves along an edge with a chance in proportion to its weight, never against an arc. A walk that
    cannot go on is lost.
    """
    num_nodes = len(arcs.ptr) - 1
    chance = np.zeros(len(arcs.node), np.float64)
    for v in range(num_nodes):
        leaving = 0.0
        for a in range(arcs.ptr[v], arcs.ptr[v + 1]):
            if arcs.direction[a] != IN:
                leaving += weight[arcs.edge[a]]
        for a in range(arcs.ptr[v], arcs.ptr[v + 1]):
            if arcs.direction[a] != IN and leaving > 0:
                chance[a] = weight[arcs.edge[a]] / leaving
    found = np.zeros((num_nodes, steps), np.float32)
    here, there = np.zeros(num_nodes, np.float64), np.zeros(num_nodes, np.float64)
    for g in range(len(node_ptr) - 1):
        begin, end = node_ptr[g], node_ptr[g + 1]
        for start in range(begin, end):
            here[begin:end] = 0
            here[start] = 1
            for step in range(steps):
                there[begin:end] = 0
                for v in range(begin, end):
                    if here[v] == 0:
                        continue
                    for a in range(arcs.ptr[v], arcs.ptr[v + 1]):
                        there[arcs.node[a]] += here[v] * chance[a]
                here, there = there, here
                found[start, step] = here[start]
    return found
