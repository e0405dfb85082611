"""The matching distance by trying every bijection; imports nothing from the package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import permutations

State = Sequence[float]


def matching_distance(left: Sequence[State], right: Sequence[State], dim: int) -> float:
    """The least sum of distances over all bijections, both sides padded with zero vectors to as many as both have."""
    zero = [0.0] * dim
    padded = [*left, *[zero] * len(right)]
    others = [*right, *[zero] * len(left)]
    return min(sum(math.dist(a, b) for a, b in zip(padded, order, strict=True)) for order in permutations(others))
