"""Groups of similar graphs: a learned distance matrix handed to scikit-learn's clustering.

Run it: python examples/clustering.py
"""

# ruff: noqa: T201
from __future__ import annotations

from collections import Counter
from typing import Any

from sklearn.cluster import DBSCAN, AgglomerativeClustering

import graphmetric as gm


def main(count: int = 200, **options: Any) -> tuple[list[int], list[int]]:
    """Cluster some molecules in two ways; returns the cluster of each, -1 where DBSCAN sees noise."""
    graphs = gm.load_dataset("molecules").graphs[:count]
    model = gm.GraphDistance("small", **options).fit(graphs)
    distances = model.pairwise(graphs)  # a metric, so every method that needs one may have it

    dense = DBSCAN(metric="precomputed", eps=4.0, min_samples=4).fit_predict(distances)
    tree = AgglomerativeClustering(n_clusters=5, metric="precomputed", linkage="average").fit_predict(distances)
    print("DBSCAN, edits up to 4 apart:", dict(sorted(Counter(dense.tolist()).items())))
    print("average linkage, 5 clusters:", dict(sorted(Counter(tree.tolist()).items())))
    return dense.tolist(), tree.tolist()


if __name__ == "__main__":
    main()
