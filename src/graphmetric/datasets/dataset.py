"""A data set: graphs, their split into parts, and the distances that are known.

The known distances are a table or a list of pairs, and are kept small until a square matrix is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection, isomorphism_classes
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.graphs.splits import Split, separate_classes

LARGEST_MATRIX = 10_000
"""Graphs of the largest set with square matrices; one matrix of this size takes 800 MB."""


class KnownPairs(NamedTuple):
    """Pairs of different graphs, ``i < j``, each once, with their exact or published distance."""

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    distance: NDArray[np.float64]


Matrices = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Square matrices with ``lower <= distance <= upper``; NaN where nothing is known."""


@dataclass(frozen=True, eq=False)
class DistanceTable:
    """Bounds for all pairs, as a table in which isomorphic graphs may share a row."""

    row: NDArray[np.intp]
    """The row (and column) of each graph in the table."""
    lower: NDArray[Any]
    upper: NDArray[Any]
    """The same array as ``lower`` where all distances are proven."""

    @classmethod
    def of(cls, lower: ArrayLike, upper: ArrayLike | None = None, row: ArrayLike | None = None) -> DistanceTable:
        """A checked table: square, symmetric, 0 on the diagonal, no lower bound above its upper bound."""
        low = np.asarray(lower)
        high = low if upper is None else np.asarray(upper)
        rows = np.arange(len(low)) if row is None else np.asarray(row, dtype=np.intp)
        for table in (low, high):
            if table.ndim != 2 or table.shape != (len(low), len(low)):
                raise InvalidArgument(f"a table of distances must be square; got shape {table.shape}")
            if np.diagonal(table).any() or not np.array_equal(table, table.T):
                raise InvalidArgument("a table of distances must be symmetric with zeros on the diagonal")
        if (low < 0).any() or (low > high).any():
            raise InvalidArgument("distances must not be negative, and no lower bound above its upper bound")
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(low):
            raise InvalidArgument(f"rows must be between 0 and {len(low) - 1}")
        return cls(rows, low, high)

    def __len__(self) -> int:
        return len(self.row)

    def bounds(self) -> Matrices:
        """The bounds with one row for each graph."""
        cells = np.ix_(self.row, self.row)
        lower = self.lower[cells].astype(np.float64)
        return lower, lower if self.upper is self.lower else self.upper[cells].astype(np.float64)

    def pairs(self) -> KnownPairs:
        """The proven pairs."""
        i, j = np.triu_indices(len(self), k=1)
        cells = self.row[i], self.row[j]
        proven = self.lower[cells] == self.upper[cells]
        return KnownPairs(i[proven], j[proven], self.lower[cells][proven].astype(np.float64))

    def take(self, index: NDArray[np.int64]) -> DistanceTable:
        """Only the chosen graphs, in the order given."""
        return DistanceTable(self.row[index], self.lower, self.upper)


@dataclass(frozen=True, eq=False)
class ListedDistances:
    """Distances of some pairs among ``size`` graphs; the list may be empty."""

    size: int
    listed: PairBounds
    """Pairs (i, j) with i < j, each once."""

    @classmethod
    def of(cls, size: int, i: ArrayLike = (), j: ArrayLike = (), distance: ArrayLike = ()) -> ListedDistances:
        """A checked list: in range, each unordered pair once, pairs of a graph with itself left out."""
        first, second = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
        values = np.asarray(distance, dtype=np.float64)
        if not first.shape == second.shape == values.shape or values.ndim != 1:
            raise InvalidArgument("i, j and the distances must be three columns of the same length")
        low, high = np.minimum(first, second), np.maximum(first, second)
        if len(low) and not 0 <= low.min() <= high.max() < size:
            raise InvalidArgument(f"a pair names graph {max(high.max(), -low.min())}; there are {size} graphs")
        if not (values >= 0).all():
            raise InvalidArgument("distances must not be negative or NaN")
        different = np.flatnonzero(low != high)
        _, kept, again = np.unique(low[different] * size + high[different], return_index=True, return_inverse=True)
        if (values[different] != values[different[kept]][again]).any():
            raise InvalidArgument("a pair is listed twice with different distances")
        chosen = different[kept]
        return cls(size, PairBounds.known(np.column_stack([low, high])[chosen], values[chosen]))

    def __len__(self) -> int:
        return self.size

    def bounds(self) -> Matrices:
        """Matrices that are NaN except for the listed pairs and the diagonal."""
        return self.listed.to_matrices(self.size)

    def pairs(self) -> KnownPairs:
        """The listed pairs."""
        i, j = self.listed.pairs.T
        return KnownPairs(i, j, self.listed.upper)

    def take(self, index: NDArray[np.int64]) -> ListedDistances:
        """Only the pairs among the chosen graphs, renumbered to the order given."""
        among = self.listed.among(index)
        i, j = among.pairs.T
        return ListedDistances.of(len(index), i, j, among.upper)


KnownDistances = DistanceTable | ListedDistances


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Graphs with a split and the distances that are known.

    Example:
        >>> data = load_dataset("molecules")
        >>> data
        Dataset('molecules', 973 graphs, 584 train + 194 val + 195 test)
    """

    name: str
    graphs: GraphCollection
    train: NDArray[np.int64]
    """Positions in ``graphs``, ascending; so are ``val`` and ``test``."""
    val: NDArray[np.int64]
    test: NDArray[np.int64]
    known: KnownDistances
    """The distances in compact form; see ``distances``, ``lower``, ``upper`` and ``known_pairs``."""
    distance_kind: str
    """A sentence on what the distances are: exact, bounds, published by whom, or why there are none."""
    description: str
    licence: str
    classes: NDArray[np.int64] | None = None
    """The class of each graph, for sets made for classification."""

    @property
    def split(self) -> Split:
        """The three parts as one record."""
        return Split(self.train, self.val, self.test)

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """Distances on the raw scale, symmetric, 0 on the diagonal, NaN where not known for certain; read-only.

        Beware that where only bounds are known for some pairs, those are mostly the large graphs: the known pairs
        are then not a fair sample of all pairs.
        """
        lower, upper = self._bounds
        distances = np.where(lower == upper, lower, np.nan)
        distances.flags.writeable = False
        return distances

    @property
    def lower(self) -> NDArray[np.float64]:
        """Lower bounds; equal to ``distances`` where those are known, NaN where nothing is."""
        return self._bounds[0]

    @property
    def upper(self) -> NDArray[np.float64]:
        """Upper bounds; equal to ``distances`` where those are known, NaN where nothing is."""
        return self._bounds[1]

    @cached_property
    def _bounds(self) -> Matrices:
        count = len(self.graphs)
        if count > LARGEST_MATRIX:
            raise InvalidArgument(
                f"{self.name} has {count:,} graphs; a square matrix of distances would take "
                f"{8 * count**2 / 1e9:.1f} GB: use .known_pairs, the arrays (i, j, distance) of the known ones"
            )
        bounds = self.known.bounds()
        for matrix in bounds:
            matrix.flags.writeable = False
        return bounds

    @cached_property
    def known_pairs(self) -> KnownPairs:
        """Arrays ``(i, j, distance)`` of the pairs ``i < j`` whose distance is known."""
        return self.known.pairs()

    @cached_property
    def isomorphism_classes(self) -> NDArray[np.int64]:
        """A number per graph, the same for isomorphic graphs; labels count as far as they are loaded."""
        return isomorphism_classes(self.graphs)

    def leakage(self) -> float:
        """The share of test graphs that are isomorphic to a training or validation graph; NaN without test graphs."""
        seen = self.isomorphism_classes[np.concatenate([self.train, self.val])]
        leaked = np.isin(self.isomorphism_classes[self.test], seen)
        return float(leaked.mean()) if len(leaked) else float("nan")

    def leak_free(self, random_state: int | np.random.Generator | None = 0) -> Dataset:
        """One graph per isomorphism class, the first, with parts that are disjoint up to isomorphism.

        A class whose members all lie in one part stays there; classes that straddle parts are dealt, in an order
        drawn by seed, to the part that is furthest below 60/20/20 %.
        """
        kept, split = separate_classes(self.split, self.isomorphism_classes, random_state=random_state)
        changes: dict[str, Any] = split._asdict()
        return replace(
            self,
            name=f"{self.name}, leak-free",
            graphs=self.graphs[kept],
            known=self.known.take(kept),
            classes=None if self.classes is None else self.classes[kept],
            description=f"{self.description} Leak-free view: one graph per isomorphism class.",
            **changes,
        )

    def __repr__(self) -> str:
        parts = f"{len(self.train)} train + {len(self.val)} val + {len(self.test)} test"
        return f"Dataset({self.name!r}, {len(self.graphs):,} graphs, {parts})"
