"""Which pairs train, which tune and which are ranked at the end.

::

    name        trains                   tunes                   ranks
    paper       training graphs          validation x training   each test graph: the whole data set, itself included
    A           training graphs          validation x training   each test graph: training and validation graphs
    leak-free   as A, on a split without isomorphic graphs in two parts

Numbers of different protocols do not compare. Where graphs repeat, as in most benchmarks, only "leak-free" tells what
a method does with graphs that it has not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidArgument

Positions = NDArray[np.int64]
Pairs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Protocol:
    """A split of graphs, given by position, and what each part is for; all arrays are read-only."""

    name: str
    train: Positions
    val: Positions
    test: Positions
    database: Positions
    """What every test graph ranks."""

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
        """What a method may know, (seen, seen): the distances of all graphs, NaN but for training and validation pairs.

        The diagonal of the validation graphs is NaN as well: no pair of them tunes.
        """
        visible = np.array(distances, dtype=np.float64)[np.ix_(self.seen, self.seen)]
        held_out = slice(len(self.train), None)
        visible[held_out, held_out] = np.nan
        return visible

    def test_distances(self, distances: ArrayLike) -> NDArray[np.float64]:
        """(queries, database) of the distances of all graphs."""
        return np.asarray(distances, dtype=np.float64)[np.ix_(self.queries, self.database)]


def make_protocol(
    name: str, train: ArrayLike, val: ArrayLike, test: ArrayLike, *, classes: ArrayLike | None = None
) -> Protocol:
    """The protocol of this name, one of :data:`PROTOCOLS`, on a split given by positions.

    Args:
        name: "paper", "A" or "leak-free".
        train: Positions of the training graphs; likewise ``val`` and ``test``.
        val: See ``train``.
        test: See ``train``.
        classes: The isomorphism class of each graph. "leak-free" needs it, to refuse a split that leaks; the others
            take no notice.

    Example:
        >>> make_protocol("A", [0, 1, 2], [3], [4]).validation_pairs().tolist()
        [[3, 0], [3, 1], [3, 2]]
    """
    if name not in PROTOCOLS:
        raise InvalidArgument(f"unknown protocol {name!r}; there are: {', '.join(PROTOCOLS)}")
    parts = {"train": _positions(train), "val": _positions(val), "test": _positions(test)}
    together = np.concatenate(list(parts.values()))
    if len(np.unique(together)) < len(together):
        raise InvalidArgument("train, val and test must be disjoint, without repetition; some graph is named twice")
    return PROTOCOLS[name](parts, classes)


def take_similar_sizes(pairs: Pairs, sizes: ArrayLike, *, below: int = 3) -> Pairs:
    """The pairs whose graphs differ by fewer than ``below`` nodes; ``sizes`` are the nodes of all graphs.

    A filter that tables of IMDBMulti use at times. It leaves the easy pairs out of rankings, so never compare numbers
    with and without it.
    """
    nodes = np.asarray(sizes)
    kept: Pairs = pairs[np.abs(nodes[pairs[:, 0]] - nodes[pairs[:, 1]]) < below]
    return kept


def forget_other_sizes(
    true: ArrayLike, sizes: ArrayLike, other_sizes: ArrayLike, *, below: int = 3
) -> NDArray[np.float64]:
    """The same filter on a matrix (queries, database): NaN, so left out of every score, where sizes differ too much."""
    apart = np.abs(np.asarray(sizes)[:, None] - np.asarray(other_sizes)) >= below
    return np.where(apart, np.nan, np.asarray(true, dtype=np.float64))


def _rank_everything(parts: Mapping[str, Positions], classes: ArrayLike | None) -> Protocol:
    return _protocol("paper", parts, np.concatenate(list(parts.values())))


def _rank_seen_graphs(parts: Mapping[str, Positions], classes: ArrayLike | None, name: str = "A") -> Protocol:
    return _protocol(name, parts, np.concatenate([parts["train"], parts["val"]]))


def _rank_without_leaks(parts: Mapping[str, Positions], classes: ArrayLike | None) -> Protocol:
    if classes is None:
        raise InvalidArgument("leak-free needs the isomorphism class of each graph; pass classes")
    number = np.asarray(classes)
    members = [np.unique(number[part]) for part in parts.values()]
    found, times = np.unique(np.concatenate(members), return_counts=True)
    if (times > 1).any():
        raise InvalidArgument(
            f"the split leaks: {int((times > 1).sum())} isomorphism classes of {len(found)} are in more than one part; "
            "use Dataset.leak_free()"
        )
    return _rank_seen_graphs(parts, classes, "leak-free")


PROTOCOLS: Mapping[str, Callable[[Mapping[str, Positions], ArrayLike | None], Protocol]] = MappingProxyType(
    {"paper": _rank_everything, "A": _rank_seen_graphs, "leak-free": _rank_without_leaks}
)
"""Every protocol by name."""


def _protocol(name: str, parts: Mapping[str, Positions], database: Positions) -> Protocol:
    made = Protocol(name, **parts, database=np.sort(database))
    for array in (made.train, made.val, made.test, made.database):
        array.flags.writeable = False
    return made


def _positions(given: ArrayLike) -> Positions:
    found = np.asarray(given)
    if found.ndim != 1 or (found.size and (found.dtype.kind not in "iu" or found.min() < 0)):
        raise InvalidArgument(f"a part of a split is a list of positions, 0 or more; got {given!r}")
    return found.astype(np.int64)  # a copy, so that it may be made read-only


def _cross(first: Positions, second: Positions) -> Pairs:
    return np.column_stack([np.repeat(first, len(second)), np.tile(second, len(first))])
