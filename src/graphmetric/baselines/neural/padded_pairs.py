"""Node states of pairs of graphs, padded, for networks that compare every node with every node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from graphmetric.distance import Representation
from graphmetric.distance.pair_work import broadcast_shape
from graphmetric.features import BatchLimits
from graphmetric.features.bucketing import group_by_size

Measure = Callable[[Representation, Representation], Tensor]

_LIMITS = BatchLimits(nodes=1 << 15, spare=1 << 13)
"""Of the pairs that are compared at once: a few megabytes per table of states."""


class PaddedNodes(NamedTuple):
    """One side of some pairs."""

    states: Float[Tensor, "pairs k d"]
    """Zero in padding."""
    mask: Bool[Tensor, "pairs k"]


def pair_up(left: Representation, right: Representation) -> tuple[Representation, Representation]:
    """Both sides with one batch axis, a graph each per pair, after broadcasting."""
    shape = broadcast_shape(left, right)

    def spread(side: Representation) -> Representation:
        vectors = side.z.expand(*shape, side.z.shape[-1]).flatten(0, -2)
        start, size = (part.expand(shape).flatten() for part in (side.start, side.size))
        return Representation(vectors, side.rows, start, size)

    return spread(left), spread(right)


def group_pairs(left: Representation, right: Representation) -> Iterator[Tensor]:
    """Positions of pairs of like sizes, so that a few large graphs do not pad all others."""
    sizes = torch.maximum(left.size, right.size).cpu().numpy()
    for group in group_by_size(sizes, _LIMITS):
        yield torch.from_numpy(group).to(left.start.device)


def pad_nodes(graphs: Representation, k: int | None = None) -> PaddedNodes:
    """The states of graphs on one axis, padded to ``k`` nodes; None: to the largest (one node at least)."""
    k = max(1, int(graphs.size.max())) if k is None else k
    place = torch.arange(k, device=graphs.size.device)
    mask = place < graphs.size[:, None]
    rows = torch.where(mask, graphs.start[:, None] + place, 0)
    if len(graphs.rows) == 0:
        return PaddedNodes(graphs.rows.new_zeros(*rows.shape, graphs.rows.shape[1]), mask)
    states = graphs.rows.index_select(0, rows.reshape(-1)).view(*rows.shape, -1)
    return PaddedNodes(states.masked_fill(~mask[..., None], 0), mask)


def measure_in_groups(left: Representation, right: Representation, measure: Measure) -> Tensor:
    """Distances of all pairs after broadcasting, a group of pairs of like sizes at a time."""
    a, b = pair_up(left, right)
    groups = list(group_pairs(a, b))
    if not groups:
        return a.z.new_zeros(broadcast_shape(left, right))
    values = torch.cat([measure(a.take(group), b.take(group)) for group in groups])
    return values[torch.argsort(torch.cat(groups))].reshape(broadcast_shape(left, right))
