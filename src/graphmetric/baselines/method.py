r"""What every baseline is given and what it answers.

A few training graphs and the labels among them, for what has a handful of parameters to fit.

From any distance to edits, by one factor: errors then mean something, and no ranking changes.

.. math:: \text{edits} = s\,d \quad\text{or}\quad \text{edits} = s\,d\,\tfrac{n_1 + n_2}{2},
   \text{ that is } 1 - e^{-s d} \text{ on the paper's scale.}

The first is for distances that already count edits, the second for those of which only the order counts: kernel
distances do not grow with the graphs, and neither does the paper's scale.

Baselines by name. Each is imported when it is asked for: the neural ones need torch, the others do not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from graphmetric.errors import InvalidArgument
from graphmetric.evaluation import Protocol
from graphmetric.graphs.collection import GraphCollection

if TYPE_CHECKING:
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


_HOMES = {
    "beam": ("classical", "Beam"),
    "beam-80": ("classical", "Beam80"),
    "vj": ("classical", "VJ"),
    "hungarian": ("classical", "Hungarian"),
    "hed": ("classical", "HED"),
    "emb-avg": ("neural", "EmbAvg"),
    "gcn-mean": ("neural", "GCNMean"),
    "gcn-max": ("neural", "GCNMax"),
    "siamese-mpnn": ("neural", "SiameseMPNN"),
    "simgnn": ("neural", "SimGNN"),
    "gmn": ("neural", "GMN"),
    "greed": ("neural", "Greed"),
    "graphlet": ("kernels", "Graphlet"),
    "wl-subtree": ("kernels", "WeisfeilerLehmanSubtree"),
    "wwl": ("kernels", "WassersteinWeisfeilerLehman"),
    "multiscale-laplacian": ("multiscale_laplacian", "MultiscaleLaplacian"),
    "deep-graph-kernel": ("kernels", "DeepGraphKernel"),
    "size-difference": ("floors", "SizeDifference"),
    "label-counts": ("floors", "LabelCounts"),
    "degree-sequences": ("floors", "DegreeSequences"),
    "labels-and-degrees": ("floors", "LabelsAndDegrees"),
    "fitted-label-counts": ("floors", "FittedLabelCounts"),
}
"""Name, then module below this package and class in it."""

BASELINES: tuple[str, ...] = tuple(_HOMES)
"""The names, in the order of the tables."""


def build_baseline(name: str, **parameters: Any) -> Baseline:
    """The baseline of this name, not fitted yet; ``parameters`` are those of its class.

    Example:
        >>> build_baseline("gcn-mean").scale
        'paper'
    """
    if name not in _HOMES:
        raise InvalidArgument(f"there is no baseline {name!r}; there are: {', '.join(BASELINES)}")
    module, kind = _HOMES[name]
    built = getattr(import_module(f"graphmetric.baselines.{module}"), kind)(**parameters)
    assert isinstance(built, Baseline)
    return built
