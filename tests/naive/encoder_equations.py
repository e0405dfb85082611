"""Eq. 1-8 of the paper, transcribed: lists, loops and the math module."""

from __future__ import annotations

import math

Vector = list[float]
Matrix = list[list[float]]


def embed_tag(table: Matrix, code: int) -> Vector:
    """Eq. 1 for a tag."""
    return list(table[code])


def embed_vector(inner: Matrix, inner_bias: Vector, outer: Matrix, outer_bias: Vector, x: Vector) -> Vector:
    """Eq. 1 for a real vector: an MLP."""
    hidden = [_gelu(value + b) for value, b in zip(matrix_times(inner, x), inner_bias, strict=True)]
    return [value + b for value, b in zip(matrix_times(outer, hidden), outer_bias, strict=True)]


def position_embed(code: int, d_h: int) -> Vector:
    """Eq. 2 with l = 0 .. d_h / 2 - 1 and the exponents as printed."""
    entries: Vector = []
    for l in range(d_h // 2):  # noqa: E741
        entries.append(math.sin(code / 10000 ** (2 * l / d_h)))
        entries.append(math.cos(code / 10000 ** ((2 * l + 1) / d_h)))
    return entries


def embed_weights(columns: Matrix, w_i: Vector) -> Vector:
    """Eq. 3, first line: a linear map of w_i, cut or filled up with zeros."""
    width = len(columns[0])
    filled = (w_i + [0.0] * width)[:width]
    return matrix_times(columns, filled)


def input_embedding(parts: list[Vector]) -> Vector:
    """Eq. 4."""
    return [sum(values) for values in zip(*parts, strict=True)]


def g_transformer(states: Matrix, w_q: Matrix, w_k: Matrix, w_v: Matrix, residual: Matrix) -> Matrix:
    """Eq. 6 and 7 with one head; weights act from the right."""
    d_h = len(states[0])
    query, key, value = (product(states, w) for w in (w_q, w_k, w_v))
    out = []
    for i in range(len(states)):
        scores = [sum(a * b for a, b in zip(query[i], row, strict=True)) / math.sqrt(d_h) for row in key]
        shares = [math.exp(score) for score in scores]
        total = sum(shares)
        mixed = [sum(shares[j] / total * value[j][c] for j in range(len(states))) for c in range(d_h)]
        out.append([a + b for a, b in zip(mixed, residual[i], strict=True)])
    return out


def fusion(states: Matrix, k_max: int) -> Vector:
    """Eq. 8: zero rows up to k_max change nothing."""
    return [sum(row[c] for row in states) / k_max for c in range(len(states[0]))]


def layer_norm(x: Vector, gain: Vector, shift: Vector, epsilon: float = 1e-5) -> Vector:
    """What the BERT block puts after each part."""
    mean = sum(x) / len(x)
    variance = sum((value - mean) ** 2 for value in x) / len(x)
    scaled = [(value - mean) / math.sqrt(variance + epsilon) for value in x]
    return [value * g + s for value, g, s in zip(scaled, gain, shift, strict=True)]


def normalised_adjacency(weights: Matrix) -> Matrix:
    """D^-1/2 (W + I) D^-1/2."""
    n = len(weights)
    own = [[weights[i][j] + (i == j) for j in range(n)] for i in range(n)]
    leaving = [sum(abs(value) for value in row) for row in own]
    entering = [sum(abs(own[i][j]) for i in range(n)) for j in range(n)]
    return [[own[i][j] / math.sqrt(leaving[i] * entering[j]) for j in range(n)] for i in range(n)]


def product(a: Matrix, b: Matrix) -> Matrix:
    """Matrix product."""
    return [[sum(row[m] * b[m][j] for m in range(len(b))) for j in range(len(b[0]))] for row in a]


def matrix_times(a: Matrix, x: Vector) -> Vector:
    """Matrix times column."""
    return [sum(value * x[j] for j, value in enumerate(row)) for row in a]


def _gelu(x: float) -> float:
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))
