"""A trained distance between graphs, independent of training."""

from __future__ import annotations

import copy
import json
import os
import time
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graphmetric._foundation.executors import as_executor, run_tasks
from graphmetric._foundation.limits import effective_n_jobs
from graphmetric._foundation.markup import element, escape_text, join, key_value_table, notebook_view
from graphmetric._foundation.options import checked_count, to_plain
from graphmetric._foundation.progress import progress
from graphmetric._foundation.threads import as_device, thread_limit
from graphmetric.distance import (
    Comparison,
    DistanceHead,
    Representation,
    View,
    check_declarations,
    distance_matrix,
    pair_distances,
    write_distance_matrix,
)
from graphmetric.distance.comparison import NOT_FINITE
from graphmetric.edit_distance import EditCosts, EditDistance
from graphmetric.edit_distance.edit_path import NodeMap, edit_path_of
from graphmetric.errors import InvalidArgument
from graphmetric.features import FeatureTable, GraphFeaturizer
from graphmetric.graphs.collection import GraphCollection, certificates, fingerprint, identity_keys
from graphmetric.graphs.graph import Graph
from graphmetric.learned.model_card import describe_model, model_card
from graphmetric.learned.model_folder import (
    ModelParts,
    check_config,
    find_model,
    pack_model,
    package_versions,
    read_model,
    unpack_model,
    write_model,
)
from graphmetric.learned.training_range import describe_unfamiliar
from graphmetric.model import CHUNK, GraphDistanceNetwork

_QUERIES = 256
"""Rows of distances in memory at a time in a search for neighbors."""

Metric = Callable[[Any, Any], float]


@dataclass(frozen=True, eq=False)
class LearnedDistance:
    """A trained network with the features it was trained on.

    It needs neither the training graphs nor scikit-learn. :class:`graphmetric.GraphDistance` trains one and adds the
    scikit-learn interface; :class:`graphmetric.GraphIndex` holds one.
    """

    network: GraphDistanceNetwork
    """Encoder and head, in evaluation mode."""
    featurizer: GraphFeaturizer
    """Converts graphs to the inputs of the network."""
    strict: bool = False
    """Whether only isomorphic graphs are at distance 0, at the cost of computing their certificates."""
    threads: int = 1
    costs: EditCosts = field(default_factory=EditCosts)
    """The learned edit costs; the network receives no attributes that these ignore."""
    parameters: dict[str, Any] = field(default_factory=dict)
    """The parameters of the estimator that trained it, as plain data."""
    report: dict[str, Any] = field(default_factory=dict)
    """Training data, training summary and validation results, as plain data."""

    @classmethod
    def load(
        cls, model: str | os.PathLike[str], n_jobs: int | None = 1, device: str | torch.device = "cpu"
    ) -> LearnedDistance:
        """Read the folder of a saved model, or a bundled model, given by its name.

        On another ``device``, such as "cuda", it encodes graphs there.
        """
        place = as_device(device)
        return cls._assemble(read_model(find_model(model)), n_jobs).to(place)

    @classmethod
    def _assemble(cls, parts: ModelParts, n_jobs: int | None) -> LearnedDistance:
        network, featurizer, config = parts
        parameters, report = config["parameters"], config["report"]
        plain = parameters.get("costs")
        costs = EditCosts() if plain is None else EditCosts.from_dict(plain)
        strict = bool(parameters.get("strict"))
        return cls(network, featurizer, strict, effective_n_jobs(n_jobs), costs, parameters, report)

    @classmethod
    def of(cls, model: Any) -> LearnedDistance:
        """Return the trained distance of a fitted :class:`graphmetric.GraphDistance`, or ``model`` if it is one."""
        learned = model if isinstance(model, cls) else getattr(model, "learned_", None)
        if not isinstance(learned, cls):
            raise InvalidArgument(
                f"a model must be a fitted GraphDistance or a LearnedDistance; got {type(model).__name__}"
            )
        return learned

    def to(self, device: str | torch.device) -> LearnedDistance:
        """Move the network to another device; returns a new distance unless it is there already."""
        place = torch.device(device)
        if place == self.network.device:
            return self
        return replace(self, network=copy.deepcopy(self.network).to(place))

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write weights, configuration and model card into a folder; an existing model is replaced."""
        write_model(folder, self.network, self._config(), self.describe())

    def describe(self) -> str:
        """Return the model card, in Markdown: guarantees, compared attributes, training, results."""
        return describe_model(self._config(), self.trusted_head.guarantee(self.strict))

    def _repr_html_(self) -> str:
        """Return the model card as tables, for notebooks."""
        card = model_card(self._config(), self.network.head.guarantee(self.strict))
        tables = [join([element("p", escape_text(title)), key_value_table(rows)]) for title, rows in card.items()]
        return notebook_view("A learned distance between graphs", *tables)

    @cached_property
    def digest(self) -> str:
        """Digest of everything that distances depend on: weights, options, features, strictness, costs."""
        about = [to_plain(self.network.options), self.featurizer.to_state(), self.strict]
        if self.costs != EditCosts():
            about.append(self.costs.to_dict())
        digest = blake2b(json.dumps(about, sort_keys=True).encode(), digest_size=16)
        for name, tensor in sorted(self.network.state_dict().items()):
            numbers = tensor.detach().to("cpu", torch.float64).contiguous().numpy()
            digest.update(f"{name}{tensor.dtype}{numbers.shape}".encode())
            digest.update(numbers.tobytes())
        return digest.hexdigest()

    @cached_property
    def cpu_head(self) -> DistanceHead:
        """The head on the CPU, where an index keeps its arrays."""
        head = self.network.head
        return head if self.network.device.type == "cpu" else copy.deepcopy(head).cpu()

    @cached_property
    def trusted_head(self) -> DistanceHead:
        """The head on the CPU; raises InvalidArgument if random graphs refute its declarations."""
        width: int = self.network.encoder.output_size  # type: ignore[assignment]
        with self.limited_threads():
            check_declarations(self.cpu_head, width)
        return self.cpu_head

    def distance(self, first: Graph, second: Graph, view: View = "raw") -> float:
        """Compute the distance of two graphs; exactly equal in both directions."""
        # Encoded one by one, since a graph then has the same code, to the last bit, whatever it is compared with.
        encoded = Representation.concatenate([self.encode(GraphCollection([graph])) for graph in (first, second)])
        known = self.identify(GraphCollection([first, second]))
        with self.limited_threads():
            comparison = self._prepare(view, known, encoded)
            return float(pair_distances(comparison, [[0, 1]])[0])

    def measure_pairs(self, graphs: GraphCollection, pairs: NDArray[np.int64]) -> NDArray[np.float32]:
        """Compute raw distances of chosen pairs; graphs that occur in none are not encoded."""
        used, places = np.unique(pairs, return_inverse=True)
        comparison = self.compare(graphs[used])
        with self.limited_threads():
            return pair_distances(comparison, places.reshape(pairs.shape))

    def pairwise(
        self,
        graphs: GraphCollection,
        others: GraphCollection | None = None,
        view: View = "raw",
        out: str | os.PathLike[str] | None = None,
    ) -> NDArray[np.float32]:
        """Compute all distances of one collection, or between two, in memory or in a ``.npy`` file."""
        comparison = self.compare(graphs, others, view)
        with self.limited_threads(), progress("distances", comparison.shape[0], "rows") as bar:
            if out is None:
                matrix = distance_matrix(comparison, advance=bar.advance)
            else:
                matrix = write_distance_matrix(comparison, out, advance=bar.advance)
        return matrix

    def kneighbors(
        self, queries: GraphCollection, graphs: GraphCollection, k: int, view: View
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return distances and positions (queries, k) of the nearest graphs, nearest first, ties by position."""
        if not checked_count(k, "k") <= len(graphs):
            raise InvalidArgument(f"k must be between 1 and the number of graphs, {len(graphs)}; got {k}")
        first, places = find_first(self.identify(graphs))
        comparison = self.compare(queries, graphs[first], view)
        distances = np.empty((len(queries), k), dtype=np.float32)
        positions = np.empty((len(queries), k), dtype=np.int64)
        for start in range(0, len(queries), _QUERIES):
            rows = slice(start, start + _QUERIES)
            with self.limited_threads():
                block = distance_matrix(replace(comparison, left=comparison.left.take(rows)))[:, places]
            positions[rows] = np.argsort(block, axis=1, kind="stable")[:, :k]
            distances[rows] = np.take_along_axis(block, positions[rows], axis=1)
        return distances, positions

    def metric_of_positions(self, graphs: GraphCollection, view: View) -> Metric:
        """Return the distance as a function of two positions among these graphs, which are encoded once."""
        comparison = self.compare(graphs, view=view)

        def measure(first: Any, second: Any) -> float:
            pair = np.array([[_position(first), _position(second)]])
            with self.limited_threads():
                return float(pair_distances(comparison, pair)[0])

        return measure

    def align(self, first: Graph, second: Graph) -> EditDistance:
        """Return the node map of a matching head, and the edits that it implies.

        The edits bound the edit distance at unit costs from above.
        """
        started = time.perf_counter()
        self.featurizer.check_direction(GraphCollection([first, second]))
        costs = EditCosts(ignore=self.costs.ignore)
        tables = [self.featurizer.transform(GraphCollection([g]).without(costs.ignore)) for g in (first, second)]
        with self.limited_threads():
            left, right = (self.network.encode_table(table) for table in tables)
            node_map = _in_given_order(self.network.head.align(left, right)[0], *tables)
        upper = float(len(edit_path_of(first, second, node_map, costs)))  # at unit costs
        bounds = 0.0, upper, self.distance(first, second)
        seconds = time.perf_counter() - started
        return EditDistance(first, second, costs, "learned", *bounds, node_map, nodes_expanded=0, seconds=seconds)

    def compare(self, graphs: GraphCollection, others: GraphCollection | None = None, view: View = "raw") -> Comparison:
        """Encode all graphs of one collection, or of two, for comparison."""
        names = self.identify(graphs)
        if others is None:
            return self._prepare(view, names, self.encode(graphs, names))
        other_names = self.identify(others)
        both = self.encode(graphs + others, names + other_names)
        left, right = both.take(slice(0, len(graphs))), both.take(slice(len(graphs), None))
        return self._prepare(view, names, left, other_names, right)

    def encode(self, graphs: GraphCollection, names: list[str] | None = None) -> Representation:
        """Compute vectors and node states, the inputs of a head; isomorphic graphs get equal ones.

        The first graph of each name is encoded: rounding depends on the shape of a batch, so duplicates would differ.
        ``names`` are the keys of :meth:`identify`, if known already.
        """
        first, places = find_first(self.identify(graphs) if names is None else names)
        once = graphs if len(first) == len(graphs) else graphs[first]
        seen = once.without(self.costs.ignore)
        encoded = self.network.encode_graphs(self.featurizer, seen, threads=self.threads)
        if len(first) == len(graphs):
            return encoded
        with self.limited_threads():
            return encoded.take(torch.from_numpy(places).to(encoded.start.device))

    def embed(self, graphs: GraphCollection, executor: Any = None) -> NDArray[np.float32]:
        """Compute vectors alone, (graphs, d); isomorphic graphs get equal ones.

        An executor, as in :func:`graphmetric.pairwise_edit_distances`, encodes about a thousand graphs at a time on the
        CPU of its workers, each of which reads the model once.
        """
        first, places = find_first(self.identify(graphs))
        seen = graphs[first].without(self.costs.ignore)
        if executor is None:
            vectors = self.network.embed_graphs(self.featurizer, seen, threads=self.threads)
        else:
            vectors = self._embed_elsewhere(seen, as_executor(executor))
        if not np.isfinite(vectors).all():
            raise InvalidArgument(NOT_FINITE)
        return vectors[places]

    def pack(self) -> tuple[bytes, bytes]:
        """Serialize the model for :func:`model_in_worker`."""
        return pack_model(self.network, self._config())

    def identify(self, graphs: GraphCollection, known: list[str] | None = None) -> list[str]:
        """Compute one key per graph; equal keys imply distance 0.

        Keys are equal for graphs that are isomorphic in all that the features show, so that neither an ignored
        attribute nor rounding separates them; for a strict distance, for isomorphic graphs. A very regular graph
        shares its key only with graphs of equal numbering; a strict distance rejects it. ``known`` are the keys of
        :func:`identity_keys`, if computed already.
        """
        self.featurizer.check_direction(graphs)  # every comparison of graphs begins here
        self.warn_of_unfamiliar(graphs)
        options = self.featurizer.options
        if self.strict:
            return certificates(graphs)
        seen = self.featurizer.drop_unused_attributes(graphs, self.costs.ignore)
        if not options.canonical:
            return [fingerprint(seen[k : k + 1]) for k in range(len(seen))]
        return known if known is not None and seen is graphs else identity_keys(seen, options.canonical_budget)

    def describe_unfamiliar(self, graphs: GraphCollection) -> list[str]:
        """Describe, a sentence each, the ways in which many of these graphs differ from the training graphs.

        These are unknown labels, and more nodes or edges than in nearly all training graphs.
        """
        return list(self._find_unfamiliar(graphs).values())

    def warn_of_unfamiliar(self, graphs: GraphCollection) -> None:
        """Issue the sentences of :meth:`describe_unfamiliar` as warnings, each kind once."""
        self.featurizer.warn_once(self._find_unfamiliar(graphs, only_new=True), stacklevel=4)

    def _find_unfamiliar(self, graphs: GraphCollection, only_new: bool = False) -> dict[str, str]:
        labels = self.featurizer.describe_unknown_labels(graphs.without(self.costs.ignore), only_new=only_new)
        return labels | describe_unfamiliar(graphs, self.report.get("graphs", {}))

    def limited_threads(self) -> AbstractContextManager[None]:
        """Return a context that limits the number of threads and starts none of torch."""
        return thread_limit(self.threads)

    def _embed_elsewhere(self, graphs: GraphCollection, executor: Executor) -> NDArray[np.float32]:
        """Compute vectors by workers."""
        starts = range(0, max(1, len(graphs)), CHUNK)
        tasks = ((start, (graphs[start : start + CHUNK],)) for start in starts)
        vectors: dict[int, NDArray[np.float32]] = {}
        with progress("vectors", len(starts), "tasks") as bar:
            work = partial(_embed_in_worker, self.digest)
            for start, found in run_tasks(executor, work, tasks, shared=self.pack()):
                assert found is not None
                vectors[start] = found
                bar.advance()
        return np.concatenate([vectors[start] for start in starts])

    def _prepare(
        self,
        view: View,
        names: list[str],
        left: Representation,
        other_names: list[str] | None = None,
        right: Representation | None = None,
    ) -> Comparison:
        named = {"certificates": names, "other_certificates": other_names}
        with self.limited_threads():
            epsilon = None if self.strict else 0.0
            return Comparison.prepare(self.network.head, left, right, view=view, **named, epsilon=epsilon)

    def _config(self) -> dict[str, Any]:
        """Return everything but the weights, for ``config.json``."""
        costs = None if self.costs == EditCosts() else self.costs.to_dict()
        return {
            "packages": package_versions(),
            "parameters": self.parameters | {"strict": self.strict, "costs": costs},
            "model": to_plain(self.network.options),
            "report": self.report,
            "weights": {"numbers": sum(parameter.numel() for parameter in self.network.parameters())},
            "features": self.featurizer.to_state(),
        }


@lru_cache(2)
def _model_slot(digest: str) -> list[LearnedDistance]:
    """Return the place for a model in a worker; the last two models are kept."""
    return []


def model_in_worker(digest: str, files: tuple[bytes, bytes] | None) -> LearnedDistance | None:
    """Return the model of this digest on the CPU of a worker, read from its files once; None if it has no files."""
    kept = _model_slot(digest)
    if not kept:
        if files is None:
            return None
        text, weights = files
        place = Path("the model of the caller")
        model = LearnedDistance._assemble(unpack_model(check_config(text, place), weights, place), 1)
        if model.digest != digest:
            raise InvalidArgument(f"a worker read another model than it was sent: {model.digest} instead of {digest}")
        kept.append(model)
    return kept[0]


def _embed_in_worker(
    digest: str, files: tuple[bytes, bytes] | None, graphs: GraphCollection
) -> NDArray[np.float32] | None:
    """Compute vectors of some graphs; None if this worker does not have the model."""
    model = model_in_worker(digest, files)
    return None if model is None else model.network.embed_graphs(model.featurizer, graphs, threads=1)


def find_first(names: list[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return ascending positions of the first occurrences of names, and for each name its position among these."""
    numbers: dict[str, int] = {}
    places = np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)
    return np.unique(places, return_index=True)[1], places


def _position(value: Any) -> int:
    """Read a position, which scikit-learn may have put into an array of one number."""
    (number,) = np.ravel(value)
    if number != int(number):
        raise InvalidArgument(
            f"this metric takes positions of graphs; got {number}. Use algorithm='brute': trees take means of samples"
        )
    return int(number)


def _in_given_order(matched: NodeMap, first: FeatureTable, second: FeatureTable) -> NodeMap:
    """Convert a map between rows of tables, which are in canonical order, to a node map in the given order."""
    node_map: list[int | None] = [None] * len(matched)
    for row, partner in enumerate(matched):
        node_map[first.order[row]] = None if partner is None else int(second.order[partner])
    return tuple(node_map)
