"""The matching distance, of nodes alone or with edges, by trying every bijection; imports nothing from the package."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations, permutations
from typing import NamedTuple

State = Sequence[float]


class PricedGraph(NamedTuple):
    """States of nodes, labels of edges as the node that is named first sees them, and what an edge is worth."""

    states: Sequence[State]
    edges: Mapping[tuple[int, int], Hashable]
    price: float


def matching_distance(left: Sequence[State], right: Sequence[State], dim: int) -> float:
    """The least sum of distances over all bijections, both sides padded with zero vectors to as many as both have."""
    zero = [0.0] * dim
    padded = [*left, *[zero] * len(right)]
    others = [*right, *[zero] * len(left)]
    return min(sum(math.dist(a, b) for a, b in zip(padded, order, strict=True)) for order in permutations(others))


def priced_distance(left: PricedGraph, right: PricedGraph, dim: int) -> float:
    """The least price of nodes and edges over all bijections, both graphs padded as above."""
    zero, size = [0.0] * dim, len(left.states) + len(right.states)
    ours, theirs = ([*graph.states, *[zero] * (size - len(graph.states))] for graph in (left, right))
    costs = []
    for image in permutations(range(size)):
        nodes = sum(math.dist(ours[i], theirs[image[i]]) for i in range(size))
        edges = 0.0
        for i, j in combinations(range(size), 2):
            change: Counter[Hashable] = Counter()
            for graph, ends, sign in ((left, (i, j), 1), (right, (image[i], image[j]), -1)):
                if ends in graph.edges:
                    change[graph.edges[ends]] += sign * graph.price  # type: ignore[assignment]
            gained, lost = (sum(max(0.0, side * part) for part in change.values()) for side in (1, -1))
            edges += max(gained, lost)
        costs.append(nodes + edges)
    return min(costs)
