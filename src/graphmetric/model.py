"""Figure 1: a graph encoder and a distance of what it encodes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import needs_extra

with needs_extra("learn", "a model"):
    import torch
    from torch import Tensor, nn

from graphmetric._foundation.threads import map_in_threads, prefetch_in_threads, send, thread_limit
from graphmetric.distance import DistanceHead, Representation
from graphmetric.distance import HeadOptions as HeadOptions
from graphmetric.encoder import BatchTensors, EncoderOptions, GraphEncoder, to_tensors
from graphmetric.features import BatchLimits, FeatureOptions, FeatureSchema, FeatureTable, GraphFeaturizer
from graphmetric.features.table import group_by_size
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph

Result = TypeVar("Result")

CHUNK = 4096
"""Graphs with features in memory at a time, per thread: only the result grows with the collection."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Everything that shapes a model; the defaults are the paper's."""

    encoder: EncoderOptions = field(default_factory=EncoderOptions)
    features: FeatureOptions = field(default_factory=FeatureOptions)
    head: HeadOptions = field(default_factory=HeadOptions)


class GraphDistanceNetwork(nn.Module):
    """An encoder, and a distance of what it encodes: all that training and evaluation ask of a model.

    The encoder makes of a padded batch what :meth:`Representation.from_padded` takes, and has ``output_size``, the
    width of its vectors. ``options``, a dataclass, describes the model: :class:`ModelOptions`, or that of a baseline.
    """

    def __init__(self, options: Any, encoder: nn.Module, head: DistanceHead) -> None:
        super().__init__()
        self.options, self.encoder, self.head = options, encoder, head

    @classmethod
    def build(cls, schema: FeatureSchema, options: ModelOptions | None = None, seed: int = 0) -> GraphDistanceNetwork:
        """A graph transformer and its head, with new weights.

        Weights are drawn from ``seed`` alone: the global state of random numbers is neither used nor changed.
        """
        options = options or ModelOptions()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            encoder = GraphEncoder(schema, options.encoder)
            return cls(options, encoder, options.head.build(encoder.output_size))

    @property
    def device(self) -> torch.device:
        """The device of the weights."""
        return next(self.parameters()).device

    def forward(self, batch: BatchTensors, pairs: Tensor) -> Tensor:
        """Compute distances, on the scale of the head, of pairs (n, 2) of positions in the batch."""
        return self.head.batch_distances(self.encode(batch), pairs)

    def encode(self, batch: BatchTensors) -> Representation:
        """Encode a padded batch."""
        return Representation.from_padded(self.encoder(batch))

    def encode_rows(
        self, table: FeatureTable, positions: ArrayLike, limits: BatchLimits | None = None
    ) -> Representation:
        """Encode the graphs at these positions of a table, in this order, in batches of like sizes.

        Gradients flow through; see :meth:`encode_graphs` for whole collections without.
        """
        chosen = np.asarray(positions, dtype=np.int64)
        if len(chosen) == 0:
            return self._nothing()
        parts, groups = self._in_batches(self.encode, table, chosen, limits)
        sizes = [table.sizes[chosen[group]] for group in groups]
        return Representation.arranged(parts, sizes, np.argsort(np.concatenate(groups)))

    @torch.no_grad()
    def encode_table(self, table: FeatureTable) -> Representation:
        """Encode all graphs of a table, without gradients; the model should be in evaluation mode."""
        return self.encode_rows(table, np.arange(len(table)))

    @torch.inference_mode()
    def embed_table(self, table: FeatureTable, limits: BatchLimits | None = None) -> NDArray[np.float32]:
        """Compute the vector z of every graph of a table, (graphs, d); the model should be in evaluation mode."""
        if len(table) == 0:
            return np.zeros((0, self.encoder.output_size), dtype=np.float32)  # type: ignore[arg-type]
        everything = np.arange(len(table))
        parts, groups = self._in_batches(lambda batch: self.encoder(batch).z, table, everything, limits)
        back = send(torch.from_numpy(np.argsort(np.concatenate(groups))), self.device)
        z: NDArray[np.float32] = torch.cat(parts).index_select(0, back).float().cpu().numpy()
        return z

    def encode_graphs(
        self, featurizer: GraphFeaturizer, graphs: Iterable[Graph], *, threads: int | None = None
    ) -> Representation:
        """Encode all graphs of a collection, in the given order; the model should be in evaluation mode.

        Features are made for a few thousand graphs at a time, so memory grows with the representation alone. Chunks,
        or the batches of a few chunks, are spread over ``threads``; None: as many as are allowed. Another device than
        the CPU takes one batch after another, while threads compute the features of the next ones.
        Unknown labels are not warned of; see :meth:`LearnedDistance.warn_of_unfamiliar`.
        """
        with thread_limit(threads):  # joining the chunks must not start torch's threads either
            parts = self._map_chunks(self.encode_table, featurizer, graphs, threads)
            return Representation.concatenate(parts, compact=False)

    def embed_graphs(
        self, featurizer: GraphFeaturizer, graphs: Iterable[Graph], *, threads: int | None = None
    ) -> NDArray[np.float32]:
        """Compute the vector z of every graph, (graphs, d), as :meth:`encode_graphs`, without node states."""
        return np.concatenate(self._map_chunks(self.embed_table, featurizer, graphs, threads))

    def _in_batches(
        self,
        work: Callable[[BatchTensors], Result],
        table: FeatureTable,
        chosen: NDArray[np.int64],
        limits: BatchLimits | None,
    ) -> tuple[list[Result], list[NDArray[np.int64]]]:
        """Apply ``work`` to each batch; returns results, and the positions of their graphs among the chosen ones."""
        weights = next(self.parameters())
        groups = list(group_by_size(table.sizes[chosen], limits or BatchLimits()))

        def take(group: NDArray[np.int64]) -> BatchTensors:
            return to_tensors(table.padded(chosen[group]), weights.device, weights.dtype)

        def run(group: NDArray[np.int64]) -> Result:
            return work(take(group))

        if self.device.type != "cpu":
            parts = [work(batch) for batch in prefetch_in_threads(take, groups)]
        elif torch.is_grad_enabled() or self.training:  # gradients and dropout need a fixed order
            parts = [run(group) for group in groups]
        else:
            mode = torch.inference_mode if torch.is_inference_mode_enabled() else torch.no_grad  # of one thread alone
            parts = map_in_threads(mode()(run), groups)
        return parts, groups

    def _map_chunks(
        self,
        work: Callable[[FeatureTable], Result],
        featurizer: GraphFeaturizer,
        graphs: Iterable[Graph],
        threads: int | None,
    ) -> list[Result]:
        """Apply ``work`` to the features of every chunk of a collection, also of an empty one."""
        collection = GraphCollection(graphs)
        starts = range(0, max(1, len(collection)), CHUNK)

        def features(start: int) -> FeatureTable:
            return featurizer.transform(collection[start : start + CHUNK], check_labels=False)  # callers do

        with thread_limit(threads):
            if self.device.type != "cpu":
                return [work(table) for table in prefetch_in_threads(features, starts)]
            return map_in_threads(lambda start: work(features(start)), starts, parts_are_parallel=True)

    def _nothing(self) -> Representation:
        weights = next(self.parameters())
        width: int = self.encoder.output_size  # type: ignore[assignment]
        vectors, none = weights.new_zeros(0, width), torch.zeros(0, dtype=torch.int64)
        return Representation(vectors, vectors, none.to(weights.device), none.to(weights.device))
