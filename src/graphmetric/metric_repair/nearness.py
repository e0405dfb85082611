"""The problem of the nearest metric: what a repair is given, checked and scaled, and what it gives back."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric._foundation.limits import clock
from graphmetric._foundation.markup import key_value_table, matrix_table, notebook_view
from graphmetric._foundation.options import checked_number, format_lower, format_number
from graphmetric.errors import InvalidArgument

Matrix = NDArray[np.float64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Corners = NDArray[np.int32]
Norm = Literal["l2", "l1", "linf"]

ROUNDING = 1e-12
"""Violations up to this part of the largest distance are rounding errors and do not count."""

ASYMMETRY = 1e-6
"""Accepted difference of d(i, j) and d(j, i), and of d(i, i) and zero, relative to the largest distance.

Single precision rounds the two directions of a model's distance differently; anything larger is a mistake.
"""

LARGEST = 1e100
"""Squares of larger distances overflow."""

LARGEST_WEIGHT = 1e40
"""The largest weight, and the inverse of the smallest: beyond it, sums of weighted squares overflow or vanish."""

_BLOCK = 512  # rows; a block and its transpose stay in the cache


@dataclass(frozen=True, slots=True, eq=False)
class RepairResult:
    """A matrix that keeps the triangle inequality, with its optimality gap."""

    matrix: Matrix
    """(m, m) symmetric with zero diagonal."""
    converged: bool
    """Whether the violation is within the tolerance and the gap closed; else this is the best that was found in time.

    If True, ``triangle_violations(matrix, tolerance=tolerance)`` counts none. The gap is closed if it is within the
    tolerance, or so small that no distance can be off by more than that part of the largest given one.
    """
    max_violation: float
    """Largest x_ij - x_ik - x_jk over all triangles of ``matrix``, as a part of its largest distance.

    0 where none is above rounding.
    """
    duality_gap: float
    """(objective - lower bound) / objective: the fraction of this objective that a nearer metric could save at most.

    0 if nothing was changed; 1 if nothing is proven. At a gap g the objective may be 1 / (1 - g) times the least
    possible one, see ``lower_bound``.
    """
    objective: float
    """The minimized value: the weighted sum over pairs i < j of (x_ij - d_ij)^2 / 2, or the value of another norm."""
    changed_pairs: int
    """Number of pairs i < j whose distance differs from the given one."""
    sweeps: int
    """Passes over the list of constraints."""
    scans: int
    """Passes over all triangles."""
    seconds: float
    """Wall-clock time, without the time to compile kernels."""
    duals: RepairDuals | None = None
    """Multipliers for a warm start of :func:`triangle_fixing`; None for other norms."""

    @property
    def lower_bound(self) -> float:
        """A proven lower bound of the least possible objective; with ``decrease_only``, of metrics nowhere above."""
        return max(0.0, self.objective * (1 - self.duality_gap))

    def __repr__(self) -> str:
        state = "converged" if self.converged else "not converged"
        return (
            f"RepairResult({len(self.matrix)} x {len(self.matrix)}, {self.changed_pairs} pairs changed, {state}, "
            f"largest relative violation {self.max_violation:.1e}, objective {format_number(self.objective)}, "
            f"the least possible is at least {format_lower(self.lower_bound)})"
        )

    def _repr_html_(self) -> str:
        about = {
            "pairs changed": f"{self.changed_pairs:,} of {len(self.matrix) * (len(self.matrix) - 1) // 2:,}",
            "converged": "yes" if self.converged else "no: the best that was found in time",
            "largest relative violation": f"{self.max_violation:.1e}",
            "objective": format_number(self.objective),
            "the least possible is at least": format_lower(self.lower_bound),
        }
        return notebook_view("The nearest metric", key_value_table(about), matrix_table(self.matrix))


@dataclass(frozen=True, slots=True, eq=False)
class RepairDuals:
    """The multipliers that prove a repair; constraints that are not listed have multiplier zero.

    A constraint holds for the duplicates of its items as well: its multiplier is the sum over all of these, listed for
    one of them. :meth:`spread` lists all.
    """

    triangles: Corners
    """(n, 3) rows (i, j, k), i < j: the constraint x_ij <= x_ik + x_jk."""
    multipliers: Floats
    """(n,) at least 0."""
    bounded_pairs: Corners
    """(b, 2) rows (i, j), i < j, whose distance is held back by a bound."""
    bound_multipliers: Floats
    """(b,) above 0 for the upper bound, below 0 for the lower."""
    copy_of: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, np.int32))
    """(m,) the first duplicate of each item, most often itself; empty if there are no duplicates."""

    @classmethod
    def none(cls) -> RepairDuals:
        """The multipliers of a matrix that no constraint holds back."""
        return cls(np.empty((0, 3), np.int32), np.empty(0), np.empty((0, 2), np.int32), np.empty(0))

    def check(self, m: int) -> None:
        """Raise InvalidArgument unless these can be multipliers for ``m`` items; they may come from a file."""
        for corners, values in ((self.triangles, self.multipliers), (self.bounded_pairs, self.bound_multipliers)):
            if corners.dtype != np.int32 or corners.ndim != 2 or values.shape != corners.shape[:1]:
                raise InvalidArgument("multipliers must be one number for each row of 32-bit positions")
            wrong = ((corners < 0) | (corners >= m)).any(axis=1) | (corners[:, 0] >= corners[:, 1])
            if wrong.any() or not np.isfinite(values).all():
                raise InvalidArgument(f"multipliers must be finite, for rows (i, j, ...) of positions below {m}, i < j")
        if (self.multipliers < 0).any() or (self.triangles[:, :2] == self.triangles[:, 2:]).any():
            raise InvalidArgument("multipliers of triangles must be at least 0, and a triangle has three corners")
        duplicates = self.copy_of
        if duplicates.dtype != np.int32 or duplicates.ndim != 1 or len(duplicates) > m:
            raise InvalidArgument(f"copy_of must be one 32-bit position for each of up to {m} items")
        named = max(self.triangles.max(initial=-1), self.bounded_pairs.max(initial=-1))
        if len(duplicates) and len(duplicates) <= named:
            raise InvalidArgument(f"copy_of is for {len(duplicates)} items, but the multipliers name item {named}")
        outside = (duplicates < 0) | (duplicates > np.arange(len(duplicates)))
        if outside.any() or (duplicates[duplicates] != duplicates).any():
            raise InvalidArgument("copy_of must name the first item of each set of duplicates")

    def spread(self) -> RepairDuals:
        """Divide every multiplier evenly among the duplicates of its constraint, which may be a thousand."""
        if not len(self.copy_of):
            return self
        return RepairDuals(
            *_spread(self.triangles, self.multipliers, self.copy_of),
            *_spread(self.bounded_pairs, self.bound_multipliers, self.copy_of),
        )

    def rename(self, names: NDArray[np.int32]) -> RepairDuals:
        """Call item i ``names[i]``.

        Where items get the same name, multipliers of what becomes the same constraint are added, and a constraint
        between two of them is dropped.
        """
        return RepairDuals(
            *_add_equal(*_drop_degenerate(names[self.triangles], self.multipliers)),
            *_add_equal(*_drop_degenerate(names[self.bounded_pairs], self.bound_multipliers)),
        )


class OptimalityGap(NamedTuple):
    """Distance of a matrix from the optimum, the nearest metric; see :class:`RepairResult`."""

    converged: bool
    max_violation: float
    duality_gap: float
    objective: float


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
    fixed: Mask | None
    """(m, m)."""
    lower: float
    upper: float
    largest: float
    """The largest given distance, or the lower bound if that is above it."""
    largest_inverse: float
    """The largest 1/w of distances that can move apart from each other."""

    @property
    def inverse_or_ones(self) -> Matrix:
        """(m, m) 1/w."""
        return np.ones_like(self.given) if self.inverse_weights is None else self.inverse_weights

    def measure(self, x: Matrix, norm: Norm = "l2") -> float:
        """The weighted norm of x - d over pairs i < j; of the squares of l2, half the sum."""
        total = largest = 0.0
        for start in range(0, len(x), _BLOCK // 2):
            rows = slice(start, start + _BLOCK // 2)
            change = x[rows] - self.given[rows]
            change = change**2 if norm == "l2" else np.abs(change)
            if self.inverse_weights is not None:
                inverse = self.inverse_weights[rows]
                change = np.divide(change, inverse, out=np.zeros_like(change), where=inverse > 0)
            total += float(change.sum())
            largest = max(largest, float(change.max(initial=0.0)))
        return largest if norm == "linf" else total / (4 if norm == "l2" else 2)  # every pair was met twice

    def is_tight(self, objective: float, bound: float, tolerance: float, norm: Norm = "l2") -> bool:
        """Return whether the objective is close enough to ``bound``, a lower bound of that of every metric.

        In l2 it is enough if every distance is known up to the tolerance: a gap g leaves it uncertain by at most
        sqrt(2 g / w).
        """
        if norm != "l2":
            return objective - bound <= max(tolerance * objective, ROUNDING * self.largest * len(self.given) ** 2)
        gap = abs(objective - bound)
        uncertain = math.sqrt(2 * gap * self.largest_inverse)
        return gap <= tolerance * objective or uncertain <= tolerance * self.largest

    def measure_gap(
        self, x: Matrix, bound: float, tolerance: float, *, violation: float = 0.0, norm: Norm = "l2"
    ) -> OptimalityGap:
        """Compare the objective of ``x``, whose largest violation is given, with a lower bound of all objectives."""
        objective = self.measure(x, norm)
        largest = float(x.max(initial=0.0))
        gap = abs(objective - bound) if norm == "l2" else max(objective - bound, 0.0)
        return OptimalityGap(
            violation <= tolerance * largest and self.is_tight(objective, bound, tolerance, norm),
            relative_violation(violation, largest),
            gap / objective if objective else 0.0,
            objective * (self.scale**2 if norm == "l2" else self.scale),
        )

    def answer(
        self,
        x: Matrix,
        optimality: OptimalityGap,
        sweeps: int,
        scans: int,
        started: float,
        duals: RepairDuals | None = None,
    ) -> RepairResult:
        """The result in the units of the given distances; ``x`` is scaled in place, since it may be large."""
        changed = int(np.count_nonzero(x != self.given)) // 2
        x *= self.scale
        return RepairResult(x, *optimality, changed, sweeps, scans, clock() - started, duals)


def pose_problem(
    distances: ArrayLike, weights: ArrayLike | None, fixed: ArrayLike | None, bounds: tuple[float, float] | None
) -> NearnessProblem:
    """Check everything that a repair is given; the arrays of the caller are never written to."""
    given = check_matrix(distances)
    m = len(given)
    lower, upper = (0.0, math.inf) if bounds is None else map(float, bounds)
    if not 0 <= lower <= upper:
        raise InvalidArgument(f"bounds must be (lower, upper) with 0 <= lower <= upper; got {bounds}")
    mask = None if fixed is None else _check_fixed(fixed, given, lower, upper)
    inverse = _invert_weights(weights, mask, m)
    largest = max(float(given.max(initial=0.0)), lower)
    scale = 2.0 ** math.frexp(largest)[1] if largest else 1.0
    scaled = np.divide(given, scale, out=None if given is distances else given)
    easiest = 1.0 if inverse is None else float(inverse.max(initial=0.0))
    return NearnessProblem(scaled, scale, inverse, mask, lower / scale, upper / scale, largest / scale, easiest)


def check_matrix(distances: ArrayLike, name: str = "distances") -> Matrix:
    """The distances as a symmetric matrix in double precision with a zero diagonal.

    An array that is one already is given back as it is; any other is copied. Rounding differences between d(i, j)
    and d(j, i) are averaged. ``name`` is what error messages call the matrix.
    """
    matrix, largest = as_square(distances, name), 0.0
    starts = range(0, len(matrix), _BLOCK)
    for start in starts:
        rows = matrix[start : start + _BLOCK]
        if not (rows.min(initial=0.0) >= 0 and rows.max() <= LARGEST):  # NaN is neither
            _refuse_entry(rows, start, name)
        largest = max(largest, float(rows.max()))
    slack, diagonal = ASYMMETRY * largest, np.diagonal(matrix)
    if (wrong := np.flatnonzero(diagonal > slack)).size:
        i = int(wrong[0])
        raise InvalidArgument(f"{name}[{i}, {i}] = {matrix[i, i]:g} is on the diagonal; d(i, i) must be 0")
    halves = [(matrix[at : at + _BLOCK, at:], matrix[at:, at : at + _BLOCK].T) for at in starts]
    if not diagonal.any() and all((upper == lower).all() for upper, lower in halves):
        return matrix
    _refuse_asymmetry(halves, slack, name)
    matrix = matrix + matrix.T
    matrix /= 2
    np.fill_diagonal(matrix, 0.0)
    return matrix


def as_square(values: ArrayLike, name: str) -> Matrix:
    """A square array in double precision; the array itself if it is one that kernels can read, else a copy."""
    ready = type(values) is np.ndarray and values.flags.carray
    try:
        matrix = np.array(values, dtype=np.float64, order="C", copy=None if ready else True)
    except (TypeError, ValueError):
        got = (
            f"the text {values[:60]!r}: load a file first, such as by numpy.load"
            if isinstance(values, str)
            else ("rows of different lengths, or entries that are not numbers")
        )
        raise InvalidArgument(f"{name} must be a square matrix of numbers; got {got}") from None
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidArgument(f"{name} must be a square matrix; got shape {matrix.shape}")
    return matrix


def check_mask(fixed: ArrayLike, shape: tuple[int, ...]) -> Mask:
    """Check and copy the mask of the distances that must not change."""
    mask = np.array(fixed)
    if mask.dtype != np.bool_ or mask.shape != shape:
        raise InvalidArgument(
            f"fixed must be boolean of shape {shape}, True where a distance stays as given; "
            f"got {mask.dtype} of shape {mask.shape}"
        )
    return mask


def relative_violation(depth: float, largest: float) -> float:
    """The part of the largest distance by which a triangle inequality is violated: what tolerances are about."""
    if depth <= 0:
        return 0.0
    return depth / largest if largest > 0 else math.inf


def check_tolerance(tolerance: float) -> None:
    """Raise InvalidArgument unless the tolerance can be a part of the largest distance."""
    checked_number(tolerance, "tolerance", "a number above 0 and below 1")
    if not 0 < tolerance < 1:
        raise InvalidArgument(
            f"tolerance must be above 0; got {tolerance}. It is a part of the largest distance, so it must be below 1"
        )


def _refuse_entry(rows: Matrix, start: int, name: str) -> None:
    i, j = map(int, np.argwhere(~((rows >= 0) & (rows <= LARGEST)))[0])
    value = rows[i, j]
    if np.isnan(value):
        problem = "is not known; fill it in, or leave out the items with too many unknown distances"
    elif value < 0:
        problem = "is negative; distances are at least 0"
    elif np.isinf(value):
        problem = "is not finite; put a large number in its place, or leave out the items that cannot be compared"
    else:
        problem = f"is above {LARGEST:g}, where squares overflow; give the distances in a larger unit"
    raise InvalidArgument(f"{name}[{start + i}, {j}] = {value:g} {problem}")


def _refuse_asymmetry(halves: list[tuple[Matrix, Matrix]], slack: float, name: str) -> None:
    for block, (upper, lower) in enumerate(halves):
        apart = np.abs(upper - lower) > slack
        if apart.any():
            i, j = (block * _BLOCK + int(at) for at in np.unravel_index(int(apart.argmax()), apart.shape))
            above, below = upper[apart][0], lower[apart][0]
            raise InvalidArgument(
                f"{name} is not symmetric: [{i}, {j}] = {above:g} but [{j}, {i}] = {below:g}; "
                "give (D + D.T) / 2 if both are estimates"
            )


def _check_fixed(fixed: ArrayLike, given: Matrix, lower: float, upper: float) -> Mask | None:
    mask = check_mask(fixed, given.shape)
    if (mask != mask.T).any():
        i, j = np.argwhere(mask != mask.T)[0]
        raise InvalidArgument(f"fixed is not symmetric: [{i}, {j}] is {mask[i, j]} but [{j}, {i}] is {mask[j, i]}")
    outside = np.argwhere(np.triu(mask & ((given < lower) | (given > upper)), 1))
    if len(outside):
        i, j = outside[0]
        raise InvalidArgument(
            f"the fixed distance [{i}, {j}] = {given[i, j]:g} is outside the bounds ({lower:g}, {upper:g}); "
            "widen the bounds or leave this distance free"
        )
    return mask if np.triu(mask, 1).any() else None


def _invert_weights(weights: ArrayLike | None, mask: Mask | None, m: int) -> Matrix | None:
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
            f"{inverse[i, j]:g} and [{j}, {i}] = {inverse[j, i]:g}. To keep a distance as it is, use fixed; give one "
            "that does not matter a small weight"
        )
    np.divide(1.0, inverse, out=inverse)
    if mask is not None:
        inverse[mask] = 0.0
    return inverse


def _spread(corners: Corners, values: Floats, copy_of: NDArray[np.int32]) -> tuple[Corners, Floats]:
    members = {int(first): np.flatnonzero(copy_of == first).astype(np.int32) for first in np.unique(copy_of)}
    rows, shares = [corners[:0]], [values[:0]]
    for firsts, value in zip(*_add_equal(copy_of[corners], values), strict=True):
        duplicates = _list_duplicates(firsts.tolist(), members)
        rows.append(duplicates)
        shares.append(np.full(len(duplicates), value / len(duplicates)))
    return np.concatenate(rows), np.concatenate(shares)


def _list_duplicates(firsts: list[int], members: dict[int, NDArray[np.int32]]) -> Corners:
    """All constraints that differ from one by duplicates of its items, each once."""
    grid = np.meshgrid(*(members[first] for first in firsts), indexing="ij")
    rows = np.stack(grid, axis=-1).reshape(-1, len(firsts))
    if firsts[0] == firsts[1]:
        rows = rows[rows[:, 0] < rows[:, 1]]
    return _order_ends(_drop_degenerate(rows, np.empty(len(rows)))[0])


def _drop_degenerate(corners: Corners, values: Floats) -> tuple[Corners, Floats]:
    """Leave out the rows that name an item twice."""
    ordered = np.sort(corners, axis=1)
    sound = (ordered[:, 1:] != ordered[:, :-1]).all(axis=1)
    return corners[sound], values[sound]


def _add_equal(corners: Corners, values: Floats) -> tuple[Corners, Floats]:
    """Each constraint once, with the sum of its values."""
    rows, places = np.unique(_order_ends(corners), axis=0, return_inverse=True)
    return rows, np.bincount(places.reshape(-1), values, minlength=len(rows)).astype(np.float64, copy=False)


def _order_ends(corners: Corners) -> Corners:
    """Put the smaller end of the long side first."""
    return np.concatenate([np.sort(corners[:, :2], axis=1), corners[:, 2:]], axis=1)
