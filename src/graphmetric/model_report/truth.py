"""The distances that a model is measured against: known ones, or those that the exact search finds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.edit_distance import ExactSearch, pairwise_edit_distances
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.datasets import Dataset
from graphmetric.model_report.trial import Positions, Trial
from graphmetric.supervision import read_distances

NODE_LIMIT = 20_000
"""Search-tree nodes per pair: hundredths of a second. Pairs that need more stay unknown, on every machine the same."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TrueDistances:
    """Distances of some pairs of different graphs of a collection."""

    graphs: int
    """How many graphs the collection has."""
    pairs: Positions
    """(n, 2): positions of graphs."""
    values: Floats
    origin: str
    """Where they come from, in words."""

    @classmethod
    def given(cls, distances: Any, graphs: int) -> TrueDistances:
        """In any form that ``GraphDistance.fit`` takes; pairs of which only bounds are known are left out."""
        labels = read_distances(distances, graphs)
        known = (labels.lower == labels.upper) & (labels.pairs[:, 0] != labels.pairs[:, 1])
        return cls(graphs, labels.pairs[known], labels.lower[known], "given with the graphs")

    @classmethod
    def of_dataset(cls, data: Dataset) -> TrueDistances:
        """Those that come with a data set."""
        i, j, distance = data.known_pairs
        return cls(len(data.graphs), np.column_stack([i, j]), distance, f"of the data set: {data.distance_kind}")

    def between(self, queries: Positions, database: Positions) -> Floats:
        """(queries, database): NaN where nothing is known, and where a graph would meet itself."""
        row, column = (self._places(positions) for positions in (queries, database))
        matrix = np.full((len(queries), len(database)), np.nan)
        for first, second in (self.pairs.T, self.pairs.T[::-1]):
            here = (row[first] >= 0) & (column[second] >= 0)
            matrix[row[first[here]], column[second[here]]] = self.values[here]
        return matrix

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


def search_distances(graphs: GraphCollection, queries: Positions, database: Positions, n_jobs: int | None) -> Floats:
    """Edit distances at unit costs, (queries, database): NaN where not proven, and where a graph would meet itself."""
    method = ExactSearch(node_limit=NODE_LIMIT)
    found = pairwise_edit_distances(graphs[queries], graphs[database], method=method, n_jobs=n_jobs)
    return np.where(queries[:, None] == database, np.nan, found.distances)
