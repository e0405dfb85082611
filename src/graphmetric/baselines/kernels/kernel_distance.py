r"""From a graph kernel to a distance.

A kernel is first normalised, then taken as the inner product that it is:

.. math::
    \hat k(G, H) = \frac{k(G, H)}{\sqrt{k(G, G)\, k(H, H)}}, \qquad
    d(G, H) = \sqrt{\hat k(G, G) + \hat k(H, H) - 2 \hat k(G, H)} = \sqrt{2 - 2 \hat k(G, H)}.

It is the distance of two points on a sphere, a pseudo-metric in [0, 2]. A graph without any feature, k(G, G) = 0, is
at distance 0 from its like and at :math:`\sqrt 2` from all others.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from graphmetric.baselines.method import Baseline, TrainingTask
from graphmetric.graphs.collection import GraphCollection

Floats = NDArray[np.float64]

_DECIMALS = 12
"""Of a normalised kernel; what is beyond is rounding noise."""


class KernelValues(NamedTuple):
    """A kernel between queries and a database, not normalised."""

    cross: Floats
    """(queries, database)."""
    queries: Floats
    """k(G, G) of each query."""
    database: Floats
    """k(H, H) of each graph of the database."""


class GraphKernel(Baseline):
    """A kernel as a distance of which the order counts. See :class:`~graphmetric.baselines.calibration.Calibrated`."""

    scale = "rank"

    def fit(self, task: TrainingTask) -> Self:
        return self

    def predict(self, queries: GraphCollection, database: GraphCollection) -> Floats:
        return kernel_distances(self.evaluate(queries, database))

    @abstractmethod
    def evaluate(self, queries: GraphCollection, database: GraphCollection) -> KernelValues:
        """The kernel of all pairs."""


def kernel_distances(values: KernelValues) -> Floats:
    """The distances of the normalised kernel."""
    product = np.sqrt(values.queries[:, None] * values.database[None, :])
    neither = (values.queries[:, None] == 0) & (values.database[None, :] == 0)
    normalized = np.divide(values.cross, product, out=neither.astype(np.float64), where=product > 0)
    # A root turns noise of 1e-16 into distances of 1e-8: without rounding, copies of a graph would not tie.
    distances: Floats = np.sqrt(np.maximum(2 - 2 * normalized.round(_DECIMALS), 0))
    return distances


def inner_products(features: Any, num_queries: int) -> KernelValues:
    """The linear kernel of feature rows, dense or sparse: those of the queries, then those of the database."""
    left, right = features[:num_queries], features[num_queries:]
    cross = left @ right.T
    return KernelValues(_dense(cross), _dense((left * left).sum(axis=1)), _dense((right * right).sum(axis=1)))


def _dense(values: Any) -> Floats:
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)
