"""What the model card says, in sections that a page can show."""

from __future__ import annotations

import json
import os
from typing import Any

from graphmetric.estimator import GraphDistance
from graphmetric.evaluation import installed_versions
from graphmetric.saving import CONFIG
from graphmetric.shipped_models import find_model

Facts = dict[str, dict[str, Any]]
"""Plain values by name, by title of the section."""


def open_model(model: GraphDistance | str | os.PathLike[str]) -> tuple[GraphDistance, Facts]:
    """A model, or that of a folder or name, and what is to be said of it."""
    if isinstance(model, GraphDistance):
        return model, _facts(model, {"Versions": installed_versions()})
    folder = find_model(model)
    loaded = GraphDistance.load(folder)
    trained_with = json.loads((folder / CONFIG).read_text(encoding="utf-8"))["packages"]
    return loaded, _facts(loaded, {"Trained with": trained_with, "Measured with": installed_versions()})


def _facts(model: GraphDistance, versions: Facts) -> Facts:
    report = model.report_
    preset = model.preset if isinstance(model.preset, str) else "own options"
    return {
        "Distance": {
            "kind": model.model_.options.head.kind,
            "preset": preset,
            "strict": bool(model.strict),
            "numbers_learned": sum(parameter.numel() for parameter in model.model_.parameters()),
            "seed": model.random_state if isinstance(model.random_state, int) else "not fixed",
        },
        "Training graphs": report["graphs"],
        "Training labels": report["labels"],
        "Training": report["training"],
        "Validation while training": report["validation"] or {"exact_pairs": 0},
        **versions,
    }
