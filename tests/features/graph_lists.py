"""Random graphs for features: all columns by chance, numbers of a size that single precision can hold."""

from __future__ import annotations

from hypothesis import strategies as st

from tests.strategies import graph_lists, graphs, words

tags = st.sampled_from(["C", "N", 1, None, ("a", 2)])
any_graph = graphs(node_labels=tags, edge_labels=tags, node_texts=words, ids=None, metadata=None, max_nodes=7)
any_graphs = graph_lists(
    node_labels=tags, edge_labels=tags, node_texts=words, ids=None, metadata=None, min_size=1, max_size=4
)
