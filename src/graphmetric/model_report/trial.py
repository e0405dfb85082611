"""Which graphs ask, and which are ranked for them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.graphs.datasets import Dataset

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
