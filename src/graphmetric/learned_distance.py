"""What a trained model answers: distances, neighbours and alignments of any graphs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidArgument, MissingExtra

try:
    import safetensors as _safetensors  # noqa: F401
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise MissingExtra(error.name or "torch", "learn", "a learned distance") from None

from graphmetric.distance import (
    Comparison,
    Matching,
    Representation,
    View,
    distance_matrix,
    pair_distances,
    write_distance_matrix,
)
from graphmetric.edit_distance import EditCosts, EditDistance
from graphmetric.edit_distance.edit_path import NodeMap, edit_path_of
from graphmetric.encoder import embed_graphs
from graphmetric.features import FeatureTable, GraphFeaturizer
from graphmetric.graphs.canonical import certificates
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.model import GraphDistanceModel, encode_graphs, encode_table
from graphmetric.progress import progress
from graphmetric.saving import read_model
from graphmetric.shipped_models import find_model
from graphmetric.threads import count_threads, working_threads

_QUERIES = 256
"""Rows of distances that a search for neighbours holds at a time."""

Metric = Callable[[Any, Any], float]


@dataclass(frozen=True, slots=True, eq=False)
class LearnedDistance:
    """A model in evaluation mode, with the features it was trained on."""

    model: GraphDistanceModel
    featurizer: GraphFeaturizer
    strict: bool
    """Whether graphs that are not isomorphic are kept apart, at the cost of their certificates."""
    threads: int

    @classmethod
    def load(cls, model: str | os.PathLike[str], n_jobs: int | None = 1) -> LearnedDistance:
        """What a saved model, or one that comes with the package by its name, answers: all but training.

        Unlike :meth:`graphmetric.GraphDistance.load` it does without scikit-learn, whose import takes a second.
        """
        saved = read_model(find_model(model))
        return cls(saved.model, saved.featurizer, bool(saved.parameters.get("strict")), count_threads(n_jobs))

    def measure(self, first: Graph, second: Graph, view: View = "raw") -> float:
        """The distance of two graphs; exactly the same in both directions."""
        # One by one: a graph is then encoded alike, to the last bit, whatever it is compared with.
        encoded = Representation.concatenate([self.encode(GraphCollection([graph])) for graph in (first, second)])
        known = certificates([first, second]) if self.strict else None
        with self.limited_threads():
            comparison = Comparison.prepare(self.model.head, encoded, view=view, certificates=known)
            return float(pair_distances(comparison, [[0, 1]])[0])

    def measure_pairs(self, graphs: GraphCollection, pairs: NDArray[np.int64]) -> NDArray[np.float32]:
        """Raw distances of chosen pairs; graphs that occur in none are not encoded."""
        used, places = np.unique(pairs, return_inverse=True)
        with self.limited_threads():
            return pair_distances(self.compare(graphs[used]), places.reshape(pairs.shape))

    def compare(self, graphs: GraphCollection, others: GraphCollection | None = None, view: View = "raw") -> Comparison:
        """All graphs of one collection, or of two, encoded and ready to be compared."""
        left, right = self.encode(graphs), None if others is None else self.encode(others)
        strict: dict[str, Any] = {}
        if self.strict:
            strict["certificates"] = certificates(graphs)
            strict["other_certificates"] = None if others is None else certificates(others)
        return Comparison.prepare(self.model.head, left, right, view=view, **strict)

    def pairwise(
        self,
        graphs: GraphCollection,
        others: GraphCollection | None = None,
        view: View = "raw",
        out: str | os.PathLike[str] | None = None,
    ) -> NDArray[np.float32]:
        """All distances of one collection, or between two, into memory or into a ``.npy`` file."""
        comparison = self.compare(graphs, others, view)
        with self.limited_threads(), progress("distances", comparison.shape[0], "rows") as bar:
            if out is None:
                return distance_matrix(comparison, advance=bar.advance)
            return write_distance_matrix(comparison, out, advance=bar.advance)

    def encode(self, graphs: GraphCollection) -> Representation:
        """Vectors and node states, all that a distance looks at."""
        return encode_graphs(self.model, self.featurizer, graphs, threads=self.threads)

    def embed(self, graphs: GraphCollection) -> NDArray[np.float32]:
        """Vectors alone, (graphs, d)."""
        return embed_graphs(self.featurizer, self.model.encoder, graphs, threads=self.threads)

    def find_nearest(
        self, queries: GraphCollection, graphs: GraphCollection, k: int, view: View
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Distances and positions (queries, k) of the nearest graphs, nearest first, ties by position."""
        if not 1 <= k <= len(graphs):
            raise InvalidArgument(f"k must be between 1 and the number of graphs, {len(graphs)}; got {k}")
        comparison = self.compare(queries, graphs, view)
        distances = np.empty((len(queries), k), dtype=np.float32)
        positions = np.empty((len(queries), k), dtype=np.int64)
        for start in range(0, len(queries), _QUERIES):
            rows = slice(start, start + _QUERIES)
            with self.limited_threads():
                found = distance_matrix(replace(comparison, left=comparison.left.take(rows)))
            positions[rows] = np.argsort(found, axis=1, kind="stable")[:, :k]
            distances[rows] = np.take_along_axis(found, positions[rows], axis=1)
        return distances, positions

    def metric_of_positions(self, graphs: GraphCollection, view: View) -> Metric:
        """The distance as a function of two positions among these graphs, which are encoded once."""
        comparison = self.compare(graphs, view=view)

        def measure(first: Any, second: Any) -> float:
            pair = np.array([[_position(first), _position(second)]])
            with self.limited_threads():
                return float(pair_distances(comparison, pair)[0])

        return measure

    def align(self, first: Graph, second: Graph) -> EditDistance:
        """The node map of the matching head, as an edit distance that is at most the cost of its edits."""
        started = time.perf_counter()
        matching = next((part for part in self.model.head.modules() if isinstance(part, Matching)), None)
        if matching is None:
            raise InvalidArgument("only heads that match nodes align them: fit with head='matching' or 'edge-matching'")
        tables = [self.featurizer.transform([graph]) for graph in (first, second)]
        with self.limited_threads():
            left, right = (encode_table(self.model, table) for table in tables)
            node_map = _in_given_order(matching.align(left, right)[0], *tables)
        return EditDistance(
            first=first,
            second=second,
            costs=EditCosts(),
            method="learned",
            lower=0.0,
            upper=float(len(edit_path_of(first, second, node_map, EditCosts()))),  # at unit costs
            value=self.measure(first, second),
            node_map=node_map,
            nodes_expanded=0,
            seconds=time.perf_counter() - started,
        )

    @contextmanager
    def limited_threads(self) -> Iterator[None]:
        """Within, no more threads than allowed are used, and torch does not start any."""
        with working_threads(self.threads):
            yield


def _position(value: Any) -> int:
    """A position that scikit-learn may have put into an array of one number."""
    (number,) = np.ravel(value)
    if number != int(number):
        raise InvalidArgument(
            f"this metric takes positions of graphs; got {number}. Use algorithm='brute': trees take means of samples"
        )
    return int(number)


def _in_given_order(matched: NodeMap, first: FeatureTable, second: FeatureTable) -> NodeMap:
    """A map between rows of tables, which are in canonical order, as a map between nodes as they were given."""
    node_map: list[int | None] = [None] * len(matched)
    for row, partner in enumerate(matched):
        node_map[first.order[row]] = None if partner is None else int(second.order[partner])
    return tuple(node_map)
