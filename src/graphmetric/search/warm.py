"""Compile ahead what learned and certified searches need, so that no query waits for it.

A service is ready when it is warm; after an installation the first query would otherwise wait most of a minute.
"""

from __future__ import annotations

import networkx as nx

from graphmetric.compiling import clock
from graphmetric.edit_distance import graph_edit_distance, pairwise_edit_distances
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.search.certified import LARGEST_EASY
from graphmetric.search.graph_index import GraphIndex
from graphmetric.search.stored_model import StoredModel

SMALL, LARGE = LARGEST_EASY - 4, LARGEST_EASY + 4
"""Nodes of graphs on either side of where the certified search takes another path."""


def warm(model: str = "unlabelled") -> float:
    """Run every kind of search once on graphs that are quickly searched; gives the seconds it took without compiling.

    Compiled code is kept on disk (see :mod:`graphmetric.compiling`), so this is of use once after an installation.
    """
    started = clock()
    graphs = _graphs()
    index = GraphIndex.build(StoredModel.load(model, 1), graphs)
    for query in (graphs[0], graphs[-1]):
        index.search(query, k=3)
        index.search(query, k=3, certified=True, time_limit=5)
        index.range(query, 2.0)
    pairwise_edit_distances(graphs[:4], n_jobs=1)
    graph_edit_distance(graphs[0], graphs[1], time_limit=5)
    return clock() - started


def _graphs() -> GraphCollection:
    """Trees of a few shapes in both sizes, none isomorphic to another."""
    drawn = [nx.random_labeled_tree(nodes, seed=seed) for nodes in (SMALL, LARGE) for seed in range(8)]
    return GraphCollection([Graph(tree.number_of_nodes(), list(tree.edges)) for tree in drawn])
