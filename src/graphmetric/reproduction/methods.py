"""The rows of the tables: baselines, and models of our own behind the same interface."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from graphmetric.baselines import Baseline, TrainingTask, build_baseline
from graphmetric.baselines.calibration import Calibrated
from graphmetric.estimator import GraphDistance
from graphmetric.graphs.collection import GraphCollection
from graphmetric.model import ModelOptions
from graphmetric.plain_options import to_plain
from graphmetric.training import TrainingOptions, preset

LabelSource = Literal["given", "computed"]


@dataclass(frozen=True, slots=True)
class Row:
    """One method as a table names it, and how it is built."""

    name: str
    baseline: str | None = None
    """A name of the registry of baselines; None: a model of our own."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """Of the baseline."""
    preset: str = "paper"
    """Of the model."""
    encoder: dict[str, Any] = field(default_factory=dict)
    """Changes to the preset; likewise the others."""
    features: dict[str, Any] = field(default_factory=dict)
    head: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)
    labels: LabelSource = "given"
    """Of the model: distances of the benchmark, or, of training graphs and mutations of them, edit distances of our
    own; these are the same distances, of more graphs."""
    learns: bool = True
    """Whether the seed makes a difference."""
    slow: bool = False
    """Too slow for all pairs of a data set: only the pairs that a protocol ranks are computed, and not repaired."""

    def build(self, *, quick: bool = False) -> Baseline:
        """The method, not fitted, on a scale that can be repaired; ``quick`` cuts a training to a tenth."""
        if self.baseline is None:
            return OwnModel(self.name, *self.options(quick), self.labels)
        built = build_baseline(self.baseline, **self.parameters)
        training = getattr(built, "training", None)
        if quick and isinstance(training, TrainingOptions):
            built = build_baseline(self.baseline, **self.parameters, training=_shortened(training))
        return Calibrated(built) if built.scale == "rank" else built

    def configuration(self, *, quick: bool) -> dict[str, Any]:
        """Everything that shapes it, as plain data."""
        if self.baseline is None:
            model, training = self.options(quick)
            plain = {"model": to_plain(model), "training": to_plain(training), "quick": quick}
            return plain if self.labels == "given" else plain | {"labels": self.labels}
        return {"baseline": self.baseline, "parameters": self.parameters, "quick": quick}

    def options(self, quick: bool) -> tuple[ModelOptions, TrainingOptions]:
        """Of a model of our own."""
        model, training = preset(self.preset)
        model = ModelOptions(
            replace(model.encoder, **self.encoder),
            replace(model.features, **self.features),
            replace(model.head, **self.head),
        )
        training = replace(training, **self.training)
        return model, _shortened(training) if quick else training


class OwnModel(Baseline):
    """A learned distance of ours with the face of a baseline."""

    def __init__(
        self, name: str, model: ModelOptions, training: TrainingOptions, labels: LabelSource = "given"
    ) -> None:
        self.name, self.scale = name, "raw"
        self.options, self.labels = (model, training), labels
        self.estimator: GraphDistance | None = None

    def fit(self, task: TrainingTask) -> Self:
        held_out = np.setdiff1d(np.arange(len(task.graphs)), task.training.graphs)
        estimator = GraphDistance(self.options, random_state=task.seed, n_jobs=task.threads, checkpoint=task.folder)
        distances = task.training.joined(task.validation) if self.labels == "given" else None
        self.estimator = estimator.fit(task.graphs, distances=distances, val=held_out)
        return self

    def predict(self, queries: GraphCollection, database: GraphCollection) -> NDArray[np.float64]:
        assert self.estimator is not None
        return self.estimator.pairwise(queries, None if database is queries else database).astype(np.float64)


def _shortened(options: TrainingOptions) -> TrainingOptions:
    return replace(
        options,
        steps=None if options.steps is None else max(1, options.steps // 10),
        epochs=None if options.epochs is None else max(1, options.epochs // 10),
    )
