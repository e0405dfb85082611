"""A data set: graphs, their split into parts, and the distances that are known.

The known distances are bounds of pairs, whether a file has them as a table or as a list; square matrices are made when
they are asked for.

A split is drawn by seed or from a given test part, and can be made disjoint up to isomorphism.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric._foundation.markup import Markup, key_value_table, notebook_view
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection, isomorphism_classes
from graphmetric.graphs.columns import read_only
from graphmetric.graphs.pair_bounds import PairBounds

LARGEST_MATRIX = 10_000
"""Graphs of the largest set with square matrices; one matrix of this size takes 800 MB."""


class KnownPairs(NamedTuple):
    """Pairs of different graphs, ``i < j``, each once, with their exact or published distance."""

    i: NDArray[np.int64]
    j: NDArray[np.int64]
    distance: NDArray[np.float64]


Matrices = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Square matrices with ``lower <= distance <= upper``; NaN where nothing is known."""


def tabled_distances(lower: ArrayLike, upper: ArrayLike | None = None, row: ArrayLike | None = None) -> PairBounds:
    """All pairs of a checked table: square, symmetric, 0 on the diagonal, no lower bound above its upper bound.

    ``row`` is the row (and column) of each graph, since isomorphic graphs may share one; by default each has its own.
    """
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
    i, j = np.triu_indices(len(rows), k=1)
    return PairBounds(np.column_stack([i, j]), low[rows[i], rows[j]], high[rows[i], rows[j]])


def listed_distances(size: int, i: ArrayLike, j: ArrayLike, distance: ArrayLike) -> PairBounds:
    """A checked list of some pairs among ``size`` graphs: in range, each unordered pair once as (small, large).

    Pairs of a graph with itself are left out.
    """
    first, second = np.asarray(i, dtype=np.int64), np.asarray(j, dtype=np.int64)
    values = np.asarray(distance, dtype=np.float64)
    if not first.shape == second.shape == values.shape or values.ndim != 1:
        raise InvalidArgument("i, j and the distances must be three columns of the same length")
    low = np.minimum(first, second)
    high = np.maximum(first, second)
    if len(low) and not 0 <= low.min() <= high.max() < size:
        raise InvalidArgument(f"a pair names graph {max(high.max(), -low.min())}; there are {size} graphs")
    if not (values >= 0).all():
        raise InvalidArgument("distances must not be negative or NaN")
    different = np.flatnonzero(low != high)
    _, kept, again = np.unique(low[different] * size + high[different], return_index=True, return_inverse=True)
    if (values[different] != values[different[kept]][again]).any():
        raise InvalidArgument("a pair is listed twice with different distances")
    chosen = different[kept]
    return PairBounds.from_distances(np.column_stack([low, high])[chosen], values[chosen])


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
    distance_bounds: PairBounds
    """Pairs ``i < j`` and their bounds; see ``distances``, ``lower``, ``upper`` and ``known_pairs``."""
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
        return read_only(np.where(lower == upper, lower, np.nan))

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
        lower, upper = self.distance_bounds.to_matrices(count)
        return read_only(lower), read_only(upper)

    @cached_property
    def known_pairs(self) -> KnownPairs:
        """Arrays ``(i, j, distance)`` of the pairs ``i < j`` whose distance is known."""
        exact = self.distance_bounds.take(self.distance_bounds.exact)
        return KnownPairs(exact.pairs[:, 0], exact.pairs[:, 1], exact.upper)

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
            distance_bounds=self.distance_bounds.subset(kept),
            classes=None if self.classes is None else self.classes[kept],
            description=f"{self.description} Leak-free view: one graph per isomorphism class.",
            **changes,
        )

    def __repr__(self) -> str:
        parts = f"{len(self.train)} train + {len(self.val)} val + {len(self.test)} test"
        return f"Dataset({self.name!r}, {len(self.graphs):,} graphs, {parts})"

    def _repr_html_(self) -> str:
        about = {
            "about": self.description,
            "licence": self.licence,
            "parts": f"{len(self.train):,} train, {len(self.val):,} val, {len(self.test):,} test",
            "distances": self.distance_kind,
        }
        return notebook_view(self.name, key_value_table(about), Markup(self.graphs._repr_html_()))


FRACTIONS = (0.6, 0.2, 0.2)
"""Training, validation, test: the parts used by the paper and by the works it is compared with."""


class Split(NamedTuple):
    """Three disjoint, sorted arrays of positions."""

    train: NDArray[np.int64]
    val: NDArray[np.int64]
    test: NDArray[np.int64]


def split_indices(
    n: int,
    fractions: tuple[float, float, float] = FRACTIONS,
    random_state: int | np.random.Generator | None = 0,
) -> Split:
    """Deal ``0 .. n - 1`` to training, validation and test at random.

    Each part is within one of its exact share, and the parts cover everything.

    Example:
        >>> [len(part) for part in split_indices(700)]
        [420, 140, 140]
    """
    if n < 0:
        raise InvalidArgument(f"n must not be negative; got {n}")
    shares = np.asarray(fractions, dtype=np.float64)
    if shares.shape != (3,) or not (shares >= 0).all() or not math.isclose(shares.sum(), 1.0, abs_tol=1e-9):
        raise InvalidArgument(f"fractions must be three numbers, not negative, that add up to 1; got {fractions!r}")
    ends = np.floor(np.cumsum(shares) * n + 0.5).astype(np.int64)
    shuffled = np.random.default_rng(random_state).permutation(n)
    return Split(*(np.sort(part).astype(np.int64) for part in np.split(shuffled, ends[:2])))


def hold_out_validation(
    given_train: ArrayLike,
    given_test: ArrayLike,
    fraction: float = FRACTIONS[1],
    random_state: int | np.random.Generator | None = 0,
) -> Split:
    """Keep a benchmark's test part and draw the validation part, a ``fraction`` of all, from its training part.

    Example:
        >>> [len(part) for part in hold_out_validation(range(560), range(560, 700))]
        [420, 140, 140]
    """
    train = np.sort(np.asarray(given_train, np.int64))
    test = np.sort(np.asarray(given_test, np.int64))
    if not 0 <= fraction < 1:
        raise InvalidArgument(f"the validation fraction must be at least 0 and below 1; got {fraction}")
    wanted = math.floor(fraction * (len(train) + len(test)) + 0.5)
    if wanted > len(train):
        raise InvalidArgument(f"a validation part of {wanted} does not fit in a training part of {len(train)}")
    shuffled = np.random.default_rng(random_state).permutation(train)
    return Split(np.sort(shuffled[wanted:]), np.sort(shuffled[:wanted]), test)


def take_first(data: Dataset, limit: int | None) -> Dataset:
    """About ``limit`` graphs of the data set: the first of each part, in the proportions of the parts."""
    if limit is None or limit >= len(data.graphs):
        return data
    shares = [part[: max(1, len(part) * limit // len(data.graphs))] for part in data.split]
    kept = np.sort(np.concatenate(shares))
    train, val, test = (np.searchsorted(kept, share) for share in shares)
    taken = data.distance_bounds.subset(kept)
    return replace(data, graphs=data.graphs[kept], distance_bounds=taken, classes=None, train=train, val=val, test=test)


def separate_classes(
    split: Split, classes: ArrayLike, random_state: int | np.random.Generator | None = 0
) -> tuple[NDArray[np.int64], Split]:
    """One item per class, so that no class is in two parts; returns the kept items and their split.

    The first member of each class is kept. A class whose members all lie in one part stays in that part; a class
    that straddles parts goes, in an order drawn by seed, to the part that is furthest below 60/20/20 %. The split
    counts positions among the kept items. Items outside the split are left out.
    """
    shares, number = np.array(FRACTIONS), np.asarray(classes)
    part = np.full(len(number), -1)
    for code, members in enumerate(split):
        part[members] = code
    dealt = np.flatnonzero(part >= 0)
    distinct, first, class_of = np.unique(number[dealt], return_index=True, return_inverse=True)
    present = np.zeros((len(distinct), len(shares)), dtype=bool)
    present[class_of, part[dealt]] = True
    home = _deal(present, shares, np.random.default_rng(random_state))
    order = np.argsort(first)
    parts = (np.flatnonzero(home[order] == code) for code in range(len(shares)))
    return dealt[first[order]], Split(*parts)


def hold_out_classes(
    classes: ArrayLike, fraction: float, random_state: int | np.random.Generator | None = 0
) -> NDArray[np.int64]:
    """Positions of items to keep out: whole classes, drawn by seed, until they hold the fraction of all items.

    A class that would leave fewer than half of the rest is passed over, so that a few large classes cannot take all.

    Example:
        >>> hold_out_classes([0, 1, 1, 2, 3, 3], 0.3).tolist()
        [3, 4, 5]
    """
    number = np.asarray(classes)
    if not 0 < fraction < 1:
        raise InvalidArgument(f"the fraction to hold out must be above 0 and below 1; got {fraction}")
    distinct, class_of, sizes = np.unique(number, return_inverse=True, return_counts=True)
    wanted, most = fraction * len(number), (1 + fraction) / 2 * len(number)
    held, taken = 0, []
    for k in np.random.default_rng(random_state).permutation(len(distinct)):
        if held >= wanted:
            break
        if held + sizes[k] <= most:
            taken.append(k)
            held += int(sizes[k])
    return np.flatnonzero(np.isin(class_of, taken)).astype(np.int64)


def _deal(present: NDArray[np.bool_], shares: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.intp]:
    """The part of each class, given in which parts it has members."""
    home: NDArray[np.intp] = present.argmax(axis=1)
    straddling = present.sum(axis=1) > 1
    counts = np.bincount(home[~straddling], minlength=len(shares))
    for k in rng.permutation(np.flatnonzero(straddling)):
        home[k] = np.argmax(shares * len(present) - counts)
        counts[home[k]] += 1
    return home
