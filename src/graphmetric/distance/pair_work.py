"""What distances share that solve a problem for every pair of graphs: which pairs, what they pay, and threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from graphmetric.distance._kernels.matching import NOBODY, NodeStates
from graphmetric.distance.representation import Representation
from graphmetric.threads import allowed_threads, map_in_threads

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Work = TypeVar("Work")


def broadcast_pairs(left: Representation, right: Representation) -> Integers:
    """(pairs, 2): positions in the flattened batches, for every entry of the broadcast batch."""
    positions = (np.arange(side.num_graphs).reshape(side.start.shape) for side in (left, right))
    return np.stack([side.ravel() for side in np.broadcast_arrays(*positions)], axis=-1)


def broadcast_shape(left: Representation, right: Representation) -> tuple[int, ...]:
    """That of their distances."""
    return np.broadcast_shapes(left.start.shape, right.start.shape)


def largest_graph(left: NodeStates, right: NodeStates) -> int:
    """Nodes of the largest graph of both sides."""
    return int(max(left.size.max(initial=0), right.size.max(initial=0)))


def sum_costs(
    sides: tuple[Tensor, Tensor], slots: Integers, owner: Integers, n_pairs: int, shares: Floats | None = None
) -> Tensor:
    """What each pair pays for its slots, of which each has a row of either side, or NOBODY, and perhaps a share."""
    left, right = (_rows_or_zero(rows, torch.from_numpy(slots[:, k].copy())) for k, rows in enumerate(sides))
    costs: Tensor = torch.linalg.vector_norm(left - right, dim=-1)  # its gradient is 0 where it is 0
    if shares is not None:
        costs = torch.from_numpy(shares).to(costs) * costs
    return costs.new_zeros(n_pairs).index_add(0, torch.from_numpy(owner).to(costs.device), costs)


def _rows_or_zero(rows: Tensor, chosen: Tensor) -> Tensor:
    padded = functional.pad(rows, (0, 0, 0, 1))
    chosen[chosen == NOBODY] = len(rows)
    return padded.index_select(0, chosen.to(rows.device))


def in_threads(solve: Callable[[slice, Work], None], n_pairs: int, chunk: int, allocate: Callable[[], Work]) -> None:
    """Solve all pairs, ``chunk`` at a time, each in room of its own, on as many threads as are allowed."""
    chunks = [slice(first, min(first + chunk, n_pairs)) for first in range(0, n_pairs, chunk)]
    if min(allowed_threads(), len(chunks)) <= 1:
        work = allocate()
        for part in chunks:
            solve(part, work)
        return
    map_in_threads(lambda part: solve(part, allocate()), chunks)
