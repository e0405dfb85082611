"""The user's own distances, in any of their forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphmetric.edit_distance import Labels
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.supervision.record import Positions, Supervision
from graphmetric.training import TrainingLabels


def read_supervision(graphs: GraphCollection, distances: Any, held_out: Positions) -> Supervision:
    """Those of training, and those that choose the weights; see :func:`read_distances`."""
    labels = read_distances(distances, len(graphs))
    supervision = _part(graphs, labels, held_out)
    if len(supervision.training) == 0:
        raise InvalidArgument(
            f"there is nothing to train on: of {len(labels)} known pairs none is between two of the "
            f"{len(graphs) - len(held_out)} training graphs ({len(held_out)} are held out for validation)"
        )
    return supervision


def read_distances(distances: Any, count: int) -> TrainingLabels:
    """Labels from a square matrix (NaN: unknown), from records with pairs and bounds, or from (pairs, values)."""
    if isinstance(distances, TrainingLabels):
        labels = distances
    elif isinstance(distances, Labels):
        labels = TrainingLabels(distances.pairs, distances.lower, distances.upper)
    elif isinstance(distances, tuple) and len(distances) == 2:
        values = np.asarray(distances[1], dtype=np.float64)
        known = ~np.isnan(values)
        labels = TrainingLabels.exact(np.asarray(distances[0])[known], values[known])
    else:
        labels = _read_matrix(distances, count)
    if len(labels) and not (labels.pairs.min() >= 0 and labels.pairs.max() < count):
        raise InvalidArgument(
            f"distances speak of graphs {labels.pairs.min()}..{labels.pairs.max()}; graphs are numbered 0..{count - 1}"
        )
    return labels


def _read_matrix(distances: Any, count: int) -> TrainingLabels:
    matrix = np.asarray(distances, dtype=np.float64)
    if matrix.shape != (count, count):
        raise InvalidArgument(
            f"distances of {count} graphs are a matrix of shape ({count}, {count}), labels, or a tuple (pairs, "
            f"values); got shape {matrix.shape}. (Cross-validation in scikit-learn cuts only the rows of a matrix: "
            "leave distances out there, and each fold computes its own)"
        )
    return TrainingLabels.from_matrix(matrix)


def _part(graphs: GraphCollection, labels: TrainingLabels, held_out: Positions) -> Supervision:
    """Keep the graphs that occur; a pair with any graph that is held out is for validation only."""
    used, places = np.unique(labels.pairs, return_inverse=True)
    moved = TrainingLabels(places.reshape(labels.pairs.shape), labels.lower, labels.upper)
    validates = np.isin(labels.pairs, held_out).any(axis=1)
    return Supervision(
        graphs[used], moved.take(np.flatnonzero(~validates)), moved.take(np.flatnonzero(validates)), "given"
    )
