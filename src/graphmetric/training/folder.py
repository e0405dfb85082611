"""The folder of a training: ``checkpoint.safetensors`` and ``history.jsonl``."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from graphmetric.atomic import atomic_write, make_folder, system_errors_named
from graphmetric.training.checkpoint import Checkpoint, Counters, Tensors, read_checkpoint, write_checkpoint

CHECKPOINT, HISTORY = "checkpoint.safetensors", "history.jsonl"


class TrainingFolder:
    """Where a training leaves what it needs to go on, and its log."""

    def __init__(self, folder: Path, job: Mapping[str, Any], every_seconds: float) -> None:
        """``job`` tells this training from all others; a checkpoint of another one is refused."""
        make_folder(folder)
        self._checkpoint, self._history = folder / CHECKPOINT, folder / HISTORY
        self._job, self._every_seconds = job, every_seconds
        self._saved = time.monotonic()

    def restore(self, device: torch.device) -> Checkpoint | None:
        """The last checkpoint, and the history cut back to it; None if there is none."""
        found = read_checkpoint(self._checkpoint, self._job, device)
        with atomic_write(self._history) as file:
            file.writelines(_json_line(record) for record in (found.counters.history if found else []))
        return found

    @property
    def is_due(self) -> bool:
        """Whether it is time for a checkpoint."""
        return time.monotonic() - self._saved >= self._every_seconds

    def save(self, counters: Counters, tensors: Tensors) -> None:
        write_checkpoint(self._checkpoint, self._job, counters, tensors)
        self._saved = time.monotonic()

    def discard(self) -> None:
        """Remove the checkpoint of a training that failed, so that nobody goes on with it; the history stays."""
        self._checkpoint.unlink(missing_ok=True)

    def log(self, record: Mapping[str, Any]) -> None:
        """Add a line to the history."""
        with system_errors_named(self._history), open(self._history, "ab") as file:
            file.write(_json_line(record))


def holds_unfinished_work(folder: Path) -> bool:
    """Whether a folder of checkpoints, and of what else a fit keeps, holds anything that another run could go on from.

    The history of a training that failed is no such thing.
    """
    return any(path.is_file() and path.name != HISTORY for path in folder.rglob("*"))


def _json_line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"
