"""Triangle fixing with a multiplier for each side of each triangle, in the order of the triangles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.compiling import entry, hot_part


class Certificate(NamedTuple):
    """What all triangles say about a matrix and its multipliers."""

    violation: float
    """Largest x_ij - x_ik - x_jk."""
    slackness: float
    """Sum of multiplier times that, over all triangles: the lower bound of the objective minus the objective."""


@entry
def sweep_triangles(x: NDArray[np.float64], z: NDArray[np.float64]) -> float:
    """Fix every side of every triangle i < j < k once; the sum of the changes of all distances.

    ``x`` is changed above its diagonal only. ``z`` has three multipliers per triangle, of the sides ij, ik, jk.
    """
    m, t, changes = len(x), 0, 0.0
    for i in range(m):
        for j in range(i + 1, m):
            for k in range(j + 1, m):
                theta = _step(x[i, j] - x[i, k] - x[j, k], z, t)
                x[i, j] += theta
                x[i, k] -= theta
                x[j, k] -= theta
                changes += abs(theta)
                theta = _step(x[i, k] - x[i, j] - x[j, k], z, t + 1)
                x[i, k] += theta
                x[i, j] -= theta
                x[j, k] -= theta
                changes += abs(theta)
                theta = _step(x[j, k] - x[i, j] - x[i, k], z, t + 2)
                x[j, k] += theta
                x[i, j] -= theta
                x[i, k] -= theta
                changes += abs(theta)
                t += 3
    return 3 * changes


@hot_part
def _step(excess: float, z: NDArray[np.float64], t: int) -> float:
    """The correction of the long side; takes back at most what this triangle has moved before."""
    theta = min(-excess / 3, z[t])
    z[t] -= theta
    return theta


@entry
def certify_triangles(x: NDArray[np.float64], z: NDArray[np.float64]) -> Certificate:
    """Largest violation and complementary slackness; ``x`` is read above its diagonal only."""
    m, t, violation, slackness = len(x), 0, -np.inf, 0.0
    for i in range(m):
        for j in range(i + 1, m):
            for k in range(j + 1, m):
                first = x[i, j] - x[i, k] - x[j, k]
                second = x[i, k] - x[i, j] - x[j, k]
                third = x[j, k] - x[i, j] - x[i, k]
                violation = max(violation, first, second, third)
                slackness += z[t] * first + z[t + 1] * second + z[t + 2] * third
                t += 3
    return Certificate(violation, slackness)
