"""graphmetric: learn and compute distances between graphs.

Names are imported when first used, so ``import graphmetric`` is quick and needs none of the extras.
"""

from __future__ import annotations

import logging
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphmetric.edit_distance import (
        EditCosts,
        EditDistance,
        ExactSearch,
        PairwiseDistances,
        graph_edit_distance,
        normalized_distance,
        pairwise_edit_distances,
        raw_distance,
        steinhaus_distance,
    )
    from graphmetric.graphs.canonical import isomorphism_classes
    from graphmetric.graphs.collection import GraphCollection
    from graphmetric.graphs.conversion import as_graph, as_graphs
    from graphmetric.graphs.datasets import Dataset, load_dataset
    from graphmetric.graphs.edits import apply_edits
    from graphmetric.graphs.files import read_graphs, write_graphs
    from graphmetric.graphs.graph import Graph
    from graphmetric.graphs.mutation import mutate

_HOMES = {
    "Dataset": "graphs.datasets",
    "EditCosts": "edit_distance",
    "EditDistance": "edit_distance",
    "ExactSearch": "edit_distance",
    "Graph": "graphs.graph",
    "GraphCollection": "graphs.collection",
    "PairwiseDistances": "edit_distance",
    "apply_edits": "graphs.edits",
    "as_graph": "graphs.conversion",
    "as_graphs": "graphs.conversion",
    "graph_edit_distance": "edit_distance",
    "isomorphism_classes": "graphs.canonical",
    "load_dataset": "graphs.datasets",
    "mutate": "graphs.mutation",
    "normalized_distance": "edit_distance",
    "pairwise_edit_distances": "edit_distance",
    "raw_distance": "edit_distance",
    "read_graphs": "graphs.files",
    "steinhaus_distance": "edit_distance",
    "write_graphs": "graphs.files",
}

__all__ = [
    "Dataset",
    "EditCosts",
    "EditDistance",
    "ExactSearch",
    "Graph",
    "GraphCollection",
    "PairwiseDistances",
    "apply_edits",
    "as_graph",
    "as_graphs",
    "graph_edit_distance",
    "isomorphism_classes",
    "load_dataset",
    "mutate",
    "normalized_distance",
    "pairwise_edit_distances",
    "raw_distance",
    "read_graphs",
    "steinhaus_distance",
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
