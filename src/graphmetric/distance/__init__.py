"""Eq. 9-11: distances between represented graphs, the losses that train them, and matrices of them."""

from graphmetric.errors import needs_extra

with needs_extra("learn", "a distance of encoded graphs"):
    from graphmetric.distance.comparison import Comparison, view_distances
    from graphmetric.distance.declared import check_declarations
    from graphmetric.distance.masked_loss import interval_loss, mask_weights, proximity_weights
    from graphmetric.distance.matching import Matching
    from graphmetric.distance.matrix import distance_matrix, pair_distances, write_distance_matrix
    from graphmetric.distance.pair_distance import (
        HEADS,
        METRIC,
        Axiom,
        BlockNorm,
        ConcaveHead,
        DistanceHead,
        HeadOptions,
        SquaredFC,
    )
    from graphmetric.distance.representation import Representation
    from graphmetric.edit_distance.normalize import View

__all__ = [
    "HEADS",
    "METRIC",
    "Axiom",
    "BlockNorm",
    "Comparison",
    "ConcaveHead",
    "DistanceHead",
    "HeadOptions",
    "Matching",
    "Representation",
    "SquaredFC",
    "View",
    "check_declarations",
    "distance_matrix",
    "interval_loss",
    "mask_weights",
    "pair_distances",
    "proximity_weights",
    "view_distances",
    "write_distance_matrix",
]
