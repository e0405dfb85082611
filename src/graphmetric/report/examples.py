"""A few queries with their nearest graphs, by the model and in truth: Figure 2 of the paper for any data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graphmetric.evaluation.bounds import nearest_for_certain, precision_between
from graphmetric.report.truth import Floats, Positions, Trial, Truth

EXAMPLES = 5


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
    """Whether it is truly among the nearest, all that tie with the last of them included; None if that is open."""

    @property
    def true(self) -> str:
        """The true distance, or what is known of it."""
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
        """How many of the model's nearest are right, for certain."""
        return sum(neighbour.right is True for neighbour in self.by_model)

    @property
    def open(self) -> int:
        """Of how many this is not known."""
        return sum(neighbour.right is None for neighbour in self.by_model)


class _Candidates(NamedTuple):
    """The graphs of the database of whose true distance to one query something is known."""

    graphs: Positions
    predicted: Floats
    lower: Floats
    upper: Floats


def choose_examples(trial: Trial, predicted: Floats, truth: Truth, k: int) -> tuple[ExampleQuery, ...]:
    """Queries from the best to the worst answered, evenly spaced, so that none is picked for its looks."""
    rows = [
        _Candidates(trial.database[known], guesses[known], lower[known], upper[known])
        for guesses, lower, upper, known in zip(predicted, truth.lower, truth.upper, truth.known, strict=True)
    ]
    order = np.argsort([-sum(precision_between(*row[1:], k)) for row in rows], kind="stable")
    ranks = np.unique(np.linspace(0, len(order) - 1, EXAMPLES).round().astype(int))
    return tuple(_example(int(trial.queries[order[rank]]), int(rank) + 1, rows[order[rank]], k) for rank in ranks)


def _example(query: int, rank: int, candidates: _Candidates, k: int) -> ExampleQuery:
    graphs, predicted, lower, upper = candidates
    certain, possible = nearest_for_certain(lower, upper, min(k, len(graphs)))

    def nearest(distances: Floats) -> tuple[Neighbour, ...]:
        return tuple(
            Neighbour(
                int(graphs[n]),
                float(predicted[n]),
                float(lower[n]),
                float(upper[n]),
                bool(certain[n]) if certain[n] == possible[n] else None,
            )
            for n in np.argsort(distances, kind="stable")[:k]
        )

    return ExampleQuery(query, rank, nearest(predicted), nearest((lower + upper) / 2))
