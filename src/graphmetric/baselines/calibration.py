r"""From any distance to edits, by one factor: errors then mean something, and no ranking changes.

.. math:: \text{edits} = s\,d \quad\text{or}\quad \text{edits} = s\,d\,\tfrac{n_1 + n_2}{2},
   \text{ that is } 1 - e^{-s d} \text{ on the paper's scale.}

The first is for distances that already count edits, the second for those of which only the order counts: kernel
distances do not grow with the graphs, and neither does the paper's scale.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from graphmetric.baselines.labelled_block import LabelledBlock, sample_labelled_block
from graphmetric.baselines.method import Baseline, TrainingTask
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection


class Calibrated(Baseline):
    """Another baseline, with its distances scaled to fit the training labels."""

    def __init__(self, inner: Baseline) -> None:
        if inner.scale == "paper":
            raise InvalidArgument(f"{inner.name} predicts on the paper's scale already; it needs no calibration")
        self.inner = inner
        self.name = f"{inner.name}, calibrated"
        self.scale = "raw" if inner.scale == "raw" else "paper"
        self._factor: float | None = None

    def fit(self, task: TrainingTask) -> Self:
        """Fit the inner baseline, then the factor, both on training labels only."""
        self.inner.fit(task)
        block = sample_labelled_block(task)
        distances = self.inner.predict(block.graphs, block.graphs)[tuple(block.pairs.T)]
        self._factor = _fit_edits(distances, block) if self.scale == "raw" else _fit_paper_scale(distances, block)
        return self

    def predict(self, queries: GraphCollection, database: GraphCollection) -> NDArray[np.float64]:
        if self._factor is None:
            raise InvalidArgument(f"{self.name} is not fitted yet; call fit with labelled graphs first")
        scaled = self._factor * self.inner.predict(queries, database)
        return scaled if self.scale == "raw" else -np.expm1(-scaled)


def _fit_edits(distances: NDArray[np.float64], block: LabelledBlock) -> float:
    square = float(distances @ distances)
    return float(distances @ block.distances) / square if square > 0 else 1.0


def _fit_paper_scale(distances: NDArray[np.float64], block: LabelledBlock) -> float:
    truth = -np.expm1(-block.distances / block.mean_sizes)

    def squared_error(log_factor: float) -> float:
        return float(np.mean((-np.expm1(-np.exp(log_factor) * distances) - truth) ** 2))

    return float(np.exp(minimize_scalar(squared_error, bounds=(-7.0, 7.0), method="bounded").x))
