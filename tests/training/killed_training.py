"""A script for test_checkpoint.py: a training that is killed again and again, and the same one left in peace.

Modules are loaded once; each attempt is a fork, killed after a random time with SIGKILL.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from safetensors.torch import save_file

from graphmetric.training import PretrainingOptions, train_model
from tests.training.small_sets import PAPER, QUICK, new_model, small_set


def train(folder: Path | None, result: Path) -> None:
    data, model = small_set(PAPER), new_model(PAPER)
    options = replace(QUICK, steps=80, pretraining=PretrainingOptions(epochs=3, graphs_per_step=8))
    train_model(
        model, data.table, data.labels, options, validation=data.validation, folder=folder, checkpoint_seconds=0
    )
    save_file(model.state_dict(), result)


def attempt(folder: Path, result: Path, seconds: float | None) -> bool:
    """Whether the training came to its end."""
    child = os.fork()
    if child == 0:
        train(folder, result)
        os._exit(0)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status) == 0


def main(folder: Path, kills: int) -> None:
    train(None, folder / "in-peace.safetensors")  # before the forks: compiles what must be compiled
    random, killed = np.random.default_rng(), 0
    while killed < kills:
        if attempt(folder / "run", folder / "killed.safetensors", random.uniform(0.01, 0.3)):
            break
        killed += 1
    attempt(folder / "run", folder / "killed.safetensors", None)
    (folder / "kills.txt").write_text(str(killed), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
