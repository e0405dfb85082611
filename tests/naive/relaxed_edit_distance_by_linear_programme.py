"""The relaxed edit distance as it is defined: a linear programme over couplings of nodes and of edges, by HiGHS.

x[i, k] says how much of node i becomes node k. y[(i, j), (k, l)] says how much of the edge between i and j becomes the
edge between k and l with i on k and j on l. The y of an edge over all edges at k sum to at most x[i, k], and the same
from the other side. Shares nothing with the package.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from tests.naive.edit_distance_by_enumeration import PlainCosts, PlainGraph


def relaxed_edit_distance(first: PlainGraph, second: PlainGraph, costs: PlainCosts) -> float:
    """The least cost of a fractional node map. Self-loops are not covered: their cost belongs to the nodes."""
    total = float(sum(costs.node_delete[a] for a in first.labels) + sum(costs.node_insert[b] for b in second.labels))
    total += sum(costs.edge(a, None) for a in first.edges.values()) + sum(
        costs.edge(None, b) for b in second.edges.values()
    )
    prices: list[float] = []
    capacity: defaultdict[tuple[object, ...], list[tuple[int, float]]] = defaultdict(list)
    variable = {}
    for i, a in enumerate(first.labels):
        for k, b in enumerate(second.labels):
            variable[i, k] = len(prices)
            capacity["row", i].append((len(prices), 1.0))
            capacity["column", k].append((len(prices), 1.0))
            prices.append(costs.node_substitute[a][b] - costs.node_delete[a] - costs.node_insert[b])
    for i, j in sorted({(min(edge), max(edge)) for edge in first.edges}):
        for k, m in sorted({edge for u, v in second.edges for edge in ((u, v), (v, u))}):
            saved = _saving(first, second, costs, (i, j), (k, m))
            for group in (("out", i, j, k), ("out", j, i, m), ("in", i, k, m), ("in", j, m, k)):
                capacity[group].append((len(prices), 1.0))
            prices.append(-saved)
    for group, members in capacity.items():
        if group[0] == "out":
            members.append((variable[group[1], group[3]], -1.0))
        elif group[0] == "in":
            members.append((variable[group[1], group[2]], -1.0))
    if not prices:
        return total
    limits = np.array([1.0 if group[0] in ("row", "column") else 0.0 for group in capacity])
    entries = [(row, *member) for row, members in enumerate(capacity.values()) for member in members]
    rows, columns, values = zip(*entries, strict=True)
    matrix = sparse.csr_matrix((values, (rows, columns)), shape=(len(capacity), len(prices)))
    found = linprog(np.array(prices, dtype=float), A_ub=matrix, b_ub=limits, method="highs")
    return total + float(found.fun)


def _saving(
    first: PlainGraph, second: PlainGraph, costs: PlainCosts, edge: tuple[int, int], image: tuple[int, int]
) -> float:
    """How much cheaper it is to turn what lies between i and j into what lies between k and l than to replace it."""
    (i, j), (k, m) = edge, image
    ways = (((i, j), (k, m)), ((j, i), (m, k))) if first.directed else (((i, j), (k, m)),)
    saved = 0
    for (a, b), (c, d) in ways:
        before, after = first.edge(a, b), second.edge(c, d)
        saved += costs.edge(before, None) + costs.edge(None, after) - costs.edge(before, after)
    return float(saved)
