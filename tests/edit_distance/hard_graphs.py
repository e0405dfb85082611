"""Graphs whose distances take long."""

from __future__ import annotations

import numpy as np

from graphmetric import Graph


def sparse(nodes: int, seed: int, labels: int = 4) -> Graph:
    """A random tree with half as many edges more, which is hard to compare with its like from 30 nodes on."""
    rng = np.random.default_rng(seed)
    edges = {(int(rng.integers(v)), v) for v in range(1, nodes)}
    edges |= {(int(min(a, b)), int(max(a, b))) for a, b in rng.integers(nodes, size=(nodes // 2, 2)) if a != b}
    return Graph(nodes, sorted(edges), node_labels=rng.integers(labels, size=nodes).tolist())
