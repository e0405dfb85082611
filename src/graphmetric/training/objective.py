"""What is minimised: the loss of a mini-batch, and of all validation pairs.

A training that goes wrong is stopped and explained, before its weights are lost.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from graphmetric.distance import (
    Comparison,
    Representation,
    interval_loss,
    mask_weights,
    masked_loss,
    pair_distances,
    weigh_near_pairs,
)
from graphmetric.distance.comparison import to_paper
from graphmetric.distance.pair_distance import Scale
from graphmetric.errors import TrainingDiverged
from graphmetric.features import BatchLimits, FeatureTable
from graphmetric.model import GraphDistanceModel
from graphmetric.training.labels import TrainingLabels
from graphmetric.training.mini_batches import MiniBatch
from graphmetric.training.options import TrainingOptions

EXPLOSION = 1e4
"""Times the loss of the first step (or 1, where that was less) at which training is given up."""


def check_progress(model: nn.Module, loss: float, gradient_norm: float, first_loss: float, where: str) -> None:
    """Raise if this step would ruin the weights; ``where`` names step and learning rate."""
    if math.isfinite(loss) and math.isfinite(gradient_norm) and loss <= EXPLOSION * max(1.0, first_loss):
        return
    if not math.isfinite(loss):
        what = f"the loss is {loss}{_blame(model, of_gradients=False)}"
    elif not math.isfinite(gradient_norm):
        what = f"the loss is {loss:g} but its gradient is not finite{_blame(model, of_gradients=True)}"
    else:
        what = f"the loss is {loss:g}, which is {loss / max(1.0, first_loss):.3g} times what it began with"
    raise TrainingDiverged(
        f"{what} ({where}, loss of the first step {first_loss:g}). The weights are those of the step before. Try a "
        "lower learning_rate, a longer warmup or a smaller clip_norm; if it fails at the very first step, look for "
        "extreme numbers in node features, edge weights or labels"
    )


def _blame(model: nn.Module, *, of_gradients: bool) -> str:
    for name, parameter in model.named_parameters():
        values = parameter.grad if of_gradients else parameter
        if values is not None and not bool(values.isfinite().all()):
            return f", first in {name}"
    return ""


_LIMITS = BatchLimits(spare=2048)
"""A mini-batch of small graphs is encoded at once; only larger ones are parted by size."""


class Objective:
    """The loss of a model on graphs of a table.

    The masked loss lives on the paper's scale, where its "unlabelled pairs are at distance 1" has a meaning: a head in
    edits is brought there first. The interval loss lives on the scale of the head.
    """

    def __init__(self, model: GraphDistanceModel, table: FeatureTable, options: TrainingOptions) -> None:
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
