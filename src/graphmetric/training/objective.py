"""What is minimised: the loss of a mini-batch, and of all validation pairs."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmetric.distance import (
    Comparison,
    Representation,
    interval_loss,
    mask_weights,
    masked_loss,
    pair_distances,
    weigh_near_pairs,
)
from graphmetric.distance.pair_distance import Scale
from graphmetric.distance.views import to_paper
from graphmetric.features import BatchLimits, FeatureTable
from graphmetric.model import TrainableDistance
from graphmetric.training.labels import TrainingLabels
from graphmetric.training.mini_batches import MiniBatch
from graphmetric.training.options import TrainingOptions

_LIMITS = BatchLimits(spare=2048)
"""A mini-batch of small graphs is encoded at once; only larger ones are parted by size."""


class Objective:
    """The loss of a model on graphs of a table.

    The masked loss lives on the paper's scale, where its "unlabelled pairs are at distance 1" has a meaning: a head in
    edits is brought there first. The interval loss lives on the scale of the head.
    """

    def __init__(self, model: TrainableDistance, table: FeatureTable, options: TrainingOptions) -> None:
        self.model, self.table, self.options = model, table, options
        self.scale: Scale = "paper" if options.loss == "masked" else model.head.scale

    def of_batch(self, batch: MiniBatch) -> Tensor:
        """Differentiable."""
        encoded = self.model.encode_rows(self.table, batch.graphs, _LIMITS)
        pairs = torch.from_numpy(batch.pairs).to(encoded.start.device)
        distances = self.model.head.among(encoded, pairs)
        left, right = (encoded.size[pairs[:, side]].to(distances) for side in (0, 1))
        if self.scale != self.model.head.scale:
            distances = to_paper(distances, left, right)
        return self._loss(distances, batch.pairs, (batch.lower, batch.upper), (left, right))

    def of_labels(self, labels: TrainingLabels) -> float:
        """Of all pairs at once, without gradients, the model in evaluation mode."""
        graphs, places = np.unique(labels.pairs, return_inverse=True)
        pairs = places.reshape(labels.pairs.shape)
        encoded = self._encode(graphs)
        comparison = Comparison.prepare(self.model.head, encoded, view=self.scale)
        distances = torch.from_numpy(pair_distances(comparison, pairs).astype(np.float64))
        sizes = torch.from_numpy(self.table.sizes[labels.pairs].astype(np.float64))
        return float(self._loss(distances, pairs, (labels.lower, labels.upper), (sizes[:, 0], sizes[:, 1])))

    @torch.no_grad()
    def _encode(self, graphs: NDArray[np.int64]) -> Representation:
        was_training = self.model.training
        self.model.eval()
        try:
            return self.model.encode_rows(self.table, graphs)
        finally:
            self.model.train(was_training)

    def _loss(
        self,
        distances: Tensor,
        pairs: NDArray[np.int64],
        bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
        sizes: tuple[Tensor, Tensor],
    ) -> Tensor:
        lower, upper = (torch.from_numpy(np.array(bound)).to(distances) for bound in bounds)
        options, known, labelled = self.options, lower, lower == upper
        if self.scale == "paper":
            lower, upper = to_paper(lower, *sizes), to_paper(upper, *sizes)
        if options.loss == "interval":
            weights = None if options.near_halving is None else weigh_near_pairs(known, options.near_halving)
            return interval_loss(distances, lower, upper, weights, options.p)
        same = torch.from_numpy(pairs[:, 0] == pairs[:, 1]).to(distances.device)
        weights = mask_weights(labelled, same, options.alpha, options.beta).to(distances)
        return masked_loss(distances, torch.where(labelled, lower, torch.nan), weights, options.p, mean=True)
