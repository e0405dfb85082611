"""Graphs with much symmetry or much regularity, on which labellers prove themselves."""

from __future__ import annotations

from itertools import combinations, product

import networkx as nx


def rook(size: int) -> nx.Graph:
    """Squares of a chess board, joined where a rook can move."""
    return nx.line_graph(nx.complete_bipartite_graph(size, size))


def shrikhande() -> nx.Graph:
    """Strongly regular with the parameters of ``rook(4)``, but another graph."""
    steps = ((0, 1), (1, 0), (1, 1))
    squares = list(product(range(4), repeat=2))
    return nx.Graph(((x, y), ((x + dx) % 4, (y + dy) % 4)) for x, y in squares for dx, dy in steps)


def paley(prime: int) -> nx.Graph:
    """Residues, joined where they differ by a square; ``prime`` is 1 modulo 4."""
    squares = {x * x % prime for x in range(1, prime)}
    return nx.Graph((u, v) for u, v in combinations(range(prime), 2) if (u - v) % prime in squares)


def latin_square(square: list[list[int]]) -> nx.Graph:
    """Cells of a square, joined where they share row, column or symbol."""
    cells = [(i, j, symbol) for i, row in enumerate(square) for j, symbol in enumerate(row)]
    return nx.Graph((a, b) for a, b in combinations(cells, 2) if any(x == y for x, y in zip(a, b, strict=True)))


def cyclic_square(size: int) -> nx.Graph:
    return latin_square([[(i + j) % size for j in range(size)] for i in range(size)])


def bitwise_square(size: int) -> nx.Graph:
    """For a power of two: strongly regular with the parameters of ``cyclic_square(size)``, but another graph."""
    return latin_square([[i ^ j for j in range(size)] for i in range(size)])


def projective_plane(prime: int) -> nx.Graph:
    """Points and lines, joined where they meet."""
    triples = [(1, a, b) for a in range(prime) for b in range(prime)]
    triples += [(0, 1, a) for a in range(prime)] + [(0, 0, 1)]
    meet = ((p, q) for p, q in product(triples, triples) if sum(a * b for a, b in zip(p, q, strict=True)) % prime == 0)
    return nx.Graph((("point", p), ("line", q)) for p, q in meet)


def cai_furer_immerman(base: nx.Graph, *, twisted: bool) -> nx.Graph:
    """The two graphs over ``base`` that colour refinement of high dimension cannot tell apart."""
    graph = nx.Graph()
    edges = [frozenset(edge) for edge in base.edges]
    for node in base:
        around = [edge for edge in edges if node in edge]
        evens = (set(chosen) for size in range(0, len(around) + 1, 2) for chosen in combinations(around, size))
        for number, even in enumerate(evens):
            graph.add_edges_from((("middle", node, number), ("end", node, edge, edge in even)) for edge in around)
    for number, edge in enumerate(edges):
        u, v = edge
        crossed = twisted and number == 0
        graph.add_edges_from((("end", u, edge, side), ("end", v, edge, side != crossed)) for side in (False, True))
    return graph


def copies(graph: nx.Graph, count: int) -> nx.Graph:
    return nx.disjoint_union_all([graph] * count)
