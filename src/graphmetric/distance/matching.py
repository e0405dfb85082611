"""A head that matches the nodes of two graphs by their states: a learned edit distance.

A compiled solver answers; gradients come from the costs of the matching that it found.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from graphmetric._foundation.assignment import AssignmentWork, allocate_assignment
from graphmetric._foundation.threads import allowed_threads, map_in_threads
from graphmetric.distance._kernels.matching import (
    NOBODY,
    AxisValues,
    NodeStates,
    add_axis_gaps,
    match_pairs,
    measure_pairs,
    sort_runs,
)
from graphmetric.distance.pair_distance import METRIC, DistanceHead, Floats, HeadOptions, StoredGraphs
from graphmetric.distance.representation import Representation
from graphmetric.errors import InvalidArgument

CHUNK = 512
"""Pairs per call of the solver: milliseconds for small graphs, so that threads end together."""
AXES = 8
"""Axes along which an index keeps states sorted: with more, hardly fewer graphs pass the bound."""
_SPREAD_BY = 1 << 12
"""About how many states say in which directions all of them spread."""
Integers = NDArray[np.int64]
NodeMaps = list[tuple[int | None, ...]]


class Matching(DistanceHead, kind="matching"):
    r"""Least cost of turning the nodes of one graph into those of the other.

    .. math:: g(G, H) = \min_\pi \sum_i \lVert h_i - h'_{\pi(i)} \rVert_2

    over bijections, both graphs padded with zero vectors to equal number. :math:`\lVert h_i \rVert` is the price of
    deleting node i, :math:`\lVert h_i - h'_j \rVert` that of turning i into j.

    *It is a pseudo-metric.* Bijections G → H and H → K compose to one G → K that costs no more, term by term; and more
    padding never helps, since a node deleted and another inserted cost :math:`\lVert h \rVert + \lVert h' \rVert \ge
    \lVert h - h' \rVert`, the price of turning one into the other.

    *It is a rectangular problem.* By the same inequality some best bijection does not both delete and insert. So for
    n ≤ m nodes each h_i has a partner σ(i) of its own, the others pay their norm, and

    .. math:: g = \sum_j \lVert h'_j \rVert + \min_\sigma \sum_{i \le n}
              \left(\lVert h_i - h'_{\sigma(i)} \rVert - \lVert h'_{\sigma(i)} \rVert\right).

    *Its gradient* is the gradient of the sum with the bijection held fixed, which is exact wherever the best bijection
    is unique; the assignment itself is solved without gradients. A pair takes microseconds at 10 nodes; work grows with
    the cube of the number of nodes.

    With several heads the states are cut into as many equal pieces, each matched on its own, and the distances added.
    """

    axioms = METRIC
    needs_states = True
    aligns = True

    def __init__(self, heads: int = 1) -> None:
        super().__init__()
        if heads < 1:
            raise InvalidArgument(f"a matching needs at least one head; got {heads}")
        self.heads, self.width, self.vector_blocks = heads, 0, heads
        self.sorted_axes = AXES if heads == 1 else 0

    @classmethod
    def build(cls, options: HeadOptions, dim: int) -> Self:
        if dim % options.matching_heads:
            raise InvalidArgument(f"{options.matching_heads} matching heads cannot share states of width {dim}")
        return cls(options.matching_heads)

    def extra_repr(self) -> str:
        return f"heads={self.heads}"

    def project(self, z: Tensor) -> Tensor:
        """An empty vector: the pooled vector plays no part."""
        return z[..., :0]

    def compare(self, left: Representation, right: Representation) -> Tensor:
        learns = torch.is_grad_enabled() and (left.rows.requires_grad or right.rows.requires_grad)
        return self._differentiable(left, right) if learns else self._measure(left, right)

    def align(self, left: Representation, right: Representation) -> NodeMaps:
        slots, end = self._match(left, right, broadcast_pairs(left, right), head=0)
        starts, sizes, others = left.start.tolist(), left.size.tolist(), right.start.tolist()
        maps: NodeMaps = []
        for matched, start, size, other in zip(np.split(slots, end)[:-1], starts, sizes, others, strict=True):
            partners = dict(matched.tolist())
            found = [partners[start + i] for i in range(size)]
            maps.append(tuple(None if row == NOBODY else row - other for row in found))
        return maps

    def index_vectors(self, graphs: Representation) -> Tensor:
        """(graphs, d): the sum of the states of each graph, which is the paper's Fusion up to its constant.

        By the triangle inequality of the norm no distance is below the block norm of the difference of two sums, with
        as many blocks as there are heads.
        """
        graphs = graphs.compacted()
        owner = torch.repeat_interleave(graphs.size)
        return graphs.rows.new_zeros(graphs.num_graphs, graphs.rows.shape[1]).index_add(0, owner, graphs.rows)

    def tighten(self, gaps: Floats, query: Representation, stored: StoredGraphs, chosen: Tensor) -> Floats:
        """Add what the states say along single axes; see :mod:`graphmetric.distance._kernels.matching`."""
        graphs, arrays = stored
        if "axes" in arrays:
            first, size = int(query.start), int(query.size)
            own = np.sort(query.rows[first : first + size].numpy() @ arrays["basis"], axis=0)
            more = np.empty(len(gaps))
            values = AxisValues(arrays["axes"], graphs.start[chosen].numpy(), graphs.size[chosen].numpy())
            add_axis_gaps(own, values, more)
            gaps = np.sqrt(np.maximum(np.square(gaps, dtype=np.float64) + more, 0)).astype(np.float32)
        return gaps

    @torch.no_grad()
    def _measure(self, left: Representation, right: Representation) -> Tensor:
        pairs = broadcast_pairs(left, right)
        out = np.zeros(len(pairs))
        for head in range(self.heads):
            sides = self._states(left, head), self._states(right, head)

            def measure(part: slice, work: AssignmentWork, sides: tuple[NodeStates, NodeStates] = sides) -> None:
                measure_pairs(*sides, pairs[part], work, out[part])

            in_threads(measure, len(pairs), partial(allocate_assignment, largest_graph(*sides)))
        return torch.from_numpy(out).to(left.rows).reshape(broadcast_shape(left, right))

    def _differentiable(self, left: Representation, right: Representation) -> Tensor:
        pairs = broadcast_pairs(left, right)
        total = left.rows.new_zeros(len(pairs))
        for head in range(self.heads):
            a, b = self._states(left, head), self._states(right, head)
            slots, end = self._match(left, right, pairs, head)
            owner = np.repeat(np.arange(len(end)), np.diff(end, prepend=0))
            pieces = left.rows[:, a.first : a.last], right.rows[:, b.first : b.last]
            total = total + sum_costs(pieces, slots, owner, len(pairs))
        return total.reshape(broadcast_shape(left, right))

    def _match(
        self, left: Representation, right: Representation, pairs: Integers, head: int
    ) -> tuple[Integers, Integers]:
        """Matched rows (slots, 2) of all pairs one after another, and where each pair ends."""
        sides = self._states(left, head), self._states(right, head)
        end = np.maximum(sides[0].size[pairs[:, 0]], sides[1].size[pairs[:, 1]]).cumsum()
        start = np.concatenate([[0], end[:-1]])
        slots = np.empty((int(end[-1]) if len(end) else 0, 2), dtype=np.int64)

        def match(part: slice, work: AssignmentWork) -> None:
            match_pairs(*sides, pairs[part], start[part], work, slots)

        in_threads(match, len(pairs), partial(allocate_assignment, largest_graph(*sides)))
        return slots, end

    def _states(self, graphs: Representation, head: int) -> NodeStates:
        dim = graphs.rows.shape[1]
        if dim % self.heads:
            raise InvalidArgument(f"states of width {dim} cannot be cut into {self.heads} equal heads")
        double = graphs.rows.dtype == torch.float64
        rows = graphs.rows.detach().to("cpu", torch.float64 if double else torch.float32)  # numpy has no bfloat16
        start, size = (part.flatten().cpu().numpy() for part in (graphs.start, graphs.size))
        first, last = head * dim // self.heads, (head + 1) * dim // self.heads
        return NodeStates(rows.contiguous().numpy(), start, size, first, last)


def principal_axes(states: Floats, count: int = AXES) -> Floats:
    """(d, axes), orthonormal: the directions in which states spread most, by some of them if there are many."""
    some = states[:: 1 + len(states) // _SPREAD_BY]
    spread = np.einsum("ki,kj->ij", some, some, dtype=np.float64)  # not @: BLAS rounds by its number of threads
    _, vectors = np.linalg.eigh(spread)
    return np.ascontiguousarray(vectors[:, ::-1][:, :count], dtype=np.float32)


def sort_along_axes(states: Floats, sizes: Integers, basis: Floats) -> Floats:
    """The states along each axis, rising within each graph; graph k has the next sizes[k] rows."""
    values: Floats = np.einsum("ki,ij->kj", states, basis)  # the same in every process, however many its threads
    sort_runs(values, np.concatenate([[0], np.cumsum(sizes)]))
    return values


def broadcast_pairs(left: Representation, right: Representation) -> Integers:
    """(pairs, 2): positions in the flattened batches, for every entry of the broadcast batch."""
    pairs = np.empty((*broadcast_shape(left, right), 2), dtype=np.int64)
    for k, side in enumerate((left, right)):
        pairs[..., k] = np.arange(side.num_graphs).reshape(side.start.shape)
    return pairs.reshape(-1, 2)


def broadcast_shape(left: Representation, right: Representation) -> tuple[int, ...]:
    """The shape of the distances between two batches."""
    return np.broadcast_shapes(left.start.shape, right.start.shape)


def largest_graph(left: NodeStates, right: NodeStates) -> int:
    """The number of nodes of the largest graph of both sides."""
    return int(max(left.size.max(initial=0), right.size.max(initial=0)))


def sum_costs(sides: tuple[Tensor, Tensor], slots: Integers, owner: Integers, n_pairs: int) -> Tensor:
    """The cost of each pair: the distances of its slots, each of which has a row of either side, or NOBODY."""
    left, right = (_rows_or_zero(rows, torch.from_numpy(slots[:, k].copy())) for k, rows in enumerate(sides))
    costs: Tensor = torch.linalg.vector_norm(left - right, dim=-1)  # its gradient is 0 where it is 0
    return costs.new_zeros(n_pairs).index_add(0, torch.from_numpy(owner).to(costs.device), costs)


def in_threads(
    solve: Callable[[slice, AssignmentWork], None], n_pairs: int, allocate: Callable[[], AssignmentWork]
) -> None:
    """Solve all pairs, ``CHUNK`` at a time, on as many threads as are allowed, each with a workspace of its own."""
    chunks = [slice(first, min(first + CHUNK, n_pairs)) for first in range(0, n_pairs, CHUNK)]
    if min(allowed_threads(), len(chunks)) <= 1:
        work = allocate()
        for part in chunks:
            solve(part, work)
        return
    map_in_threads(lambda part: solve(part, allocate()), chunks)


def _rows_or_zero(rows: Tensor, chosen: Tensor) -> Tensor:
    padded = functional.pad(rows, (0, 0, 0, 1))
    chosen[chosen == NOBODY] = len(rows)
    return padded.index_select(0, chosen.to(rows.device))
