"""Eq. 15: step 1 of the paper's two, training without constraints."""

from __future__ import annotations

import os
from pathlib import Path

from graphmetric.errors import InvalidArgument
from graphmetric.features import FeatureTable
from graphmetric.model import TrainableDistance
from graphmetric.threads import working_threads
from graphmetric.training.checkpoint import digest_of, digest_weights
from graphmetric.training.folder import TrainingFolder
from graphmetric.training.labels import TrainingLabels
from graphmetric.training.machine import as_device
from graphmetric.training.options import TrainingOptions
from graphmetric.training.randomness import check_seed, own_random_state
from graphmetric.training.run import Report, TrainingResult, TrainingRun


def fit(
    model: TrainableDistance,
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
