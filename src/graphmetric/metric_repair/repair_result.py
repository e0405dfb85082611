"""What a repair found, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass

from graphmetric.metric_repair.pair_matrix import Matrix
from graphmetric.metric_repair.repair_duals import RepairDuals


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
