"""Trained models that come with the package: each is a folder as :mod:`graphmetric.learned.saving` writes it.

``tools/make_models.py`` trained them. What on, how and how well is in the ``MODEL_CARD.md`` of each.
"""

from __future__ import annotations

import os
from pathlib import Path

SHIPPED_MODELS = ("molecules", "unlabelled")
"""``molecules``: nodes are atoms labelled by element symbol, bond types do not count. ``unlabelled``: no labels."""


def find_model(model: str | os.PathLike[str]) -> Path:
    """The folder of a model that is given by its folder or by its name; a folder that exists comes first."""
    folder = Path(model)
    if not folder.exists() and str(model) in SHIPPED_MODELS:
        return Path(__file__).parent / folder
    return folder
