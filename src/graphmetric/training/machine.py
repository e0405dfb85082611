"""Where training runs: device and threads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from graphmetric.errors import InvalidArgument


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


@contextmanager
def limited_threads(threads: int | None) -> Iterator[None]:
    """Inside, torch computes on so many threads at most; None: as it is set."""
    if threads is not None and threads < 1:
        raise InvalidArgument(f"threads must be 1 or more; got {threads}")
    before = torch.get_num_threads()
    torch.set_num_threads(threads or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
