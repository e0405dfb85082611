"""What every baseline is given and what it answers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

import numpy as np
from numpy.typing import NDArray

from graphmetric.evaluation import Protocol
from graphmetric.graphs.collection import GraphCollection

if TYPE_CHECKING:  # its package brings torch, which only some baselines need
    from graphmetric.training.labels import TrainingLabels

PredictionScale = Literal["raw", "paper", "rank"]
"""Of the predictions: edits; 1 - exp(-2d / (n1 + n2)) of d edits; or any numbers of which only the order counts."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingTask:
    """What a baseline may learn from. Test graphs are not in it."""

    graphs: GraphCollection
    """Training graphs, then validation graphs."""
    training: TrainingLabels
    """Distances of pairs of positions in ``graphs``, in edits."""
    validation: TrainingLabels
    """Likewise; they choose weights, stopping times and parameters, and nothing is fitted to them."""
    seed: int = 0
    threads: int = 1
    folder: Path | None = None
    """Where checkpoints go; None: nowhere."""

    @classmethod
    def of_protocol(
        cls, protocol: Protocol, graphs: GraphCollection, distances: NDArray[np.float64], seed: int, threads: int
    ) -> TrainingTask:
        """What a protocol shows of all graphs and their distances in edits, NaN where unknown."""
        from graphmetric.training.labels import TrainingLabels

        labels = TrainingLabels.from_matrix(protocol.visible_distances(distances))
        validates = (labels.pairs >= len(protocol.train)).any(axis=1)
        training, validation = (labels.take(np.flatnonzero(chosen)) for chosen in (~validates, validates))
        return cls(graphs[protocol.seen], training, validation, seed, threads)


class Baseline(ABC):
    """A distance between graphs. Parameters are given when it is built; ``fit`` learns the rest."""

    name: str
    """As the registry and the tables call it."""
    scale: PredictionScale

    @abstractmethod
    def fit(self, task: TrainingTask) -> Self:
        """Learn from labelled graphs; does nothing where nothing is learned."""

    @abstractmethod
    def predict(self, queries: GraphCollection, database: GraphCollection) -> NDArray[np.float64]:
        """Distances of shape (queries, database), on ``scale``; smaller is nearer."""
