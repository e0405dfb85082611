"""The molecules of the tour, and which of them a model may see."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance import Labels
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.datasets import load_dataset


@dataclass(frozen=True, slots=True, eq=False)
class Material:
    """Graphs of which no two are isomorphic, so that an unseen graph has not been seen as a copy either."""

    graphs: GraphCollection
    """Training, validation and unseen graphs, in this order."""
    training: int
    """How many there are of the first, and so on."""
    validation: int
    copies: int
    """Graphs of the data set that were left out."""

    @property
    def seen(self) -> NDArray[np.int64]:
        """Positions of the training and validation graphs."""
        return np.arange(self.training + self.validation)

    @property
    def validating(self) -> NDArray[np.int64]:
        """Positions of the graphs that only choose the weights."""
        return self.seen[self.training :]

    @property
    def unseen(self) -> NDArray[np.int64]:
        return np.arange(self.training + self.validation, len(self.graphs))


def gather_material(count: int | None = None) -> Material:
    """The embedded molecules, or about so many of them, the first of each part."""
    whole = load_dataset("molecules")
    data = whole.leak_free()
    share = 1.0 if count is None else min(1.0, count / len(data.graphs))
    parts = [part[: max(2, round(share * len(part)))] for part in data.split]
    return Material(
        data.graphs[np.concatenate(parts)], len(parts[0]), len(parts[1]), len(whole.graphs) - len(data.graphs)
    )


def square_matrix(labels: Labels, chosen: NDArray[np.int64]) -> NDArray[np.float64]:
    """The distances among some graphs, all of which are labelled, given by ascending positions."""
    among = labels.among(chosen)
    matrix = np.zeros((len(chosen), len(chosen)))
    rows, columns = among.pairs.T
    matrix[rows, columns] = matrix[columns, rows] = among.upper
    return matrix
