"""Graphs with labels, and which graphs are held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.training import TrainingLabels

_MOST_HELD_OUT = 500
"""Graphs that a fraction holds out for validation; more would cost labels and tell nothing new."""

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Supervision:
    """Graphs, and labels that name them by position."""

    graphs: GraphCollection
    """Those that labels speak of."""
    training: TrainingLabels
    validation: TrainingLabels
    """Pairs with at least one graph that was held out."""
    origin: str
    """Where the labels come from, in words."""
    mutated: int = 0
    """How many of the graphs in training pairs are mutations of training graphs."""
    cpu_seconds: float = 0.0
    """What the labels took to compute."""


def hold_out(count: int, val: ArrayLike | None, fraction: float, seed: int) -> Positions:
    """Positions of the validation graphs, ascending: the given ones, or a fraction drawn by seed."""
    if val is None:
        if not 0 <= fraction < 1:
            raise InvalidArgument(f"validation_fraction must be in [0, 1); got {fraction}")
        wanted = min(round(fraction * count), _MOST_HELD_OUT, max(0, count - 2))
        return np.sort(np.random.default_rng(seed).permutation(count)[:wanted])
    chosen = np.unique(np.asarray(val))
    if chosen.size and (chosen.dtype.kind not in "iu" or chosen[0] < 0 or chosen[-1] >= count):
        raise InvalidArgument(f"val must hold positions of graphs, 0..{count - 1}; got {val!r}")
    if len(chosen) >= count:
        raise InvalidArgument(f"val holds out all of the {count} graphs; nothing is left to train on")
    return chosen.astype(np.int64)
