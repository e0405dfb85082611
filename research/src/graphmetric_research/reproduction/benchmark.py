"""A benchmark: a data set with its true distances, and how predictions on it are repaired and scored.

The paper overwrites the entries of training pairs with the truth and then repairs the whole matrix, so two things
change at once. Here each is a variant of its own::

    none                nothing is changed
    fixing              the nearest metric to the predictions alone
    known, fixing       training pairs are written in first and may then move like all others, as in the paper
    known fixed, fixing training pairs are written in and kept; if the truth is not a metric, it is repaired first
    known, closure      training pairs are written in, then every distance is cut to the shortest path: cheap, but
                        the result is not the nearest metric
    given, closure      the same with all pairs that a method may know, including those of a validation and a training
                        graph, and with all copies of their graphs: the distance of two graphs is that of their copies
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.atomic_files import atomic_write, make_folder
from graphmetric._foundation.versions import installed_versions
from graphmetric.datasets import Dataset, load_dataset
from graphmetric.datasets.dataset import separate_classes, take_first
from graphmetric.edit_distance import ExactSearch, normalized_distance, pairwise_edit_distances, raw_distance
from graphmetric.errors import InvalidArgument
from graphmetric.evaluation import Raw, score_distances
from graphmetric.evaluation.axioms import measure_axioms
from graphmetric.graphs.collection import GraphCollection
from graphmetric.metric_repair import shortest_path_closure
from graphmetric.metric_repair.triangle_fixing import triangle_fixing
from graphmetric_research.protocols import Protocol, make_protocol, mask_size_mismatches
from graphmetric_research.run_record import RunRecord

Truth = Literal["exact", "best known", "mean of three"]
"""The best known distance is the upper bound that comes with a data set; it is exact where it meets the lower bound."""
SplitName = Literal["as given", "leak-free"]
Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

SIMILAR_SIZES = ", similar sizes"
"""End of the name of a protocol that scores only pairs that differ by fewer than three nodes."""
TOLERANCE = 1e-6
"""Accepted violation and gap of a repair: far below the three decimals of a score."""
_SECONDS_PER_PAIR = 0.2
"""Time limit of the exact distance; pairs that are not proven by then stay unknown."""
_THREE = ("published-beam:80", "hungarian", "vj")
"""The searches whose mean the paper takes for the truth where the exact distance was out of its reach."""
_FARTHEST = 1 - 1e-12
"""The largest distance on the paper's scale; 1 itself is infinitely many edits."""


@dataclass(frozen=True, slots=True, eq=False)
class Benchmark:
    """Graphs, their split, and their true distances."""

    name: str
    graphs: GraphCollection
    train: Positions
    val: Positions
    test: Positions
    classes: Positions
    """The isomorphism class of each graph."""
    distances: Floats
    """In edits, square; NaN where unknown."""
    truth: Truth
    split: SplitName

    @property
    def protocol_names(self) -> tuple[str, ...]:
        """The protocols by which a run on this split can be scored."""
        return ("leak-free",) if self.split == "leak-free" else ("paper", "A")

    def protocol(self, name: str) -> Protocol:
        """The protocol of this name on this split."""
        return make_protocol(name, self.train, self.val, self.test, classes=self.classes)

    def to_paper_scale(self, distances: Floats) -> Floats:
        """1 - exp(-d / mean size) of a square matrix of edits."""
        scaled: Floats = normalized_distance(distances, self.graphs)
        return scaled


def load_benchmark(
    name: str,
    *,
    truth: Truth = "exact",
    split: SplitName = "as given",
    limit: int | None = None,
    root: str | None = None,
    store: Path,
) -> Benchmark:
    """A data set with all true distances, test x test included; distances that must be computed are kept in ``store``.

    ``limit`` takes that many graphs: the first of each part, in the proportions of the parts.
    """
    data = take_first(load_dataset(name, root=root), limit)
    classes, parts = data.isomorphism_classes, data.split
    distances = _load_or_compute(data, truth, store)
    if split == "as given":
        return Benchmark(name, data.graphs, *parts, classes, distances, truth, split)
    kept, parts = separate_classes(parts, classes)
    among = distances[np.ix_(kept, kept)]
    return Benchmark(name, data.graphs[kept], *parts, classes[kept], among, truth, split)


@dataclass(frozen=True, slots=True, eq=False)
class Prediction:
    """What one trained method predicts on a benchmark."""

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
    """As measured on the matrix; None if entries are missing."""


def repair_prediction(prediction: Prediction, benchmark: Benchmark, repair: str) -> Repaired:
    """Repair the matrix if asked to, and measure which axioms it satisfies."""
    matrix = prediction.matrix
    if repair != "none":
        both = np.clip((matrix + matrix.T) / 2, 0, 1)
        np.fill_diagonal(both, 0)
        matrix = REPAIRS[repair](both, known_for(repair, benchmark))
    complete = not np.isnan(matrix).any()
    axioms = measure_axioms(matrix, classes=benchmark.classes).to_dict() if complete else None
    return Repaired(prediction, repair, matrix, axioms)


def score_repaired(repaired: Repaired, benchmark: Benchmark, protocol_name: str) -> RunRecord:
    """Score the rows of the test graphs."""
    prediction, repair = repaired.prediction, repaired.repair
    protocol = benchmark.protocol(protocol_name.removesuffix(SIMILAR_SIZES))
    sides = benchmark.graphs[protocol.queries], benchmark.graphs[protocol.database]
    predicted = np.minimum(repaired.matrix[np.ix_(protocol.queries, protocol.database)], _FARTHEST)
    edits = protocol.test_distances(benchmark.distances)
    if protocol_name.endswith(SIMILAR_SIZES):
        edits = mask_size_mismatches(edits, *(side.sizes for side in sides))
    raw = Raw(raw_distance(predicted, *sides), edits)
    about = {"truth": benchmark.truth, "split": benchmark.split, "repair": repair}
    return RunRecord(
        method=prediction.method if repair == "none" else f"{prediction.method} + {repair}",
        dataset=benchmark.name,
        protocol=protocol_name,
        scores=score_distances(predicted, normalized_distance(edits, *sides), raw=raw).to_dict(),
        axioms=repaired.axioms,
        configuration=prediction.configuration | about,
        seeds={"random_state": prediction.seed},
        versions=installed_versions(),
        cpu_seconds=prediction.cpu_seconds,
        wall_seconds=prediction.wall_seconds,
        date=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def known_for(repair: str, benchmark: Benchmark) -> Floats:
    """The distances that a repair may use, on the paper's scale; NaN where unknown."""
    protocol = benchmark.protocol(benchmark.protocol_names[-1])
    all_given = repair == "given, closure"
    used = protocol.seen if all_given else protocol.train
    known = np.full(benchmark.distances.shape, np.nan)
    visible = protocol.visible_distances(benchmark.to_paper_scale(benchmark.distances))
    known[np.ix_(used, used)] = visible[: len(used), : len(used)]
    return _spread_to_copies(known, benchmark.classes) if all_given else known


def _spread_to_copies(known: Floats, classes: Positions) -> Floats:
    """Give a known distance to every pair of the same isomorphism classes; copies are at distance 0."""
    number = np.unique(classes, return_inverse=True)[1]
    among = np.full((number.max() + 1,) * 2, np.nan)
    rows, columns = np.nonzero(~np.isnan(known))
    among[number[rows], number[columns]] = known[rows, columns]
    np.fill_diagonal(among, 0)
    return among[np.ix_(number, number)]


def _fix(distances: Floats, fixed: NDArray[np.bool_] | None = None) -> Floats:
    return triangle_fixing(distances, fixed=fixed, bounds=(0, 1), tolerance=TOLERANCE).matrix


def _write_in(predicted: Floats, known: Floats) -> Floats:
    return np.where(np.isnan(known), predicted, known)


def _fix_others(predicted: Floats, known: Floats) -> Floats:
    try:
        return _fix(_write_in(predicted, known), ~np.isnan(known))
    except InvalidArgument:  # the known distances contradict each other: a mean of upper bounds is not a metric
        named = np.flatnonzero((~np.isnan(known)).any(axis=1))
        among = np.ix_(named, named)
        changed = known.copy()
        changed[among] = np.where(np.isnan(known[among]), np.nan, _fix(_write_in(predicted, known)[among]))
        return _fix(_write_in(predicted, changed), ~np.isnan(changed))


REPAIRS: Mapping[str, Callable[[Floats, Floats], Floats]] = MappingProxyType(
    {
        "none": lambda predicted, known: predicted,
        "fixing": lambda predicted, known: _fix(predicted),
        "known, fixing": lambda predicted, known: _fix(_write_in(predicted, known)),
        "known fixed, fixing": _fix_others,
        "known, closure": lambda predicted, known: shortest_path_closure(_write_in(predicted, known)),
        "given, closure": lambda predicted, known: shortest_path_closure(_write_in(predicted, known)),
    }
)
"""Functions of predicted distances on the paper's scale, in [0, 1], and of the distances of :func:`known_for`."""


def _load_or_compute(data: Dataset, truth: Truth, store: Path) -> Floats:
    if truth == "best known":
        return np.array(data.upper)
    if truth == "exact" and not np.isnan(data.distances).any():
        return np.array(data.distances)
    path = store / f"{data.name}-{len(data.graphs)}-{truth.replace(' ', '-')}.npy"
    if not path.exists():
        pairs_done = path.with_suffix("")
        computed = _complete_exact(data, pairs_done) if truth == "exact" else _average_three(data, pairs_done)
        make_folder(path.parent)
        with atomic_write(path) as file:
            np.save(file, computed)
    loaded: Floats = np.load(path, allow_pickle=False)
    return loaded


def _complete_exact(data: Dataset, store: Path) -> Floats:
    """The known distances, and the results of the exact search for all others."""
    distances = np.array(data.distances)
    unknown = np.argwhere(np.triu(np.isnan(distances), k=1))
    method = ExactSearch(time_limit=_SECONDS_PER_PAIR)
    found = pairwise_edit_distances(
        data.graphs, pairs=unknown, method=method, n_jobs=-1, store=store / f"{data.name}-pairs"
    )
    values = np.where(found.exact, found.lower, np.nan)
    distances[unknown[:, 0], unknown[:, 1]] = distances[unknown[:, 1], unknown[:, 0]] = values
    return distances


def _average_three(data: Dataset, store: Path) -> Floats:
    """The mean of three approximate searches between the first graphs of the isomorphism classes.

    The searches break ties by the order of the nodes, so copies of a graph would get other distances; one graph for all
    of them is a cleaner truth, and a fifteenth of the work on IMDBMulti.
    """
    first, number = np.unique(data.isomorphism_classes, return_index=True, return_inverse=True)[1:]
    found = [
        pairwise_edit_distances(data.graphs[first], method=name, n_jobs=-1, store=store / str(k)).upper
        for k, name in enumerate(_THREE)
    ]
    mean: Floats = np.mean(found, axis=0)
    np.fill_diagonal(mean, 0)
    return ((mean + mean.T) / 2)[np.ix_(number, number)]
