"""Labels and their making, pre-training, Eq. 15, presets, checkpoints."""

from graphmetric.errors import needs_extra

with needs_extra("learn", "training a model"):
    from graphmetric.training.checkpoint import TensorBoardLog, holds_unfinished_work
    from graphmetric.training.fit import TrainingResult, train_model
    from graphmetric.training.options import PRESETS, PretrainingOptions, TrainingOptions, preset
    from graphmetric.training.pretrain import PretrainingLosses, pretrain_encoder

__all__ = [
    "PRESETS",
    "PretrainingLosses",
    "PretrainingOptions",
    "TensorBoardLog",
    "TrainingOptions",
    "TrainingResult",
    "holds_unfinished_work",
    "preset",
    "pretrain_encoder",
    "train_model",
]
