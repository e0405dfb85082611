"""The history of a training as TensorBoard shows it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from graphmetric.errors import MissingExtra

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
