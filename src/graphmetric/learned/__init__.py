"""Trained distances, their folders and model cards, and the bundled models."""

from graphmetric.errors import needs_extra

with needs_extra("learn", "a learned distance"):
    import torch as _torch  # noqa: F401
