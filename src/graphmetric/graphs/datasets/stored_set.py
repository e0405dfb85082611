"""What the files of a data set say, in whatever layout they are."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import Has
from graphmetric.graphs.datasets.known_distances import KnownDistances


@dataclass(frozen=True)
class StoredSet:
    """The contents of files, before they are split and before edge labels are left out."""

    graphs: GraphCollection
    """With edge labels where the files have them."""
    known: KnownDistances | None
    """None where the files hold no distances."""
    distance_kind: str
    """A sentence on what the distances are, or why there are none."""
    test: NDArray[np.int64] | None = None
    """The benchmark's own test part, when it has one."""
    classes: NDArray[np.int64] | None = None


def without_edge_labels(graphs: GraphCollection) -> GraphCollection:
    """The same graphs, sharing all arrays but the edge labels."""
    columns = graphs.columns
    flags = columns.flags & np.uint8(~Has.EDGE_LABELS & 0xFF)
    return GraphCollection._of(replace(columns, edge_labels=None, flags=flags))
