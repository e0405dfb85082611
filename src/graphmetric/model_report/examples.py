"""A few queries with their nearest graphs, by the model and in truth: Figure 2 of the paper for any data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graphmetric.evaluation import precision_at
from graphmetric.model_report.trial import Positions, Trial
from graphmetric.model_report.truth import Floats

EXAMPLES = 5


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One graph of a ranking."""

    graph: int
    """Position in the collection."""
    predicted: float
    true: float
    right: bool
    """Whether it is truly among the nearest; all that tie with the last of them are."""


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
        """How many of the model's nearest are right."""
        return sum(neighbour.right for neighbour in self.by_model)


class _Candidates(NamedTuple):
    """The graphs of the database whose true distance to one query is known."""

    graphs: Positions
    predicted: Floats
    true: Floats


def choose_examples(trial: Trial, predicted: Floats, true: Floats, k: int) -> tuple[ExampleQuery, ...]:
    """Queries from the best to the worst answered, evenly spaced, so that none is picked for its looks."""
    rows = [
        _Candidates(trial.database[known], guesses[known], truth[known])
        for guesses, truth, known in zip(predicted, true, ~np.isnan(true), strict=True)
    ]
    order = np.argsort([-precision_at(row.predicted, row.true, k) for row in rows], kind="stable")
    ranks = np.unique(np.linspace(0, len(order) - 1, EXAMPLES).round().astype(int))
    return tuple(_example(int(trial.queries[order[rank]]), int(rank) + 1, rows[order[rank]], k) for rank in ranks)


def _example(query: int, rank: int, candidates: _Candidates, k: int) -> ExampleQuery:
    graphs, predicted, true = candidates
    limit = np.sort(true)[min(k, len(true)) - 1]

    def nearest(distances: Floats) -> tuple[Neighbour, ...]:
        return tuple(
            Neighbour(int(graphs[n]), float(predicted[n]), float(true[n]), bool(true[n] <= limit))
            for n in np.argsort(distances, kind="stable")[:k]
        )

    return ExampleQuery(query, rank, nearest(predicted), nearest(true))
