"""The combinatorial rows of the paper's table: approximate edit distances of the engine, without any learning.

Each is the variant that produced the public distances of AIDS700nef. All but HED depend on the order of the nodes, and
on the direction: as there, distances are computed from the query to the database.
"""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from graphmetric.baselines.method import Baseline, TrainingTask
from graphmetric.baselines.published import Hungarian, PublishedBeam, PublishedHausdorff, VolgenantJonker
from graphmetric.edit_distance.method import EditDistanceMethod
from graphmetric.edit_distance.pairwise import pairwise_edit_distances
from graphmetric.graphs.collection import GraphCollection


class EditDistanceBaseline(Baseline):
    """An approximate edit distance with unit costs."""

    scale = "raw"
    _threads = 1

    def __init__(self, name: str, method: EditDistanceMethod) -> None:
        self.name, self.method = name, method

    def fit(self, task: TrainingTask) -> Self:
        """Take the number of threads; nothing is learned."""
        self._threads = task.threads
        return self

    def predict(self, queries: GraphCollection, database: GraphCollection) -> NDArray[np.float64]:
        return pairwise_edit_distances(queries, database, method=self.method, n_jobs=self._threads).value


def beam(width: int = 2) -> EditDistanceBaseline:
    """Neuhaus, Riesen and Bunke (2006). The paper's "Beam" keeps two open paths, the fewest that make a beam."""
    return EditDistanceBaseline("beam" if width == 2 else f"beam-{width}", PublishedBeam(width))


def beam_80() -> EditDistanceBaseline:
    """The widest beam of the public distances."""
    return beam(80)


def vj() -> EditDistanceBaseline:
    """Fankhauser, Riesen and Bunke (2011)."""
    return EditDistanceBaseline("vj", VolgenantJonker())


def hungarian() -> EditDistanceBaseline:
    """Riesen and Bunke (2009)."""
    return EditDistanceBaseline("hungarian", Hungarian())


def hed() -> EditDistanceBaseline:
    """Fischer et al. (2015), as published: neither a lower nor an upper bound."""
    return EditDistanceBaseline("hed", PublishedHausdorff())
