"""Formulas of the neural baselines for one pair of graphs, in plain numpy and loops."""

from __future__ import annotations

import math

import numpy as np

Array = np.ndarray


def graph_convolution(adjacency: Array, states: Array, weight: Array, bias: Array) -> Array:
    """D^-1/2 (A + I) D^-1/2 H W + b, node by node; ``weight`` acts from the right."""
    n = len(states)
    own = adjacency + np.eye(n)
    degree = own.sum(axis=1)
    out = np.tile(bias, (n, 1))
    for i in range(n):
        for j in range(n):
            out[i] += own[i, j] / math.sqrt(degree[i] * degree[j]) * (states[j] @ weight)
    return out


def attention_pooling(states: Array, weight: Array) -> Array:
    """Sum of sigmoid(h_i . c) h_i with c = tanh(mean of W h_i)."""
    context = np.tanh(np.mean([weight @ h for h in states], axis=0))
    return sum(sigmoid(h @ context) * h for h in states)


def neural_tensor(z: Array, other: Array, tensor: Array, linear: Array, bias: Array) -> Array:
    """ReLU(z' W_k other + V [z; other] + b), slice by slice."""
    joined = np.concatenate([z, other])
    return np.array([max(0.0, z @ tensor[k] @ other + linear[k] @ joined + bias[k]) for k in range(len(tensor))])


def similarity_histogram(states: Array, others: Array, bins: int) -> Array:
    """Shares of sigmoid(h_i . h'_j) in equal bins of [0, 1], the smaller graph filled up with zero rows."""
    n = max(len(states), len(others))
    filled = [np.vstack([side, np.zeros((n - len(side), side.shape[1]))]) for side in (states, others)]
    counts = np.zeros(bins)
    for h in filled[0]:
        for g in filled[1]:
            counts[min(bins - 1, math.floor(sigmoid(h @ g) * bins))] += 1
    return counts / n**2


def simgnn_distance(vector: Array, layers: list[tuple[Array, Array]]) -> float:
    """1 - sigmoid of an MLP with ReLU between its layers."""
    for weight, bias in layers[:-1]:
        vector = np.maximum(0, weight @ vector + bias)
    weight, bias = layers[-1]
    return 1 - sigmoid(float((weight @ vector + bias)[0]))


def hausdorff_edits(states: Array, others: Array) -> float:
    """Each node pays the least of its norm and of half its distance to a node of the other graph."""
    total = 0.0
    for own, other in ((states, others), (others, states)):
        for h in own:
            prices = [np.linalg.norm(h), *(np.linalg.norm(h - g) / 2 for g in other)]
            total += min(prices)
    return total


def cross_attention(states: Array, others: Array) -> Array:
    """Of each node: the other graph's states, weighted by softmax of the dot products over the root of the width."""
    out = np.zeros_like(states)
    for i, h in enumerate(states):
        shares = [math.exp(h @ g / math.sqrt(len(h))) for g in others]
        for share, g in zip(shares, others, strict=True):
            out[i] += share / sum(shares) * g
    return out


def edge_messages(adjacency: Array, states: Array, own: Array, bias: Array, sent: Array, out: Array) -> Array:
    """Sum over neighbours of A_ij W_2 ReLU(W_own h_i + b + W_sent h_j); the matrices act from the left."""
    received = np.zeros_like(states)
    for i in range(len(states)):
        for j in range(len(states)):
            hidden = np.maximum(0, own @ states[i] + bias + sent @ states[j])
            received[i] += adjacency[i, j] * (out @ hidden)
    return received


def gated_update(seen: Array, state: Array, inner: tuple[Array, Array], outer: tuple[Array, Array]) -> Array:
    """A GRU cell: ``inner`` is (weights, bias) for what is seen, ``outer`` for the state, gates reset, keep, new."""
    a, b = inner[0] @ seen + inner[1], outer[0] @ state + outer[1]
    width = len(state)
    reset, keep = (sigmoid_of(a[part] + b[part]) for part in (slice(0, width), slice(width, 2 * width)))
    new = np.tanh(a[2 * width :] + reset * b[2 * width :])
    return (1 - keep) * new + keep * state


def gated_sum(states: Array, gate: tuple[Array, Array], value: tuple[Array, Array]) -> Array:
    """Sum over nodes of sigmoid(gate) times value."""
    return sum(sigmoid_of(gate[0] @ h + gate[1]) * (value[0] @ h + value[1]) for h in states)


def squared_distance(z: Array, other: Array, weight: Array) -> float:
    """1 - exp(-w . (z - z')^2)."""
    return 1 - math.exp(-float(weight @ (z - other) ** 2))


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def sigmoid_of(x: Array) -> Array:
    return np.array([sigmoid(value) for value in x])
