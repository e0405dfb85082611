"""The star matching by trying every bijection of nodes and of edges; imports nothing from the package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

FULL, NONE = 8, 12
"""Up to this many edges at a node all count; from the other number on none does."""


class Star(NamedTuple):
    """A node with the edges at it."""

    state: Sequence[float]
    halves: Sequence[tuple[Sequence[float], object]]
    """For each edge its state, as the node sees it, and its label."""


def star_distance(left: Sequence[Star], right: Sequence[Star], price: float) -> float:
    """The least sum of costs over all bijections, both sides padded with nothing to as many as both have."""
    padded = [*left, *[None] * len(right)]
    others = [*right, *[None] * len(left)]
    costs = [[_cost(a, b, price) for b in others] for a in padded]
    places = range(len(others))
    return min(sum(costs[i][k] for i, k in enumerate(order)) for order in permutations(places))


def _cost(a: Star | None, b: Star | None, price: float) -> float:
    if a is None or b is None:
        star = a or b
        return 0.0 if star is None else math.hypot(*star.state) + sum(_alone(half, price) for half in _scaled(star))
    left, right = _scaled(a), _scaled(b)
    mine, others = [*left, *[None] * len(right)], [*right, *[None] * len(left)]
    edges = min(sum(_change(x, y, price) for x, y in zip(mine, order, strict=True)) for order in permutations(others))
    return math.dist(a.state, b.state) + edges


Half = tuple[list[float], object, float]


def _scaled(star: Star) -> list[Half]:
    """The halves that count: state, label and share."""
    share = min(1.0, max(0.0, (NONE - len(star.halves)) / (NONE - FULL)))
    return [([share * number for number in state], label, share) for state, label in star.halves if share > 0]


def _alone(half: Half, price: float) -> float:
    return math.hypot(*half[0]) + price * half[2]


def _change(x: Half | None, y: Half | None, price: float) -> float:
    if x is None or y is None:
        half = x or y
        return 0.0 if half is None else _alone(half, price)
    labels = abs(x[2] - y[2]) if x[1] == y[1] else max(x[2], y[2])
    return math.dist(x[0], y[0]) + price * labels
