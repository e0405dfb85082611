"""Which pairs train, which tune and which are ranked at the end.

::

    name        trains                   tunes                   ranks
    paper       training graphs          validation x training   each test graph: the whole data set, itself included
    A           training graphs          validation x training   each test graph: training and validation graphs
    leak-free   as A, on a split without isomorphic graphs in two parts

Numbers of different protocols cannot be compared. Where graphs repeat, as in most benchmarks, only "leak-free" shows
what a method does with graphs that it has not seen.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidArgument

Positions = NDArray[np.int64]
Pairs = NDArray[np.int64]

PROTOCOLS = ("paper", "A", "leak-free")
"""The names of all protocols."""


@dataclass(frozen=True, slots=True, eq=False)
class Protocol:
    """A split of graphs, given by position, and what each part is for; all arrays are read-only."""

    name: str
    train: Positions
    val: Positions
    test: Positions
    database: Positions
    """The graphs that every test graph ranks."""

    @property
    def queries(self) -> Positions:
        """The test graphs."""
        return self.test

    @property
    def seen(self) -> Positions:
        """Training graphs, then validation graphs: all that a method may look at before the test."""
        return np.concatenate([self.train, self.val])

    def training_pairs(self) -> Pairs:
        """(n, 2): each pair of different training graphs once."""
        first, second = np.triu_indices(len(self.train), k=1)
        return np.column_stack([self.train[first], self.train[second]])

    def validation_pairs(self) -> Pairs:
        """(n, 2): validation graph, training graph."""
        return _cross(self.val, self.train)

    def test_pairs(self) -> Pairs:
        """(n, 2): query, graph of the database; row by row of the matrix (queries, database)."""
        return _cross(self.queries, self.database)

    def visible_distances(self, distances: ArrayLike) -> NDArray[np.float64]:
        """The distances that a method may know, (seen, seen): NaN except for training and validation pairs.

        The diagonal of the validation graphs is NaN as well: pairs of validation graphs are not used for tuning.
        """
        visible = np.array(distances, dtype=np.float64)[np.ix_(self.seen, self.seen)]
        held_out = slice(len(self.train), None)
        visible[held_out, held_out] = np.nan
        return visible

    def test_distances(self, distances: ArrayLike) -> NDArray[np.float64]:
        """The part (queries, database) of the distances of all graphs."""
        return np.asarray(distances, dtype=np.float64)[np.ix_(self.queries, self.database)]


def make_protocol(
    name: str, train: ArrayLike, val: ArrayLike, test: ArrayLike, *, classes: ArrayLike | None = None
) -> Protocol:
    """The protocol of this name, one of :data:`PROTOCOLS`, on a split given by positions.

    Args:
        name: "paper", "A" or "leak-free".
        train: Positions of the training graphs.
        val: Positions of the validation graphs.
        test: Positions of the test graphs.
        classes: The isomorphism class of each graph. "leak-free" needs it to refuse a split that leaks; the others
            ignore it.

    Example:
        >>> make_protocol("A", [0, 1, 2], [3], [4]).validation_pairs().tolist()
        [[3, 0], [3, 1], [3, 2]]
    """
    if name not in PROTOCOLS:
        raise InvalidArgument(f"unknown protocol {name!r}; choose one of: {', '.join(PROTOCOLS)}")
    parts = [_positions(part) for part in (train, val, test)]
    together = np.concatenate(parts)
    if len(np.unique(together)) < len(together):
        raise InvalidArgument("train, val and test must be disjoint, without repetition; some graph is named twice")
    if name == "leak-free":
        _refuse_leaks(parts, classes)
    database = np.sort(together if name == "paper" else np.concatenate(parts[:2]))
    for array in (*parts, database):
        array.flags.writeable = False
    return Protocol(name, parts[0], parts[1], parts[2], database)


def mask_size_mismatches(
    true: ArrayLike, sizes: ArrayLike, other_sizes: ArrayLike, *, below: int = 3
) -> NDArray[np.float64]:
    """A matrix (queries, database) with NaN where two graphs differ by ``below`` nodes or more.

    Such pairs are left out of every score. Some tables of IMDBMulti use this filter. It leaves the easy pairs out of
    rankings, so never compare numbers with and without it.
    """
    apart = np.abs(np.asarray(sizes)[:, None] - np.asarray(other_sizes)) >= below
    return np.where(apart, np.nan, np.asarray(true, dtype=np.float64))


def _refuse_leaks(parts: list[Positions], classes: ArrayLike | None) -> None:
    if classes is None:
        raise InvalidArgument("leak-free needs the isomorphism class of each graph; pass classes")
    number = np.asarray(classes)
    found, times = np.unique(np.concatenate([np.unique(number[part]) for part in parts]), return_counts=True)
    if (times > 1).any():
        raise InvalidArgument(
            f"the split leaks: {int((times > 1).sum())} isomorphism classes of {len(found)} are in more than one part; "
            "use Dataset.leak_free()"
        )


def _positions(given: ArrayLike) -> Positions:
    found = np.asarray(given)
    if found.ndim != 1 or (found.size and (found.dtype.kind not in "iu" or found.min() < 0)):
        raise InvalidArgument(f"a part of a split is a list of positions, 0 or more; got {given!r}")
    return found.astype(np.int64)  # a copy, so that it may be made read-only


def _cross(first: Positions, second: Positions) -> Pairs:
    return np.column_stack([np.repeat(first, len(second)), np.tile(second, len(first))])
