"""Pre-training, Eq. 15, schedules, checkpoints."""

from graphmetric.training.checkpoint import TensorBoardLog, holds_unfinished_work
from graphmetric.training.fit import TrainingResult, fit
from graphmetric.training.labels import TrainingLabels
from graphmetric.training.options import PRESETS, PretrainingOptions, TrainingOptions, preset
from graphmetric.training.pretrain import PretrainingLosses, pretrain

__all__ = [
    "PRESETS",
    "PretrainingLosses",
    "PretrainingOptions",
    "TensorBoardLog",
    "TrainingLabels",
    "TrainingOptions",
    "TrainingResult",
    "fit",
    "holds_unfinished_work",
    "preset",
    "pretrain",
]
