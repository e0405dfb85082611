"""Graph edit distances: exact, bounded, approximate; of a pair or of all pairs."""

from graphmetric.edit_distance.costs import EditCosts
from graphmetric.edit_distance.edit_path import EditPath
from graphmetric.edit_distance.exact import ExactSearch
from graphmetric.edit_distance.method import EditDistanceMethod
from graphmetric.edit_distance.normalize import normalized_distance, raw_distance, steinhaus_distance
from graphmetric.edit_distance.pairwise import PairwiseDistances, pairwise_edit_distances
from graphmetric.edit_distance.result import EditDistance
from graphmetric.edit_distance.single import graph_edit_distance

__all__ = [
    "EditCosts",
    "EditDistance",
    "EditDistanceMethod",
    "EditPath",
    "ExactSearch",
    "PairwiseDistances",
    "graph_edit_distance",
    "normalized_distance",
    "pairwise_edit_distances",
    "raw_distance",
    "steinhaus_distance",
]
