"""Every score of predicted distances, transcribed from its definition with plain lists."""

from __future__ import annotations

import math
from itertools import combinations, permutations

Values = list[float]
Matrix = list[list[float]]


def mean_ranks(values: Values) -> Values:
    """One more than the number of smaller values, plus half the number of other equal ones."""
    return [1 + sum(w < v for w in values) + (sum(w == v for w in values) - 1) / 2 for v in values]


def spearman(a: Values, b: Values) -> float:
    """Pearson's correlation of the ranks."""
    ranks_a, ranks_b = mean_ranks(a), mean_ranks(b)
    middle = (len(a) + 1) / 2
    cross = math.fsum((x - middle) * (y - middle) for x, y in zip(ranks_a, ranks_b, strict=True))
    squares = [math.fsum((x - middle) ** 2 for x in ranks) for ranks in (ranks_a, ranks_b)]
    return cross / math.sqrt(squares[0] * squares[1])


def tau_b(a: Values, b: Values) -> float:
    """(concordant - discordant) / sqrt((pairs not tied in a) (pairs not tied in b))."""
    both = untied_a = untied_b = 0
    for i, j in combinations(range(len(a)), 2):
        x, y = (a[i] > a[j]) - (a[i] < a[j]), (b[i] > b[j]) - (b[i] < b[j])
        both, untied_a, untied_b = both + x * y, untied_a + x * x, untied_b + y * y
    return both / math.sqrt(untied_a * untied_b)


def precision(predicted: Values, true: Values, k: int) -> float:
    """|top-k by prediction ∩ {items whose true distance <= the k-th smallest true distance}| / k."""
    k = min(k, len(true))
    within = {i for i in range(len(true)) if true[i] <= sorted(true)[k - 1]}
    return len(set(_first(predicted, k)) & within) / k


def strict_precision(predicted: Values, true: Values, k: int) -> float:
    """|top-k by prediction ∩ top-k by truth| / k."""
    k = min(k, len(true))
    return len(set(_first(predicted, k)) & set(_first(true, k))) / k


def generous_precision(predicted: Values, true: Values, k: int) -> float:
    """The same with ties of the prediction inclusive as well, at most k counted."""
    k = min(k, len(true))
    taken, within = ({i for i in range(len(v)) if v[i] <= sorted(v)[k - 1]} for v in (predicted, true))
    return min(k, len(taken & within)) / k


def squared_error(predicted: Values, true: Values) -> float:
    return sum((p - t) ** 2 for p, t in zip(predicted, true, strict=True)) / len(true)


def absolute_error(predicted: Values, true: Values) -> float:
    return sum(abs(p - t) for p, t in zip(predicted, true, strict=True)) / len(true)


def hits(predicted: Values, true: Values) -> float:
    return sum(round(p) == t for p, t in zip(predicted, true, strict=True)) / len(true)


def deepest_triangle(matrix: Matrix) -> float:
    """The largest d(i, j) - d(i, k) - d(k, j) over three different graphs; 0 where none is positive."""
    triples = permutations(range(len(matrix)), 3)
    return max([0.0, *(matrix[i][j] - matrix[i][k] - matrix[k][j] for i, j, k in triples)])


def _first(values: Values, k: int) -> list[int]:
    return sorted(range(len(values)), key=lambda i: (values[i], i))[:k]
