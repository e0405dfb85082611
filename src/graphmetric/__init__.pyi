"""The public names of graphmetric and the modules they live in, for type checkers and for ``__init__.py``."""

from graphmetric.datasets import Dataset as Dataset
from graphmetric.datasets import load_dataset as load_dataset
from graphmetric.edit_distance import BeamSearch as BeamSearch
from graphmetric.edit_distance import BranchBound as BranchBound
from graphmetric.edit_distance import CommonEdgeSubgraph as CommonEdgeSubgraph
from graphmetric.edit_distance import CommonSubgraph as CommonSubgraph
from graphmetric.edit_distance import DualBound as DualBound
from graphmetric.edit_distance import EditCosts as EditCosts
from graphmetric.edit_distance import EditDistance as EditDistance
from graphmetric.edit_distance import ExactSearch as ExactSearch
from graphmetric.edit_distance import Hausdorff as Hausdorff
from graphmetric.edit_distance import LocalSearch as LocalSearch
from graphmetric.edit_distance import PairwiseDistances as PairwiseDistances
from graphmetric.edit_distance import QuickInterval as QuickInterval
from graphmetric.edit_distance import RefinedMap as RefinedMap
from graphmetric.edit_distance import RelaxedDistance as RelaxedDistance
from graphmetric.edit_distance import RelaxedEditDistance as RelaxedEditDistance
from graphmetric.edit_distance import StoredLabels as StoredLabels
from graphmetric.edit_distance import common_subgraph_sizes as common_subgraph_sizes
from graphmetric.edit_distance import graph_edit_distance as graph_edit_distance
from graphmetric.edit_distance import label_graphs as label_graphs
from graphmetric.edit_distance import maximum_common_subgraph as maximum_common_subgraph
from graphmetric.edit_distance import mces_costs as mces_costs
from graphmetric.edit_distance import mces_distance as mces_distance
from graphmetric.edit_distance import normalized_distance as normalized_distance
from graphmetric.edit_distance import open_labels as open_labels
from graphmetric.edit_distance import pairwise_edit_distances as pairwise_edit_distances
from graphmetric.edit_distance import raw_distance as raw_distance
from graphmetric.edit_distance import read_labels as read_labels
from graphmetric.edit_distance import relaxed_edit_distance as relaxed_edit_distance
from graphmetric.edit_distance import steinhaus_distance as steinhaus_distance
from graphmetric.estimator import DistanceTransformer as DistanceTransformer
from graphmetric.estimator import GraphDistance as GraphDistance
from graphmetric.formats import read_graphs as read_graphs
from graphmetric.formats import write_graphs as write_graphs
from graphmetric.formats.conversion import as_graph as as_graph
from graphmetric.formats.conversion import as_graphs as as_graphs
from graphmetric.graphs.collection import GraphCollection as GraphCollection
from graphmetric.graphs.collection import isomorphism_classes as isomorphism_classes
from graphmetric.graphs.edits import apply_edits as apply_edits
from graphmetric.graphs.edits import mutate as mutate
from graphmetric.graphs.graph import Graph as Graph
from graphmetric.metric_repair import RepairResult as RepairResult
from graphmetric.metric_repair import repair_row as repair_row
from graphmetric.metric_repair import shortest_path_closure as shortest_path_closure
from graphmetric.metric_repair import triangle_violations as triangle_violations
from graphmetric.metric_repair.triangle_fixing import triangle_fixing as triangle_fixing
from graphmetric.notebook.widget import explore as explore
from graphmetric.remote.client import connect as connect
from graphmetric.search import GraphIndex as GraphIndex
from graphmetric.search import SearchHit as SearchHit
from graphmetric.search.collection_map import plot_map as plot_map

__all__: list[str]
__version__: str
