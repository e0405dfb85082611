"""The learning rate as a function of the step."""

from __future__ import annotations

import math

from graphmetric.training.options import TrainingOptions


def learning_rate(options: TrainingOptions, step: int, num_steps: int) -> float:
    """At a step counted from 0: a straight rise during the warm-up, then constant or half a cosine down to zero."""
    if step < options.warmup:
        return options.learning_rate * (step + 1) / options.warmup
    if options.schedule == "constant":
        return options.learning_rate
    done = (step - options.warmup) / max(1, num_steps - options.warmup)
    return options.learning_rate * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
