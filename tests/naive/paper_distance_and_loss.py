"""Eq. 9, 10 and 11 as printed, in plain Python; imports nothing from the package."""

from __future__ import annotations

import math
from collections.abc import Sequence

Vector = Sequence[float]
Matrix = Sequence[Sequence[float]]


def distance(z_i: Vector, z_j: Vector, layers: Sequence[Matrix]) -> float:
    """Eq. 9 with the given weights, log(1 + x) between layers and no bias."""
    values = [(a - b) ** 2 for a, b in zip(z_i, z_j, strict=True)]
    for depth, weights in enumerate(layers):
        values = [sum(w * v for w, v in zip(row, values, strict=True)) for row in weights]
        if depth < len(layers) - 1:
            values = [math.log(1 + value) for value in values]
    (fc,) = values
    return 1.0 - math.exp(-fc)


def mask(truth: Sequence[Sequence[float | None]], alpha: float, beta: float) -> list[list[float]]:
    """Eq. 11; None is unlabelled."""
    size = len(truth)
    weights = [[0.0] * size for _ in range(size)]
    for i in range(size):
        for j in range(size):
            if i == j:
                weights[i][j] = beta
            elif truth[i][j] is not None:
                weights[i][j] = 1.0
            else:
                weights[i][j] = alpha
    return weights


def loss(predicted: Matrix, truth: Sequence[Sequence[float | None]], weights: Matrix, p: float) -> float:
    """Eq. 10, the norm over entries; unlabelled distances are 1."""
    total = 0.0
    for i, row in enumerate(predicted):
        for j, value in enumerate(row):
            known = truth[i][j]
            total += abs(weights[i][j] * (value - (1.0 if known is None else known))) ** p
    return total ** (1 / p)
