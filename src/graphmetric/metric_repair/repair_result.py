"""What a repair found, and how sure it is.

The multipliers that prove a repair, and where another repair can start from.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.metric_repair.pair_matrix import Matrix

Corners = NDArray[np.int32]
Floats = NDArray[np.float64]


def _no_copies() -> NDArray[np.int32]:
    return np.empty(0, np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class RepairDuals:
    """Multipliers of the constraints that hold a repaired matrix away from the given one; all others are zero.

    A constraint holds as much for the copies of its items: a multiplier is the sum over all of these, written down for
    one of them. :meth:`spread` writes down all.
    """

    triangles: Corners
    """(n, 3) rows (i, j, k), i < j: the constraint x_ij <= x_ik + x_jk."""
    multipliers: Floats
    """(n,) at least 0."""
    bounded_pairs: Corners
    """(b, 2) rows (i, j), i < j, whose bound holds them back."""
    bound_multipliers: Floats
    """(b,) above 0 for the upper bound, below 0 for the lower."""
    copy_of: NDArray[np.int32] = field(default_factory=_no_copies)
    """(m,) the first item of which each is a copy, most often itself; empty where no item is a copy of another."""

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
        self._check_copies(m)

    def _check_copies(self, m: int) -> None:
        copies = self.copy_of
        if copies.dtype != np.int32 or copies.ndim != 1 or len(copies) > m:
            raise InvalidArgument(f"copy_of must be one 32-bit position for each of up to {m} items")
        named = max(self.triangles.max(initial=-1), self.bounded_pairs.max(initial=-1))
        if len(copies) and len(copies) <= named:
            raise InvalidArgument(f"copy_of is for {len(copies)} items, but the multipliers name item {named}")
        if ((copies < 0) | (copies > np.arange(len(copies)))).any() or (copies[copies] != copies).any():
            raise InvalidArgument("copy_of must name the first item of each set of copies")

    @classmethod
    def none(cls) -> RepairDuals:
        """No constraint holds anything back."""
        return cls(np.empty((0, 3), np.int32), np.empty(0), np.empty((0, 2), np.int32), np.empty(0))

    def spread(self) -> RepairDuals:
        """Every multiplier shared evenly by the copies of its constraint, which may be a thousand times as many."""
        if not len(self.copy_of):
            return self
        return RepairDuals(
            *_spread(self.triangles, self.multipliers, self.copy_of),
            *_spread(self.bounded_pairs, self.bound_multipliers, self.copy_of),
        )

    def rename(self, names: NDArray[np.int32]) -> RepairDuals:
        """The multipliers with item i called ``names[i]``.

        Where items get the same name, multipliers of what becomes the same constraint are added, and a constraint
        between two of them is dropped.
        """
        return RepairDuals(
            *_add_equal(*_drop_degenerate(names[self.triangles], self.multipliers)),
            *_add_equal(*_drop_degenerate(names[self.bounded_pairs], self.bound_multipliers)),
        )


def _spread(corners: Corners, values: Floats, copy_of: NDArray[np.int32]) -> tuple[Corners, Floats]:
    members = {int(first): np.flatnonzero(copy_of == first).astype(np.int32) for first in np.unique(copy_of)}
    rows, shares = [corners[:0]], [values[:0]]
    for firsts, value in zip(*_add_equal(copy_of[corners], values), strict=True):
        copies = _list_copies(firsts.tolist(), members)
        rows.append(copies)
        shares.append(np.full(len(copies), value / len(copies)))
    return np.concatenate(rows), np.concatenate(shares)


def _list_copies(firsts: list[int], members: dict[int, NDArray[np.int32]]) -> Corners:
    """All constraints that differ from one by copies of its items, each once."""
    grid = np.meshgrid(*(members[first] for first in firsts), indexing="ij")
    rows = np.stack(grid, axis=-1).reshape(-1, len(firsts))
    if firsts[0] == firsts[1]:
        rows = rows[rows[:, 0] < rows[:, 1]]
    rows, _ = _drop_degenerate(rows, np.empty(len(rows)))
    return _order_ends(rows)


def _drop_degenerate(corners: Corners, values: Floats) -> tuple[Corners, Floats]:
    """Without the rows that name an item twice."""
    ordered = np.sort(corners, axis=1)
    sound = (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)
    return corners[sound], values[sound]


def _add_equal(corners: Corners, values: Floats) -> tuple[Corners, Floats]:
    """Each constraint once, with the sum of its values."""
    rows, places = np.unique(_order_ends(corners), axis=0, return_inverse=True)
    return rows, np.bincount(places.reshape(-1), values, minlength=len(rows)).astype(np.float64, copy=False)


def _order_ends(corners: Corners) -> Corners:
    """With i <= j."""
    return np.concatenate([np.sort(corners[:, :2], axis=1), corners[:, 2:]], axis=1)


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
