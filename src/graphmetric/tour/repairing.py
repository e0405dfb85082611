"""A matrix of distances that is no metric, and the nearest one that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmetric.edit_distance import Labels
from graphmetric.estimator import GraphDistance
from graphmetric.metric_repair import (
    RepairResult,
    TriangleViolations,
    triangle_fixing,
    triangle_violations,
    write_matrix,
)
from graphmetric.tour.folder import TourFolder
from graphmetric.tour.material import Material, square_matrix


@dataclass(frozen=True, slots=True, eq=False)
class Repaired:
    """A repair, and what it did to the errors."""

    before: TriangleViolations
    after: TriangleViolations
    own: TriangleViolations
    """Of the model of the tour on the same graphs, which nothing was done to."""
    result: RepairResult
    error_before: float
    """Root of the mean squared difference from the exact distances, in edits."""
    error_after: float
    """Never larger: the exact distances are a metric, and the nearest metric is nearer to all metrics (it is a
    projection to a convex set)."""


def repair_predictions(
    paper: GraphDistance, own: GraphDistance, material: Material, labels: Labels, folder: TourFolder, count: int
) -> Repaired:
    """Count, repair and count again, on unseen molecules."""
    chosen = material.unseen[:count]
    graphs, exact = material.graphs[chosen], square_matrix(labels, chosen)
    predicted = paper.pairwise(graphs).astype(np.float64)
    result = triangle_fixing(predicted, n_jobs=paper.n_jobs)
    ids = tuple(str(graph.id) for graph in graphs)
    for path, matrix in ((folder.matrix, predicted), (folder.repaired, result.matrix)):
        write_matrix(path, matrix, ids=ids)
    return Repaired(
        before=triangle_violations(predicted),
        after=triangle_violations(result.matrix),
        own=triangle_violations(own.pairwise(graphs).astype(np.float64), tolerance=1e-5),  # single precision
        result=result,
        error_before=_root_mean_square(predicted - exact),
        error_after=_root_mean_square(result.matrix - exact),
    )


def _root_mean_square(difference: np.ndarray) -> float:
    pairs = difference[np.triu_indices(len(difference), 1)]
    return float(np.sqrt(np.mean(pairs**2)))
