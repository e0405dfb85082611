"""What a label costs, before it is computed: the one place where pairs are converted into time.

The rule knows nothing of the machine or the clock, so that a budget stands for the same pairs everywhere and the same
seed gives the same model. Measured on one core: sparse random graphs of 6, 10, 12, 16, 25, 50, 100 and 200 nodes took
7, 45, 160, 1,300, 5,400, 16,000, 66,000 and 420,000 microseconds a pair, those of 600 nodes, which are not searched,
52,000. For these the rule is right within a factor of two; it is six times too high for the graphs of LINUX, which has
many copies, and may be twice too low for dense graphs of 12 nodes or more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance.exact import LARGEST_SEARCHED
from graphmetric.graphs.collection import GraphCollection


def estimate_seconds_per_pair(graphs: GraphCollection, most: float | None = None) -> float:
    """Mean CPU time of an exact search over all pairs of the graphs; no pair takes longer than ``most`` seconds.

    A pair costs what its smaller graph costs: the search has one level for each node of that.
    """
    order = np.argsort(graphs.sizes, kind="stable")
    seconds = np.minimum(_seconds_with_its_like(graphs), np.inf if most is None else most)[order]
    count = len(graphs)
    smaller_in = 2 * (count - np.arange(count)) - 1  # of the count * count ordered pairs
    return float(seconds @ smaller_in) / count**2


def _seconds_with_its_like(graphs: GraphCollection) -> NDArray[np.float64]:
    """Of each graph with one of the same size: exponential in the nodes until the limit of the search is reached."""
    nodes = graphs.sizes.astype(np.float64)
    degree = np.maximum(2 * graphs.edge_counts / np.maximum(nodes, 1), 2)  # dense graphs are harder
    to_the_end = 0.5 * 1.6 ** np.minimum(nodes, 50) * (degree / 2) ** 2
    to_the_limit = 7 * nodes**2 + 0.03 * nodes**3
    bounds_only = 0.15 * nodes**2
    searched = np.minimum(to_the_end, to_the_limit)
    return 1e-6 * np.maximum(np.where(nodes > LARGEST_SEARCHED, bounds_only, searched), 1)
