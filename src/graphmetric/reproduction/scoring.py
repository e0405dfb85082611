"""From a matrix of predicted distances to the record of a run."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np

from graphmetric.edit_distance import normalized_distance, raw_distance
from graphmetric.evaluation import Raw, RunRecord, forget_other_sizes, installed_versions, score_distances
from graphmetric.evaluation.axioms import measure_axioms
from graphmetric.reproduction.benchmark import Benchmark, Floats
from graphmetric.reproduction.repairs import REPAIRS, known_for

SIMILAR_SIZES = ", similar sizes"
"""At the end of a protocol's name: only pairs that differ by fewer than three nodes are scored."""
_FARTHEST = 1 - 1e-12
"""On the paper's scale; 1 itself is infinitely many edits."""


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """What one trained method says of a benchmark."""

    method: str
    matrix: Floats
    """On the paper's scale, all graphs by all graphs; NaN in rows that were not asked for."""
    configuration: dict[str, Any]
    seed: int
    cpu_seconds: float
    wall_seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class Repaired:
    """A prediction after a repair, or after none; the same for all protocols."""

    prediction: Prediction
    repair: str
    matrix: Floats
    axioms: dict[str, Any] | None
    """As measured on the matrix; None if it is not whole."""


def repair_prediction(prediction: Prediction, benchmark: Benchmark, repair: str) -> Repaired:
    """Repair the matrix if asked to, and measure which axioms it keeps."""
    matrix = prediction.matrix
    if repair != "none":
        matrix = REPAIRS[repair](_symmetric(matrix), known_for(repair, benchmark))
    complete = not np.isnan(matrix).any()
    axioms = measure_axioms(matrix, classes=benchmark.classes).to_dict() if complete else None
    return Repaired(prediction, repair, matrix, axioms)


def score_repaired(repaired: Repaired, benchmark: Benchmark, protocol_name: str) -> RunRecord:
    """Score the rows of the test graphs."""
    prediction, repair, matrix = repaired.prediction, repaired.repair, repaired.matrix
    protocol = benchmark.protocol(protocol_name.removesuffix(SIMILAR_SIZES))
    sides = benchmark.graphs[protocol.queries], benchmark.graphs[protocol.database]
    predicted = matrix[np.ix_(protocol.queries, protocol.database)]
    edits = protocol.test_distances(benchmark.distances)
    if protocol_name.endswith(SIMILAR_SIZES):
        edits = forget_other_sizes(edits, *(side.sizes for side in sides))
    raw = Raw(raw_distance(np.minimum(predicted, _FARTHEST), *sides), edits)
    return RunRecord(
        method=prediction.method if repair == "none" else f"{prediction.method} + {repair}",
        dataset=benchmark.name,
        protocol=protocol_name,
        scores=score_distances(predicted, normalized_distance(edits, *sides), raw=raw).to_dict(),
        axioms=repaired.axioms,
        configuration={
            **prediction.configuration,
            "truth": benchmark.truth,
            "split": benchmark.split,
            "repair": repair,
        },
        seeds={"random_state": prediction.seed},
        versions=installed_versions(),
        cpu_seconds=prediction.cpu_seconds,
        wall_seconds=prediction.wall_seconds,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _symmetric(matrix: Floats) -> Floats:
    """What a metric repair may be given: the mean of both directions, 0 on the diagonal, within [0, 1]."""
    both = np.clip((matrix + matrix.T) / 2, 0, 1)
    np.fill_diagonal(both, 0)
    return both
