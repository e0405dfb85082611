"""The edge matching distance as it is defined: a linear programme over doubly stochastic matrices of padded graphs."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog


def edge_matching_distance(
    left: tuple[np.ndarray, np.ndarray], right: tuple[np.ndarray, np.ndarray], price: float
) -> float:
    """Of (states, adjacency) of two graphs, both padded to n + m nodes."""
    size = len(left[0]) + len(right[0])
    if size == 0:
        return 0.0
    (states, a), (others, b) = (
        (np.pad(h, ((0, size - len(h)), (0, 0))), np.pad(adjacency, ((0, size - len(h)),) * 2))
        for h, adjacency in (left, right)
    )
    costs = np.linalg.norm(states[:, None] - others[None], axis=-1)
    one, square = sparse.identity(size), sparse.identity(size * size)
    difference = sparse.kron(a, one) - sparse.kron(one, b.T)  # of S read row by row: A S - S B
    sums = sparse.vstack([sparse.kron(one, np.ones((1, size))), sparse.kron(np.ones((1, size)), one)])
    equations = sparse.bmat([[difference, -square, square], [sums, None, None]]).tocsc()
    found = linprog(
        np.concatenate([costs.ravel(), np.full(2 * size * size, price / 2)]),
        A_eq=equations,
        b_eq=np.concatenate([np.zeros(size * size), np.ones(2 * size)]),
    )
    return float(found.fun)
