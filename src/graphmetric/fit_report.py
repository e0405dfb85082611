"""What a fit has to say for itself, as plain data: graphs, labels, training, validation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import WorkBudgetExceeded
from graphmetric.evaluation import mean_absolute_error, mean_rank_correlation
from graphmetric.graphs.canonical import certificates
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import Has
from graphmetric.supervision import Supervision
from graphmetric.training import TrainingLabels, TrainingResult

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
