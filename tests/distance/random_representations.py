"""Random graphs as distances see them, and one of each head."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from graphmetric.distance import BlockNorm, ConcaveHead, DistanceHead, Matching, Representation, SquaredFC

DIM = 8

HEADS: dict[str, Callable[[], DistanceHead]] = {
    "paper": lambda: SquaredFC(DIM),
    "deep paper": lambda: SquaredFC(DIM, hidden=(6, 5)),
    "block norm": lambda: BlockNorm(DIM, blocks=3, width=2),
    "matching": Matching,
    "two matchings": lambda: Matching(heads=2),
    "concave 1-exp": lambda: ConcaveHead(DIM, hidden=(6,), concave="saturating"),
    "concave log1p": lambda: ConcaveHead(DIM, hidden=(6, 4)),
    "concave sqrt": lambda: ConcaveHead(DIM, hidden=(6,), concave="sqrt"),
    "concave ratio": lambda: ConcaveHead(DIM, hidden=(), concave="ratio"),
    "concave of all": lambda: ConcaveHead(DIM, hidden=(4,), bases=[BlockNorm(DIM, 2), Matching(), ConcaveHead(DIM)]),
    "concave of matching": lambda: ConcaveHead(None, hidden=(4,), bases=[Matching()]),
    "concave of paper": lambda: ConcaveHead(None, bases=[SquaredFC(DIM)]),
}


class Coarse(BlockNorm):
    """Answers like those of a solver that stops early: too short by up to its tolerance."""

    tolerance = 0.02
    epsilon = 0.05

    def compare(self, left: Representation, right: Representation) -> Tensor:
        exact = super().compare(left, right)
        return exact if torch.is_grad_enabled() else (exact / self.tolerance).floor() * self.tolerance


def random_head(name: str, seed: int = 0, dtype: torch.dtype = torch.float64) -> DistanceHead:
    """A head with weights of any size, as training might leave them."""
    torch.manual_seed(seed)
    head = HEADS[name]().to(dtype)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.add_(torch.randn_like(parameter))
    return head.eval()


def random_graphs(
    count: int, seed: int = 0, largest: int = 6, dim: int = DIM, dtype: torch.dtype = torch.float64, spread: float = 1.0
) -> Representation:
    """Graphs of 0 to ``largest`` nodes; z is the sum of the states, as in the paper's Fusion."""
    generator = torch.Generator().manual_seed(seed)
    size = torch.randint(0, largest + 1, (count,), generator=generator)
    rows = spread * torch.randn(int(size.sum()), dim, generator=generator, dtype=dtype)
    return from_rows(rows, size)


def from_rows(rows: Tensor, size: Tensor) -> Representation:
    z = rows.new_zeros(len(size), rows.shape[1]).index_add(0, torch.repeat_interleave(size), rows)
    return Representation(z, rows, size.cumsum(0) - size, size)


def states_of(graphs: Representation, k: int) -> list[list[float]]:
    first = int(graphs.start[k])
    states: list[list[float]] = graphs.rows[first : first + int(graphs.size[k])].tolist()
    return states
