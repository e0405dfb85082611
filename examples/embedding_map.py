"""A map of a collection: t-SNE of the learned distances, drawn into an SVG file.

Run it: python examples/embedding_map.py molecules.svg
UMAP takes the same matrix: umap.UMAP(metric="precomputed").fit_transform(distances).
"""

# ruff: noqa: T201
from __future__ import annotations

import sys
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.manifold import TSNE

import graphmetric as gm


def main(path: str = "molecules.svg", count: int = 300, max_steps: int = 400, **options: Any) -> np.ndarray:
    """Draw the map; returns the place of each graph, (count, 2)."""
    graphs = gm.load_dataset("molecules").graphs[:count]
    model = gm.GraphDistance("small", max_steps=max_steps, **options).fit(graphs)
    distances = model.pairwise(graphs, view="steinhaus")  # in [0, 1], whatever the sizes of the graphs
    places = TSNE(metric="precomputed", init="random", random_state=0).fit_transform(distances)

    axes = Figure(figsize=(6, 5)).add_subplot()
    dots = axes.scatter(*places.T, c=graphs.sizes, s=14)
    axes.figure.colorbar(dots, label="nodes")
    axes.set(xticks=[], yticks=[], title=f"{count} molecules by learned edit distance")
    axes.figure.savefig(path)
    print("drawn into", path)
    return np.asarray(places)


if __name__ == "__main__":
    main(*sys.argv[1:2])
