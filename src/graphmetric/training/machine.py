"""Where training runs."""

from __future__ import annotations

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
