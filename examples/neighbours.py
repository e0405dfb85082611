"""The graphs most similar to a given one, what the exact edit distance says of them, and a classifier by neighbours.

Run it: python examples/neighbours.py
"""

# ruff: noqa: T201
from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

import graphmetric as gm


def main(count: int = 300, max_steps: int = 400, **options: Any) -> float:
    """Search and classify; returns the accuracy of telling molecules with a ring from those without."""
    graphs = gm.load_dataset("molecules").graphs[:count]
    train, test = np.arange(0, count - count // 5), np.arange(count - count // 5, count)
    model = gm.GraphDistance("small", max_steps=max_steps, **options).fit(graphs[train])  # the test graphs play no part

    query = graphs[test[0]]
    distances, positions = model.kneighbors([query], k=5)
    print("nearest to", query)
    for distance, position in zip(distances[0], positions[0], strict=True):
        exact = gm.graph_edit_distance(query, graphs[train[position]])
        print(f"  {distance:5.2f} learned, {exact.upper:2g} exact  {graphs[train[position]]}")

    ring = np.array([graph.num_edges >= graph.num_nodes for graph in graphs])
    classifier = KNeighborsClassifier(n_neighbors=5, metric="precomputed").fit(
        model.pairwise(graphs[train]), ring[train]
    )
    accuracy = float(classifier.score(model.pairwise(graphs[test], graphs[train]), ring[test]))
    print(f"has a ring? by 5 neighbours: {accuracy:.0%} right, always saying the same: {_majority(ring[test]):.0%}")
    return accuracy


def _majority(answers: np.ndarray) -> float:
    return float(max(answers.mean(), 1 - answers.mean()))


if __name__ == "__main__":
    main()
