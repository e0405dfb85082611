"""What a trained model answers: distances, neighbours and alignments of any graphs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidArgument, MissingExtra

try:
    import safetensors as _safetensors  # noqa: F401
    import torch
except ImportError as error:
    raise MissingExtra(error.name or "torch", "learn", "a learned distance") from None

from graphmetric._foundation.limits import effective_n_jobs
from graphmetric._foundation.options import checked_count
from graphmetric._foundation.progress import progress
from graphmetric._foundation.threads import working_threads
from graphmetric.distance import (
    Comparison,
    Matching,
    Representation,
    View,
    distance_matrix,
    pair_distances,
    write_distance_matrix,
)
from graphmetric.distance.comparison import NOT_FINITE
from graphmetric.edit_distance import EditCosts, EditDistance
from graphmetric.edit_distance.result import NodeMap, edit_path_of
from graphmetric.edit_distance.store import fingerprint
from graphmetric.encoder import embed_graphs
from graphmetric.features import FeatureTable, GraphFeaturizer
from graphmetric.graphs.canonical import DEFAULT_BUDGET, certificates, certificates_within
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.learned.saving import read_model
from graphmetric.learned.shipped_models import find_model
from graphmetric.model import GraphDistanceModel, encode_graphs, encode_table

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
    costs: EditCosts = field(default_factory=EditCosts)
    """Of the edits that it has learned to count; the model does not see attributes that these ignore."""

    @classmethod
    def load(cls, model: str | os.PathLike[str], n_jobs: int | None = 1) -> LearnedDistance:
        """What a saved model, or one that comes with the package by its name, answers: all but training.

        Unlike :meth:`graphmetric.GraphDistance.load` it does without scikit-learn, whose import takes a second.
        """
        saved = read_model(find_model(model))
        strict, plain = bool(saved.parameters.get("strict")), saved.parameters.get("costs")
        costs = EditCosts() if plain is None else EditCosts.from_dict(plain)
        return cls(saved.model, saved.featurizer, strict, effective_n_jobs(n_jobs), costs)

    def measure(self, first: Graph, second: Graph, view: View = "raw") -> float:
        """The distance of two graphs; exactly the same in both directions."""
        # One by one: a graph is then encoded alike, to the last bit, whatever it is compared with.
        encoded = Representation.concatenate([self.encode(GraphCollection([graph])) for graph in (first, second)])
        known = self.identify(GraphCollection([first, second]))
        with self.limited_threads():
            comparison = self._prepare(encoded, None, view, known, None)
            distance = float(pair_distances(comparison, [[0, 1]])[0])
        comparison.unsolved.warn()
        return distance

    def measure_pairs(self, graphs: GraphCollection, pairs: NDArray[np.int64]) -> NDArray[np.float32]:
        """Raw distances of chosen pairs; graphs that occur in none are not encoded."""
        used, places = np.unique(pairs, return_inverse=True)
        comparison = self.compare(graphs[used])
        with self.limited_threads():
            distances = pair_distances(comparison, places.reshape(pairs.shape))
        comparison.unsolved.warn()
        return distances

    def compare(self, graphs: GraphCollection, others: GraphCollection | None = None, view: View = "raw") -> Comparison:
        """All graphs of one collection, or of two, encoded and ready to be compared."""
        names = self.identify(graphs)
        if others is None:
            return self._prepare(self._encode_once(graphs, names), None, view, names, None)
        other_names = self.identify(others)
        both = self._encode_once(graphs + others, names + other_names)
        left, right = both.take(slice(0, len(graphs))), both.take(slice(len(graphs), None))
        return self._prepare(left, right, view, names, other_names)

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
                matrix = distance_matrix(comparison, advance=bar.advance)
            else:
                matrix = write_distance_matrix(comparison, out, advance=bar.advance)
        comparison.unsolved.warn()
        return matrix

    def encode(self, graphs: GraphCollection) -> Representation:
        """Vectors and node states, all that a distance looks at; those of isomorphic graphs are the same."""
        return self._encode_once(graphs, self.identify(graphs))

    def embed(self, graphs: GraphCollection) -> NDArray[np.float32]:
        """Vectors alone, (graphs, d); those of isomorphic graphs are the same."""
        first, places = find_first(self.identify(graphs))
        seen = graphs[first].without(self.costs.ignore)
        vectors = embed_graphs(self.featurizer, self.model.encoder, seen, threads=self.threads)
        if not np.isfinite(vectors).all():
            raise InvalidArgument(NOT_FINITE)
        return vectors[places]

    def identify(self, graphs: GraphCollection) -> list[str]:
        """For each graph a text that it shares with those graphs only that are isomorphic to it.

        A very regular graph shares its text only with those that are numbered alike; a strict distance refuses it.
        """
        self.featurizer.check_direction(graphs)  # every question about graphs comes through here
        options = self.featurizer.options
        if self.strict:
            return certificates(graphs)
        return identify_graphs(graphs, options.canonical_budget) if options.canonical else _identify_as_given(graphs)

    def _encode_once(self, graphs: GraphCollection, names: list[str]) -> Representation:
        """Encode the first of all graphs of one name. A batch rounds as its shape demands, so copies would differ."""
        first, places = find_first(names)
        seen = graphs[first].without(self.costs.ignore)
        encoded = encode_graphs(self.model, self.featurizer, seen, threads=self.threads)
        if len(first) == len(graphs):
            return encoded
        with self.limited_threads():
            return encoded.take(torch.from_numpy(places).to(encoded.start.device))

    def _prepare(
        self,
        left: Representation,
        right: Representation | None,
        view: View,
        names: list[str],
        other_names: list[str] | None,
    ) -> Comparison:
        epsilon = None if self.strict else 0.0
        head = self.model.head
        with self.limited_threads():
            return Comparison.prepare(
                head, left, right, view=view, certificates=names, other_certificates=other_names, epsilon=epsilon
            )

    def find_nearest(
        self, queries: GraphCollection, graphs: GraphCollection, k: int, view: View
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Distances and positions (queries, k) of the nearest graphs, nearest first, ties by position."""
        if not checked_count(k, "k") <= len(graphs):
            raise InvalidArgument(f"k must be between 1 and the number of graphs, {len(graphs)}; got {k}")
        first, places = find_first(self.identify(graphs))
        comparison = self.compare(queries, graphs[first], view)
        distances = np.empty((len(queries), k), dtype=np.float32)
        positions = np.empty((len(queries), k), dtype=np.int64)
        for start in range(0, len(queries), _QUERIES):
            rows = slice(start, start + _QUERIES)
            with self.limited_threads():
                found = distance_matrix(replace(comparison, left=comparison.left.take(rows)))[:, places]
            positions[rows] = np.argsort(found, axis=1, kind="stable")[:, :k]
            distances[rows] = np.take_along_axis(found, positions[rows], axis=1)
        comparison.unsolved.warn()
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
        self.featurizer.check_direction(GraphCollection([first, second]))
        costs = EditCosts(ignore=self.costs.ignore)
        tables = [self.featurizer.transform(GraphCollection([g]).without(costs.ignore)) for g in (first, second)]
        with self.limited_threads():
            left, right = (encode_table(self.model, table) for table in tables)
            node_map = _in_given_order(matching.align(left, right)[0], *tables)
        return EditDistance(
            first=first,
            second=second,
            costs=costs,
            method="learned",
            lower=0.0,
            upper=float(len(edit_path_of(first, second, node_map, costs))),  # at unit costs
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


def identify_graphs(graphs: GraphCollection, budget: int = DEFAULT_BUDGET) -> list[str]:
    """Certificates; of a graph too regular for the budget a digest that other numberings do not share."""
    found = certificates_within(graphs, budget)
    return [fingerprint(graphs[k : k + 1]) if text is None else text for k, text in enumerate(found)]


def _identify_as_given(graphs: GraphCollection) -> list[str]:
    return [fingerprint(graphs[k : k + 1]) for k in range(len(graphs))]


def find_first(names: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rising positions where a name occurs first, and for each name its place among these."""
    numbers: dict[str, int] = {}
    places = np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)
    first = np.full(len(numbers), len(names), dtype=np.int64)
    np.minimum.at(first, places, np.arange(len(names)))
    return first, places


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
