"""Labels, pre-training and training."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from graphmetric.edit_distance import Labels, label_graphs
from graphmetric.estimator import GraphDistance
from graphmetric.saving import CHECKPOINT, CONFIG
from graphmetric.tour.folder import TourFolder
from graphmetric.tour.material import Material
from graphmetric.tour.options import TourOptions
from graphmetric.training import PretrainingOptions, preset


@dataclass(frozen=True, slots=True)
class Agreement:
    """How a distance ranks pairs with validation graphs, and how far off it is."""

    correlation: float
    """Mean over graphs of Spearman's."""
    error: float
    """In edits."""

    @classmethod
    def of(cls, model: GraphDistance) -> Agreement:
        """As measured when it was fitted."""
        found = model.report_["validation"]
        return cls(found["mean_rank_correlation"] or np.nan, found["mean_absolute_error_in_edits"])


def label_pairs(material: Material, folder: TourFolder, n_jobs: int) -> Labels:
    """Exact edit distances of all pairs; those with unseen graphs are kept from the models."""
    return label_graphs(material.graphs, folder.labels, pairs="all", n_jobs=n_jobs)


def try_pretraining(
    material: Material, labels: Labels, options: TourOptions, n_jobs: int
) -> tuple[Agreement, Agreement]:
    """What the distance is worth before anything is learned, and after pre-training alone."""
    found = []
    for epochs in (0, options.pretraining_epochs):
        model = _small(options, n_jobs, epochs, steps=0)
        found.append(Agreement.of(_fit(model, material, labels)))
    return found[0], found[1]


def train_model(
    material: Material, labels: Labels, folder: TourFolder, options: TourOptions, n_jobs: int
) -> tuple[GraphDistance, bool]:
    """The model of the tour, and whether it was there already; a training that was stopped goes on."""
    if (folder.model / CONFIG).exists():
        return GraphDistance.load(folder.model).set_params(n_jobs=n_jobs), True
    model = _small(options, n_jobs, options.pretraining_epochs, options.steps)
    model.set_params(checkpoint=folder.model / CHECKPOINT)
    _fit(model, material, labels).save(folder.model)
    return model, False


def train_paper_model(
    material: Material, labels: Labels, folder: TourFolder, options: TourOptions, n_jobs: int
) -> GraphDistance:
    """The paper's encoder with Eq. 9, trained for a moment."""
    if (folder.paper_model / CONFIG).exists():
        return GraphDistance.load(folder.paper_model).set_params(n_jobs=n_jobs)  # type: ignore[no-any-return]
    model = GraphDistance("paper", epochs=options.paper_epochs, pretrain=False, n_jobs=n_jobs)
    _fit(model, material, labels).save(folder.paper_model)
    return model


def _small(options: TourOptions, n_jobs: int, epochs: int, steps: int) -> GraphDistance:
    """The preset small, with a short pre-training, which it does without by default."""
    architecture, training = preset("small")
    pretraining = PretrainingOptions(epochs=epochs) if epochs else None
    return GraphDistance((architecture, replace(training, steps=steps, pretraining=pretraining)), n_jobs=n_jobs)


def _fit(model: GraphDistance, material: Material, labels: Labels) -> GraphDistance:
    return model.fit(material.graphs[material.seen], labels.among(material.seen), material.validating)
