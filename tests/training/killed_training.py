"""A script for test_checkpoint.py: a training that is killed again and again, and the same one left in peace.

Modules are loaded once; each attempt is a fork that ends itself with SIGKILL after a random number of function calls,
which is the same number on every machine.
"""

from __future__ import annotations

import math
import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from safetensors.torch import save_file

from graphmetric.training import PretrainingOptions, train_model
from tests.training.small_sets import PAPER, QUICK, new_model, small_set


def train(folder: Path | None, result: Path) -> None:
    data, model = small_set(PAPER), new_model(PAPER)
    options = replace(QUICK, steps=40, pretraining=PretrainingOptions(epochs=3, graphs_per_step=8))
    train_model(
        model, data.table, data.labels, options, validation=data.validation, folder=folder, checkpoint_seconds=0
    )
    save_file(model.state_dict(), result)


class Calls:
    """Counts the calls of functions, and ends the process at the last one that is allowed."""

    def __init__(self, allowed: float = math.inf) -> None:
        self.allowed, self.count = allowed, 0

    def __call__(self, frame: object, event: str, argument: object) -> None:
        self.count += 1
        if self.count >= self.allowed:
            os.kill(os.getpid(), signal.SIGKILL)


def attempt(folder: Path, result: Path, calls: float) -> bool:
    """Whether the training came to its end."""
    child = os.fork()
    if child == 0:
        sys.setprofile(Calls(calls))
        train(folder, result)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def main(folder: Path, kills: int) -> None:
    train(None, folder / "in-peace.safetensors")  # before the forks: compiles what must be compiled
    sys.setprofile(counted := Calls())
    train(folder / "counted", folder / "in-peace.safetensors")
    sys.setprofile(None)
    random, killed = np.random.default_rng(0), 0
    while killed < kills:
        if attempt(folder / "run", folder / "killed.safetensors", random.uniform(0.01, 0.3) * counted.count):
            break
        killed += 1
    attempt(folder / "run", folder / "killed.safetensors", math.inf)
    (folder / "kills.txt").write_text(str(killed), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
