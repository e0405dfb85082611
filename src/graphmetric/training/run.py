"""The loop of training."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from graphmetric.encoder import GraphEncoder
from graphmetric.errors import InvalidArgument, TrainingDiverged
from graphmetric.features import FeatureTable
from graphmetric.model import TrainableDistance
from graphmetric.progress import progress
from graphmetric.training.checkpoint import Counters, Tensors, named_tensors, tensors_named
from graphmetric.training.divergence import check_progress
from graphmetric.training.folder import TrainingFolder
from graphmetric.training.labels import TrainingLabels
from graphmetric.training.mini_batches import MiniBatches
from graphmetric.training.objective import Objective
from graphmetric.training.optimizer import ModelOptimizer
from graphmetric.training.options import TrainingOptions
from graphmetric.training.pretrain import pretrain
from graphmetric.training.randomness import Stream, reseed_torch
from graphmetric.training.schedule import learning_rate

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
        model: TrainableDistance,
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
