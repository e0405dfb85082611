"""Eq. 15: step 1 of the paper's two, training without constraints.

Where training runs.

The loop of training.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from graphmetric._foundation.progress import progress
from graphmetric._foundation.threads import working_threads
from graphmetric.encoder import GraphEncoder
from graphmetric.errors import InvalidArgument, TrainingDiverged
from graphmetric.features import FeatureTable
from graphmetric.model import GraphDistanceModel
from graphmetric.training.checkpoint import (
    Counters,
    Tensors,
    TrainingFolder,
    digest_of,
    digest_weights,
    named_tensors,
    tensors_named,
)
from graphmetric.training.labels import TrainingLabels
from graphmetric.training.mini_batches import MiniBatches, Stream, check_seed, own_random_state, reseed_torch
from graphmetric.training.objective import Objective, check_progress
from graphmetric.training.optimizer import ModelOptimizer, learning_rate
from graphmetric.training.options import TrainingOptions
from graphmetric.training.pretrain import pretrain


def as_device(name: str) -> torch.device:
    """A device by name; raises if this machine has none."""
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise InvalidArgument(f"no device {name!r}: {error}") from None
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not available.get(device.type, False):
        usable = ", ".join(kind for kind, there in available.items() if there)
        raise InvalidArgument(f"device {name!r} cannot be used here; available: {usable}")
    return device


Report = Callable[[Mapping[str, Any]], object]


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """How a training went; the weights are in the model."""

    steps: int
    """Steps done, less than asked for where training stopped early."""
    best_step: int
    """After which the weights were taken."""
    validation_loss: float | None
    """The loss on the validation pairs with these weights; None without any."""
    stopped_early: bool
    seconds: float
    """Wall time, all runs of a resumed training together."""
    history: tuple[Mapping[str, Any], ...]
    """One record per look at the validation pairs: step, epoch, loss, validation, learning_rate, seconds."""


class TrainingRun:
    """One training: the loop and what it needs to go on."""

    def __init__(
        self,
        model: GraphDistanceModel,
        table: FeatureTable,
        labels: TrainingLabels,
        validation: TrainingLabels | None,
        options: TrainingOptions,
        seed: int,
        report: Report | None,
    ) -> None:
        self.model, self.table, self.options, self.seed = model, table, options, seed
        self.validation = validation if validation is not None and len(validation) else None
        self.batches = MiniBatches(labels, options, seed)
        self.objective = Objective(model, table, options)
        self.optimizer = ModelOptimizer(model, options)
        self.counters = Counters()
        self.best: Tensors = {}
        self.report = report
        self._clock = time.monotonic()

    def train(self, folder: TrainingFolder | None) -> None:
        """From the start, or from the checkpoint in the folder, to the end; the best weights are restored."""
        try:
            self._train(folder)
        except TrainingDiverged:
            if folder is not None:
                folder.discard()
            raise

    def _train(self, folder: TrainingFolder | None) -> None:
        self._begin(folder)
        self.model.train()
        with progress("training", self.batches.num_steps, "steps") as bar:
            bar.advance(self.counters.step)
            while not self._is_finished():
                loss = self._step()
                if self.counters.step % self.options.validate_every == 0 or self._is_finished():
                    self._look(folder)
                if folder is not None and folder.is_due:
                    self._save(folder)
                bar.advance(1, note=f"loss {loss:.4g}")
        if folder is not None:
            self._save(folder)
        if self.best:
            self.model.load_state_dict(self.best)
        self.model.eval()

    def result(self) -> TrainingResult:
        counters = self.counters
        return TrainingResult(
            steps=counters.step,
            best_step=counters.best_step if self.best else counters.step,
            validation_loss=counters.best_loss,
            stopped_early=counters.step < self.batches.num_steps,
            seconds=counters.seconds,
            history=tuple(counters.history),
        )

    def _begin(self, folder: TrainingFolder | None) -> None:
        found = None if folder is None else folder.restore(self.model.device)
        if found is not None:
            self._load(*found)
            return
        if self.options.pretraining is not None:
            encoder, graphs = self.model.encoder, self.batches.graphs
            if not isinstance(encoder, GraphEncoder):
                raise InvalidArgument(f"pre-training is for the graph transformer; {type(encoder).__name__} has none")
            pretrain(encoder, self.table, self.options.pretraining, graphs=graphs, seed=self.seed)
        if folder is not None:
            self._save(folder)

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
        reseed_torch(self.seed, Stream.DROPOUT, counters.step)
        self.optimizer.clear_gradients()
        loss = self.objective.of_batch(self.batches.at(counters.step))
        loss.backward()  # type: ignore[no-untyped-call]
        longest = self.options.clip_norm or float("inf")
        norm: Tensor = nn.utils.clip_grad_norm_(self.model.parameters(), longest)
        value = loss.item()
        counters.first_loss = value if counters.first_loss is None else counters.first_loss
        where = f"step {counters.step + 1}, learning rate {rate:g}"
        check_progress(self.model, value, norm.item(), counters.first_loss, where)
        self.optimizer.step(rate)
        counters.step += 1
        counters.window_sum += value
        counters.window_steps += 1
        return value

    def _look(self, folder: TrainingFolder | None) -> None:
        """Measure the validation pairs, keep the weights if they are the best so far, and write a record."""
        counters = self.counters
        found = None if self.validation is None else self.objective.of_labels(self.validation)
        if found is not None and (counters.best_loss is None or found < counters.best_loss):
            counters.best_loss, counters.best_step = found, counters.step
            self.best = {name: tensor.detach().clone() for name, tensor in self.model.state_dict().items()}
        self._read_clock()
        record = {
            "step": counters.step,
            "epoch": round(counters.step / self.batches.steps_per_epoch, 3),
            "loss": counters.window_sum / counters.window_steps,
            "validation": found,
            "learning_rate": self.optimizer.rate,
            "seconds": round(counters.seconds, 3),
        }
        counters.window_sum, counters.window_steps = 0.0, 0
        counters.history.append(record)
        if folder is not None:
            folder.log(record)
        if self.report is not None:
            self.report(record)

    def _read_clock(self) -> None:
        """Bring the time of all runs up to date."""
        now = time.monotonic()
        self.counters.seconds += now - self._clock
        self._clock = now

    def _save(self, folder: TrainingFolder) -> None:
        self._read_clock()
        tensors = {
            **named_tensors("model", self.model.state_dict()),
            **named_tensors("best", self.best),
            **named_tensors("optimizer", self.optimizer.tensors()),
        }
        folder.save(self.counters, tensors)

    def _load(self, counters: Counters, tensors: Tensors) -> None:
        """The inverse of :meth:`_save`."""
        self.counters, self.best = counters, tensors_named("best", tensors)
        self.model.load_state_dict(tensors_named("model", tensors))
        self.optimizer.restore(tensors_named("optimizer", tensors))


def fit(
    model: GraphDistanceModel,
    table: FeatureTable,
    labels: TrainingLabels,
    options: TrainingOptions | None = None,
    *,
    validation: TrainingLabels | None = None,
    seed: int = 0,
    device: str = "cpu",
    threads: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = 30.0,
    report: Report | None = None,
) -> TrainingResult:
    r"""Train a model in place, pre-training included where the options ask for it; it ends in evaluation mode.

    .. math:: \min \lVert M \odot (D - \bar{D}) \rVert_p \qquad (15)

    Differs from the paper: D is never there as a whole. Every step draws some graphs and takes the pairs among them
    (see :mod:`~graphmetric.training.mini_batches`), so the cost grows with the pairs looked at and not with the square
    of the collection. Graphs that occur in no label take no part: validation and test graphs cannot leak in through
    the term of the unlabelled pairs. The loss may be replaced by that of bounds.

    Args:
        model: Trained in place.
        table: Features of all graphs that labels speak of, made by a featurizer fitted on the training graphs.
        labels: What is known of pairs of positions in ``table``, in edits.
        options: See :class:`TrainingOptions`.
        validation: Pairs that only choose the weights to keep and when to stop.
        seed: Of mini-batches and dropout.
        device: "cpu", "cuda", "cuda:1", "mps".
        threads: Of the head; None: as torch is set. The weights are the same for any number.
        folder: Gets ``checkpoint.safetensors`` and ``history.jsonl``. Called again with the same folder and arguments,
            a training that was killed goes on to the very weights it would have reached.
        checkpoint_seconds: Time between checkpoints.
        report: Called with each record of the history.

    Raises:
        TrainingDiverged: The loss or a gradient is not finite any more, or has exploded. The checkpoint is removed, as
            a training that went on from it would diverge again.
    """
    options = options or TrainingOptions()
    check_seed(seed)
    for given in (labels, validation):
        _check_positions(given, len(table))
    place = as_device(device)
    with working_threads(threads), own_random_state(place):
        job = {
            "model": model.options.to_dict(),
            "start": digest_weights(model),
            "training": options.to_dict(),
            "seed": int(seed),
            "graphs": digest_of(table),
            "labels": labels.digest(),
            "validation": None if validation is None else validation.digest(),
        }
        run = TrainingRun(model.to(place), table, labels, validation, options, int(seed), report)
        run.train(None if folder is None else TrainingFolder(Path(folder), job, checkpoint_seconds))
    return run.result()


def _check_positions(labels: TrainingLabels | None, num_graphs: int) -> None:
    if labels is None or len(labels) == 0:
        return
    least, largest = int(labels.pairs.min()), int(labels.pairs.max())
    if least < 0 or largest >= num_graphs:
        raise InvalidArgument(f"labels speak of graphs {least}..{largest}; the table has graphs 0..{num_graphs - 1}")
