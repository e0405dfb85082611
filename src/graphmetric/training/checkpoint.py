"""Checkpoints of training runs, from which a killed run resumes, and digests that tell runs apart.

A checkpoint is one safetensors file, written atomically: tensors of model, optimizer and best weights, and in
its header, as JSON, the counters and the job they belong to, with a digest of all of it. Nothing in it can be executed.
"""

from __future__ import annotations

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from graphmetric._foundation.atomic_files import atomic_write, make_folder, system_errors_named, write_file
from graphmetric._foundation.options import parse_json
from graphmetric.errors import FileError, InvalidArgument, needs_extra

VERSION = 5
"""5: random streams have names, so an older training run would resume with other samples."""
CHECKPOINT, HISTORY = "checkpoint.safetensors", "history.jsonl"

Tensors = dict[str, Tensor]


@dataclass(slots=True)
class TrainingState:
    """Training state other than tensors."""

    step: int = 0
    """Steps done."""
    best_step: int = 0
    best_loss: float | None = None
    """Least loss on the validation pairs so far; None before the first validation."""
    first_loss: float | None = None
    """The loss of the first step, which an explosion is measured against."""
    window_sum: float = 0.0
    """Sum of the losses since the last record of the history."""
    window_steps: int = 0
    seconds: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)


class CheckpointFolder:
    """Folder of the checkpoint and the history of a training run."""

    def __init__(self, folder: Path, job: Mapping[str, Any], every_seconds: float) -> None:
        """``job`` identifies this training run; a checkpoint of another one is rejected."""
        make_folder(folder)
        self._checkpoint, self._history = folder / CHECKPOINT, folder / HISTORY
        self._job, self._every_seconds = job, every_seconds
        self._saved = time.monotonic()

    def restore(self, device: torch.device) -> tuple[TrainingState, Mapping[str, Tensors]] | None:
        """Load the last checkpoint and truncate the history to it; None if there is none.

        Raises if the file is damaged or belongs to another job.
        """
        found = self._read(device) if self._checkpoint.exists() else None
        with atomic_write(self._history) as file:
            file.writelines(_json_line(record) for record in (found[0].history if found else []))
        return found

    def _read(self, device: torch.device) -> tuple[TrainingState, Mapping[str, Tensors]]:
        path, parts = self._checkpoint, defaultdict[str, Tensors](dict)
        try:
            with safe_open(path, framework="pt", device=str(device)) as file:
                about = file.metadata() or {}
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            header = parse_json(about["state"])
            for key, tensor in tensors.items():
                part, _, name = key.partition(".")
                parts[part][name] = tensor
            version, job, counters = header["version"], header["job"], header["counters"]
        except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            raise FileError(f"is not a readable checkpoint, remove it to start again: {error}", path) from None
        if version != VERSION:
            raise FileError(f"is a checkpoint of version {version}; this package reads {VERSION}", path)
        if about.get("digest") != _digest_tensors(about["state"], tensors):
            raise FileError(
                "was changed after it was written: its digest does not match; remove it to start again", path
            )
        if different := [key for key in self._job if job.get(key) != self._job[key]]:
            raise InvalidArgument(
                f"{path} belongs to another training: its {', '.join(different)} differ; choose another folder"
            )
        return TrainingState(**counters), parts

    @property
    def is_due(self) -> bool:
        """True if it is time for a checkpoint."""
        return time.monotonic() - self._saved >= self._every_seconds

    def save(self, counters: TrainingState, parts: Mapping[str, Mapping[str, Tensor]]) -> None:
        """Replace the checkpoint; a crash leaves the old one."""
        header = {"version": VERSION, "job": self._job, "counters": asdict(counters)}
        tensors = {
            f"{part}.{name}": tensor.detach().contiguous()
            for part, own in parts.items()
            for name, tensor in own.items()
        }
        state = json.dumps(header)
        content = save(tensors, {"state": state, "digest": _digest_tensors(state, tensors)})
        write_file(self._checkpoint, content)
        self._saved = time.monotonic()

    def discard(self) -> None:
        """Remove the checkpoint of a training that failed, so that it cannot be resumed; the history stays."""
        self._checkpoint.unlink(missing_ok=True)

    def log(self, record: Mapping[str, Any]) -> None:
        """Add a line to the history."""
        with system_errors_named(self._history), open(self._history, "ab") as file:
            file.write(_json_line(record))


def _digest_tensors(state: str, tensors: Tensors) -> str:
    digest = blake2b(state.encode(), digest_size=16)
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)} ".encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _json_line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def holds_unfinished_work(folder: Path) -> bool:
    """Return whether a folder of checkpoints and labels holds anything that another run could resume from.

    The history of a failed training run is ignored.
    """
    return any(path.is_file() and path.name != HISTORY for path in folder.rglob("*"))


def digest_of(record: object) -> str:
    """Return a digest of everything in a record, such as a feature table: all fields of dataclasses and tuples.

    Fields are digested in depth, and a field added to a record changes the digest. Unsupported types raise an error.
    """
    digest = blake2b(digest_size=16)
    for piece in _pieces_of(record):
        digest.update(len(piece).to_bytes(8, "little"))
        digest.update(piece)
    return digest.hexdigest()


def _pieces_of(value: Any) -> Iterator[bytes]:
    """Encode a value as bytes; different values have different bytes."""
    yield type(value).__name__.encode()
    if isinstance(value, Tensor):
        value = value.detach().cpu().numpy()
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        yield f"{value.dtype.str}{value.shape}".encode()
        yield np.ascontiguousarray(value).tobytes()
    elif value is None or isinstance(value, bool | int | float | str | np.generic):
        yield repr(value).encode()
    elif isinstance(value, Mapping):
        yield from _pieces_of_named(value.items())
    elif is_dataclass(value):
        yield from _pieces_of_named((own.name, getattr(value, own.name)) for own in fields(value))
    elif isinstance(value, tuple | list):
        yield from _pieces_of_named(enumerate(value))
    else:
        raise TypeError(f"no digest of {type(value).__name__}: two trainings that differ in it would look the same")


def _pieces_of_named(parts: Iterable[tuple[object, object]]) -> Iterator[bytes]:
    named = list(parts)
    yield str(len(named)).encode()
    for name, part in named:
        yield str(name).encode()
        yield from _pieces_of(part)


class TensorBoardLog:
    """Writer of training records into an event file of TensorBoard."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        with needs_extra("tensorboard", "curves for TensorBoard"):
            from tensorboardX import SummaryWriter
        self._writer = SummaryWriter(os.fspath(folder))

    def write(self, record: Mapping[str, Any]) -> None:
        """Write loss, validation loss and learning rate of one step."""
        for name in ("loss", "validation", "learning_rate"):
            if record[name] is not None:
                self._writer.add_scalar(name, record[name], record["step"])
        self._writer.flush()

    def close(self) -> None:
        """Wait until everything is on disk."""
        self._writer.close()
