"""The distances that a model is measured against: known ones, or those that the exact search finds.

Of large graphs it proves few within a reasonable time. What it has by then are bounds, and scores against bounds are
scores, too: see :mod:`graphmetric.evaluation.bounds`.

Which graphs ask, and which are ranked for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric._foundation.progress import Progress, progress
from graphmetric.datasets import Dataset
from graphmetric.edit_distance import BranchBound, EditCosts, EditDistanceMethod, ExactSearch, pairwise_edit_distances
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.training.supervision import read_distances

QUERIES = 100
"""Drawn from graphs without a split, if not told how many."""
_FEWEST_QUERIES = 25
"""A budget of distances is met by fewer queries down to this number, then by a smaller database."""

Positions = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """Queries, each of which ranks the database without itself; positions, ascending."""

    queries: Positions
    database: Positions
    rule: str
    """How both were chosen, as the end of a sentence about the queries."""
    split: bool
    """Whether the queries are meant to be graphs that no model has seen."""

    def with_queries(self, queries: Positions) -> Trial:
        """The same with other queries."""
        return replace(self, queries=np.sort(queries))

    def draw(self, count: int, rng: np.random.Generator) -> Trial:
        """At most so many of the queries, at random."""
        return self.with_queries(rng.permutation(self.queries)[:count])

    def within(self, budget: int, rng: np.random.Generator) -> Trial:
        """So much of it, at random, that queries x database do not exceed the budget."""
        count = max(min(len(self.queries), _FEWEST_QUERIES, budget), budget // max(1, len(self.database)))
        fewer = self.draw(count, rng)
        database = np.sort(rng.permutation(self.database)[: budget // max(1, len(fewer.queries))])
        return replace(fewer, database=database)


def plan_trial(count: int, dataset: Dataset | None, train: ArrayLike | None) -> Trial:
    """All that may be asked of ``count`` graphs.

    The split of a data set gives protocol A: test graphs against training and validation graphs. ``train``, positions
    of the graphs that a model was trained on, does the same for other graphs. Else each graph may ask all others.
    """
    if train is not None:
        database = _checked_positions(train, count)
        return Trial(np.setdiff1d(np.arange(count), database), database, "rank the training graphs", split=True)
    if dataset is not None and len(dataset.test) and len(dataset.train):
        database = np.sort(np.concatenate([dataset.train, dataset.val]))
        return Trial(dataset.test, database, "rank the training and validation graphs (protocol A)", split=True)
    everything = np.arange(count, dtype=np.int64)
    return Trial(everything, everything, "rank all other graphs", split=False)


def _checked_positions(given: ArrayLike, count: int) -> Positions:
    found = np.unique(np.asarray(given))
    if not found.size or found.dtype.kind not in "iu" or found[0] < 0 or found[-1] >= count or len(found) == count:
        raise InvalidArgument(
            f"train must hold positions of some, not all, of the graphs, 0..{count - 1}; got {given!r}"
        )
    return found.astype(np.int64)


NODE_LIMIT = 20_000
"""Search-tree nodes per pair: hundredths of a second where the graphs are small, on every machine the same."""

_EASY = 12
"""Nodes of the smaller graph up to which a pair is searched quicker than it takes to look at the clock."""
_EASY_SECONDS, _SECONDS_PER_NODE_PAIR = 2e-4, 5e-6
_LEAST_SECONDS, _MOST_SECONDS = 0.02, 2.0
"""Of one pair that is not easy; in between, its share of the time that is left."""
_CHUNK_SECONDS = 0.5
_FIRST_CHUNK, _LARGEST_CHUNK = 50, 2_000

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Bounds of the true distances, (queries, database); NaN where nothing is known, and where a graph meets itself."""

    lower: Floats
    upper: Floats

    @property
    def known(self) -> NDArray[np.bool_]:
        """Pairs with bounds."""
        return ~np.isnan(self.lower)

    @property
    def exact(self) -> Floats:
        """The distances that are proven; NaN elsewhere."""
        return np.where(self.lower == self.upper, self.upper, np.nan)

    @property
    def proven(self) -> float:
        """The share of the pairs with bounds whose distance is proven."""
        return float((self.lower == self.upper)[self.known].mean()) if self.known.any() else 1.0

    def take(self, queries: NDArray[np.bool_]) -> Truth:
        """The rows of some queries."""
        return Truth(self.lower[queries], self.upper[queries])

    def mapped(self, change: Callable[[Floats], Floats]) -> Truth:
        """The bounds on another scale that rises with this one."""
        return Truth(change(self.lower), change(self.upper))


@dataclass(frozen=True, slots=True, eq=False)
class TrueDistances:
    """Bounds of the distances of some pairs of different graphs of a collection."""

    graphs: int
    """How many graphs the collection has."""
    pairs: Positions
    """(n, 2): positions of graphs."""
    lower: Floats
    upper: Floats
    origin: str
    """Where they come from, in words."""

    @classmethod
    def given(cls, distances: Any, graphs: int) -> TrueDistances:
        """In any form that ``GraphDistance.fit`` takes; pairs without an upper bound are left out."""
        labels = read_distances(distances, graphs)
        known = np.isfinite(labels.upper) & (labels.pairs[:, 0] != labels.pairs[:, 1])
        return cls(graphs, labels.pairs[known], labels.lower[known], labels.upper[known], "given with the graphs")

    @classmethod
    def of_dataset(cls, data: Dataset) -> TrueDistances:
        """Those that come with a data set."""
        i, j, distance = data.known_pairs
        pairs, origin = np.column_stack([i, j]), f"of the data set: {data.distance_kind}"
        return cls(len(data.graphs), pairs, distance, distance, origin)

    def between(self, queries: Positions, database: Positions) -> Truth:
        """What is known between them."""
        row, column = (self._places(positions) for positions in (queries, database))
        lower, upper = np.full((2, len(queries), len(database)), np.nan)
        for first, second in (self.pairs.T, self.pairs.T[::-1]):
            here = (row[first] >= 0) & (column[second] >= 0)
            at = (row[first[here]], column[second[here]])
            lower[at], upper[at] = self.lower[here], self.upper[here]
        return Truth(lower, upper)

    def draw(self, plan: Trial, count: int, rng: np.random.Generator) -> Trial:
        """At most so many queries that have two known distances to rank, and the graphs to which they have any."""
        asking = plan.queries[self.partners(plan.database)[plan.queries] >= 2]
        trial = plan.with_queries(asking).draw(count, rng)
        return replace(trial, database=plan.database[self.partners(trial.queries)[plan.database] > 0])

    def partners(self, database: Positions) -> NDArray[np.int64]:
        """For each graph of the collection, to how many graphs of the database its distance is known."""
        among = self._places(database) >= 0
        first, second = self.pairs.T
        starts = np.concatenate([first[among[second]], second[among[first]]])
        return np.bincount(starts, minlength=self.graphs)

    def _places(self, positions: ArrayLike) -> NDArray[np.int64]:
        """For each graph its place among the positions, -1 if it is not among them."""
        chosen = np.asarray(positions)
        places = np.full(self.graphs, -1, dtype=np.int64)
        places[chosen] = np.arange(len(chosen))
        return places


def affordable_pairs(sizes: NDArray[np.int64], time_limit: float) -> int:
    """How many pairs of graphs of these sizes can be searched well enough in the time to say something about them."""
    middle = float(np.median(sizes)) if len(sizes) else 0.0
    each = _EASY_SECONDS if middle <= _EASY else _SECONDS_PER_NODE_PAIR * middle**2
    return int(min(time_limit / each, 1e12))


def search_bounds(
    graphs: GraphCollection,
    trial: Trial,
    *,
    costs: EditCosts,
    n_jobs: int | None,
    time_limit: float,
    rng: np.random.Generator,
) -> Truth:
    """Edit distances between queries and database, or what is known of them when the time is over.

    All pairs get quick bounds first. Then they are searched, the easy ones first, the others in a random order.
    """
    rows, columns = np.nonzero(trial.queries[:, None] != trial.database)
    asked = np.sort(np.stack([trial.queries[rows], trial.database[columns]], axis=1), axis=1)
    pairs, place = np.unique(asked, axis=0, return_inverse=True)
    _compile()
    search = _Search(graphs, pairs, costs, n_jobs, time.monotonic() + time_limit)
    with progress("true distances", len(pairs), "pairs") as shown:
        search.run(rng, shown)
    lower, upper = np.full((2, len(trial.queries), len(trial.database)), np.nan)
    bounded = np.isfinite(search.upper)
    lower[rows, columns] = np.where(bounded, search.lower, np.nan)[place.ravel()]
    upper[rows, columns] = np.where(bounded, search.upper, np.nan)[place.ravel()]
    return Truth(lower, upper)


@cache
def _compile() -> None:
    """Load or compile the searches, which the time limit is not meant to cover."""
    path = Graph(_EASY + 1, [(k, k + 1) for k in range(_EASY)])
    for method in (ExactSearch(node_limit=1), ExactSearch(time_limit=1.0, node_limit=1), BranchBound()):
        for graphs in ([path, path.replace(id=1)], [Graph(1), Graph(2)]):
            pairwise_edit_distances(graphs, pairs=[[0, 1]], method=method)


class _Search:
    """Bounds of pairs that get better until the time is over."""

    def __init__(
        self, graphs: GraphCollection, pairs: Positions, costs: EditCosts, n_jobs: int | None, end: float
    ) -> None:
        self._graphs, self._pairs, self._end = graphs, pairs, end
        self._how: dict[str, Any] = {"costs": costs, "n_jobs": n_jobs}
        self._smaller = np.minimum(*graphs.sizes[pairs].T)
        self.lower, self.upper = np.zeros(len(pairs)), np.full(len(pairs), np.inf)

    def run(self, rng: np.random.Generator, shown: Progress) -> None:
        everything = rng.permutation(len(self._pairs))
        easy = self._smaller[everything] <= _EASY
        self._improve(everything[easy], lambda _: ExactSearch(node_limit=NODE_LIMIT), shown)
        self._improve(everything[~easy], lambda _: BranchBound(), None)
        self._improve(everything[~easy], self._search_hard, shown)

    def _search_hard(self, left: int) -> EditDistanceMethod:
        share = (self._end - time.monotonic()) / max(left, 1)
        return ExactSearch(time_limit=min(max(share, _LEAST_SECONDS), _MOST_SECONDS), node_limit=NODE_LIMIT)

    def _improve(
        self, order: NDArray[np.int64], method: Callable[[int], EditDistanceMethod], shown: Progress | None
    ) -> None:
        """Work through the pairs in chunks of about half a second; ``method`` is told how many are left."""
        done, size = 0, _FIRST_CHUNK
        while done < len(order) and time.monotonic() < self._end:
            chunk, started = order[done : done + size], time.monotonic()
            found = pairwise_edit_distances(
                self._graphs, pairs=self._pairs[chunk], method=method(len(order) - done), **self._how
            )
            self.lower[chunk] = np.maximum(self.lower[chunk], found.lower)
            self.upper[chunk] = np.minimum(self.upper[chunk], found.upper)
            done += len(chunk)
            pace = _CHUNK_SECONDS / max(time.monotonic() - started, 1e-6)
            size = int(np.clip(size * min(pace, 4.0), 1, _LARGEST_CHUNK))
            if shown is not None:
                shown.advance(len(chunk), f"{float((self.lower == self.upper).mean()):.0%} of all proven")
