"""Benchmarks of real size: queries rank graphs of up to 60 nodes, whose true distances the exact search proves.

Graphs of one data set within some sizes are drawn by a fixed seed, one of each isomorphism class, and dealt to parts
that share no graph: test queries and the database that they rank, validation queries with a database of their own, and
training graphs. Choices are made on the validation part.

*The truth* comes from the exact search with a limit in search-tree nodes, so it is the same on every machine. It is
kept in a folder for each query, and a run that is killed loses nothing. Where the search stays open the distance is
known to lie in an interval, and scores take its middle for the truth. Beside them are what rho would be with all lower
and with all upper ends, and the least and the largest precision that any truth within the intervals gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from graphmetric.datasets import load_dataset
from graphmetric.edit_distance import ExactSearch, pairwise_edit_distances
from graphmetric.errors import InvalidArgument
from graphmetric.evaluation.scores import (
    exact_match_rate,
    kendall_tau,
    mean_or_nan,
    precision_at,
    precision_between,
    spearman_rho,
)
from graphmetric.formats import read_graphs
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.summary import component_counts
from graphmetric.training.supervision import find_distinct
from graphmetric_research.protocols import make_protocol

Part = Literal["test", "validation"]
Floats = NDArray[np.float64]
Positions = NDArray[np.int64]

RANDOM_PAIRS = 1_000
"""Pairs of the protocol that scores random pairs instead of rankings."""
NEIGHBOURS = 5
"""Nearest graphs that vote on the class of a query."""
_KS = (10, 20)


@dataclass(frozen=True, slots=True)
class SizedSet:
    """Which graphs a benchmark draws, and how many it deals to each part."""

    name: str
    dataset: str
    """A public data set, or a file of graphs in the folder of the data."""
    smallest: int = 2
    largest: int = 60
    queries: int = 24
    """Queries of the test part unless others are asked for."""
    val_queries: int = 4
    dealt: tuple[int, int, int, int, int] = (24, 400, 0, 0, 0)
    """The most graphs in each part: test queries, their database, validation queries, their database, training."""
    node_limit: int = 200_000
    """Search-tree nodes for each true distance."""
    made_by: str = ""
    """The command that makes the file, if it is one."""


_LISTED = (
    SizedSet("AIDS42k-15-40", "AIDS42k", 15, 40, 24, 8, (100, 2_000, 32, 400, 6_000)),
    SizedSet("AIDS42k-15-25", "AIDS42k", 15, 25, 8, 4, (16, 200, 8, 100, 6_000)),
    SizedSet("AIDS42k-26-50", "AIDS42k", 26, 50, 8, 4, (16, 200, 8, 100, 6_000)),
    SizedSet("AIDS42k-45-55", "AIDS42k", 45, 55, 4, 2, (32, 200, 16, 100, 0), node_limit=50_000),
    SizedSet(
        "programs-20-60", "programs.gmg", 20, 60, 8, 4, (8, 200, 4, 100, 4_000),
        made_by="python tools/make_programs.py --directed 4 100 DATA/programs.gmg",
    ),
    *(
        SizedSet(name, name, queries=24, dealt=(24, 200, 0, 0, 4_000))  # MUTAG has nothing left to train on
        for name in ("MUTAG", "PTC_MR", "PTC_FR", "PTC_MM", "AIDS", "NCI1", "Mutagenicity", "ENZYMES", "PROTEINS")
    ),
)  # fmt: skip
SETS: Mapping[str, SizedSet] = MappingProxyType({each.name: each for each in _LISTED})
"""The drawn benchmarks by name. A public set with a split and known distances, such as AIDS700nef, is one as well."""


@dataclass(frozen=True, slots=True, eq=False)
class SizedBenchmark:
    """Queries, the graphs that they rank, and what is known of their distances."""

    name: str
    part: Part
    queries: GraphCollection
    database: GraphCollection
    lower: Floats
    """(queries, database), in edits."""
    upper: Floats
    query_classes: Positions | None = None
    """The class of each graph, in sets made for classification."""
    classes: Positions | None = None
    node_limit: int | None = None
    """Search-tree nodes for each true distance; None if the distances came with the set."""

    @property
    def middle(self) -> Floats:
        """The truth, or the middle of the interval where it is open."""
        return (self.lower + self.upper) / 2

    @property
    def proven(self) -> float:
        """The share of pairs whose distance is known exactly."""
        return float(np.mean(self.lower == self.upper))

    @property
    def mean_nodes(self) -> float:
        return float((self.queries.sizes.mean() + self.database.sizes.mean()) / 2)


@dataclass(frozen=True, slots=True, eq=False)
class DealtParts:
    """Positions in the data set; no two graphs of all parts together are isomorphic."""

    queries: Positions
    database: Positions
    val_queries: Positions
    val_database: Positions
    training: Positions


def deal_parts(graphs: GraphCollection, chosen: SizedSet, seed: int = 0) -> DealtParts:
    """Draw connected graphs of the right sizes, one of each isomorphism class, and deal them in random order."""
    fitting = np.flatnonzero((graphs.sizes >= chosen.smallest) & (graphs.sizes <= chosen.largest))
    fitting = fitting[component_counts(graphs[fitting].columns) == 1]
    fitting = np.random.default_rng(seed).permutation(fitting)
    distinct = fitting[find_distinct(graphs[fitting])]
    if len(distinct) < chosen.dealt[0] + 10:
        raise InvalidArgument(
            f"{chosen.name} needs more than {chosen.dealt[0] + 10} different connected graphs of {chosen.smallest} to "
            f"{chosen.largest} nodes; {chosen.dataset} has {len(distinct)}"
        )
    return DealtParts(*np.split(distinct[: sum(chosen.dealt)], np.cumsum(chosen.dealt)[:-1]))


def load_sized_benchmark(
    chosen: str | SizedSet,
    folder: Path,
    *,
    root: str | None = None,
    part: Part = "test",
    queries: int | None = None,
    threads: int = 1,
) -> SizedBenchmark:
    """A benchmark with its truth, which is read from ``folder`` as far as it is there, and computed otherwise.

    ``chosen`` is a set, or the name of one of :data:`SETS` or of a public set with a split and known distances.
    ``queries`` are the first queries of the part.
    """
    if isinstance(chosen, str):
        if chosen not in SETS:
            return _protocol_a(chosen, root, part, queries)
        chosen = SETS[chosen]
    graphs, classes = load_graphs(chosen, root)
    parts = deal_parts(graphs, chosen)
    test = part == "test"
    rows, columns = (parts.queries, parts.database) if test else (parts.val_queries, parts.val_database)
    rows = rows[: queries or (chosen.queries if test else chosen.val_queries)]
    if len(rows) == 0:
        raise InvalidArgument(f"{chosen.name} has no {part} part; it has a test part only")
    database, stores = graphs[columns], folder / chosen.name / part
    bounds = [
        _prove_row(graphs[rows[k : k + 1]], database, chosen.node_limit, stores / f"query-{k:03d}", threads)
        for k in range(len(rows))
    ]
    lower, upper = (np.array(side) for side in zip(*bounds, strict=True))
    known = [None if classes is None else classes[side] for side in (rows, columns)]
    return SizedBenchmark(
        chosen.name, part, graphs[rows], database, lower, upper, known[0], known[1], chosen.node_limit
    )


def draw_random_pairs(benchmark: SizedBenchmark, folder: Path, threads: int = 1) -> tuple[Positions, Floats, Floats]:
    """Random pairs of different graphs of the database, with bounds of their distances: GRAIL's protocol."""
    size = len(benchmark.database)
    rng = np.random.default_rng(1)
    first = rng.integers(0, size, RANDOM_PAIRS)
    pairs = np.column_stack([first, (first + rng.integers(1, size, RANDOM_PAIRS)) % size])
    method = ExactSearch(node_limit=benchmark.node_limit)
    found = pairwise_edit_distances(
        benchmark.database, pairs=pairs, method=method, n_jobs=threads, store=folder / benchmark.name / "pairs"
    )
    return pairs, found.lower, found.upper


def load_graphs(chosen: SizedSet, root: str | None) -> tuple[GraphCollection, Positions | None]:
    """All graphs that a benchmark is drawn from, and their classes if they have any."""
    if not chosen.made_by:
        data = load_dataset(chosen.dataset, root=root)
        return data.graphs, data.classes
    path = Path(root or ".") / chosen.dataset
    if not path.exists():
        raise InvalidArgument(f"{chosen.name} reads {path}, which is not there; make it with: {chosen.made_by}")
    return read_graphs(path), None


def _prove_row(
    query: GraphCollection, database: GraphCollection, node_limit: int, store: Path, threads: int
) -> tuple[Floats, Floats]:
    pairs = np.column_stack([np.zeros(len(database), dtype=np.int64), np.arange(len(database))])
    found = pairwise_edit_distances(
        query, database, pairs=pairs, method=ExactSearch(node_limit=node_limit), n_jobs=threads, store=store
    )
    return found.lower, found.upper


def _protocol_a(name: str, root: str | None, part: Part, queries: int | None) -> SizedBenchmark:
    """Test graphs, or validation graphs, of a public set that rank its other seen graphs by known distances."""
    data = load_dataset(name, root=root)
    protocol = make_protocol("A", data.train, data.val, data.test)
    rows, columns = (protocol.queries, protocol.database) if part == "test" else (data.val, data.train)
    rows = rows[:queries]
    cells = np.ix_(rows, columns)
    lower, upper = data.lower[cells], data.upper[cells]
    if len(rows) == 0 or np.isnan(lower).any():
        raise InvalidArgument(f"{name} is not a benchmark of rankings; there are {', '.join(SETS)}, AIDS700nef, LINUX")
    return SizedBenchmark(name, part, data.graphs[rows], data.graphs[columns], lower, upper)


def score_benchmark(predicted: Floats, benchmark: SizedBenchmark) -> dict[str, Any]:
    """Means over the queries that were predicted, the first ones, and the spread that the open pairs leave.

    Rankings are scored as in :mod:`graphmetric.evaluation.scores`; the error is that against the middle of an interval.
    """
    done = len(predicted)
    lower, middle, upper = benchmark.lower[:done], benchmark.middle[:done], benchmark.upper[:done]
    rho = np.array([spearman_rho(*row) for row in zip(predicted, middle, strict=True)])
    precision = {k: _precisions(predicted, middle, k) for k in _KS}
    scores: dict[str, Any] = {
        "queries": done,
        "rho": mean_or_nan(rho),
        "rho error": float(rho.std() / np.sqrt(max(1, done - 1))),
        "tau": mean_or_nan(kendall_tau(*row) for row in zip(predicted, middle, strict=True)),
        **{f"p@{k}": mean_or_nan(values) for k, values in precision.items()},
        "p@10 error": float(precision[10].std() / np.sqrt(max(1, done - 1))),
        "mae": float(np.abs(predicted - middle).mean()),
        "exact hits": exact_match_rate(predicted, np.where(lower == upper, middle, np.nan)),
    }
    if not np.array_equal(lower, upper):
        for end, truth in (("lower", lower), ("upper", upper)):
            scores[f"rho, {end} ends"] = mean_or_nan(spearman_rho(*row) for row in zip(predicted, truth, strict=True))
        shares = np.array([precision_between(*row, 10) for row in zip(predicted, lower, upper, strict=True)])
        scores["p@10, at least"], scores["p@10, at most"] = shares.mean(axis=0).tolist()
    if benchmark.classes is not None and benchmark.query_classes is not None:
        scores["accuracy"] = classify_nearest(predicted, benchmark.query_classes[:done], benchmark.classes)
    return scores


def score_pairs(predicted: Floats, lower: Floats, upper: Floats) -> dict[str, float]:
    """Root mean squared error against the middles of the intervals, and the share of proven distances that are hit."""
    middle = (lower + upper) / 2
    return {
        "rmse": float(np.sqrt(np.mean((predicted - middle) ** 2))),
        "mae": float(np.abs(predicted - middle).mean()),
        "exact hits": exact_match_rate(predicted, np.where(lower == upper, middle, np.nan)),
        "proven": float(np.mean(lower == upper)),
    }


def classify_nearest(predicted: Floats, query_classes: Positions, classes: Positions) -> float:
    """The share of queries whose class most of the nearest graphs have; of classes with equal votes the nearest one."""
    right = 0
    for row, own in zip(predicted, query_classes, strict=True):
        votes = classes[np.argsort(row, kind="stable")[:NEIGHBOURS]].tolist()
        right += max(votes, key=votes.count) == own
    return right / len(predicted)


def _precisions(predicted: Floats, true: Floats, k: int) -> Floats:
    return np.array([precision_at(*row, k) for row in zip(predicted, true, strict=True)])
