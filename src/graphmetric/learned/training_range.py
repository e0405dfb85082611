"""Range of sizes and densities of the training graphs, and graphs beyond it.

Accuracy is known for graphs like those of training. The range excludes the most extreme hundredth at either end, so
that a single large graph among thousands does not widen it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.features.featurizer import UNFAMILIAR
from graphmetric.graphs.collection import GraphCollection

NODES, MEAN_DEGREE = "usual_nodes", "usual_mean_degree"
"""Entries of a model's report on its training graphs: the range of 98 % of them."""
_ENDS = (0.01, 0.99)
_MARGIN = 1.1
"""Values up to this multiple of the greatest one count as familiar."""


def describe_range(graphs: GraphCollection) -> dict[str, list[float]]:
    """Return the ranges of numbers of nodes and of mean degrees, as plain data."""
    values = {NODES: graphs.sizes.astype(np.float64), MEAN_DEGREE: mean_degrees(graphs)}
    return {name: [round(float(end), 3) for end in np.quantile(of_each, _ENDS)] for name, of_each in values.items()}


def mean_degrees(graphs: GraphCollection) -> NDArray[np.float64]:
    """Divide twice the edges by the nodes of each graph; 0 for a graph without nodes."""
    return 2 * graphs.edge_counts / np.maximum(graphs.sizes, 1)


def describe_unfamiliar(graphs: GraphCollection, trained_on: Mapping[str, Any]) -> dict[str, str]:
    """Describe, by kind, graphs of which many are larger or denser than nearly all training graphs.

    Args:
        graphs: The graphs to compare distances of.
        trained_on: The part of the model's report about its training graphs. Reports of earlier versions have no
            ranges; nothing is unfamiliar to their models.
    """
    found = {}
    for name, kind, what, values in (
        (NODES, "larger", "nodes", graphs.sizes.astype(np.float64)),
        (MEAN_DEGREE, "denser", "edges at a node on average", mean_degrees(graphs)),
    ):
        if name not in trained_on or not len(graphs):
            continue
        greatest = float(trained_on[name][1])
        share = float((values > _MARGIN * greatest).mean())
        if share > UNFAMILIAR:
            found[kind] = (
                f"{share:.0%} of these graphs are {kind} than those the model was trained on: up to "
                f"{values.max():.4g} {what}, where {greatest:.4g} are usual. Its accuracy on such graphs is unknown: "
                "measure it by `graphmetric evaluate`, or train a model on them"
            )
    return found
