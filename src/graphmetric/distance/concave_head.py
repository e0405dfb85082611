"""A deep metric: concave functions of non-negative sums of metrics."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor, nn

from graphmetric.distance.pair_distance import METRIC, PairDistance, non_negative_layers
from graphmetric.distance.representation import Representation
from graphmetric.errors import InvalidArgument

Concave = Literal["saturating", "log1p", "sqrt", "ratio"]

_ROUNDING = 1e-6
"""Where the square root turns into a line: its slope at 0 is 1 / (2 sqrt(1e-6)) = 500 instead of infinite."""


def smooth_sqrt(values: Tensor) -> Tensor:
    """sqrt(s + r) - sqrt(r) with a small r: zero at zero, concave, and with a finite slope there."""
    return values / (torch.sqrt(values + _ROUNDING) + math.sqrt(_ROUNDING))  # the difference without cancellation


CONCAVE: dict[Concave, Callable[[Tensor], Tensor]] = {
    "saturating": lambda values: -torch.expm1(-values),
    "log1p": torch.log1p,
    "sqrt": smooth_sqrt,
    "ratio": lambda values: values / (1 + values),
}
"""Concave, increasing, zero at zero: 1 - exp(-s), log(1 + s), sqrt(s), s / (1 + s)."""


class ConcaveHead(PairDistance):
    r"""Layers :math:`h \leftarrow \varphi(W h)`, W ≥ 0, no bias, and a last sum with W ≥ 0.

    It starts from :math:`\lvert z_G - z_H \rvert`, from other distances, or from both. If all of these are
    pseudo-metrics so is the result: non-negative sums of metrics are metrics, and so are concave increasing functions,
    zero at zero, of one (they are subadditive: φ(s + t) ≤ φ(s) + φ(t)).
    """

    def __init__(
        self,
        dim: int | None,
        hidden: Sequence[int] = (32,),
        concave: Concave = "log1p",
        bases: Sequence[PairDistance] = (),
    ) -> None:
        """``dim`` is the width of the pooled vectors; None to start from ``bases`` alone."""
        super().__init__()
        if dim is None and not bases:
            raise InvalidArgument(
                "a concave head starts from pooled vectors (dim), from other distances (bases) or both"
            )
        if concave not in CONCAVE:
            raise InvalidArgument(f"no concave function {concave!r}; there are: {', '.join(CONCAVE)}")
        self.dim = dim or 0
        self.concave = concave
        self.bases = nn.ModuleList(bases)
        self.axioms = METRIC.intersection(*(base.axioms for base in bases))
        self.width = self.dim + sum(base.width for base in bases)
        self.layers = non_negative_layers([self.dim + len(bases), *hidden, 1])

    def extra_repr(self) -> str:
        return f"dim={self.dim}, concave={self.concave!r}"

    def project(self, z: Tensor) -> Tensor:
        """The coordinates and what each base makes of them, side by side."""
        return torch.cat([z[..., : self.dim], *(base.project(z) for base in self._bases())], dim=-1)

    def compare(self, left: Representation, right: Representation) -> Tensor:
        phi = CONCAVE[self.concave]
        values = self._base_distances(left, right)
        for layer in self.layers[:-1]:
            values = phi(layer(values))
        return self.layers[-1](values).squeeze(-1)  # type: ignore[no-any-return]

    def _base_distances(self, left: Representation, right: Representation) -> Tensor:
        parts = [self.dim, *(base.width for base in self._bases())]
        (left_z, *lefts), (right_z, *rights) = (torch.split_with_sizes(side.z, parts, dim=-1) for side in (left, right))
        measured = [
            base.compare(left._replace(z=a), right._replace(z=b)).unsqueeze(-1)
            for base, a, b in zip(self._bases(), lefts, rights, strict=True)
        ]
        return torch.cat([(left_z - right_z).abs(), *measured], dim=-1)

    def _bases(self) -> list[PairDistance]:
        return [base for base in self.bases if isinstance(base, PairDistance)]  # for the type: all of them are
