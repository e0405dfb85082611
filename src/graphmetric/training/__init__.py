"""Pre-training, Eq. 15, schedules, checkpoints."""

from graphmetric.training.fit import fit
from graphmetric.training.folder import holds_unfinished_work
from graphmetric.training.labels import TrainingLabels
from graphmetric.training.options import PretrainingOptions, TrainingOptions
from graphmetric.training.presets import PRESETS, preset
from graphmetric.training.pretrain import PretrainingLosses, pretrain
from graphmetric.training.run import TrainingResult
from graphmetric.training.tensorboard import TensorBoardLog

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
