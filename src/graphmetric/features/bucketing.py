"""Which graphs go into one batch."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How large a batch gets. All counts are after padding."""

    nodes: int = 2048
    """Graphs times nodes of the largest; a single larger graph is a batch of its own."""
    pairs: int = 1 << 20
    """Graphs times the square of that: the memory of attention and of distances between nodes."""
    spare: int = 1024
    """A batch below this many nodes takes in smaller graphs even if that means more padding than data."""
    largest_waste: float = 0.1
    """Above ``spare``, the share of padding at which a batch is closed."""


def group_by_size(sizes: NDArray[np.int64], limits: BatchLimits) -> Iterator[NDArray[np.int64]]:
    """Cut the positions, sorted from large to small graphs (equal sizes in the given order), into batches."""
    order = np.argsort(-sizes, kind="stable")
    begin, real, k = 0, 0, 1
    for place, size in enumerate(sizes[order].tolist()):
        if place > begin and _is_full(place - begin, real, size, k, limits):
            yield order[begin:place]
            begin, real = place, 0
        if place == begin:
            k = max(1, size)
        real += size
    if begin < len(order):
        yield order[begin:]


def _is_full(count: int, real: int, size: int, k: int, limits: BatchLimits) -> bool:
    """Whether one more graph of this size would be too much for a batch padded to k nodes."""
    padded = (count + 1) * k
    if padded > limits.nodes or padded * k > limits.pairs:
        return True
    return padded > limits.spare and size < k and real + size < (1 - limits.largest_waste) * padded
