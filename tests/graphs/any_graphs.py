"""Graphs that try the patience of conversions."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from graphmetric.graphs.graph import Graph
from tests.strategies import graphs, json_values

_TAKEN_NAMES = ["y", "name", "id", "metadata", "empty_columns", "node_names", "label", "directed"]

_ODD_SHAPES = [
    Graph(0, node_features=np.empty((0, 3))),
    Graph(2, node_features=np.empty((2, 0))),
    Graph(0, node_images=np.empty((0, 2, 3, 1), dtype=np.uint8)),
    Graph(2, [(0, 1)], node_images=np.arange(12, dtype=np.float32).reshape(2, 2, 3)),
]


def any_graphs() -> st.SearchStrategy[Graph]:
    """Every combination of columns, and metadata under names that conversions use themselves."""
    facts = st.dictionaries(st.sampled_from(_TAKEN_NAMES), json_values, max_size=3)
    return graphs(metadata=facts) | st.sampled_from(_ODD_SHAPES)
