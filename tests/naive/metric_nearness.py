"""The nearest metric as a quadratic program with every constraint written out, and its optimality conditions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.optimize import lsq_linear, nnls


@dataclass
class Conditions:
    """By how much the conditions of Karush, Kuhn and Tucker fail; all zero at the optimum."""

    violation: float
    negative_multiplier: float
    slackness: float
    stationarity: float
    fixed: float


def list_triangles(m):
    """(i, j, k) for each x_ij <= x_ik + x_jk."""
    return [(i, j, k) for i, j in combinations(range(m), 2) for k in range(m) if k not in (i, j)]


def find_violations(d, threshold):
    """(depth, i, j, k), deepest first."""
    found = []
    for i, j, k in list_triangles(len(d)):
        depth = float(d[i][j]) - (float(d[i][k]) + float(d[j][k]))
        if depth > threshold:
            found.append((depth, i, j, k))
    return sorted(found, reverse=True)


def solve_nearest_metric(d, weights=None, fixed=None, bounds=None):
    """Least-distance programming by non-negative least squares (Lawson and Hanson, chapter 23).

    With y = sqrt(w) (x - d) on the free pairs the program is min |y| subject to G y >= h; non-negative least squares on
    [G'; h'] u = (0, ..., 0, 1) has a residual r with y = -r[:-1] / r[-1].
    """
    m = len(d)
    pairs = [(i, j) for i, j in combinations(range(m), 2) if fixed is None or not fixed[i][j]]
    column = {pair: c for c, pair in enumerate(pairs)}
    root = np.array([1.0 if weights is None else weights[i][j] for i, j in pairs]) ** 0.5
    rows, right = [], []

    def demand(terms, limit):
        """sum of sign * x over the terms <= limit."""
        row, at_given = np.zeros(len(pairs)), 0.0
        for sign, (i, j) in terms:
            at_given += sign * d[i][j]
            if (i, j) in column:
                row[column[i, j]] += sign
        if row.any():
            rows.append(-row / root)
            right.append(at_given - limit)

    for i, j, k in list_triangles(m):
        demand([(1, (i, j)), (-1, (min(i, k), max(i, k))), (-1, (min(j, k), max(j, k)))], 0.0)
    for pair in pairs if bounds is not None else []:
        demand([(-1, pair)], -bounds[0])
        demand([(1, pair)], bounds[1])
    x = np.array(d, dtype=float)
    if not rows:
        return x
    system = np.vstack([np.array(rows).T, right])
    target = np.zeros(len(system))
    target[-1] = 1.0
    multipliers, _ = nnls(system, target, maxiter=100 * system.shape[1])
    if (system.T @ (target - system @ multipliers)).max() > 1e-12:  # nnls may stop early where many multipliers tie
        multipliers = lsq_linear(system, target, bounds=(0, np.inf), method="bvls", tol=1e-15, max_iter=10_000).x
    residual = system @ multipliers - target
    moved = -residual[:-1] / residual[-1] / root
    for (i, j), by in zip(pairs, moved, strict=True):
        x[i, j] = x[j, i] = d[i][j] + by
    return x


def check_conditions(
    d, x, triangles, multipliers, bounded=(), bound_multipliers=(), *, weights=None, fixed=None, bounds=None
):
    """How far x and the multipliers are from the optimum."""
    m = len(d)
    force = np.zeros((m, m))
    slackness = 0.0
    for (i, j, k), multiplier in zip(triangles, multipliers, strict=True):
        assert i < j
        slackness = max(slackness, abs(multiplier * (x[i][j] - x[i][k] - x[j][k])))
        force[i, j] += multiplier
        force[min(i, k), max(i, k)] -= multiplier
        force[min(j, k), max(j, k)] -= multiplier
    for (i, j), multiplier in zip(bounded, bound_multipliers, strict=True):
        assert i < j
        limit = bounds[1] if multiplier > 0 else bounds[0]
        slackness = max(slackness, abs(multiplier * (x[i][j] - limit)))
        force[i, j] += multiplier
    violation = max((depth for depth, *_ in find_violations(x, 0.0)), default=0.0)
    stationarity = moved = 0.0
    for i, j in combinations(range(m), 2):
        if bounds is not None:
            violation = max(violation, bounds[0] - x[i][j], x[i][j] - bounds[1])
        if fixed is not None and fixed[i][j]:
            moved = max(moved, abs(x[i][j] - d[i][j]))
        else:
            weight = 1.0 if weights is None else weights[i][j]
            stationarity = max(stationarity, abs(weight * (x[i][j] - d[i][j]) + force[i, j]))
    return Conditions(violation, max([0.0, *(-value for value in multipliers)]), slackness, stationarity, moved)


def find_first_copies(*matrices):
    """For each item the first one with which it can be swapped in all the matrices without changing any."""
    m = len(matrices[0])
    return [next(p for p in range(m) if all(is_same_swapped(matrix, p, q) for matrix in matrices)) for q in range(m)]


def is_same_swapped(matrix, p, q):
    """Whether the matrix stays the same off its diagonal when items p and q change places."""
    m = len(matrix)
    to = {p: q, q: p}
    return all(matrix[i][j] == matrix[to.get(i, i)][to.get(j, j)] for i, j in combinations(range(m), 2))
