"""Hausdorff edit distance, open-list beam search and common subgraphs, written as their papers put it.

Shares nothing with the package. Graphs are (node labels, adjacency matrix of edge labels with None for no edge).
"""

from bisect import insort
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, permutations
from typing import Any

Plain = tuple[Sequence[int], Sequence[Sequence[int | None]]]


def hausdorff(first: Plain, second: Plain, edge_weight: Fraction) -> Fraction:
    """Unit costs, edge labels ignored; every node pays for its cheapest partner or for its removal."""

    def degree(graph: Plain, u: int) -> int:
        return sum(edge is not None for edge in graph[1][u])

    def share(u: int, v: int) -> Fraction:
        edges = edge_weight * abs(degree(first, u) - degree(second, v))
        return (int(first[0][u] != second[0][v]) + edges) / 2

    rows, columns = range(len(first[0])), range(len(second[0]))
    total = Fraction(0)
    for u in rows:
        total += min([1 + Fraction(degree(first, u), 2), *(share(u, v) for v in columns)])
    for v in columns:
        total += min([1 + Fraction(degree(second, v), 2), *(share(u, v) for u in rows)])
    return total


def open_list_beam(
    n_first: int, n_second: int, price: Callable[[list[int | None], bool], int], width: int
) -> tuple[int, list[int | None]]:
    """``price(images, complete)``: cost of mapping the first nodes so; all edges at other nodes count if complete."""
    arrivals = 0
    opened: list[tuple[int, int, list[int | None], bool]] = [(0, 0, [], False)]
    while True:
        cost, _, images, complete = opened.pop(0)
        unused = [v for v in range(n_second) if v not in images]
        if complete or (len(images) == n_first and not unused):
            return cost, images
        if len(images) == n_first or not unused:
            successors = [(images + [None] * (n_first - len(images)), True)]
        else:
            successors = [([*images, v], False) for v in [*unused, None]]
        for successor, is_complete in successors:
            arrivals += 1
            insort(opened, (price(successor, is_complete), arrivals, successor, is_complete))
        del opened[width:]


def largest_common_subgraph(first: Plain, second: Plain, connected: bool) -> int:
    """Size of the largest common induced subgraph, by trying every pair of node sets in every order."""
    for size in range(min(len(first[0]), len(second[0])), 0, -1):
        for nodes in combinations(range(len(first[0])), size):
            if connected and not is_connected(first[1], nodes):
                continue
            for images in permutations(range(len(second[0])), size):
                if same_induced(first, second, nodes, images):
                    return size
    return 0


def same_induced(first: Plain, second: Plain, nodes: Sequence[int], images: Sequence[int]) -> bool:
    """Whether labels and edges agree under the map."""
    labels = all(first[0][u] == second[0][v] for u, v in zip(nodes, images, strict=True))
    return labels and all(
        first[1][nodes[a]][nodes[b]] == second[1][images[a]][images[b]]
        for a in range(len(nodes))
        for b in range(len(nodes))
        if a != b
    )


def is_connected(adjacency: Sequence[Sequence[Any]], nodes: Sequence[int]) -> bool:
    """Whether the nodes induce a connected subgraph; edges count in either direction."""
    reached, todo = {nodes[0]}, [nodes[0]]
    while todo:
        u = todo.pop()
        near = {v for v in nodes if adjacency[u][v] is not None or adjacency[v][u] is not None}
        todo += sorted(near - reached)
        reached |= near
    return len(reached) == len(nodes)
