"""The model card: what a saved model is, for people.

What a fit has to say for itself, as plain data: graphs, labels, training, validation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import WorkBudgetExceeded
from graphmetric.evaluation import mean_absolute_error, mean_rank_correlation
from graphmetric.features.attributes import what_counts
from graphmetric.graphs.canonical import certificates
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import Has
from graphmetric.graphs.summary import are_elements
from graphmetric.training import TrainingLabels, TrainingResult
from graphmetric.training.supervision import Supervision

Floats = NDArray[np.floating[Any]]

CLASS_DIGITS = 12
"""Hexadecimal digits of a certificate that a report keeps: among a million graphs, two agree with odds of 1 : 500."""
_MOST_CLASSES = 50_000


def describe_fit(
    graphs: GraphCollection, supervision: Supervision, result: TrainingResult, predicted: Floats
) -> dict[str, Any]:
    """The report of one fit on ``graphs``; ``predicted`` are the distances of the validation pairs."""
    return {
        "graphs": _describe_graphs(graphs),
        "labels": _describe_labels(supervision),
        "training": {
            "steps": result.steps,
            "best_step": result.best_step,
            "stopped_early": result.stopped_early,
            "seconds": round(result.seconds, 1),
            "validation_loss": result.validation_loss,
        },
        "validation": _describe_validation(supervision.validation, predicted),
        "history": [dict(record) for record in result.history],
        "classes": _name_classes(graphs),
    }


def _name_classes(graphs: GraphCollection) -> list[str] | None:
    """Short certificates of the training graphs, by which they and copies of them are known again; None if too many."""
    if len(graphs) > _MOST_CLASSES:
        return None
    try:
        return sorted({text[:CLASS_DIGITS] for text in certificates(graphs)})
    except WorkBudgetExceeded:
        return None


def _describe_graphs(graphs: GraphCollection) -> dict[str, Any]:
    present = [kind.name.lower().replace("_", " ") for kind in Has if graphs.any_has(kind) and kind.name]
    return {
        "training_graphs": len(graphs),
        "mean_nodes": float(graphs.sizes.mean()),
        "most_nodes": int(graphs.sizes.max()),
        "mean_edges": float(graphs.edge_counts.mean()),
        "attributes": present,
    }


def _describe_labels(supervision: Supervision) -> dict[str, Any]:
    training = supervision.training
    return {
        "origin": supervision.origin,
        "training_pairs": len(training),
        "graphs_in_training_pairs": len(training.graphs),
        "mutated_graphs_in_training_pairs": supervision.mutated,
        "exact": float((training.lower == training.upper).mean()),
        "validation_pairs": len(supervision.validation),
        "cpu_seconds": round(supervision.cpu_seconds, 1),
    }


def _describe_validation(labels: TrainingLabels, predicted: Floats) -> dict[str, Any] | None:
    exact = labels.lower == labels.upper
    if not exact.any():
        return None
    known, said = labels.lower[exact], predicted[exact]
    correlation = mean_rank_correlation(labels.pairs[exact], said, known)
    return {
        "exact_pairs": int(exact.sum()),
        "mean_absolute_error_in_edits": mean_absolute_error(said, known),
        "mean_rank_correlation": None if math.isnan(correlation) else correlation,
    }


def describe_model(config: dict[str, Any], promise: str) -> str:
    """Markdown from the configuration of a saved model, and what its distance promises."""
    report, head = config["report"], config["model"]["head"]["kind"]
    features = config["features"]
    counted, ignored = what_counts(
        features["parts"], weighted=features["facts"]["weighted"], directed=features["facts"]["directed"]
    )
    sections = {
        "How to load": _loading(),
        "What it computes": _table(
            {
                "Distance": f"{head}: {promise}",
                "Strict": "yes: 0 exactly when graphs are isomorphic" if config["parameters"]["strict"] else "no",
                "Counts": counted,
                "Does not count": [*ignored, *_beyond_elements(config["features"]["parts"])],
                "Unit": "edits, as the labels; views `steinhaus` and `paper` lie in [0, 1]",
                "Numbers learned": f"{config['weights']['numbers']:,}",
            }
        ),
        "Data": _table(report["graphs"]),
        "Labels": _table(_with_percent(report["labels"])),
        "Training": _table(report["training"]),
        "On the validation pairs": _table(report["validation"] or _without_known_distances(report["labels"])),
        **({"On held-out graphs": _table(report["held_out"])} if "held_out" in report else {}),
        "Versions": _table(config["packages"]),
    }
    body = "\n\n".join(f"## {title}\n\n{text}" for title, text in sections.items())
    return f"# A learned graph distance\n\n{_SUMMARY}\n\n{body}\n"


_SUMMARY = (
    "A neural distance between graphs, trained with graphmetric. It answers for graphs like those it was trained on; "
    "for others its axioms hold and its accuracy is unknown. Validation pairs chose the weights, so their figures are "
    "a little optimistic: measure on graphs that training never saw."
)


def _beyond_elements(parts: dict[str, Any]) -> list[str]:
    """What graphs of molecules leave out, where the labels that the model knows are chemical elements."""
    known = parts.get("tags", {}).get("tags", [])
    return ["charge, stereochemistry and isotopes of atoms"] if are_elements(known) else []


def _loading() -> str:
    return (
        '```python\nimport graphmetric as gm\n\nmodel = gm.GraphDistance.load("this-folder")\nmodel.distance(g, h)\n```'
    )


def _with_percent(labels: dict[str, Any]) -> dict[str, Any]:
    """The labels, their share of known distances as a percentage and in words."""
    share = labels["exact"]
    told = f"{100 * share:.1f} %" + (", of the others only bounds are known" if share < 1 else "")
    names = {"exact": "training_pairs_with_a_known_distance", "cpu_seconds": "CPU seconds"}
    return {names.get(name, name): told if name == "exact" else value for name, value in labels.items()}


def _without_known_distances(labels: dict[str, Any]) -> dict[str, Any]:
    pairs = labels["validation_pairs"]
    if not pairs:
        return {"Pairs": "none: nothing was held out"}
    return {"Pairs": f"{pairs:,}, of which only bounds are known: they chose the weights, and give no error to report"}


def _table(rows: dict[str, Any]) -> str:
    titles = [name[:1].upper() + name[1:].replace("_", " ") for name in rows]
    lines = [f"| {title} | {_shown(value)} |" for title, value in zip(titles, rows.values(), strict=True)]
    return "\n".join(["| | |", "|---|---|", *lines])


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
