"""Pairs of graphs with bounds of their distances: the one record from edit distances to label folders to training."""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric._foundation.markup import data_frame, escape_text, notebook_view, table
from graphmetric._foundation.options import same_description
from graphmetric.errors import InvalidArgument

if TYPE_CHECKING:
    import pandas

_SHOWN_PAIRS = 10
"""Pairs that a notebook shows."""


def as_pairs(given: ArrayLike) -> NDArray[np.int64]:
    """Pairs of positions as an (n, 2) array, which may be the given one."""
    pairs = np.asarray(given)
    if pairs.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise InvalidArgument(f"pairs must be integers of shape (n, 2); got {pairs.dtype} of shape {pairs.shape}")
    return np.ascontiguousarray(pairs, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PairBounds:
    """Pairs of graphs and bounds of their distances, in edits; equal bounds are a known distance.

    Checked and copied when built; the arrays are read-only. NaN is refused: leave out a pair about which nothing is
    known, or give it [0, inf]. The bounds [inf, inf] say that no allowed edits lead from one graph to the other.
    """

    pairs: NDArray[np.int64]
    """(n, 2): positions of graphs."""
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    """May be infinite."""
    costs: str | None = None
    """The edit costs of the distances, as text; None if they are not known."""

    def __post_init__(self) -> None:
        pairs = as_pairs(self.pairs).copy()
        lower, upper = (np.array(bound, dtype=np.float64) + 0.0 for bound in (self.lower, self.upper))  # not -0.0
        if not lower.shape == upper.shape == (len(pairs),):
            raise InvalidArgument(f"{len(pairs)} pairs need as many bounds; got {lower.shape} and {upper.shape}")
        for name, value in (("pairs", pairs), ("lower", lower), ("upper", upper)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)
        self._refuse(~((lower >= 0) & (lower <= upper)), "0 <= lower <= upper must hold, and neither may be NaN")

    @classmethod
    def from_distances(cls, pairs: ArrayLike, distances: ArrayLike) -> PairBounds:
        """Known distances of chosen pairs; pairs whose distance is NaN are left out."""
        values = as_distances(distances)
        there, chosen = ~np.isnan(values), np.asarray(pairs)
        if there.all() or len(chosen) != len(values):
            return cls(chosen, values, values)
        return cls(chosen[there], values[there], values[there])

    @classmethod
    def from_matrix(cls, distances: ArrayLike) -> PairBounds:
        """All known entries of a square matrix, NaN where unknown; one of the two entries of a pair is enough."""
        matrix = as_distances(distances)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise InvalidArgument(f"a matrix of distances is square; got shape {matrix.shape}")
        rows, columns = np.triu_indices(len(matrix), k=1)
        above, below = matrix[rows, columns], matrix[columns, rows]
        if (outside := ~np.isnan(matrix) & ~((matrix >= 0) & (matrix < np.inf))).any():
            i, j = map(int, np.argwhere(outside)[0])
            raise InvalidArgument(
                f"distances[{i}, {j}] is {matrix[i, j]:g}; a distance is at least 0 and finite, and NaN where unknown"
            )
        if len(wrong := np.flatnonzero(np.abs(above - below) > 1e-6 * np.maximum(above, below))):
            i, j = int(rows[wrong[0]]), int(columns[wrong[0]])
            raise InvalidArgument(
                f"distances[{i}, {j}] is {matrix[i, j]:g} but distances[{j}, {i}] is {matrix[j, i]:g}; "
                "a distance is symmetric"
            )
        return cls.from_distances(np.column_stack([rows, columns]), np.where(np.isnan(above), below, above))

    def __len__(self) -> int:
        return len(self.pairs)

    def __repr__(self) -> str:
        exact = int(self.exact.sum())
        return f"PairBounds({len(self):,} pairs: {exact:,} exact distances, {len(self) - exact:,} only bounds)"

    def _repr_html_(self) -> str:
        few = range(min(len(self), _SHOWN_PAIRS))
        rows = [
            [escape_text(i), escape_text(j), escape_text(f"{lower:g}" if lower == upper else f"{lower:g} .. {upper:g}")]
            for (i, j), lower, upper in ((self.pairs[k].tolist(), self.lower[k], self.upper[k]) for k in few)
        ]
        title = repr(self).removeprefix("PairBounds(").removesuffix(")")
        return notebook_view(title, table(["graph", "graph", "distance"], rows, more=len(self) - len(rows)))

    def to_pandas(self) -> pandas.DataFrame:
        """A table with one row for each pair: the positions of both graphs, bounds, and whether they are equal."""
        first, second = self.pairs.T
        columns = {"first": first, "second": second, "lower": self.lower, "upper": self.upper, "exact": self.exact}
        return data_frame(columns, "tables of pairs")

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Mask of the pairs whose distance is known: lower == upper."""
        return np.asarray(self.lower == self.upper)

    @property
    def graphs(self) -> NDArray[np.int64]:
        """Positions of the graphs that occur, ascending."""
        return np.unique(self.pairs)

    def take(self, chosen: NDArray[np.int64] | NDArray[np.bool_]) -> PairBounds:
        """Some of the pairs, by place or by mask."""
        return PairBounds(self.pairs[chosen], self.lower[chosen], self.upper[chosen], self.costs)

    def subset(self, kept: NDArray[np.int64]) -> PairBounds:
        """The pairs among some graphs, given by different positions; graph ``kept[k]`` becomes graph ``k``."""
        order = np.argsort(kept)
        inside = np.isin(self.pairs, kept).all(axis=1)
        pairs = order[np.searchsorted(kept, self.pairs[inside], sorter=order)]
        return PairBounds(pairs, self.lower[inside], self.upper[inside], self.costs)

    def concatenate(self, *others: PairBounds) -> PairBounds:
        """These pairs and the others, one part after another."""
        parts = (self, *others)
        pairs = np.concatenate([part.pairs for part in parts])
        lower, upper = np.concatenate([[part.lower, part.upper] for part in parts], axis=1)
        return PairBounds(pairs, lower, upper)

    def to_matrices(self, count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Square matrices of the lower and upper bounds, 0 on the diagonal and NaN where nothing is known."""
        matrices = np.full((2, count, count), np.nan)
        for matrix, bound in zip(matrices, (self.lower, self.upper), strict=True):
            np.fill_diagonal(matrix, 0.0)
            i, j = self.pairs.T
            matrix[i, j] = matrix[j, i] = bound
        return matrices[0], matrices[1]

    def digest(self) -> str:
        """A digest of pairs and bounds, to tell one set from another."""
        digest = blake2b(digest_size=16)
        for array in (self.pairs, self.lower, self.upper):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    def check_costs(self, costs: object) -> None:
        """Raise if the distances are known to be at other costs than these."""
        if self.costs is not None and not same_description(self.costs, repr(costs)):
            raise InvalidArgument(
                f"the labels hold distances at {self.costs}, and the model is for {costs!r}: train with the costs of "
                "the labels (on the command line with the same --ignore), or give other labels"
            )

    def check_finite(self) -> None:
        """Raise if a lower bound is infinite; nothing can be learned from such a pair."""
        self._refuse(np.isinf(self.lower), "no allowed edits lead from one graph to the other: leave such pairs out")

    def _refuse(self, wrong: NDArray[np.bool_], reason: str) -> None:
        if wrong.any():
            k = int(np.argmax(wrong))
            pair = tuple(self.pairs[k].tolist())
            bounds = f"[{self.lower[k]:g}, {self.upper[k]:g}]"
            raise InvalidArgument(f"label {k}, of graphs {pair}, says {bounds}; {reason}")


def as_distances(values: ArrayLike) -> NDArray[np.float64]:
    """Convert distances to double precision; raise InvalidArgument if they are not numbers."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(
            "distances must be numbers, in rows of one length, with NaN where unknown; "
            f"got {reprlib.repr(values)} of type {type(values).__name__}"
        ) from None
