"""The coupling distance as it is defined: a linear programme over masses of nodes and of directed edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.optimize import linprog


class LabelledStates(NamedTuple):
    """One graph: what its nodes are, and what its edges are as seen in either direction."""

    nodes: list[tuple[tuple[int, int], np.ndarray]]
    """Codes of label and loop, and state."""
    arcs: dict[tuple[int, int], tuple[tuple[int, int], np.ndarray]]
    """Both directions of every edge: codes and state, seen from the tail."""


NOTHING = ((0, 0), np.zeros(1))


def one_image_distance(left: LabelledStates, right: LabelledStates, node_price: float, edge_price: float) -> float:
    """The largest of the least costs when one node of either graph may have one image only, whichever that is."""
    rows, columns = range(len(left.nodes)), range(len(right.nodes))
    least = coupling_distance(left, right, node_price, edge_price)
    if not rows or not columns:
        return least
    apart_from = [[[(i, other) for other in columns if other != k] for k in columns] for i in rows]
    apart_from += [[[(other, k) for other in rows if other != i] for i in rows] for k in columns]
    return max(
        min(coupling_distance(left, right, node_price, edge_price, apart) for apart in choices)
        for choices in apart_from
    )


def coupling_distance(
    left: LabelledStates,
    right: LabelledStates,
    node_price: float,
    edge_price: float,
    apart: Sequence[tuple[int, int]] = (),
) -> float:
    """The least cost; every arc pair and its reversal are one variable, and slack variables are what is left.

    Pairs of nodes that are ``apart`` have no mass.
    """
    n, m = len(left.nodes), len(right.nodes)
    edges = [(i, j) for i, j in left.arcs if i < j]
    ours, theirs = list(left.arcs), list(right.arcs)
    x_of = {(i, k): i * m + k for i in range(n) for k in range(m)}
    y_of = {}
    for edge in edges:
        for image in theirs:
            y_of[edge, image] = y_of[edge[::-1], image[::-1]] = n * m + len(y_of) // 2
    count = n * m + len(y_of) // 2
    saving = np.zeros(count)

    def change(one: tuple, other: tuple, price: float, first: bool) -> float:
        codes = sum(a != b for a, b in zip(one[0], other[0], strict=True))
        return price * codes + float(np.linalg.norm(one[1] - other[1]))

    def removal(one: tuple, price: float, base: float) -> float:
        return price * (base + sum(code != 0 for code in one[0][1 if base else 0 :])) + float(np.linalg.norm(one[1]))

    total = sum(removal(node, node_price, 1.0) for graph in (left, right) for node in graph.nodes)
    total += sum(removal(graph.arcs[i, j], edge_price, 0.0) for graph in (left, right) for i, j in graph.arcs if i < j)
    for (i, k), at in x_of.items():
        one, other = left.nodes[i], right.nodes[k]
        saving[at] = removal(one, node_price, 1.0) + removal(other, node_price, 1.0)
        saving[at] -= change(one, other, node_price, True)
    for edge in edges:
        for image in theirs:
            one, other = left.arcs[edge], right.arcs[image]
            saving[y_of[edge, image]] = (
                removal(one, edge_price, 0.0) + removal(other, edge_price, 0.0) - change(one, other, edge_price, False)
            )
    rows: list[dict[int, float]] = [{x_of[i, k]: 1.0 for k in range(m)} for i in range(n)]
    rows += [{x_of[i, k]: 1.0 for i in range(n)} for k in range(m)]
    limits = [1.0] * (n + m)
    for i, j in ours:
        for k in range(m):
            row = {x_of[i, k]: -1.0}
            for image in theirs:
                if image[0] == k:
                    row[y_of[(i, j), image]] = 1.0
            rows.append(row)
            limits.append(0.0)
    for image in theirs:
        for i in range(n):
            row = {x_of[i, image[0]]: -1.0}
            for arc in ours:
                if arc[0] == i:
                    row[y_of[arc, image]] = 1.0
            rows.append(row)
            limits.append(0.0)
    if count == 0:
        return total
    entries = [(r, c, value) for r, row in enumerate(rows) for c, value in row.items()]
    matrix = sparse.csr_array(
        ([value for *_, value in entries], tuple(zip(*((r, c) for r, c, _ in entries), strict=True))),
        shape=(len(rows), count),
    )
    most = np.full(count, np.inf)
    most[[x_of[pair] for pair in apart]] = 0.0
    bounds = np.column_stack([np.zeros(count), most])
    found = linprog(-saving, A_ub=matrix, b_ub=limits, bounds=bounds, method="highs")
    return total + float(found.fun)
