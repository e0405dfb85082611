"""Graph edit distances, exact or bounded, of one pair or of many."""

from graphmetric.edit_distance.collection_bounds import CollectionBounds, StoredBounds
from graphmetric.edit_distance.common_subgraph import (
    CommonEdgeSubgraph,
    CommonSubgraph,
    common_subgraph_sizes,
    maximum_common_subgraph,
    mces_costs,
    mces_distance,
)
from graphmetric.edit_distance.costs import EditCosts
from graphmetric.edit_distance.dual import (
    DualBound,
    QuickInterval,
    RefinedMap,
    RelaxedDistance,
    RelaxedEditDistance,
    relaxed_edit_distance,
)
from graphmetric.edit_distance.edit_path import EditCounts, EditPath
from graphmetric.edit_distance.label_store import StoredLabels, label_graphs, open_labels, read_labels
from graphmetric.edit_distance.method import EditDistanceMethod, method_names
from graphmetric.edit_distance.methods import BeamSearch, BranchBound, ExactSearch, Hausdorff, LocalSearch
from graphmetric.edit_distance.nearest import NearestSearch
from graphmetric.edit_distance.normalize import normalized_distance, raw_distance, steinhaus_distance
from graphmetric.edit_distance.pairwise import PairwiseDistances, pairwise_edit_distances
from graphmetric.edit_distance.single import EditDistance, graph_edit_distance

__all__ = [
    "BeamSearch",
    "BranchBound",
    "CollectionBounds",
    "CommonEdgeSubgraph",
    "CommonSubgraph",
    "DualBound",
    "EditCosts",
    "EditCounts",
    "EditDistance",
    "EditDistanceMethod",
    "EditPath",
    "ExactSearch",
    "Hausdorff",
    "LocalSearch",
    "NearestSearch",
    "PairwiseDistances",
    "QuickInterval",
    "RefinedMap",
    "RelaxedDistance",
    "RelaxedEditDistance",
    "StoredBounds",
    "StoredLabels",
    "common_subgraph_sizes",
    "graph_edit_distance",
    "label_graphs",
    "maximum_common_subgraph",
    "mces_costs",
    "mces_distance",
    "method_names",
    "normalized_distance",
    "open_labels",
    "pairwise_edit_distances",
    "raw_distance",
    "read_labels",
    "relaxed_edit_distance",
    "steinhaus_distance",
]
