"""Which graphs are queries, which graphs they rank, and a few of these rankings as examples.

The examples are Figure 2 of the paper for any data: queries with their nearest graphs, by the model and in truth.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from graphmetric.datasets import Dataset
from graphmetric.errors import InvalidArgument
from graphmetric.evaluation.bounds import nearest_for_certain, precision_between
from graphmetric.evaluation.protocols import Positions
from graphmetric.evaluation.scores import Floats

QUERIES = 100
"""How many queries are drawn from graphs without a split, by default."""
EXAMPLES = 5
_FEWEST_QUERIES = 25
"""A budget of distances is met by fewer queries down to this number, then by a smaller database."""


@dataclass(frozen=True, slots=True, eq=False)
class RankingTask:
    """Queries, each of which ranks the database without itself; both are positions, ascending."""

    queries: Positions
    database: Positions
    rule: str
    """How both were chosen, as the end of a sentence about the queries."""
    split: bool
    """Whether the queries are meant to be graphs that no model has seen."""

    def draw(self, count: int, rng: np.random.Generator) -> RankingTask:
        """The same task with at most ``count`` of the queries, chosen at random."""
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
    """Whether it is truly among the nearest, ties with the last of them included; None if the bounds leave it open."""

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
        """How many of the model's nearest are certainly right."""
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
