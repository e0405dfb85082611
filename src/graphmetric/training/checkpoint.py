"""Training that survives being killed.

A checkpoint is one safetensors file, written whole or not at all: tensors of model, optimiser and best weights, and in
its header, as JSON, the counters and the job they belong to. Nothing in it can be executed.

The history of a training as TensorBoard shows it.

The folder of a training: ``checkpoint.safetensors`` and ``history.jsonl``.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from graphmetric._foundation.atomic_files import atomic_write, make_folder, system_errors_named
from graphmetric.errors import FileError, InvalidArgument, MissingExtra

_CURVES = ("loss", "validation", "learning_rate")


class TensorBoardLog:
    """Writes the records of a training into an event file as they come."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        try:
            from tensorboardX import SummaryWriter
        except ImportError:
            raise MissingExtra("tensorboardX", "tensorboard", "curves for TensorBoard") from None
        self._writer = SummaryWriter(os.fspath(folder))

    def write(self, record: Mapping[str, Any]) -> None:
        """Loss, validation loss and learning rate of one step."""
        for name in _CURVES:
            if record[name] is not None:
                self._writer.add_scalar(name, record[name], record["step"])
        self._writer.flush()

    def close(self) -> None:
        """Wait until everything is on disk."""
        self._writer.close()


VERSION = 2
"""2: the features that a checkpoint belongs to are all told apart."""

Tensors = dict[str, Tensor]


@dataclass(slots=True)
class Counters:
    """All of a training that is not a tensor."""

    step: int = 0
    """Steps done."""
    best_step: int = 0
    best_loss: float | None = None
    """Least loss on the validation pairs so far; None before the first look."""
    first_loss: float | None = None
    """Of the first step: what an explosion is measured against."""
    window_sum: float = 0.0
    """Sum of the losses since the last record of the history."""
    window_steps: int = 0
    seconds: float = 0.0
    history: list[dict[str, Any]] = field(default_factory=list)


class Checkpoint(NamedTuple):
    """What is saved."""

    counters: Counters
    tensors: Tensors


def write_checkpoint(path: Path, job: Mapping[str, Any], counters: Counters, tensors: Tensors) -> None:
    """Replace the file; a crash leaves the old one."""
    header = {"version": VERSION, "job": job, "counters": asdict(counters)}
    content = save(
        {name: tensor.detach().contiguous() for name, tensor in tensors.items()}, {"state": json.dumps(header)}
    )
    with atomic_write(path) as file:
        file.write(content)


def read_checkpoint(path: Path, job: Mapping[str, Any], device: torch.device) -> Checkpoint | None:
    """What was saved of this job; None if nothing was. Raises if the file is damaged or belongs to another job."""
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="pt", device=str(device)) as file:
            header = json.loads((file.metadata() or {})["state"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        version, found, counters = header["version"], header["job"], header["counters"]
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise FileError(f"is not a readable checkpoint, remove it to start again: {error}", path) from None
    if version != VERSION:
        raise FileError(f"is a checkpoint of version {version}; this package reads {VERSION}", path)
    if different := [key for key in job if found.get(key) != job[key]]:
        raise InvalidArgument(
            f"{path} belongs to another training: its {', '.join(different)} differ; choose another folder"
        )
    return Checkpoint(Counters(**counters), tensors)


def named_tensors(prefix: str, tensors: Mapping[str, Tensor]) -> Tensors:
    """Names with a prefix, as one file holds several sets."""
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def tensors_named(prefix: str, tensors: Tensors) -> Tensors:
    """The set with this prefix, the prefix removed; empty if there is none."""
    return {name.removeprefix(f"{prefix}."): part for name, part in tensors.items() if name.startswith(f"{prefix}.")}


def digest_weights(module: nn.Module) -> str:
    """Of all weights, to tell one start from another."""
    return digest_of({name: tensor.detach().cpu().numpy() for name, tensor in module.state_dict().items()})


def digest_of(record: object) -> str:
    """A digest of everything in a record, such as a feature table: all fields of dataclasses and tuples, in depth.

    A field that is added to a record counts from then on. What the digest cannot look into is refused, never left out.
    """
    digest = blake2b(digest_size=16)
    for piece in _pieces_of(record):
        digest.update(len(piece).to_bytes(8, "little"))
        digest.update(piece)
    return digest.hexdigest()


def _pieces_of(value: Any) -> Iterator[bytes]:
    """A value as bytes, so that different values have different ones."""
    yield type(value).__name__.encode()
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
    elif hasattr(value, "to_state"):  # a fitted piece of the features
        yield from _pieces_of(value.to_state())
    else:
        raise TypeError(f"no digest of {type(value).__name__}: two trainings that differ in it would look the same")


def _pieces_of_named(parts: Iterable[tuple[object, object]]) -> Iterator[bytes]:
    named = list(parts)
    yield str(len(named)).encode()
    for name, part in named:
        yield str(name).encode()
        yield from _pieces_of(part)


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
