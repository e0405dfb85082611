"""The report of a training run as plain data, and the model card of a trained distance for people."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import WorkBudgetExceeded
from graphmetric.evaluation import mean_absolute_error, mean_rank_correlation
from graphmetric.features.attributes import what_counts
from graphmetric.graphs.collection import GraphCollection, certificates
from graphmetric.graphs.columns import GraphFlags
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.graphs.summary import are_elements
from graphmetric.learned.training_range import describe_range
from graphmetric.training import TrainingResult
from graphmetric.training.supervision import Supervision

CLASS_DIGITS = 12
"""Hexadecimal digits of a certificate that a report keeps: among a million graphs, two agree with odds of 1 : 500."""
_MOST_CLASSES = 50_000

_CARD = """# A learned graph distance

A neural distance between graphs, trained with graphmetric. It is meant for graphs like those it was trained on; for \
others its axioms hold and its accuracy is unknown. Validation pairs chose the weights, so their figures are a little \
optimistic: measure on graphs that training never saw.

## How to load

```python
import graphmetric as gm

model = gm.GraphDistance.load("this-folder")
model.distance(g, h)
```
"""


def describe_fit(
    graphs: GraphCollection,
    supervision: Supervision,
    result: TrainingResult,
    predicted: NDArray[np.floating[Any]],
) -> dict[str, Any]:
    """Make the report of one fit on ``graphs``; ``predicted`` are the distances of the validation pairs."""
    labels, validation = supervision.training, supervision.validation
    return {
        "graphs": {
            "training_graphs": len(graphs),
            "mean_nodes": float(graphs.sizes.mean()),
            "most_nodes": int(graphs.sizes.max()),
            "mean_edges": float(graphs.edge_counts.mean()),
            **describe_range(graphs),
            "attributes": [str(kind.name).lower().replace("_", " ") for kind in GraphFlags if graphs.any_has(kind)],
        },
        "labels": {
            "origin": supervision.origin,
            "training_pairs": len(labels),
            "graphs_in_training_pairs": len(labels.graphs),
            "mutated_graphs_in_training_pairs": supervision.mutated,
            "exact": float((labels.lower == labels.upper).mean()),
            **({} if supervision.beside is None else {"computed_pairs_beside": len(supervision.beside)}),
            **({"graphs_without_labels": len(supervision.unlabeled)} if len(supervision.unlabeled) else {}),
            "validation_pairs": len(validation),
            "cpu_seconds": round(supervision.cpu_seconds, 1),
        },
        "training": {
            "steps": result.steps,
            "best_step": result.best_step,
            "stopped_early": result.stopped_early,
            "seconds": round(result.seconds, 1),
            "validation_loss": result.validation_loss,
            **({} if result.alpha is None else {"alpha": result.alpha}),
        },
        "validation": _describe_validation(validation, predicted),
        "history": [dict(record) for record in result.history],
        "classes": _name_classes(graphs),
    }


def _describe_validation(labels: PairBounds, predicted: NDArray[np.floating[Any]]) -> dict[str, Any] | None:
    exact = labels.lower == labels.upper
    if not exact.any():
        return None
    known = labels.lower[exact]
    predicted = predicted[exact]
    correlation = mean_rank_correlation(labels.pairs[exact], predicted, known)
    return {
        "exact_pairs": int(exact.sum()),
        "mean_absolute_error_in_edits": mean_absolute_error(predicted, known),
        "mean_rank_correlation": None if math.isnan(correlation) else correlation,
    }


def _name_classes(graphs: GraphCollection) -> list[str] | None:
    """List short certificates, by which training graphs and their duplicates are recognized later; None if too many."""
    if len(graphs) > _MOST_CLASSES:
        return None
    try:
        return sorted({text[:CLASS_DIGITS] for text in certificates(graphs)})
    except WorkBudgetExceeded:
        return None


def describe_model(config: dict[str, Any], guarantee: str) -> str:
    """Write the model card, in Markdown, from the configuration of a saved model and its guarantee."""
    sections = model_card(config, guarantee)
    return "\n".join([_CARD, *(f"## {title}\n\n{_table(rows)}\n" for title, rows in sections.items())])


def model_card(config: dict[str, Any], guarantee: str) -> dict[str, dict[str, str]]:
    """Return the sections of the model card: names and values."""
    features, report = config["features"], config["report"]
    counted, ignored = what_counts(
        features["parts"], weighted=features["facts"]["weighted"], directed=features["facts"]["directed"]
    )
    if are_elements(features["parts"].get("tags", {}).get("tags", [])):
        ignored = [*ignored, "charge, stereochemistry and isotopes of atoms"]
    sections = {
        "What it computes": {
            "Distance": f"{config['model']['head']['kind']}: {guarantee}",
            "Strict": "yes: 0 exactly when graphs are isomorphic" if config["parameters"]["strict"] else "no",
            "Counts": counted,
            "Does not count": ignored,
            "Unit": "edits, as the labels; views `steinhaus` and `paper` lie in [0, 1]",
            "Numbers learned": f"{config['weights']['numbers']:,}",
        }
    }
    if report:
        sections |= {
            "Data": report["graphs"],
            "Labels": _with_percent(report["labels"]),
            "Training": report["training"],
            "On the validation pairs": report["validation"] or _without_known_distances(report["labels"]),
        }
    if "held_out" in report:
        sections["On held-out graphs"] = report["held_out"]
    sections["Versions"] = config["packages"]
    return {
        title: {f"{name[:1].upper()}{name[1:].replace('_', ' ')}": show_value(value) for name, value in rows.items()}
        for title, rows in sections.items()
    }


def _with_percent(labels: dict[str, Any]) -> dict[str, Any]:
    """Replace the fraction of known distances by text with a percentage."""
    share = labels["exact"]
    text = f"{100 * share:.1f} %" + (", of the others only bounds are known" if share < 1 else "")
    names = {"exact": "training_pairs_with_a_known_distance", "cpu_seconds": "CPU seconds"}
    return {names.get(name, name): text if name == "exact" else value for name, value in labels.items()}


def _without_known_distances(labels: dict[str, Any]) -> dict[str, Any]:
    pairs = labels["validation_pairs"]
    if not pairs:
        return {"Pairs": "none: nothing was held out"}
    return {"Pairs": f"{pairs:,}, of which only bounds are known: they chose the weights, and give no error to report"}


def _table(rows: dict[str, str]) -> str:
    lines = [f"| {name} | {value} |" for name, value in rows.items()]
    return "\n".join(["| | |", "|---|---|", *lines])


def show_value(value: Any) -> str:
    """Format a plain value of a report as text."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
