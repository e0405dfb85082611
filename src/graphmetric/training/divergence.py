"""A training that goes wrong is stopped and explained, before its weights are lost."""

from __future__ import annotations

import math

from torch import nn

from graphmetric.errors import TrainingDiverged

EXPLOSION = 1e4
"""Times the loss of the first step (or 1, where that was less) at which training is given up."""


def check_progress(model: nn.Module, loss: float, gradient_norm: float, first_loss: float, where: str) -> None:
    """Raise if this step would ruin the weights; ``where`` names step and learning rate."""
    if math.isfinite(loss) and math.isfinite(gradient_norm) and loss <= EXPLOSION * max(1.0, first_loss):
        return
    if not math.isfinite(loss):
        what = f"the loss is {loss}{_blame(model, of_gradients=False)}"
    elif not math.isfinite(gradient_norm):
        what = f"the loss is {loss:g} but its gradient is not finite{_blame(model, of_gradients=True)}"
    else:
        what = f"the loss is {loss:g}, which is {loss / max(1.0, first_loss):.3g} times what it began with"
    raise TrainingDiverged(
        f"{what} ({where}, loss of the first step {first_loss:g}). The weights are those of the step before. Try a "
        "lower learning_rate, a longer warmup or a smaller clip_norm; if it fails at the very first step, look for "
        "extreme numbers in node features, edge weights or labels"
    )


def _blame(model: nn.Module, *, of_gradients: bool) -> str:
    for name, parameter in model.named_parameters():
        values = parameter.grad if of_gradients else parameter
        if values is not None and not bool(values.isfinite().all()):
            return f", first in {name}"
    return ""
