"""Groups of functions that are built alike: control-flow graphs, clustered by a learned distance with scikit-learn.

Run it: python examples/clustering.py
"""

# ruff: noqa: T201
from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN, AgglomerativeClustering

import graphmetric as gm


def main(count: int = 200, max_steps: int = 300, **options: Any) -> tuple[list[int], list[int]]:
    """Cluster functions of Python's library in two ways; returns the cluster of each, -1 where DBSCAN sees noise."""
    programs = gm.load_dataset("programs").graphs
    graphs = programs[np.linspace(0, len(programs) - 1, count).astype(int)]  # from all modules
    model = gm.GraphDistance("small", max_steps=max_steps, **options).fit(graphs)
    distances = model.pairwise(graphs)  # a metric, so every method that needs one may have it

    dense = DBSCAN(metric="precomputed", eps=1.5, min_samples=4).fit_predict(distances)
    tree = AgglomerativeClustering(n_clusters=5, metric="precomputed", linkage="average").fit_predict(distances)
    print("DBSCAN, up to 1.5 edits apart:", dict(sorted(Counter(dense.tolist()).items())))
    print("average linkage, 5 clusters, each with the function in its middle:")
    for cluster in range(5):
        members = np.flatnonzero(tree == cluster)
        among = distances[np.ix_(members, members)]
        middle = graphs[int(members[among.sum(axis=1).argmin()])]
        shape = f"{middle.num_nodes} blocks, {middle.num_edges} jumps"
        print(f"  {len(members):3}, up to {among.max():.1f} edits apart, like {middle.id} ({shape})")
    return dense.tolist(), tree.tolist()


if __name__ == "__main__":
    main()
