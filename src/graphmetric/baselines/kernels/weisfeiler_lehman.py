"""The Weisfeiler-Lehman subtree kernel."""

from __future__ import annotations

from dataclasses import dataclass

from graphmetric.baselines.kernels.colours import count_colours
from graphmetric.baselines.kernels.kernel_distance import GraphKernel, KernelValues, inner_products
from graphmetric.graphs.collection import GraphCollection


@dataclass(eq=False)
class WeisfeilerLehmanSubtree(GraphKernel):
    """Shervashidze et al. (2011): the inner product of the counts of colours of all rounds."""

    rounds: int = 3
    """Of refinement, beyond the tags themselves."""

    name = "wl-subtree"

    def evaluate(self, queries: GraphCollection, database: GraphCollection) -> KernelValues:
        return inner_products(count_colours(queries + database, self.rounds).counts, len(queries))
