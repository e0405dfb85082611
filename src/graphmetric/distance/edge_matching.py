"""A head that matches nodes and edges under one coupling: a learned edit distance, solved as a linear programme.

A compiled solver answers; gradients come from the costs of the coupling that it found.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from graphmetric.distance._kernels.edge_matching import (
    Effort,
    LinkedStates,
    RelaxationWork,
    align_pair,
    allocate_relaxation,
    bound_pairs,
    share_pairs,
)
from graphmetric.distance._kernels.matching import NOBODY
from graphmetric.distance.matching import (
    Matching,
    NodeMaps,
    broadcast_pairs,
    broadcast_shape,
    in_threads,
    largest_graph,
    sum_costs,
)
from graphmetric.distance.pair_distance import Answer, Floats, HeadOptions, StoredGraphs
from graphmetric.distance.representation import Representation
from graphmetric.errors import InvalidArgument

EDGE_CHUNK = 32
"""Pairs per call of the solver: milliseconds for small graphs, so that threads end together."""
TRAINING = Effort(steps=150, steps_per_node=15, tolerance=0.0, relative=0.0, look=150)
"""The error of the bound is then .03 edits on molecules of 9 atoms, where a model errs by .5, and .1 on those of 25."""
ANSWERING = Effort(steps=100_000, steps_per_node=0, tolerance=0.02, relative=0.002, look=50)
"""Some 500 steps on molecules of 9 atoms, and answers that are .005 edits below the minimum on average."""
FIRST_PRICE = 0.6
"""The price of an edge before training."""
LEAST_SHARE = 1e-6
"""Smaller shares are left out of gradients: they are most of the table and mean nothing."""


class EdgeMatching(Matching, kind="edge-matching"):
    r"""Least cost of turning the nodes of one graph into those of the other, and its edges with them.

    .. math:: g(G, H) = \min_S \sum_{ij} S_{ij} \lVert h_i - h'_j \rVert_2 + \frac{\mu}{2} \lVert A S - S B \rVert_1

    over doubly stochastic matrices, both graphs padded with zero vectors and nodes without edges until their number
    no longer matters (n + m nodes are enough). A and B are the adjacency matrices, of graphs with directions those of
    the edges without; :math:`\mu \ge 0`, the price of an edge, is learned with the states.

    *It is a pseudo-metric*, like every distance of this kind (Bento and Ioannidis 2018). For S from G to H and T from H
    to K, S T is doubly stochastic; its node costs are at most the sum of both by the triangle inequality of the
    norm, and :math:`\lVert A S T - S T C \rVert_1 \le \lVert (A S - S B) T \rVert_1 + \lVert S (B T - T C) \rVert_1`,
    where a doubly stochastic factor lengthens nothing. Transposition gives the symmetry.

    *What it adds.* Over permutations, with :math:`\mu = 1`, node costs 0 or 1 and edges that are all alike, this is the
    edit distance itself, and over doubly stochastic matrices the bound of Justice and Hero (2006). A matching of states
    alone can only guess from the surroundings of each node what the edges will cost; here edges have to fit under one
    S. What else edges have, directions, labels and weights, reaches the distance through the states only.

    *Its cost.* A pair takes hundreds of primal-dual steps, so hundreds of microseconds at 10 nodes, where a
    :class:`Matching` takes a few. The answer lies at most .02 edits, or two thousandths if that is more, below the
    exact minimum, and the triangle inequality holds up to twice that. A pair that is not solved after 100,000 steps may
    be further off; :meth:`answer` says by how much, and the caller is warned. A strict distance is solved to .02
    edits whatever its size, and adds .05 between graphs that differ, so that it is a metric without a tolerance. In
    training mode, where gradients flow, fewer steps are taken.

    Its gradient is the gradient of the sum with S held fixed. Since :math:`\mu \ge 0`, the matching of the states is a
    lower bound, and so is everything that bounds it.
    """

    needs_links = True
    slow = True
    tolerance = ANSWERING.tolerance
    relative_tolerance = ANSWERING.relative
    epsilon = 2.5 * ANSWERING.tolerance

    def __init__(self) -> None:
        super().__init__()
        self.sorted_axes = 0  # the matching of the states is a better bound, and cheap beside the distance
        self.raw_price = nn.Parameter(torch.tensor(math.log(math.expm1(FIRST_PRICE))))

    @classmethod
    def build(cls, options: HeadOptions, dim: int) -> Self:
        return cls()

    @property
    def price(self) -> Tensor:
        r""":math:`\mu`."""
        return functional.softplus(self.raw_price)

    @torch.no_grad()
    def answer(self, left: Representation, right: Representation, absolute: bool = False) -> Answer:
        pairs = broadcast_pairs(left, right)
        sides, half_price = (self._linked(left), self._linked(right)), self._half_price
        out, left_open = np.zeros((2, len(pairs)))
        effort = ANSWERING._replace(relative=0.0) if absolute else ANSWERING

        def bound(part: slice, work: RelaxationWork) -> None:
            bound_pairs(*sides, pairs[part], half_price, effort, work, out[part], left_open[part])

        in_threads(bound, len(pairs), EDGE_CHUNK, partial(_room, *sides))
        shape = broadcast_shape(left, right)
        return Answer(torch.from_numpy(out).to(left.rows).reshape(shape), torch.from_numpy(left_open).reshape(shape))

    def align(self, left: Representation, right: Representation) -> NodeMaps:
        maps: NodeMaps = []
        for k in range(left.num_graphs):
            one, other = left.take(slice(k, k + 1)), right.take(slice(k, k + 1))
            sides, partner = (self._linked(one), self._linked(other)), np.empty(int(one.size), dtype=np.int64)
            align_pair(*sides, self._half_price, ANSWERING, _room(*sides), partner)
            maps.append(tuple(None if node == NOBODY else int(node) for node in partner))
        return maps

    def tighten(self, gaps: Floats, query: Representation, stored: StoredGraphs, chosen: Tensor) -> Floats:
        """The matching of the states, which takes a hundredth of the time and bounds the distance better still."""
        matched: Floats = Matching().compare(query, stored.graphs.take(chosen)).numpy()
        return np.maximum(gaps, matched)

    @property
    def _half_price(self) -> float:
        return float(self.price.detach()) / 2

    def _linked(self, graphs: Representation) -> LinkedStates:
        if graphs.links is None:
            raise InvalidArgument("an edge matching needs graphs that were encoded with their edges")
        return LinkedStates(self._states(graphs, 0), graphs.links.cpu().contiguous().numpy())

    def _measured(self, left: Representation, right: Representation) -> Tensor:
        return self.answer(left, right).distances

    def _differentiable(self, left: Representation, right: Representation) -> Tensor:
        """Distances whose values are the bounds, and whose gradients are those of the costs of the shares."""
        pairs = broadcast_pairs(left, right)
        sides, half_price = (self._linked(left), self._linked(right)), self._half_price
        n, m = (side.nodes.size[pairs[:, k]] for k, side in enumerate(sides))
        end = (n * m + n + m).cumsum()
        start = np.concatenate([[0], end[:-1]])
        total = int(end[-1]) if len(end) else 0
        slots, shares = np.empty((total, 2), dtype=np.int64), np.zeros(total)
        edges, bounds = np.zeros(len(pairs)), np.zeros(len(pairs))
        effort = TRAINING if self.training else ANSWERING

        def share(part: slice, work: RelaxationWork) -> None:
            share_pairs(
                *sides, pairs[part], half_price, effort, work, start[part], slots, shares, edges[part], bounds[part]
            )  # fmt: skip

        in_threads(share, len(pairs), EDGE_CHUNK, partial(_room, *sides))
        used = np.flatnonzero(shares > LEAST_SHARE)
        owner = np.searchsorted(end, used, side="right")
        costs = sum_costs((left.rows, right.rows), slots[used], owner, len(pairs), shares[used])
        found = costs + self.price.to(costs) * torch.from_numpy(edges).to(costs)
        found = found + (torch.from_numpy(bounds).to(costs) - found).detach()
        return found.reshape(broadcast_shape(left, right))


def _room(left: LinkedStates, right: LinkedStates) -> RelaxationWork:
    return allocate_relaxation(largest_graph(left.nodes, right.nodes))
