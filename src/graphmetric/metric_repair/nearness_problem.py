"""What a repair is asked to solve, checked and brought to one scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair.pair_matrix import Matrix

LARGEST_WEIGHT = 1e40
"""And the inverse of the smallest: beyond it, sums of weighted squares overflow or vanish."""

_BLOCK = 256  # rows


@dataclass(frozen=True, slots=True, eq=False)
class NearnessProblem:
    """Distances in units of ``scale``, a power of two, so that scaling and back changes no bit.

    ``largest`` is in [1/2, 1), unless all distances may be 0.
    """

    given: Matrix
    """(m, m) d."""
    scale: float
    inverse_weights: Matrix | None
    """(m, m) 1/w, 0 where d is fixed; None: all are one."""
    fixed: NDArray[np.bool_] | None
    """(m, m)."""
    lower: float
    upper: float
    largest: float
    """The largest given distance, or the lower bound if that is above it; tolerances are parts of this."""

    @property
    def largest_inverse(self) -> float:
        """The largest 1/w: a gap g between objective and bound leaves a distance uncertain by sqrt(2 g / w) at most."""
        return 1.0 if self.inverse_weights is None else float(self.inverse_weights.max())

    def measure(self, x: Matrix) -> float:
        """Half the weighted sum over pairs i < j of (x_ij - d_ij)^2."""
        total = 0.0
        for start in range(0, len(x), _BLOCK):
            rows = slice(start, start + _BLOCK)
            squares = (x[rows] - self.given[rows]) ** 2
            if self.inverse_weights is not None:
                inverse = self.inverse_weights[rows]
                squares = np.divide(squares, inverse, out=np.zeros_like(squares), where=inverse > 0)
            total += float(squares.sum())
        return total / 4  # every pair was met twice


def pose_problem(
    given: Matrix,
    weights: ArrayLike | None,
    fixed: ArrayLike | None,
    bounds: tuple[float, float] | None,
    own: bool = False,
) -> NearnessProblem:
    """Check all but the distances, which are checked already; they are overwritten if they are our ``own``."""
    mask = None if fixed is None else _check_mask(fixed, len(given))
    lower, upper = _check_bounds(bounds)
    if mask is not None:
        _refuse_fixed_outside(given, mask, lower, upper)
    inverse = _invert_weights(weights, mask, len(given))
    largest = max(float(given.max(initial=0.0)), lower)
    scale = 2.0 ** math.frexp(largest)[1] if largest else 1.0
    scaled = np.divide(given, scale, out=given if own else None)
    return NearnessProblem(scaled, scale, inverse, mask, lower / scale, upper / scale, largest / scale)


def _check_mask(fixed: ArrayLike, m: int) -> NDArray[np.bool_] | None:
    mask = np.array(fixed)
    if mask.dtype != np.bool_ or mask.shape != (m, m):
        raise InvalidArgument(
            f"fixed must be a boolean matrix of shape {(m, m)}, True where a distance stays as given; "
            f"got {mask.dtype} of shape {mask.shape}"
        )
    if (mask != mask.T).any():
        i, j = np.argwhere(mask != mask.T)[0]
        raise InvalidArgument(f"fixed is not symmetric: [{i}, {j}] is {mask[i, j]} but [{j}, {i}] is {mask[j, i]}")
    return mask if np.triu(mask, 1).any() else None


def _check_bounds(bounds: tuple[float, float] | None) -> tuple[float, float]:
    lower, upper = (0.0, math.inf) if bounds is None else map(float, bounds)
    if not 0 <= lower <= upper:
        raise InvalidArgument(f"bounds must be (lower, upper) with 0 <= lower <= upper; got {bounds}")
    return lower, upper


def _refuse_fixed_outside(given: Matrix, mask: NDArray[np.bool_], lower: float, upper: float) -> None:
    outside = mask & ((given < lower) | (given > upper))
    np.fill_diagonal(outside, False)
    if outside.any():
        i, j = np.argwhere(outside)[0]
        raise InvalidArgument(
            f"the fixed distance [{i}, {j}] = {given[i, j]:g} is outside the bounds ({lower:g}, {upper:g}); "
            "widen the bounds or leave this distance free"
        )


def _invert_weights(weights: ArrayLike | None, mask: NDArray[np.bool_] | None, m: int) -> Matrix | None:
    if weights is None:
        return None if mask is None else (~mask).astype(np.float64)
    inverse = np.array(weights, dtype=np.float64)
    if inverse.shape != (m, m):
        raise InvalidArgument(f"weights must have the shape of the distances, {(m, m)}; got {inverse.shape}")
    np.fill_diagonal(inverse, 1.0)
    wrong = ~((inverse >= 1 / LARGEST_WEIGHT) & (inverse <= LARGEST_WEIGHT)) | (inverse != inverse.T)
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise InvalidArgument(
            f"weights must be symmetric, positive and from {1 / LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}; [{i}, {j}] = "
            f"{inverse[i, j]:g} and [{j}, {i}] = {inverse[j, i]:g}; a distance that must not change is fixed, one that "
            "does not matter has a small weight"
        )
    np.divide(1.0, inverse, out=inverse)
    if mask is not None:
        inverse[mask] = 0.0
    return inverse
