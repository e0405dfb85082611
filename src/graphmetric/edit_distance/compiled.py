"""What kernels of other folders may build on: packed graphs, cost tables, and the costs of incident edges.

The kernels of this folder are private to it.
"""

from graphmetric.edit_distance._kernels.lower_bounds import (
    Profiles,
    compare_incident_edges,
    profile_nodes,
    sum_hausdorff,
)
from graphmetric.edit_distance._kernels.packing import Integers, PackedProblem, fill_adjacency, integers

__all__ = [
    "Integers",
    "PackedProblem",
    "Profiles",
    "compare_incident_edges",
    "fill_adjacency",
    "integers",
    "profile_nodes",
    "sum_hausdorff",
]
