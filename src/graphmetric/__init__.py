"""graphmetric: learn and compute distances between graphs.

Names are imported when first used, so ``import graphmetric`` is quick and needs none of the extras.
"""

from __future__ import annotations

import logging
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphmetric.datasets import Dataset, load_dataset
    from graphmetric.edit_distance import (
        BeamSearch,
        BranchBound,
        CommonSubgraph,
        EditCosts,
        EditDistance,
        ExactSearch,
        Hausdorff,
        Hungarian,
        LocalSearch,
        PairwiseDistances,
        VolgenantJonker,
        common_subgraph_sizes,
        graph_edit_distance,
        label_graphs,
        maximum_common_subgraph,
        normalized_distance,
        pairwise_edit_distances,
        raw_distance,
        read_labels,
        steinhaus_distance,
    )
    from graphmetric.estimator import DistanceTransformer, GraphDistance
    from graphmetric.formats import read_graphs, write_graphs
    from graphmetric.formats.conversion import as_graph, as_graphs
    from graphmetric.graphs.canonical import isomorphism_classes
    from graphmetric.graphs.collection import GraphCollection
    from graphmetric.graphs.edits import apply_edits
    from graphmetric.graphs.graph import Graph
    from graphmetric.graphs.mutation import mutate
    from graphmetric.metric_repair import (
        RepairResult,
        repair_row,
        shortest_path_closure,
        triangle_fixing,
        triangle_violations,
    )
    from graphmetric.search import GraphIndex, SearchHit

_HOMES = {
    "BeamSearch": "edit_distance",
    "BranchBound": "edit_distance",
    "CommonSubgraph": "edit_distance",
    "Dataset": "datasets",
    "DistanceTransformer": "estimator",
    "EditCosts": "edit_distance",
    "EditDistance": "edit_distance",
    "ExactSearch": "edit_distance",
    "Graph": "graphs.graph",
    "GraphCollection": "graphs.collection",
    "GraphDistance": "estimator",
    "GraphIndex": "search",
    "Hausdorff": "edit_distance",
    "Hungarian": "edit_distance",
    "LocalSearch": "edit_distance",
    "PairwiseDistances": "edit_distance",
    "RepairResult": "metric_repair",
    "SearchHit": "search",
    "VolgenantJonker": "edit_distance",
    "apply_edits": "graphs.edits",
    "as_graph": "formats.conversion",
    "as_graphs": "formats.conversion",
    "common_subgraph_sizes": "edit_distance",
    "graph_edit_distance": "edit_distance",
    "isomorphism_classes": "graphs.canonical",
    "label_graphs": "edit_distance",
    "load_dataset": "datasets",
    "maximum_common_subgraph": "edit_distance",
    "mutate": "graphs.mutation",
    "normalized_distance": "edit_distance",
    "pairwise_edit_distances": "edit_distance",
    "raw_distance": "edit_distance",
    "read_graphs": "formats",
    "read_labels": "edit_distance",
    "repair_row": "metric_repair",
    "shortest_path_closure": "metric_repair",
    "steinhaus_distance": "edit_distance",
    "triangle_fixing": "metric_repair",
    "triangle_violations": "metric_repair",
    "write_graphs": "formats",
}

__all__ = [
    "BeamSearch",
    "BranchBound",
    "CommonSubgraph",
    "Dataset",
    "DistanceTransformer",
    "EditCosts",
    "EditDistance",
    "ExactSearch",
    "Graph",
    "GraphCollection",
    "GraphDistance",
    "GraphIndex",
    "Hausdorff",
    "Hungarian",
    "LocalSearch",
    "PairwiseDistances",
    "RepairResult",
    "SearchHit",
    "VolgenantJonker",
    "apply_edits",
    "as_graph",
    "as_graphs",
    "common_subgraph_sizes",
    "graph_edit_distance",
    "isomorphism_classes",
    "label_graphs",
    "load_dataset",
    "maximum_common_subgraph",
    "mutate",
    "normalized_distance",
    "pairwise_edit_distances",
    "raw_distance",
    "read_graphs",
    "read_labels",
    "repair_row",
    "shortest_path_closure",
    "steinhaus_distance",
    "triangle_fixing",
    "triangle_violations",
    "write_graphs",
]

__version__ = version("graphmetric")

logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has: {', '.join(__all__)}")
    value = getattr(import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
