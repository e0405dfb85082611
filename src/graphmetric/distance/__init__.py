"""Eq. 9-11: distances of represented graphs, the losses that train them, and matrices of them."""

from graphmetric.distance.block_norm import BlockNorm
from graphmetric.distance.comparison import Comparison, View, axioms_of_view, strict_distances, view_distances
from graphmetric.distance.concave_head import ConcaveHead
from graphmetric.distance.edge_matching import EdgeMatching
from graphmetric.distance.mask import mask_weights
from graphmetric.distance.masked_loss import interval_loss, masked_loss, weigh_near_pairs
from graphmetric.distance.matching import Matching
from graphmetric.distance.matrix import distance_matrix, pair_distances, write_distance_matrix
from graphmetric.distance.pair_distance import METRIC, Axiom, PairDistance, SquaredFC
from graphmetric.distance.representation import Encoded, Representation

__all__ = [
    "METRIC",
    "Axiom",
    "BlockNorm",
    "Comparison",
    "ConcaveHead",
    "EdgeMatching",
    "Encoded",
    "Matching",
    "PairDistance",
    "Representation",
    "SquaredFC",
    "View",
    "axioms_of_view",
    "distance_matrix",
    "interval_loss",
    "mask_weights",
    "masked_loss",
    "pair_distances",
    "strict_distances",
    "view_distances",
    "weigh_near_pairs",
    "write_distance_matrix",
]
