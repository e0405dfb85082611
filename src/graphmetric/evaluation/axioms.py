"""The axioms of a metric, measured on a matrix of distances rather than taken on trust."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.evaluation.scores import Floats
from graphmetric.metric_repair import TriangleViolations, triangle_violations


class AxiomCheck(NamedTuple):
    """The result for one axiom on the measured graphs."""

    name: str
    holds: bool
    measured: str
    """The measurement in words."""


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredAxioms:
    """Violations of the metric axioms by measured distances."""

    graphs: int
    identity: float
    """Largest distance, in absolute value, between a graph and itself or a copy of it; 0 for a metric."""
    asymmetry: float
    """Largest \\|d(G, H) - d(H, G)\\|; 0 for a metric."""
    smallest: float
    """Smallest distance; at least 0 for a metric. NaN without any distance."""
    triangles: TriangleViolations | None
    """Violations by the mean of both directions. None where a distance is negative: d(G, G) <= 2 d(G, H) fails then."""
    unseparated: int | None
    """Pairs at distance 0 of graphs that are not isomorphic: a metric has none, a pseudo-metric may. None: unknown."""
    tolerance: float
    """Distances up to this count as 0; rounding is not a violation."""

    @property
    def is_pseudo_metric(self) -> bool:
        """True if all axioms except separation hold, on these graphs and within the tolerance."""
        return all(axiom.holds for axiom in self.check() if axiom.name != "separation")

    @property
    def is_metric(self) -> bool | None:
        """True if all axioms hold, on these graphs and within the tolerance; None if separation was not measured."""
        return self.is_pseudo_metric and (None if self.unseparated is None else self.unseparated == 0)

    def check(self, symmetry_slack: float = 0.0, triangle_slack: float = 0.0) -> Iterator[AxiomCheck]:
        """Each axiom in the order of a textbook, separation last and only if it was measured.

        Both slacks are allowed on top of rounding, for distances that a solver finds up to a tolerance.
        """
        zero, found = self.tolerance, self.triangles
        yield AxiomCheck("non-negativity", not self.smallest < -zero, f"the smallest distance is {self.smallest:.3g}")
        yield AxiomCheck("identity", self.identity <= zero, f"the farthest copy is at distance {self.identity:.3g}")
        words = f"the two directions differ by {self.asymmetry:.3g} at most"
        yield AxiomCheck("symmetry", self.asymmetry <= zero + symmetry_slack, words)
        if found is None:
            yield AxiomCheck("triangle inequality", False, "cannot hold with negative distances")
        else:
            yield _check_triangles(found, zero + triangle_slack if triangle_slack else 0.0)
        if self.unseparated is not None:
            which = f"{self.unseparated:,} pairs of" if self.unseparated else "no two"
            yield AxiomCheck("separation", self.unseparated == 0, f"{which} different graphs are at distance 0")

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a record."""
        names = ("count", "tested", "share", "max_depth", "mean_depth")
        found = self.triangles
        return {field.name: getattr(self, field.name) for field in fields(self)} | {
            "smallest": None if math.isnan(self.smallest) else self.smallest,
            "triangles": None if found is None else {name: getattr(found, name) for name in names},
        }

    def __str__(self) -> str:
        lines = [f"{name:<21}{'holds' if holds else 'BROKEN':<8}{words}" for name, holds, words in self.check()]
        return "\n".join([f"{self.graphs} graphs, tolerance {self.tolerance:g}", *lines])


def _check_triangles(found: TriangleViolations, allowed: float) -> AxiomCheck:
    holds = found.count == 0
    words = f"none of {found.tested:,} is broken"
    if not holds and found.max_depth <= allowed:
        holds, words = True, f"{words} by more than the solver's tolerance, {found.max_depth:.3g} at most"
    elif not holds:
        words = f"{found.count:,} of {found.tested:,} ({found.share:.2%}) are broken, by {found.max_depth:.3g} at most"
    return AxiomCheck("triangle inequality", holds, words)


def measure_axioms(
    distances: ArrayLike,
    *,
    copies: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    tolerance: float = 1e-6,
    sample: int | None = None,
    n_jobs: int = -1,
) -> MeasuredAxioms:
    """Measure identity, symmetry, non-negativity, the triangle inequality and, with ``classes``, separation.

    Args:
        distances: Square matrix, every entry known, both directions as they were predicted.
        copies: Distances between graphs and copies of them with the nodes in another order, in any shape.
        classes: The isomorphism class of each graph; graphs of one class count as copies of each other.
        tolerance: Differences up to this part of the largest distance count as rounding.
        sample: Number of triangles to draw, for large matrices; None: all.
        n_jobs: Threads; -1: one per core.
    """
    matrix = _finite(distances, "distances")
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InvalidArgument(f"distances must be a square matrix; got shape {matrix.shape}")
    zero = tolerance * _largest(matrix)
    both = (matrix + matrix.T) / 2
    alike, apart = _compare_classes(classes, len(matrix))
    violations = None
    if not (matrix < -zero).any():
        cut = np.maximum(both, 0.0)  # a distance below zero by a rounding is zero
        np.fill_diagonal(cut, 0.0)
        violations = triangle_violations(cut, tolerance=tolerance, sample=sample, n_jobs=n_jobs)
    return MeasuredAxioms(
        graphs=len(matrix),
        identity=_largest(np.diagonal(matrix), matrix[alike], _finite([] if copies is None else copies, "copies")),
        asymmetry=_largest(matrix - matrix.T),
        smallest=float(matrix.min()) if matrix.size else math.nan,
        triangles=violations,
        unseparated=None if classes is None else int((np.abs(both[apart]) <= zero).sum()),
        tolerance=zero,
    )


def _finite(values: ArrayLike, name: str) -> Floats:
    found = np.asarray(values, dtype=np.float64)
    if not np.isfinite(found).all():
        raise InvalidArgument(f"{name} must all be finite; {int((~np.isfinite(found)).sum())} are not")
    return found


def _compare_classes(classes: ArrayLike | None, count: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Masks of the pairs of isomorphic graphs and of all other pairs, each of these once."""
    number = np.arange(count) if classes is None else np.asarray(classes)
    if number.shape != (count,):
        raise InvalidArgument(f"classes must name one class for each of the {count} graphs; got shape {number.shape}")
    same = number[:, None] == number
    return same, np.triu(~same, k=1)


def _largest(*arrays: Floats) -> float:
    return max(float(np.abs(array).max(initial=0.0)) for array in arrays)
