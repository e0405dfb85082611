"""Choice of queries and database, true and predicted rankings, and a few of these rankings as examples.

The truth are known distances, or those that the exact search finds. For large graphs it proves few within a reasonable
time. What it has by then are bounds, and models can be scored against bounds, too: see
:mod:`graphmetric.evaluation.scores`.

The examples are Figure 2 of the paper for any data: queries with their nearest graphs, by the model and in truth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric._foundation.limits import Deadline, paced
from graphmetric._foundation.progress import Progress, progress
from graphmetric.datasets import Dataset
from graphmetric.edit_distance import BranchBound, EditCosts, EditDistanceMethod, ExactSearch, pairwise_edit_distances
from graphmetric.errors import InvalidArgument
from graphmetric.evaluation.scores import Floats, nearest_for_certain, precision_between
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.training.supervision import read_distances

Positions = NDArray[np.int64]

QUERIES = 100
"""Default number of queries drawn from graphs without a split."""
EXAMPLES = 5
_FEWEST_QUERIES = 25
"""A budget of distances is met by fewer queries down to this number, then by a smaller database."""


@dataclass(frozen=True, slots=True, eq=False)
class RankingTask:
    """Queries, each of which ranks the database without itself; both are positions, ascending."""

    queries: Positions
    database: Positions
    rule: str
    """The choice of both, as the end of a sentence about the queries."""
    split: bool
    """Whether the queries are meant to be graphs that no model has seen."""

    def draw(self, count: int, rng: np.random.Generator) -> RankingTask:
        """Return the task with at most ``count`` of the queries, chosen at random."""
        return replace(self, queries=np.sort(rng.permutation(self.queries)[:count]))

    def within(self, budget: int, rng: np.random.Generator) -> RankingTask:
        """A random part of the task in which queries x database do not exceed the budget."""
        count = max(min(len(self.queries), _FEWEST_QUERIES, budget), budget // max(1, len(self.database)))
        fewer = self.draw(count, rng)
        database = np.sort(rng.permutation(self.database)[: budget // max(1, len(fewer.queries))])
        return replace(fewer, database=database)


def plan_rankings(count: int, dataset: Dataset | None, train: ArrayLike | None) -> RankingTask:
    """The largest task for ``count`` graphs.

    The split of a data set gives protocol A: test graphs rank training and validation graphs. ``train``, positions
    of the graphs that a model was trained on, does the same for other graphs. Without either, each graph ranks all
    others.
    """
    everything = np.arange(count, dtype=np.int64)
    if train is not None:
        seen = np.unique(np.asarray(train))
        if not seen.size or seen.dtype.kind not in "iu" or seen[0] < 0 or seen[-1] >= count or len(seen) == count:
            raise InvalidArgument(
                f"train must hold positions of some, not all, of the graphs, 0..{count - 1}; got {train!r}"
            )
        return RankingTask(np.setdiff1d(everything, seen), seen.astype(np.int64), "rank the training graphs", True)
    if dataset is not None and len(dataset.test) and len(dataset.train):
        database = np.sort(np.concatenate([dataset.train, dataset.val]))
        return RankingTask(dataset.test, database, "rank the training and validation graphs (protocol A)", True)
    return RankingTask(everything, everything, "rank all other graphs", False)


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One graph of a ranking."""

    graph: int
    """Position in the collection."""
    predicted: float
    lower: float
    upper: float
    """Bounds of the true distance, equal where it is known."""
    right: bool | None
    """Whether it is truly among the nearest, ties with the last included; None if the bounds do not decide it."""

    @property
    def true(self) -> str:
        """The true distance, or its bounds."""
        return f"{self.lower:.4g}" if self.lower == self.upper else f"{self.lower:.4g} to {self.upper:.4g}"


@dataclass(frozen=True, slots=True)
class ExampleQuery:
    """A query and its nearest graphs, nearest first."""

    graph: int
    """Position in the collection."""
    rank: int
    """1 for the query that the model answers best."""
    by_model: tuple[Neighbour, ...]
    by_truth: tuple[Neighbour, ...]

    @property
    def right(self) -> int:
        """Number of the model's nearest that are certainly right."""
        return sum(neighbour.right is True for neighbour in self.by_model)

    @property
    def open(self) -> int:
        """For how many of the model's nearest this is not known."""
        return sum(neighbour.right is None for neighbour in self.by_model)


def choose_examples(
    task: RankingTask, predicted: Floats, lower: Floats, upper: Floats, k: int
) -> tuple[ExampleQuery, ...]:
    """Queries from the best to the worst answered, evenly spaced, so that none is picked for its looks.

    ``lower`` and ``upper`` are bounds of the true distances; graphs for which they are NaN are left out.
    """
    known = ~np.isnan(lower)
    rows = [
        (task.database[here], p[here], a[here], b[here])
        for here, p, a, b in zip(known, predicted, lower, upper, strict=True)
    ]
    order = np.argsort([-sum(precision_between(p, a, b, k)) for _, p, a, b in rows], kind="stable").tolist()
    ranks = np.unique(np.linspace(0, len(order) - 1, EXAMPLES).round().astype(int)).tolist()
    return tuple(_example(int(task.queries[order[rank]]), rank + 1, rows[order[rank]], k) for rank in ranks)


def _example(query: int, rank: int, candidates: tuple[Positions, Floats, Floats, Floats], k: int) -> ExampleQuery:
    graphs, predicted, lower, upper = candidates
    certain, possible = nearest_for_certain(lower, upper, min(k, len(graphs)))
    right = [yes if yes == maybe else None for yes, maybe in zip(certain.tolist(), possible.tolist(), strict=True)]
    columns = (graphs.tolist(), predicted.tolist(), lower.tolist(), upper.tolist(), right)
    neighbours = [Neighbour(*values) for values in zip(*columns, strict=True)]

    def nearest(distances: Floats) -> tuple[Neighbour, ...]:
        return tuple(neighbours[n] for n in np.argsort(distances, kind="stable")[:k])

    return ExampleQuery(query, rank, nearest(predicted), nearest((lower + upper) / 2))


NODE_LIMIT = 20_000
"""Search-tree nodes per pair: hundredths of a second for small graphs, and the same on every machine."""

_EASY = 12
"""Nodes of the smaller graph up to which a pair is searched quicker than it takes to look at the clock."""
_EASY_SECONDS, _SECONDS_PER_NODE_PAIR = 2e-4, 5e-6
_LEAST_SECONDS, _MOST_SECONDS = 0.02, 2.0
"""For one pair that is not easy; in between, its share of the time that is left."""
_CHUNK_SECONDS = 0.5
_FIRST_CHUNK, _LARGEST_CHUNK = 50, 2_000


@dataclass(frozen=True, slots=True, eq=False)
class TrueBounds:
    """Bounds of the true distances, (queries, database); NaN where nothing is known, and where a graph meets itself."""

    lower: Floats
    upper: Floats

    @property
    def known(self) -> NDArray[np.bool_]:
        """The pairs with bounds."""
        return ~np.isnan(self.lower)

    @property
    def exact(self) -> Floats:
        """The distances that are proven; NaN elsewhere."""
        return np.where(self.lower == self.upper, self.upper, np.nan)

    @property
    def proven(self) -> float:
        """The share of the pairs with bounds whose distance is proven."""
        return float((self.lower == self.upper)[self.known].mean()) if self.known.any() else 1.0

    def take(self, queries: NDArray[np.bool_]) -> TrueBounds:
        """The rows of some queries."""
        return TrueBounds(self.lower[queries], self.upper[queries])


@dataclass(frozen=True, slots=True, eq=False)
class KnownDistances:
    """Bounds of the distances of some pairs of different graphs of a collection."""

    graphs: int
    """The number of graphs in the collection."""
    bounds: PairBounds
    origin: str
    """Their origin, as text."""

    @classmethod
    def given(cls, distances: Any, graphs: int) -> KnownDistances:
        """Take distances in any form that ``GraphDistance.fit`` takes; pairs without an upper bound are left out."""
        labels = read_distances(distances, graphs)
        known = np.isfinite(labels.upper) & (labels.pairs[:, 0] != labels.pairs[:, 1])
        return cls(graphs, labels.take(known), "given with the graphs")

    @classmethod
    def of_dataset(cls, data: Dataset) -> KnownDistances:
        """The distances that come with a data set."""
        i, j, distance = data.known_pairs
        known = PairBounds(np.column_stack([i, j]), distance, distance)
        return cls(len(data.graphs), known, f"of the data set: {data.distance_kind}")

    def between(self, queries: Positions, database: Positions) -> TrueBounds:
        """The bounds of the distances between queries and database, as far as they are known."""
        row, column = self._places(queries), self._places(database)
        bounds = np.full((2, len(queries), len(database)), np.nan)
        pairs, known = self.bounds.pairs, (self.bounds.lower, self.bounds.upper)
        for first, second in (pairs.T, pairs.T[::-1]):
            here = (row[first] >= 0) & (column[second] >= 0)
            bounds[:, row[first[here]], column[second[here]]] = np.compress(here, known, axis=1)
        return TrueBounds(*bounds)

    def draw(self, plan: RankingTask, count: int, rng: np.random.Generator) -> RankingTask:
        """At most ``count`` queries with two known distances to rank, and the graphs to which they have any."""
        able = plan.queries[self.partners(plan.database)[plan.queries] >= 2]
        task = replace(plan, queries=able).draw(count, rng)
        return replace(task, database=plan.database[self.partners(task.queries)[plan.database] > 0])

    def partners(self, database: Positions) -> NDArray[np.int64]:
        """For each graph of the collection, the number of graphs of the database to which its distance is known."""
        among = self._places(database) >= 0
        first, second = self.bounds.pairs.T
        starts = np.concatenate([first[among[second]], second[among[first]]])
        return np.bincount(starts, minlength=self.graphs)

    def _places(self, positions: Positions) -> NDArray[np.int64]:
        """For each graph its place among the positions, -1 if it is not among them."""
        places = np.full(self.graphs, -1, dtype=np.int64)
        places[positions] = np.arange(len(positions))
        return places


def affordable_pairs(sizes: NDArray[np.int64], time_limit: float | None) -> int:
    """Estimate the number of pairs of graphs of these sizes that can be usefully searched in the time."""
    if time_limit is None:
        return 10**12
    middle = float(np.median(sizes)) if len(sizes) else 0.0
    each = _EASY_SECONDS if middle <= _EASY else _SECONDS_PER_NODE_PAIR * middle**2
    return int(min(time_limit / each, 1e12))


def search_bounds(
    graphs: GraphCollection,
    task: RankingTask,
    *,
    costs: EditCosts,
    n_jobs: int | None,
    time_limit: float | None,
    rng: np.random.Generator,
) -> TrueBounds:
    """Edit distances between queries and database, or the bounds that were found when the time is over.

    All pairs get quick bounds first. Then they are searched, the easy ones first, the others in a random order.
    """
    rows, columns = np.nonzero(task.queries[:, None] != task.database)
    asked = np.sort(np.stack([task.queries[rows], task.database[columns]], axis=1), axis=1)
    pairs, place = np.unique(asked, axis=0, return_inverse=True)
    lower = np.zeros(len(pairs))
    upper = np.full(len(pairs), np.inf)
    until = Deadline.after(time_limit)

    def improve(order: Positions, method: Callable[[int], EditDistanceMethod], shown: Progress | None) -> None:
        """Work through the pairs in chunks of about half a second; ``method`` gets the number of pairs left."""
        left = len(order)
        for chunk in paced(order.tolist(), _CHUNK_SECONDS, first=_FIRST_CHUNK, most=_LARGEST_CHUNK):
            if until.remaining <= 0:
                return
            how = method(left)
            found = pairwise_edit_distances(graphs, pairs=pairs[chunk], method=how, costs=costs, n_jobs=n_jobs)
            lower[chunk] = np.maximum(lower[chunk], found.lower)
            upper[chunk] = np.minimum(upper[chunk], found.upper)
            left -= len(chunk)
            if shown is not None:
                shown.advance(len(chunk), f"{float((lower == upper).mean()):.0%} of all proven")

    def search_hard(left: int) -> EditDistanceMethod:
        share = min(max(until.remaining / left, _LEAST_SECONDS), _MOST_SECONDS)
        return ExactSearch(time_limit=share, node_limit=NODE_LIMIT)

    order = rng.permutation(len(pairs))
    easy = np.minimum(*graphs.sizes[pairs].T)[order] <= _EASY
    with progress("true distances", len(pairs), "pairs") as shown:
        improve(order[easy], lambda _: ExactSearch(node_limit=NODE_LIMIT), shown)
        improve(order[~easy], lambda _: BranchBound(), None)
        improve(order[~easy], search_hard, shown)
    bounds = np.full((2, len(task.queries), len(task.database)), np.nan)
    bounds[:, rows, columns] = np.where(np.isfinite(upper), (lower, upper), np.nan)[:, place.ravel()]
    return TrueBounds(*bounds)
