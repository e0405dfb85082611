r"""The Wasserstein Weisfeiler-Lehman kernel, exactly and without solving a transport problem.

Togninalli et al. (2019) compare two graphs by the cheapest transport between their nodes, each node of G with mass
1/\|G\|. For tagged graphs a node is the list of its colours c_0 .. c_h, and moving mass from one to another costs the
share of rounds in which they differ. Colours are nested: nodes that differ in one round differ in all later ones. So
this cost is the length of a path in a tree whose nodes at depth r are the colours of round r, and transport in a tree
has a closed form: each edge carries the difference of the masses below it,

.. math:: W(G, H) = \frac{1}{2 (h + 1)} \sum_{r=0}^{h} \lVert p_r(G) - p_r(H) \rVert_1,

with p_r(G) the shares of colours in round r. An L1 distance, so that :math:`e^{-\lambda W}` is positive definite.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from graphmetric.baselines.kernels.colours import count_colours
from graphmetric.baselines.kernels.kernel_distance import GraphKernel, KernelValues
from graphmetric.graphs.collection import GraphCollection

_BLOCK = 2_000
"""Colours compared at a time, since their shares are dense rows meanwhile."""


@dataclass(eq=False)
class WassersteinWeisfeilerLehman(GraphKernel):
    r"""The kernel :math:`e^{-\lambda W}` of tagged or plain graphs; the version for real vectors is not here."""

    rounds: int = 3
    """h, rounds of refinement."""
    decay: float = 1.0
    """The factor lambda; rankings do not depend on it."""

    name = "wwl"

    def evaluate(self, queries: GraphCollection, database: GraphCollection) -> KernelValues:
        cross = np.exp(-self.decay * wasserstein_distances(queries, database, self.rounds))
        return KernelValues(cross, np.ones(len(queries)), np.ones(len(database)))


def wasserstein_distances(queries: GraphCollection, database: GraphCollection, rounds: int) -> NDArray[np.float64]:
    """W for all pairs, in [0, 1]; the empty graph, which has no mass to move, is at distance 1 from all others."""
    graphs = queries + database
    counts = count_colours(graphs, rounds).counts.tocsc()
    sizes = graphs.sizes[:, None]
    total = cdist(*_halves(sizes == 0, len(queries)), "cityblock") * (rounds + 1)
    for start in range(0, counts.shape[1], _BLOCK):
        shares = counts[:, start : start + _BLOCK].toarray() / np.maximum(sizes, 1)
        total += cdist(*_halves(shares, len(queries)), "cityblock")
    return total / (2 * (rounds + 1))


def _halves(rows: NDArray[np.generic], first: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return rows[:first].astype(np.float64), rows[first:].astype(np.float64)
