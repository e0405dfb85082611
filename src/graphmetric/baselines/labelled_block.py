"""A few training graphs and the labels among them, for what has a handful of parameters to fit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.baselines.method import TrainingTask
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection


class LabelledBlock(NamedTuple):
    """Graphs few enough for a square matrix, and known pairs of them."""

    graphs: GraphCollection
    pairs: NDArray[np.int64]
    """(n, 2): positions in ``graphs``."""
    distances: NDArray[np.float64]
    """In edits; of a pair of which only bounds are known, their middle."""

    @property
    def mean_sizes(self) -> NDArray[np.float64]:
        """(n1 + n2) / 2 of each pair."""
        sizes: NDArray[np.float64] = self.graphs.sizes[self.pairs].mean(axis=1)
        return sizes


def sample_labelled_block(task: TrainingTask, largest: int = 500) -> LabelledBlock:
    """The graphs of randomly drawn training labels, ``largest`` at most, with all training labels among them."""
    labels = task.training
    bounded = np.flatnonzero(np.isfinite(labels.upper) & (labels.pairs[:, 0] != labels.pairs[:, 1]))
    if len(bounded) == 0:
        raise InvalidArgument(
            f"none of the {len(labels)} training labels bounds the distance of two graphs; nothing can be fitted"
        )
    drawn = np.random.default_rng(task.seed).permutation(labels.pairs[bounded]).ravel()
    graphs, first_drawn = np.unique(drawn, return_index=True)
    chosen = np.sort(graphs[np.argsort(first_drawn)[:largest]])
    inside = bounded[np.isin(labels.pairs[bounded], chosen).all(axis=1)]
    middle = (labels.lower[inside] + labels.upper[inside]) / 2
    return LabelledBlock(task.graphs[chosen], np.searchsorted(chosen, labels.pairs[inside]), middle)
