"""Graph kernels by their definitions: strings, enumeration, a linear program, determinants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np
from scipy.optimize import linprog

from tests.naive.weisfeiler_lehman import colour_strings

PlainGraph = tuple[Sequence[Any], Sequence[tuple[int, int]]]
"""Tags of the nodes, undirected edges without loops."""


def colours(graph: PlainGraph, rounds: int) -> list[list[str]]:
    tags, edges = graph
    return colour_strings(tags, [(u, v, None) for u, v in edges], False, rounds)


def wl_subtree_kernel(first: PlainGraph, second: PlainGraph, rounds: int) -> int:
    """Pairs of nodes with equal colours, over all rounds."""
    rounds_of_both = zip(colours(first, rounds), colours(second, rounds), strict=True)
    return sum(a == b for one, other in rounds_of_both for a in one for b in other)


def graphlet_shares(graph: PlainGraph, size: int) -> dict[tuple[int, ...], float]:
    """Shares of the shapes of all sets of nodes of this size; a small graph is filled up with isolated nodes."""
    tags, edges = graph
    joined = {frozenset(edge) for edge in edges}
    found: Counter[tuple[int, ...]] = Counter()
    for chosen in combinations(range(max(len(tags), size)), size):
        shapes = (
            tuple(int(frozenset(pair) in joined) for pair in combinations(order, 2)) for order in permutations(chosen)
        )
        found[min(shapes)] += 1
    total = sum(found.values())
    return {shape: count / total for shape, count in found.items()}


def wasserstein_distance(first: PlainGraph, second: PlainGraph, rounds: int) -> float:
    """The cheapest transport of equal masses on the nodes of one graph to those of the other."""
    left, right = (list(zip(*colours(graph, rounds), strict=True)) for graph in (first, second))
    n, m = len(left), len(right)
    cost = [sum(x != y for x, y in zip(a, b, strict=True)) / (rounds + 1) for a in left for b in right]
    leaves = np.kron(np.eye(n), np.ones(m))
    arrives = np.kron(np.ones(n), np.eye(m))
    masses = [1 / n] * n + [1 / m] * m
    return float(linprog(cost, A_eq=np.vstack([leaves, arrives]), b_eq=masses, method="highs").fun)


def multiscale_laplacian_kernel(first: PlainGraph, second: PlainGraph, levels: int, eta: float, gamma: float) -> float:
    """Kondor and Pan (2016), Definitions 1 and 4, with exact joint bases."""
    n = len(first[0])
    tags = [*first[0], *second[0]]
    adjacency = np.zeros((len(tags), len(tags)))
    for u, v in [*first[1], *((u + n, v + n) for u, v in second[1])]:
        adjacency[u, v] = adjacency[v, u] = 1

    def compare(one: list[int], other: list[int], kernel: np.ndarray) -> float:
        both = one + other
        values, vectors = np.linalg.eigh(kernel[np.ix_(both, both)])
        kept = values > 1e-10
        basis = vectors[:, kept] * np.sqrt(values[kept])
        covariances = []
        for nodes, rows in ((one, basis[: len(one)]), (other, basis[len(one) :])):
            inside = adjacency[np.ix_(nodes, nodes)]
            laplacian = np.diag(inside.sum(axis=1)) - inside
            smooth = np.linalg.inv(laplacian + eta * np.eye(len(nodes)))
            covariances.append(rows.T @ smooth @ rows + gamma * np.eye(kept.sum()))
        s, t = covariances
        mean = np.linalg.inv(np.linalg.inv(s) / 2 + np.linalg.inv(t) / 2)
        return float(np.linalg.det(mean) ** 0.5 / (np.linalg.det(s) * np.linalg.det(t)) ** 0.25)

    kernel = np.array([[float(a == b) for b in tags] for a in tags])
    for radius in range(1, levels + 1):
        steps = np.linalg.matrix_power(adjacency + np.eye(len(tags)), radius)
        balls = [np.flatnonzero(row).tolist() for row in steps]
        kernel = np.array([[compare(a, b, kernel) for b in balls] for a in balls])
    return compare(list(range(n)), list(range(n, len(tags))), kernel)
