"""Shortest paths by three loops, a row projected through its dual, and metric nearness as one linear programme."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import linprog, nnls


def close_by_loops(distances: list[list[float]]) -> list[list[float]]:
    """Floyd and Warshall."""
    x = [list(row) for row in distances]
    m = len(x)
    for k in range(m):
        for i in range(m):
            for j in range(m):
                x[i][j] = min(x[i][j], x[i][k] + x[k][j])
    return x


def project_row(base: np.ndarray, row: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """min sum w (y - row)^2 subject to |y_i - y_j| <= d_ij <= y_i + y_j, through non-negative least squares.

    With a y <= b as the constraints and v the scaled deviation, the least-norm v with A v <= c is found from the
    solution of nnls([A; c]' z ~ (0, .., 0, -1)), as Lawson and Hanson show.
    """
    m = len(row)
    lines, limits = [], []
    for i, j in combinations(range(m), 2):
        for first, second, limit in ((1, -1, base[i, j]), (-1, 1, base[i, j]), (-1, -1, -base[i, j])):
            line = np.zeros(m)
            line[i], line[j] = first, second
            lines.append(line)
            limits.append(limit)
    if not lines:
        return row.copy()
    scale = 1 / np.sqrt(weights)
    a = np.array(lines) * scale
    c = np.array(limits) - np.array(lines) @ row
    if (c >= 0).all():
        return row.copy()
    stacked = np.vstack([-a.T, -c])
    target = np.zeros(m + 1)
    target[-1] = 1
    z, _ = nnls(stacked, target, maxiter=10_000)
    residual = stacked @ z - target
    return row - scale * residual[:-1] / residual[-1]


def nearest_by_programme(
    distances: np.ndarray, norm: str, weights: np.ndarray, fixed: np.ndarray, bounds: tuple[float, float | None]
) -> float:
    """The least weighted sum of changes ("l1") or largest change ("linf"), with every triangle written out."""
    pairs = list(combinations(range(len(distances)), 2))
    number = {pair: q for q, pair in enumerate(pairs)}
    n = len(pairs)
    extra = n if norm == "l1" else 1
    lines, limits = [], []
    for triple in combinations(range(len(distances)), 3):
        for k in triple:
            i, j = (item for item in triple if item != k)
            line = np.zeros(n + extra)
            line[number[i, j]] = 1
            line[number[min(i, k), max(i, k)]] = line[number[min(j, k), max(j, k)]] = -1
            lines.append(line)
            limits.append(0.0)
    for q, pair in enumerate(pairs):
        for sign in (1, -1):
            line = np.zeros(n + extra)
            line[q] = sign * weights[pair]
            line[n + (q if norm == "l1" else 0)] = -1
            lines.append(line)
            limits.append(sign * weights[pair] * distances[pair])
    ranges = [(distances[pair], distances[pair]) if fixed[pair] else bounds for pair in pairs] + [(0, None)] * extra
    cost = np.concatenate([np.zeros(n), np.ones(extra)])
    return float(linprog(cost, A_ub=np.array(lines), b_ub=limits, bounds=ranges).fun)
