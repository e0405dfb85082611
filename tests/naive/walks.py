"""Return probabilities by powers of a matrix of plain lists."""

from __future__ import annotations

Matrix = list[list[float]]


def return_chances(weights: Matrix, steps: int) -> Matrix:
    """Diagonals of the first powers of the row-normalised matrix of absolute weights; one row per node."""
    n = len(weights)
    total = [sum(abs(w) for w in row) for row in weights]
    step = [[abs(weights[i][j]) / total[i] if total[i] else 0.0 for j in range(n)] for i in range(n)]
    power = [[float(i == j) for j in range(n)] for i in range(n)]
    chances: Matrix = [[] for _ in range(n)]
    for _ in range(steps):
        power = [[sum(power[i][m] * step[m][j] for m in range(n)) for j in range(n)] for i in range(n)]
        for i in range(n):
            chances[i].append(power[i][i])
    return chances
