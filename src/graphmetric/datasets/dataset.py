"""A data set: graphs, their split into parts, and the distances that are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.datasets.known_distances import KnownDistances, KnownPairs, Matrices
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection, isomorphism_classes
from graphmetric.graphs.splits import Split, separate_classes

LARGEST_MATRIX = 10_000
"""Graphs of the largest set with square matrices; one matrix of this size takes 800 MB."""


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
