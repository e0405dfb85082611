"""The family of learned distances, and the paper's own member of it.

Linear maps that keep order and sign: no bias, no negative weight.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import StrEnum
from itertools import pairwise
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from graphmetric.distance.representation import Representation
from graphmetric.errors import InvalidArgument


class NonNegativeLinear(nn.Module):
    """W x with W = softplus(V): zero at zero, non-negative and non-decreasing on non-negative inputs."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.raw = nn.Parameter(torch.empty(outputs, inputs))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Start near the mean of the inputs, each weight half to one and a half times its share."""
        with torch.no_grad():
            weight = self.raw.uniform_(0.5, 1.5) / max(1, self.raw.shape[1])
            self.raw.copy_(torch.log(torch.expm1(weight)))  # the inverse of softplus

    @property
    def weight(self) -> Tensor:
        return functional.softplus(self.raw)

    def forward(self, values: Tensor) -> Tensor:
        return functional.linear(values, self.weight)


def non_negative_layers(widths: Sequence[int]) -> nn.ModuleList:
    """One map from each width to the next."""
    return nn.ModuleList(NonNegativeLinear(inputs, outputs) for inputs, outputs in pairwise(widths))


Scale = Literal["raw", "paper"]


class Axiom(StrEnum):
    """What a distance can promise for all graphs and all weights. None promises that only equal graphs are at 0."""

    SYMMETRIC = "symmetric"
    NON_NEGATIVE = "non-negative"
    ZERO_ON_EQUAL = "zero on equal"
    TRIANGLE_INEQUALITY = "triangle inequality"


METRIC = frozenset(Axiom)
"""All of them: a pseudo-metric, and with :mod:`graphmetric.distance.comparison` a metric."""


class Answer(NamedTuple):
    """Distances, and what a head that solves them step by step has left open."""

    distances: Tensor
    left_open: Tensor | None = None
    """For each distance by how much it may be too small because its solver ran out of steps; 0 where it did not. None
    for a head whose distances are formulas."""


class PairDistance(nn.Module, ABC):
    """A distance between two graphs that an encoder has represented.

    A subclass writes :meth:`compare`, and :meth:`project` if part of its formula concerns one graph alone.
    """

    axioms: frozenset[Axiom] = METRIC
    """What holds by construction: exactly for the formula, and for the answers up to rounding and the tolerance."""
    tolerance: float = 0.0
    """How far an answer may lie below the value of the formula, rounding aside, in the units of the head."""
    relative_tolerance: float = 0.0
    """The same as a share of the value; the larger of the two counts."""
    epsilon: float = 1e-4
    """What a strict distance adds between graphs that differ: far above the rounding of distances near 0, and at least
    twice the tolerance, so that two sides that are answered too short are still as long as the third."""
    scale: Scale = "raw"
    """The units of the values: of an edit distance, or the paper's [0, 1)."""
    width: int
    """Of the projected vector."""
    needs_links: bool = False
    """Whether graphs must be represented with their edges."""
    slow: bool = False
    """Whether a pair takes so long that matrices should tell, and save, their progress more often."""

    def project(self, z: Tensor) -> Tensor:
        """What the formula makes of the pooled vector (..., d) of a single graph, done once per graph."""
        return z

    @abstractmethod
    def compare(self, left: Representation, right: Representation) -> Tensor:
        """Distances of projected graphs; batch axes broadcast, so (n, 1) against (1, m) is a whole matrix."""

    def prepare(self, graphs: Representation) -> Representation:
        """The same graphs with projected vectors: what :meth:`compare` takes."""
        return graphs._replace(z=self.project(graphs.z))

    def forward(self, left: Representation, right: Representation) -> Tensor:
        """Distances of left[0] to right[0], left[1] to right[1] and so on."""
        if left.start.shape != right.start.shape:
            raise InvalidArgument(
                f"both sides must have as many graphs; got {left.num_graphs} and {right.num_graphs}. "
                "For all pairs of two collections use distance_matrix"
            )
        return self.compare(self.prepare(left), self.prepare(right))

    def among(self, graphs: Representation, pairs: Tensor) -> Tensor:
        """Distances of pairs (n, 2) of positions in one batch, each graph projected once."""
        prepared = self.prepare(graphs)
        return self.compare(prepared.take(pairs[:, 0]), prepared.take(pairs[:, 1]))

    def distance_to_empty(self, graphs: Representation) -> Tensor:
        """Distances to the graph without nodes."""
        return self.compare(self.prepare(graphs), self.prepare(graphs.empty_graph()))

    @torch.no_grad()
    def answer(self, left: Representation, right: Representation, absolute: bool = False) -> Answer:
        """As :meth:`compare`, without gradients; ``absolute`` solves up to ``tolerance`` whatever the distance."""
        return Answer(self.compare(left, right))

    def slack(self, distance: float) -> float:
        """How far an answer may lie below an exact value of this size, rounding aside."""
        return max(self.tolerance, self.relative_tolerance * distance)

    @property
    def is_metric(self) -> bool:
        """Whether every axiom holds by construction, within the tolerance."""
        return self.axioms == METRIC

    def promise(self, strict: bool = False) -> str:
        """What holds for all graphs and all weights, in words."""
        zero = "zero exactly on isomorphic graphs" if strict else "zero on isomorphic graphs"
        if Axiom.TRIANGLE_INEQUALITY not in self.axioms:
            return f"symmetric, {zero}; the triangle inequality does not hold"
        if strict:
            return f"a metric: symmetric, {zero}, triangle inequality"
        return f"a pseudo-metric: symmetric, {zero}, triangle inequality{self.within}"

    @property
    def within(self) -> str:
        """How nearly the triangle inequality holds, in words: two sides may be answered too short."""
        if not self.tolerance:
            return ""
        share = f", or {200 * self.relative_tolerance:g}% of the longest side if that is more"
        return f" within {2 * self.tolerance:g} edits{share if self.relative_tolerance else ''}"


class SquaredFC(PairDistance):
    r"""The paper's distance of the pooled vectors.

    .. math:: d(G^{(i)}, G^{(j)}) = 1 - \exp\left(-\mathrm{FC}\left((z^{(i)} - z^{(j)})^{2}\right)\right) \qquad (9)

    Differs from the paper: its layers may have biases and weights of any sign, and then neither is :math:`d(G, G)` zero
    nor :math:`d` non-negative. Here FC has no bias and weights softplus(V) > 0, so both hold by construction. Between
    layers the paper names no activation; we take log(1 + x), which keeps zero at zero and does not saturate.

    The triangle inequality does not hold, whatever the weights: FC of squares grows like a square, and
    three points on a line at 0, t, 2t violate it for small t.
    """

    axioms = METRIC - {Axiom.TRIANGLE_INEQUALITY}
    scale = "paper"

    def __init__(self, dim: int, hidden: Sequence[int] = ()) -> None:
        super().__init__()
        self.width = dim
        self.layers = non_negative_layers([dim, *hidden, 1])

    def compare(self, left: Representation, right: Representation) -> Tensor:
        values = (left.z - right.z).square()
        for layer in self.layers[:-1]:
            values = torch.log1p(layer(values))
        gap = self.layers[-1](values).squeeze(-1)
        return -torch.expm1(-gap)  # 1 - exp(-gap) without cancellation
