"""Eq. 15: step 1 of the paper's two, training without constraints."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from graphmetric._foundation.options import checked_count, to_plain
from graphmetric._foundation.progress import progress
from graphmetric._foundation.threads import as_device, thread_limit
from graphmetric.distance import (
    Comparison,
    interval_loss,
    mask_weights,
    pair_distances,
    proximity_weights,
)
from graphmetric.distance.comparison import to_paper
from graphmetric.distance.masked_loss import masked_loss
from graphmetric.distance.pair_distance import Scale
from graphmetric.encoder import GraphEncoder
from graphmetric.errors import InvalidArgument, TrainingDiverged
from graphmetric.features import BatchLimits, FeatureTable
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.model import GraphDistanceNetwork
from graphmetric.training.checkpoint import CheckpointFolder, Tensors, TrainingState, digest_of
from graphmetric.training.mini_batches import MiniBatch, MiniBatches, RandomStream, own_random_state, reseed_torch
from graphmetric.training.optimizer import ModelOptimizer, check_divergence, learning_rate
from graphmetric.training.options import ALPHAS, TrainingOptions
from graphmetric.training.pretrain import pretrain_encoder

Report = Callable[[Mapping[str, Any]], object]

_LIMITS = BatchLimits(spare=2048)
"""A mini-batch of small graphs is encoded at once; only larger ones are parted by size."""


class Beside(NamedTuple):
    """Labels of another origin that are learned in addition to the given ones, such as computed bounds."""

    labels: PairBounds
    share: float
    """Their fraction of the weight, between 0 and 1."""


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """Training summary; the weights are in the model."""

    steps: int
    """Steps done, fewer than requested if training stopped early."""
    best_step: int
    """The step of the selected weights."""
    validation_loss: float | None
    """The loss on the validation pairs with these weights; None without any."""
    stopped_early: bool
    seconds: float
    """Wall time, summed over the processes of a resumed training run."""
    history: tuple[Mapping[str, Any], ...]
    """One record per validation round: step, epoch, loss, validation, learning_rate, seconds."""
    alpha: float | None = None
    """The weight of unlabeled pairs selected on the validation pairs; None if it was given."""


def train_model(
    model: GraphDistanceNetwork,
    table: FeatureTable,
    labels: PairBounds,
    options: TrainingOptions | None = None,
    *,
    validation: PairBounds | None = None,
    unlabeled: ArrayLike | None = None,
    beside: Beside | None = None,
    seed: int = 0,
    device: str = "cpu",
    threads: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = 30.0,
    report: Report | None = None,
) -> TrainingResult:
    r"""Train a model in place, with pre-training if requested by the options; it ends in evaluation mode.

    .. math:: \min \lVert M \odot (D - \bar{D}) \rVert_p \qquad (15)

    Differs from the paper: D is never in memory as a whole. Every step samples some graphs and uses the pairs among
    them (see :mod:`~graphmetric.training.mini_batches`), so the cost grows with the pairs used and not with the square
    of the collection. Graphs that occur in no label take part if they are listed in ``unlabeled``, so that validation
    and test graphs cannot leak in through the term of the unlabeled pairs. The loss may be replaced by that of bounds.

    Args:
        model: Trained in place.
        table: Features of all graphs that labels refer to, made by a featurizer fitted on the training graphs.
        labels: Known distances or bounds of pairs of positions in ``table``, in edits.
        options: See :class:`TrainingOptions`.
        validation: Validation pairs, for checkpoint selection, early stopping, and ``alpha`` if it is "auto".
        unlabeled: Positions of graphs without labels that take part in pre-training and in the term of the unlabeled
            pairs.
        beside: Labels of another origin. Every step takes half of its graphs for them.
        seed: The seed of mini-batches and dropout.
        device: "cpu", "cuda", "cuda:1", "mps".
        threads: Threads of the head; None: as torch is set. The weights are the same for any number.
        folder: Gets ``checkpoint.safetensors`` and ``history.jsonl``. Called again with the same folder and arguments,
            a killed training run resumes bit for bit.
        checkpoint_seconds: Time between checkpoints.
        report: Called with each record of the history.

    Raises:
        TrainingDiverged: The loss or a gradient is not finite any more, or has exploded. The checkpoint is removed, as
            a training run resumed from it would diverge again.
    """
    options, seed = options or TrainingOptions(), checked_count(seed, "seed", least=0)
    if options.alpha == "auto":
        return _choose_alpha(
            model, table, labels, options, validation=validation, unlabeled=unlabeled, beside=beside, seed=seed,
            device=device, threads=threads, folder=folder, checkpoint_seconds=checkpoint_seconds, report=report,
        )  # fmt: skip
    for given in (labels, validation, None if beside is None else beside.labels):
        if given is not None:
            given.check_finite()
        if given is not None and len(given) and not 0 <= given.pairs.min() <= given.pairs.max() < len(table):
            raise InvalidArgument(
                f"labels speak of graphs {given.pairs.min()}..{given.pairs.max()}; the table has graphs "
                f"0..{len(table) - 1}"
            )
    spare = np.zeros(0, dtype=np.int64) if unlabeled is None else np.unique(np.asarray(unlabeled, dtype=np.int64))
    spare = np.setdiff1d(spare, labels.graphs)
    place = as_device(device)
    with thread_limit(threads), own_random_state(place):
        job = {
            "model": to_plain(model.options),
            "start": digest_of(model.state_dict()),
            "training": to_plain(options),
            "seed": seed,
            "graphs": digest_of(table),
            "labels": labels.digest(),
            "validation": None if validation is None else validation.digest(),
            "unlabeled": digest_of(spare),
            "beside": None if beside is None else [beside.labels.digest(), beside.share],
        }
        kept = None if folder is None else CheckpointFolder(Path(folder), job, checkpoint_seconds)
        batches = draw_batches(labels, options, seed, spare, beside)
        try:
            return TrainingRun(model.to(place), table, batches, options, validation, kept, report).train()
        except TrainingDiverged:
            if kept is not None:
                kept.discard()
            raise


def _choose_alpha(
    model: GraphDistanceNetwork,
    table: FeatureTable,
    labels: PairBounds,
    options: TrainingOptions,
    *,
    validation: PairBounds | None,
    folder: str | os.PathLike[str] | None,
    **more: Any,
) -> TrainingResult:
    """Train from the same weights with each of :data:`ALPHAS`; the lowest validation loss wins."""
    known = None if validation is None else validation.take(validation.exact)
    if known is None or not len(known):
        raise InvalidArgument(
            "alpha='auto' is chosen on validation pairs with a known distance, and there are none: hold out graphs, or "
            "give alpha as a number"
        )
    start = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    best: tuple[TrainingResult, Tensors] | None = None
    seconds = 0.0
    for alpha in ALPHAS:
        model.load_state_dict(start)
        place = None if folder is None else Path(folder) / f"alpha-{alpha:g}"
        tried = replace(options, alpha=alpha)
        found = train_model(model, table, labels, tried, validation=known, folder=place, **more)
        seconds += found.seconds
        loss = found.validation_loss
        assert loss is not None
        if best is None or best[0].validation_loss is None or loss < best[0].validation_loss:
            state = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
            best = replace(found, alpha=alpha), state
    assert best is not None
    model.load_state_dict(best[1])
    model.eval()
    return replace(best[0], seconds=seconds)


class Batches(NamedTuple):
    """Mini-batches of one training run, by the origin of their labels."""

    given: MiniBatches
    beside: MiniBatches | None = None
    share: float = 0.0
    """The fraction of the weight that ``beside`` has."""
    unlabeled: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
    """Graphs without any label that take part."""

    @property
    def graphs(self) -> NDArray[np.int64]:
        """Positions of all graphs that take part, ascending."""
        others = [] if self.beside is None else [self.beside.graphs]
        return np.unique(np.concatenate([self.given.graphs, self.unlabeled, *others]))


def draw_batches(
    labels: PairBounds,
    options: TrainingOptions,
    seed: int,
    unlabeled: NDArray[np.int64],
    beside: Beside | None = None,
) -> Batches:
    """Make mini-batches of the labels, and of those beside them, with half of the graphs of a step each."""
    if beside is None or not len(beside.labels):
        return Batches(MiniBatches(labels, options, seed, unlabeled), unlabeled=unlabeled)
    if not 0 < beside.share < 1:
        raise InvalidArgument(f"the share of labels beside the given ones must lie between 0 and 1; got {beside.share}")
    half = max(2, options.graphs_per_step // 2)
    given = MiniBatches(labels, replace(options, graphs_per_step=half), seed, unlabeled)
    other = MiniBatches(beside.labels, replace(options, graphs_per_step=half, alpha=0.0), seed)
    return Batches(given, other, beside.share, unlabeled)


class TrainingRun:
    """One training run: the loop and its resumable state."""

    def __init__(
        self,
        model: GraphDistanceNetwork,
        table: FeatureTable,
        batches: Batches,
        options: TrainingOptions,
        validation: PairBounds | None,
        folder: CheckpointFolder | None,
        report: Report | None,
    ) -> None:
        self.model, self.table, self.options = model, table, options
        self.batches, self.beside, self.share = batches.given, batches.beside, batches.share
        self.graphs = batches.graphs
        self.validation = validation if validation is not None and len(validation) else None
        self.folder, self.report = folder, report
        self.seed = self.batches.seed
        self.objective = Objective(model, table, self.options)
        self.optimizer = ModelOptimizer(model, self.options)
        self.counters = TrainingState()
        self.best: Tensors = {}
        self._clock = time.monotonic()

    def train(self) -> TrainingResult:
        """Train from the start, or from the checkpoint in the folder, to the end; the best weights are restored."""
        self._begin()
        counters, folder, num_steps = self.counters, self.folder, self.batches.num_steps
        self.model.train()
        with progress("training", num_steps, "steps") as bar:
            bar.advance(counters.step)
            while not self._is_finished():
                loss = self._step()
                if counters.step % self.options.validate_every == 0 or self._is_finished():
                    self._validate_and_log()
                if folder is not None and folder.is_due:
                    self._save()
                bar.advance(1, note=f"loss {loss:.4g}")
        self._save()
        if self.best:
            self.model.load_state_dict(self.best)
        self.model.eval()
        return TrainingResult(
            steps=counters.step,
            best_step=counters.best_step if self.best else counters.step,
            validation_loss=counters.best_loss,
            stopped_early=counters.step < num_steps,
            seconds=counters.seconds,
            history=tuple(counters.history),
        )

    def _begin(self) -> None:
        found = None if self.folder is None else self.folder.restore(self.model.device)
        if found is not None:
            self.counters, parts = found
            self.best = parts["best"]
            self.model.load_state_dict(parts["model"])
            self.optimizer.restore(parts["optimizer"])
            return
        if self.options.pretraining is not None:
            encoder, graphs = self.model.encoder, self.graphs
            if not isinstance(encoder, GraphEncoder):
                raise InvalidArgument(f"pre-training is for the graph transformer; {type(encoder).__name__} has none")
            pretrain_encoder(encoder, self.table, self.options.pretraining, graphs=graphs, seed=self.seed)
        self._save()

    def _save(self) -> None:
        self._read_clock()
        if self.folder is not None:
            parts = {"model": self.model.state_dict(), "best": self.best, "optimizer": self.optimizer.tensors()}
            self.folder.save(self.counters, parts)

    def _is_finished(self) -> bool:
        counters, options = self.counters, self.options
        if counters.step >= self.batches.num_steps:
            return True
        if options.patience is None or counters.best_loss is None:
            return False
        return counters.step - counters.best_step >= options.patience * options.validate_every

    def _step(self) -> float:
        counters = self.counters
        rate = learning_rate(self.options, counters.step, self.batches.num_steps)
        reseed_torch(self.seed, RandomStream.DROPOUT, counters.step)
        self.optimizer.clear_gradients()
        loss = self.objective.of_batch(self.batches.at(counters.step))
        if self.beside is not None:
            loss = (1 - self.share) * loss + self.share * self.objective.of_batch(self.beside.at(counters.step))
        loss.backward()  # type: ignore[no-untyped-call]
        longest = self.options.clip_norm or float("inf")
        norm: Tensor = nn.utils.clip_grad_norm_(self.model.parameters(), longest)
        value = loss.item()
        counters.first_loss = value if counters.first_loss is None else counters.first_loss
        where = f"step {counters.step + 1}, learning rate {rate:g}"
        check_divergence(self.model, value, norm.item(), counters.first_loss, where)
        self.optimizer.step(rate)
        counters.step += 1
        counters.window_sum += value
        counters.window_steps += 1
        return value

    def _validate(self) -> float | None:
        """Compute the validation loss, and keep the weights if they are the best so far."""
        counters = self.counters
        if self.validation is None:
            return None
        found = self.objective.of_labels(self.validation)
        if counters.best_loss is None or found < counters.best_loss:
            counters.best_loss, counters.best_step = found, counters.step
            self.best = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}
        return found

    def _validate_and_log(self) -> None:
        """Compute the validation loss, and write a record."""
        counters = self.counters
        validation_loss = self._validate()
        self._read_clock()
        record = {
            "step": counters.step,
            "epoch": round(counters.step / self.batches.steps_per_epoch, 3),
            "loss": counters.window_sum / counters.window_steps,
            "validation": validation_loss,
            "learning_rate": self.optimizer.rate,
            "seconds": round(counters.seconds, 3),
        }
        counters.window_sum, counters.window_steps = 0.0, 0
        counters.history.append(record)
        if self.folder is not None:
            self.folder.log(record)
        if self.report is not None:
            self.report(record)

    def _read_clock(self) -> None:
        """Update the total time."""
        now = time.monotonic()
        self.counters.seconds += now - self._clock
        self._clock = now


class Objective:
    """The loss of a model on graphs of a table.

    The masked loss is on the paper's scale, on which its "unlabeled pairs are at distance 1" has a meaning; distances
    in edits are converted first. The interval loss is on the scale of the head.
    """

    def __init__(self, model: GraphDistanceNetwork, table: FeatureTable, options: TrainingOptions) -> None:
        self.model, self.table, self.options = model, table, options
        self.scale: Scale = "paper" if options.loss == "masked" else model.head.scale

    def of_batch(self, batch: MiniBatch) -> Tensor:
        """Compute the loss of a mini-batch, with gradients."""
        encoded = self.model.encode_rows(self.table, batch.graphs, _LIMITS)
        pairs = torch.from_numpy(batch.pairs).to(encoded.start.device)
        distances = self.model.head.batch_distances(encoded, pairs)
        left, right = (encoded.size[pairs[:, side]].to(distances) for side in (0, 1))
        if self.scale != self.model.head.scale:
            distances = to_paper(distances, left, right)
        return self._loss(distances, batch.pairs, (batch.lower, batch.upper), (left, right))

    def of_labels(self, labels: PairBounds) -> float:
        """Compute the loss of all pairs at once, without gradients, the model in evaluation mode."""
        graphs, places = np.unique(labels.pairs, return_inverse=True)
        pairs, was_training = places.reshape(labels.pairs.shape), self.model.training
        self.model.eval()
        try:
            with torch.no_grad():
                encoded = self.model.encode_rows(self.table, graphs)
        finally:
            self.model.train(was_training)
        comparison = Comparison.prepare(self.model.head, encoded, view=self.scale)
        distances = torch.from_numpy(pair_distances(comparison, pairs).astype(np.float64))
        sizes = torch.from_numpy(self.table.sizes[labels.pairs].astype(np.float64))
        return float(self._loss(distances, pairs, (labels.lower, labels.upper), (sizes[:, 0], sizes[:, 1])))

    def _loss(
        self,
        distances: Tensor,
        pairs: NDArray[np.int64],
        bounds: tuple[NDArray[np.float64], NDArray[np.float64]],
        sizes: tuple[Tensor, Tensor],
    ) -> Tensor:
        lower, upper = (torch.from_numpy(np.array(bound)).to(distances) for bound in bounds)
        options = self.options
        known = lower
        labeled = lower == upper
        if self.scale == "paper":
            lower, upper = to_paper(lower, *sizes), to_paper(upper, *sizes)
        if options.loss == "interval":
            weights = None
            if options.near_halving is not None:
                # by size: a fixed number of edits would leave hardly any weight to pairs of large graphs
                weights = proximity_weights(known / torch.maximum(*sizes).clamp(min=1), options.near_halving)
            return interval_loss(distances, lower, upper, weights, options.p)
        same = torch.from_numpy(pairs[:, 0] == pairs[:, 1]).to(distances.device)
        assert not isinstance(options.alpha, str)  # train_model has chosen it
        weights = mask_weights(labeled, same, options.alpha, options.beta).to(distances)
        return masked_loss(distances, torch.where(labeled, lower, torch.nan), weights, options.p, mean=True)
