"""Tasks for baselines that need no more than graphs and a few labels."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric_research.baselines import TrainingTask
from tests.strategies import graphs

NO_LABELS = PairBounds.from_distances(np.empty((0, 2), dtype=np.int64), [])

_PLAIN = {"edge_labels": None, "node_texts": None, "ids": None, "metadata": None}
_PLAIN |= dict.fromkeys(("edge_weights", "node_features", "node_images", "direction", "loops"), False)


def tagged_graphs(min_nodes: int = 1, max_nodes: int = 6) -> st.SearchStrategy[Graph]:
    """Undirected graphs with tags a and b."""
    tags = st.sampled_from("ab")
    return graphs(node_labels=tags, always=True, min_nodes=min_nodes, max_nodes=max_nodes, **_PLAIN)


def plain(graph: Graph) -> tuple[list[object], list[tuple[int, int]]]:
    """As the naive twins take it."""
    return list(graph.node_labels or [None] * graph.num_nodes), [(int(u), int(v)) for u, v in graph.edges]


def unlabelled_task(graphs: Iterable[Graph], seed: int = 0) -> TrainingTask:
    return TrainingTask(GraphCollection(graphs), NO_LABELS, NO_LABELS, seed=seed)


def labelled_task(graphs: Iterable[Graph], pairs: ArrayLike, distances: ArrayLike) -> TrainingTask:
    return TrainingTask(GraphCollection(graphs), PairBounds.from_distances(pairs, distances), NO_LABELS)
