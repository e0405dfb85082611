"""Graph edit distances: exact, bounded, approximate; of a pair or of all pairs."""

from graphmetric.edit_distance.assignment_bounds import (
    BranchBound,
    Hausdorff,
    Hungarian,
    LocalSearch,
    PublishedHausdorff,
    VolgenantJonker,
)
from graphmetric.edit_distance.beam import BeamSearch, PublishedBeam
from graphmetric.edit_distance.collection_bounds import CollectionBounds, CountBounds
from graphmetric.edit_distance.common_subgraph import CommonSubgraph, common_subgraph_sizes, maximum_common_subgraph
from graphmetric.edit_distance.costs import EditCosts
from graphmetric.edit_distance.exact import ExactSearch
from graphmetric.edit_distance.label_store import Labels, label_graphs, read_labels
from graphmetric.edit_distance.method import EditDistanceMethod
from graphmetric.edit_distance.nearest import NearestSearch
from graphmetric.edit_distance.normalize import normalized_distance, raw_distance, steinhaus_distance
from graphmetric.edit_distance.pairwise import PairwiseDistances, pairwise_edit_distances
from graphmetric.edit_distance.result import EditDistance, EditPath
from graphmetric.edit_distance.single import graph_edit_distance

__all__ = [
    "BeamSearch",
    "BranchBound",
    "CollectionBounds",
    "CommonSubgraph",
    "CountBounds",
    "EditCosts",
    "EditDistance",
    "EditDistanceMethod",
    "EditPath",
    "ExactSearch",
    "Hausdorff",
    "Hungarian",
    "Labels",
    "LocalSearch",
    "NearestSearch",
    "PairwiseDistances",
    "PublishedBeam",
    "PublishedHausdorff",
    "VolgenantJonker",
    "common_subgraph_sizes",
    "graph_edit_distance",
    "label_graphs",
    "maximum_common_subgraph",
    "normalized_distance",
    "pairwise_edit_distances",
    "raw_distance",
    "read_labels",
    "steinhaus_distance",
]
