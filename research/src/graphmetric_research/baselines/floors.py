"""Trivial floors: distances from sizes, label counts and degrees alone. A method that does not beat them is useless.

All but the fitted one are lower bounds of the edit distance with unit costs, and weighted L1 distances of the vectors
of :mod:`graphmetric.edit_distance.collection_bounds` (the combined one is the larger of two).

Their rankings are full of ties, so a precision that counts all graphs that tie flatters them:
:func:`graphmetric.evaluation.precision_at` with ties "both" gives the fitted one .473 at 10 on AIDS700nef, with ties
"truth" .311.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from graphmetric.edit_distance.collection_bounds import CollectionBounds
from graphmetric.graphs.collection import GraphCollection
from graphmetric_research.baselines.method import Baseline, TrainingTask, sample_labelled_block

Matrix = NDArray[np.float64]


class Differences(NamedTuple):
    """L1 distances between the parts of the vectors of graphs, each a matrix (queries, database)."""

    nodes: Matrix
    edges: Matrix
    node_labels: Matrix
    edge_labels: Matrix
    degrees: Matrix
    """The distances between the degrees in falling order."""

    @property
    def node_part(self) -> Matrix:
        """Nodes to delete, insert or relabel."""
        return (self.nodes + self.node_labels) / 2

    @property
    def edge_part(self) -> Matrix:
        """Edges to delete, insert or relabel."""
        return (self.edges + self.edge_labels) / 2


class CountVectors(NamedTuple):
    """The vectors of a collection, and where their parts are."""

    vectors: Matrix
    """(graphs, columns)."""
    parts: tuple[tuple[int, int], ...]
    """First column and end of each part, in the order of :class:`Differences`."""

    @classmethod
    def of(cls, graphs: GraphCollection) -> CountVectors:
        bounds = CollectionBounds.of(graphs)
        node_start, edge_start, degree_start, end = bounds.layout
        parts = ((0, 1), (1, 2), (node_start, edge_start), (edge_start, degree_start), (degree_start, end))
        return cls(bounds.vectors.astype(np.float64), parts)

    def compare(self, rows: slice | NDArray[np.int64], columns: slice | NDArray[np.int64]) -> Differences:
        """Compare the graphs of the rows with those of the columns."""
        left, right = self.vectors[rows], self.vectors[columns]
        return Differences(*(cdist(left[:, a:b], right[:, a:b], "cityblock") for a, b in self.parts))


class Floor(Baseline):
    """A distance that is read from the differences; nothing is learned."""

    scale = "raw"

    def predict(self, queries: GraphCollection, database: GraphCollection) -> Matrix:
        vectors, start = CountVectors.of(queries + database), len(queries)
        return self.combine(vectors.compare(slice(0, start), slice(start, None)))

    @abstractmethod
    def combine(self, differences: Differences) -> Matrix:
        """The distance."""


class SizeDifference(Floor):
    """Difference of the numbers of nodes plus difference of the numbers of edges."""

    name = "size-difference"

    def combine(self, differences: Differences) -> Matrix:
        return differences.nodes + differences.edges


class LabelCounts(Floor):
    """Nodes and edges that must be deleted, inserted or relabelled since the counts of their labels differ."""

    name = "label-counts"

    def combine(self, differences: Differences) -> Matrix:
        return differences.node_part + differences.edge_part


class DegreeSequences(Floor):
    """Difference of the numbers of nodes plus half the difference of the sorted degrees; labels do not count."""

    name = "degree-sequences"

    def combine(self, differences: Differences) -> Matrix:
        return differences.nodes + differences.degrees / 2


class LabelsAndDegrees(Floor):
    """The best of these bounds: node labels, and edges by label or by degree, whichever is larger."""

    name = "labels-and-degrees"

    def combine(self, differences: Differences) -> Matrix:
        return differences.node_part + np.maximum(differences.edge_part, differences.degrees / 2)


class FittedLabelCounts(Baseline):
    """Three parameters by least squares: edits = a (label counts) + b (mean number of nodes) + c, at least 0.

    It is a regression, not a distance: between a graph and itself it keeps b and c.
    """

    name = "fitted-label-counts"
    scale = "raw"

    _coefficients: NDArray[np.float64] | None = None

    def fit(self, task: TrainingTask) -> Self:
        block = sample_labelled_block(task)
        bounds = LabelCounts().predict(block.graphs, block.graphs)[tuple(block.pairs.T)]
        columns = np.column_stack([bounds, block.mean_sizes, np.ones(len(bounds))])
        self._coefficients = np.linalg.lstsq(columns, block.distances)[0]
        return self

    def predict(self, queries: GraphCollection, database: GraphCollection) -> Matrix:
        slope, per_node, constant = self.fitted(self._coefficients)
        mean_sizes = (queries.sizes[:, None] + database.sizes[None, :]) / 2
        fitted = slope * LabelCounts().predict(queries, database) + per_node * mean_sizes + constant
        return np.asarray(np.maximum(fitted, 0))
