"""From a matrix of predicted distances to the record of a run.

What triangle fixing makes of predicted distances.

The paper overwrites the entries of training pairs with the truth and then repairs the whole matrix, so two things
change at once. Here each is a variant of its own:

::

    none                nothing
    fixing              the nearest metric to the predictions alone
    known, fixing       training pairs written in first and then as free to move as all others, as the paper has it
    known fixed, fixing training pairs written in and kept; where the truth is no metric itself, repaired first
    known, closure      training pairs written in, then every distance cut to the shortest path: cheap, no nearness
    given, closure      likewise with all pairs that a method may know, those of a validation and a training graph too,
                        and with all copies of their graphs: the distance of two graphs is that of their copies
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance import normalized_distance, raw_distance
from graphmetric.errors import InvalidArgument
from graphmetric.evaluation import Raw, RunRecord, forget_other_sizes, installed_versions, score_distances
from graphmetric.evaluation.axioms import measure_axioms
from graphmetric.metric_repair import shortest_path_closure, triangle_fixing
from graphmetric.reproduction.benchmark import Benchmark, Floats

Known = NDArray[np.float64]
"""Square; NaN where unknown."""
Positions = NDArray[np.int64]

TOLERANCE = 1e-6
"""Of violations and of the gap: far below the three decimals of a score."""


def _fix(predicted: Floats, known: Known) -> Floats:
    return triangle_fixing(predicted, bounds=(0, 1), tolerance=TOLERANCE).matrix


def _write_in_and_fix(predicted: Floats, known: Known) -> Floats:
    return triangle_fixing(_write_in(predicted, known), bounds=(0, 1), tolerance=TOLERANCE).matrix


def _keep_known_and_fix(predicted: Floats, known: Known) -> Floats:
    try:
        return _fix_others(predicted, known)
    except InvalidArgument:  # the known distances contradict each other: a mean of upper bounds is no metric
        return _fix_others(predicted, _repair_known(predicted, known))


def _fix_others(predicted: Floats, known: Known) -> Floats:
    fixed = ~np.isnan(known)
    return triangle_fixing(_write_in(predicted, known), fixed=fixed, bounds=(0, 1), tolerance=TOLERANCE).matrix


def _repair_known(predicted: Floats, known: Known) -> Known:
    """The known distances after triangle fixing among the graphs that have any, closed to the last bit."""
    named = np.flatnonzero((~np.isnan(known)).any(axis=1))
    among = np.ix_(named, named)
    repaired = triangle_fixing(_write_in(predicted, known)[among], bounds=(0, 1), tolerance=TOLERANCE).matrix
    changed = known.copy()
    changed[among] = np.where(np.isnan(known[among]), np.nan, repaired)
    return changed


def _write_in_and_close(predicted: Floats, known: Known) -> Floats:
    return shortest_path_closure(_write_in(predicted, known))


def _write_in(predicted: Floats, known: Known) -> Floats:
    return np.where(np.isnan(known), predicted, known)


REPAIRS: Mapping[str, Callable[[Floats, Known], Floats]] = MappingProxyType(
    {
        "none": lambda predicted, known: predicted,
        "fixing": _fix,
        "known, fixing": _write_in_and_fix,
        "known fixed, fixing": _keep_known_and_fix,
        "known, closure": _write_in_and_close,
        "given, closure": _write_in_and_close,
    }
)
"""From distances on the paper's scale, in [0, 1], and what :func:`known_for` says of them, to repaired distances."""


def known_for(repair: str, benchmark: Benchmark) -> Known:
    """The distances that a repair is told, on the paper's scale."""
    protocol = benchmark.protocol(benchmark.protocol_names[-1])
    all_given = repair == "given, closure"
    told = protocol.seen if all_given else protocol.train
    known = np.full(benchmark.distances.shape, np.nan)
    visible = protocol.visible_distances(benchmark.to_paper_scale(benchmark.distances))
    known[np.ix_(told, told)] = visible[: len(told), : len(told)]
    return _spread_to_copies(known, benchmark.classes) if all_given else known


def _spread_to_copies(known: Known, classes: Positions) -> Known:
    """What is known of a pair holds for every pair of the same isomorphism classes; copies are at distance 0."""
    number = np.unique(classes, return_inverse=True)[1]
    among = np.full((number.max() + 1,) * 2, np.nan)
    rows, columns = np.nonzero(~np.isnan(known))
    among[number[rows], number[columns]] = known[rows, columns]
    np.fill_diagonal(among, 0)
    return among[np.ix_(number, number)]


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
