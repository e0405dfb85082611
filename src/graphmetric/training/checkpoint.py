"""Training that survives being killed.

A checkpoint is one safetensors file, written whole or not at all: tensors of model, optimiser and best weights, and in
its header, as JSON, the counters and the job they belong to. Nothing in it can be executed.
"""

from __future__ import annotations

import json
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

from graphmetric.atomic import atomic_write
from graphmetric.errors import FileError, InvalidArgument

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
