"""What a repair found, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair.pair_matrix import Matrix


@dataclass(frozen=True, slots=True, eq=False)
class RepairDuals:
    """Multipliers of the constraints that hold a repaired matrix away from the given one; all others are zero."""

    triangles: NDArray[np.int32]
    """(n, 3) rows (i, j, k), i < j: the constraint x_ij <= x_ik + x_jk."""
    multipliers: NDArray[np.float64]
    """(n,) at least 0."""
    bounded_pairs: NDArray[np.int32]
    """(b, 2) rows (i, j), i < j, whose bound holds them back."""
    bound_multipliers: NDArray[np.float64]
    """(b,) above 0 for the upper bound, below 0 for the lower."""

    def check(self, m: int) -> None:
        """Raise unless these can be multipliers for ``m`` items; they may come from a file."""
        for corners, values in ((self.triangles, self.multipliers), (self.bounded_pairs, self.bound_multipliers)):
            if corners.dtype != np.int32 or corners.ndim != 2 or values.shape != corners.shape[:1]:
                raise InvalidArgument("multipliers must be one number for each row of 32-bit positions")
            if ((corners < 0) | (corners >= m)).any() or (corners[:, 0] >= corners[:, 1]).any():
                raise InvalidArgument(f"multipliers are for rows (i, j, ...) of positions below {m} with i < j")
            if not np.isfinite(values).all():
                raise InvalidArgument("multipliers must be finite")
        if (self.multipliers < 0).any() or (self.triangles[:, :2] == self.triangles[:, 2:]).any():
            raise InvalidArgument("multipliers of triangles must be at least 0, and a triangle has three corners")

    @classmethod
    def none(cls) -> RepairDuals:
        """No constraint holds anything back."""
        return cls(np.empty((0, 3), np.int32), np.empty(0), np.empty((0, 2), np.int32), np.empty(0))


@dataclass(frozen=True, slots=True, eq=False)
class RepairResult:
    """A matrix that keeps the triangle inequality, and the certificate of how near it is to the given one."""

    matrix: Matrix
    """(m, m) symmetric with zero diagonal."""
    converged: bool
    """Whether violation and gap are within the tolerance; if not, the matrix is the best that was found in time."""
    max_violation: float
    """Largest x_ij - x_ik - x_jk over all triangles of ``matrix``; 0 where none is above rounding."""
    duality_gap: float
    """(objective - lower bound of it) / objective: how much a nearer metric could save at most; 0 when unchanged."""
    objective: float
    """What was made small: the weighted sum over pairs i < j of (x_ij - d_ij)^2 / 2, or the value of another norm."""
    changed_pairs: int
    """Pairs i < j whose distance differs from the given one."""
    sweeps: int
    """Passes over the list of constraints."""
    scans: int
    """Passes over all triangles."""
    seconds: float
    """Wall-clock time, compilation excluded only if it was done before."""
    duals: RepairDuals | None = None
    """Where :func:`triangle_fixing` can start from again; None for other norms."""

    def __repr__(self) -> str:
        state = "converged" if self.converged else "not converged"
        return (
            f"RepairResult({len(self.matrix)} x {len(self.matrix)}, {self.changed_pairs} pairs changed, {state}, "
            f"largest violation {self.max_violation:.1e}, relative gap {self.duality_gap:.1e})"
        )
