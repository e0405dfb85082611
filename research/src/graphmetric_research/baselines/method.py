r"""The interface of baselines: what they learn from, how they are called, and their names.

A baseline is imported when it is asked for: the neural ones need torch, the others do not.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection

if TYPE_CHECKING:
    from graphmetric.graphs.pair_bounds import PairBounds
    from graphmetric_research.protocols import Protocol

Learned = TypeVar("Learned")
PredictionScale = Literal["raw", "paper", "rank"]
"""Scale of predictions: edits; 1 - exp(-2d / (n1 + n2)) of d edits; or numbers of which only the order counts."""


@dataclass(frozen=True, slots=True, eq=False)
class TrainingTask:
    """What a baseline may learn from, which never includes test graphs."""

    graphs: GraphCollection
    """Training graphs, then validation graphs."""
    training: PairBounds
    """Distances of pairs of positions in ``graphs``, in edits."""
    validation: PairBounds
    """The same for pairs that choose weights, stopping times and parameters; nothing is fitted to them."""
    seed: int = 0
    threads: int = 1
    folder: Path | None = None
    """Folder for checkpoints; None for no checkpoints."""

    @classmethod
    def of_protocol(
        cls, protocol: Protocol, graphs: GraphCollection, distances: NDArray[np.float64], seed: int, threads: int
    ) -> TrainingTask:
        """What a protocol lets a baseline see of all graphs and their distances in edits, NaN where unknown."""
        from graphmetric.graphs.pair_bounds import PairBounds

        labels = PairBounds.from_matrix(protocol.visible_distances(distances))
        validates = (labels.pairs >= len(protocol.train)).any(axis=1)
        training, validation = (labels.take(np.flatnonzero(chosen)) for chosen in (~validates, validates))
        return cls(graphs[protocol.seen], training, validation, seed, threads)


class Baseline(ABC):
    """A distance between graphs. Parameters are given when it is built; ``fit`` learns the rest."""

    name: str
    """Name in the registry and the tables."""
    scale: PredictionScale

    def __init_subclass__(cls) -> None:
        """Register the class if it has a name of its own."""
        super().__init_subclass__()
        if "name" in vars(cls):
            _KINDS[cls.name] = cls

    def fit(self, task: TrainingTask) -> Self:
        """Learn from labelled graphs; by default nothing is learned."""
        return self

    @abstractmethod
    def predict(self, queries: GraphCollection, database: GraphCollection) -> NDArray[np.float64]:
        """Distances of shape (queries, database), on ``scale``; smaller is nearer."""

    def fitted(self, learned: Learned | None) -> Learned:
        """``learned`` as it is; raises InvalidArgument if it is None because ``fit`` was not called."""
        if learned is None:
            raise InvalidArgument(f"{self.name} is not fitted yet; call fit with graphs and labels first")
        return learned


class LabelledBlock(NamedTuple):
    """A few graphs, so that a square matrix of them fits into memory, and known pairs of them."""

    graphs: GraphCollection
    pairs: NDArray[np.int64]
    """(n, 2): positions in ``graphs``."""
    distances: NDArray[np.float64]
    """In edits; the middle of the bounds if only these are known."""

    @property
    def mean_sizes(self) -> NDArray[np.float64]:
        """(n1 + n2) / 2 of each pair."""
        return np.asarray(self.graphs.sizes[self.pairs].mean(axis=1))


def sample_labelled_block(task: TrainingTask, largest: int = 500) -> LabelledBlock:
    """The graphs of randomly drawn training labels, at most ``largest``, with all training labels among them."""
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
    r"""A baseline of which only the order counts, brought to the paper's scale by one factor s, fitted to the labels.

    .. math:: \text{edits} = s\,d\,\tfrac{n_1 + n_2}{2}, \text{ that is } 1 - e^{-s d} \text{ on the paper's scale.}

    Kernel distances do not grow with the graphs, and neither does the paper's scale. Errors then mean something, and no
    ranking changes.
    """

    scale = "paper"
    _factor: float | None = None

    def __init__(self, inner: Baseline) -> None:
        if inner.scale != "rank":
            known = "edits" if inner.scale == "raw" else "on the paper's scale"
            raise InvalidArgument(f"{inner.name} predicts {known} already; it needs no calibration")
        self.inner, self.name = inner, f"{inner.name}, calibrated"

    def fit(self, task: TrainingTask) -> Self:
        """Fit the inner baseline, then the factor, both on training labels only."""
        from scipy.optimize import minimize_scalar  # takes a third of a second

        self.inner.fit(task)
        block = sample_labelled_block(task)
        distances = self.inner.predict(block.graphs, block.graphs)[tuple(block.pairs.T)]
        truth = -np.expm1(-block.distances / block.mean_sizes)

        def squared_error(log_factor: float) -> float:
            return float(np.mean((-np.expm1(-np.exp(log_factor) * distances) - truth) ** 2))

        self._factor = float(np.exp(minimize_scalar(squared_error, bounds=(-7.0, 7.0), method="bounded").x))
        return self

    def predict(self, queries: GraphCollection, database: GraphCollection) -> NDArray[np.float64]:
        return -np.expm1(-self.fitted(self._factor) * self.inner.predict(queries, database))


_KINDS: dict[str, type[Baseline]] = {}
"""The classes by name, those of the modules that were imported."""
_MODULES = {
    "published": ("beam", "beam-80", "vj", "hungarian", "hed"),
    "neural": ("emb-avg", "gcn-mean", "gcn-max", "siamese-mpnn", "simgnn", "gmn", "greed"),
    "kernels": ("graphlet", "wl-subtree", "wwl", "multiscale-laplacian", "deep-graph-kernel"),
    "floors": ("size-difference", "label-counts", "degree-sequences", "labels-and-degrees", "fitted-label-counts"),
}
"""The names of the baselines of each module."""

BASELINES: tuple[str, ...] = tuple(name for names in _MODULES.values() for name in names)
"""The names, in the order of the tables."""


def build_baseline(name: str, **parameters: Any) -> Baseline:
    """The baseline of this name, not fitted yet; ``parameters`` go to its class.

    Example:
        >>> build_baseline("gcn-mean").scale
        'paper'
    """
    if name not in BASELINES:
        raise InvalidArgument(f"there is no baseline {name!r}; there are: {', '.join(BASELINES)}")
    home = next(module for module, names in _MODULES.items() if name in names)
    import_module(f"graphmetric_research.baselines.{home}")
    return _KINDS[name](**parameters)
