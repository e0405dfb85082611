"""The distances that a model is measured against: known ones, or those that the exact search finds.

For large graphs it proves few within a reasonable time. What it has by then are bounds, and models can be scored
against bounds, too: see :mod:`graphmetric.evaluation.bounds`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.limits import Deadline, clock
from graphmetric._foundation.progress import Progress, progress
from graphmetric.datasets import Dataset
from graphmetric.edit_distance import BranchBound, EditCosts, EditDistanceMethod, ExactSearch, pairwise_edit_distances
from graphmetric.evaluation.protocols import Positions
from graphmetric.evaluation.scores import Floats
from graphmetric.graphs.collection import GraphCollection
from graphmetric.report.rankings import RankingTask
from graphmetric.training.supervision import read_distances

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
    pairs: Positions
    """(n, 2): positions of graphs."""
    lower: Floats
    upper: Floats
    origin: str
    """Where they come from, in words."""

    @classmethod
    def given(cls, distances: Any, graphs: int) -> KnownDistances:
        """Take distances in any form that ``GraphDistance.fit`` takes; pairs without an upper bound are left out."""
        labels = read_distances(distances, graphs)
        known = np.isfinite(labels.upper) & (labels.pairs[:, 0] != labels.pairs[:, 1])
        return cls(graphs, labels.pairs[known], labels.lower[known], labels.upper[known], "given with the graphs")

    @classmethod
    def of_dataset(cls, data: Dataset) -> KnownDistances:
        """The distances that come with a data set."""
        i, j, distance = data.known_pairs
        pairs, origin = np.column_stack([i, j]), f"of the data set: {data.distance_kind}"
        return cls(len(data.graphs), pairs, distance, distance, origin)

    def between(self, queries: Positions, database: Positions) -> TrueBounds:
        """The bounds of the distances between queries and database, as far as they are known."""
        row, column = self._places(queries), self._places(database)
        bounds = np.full((2, len(queries), len(database)), np.nan)
        for first, second in (self.pairs.T, self.pairs.T[::-1]):
            here = (row[first] >= 0) & (column[second] >= 0)
            bounds[:, row[first[here]], column[second[here]]] = self.lower[here], self.upper[here]
        return TrueBounds(*bounds)

    def draw(self, plan: RankingTask, count: int, rng: np.random.Generator) -> RankingTask:
        """At most ``count`` queries with two known distances to rank, and the graphs to which they have any."""
        able = plan.queries[self.partners(plan.database)[plan.queries] >= 2]
        task = replace(plan, queries=able).draw(count, rng)
        return replace(task, database=plan.database[self.partners(task.queries)[plan.database] > 0])

    def partners(self, database: Positions) -> NDArray[np.int64]:
        """For each graph of the collection, the number of graphs of the database to which its distance is known."""
        among = self._places(database) >= 0
        first, second = self.pairs.T
        starts = np.concatenate([first[among[second]], second[among[first]]])
        return np.bincount(starts, minlength=self.graphs)

    def _places(self, positions: Positions) -> NDArray[np.int64]:
        """For each graph its place among the positions, -1 if it is not among them."""
        places = np.full(self.graphs, -1, dtype=np.int64)
        places[positions] = np.arange(len(positions))
        return places


def affordable_pairs(sizes: NDArray[np.int64], time_limit: float | None) -> int:
    """How many pairs of graphs of these sizes can be searched in the time, well enough to say something about them."""
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
    lower, upper = np.zeros(len(pairs)), np.full(len(pairs), np.inf)
    until = Deadline.after(time_limit)

    def improve(order: Positions, method: Callable[[int], EditDistanceMethod], shown: Progress | None) -> None:
        """Work through the pairs in chunks of about half a second; ``method`` gets the number of pairs left."""
        done, size = 0, _FIRST_CHUNK
        while done < len(order) and until.left > 0:
            chunk, started = order[done : done + size], clock()
            how = method(len(order) - done)
            found = pairwise_edit_distances(graphs, pairs=pairs[chunk], method=how, costs=costs, n_jobs=n_jobs)
            lower[chunk] = np.maximum(lower[chunk], found.lower)
            upper[chunk] = np.minimum(upper[chunk], found.upper)
            done += len(chunk)
            pace = _CHUNK_SECONDS / max(clock() - started, 1e-6)
            size = int(np.clip(size * min(pace, 4.0), 1, _LARGEST_CHUNK))
            if shown is not None:
                shown.advance(len(chunk), f"{float((lower == upper).mean()):.0%} of all proven")

    def search_hard(left: int) -> EditDistanceMethod:
        share = min(max(until.left / left, _LEAST_SECONDS), _MOST_SECONDS)
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
