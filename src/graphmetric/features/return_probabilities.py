"""Random-walk return probabilities: an input beyond the paper that tells nodes apart which Eq. 1-3 confuse."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphmetric.features._kernels.arcs import Arcs
from graphmetric.features._kernels.walks import find_return_probabilities
from graphmetric.graphs.columns import Columns


def return_probabilities(columns: Columns, arcs: Arcs, weights: NDArray[np.float64], steps: int) -> NDArray[np.float32]:
    """(nodes, steps): chances to be back after 1 .. steps; edges by |weight|, arcs in their direction."""
    found: NDArray[np.float32] = find_return_probabilities(columns.node_ptr, arcs, np.abs(weights), steps)
    return found
