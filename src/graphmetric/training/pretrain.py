"""Pre-training (end of section 4.2 of the paper): attribute reconstruction and structure recovery, together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from graphmetric._foundation.options import checked_count
from graphmetric._foundation.progress import progress
from graphmetric.encoder import BatchTensors, Encoded, GraphEncoder, normalised_adjacency, to_tensors
from graphmetric.errors import InvalidArgument
from graphmetric.features import BatchLimits, FeatureSchema, FeatureTable
from graphmetric.features.table import group_by_size
from graphmetric.training.mini_batches import RandomStream, generator, own_random_state, reseed_torch
from graphmetric.training.optimizer import check_divergence
from graphmetric.training.options import PretrainingOptions


class PretrainingLosses(NamedTuple):
    """Mean losses of each epoch."""

    attributes: NDArray[np.float64]
    """0 if the graphs have no labels and no vectors."""
    structure: NDArray[np.float64]


def pretrain_encoder(
    encoder: GraphEncoder,
    table: FeatureTable,
    options: PretrainingOptions | None = None,
    *,
    graphs: ArrayLike | None = None,
    seed: int = 0,
) -> PretrainingLosses:
    """Train the encoder in place on both tasks together, without any labels.

    A linear map predicts from the final state of a node its label (cross-entropy) or real vector (mean squared error),
    and the cosines of the states of two nodes approximate the entries of the normalized adjacency (mean squared error).
    The linear maps are discarded, the weights of the encoder are kept for fine-tuning.

    Differs from the paper: texts and images are not reconstructed; graphs without labels or vectors have the second
    task alone.

    Args:
        encoder: Trained in place, on its device; it ends in evaluation mode.
        table: Features of the graphs.
        options: See :class:`PretrainingOptions`.
        graphs: Positions in ``table`` of the graphs to learn from; None: all.
        seed: The seed of mini-batches, dropout, and the discarded maps.
    """
    options, seed = options or PretrainingOptions(), checked_count(seed, "seed", least=0)
    chosen = np.arange(len(table)) if graphs is None else np.asarray(graphs, dtype=np.int64)
    if len(chosen) == 0:
        raise InvalidArgument("there is nothing to pre-train on: no graphs were given")
    weights = next(encoder.parameters())
    with own_random_state(weights.device):
        reseed_torch(seed, RandomStream.TASK_WEIGHTS, 0)
        tasks = PretrainingTasks(table.schema, encoder).to(weights.device, weights.dtype)
        encoder.train()
        losses = np.array([*_train(tasks, table, chosen, options, seed)]).reshape(-1, 2)
        encoder.eval()
    return PretrainingLosses(*losses.T)


class PretrainingTasks(nn.Module):
    """An encoder with linear maps from its states to attributes."""

    def __init__(self, schema: FeatureSchema, encoder: GraphEncoder) -> None:
        super().__init__()
        self.encoder = encoder
        width = encoder.output_size
        self.tags = nn.Linear(width, schema.num_tags) if schema.num_tags else None
        self.vectors = nn.Linear(width, schema.vector_width) if schema.vector_width else None

    def forward(self, batch: BatchTensors) -> tuple[Tensor, Tensor]:
        """Compute the loss of each task."""
        encoded = self.encoder(batch)
        return self.reconstruct_attributes(encoded, batch), recover_structure(encoded, batch)

    def reconstruct_attributes(self, encoded: Encoded, batch: BatchTensors) -> Tensor:
        """Compute the loss over the nodes of the graphs that have the attribute; 0 without any."""
        total = encoded.states.new_zeros(())
        for kind, read, given in ((0, self.tags, batch.tag), (1, self.vectors, batch.vector)):
            there = batch.mask & batch.has_attributes[:, kind, None]
            if read is not None and given is not None and bool(there.any()):
                predicted = read(encoded.states[there])
                true = given[there]
                loss = F.cross_entropy(predicted, true.long()) if kind == 0 else F.mse_loss(predicted, true)
                total = total + loss
        return total


def recover_structure(encoded: Encoded, batch: BatchTensors) -> Tensor:
    """Compute the mean squared difference of cosines and normalized adjacency, over pairs of nodes."""
    direction: Float[Tensor, "graphs k d"] = F.normalize(encoded.states, dim=-1)
    errors = (direction @ direction.transpose(1, 2) - normalised_adjacency(batch.weights)).square()
    real = batch.mask[:, :, None] & batch.mask[:, None, :]
    return (errors * real).sum() / real.sum().clamp(min=1)


def _train(
    tasks: PretrainingTasks, table: FeatureTable, chosen: NDArray[np.int64], options: PretrainingOptions, seed: int
) -> Iterator[NDArray[np.float64]]:
    """Train, yielding the mean losses of each epoch."""
    optimizer = torch.optim.Adam(
        tasks.parameters(), lr=options.learning_rate, weight_decay=options.weight_decay, fused=True
    )
    parts = -(-len(chosen) // options.graphs_per_step)
    first_loss: float | None = None
    with progress("pre-training", options.epochs * parts, "steps") as bar:
        for epoch in range(options.epochs):
            order = generator(seed, RandomStream.PRETRAINING_EPOCHS, epoch).permutation(chosen)
            sums = np.zeros(2)
            for k, graphs in enumerate(np.array_split(order, parts)):
                reseed_torch(seed, RandomStream.PRETRAINING_DROPOUT, epoch * parts + k)
                optimizer.zero_grad(set_to_none=True)
                losses = _add_gradients(tasks, table, graphs)
                first_loss = losses.sum() if first_loss is None else first_loss
                where = f"epoch {epoch + 1} of pre-training, learning rate {options.learning_rate:g}"
                check_divergence(tasks, losses.sum(), 0.0, first_loss, where)
                optimizer.step()
                sums += losses * len(graphs)
                bar.advance(1, note=f"loss {losses.sum():.4g}")
            yield sums / len(chosen)


def _add_gradients(tasks: PretrainingTasks, table: FeatureTable, graphs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Add the gradients of both losses of a mini-batch, encoded in groups of like sizes, weighted by their graphs."""
    weights = next(tasks.parameters())
    sums = np.zeros(2)
    for group in group_by_size(table.sizes[graphs], BatchLimits(spare=2048)):
        attributes, structure = tasks(to_tensors(table.padded(graphs[group]), weights.device, weights.dtype))
        share = len(group) / len(graphs)
        ((attributes + structure) * share).backward()
        sums += np.array([attributes.item(), structure.item()]) * share
    return sums
