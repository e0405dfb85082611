"""Random numbers that depend on the seed and the step alone.

What is drawn at step t is a function of (seed, t), so a training that goes on from a checkpoint draws what it would
have drawn without the stop, and there is no state of generators to save.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum

import numpy as np
import torch

from graphmetric.errors import InvalidArgument


class Stream(IntEnum):
    """What numbers are drawn for; streams of one seed are independent."""

    EPOCHS = 0
    """The order of graphs or pairs."""
    CHOSEN_PAIRS = 1
    """Which pairs of a block, where there are too many or none."""
    DROPOUT = 2
    PRETRAINING_EPOCHS = 3
    PRETRAINING_DROPOUT = 4
    TASK_WEIGHTS = 5
    """The first weights of the maps that only pre-training needs."""


def generator(seed: int, stream: Stream, step: int) -> np.random.Generator:
    """For numpy."""
    return np.random.default_rng([seed, stream, step])


def reseed_torch(seed: int, stream: Stream, step: int) -> None:
    """For what takes no generator, which is dropout; call within :func:`own_random_state`."""
    (state,) = np.random.SeedSequence([seed, stream, step]).generate_state(1, np.uint64)
    torch.manual_seed(int(state) >> 1)


@contextmanager
def own_random_state(device: torch.device) -> Iterator[None]:
    """Inside, torch may be reseeded; afterwards its state on the CPU and on a CUDA device is as it was."""
    devices = [torch.cuda.current_device() if device.index is None else device.index] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        yield


def check_seed(seed: int) -> None:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InvalidArgument(f"seed must be a whole number, 0 or more; got {seed!r}")
