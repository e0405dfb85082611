"""What is known of the distances: the supervision of training."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidArgument


@dataclass(frozen=True, slots=True, eq=False)
class TrainingLabels:
    """Pairs of graphs and bounds of their distances, in edits; equal bounds are a known distance.

    Checked and copied when built. A NaN is refused: leave out a pair of which nothing is known, or give it [0, inf].
    """

    pairs: NDArray[np.int64]
    """(n, 2): positions of graphs."""
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    """May be infinite."""

    def __post_init__(self) -> None:
        pairs = np.array(self.pairs)
        if pairs.size == 0:
            pairs = np.empty((0, 2), dtype=np.int64)
        if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
            raise InvalidArgument(f"pairs must be integers of shape (n, 2); got {pairs.dtype} of shape {pairs.shape}")
        lower, upper = (np.array(bound, dtype=np.float64) for bound in (self.lower, self.upper))
        if not lower.shape == upper.shape == (len(pairs),):
            raise InvalidArgument(f"{len(pairs)} pairs need as many bounds; got {lower.shape} and {upper.shape}")
        wrong = np.flatnonzero(~((lower >= 0) & (lower <= upper) & np.isfinite(lower)))
        if len(wrong):
            k = wrong[0]
            raise InvalidArgument(
                f"label {k}, of graphs {tuple(pairs[k].tolist())}, says [{lower[k]:g}, {upper[k]:g}]; "
                "0 <= lower <= upper must hold, and neither may be NaN"
            )
        for name, value in (("pairs", pairs.astype(np.int64)), ("lower", lower), ("upper", upper)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    @classmethod
    def exact(cls, pairs: ArrayLike, distances: ArrayLike) -> TrainingLabels:
        """Known distances of chosen pairs."""
        known = np.asarray(distances, dtype=np.float64)
        return cls(np.asarray(pairs), known, known)

    @classmethod
    def from_matrix(cls, distances: ArrayLike) -> TrainingLabels:
        """All known entries of a square matrix, NaN where unknown; one of the two entries of a pair is enough."""
        matrix = np.asarray(distances, dtype=np.float64)
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
        values = np.where(np.isnan(above), below, above)
        known = ~np.isnan(values)
        return cls.exact(np.column_stack([rows, columns])[known], values[known])

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def graphs(self) -> NDArray[np.int64]:
        """Positions of the graphs that occur, ascending."""
        return np.unique(self.pairs)

    def take(self, chosen: NDArray[np.int64]) -> TrainingLabels:
        """Some of the labels."""
        return TrainingLabels(self.pairs[chosen], self.lower[chosen], self.upper[chosen])

    def joined(self, *others: TrainingLabels) -> TrainingLabels:
        """These labels and the others, one after another."""
        parts = (self, *others)
        columns = zip(*((part.pairs, part.lower, part.upper) for part in parts), strict=True)
        return TrainingLabels(*(np.concatenate(column) for column in columns))

    def digest(self) -> str:
        """Of all the labels, to tell one set from another."""
        digest = blake2b(digest_size=16)
        for array in (self.pairs, self.lower, self.upper):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()
