"""Relaxed edit distances of graphs whose nodes and edges have states: what a learned distance is solved by.

The programme is that of :class:`~graphmetric.edit_distance.RelaxedDistance`. With costs that are distances of states,
the state of nothing being 0, its value is a pseudo-metric for the same reason: couplings compose, and the costs keep
the triangle inequality.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance._kernels.coupling import (
    CoupledGraphs,
    CouplingWork,
    Effort,
    LabelPrices,
    Masses,
    align_pair,
    allocate_coupling_work,
    couple_pairs,
    couple_with_masses,
)
from graphmetric.edit_distance._kernels.dual_pair import DualSize

__all__ = ["CoupledGraphs", "CouplingSolver", "Effort", "LabelPrices", "SparseCoupling"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class SparseCoupling(NamedTuple):
    """What goes where, of many pairs: a row of the states of each side, or -1 for nothing, and a mass."""

    slots: Integers
    """(masses, 2)."""
    owner: Integers
    """(masses): the pair that each belongs to."""
    mass: Floats


class CouplingSolver:
    """Solves pairs of two collections of graphs, one after another; each thread needs a solver of its own."""

    def __init__(self, left: CoupledGraphs, right: CoupledGraphs, prices: LabelPrices) -> None:
        self.left, self.right, self.prices = left, right, prices
        nodes = int(max(left.size.max(initial=0), right.size.max(initial=0)))
        edges = int(max(left.edge_size.max(initial=0), right.edge_size.max(initial=0)))
        width = max(left.states.shape[1], left.edge_states.shape[2])
        self._work: CouplingWork = allocate_coupling_work(DualSize(nodes, nodes, edges, edges), width)

    def answer(self, pairs: Integers, effort: Effort) -> tuple[Floats, Floats]:
        """Lower bounds of the pairs' distances, and how far they may be off where the steps did not suffice."""
        lower, left_open = np.zeros((2, len(pairs)))
        couple_pairs(self.left, self.right, pairs, self.prices, effort, self._work, lower, left_open)
        return lower, left_open

    def couple(self, pairs: Integers, effort: Effort) -> tuple[Floats, Floats, SparseCoupling, SparseCoupling]:
        """Lower bounds, how many labels of nodes and of edges change (pairs, 2), and what nodes and edges become."""
        n, m = self.left.size[pairs[:, 0]], self.right.size[pairs[:, 1]]
        e, f = self.left.edge_size[pairs[:, 0]], self.right.edge_size[pairs[:, 1]]
        most = int((n * m + n + m).sum()), int((2 * e * f + e + f).sum())
        lower, changes, ends = np.zeros(len(pairs)), np.zeros((len(pairs), 2)), np.zeros((len(pairs), 2), np.int64)
        (nodes, node_mass), (edges, edge_mass) = ((np.empty((k, 2), np.int64), np.empty(k)) for k in most)
        masses = Masses(nodes, node_mass, edges, edge_mass, ends, changes)
        couple_with_masses(self.left, self.right, pairs, self.prices, effort, self._work, lower, masses)
        last = ends[-1] if len(pairs) else np.zeros(2, np.int64)
        of_nodes, of_edges = (
            SparseCoupling(slots[:end].copy(), np.repeat(np.arange(len(pairs)), counts), mass[:end].copy())
            for slots, mass, end, counts in zip(
                (nodes, edges), (node_mass, edge_mass), last, np.diff(ends, axis=0, prepend=0).T, strict=True
            )
        )
        return lower, changes, of_nodes, of_edges

    def align(self, pair: Integers, effort: Effort) -> Integers:
        """The partner in the second graph of each node of the first, or -1."""
        partner = np.empty(int(self.left.size[pair[0]]), dtype=np.int64)
        align_pair(self.left, self.right, pair, self.prices, effort, self._work, partner)
        return partner
