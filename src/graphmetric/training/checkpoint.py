"""Training that survives being killed.

A checkpoint is one safetensors file, written whole or not at all: tensors of model, optimiser and best weights, and in
its header, as JSON, the counters and the job they belong to. Nothing in it can be executed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
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
from graphmetric.features import FeatureTable

VERSION = 1

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
    return _digest(tensor.detach().cpu().numpy() for tensor in module.state_dict().values())


def digest_table(table: FeatureTable) -> str:
    """Of sizes, edges and roles, to tell one collection from another."""
    return _digest([*table.edges, table.degree, table.role, table.weight])


def _digest(arrays: Iterable[np.ndarray]) -> str:
    digest = blake2b(digest_size=16)
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
