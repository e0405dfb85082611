"""Random graphs as distances see them, and one of each head."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from graphmetric.distance import BlockNorm, ConcaveHead, Matching, PairDistance, Representation, SquaredFC
from graphmetric.distance.representation import Structure

DIM = 8

HEADS: dict[str, Callable[[], PairDistance]] = {
    "paper": lambda: SquaredFC(DIM),
    "deep paper": lambda: SquaredFC(DIM, hidden=(6, 5)),
    "block norm": lambda: BlockNorm(DIM, blocks=3, width=2),
    "matching": Matching,
    "two matchings": lambda: Matching(heads=2),
    "matching of nodes and edges": lambda: Matching(edge_price=0.4),
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


def random_head(name: str, seed: int = 0, dtype: torch.dtype = torch.float64) -> PairDistance:
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
    """Graphs of 0 to ``largest`` nodes with edges; z is the sum of the states, as in the paper's Fusion."""
    generator = torch.Generator().manual_seed(seed)
    size = torch.randint(0, largest + 1, (count,), generator=generator)
    rows = spread * torch.randn(int(size.sum()), dim, generator=generator, dtype=dtype)
    joined = torch.rand(count, largest, largest, generator=generator).triu(1) > 0.6
    real = torch.arange(largest) < size.unsqueeze(1)
    weights = (joined & real.unsqueeze(1) & real.unsqueeze(2)).to(dtype)
    one_kind = SimpleNamespace(weights=weights, relation=None, tag=None, directed=torch.zeros(count, dtype=torch.bool))
    structure = Structure.from_batch(one_kind)
    return from_rows(rows, size)._replace(structure=structure._replace(labels=structure.labels[real.flatten()]))


def from_rows(rows: Tensor, size: Tensor) -> Representation:
    """Graphs without edges."""
    z = rows.new_zeros(len(size), rows.shape[1]).index_add(0, torch.repeat_interleave(size), rows)
    none = torch.zeros_like(size)
    structure = Structure.nothing(rows)._replace(
        labels=torch.zeros(len(rows), 2, dtype=torch.int32), first=none, num_edges=none
    )
    return Representation(z, rows, size.cumsum(0) - size, size, structure)


def represent(states: Tensor, mask: Tensor, relation: Tensor, **more: Any) -> Representation:
    batch = SimpleNamespace(weights=(relation != 0).to(states), relation=relation, tag=more.get("tag"))
    batch.directed = torch.full((len(states),), more.get("directed", False))
    return Representation.from_padded(SimpleNamespace(z=states.sum(1), states=states, mask=mask), batch)


def random_coupled(
    count: int, seed: int, largest: int = 5, spread: float = 1.0, directed: bool = False, dim: int = 4
) -> Representation:
    """Random graphs of 0 to ``largest`` nodes with states, labels of nodes, and edges of two kinds; some loops."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(0, largest + 1, count)
    k = max(1, int(sizes.max()))
    mask = torch.from_numpy(np.arange(k) < sizes[:, None])
    relation = rng.integers(1, 3, (count, k, k)) * (rng.random((count, k, k)) < 0.4)
    if not directed:
        relation = np.triu(relation)
        relation = relation + np.triu(relation, 1).transpose(0, 2, 1)
    there = torch.from_numpy(relation.astype(np.int32)) * mask[:, None] * mask[..., None]
    states = spread * torch.from_numpy(rng.standard_normal((count, k, dim))) * mask[..., None]
    tag = torch.from_numpy(rng.integers(1, 3, (count, k)))
    return represent(states, mask, there, tag=tag, directed=directed)


def states_of(graphs: Representation, k: int) -> list[list[float]]:
    first = int(graphs.start[k])
    states: list[list[float]] = graphs.rows[first : first + int(graphs.size[k])].tolist()
    return states
