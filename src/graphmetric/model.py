"""Figure 1: a graph encoder and a distance of what it encodes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from graphmetric._foundation.options import from_plain, to_plain
from graphmetric._foundation.threads import map_in_threads, working_threads
from graphmetric.distance import HeadOptions as HeadOptions
from graphmetric.distance import PairDistance, Representation
from graphmetric.distance.representation import join_links, list_neighbours
from graphmetric.encoder import BatchTensors, EncoderOptions, GraphEncoder, to_tensors
from graphmetric.features import BatchLimits, FeatureOptions, FeatureSchema, FeatureTable, GraphFeaturizer
from graphmetric.features.table import group_by_size
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph

_CHUNK = 4096
"""Graphs whose features exist at a time, per thread: only what is asked for grows with the collection."""


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """Everything that shapes a model; the defaults are the paper's."""

    encoder: EncoderOptions = field(default_factory=EncoderOptions)
    features: FeatureOptions = field(default_factory=FeatureOptions)
    head: HeadOptions = field(default_factory=HeadOptions)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        plain: dict[str, Any] = to_plain(self)
        return plain

    @classmethod
    def from_dict(cls, data: object) -> ModelOptions:
        """What :meth:`to_dict` described; raises on fields that are missing, unknown or of the wrong type."""
        return from_plain(cls, data)


class PlainOptions(Protocol):
    """Options that can tell one model from another."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""


class TrainableDistance(nn.Module):
    """Any encoder and a distance of what it encodes: all that training and evaluation ask of a model.

    The encoder makes of a padded batch what :meth:`Representation.from_padded` takes, and has ``output_size``, the
    width of its vectors.
    """

    def __init__(self, options: PlainOptions, encoder: nn.Module, head: PairDistance) -> None:
        super().__init__()
        self.options, self.encoder, self.head = options, encoder, head

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.parameters()).device

    def encode(self, batch: BatchTensors) -> Representation:
        """A padded batch as the distance sees it."""
        return Representation.from_padded(self.encoder(batch), batch.weights if self.head.needs_links else None)

    def encode_rows(
        self, table: FeatureTable, positions: ArrayLike, limits: BatchLimits | None = None
    ) -> Representation:
        """The graphs at these positions of a table, in this order, encoded in batches of like sizes.

        Gradients flow through; see :func:`encode_table` for whole collections without.
        """
        chosen = np.asarray(positions, dtype=np.int64)
        if len(chosen) == 0:
            return self._nothing()
        weights = next(self.parameters())
        groups = list(group_by_size(table.sizes[chosen], limits or BatchLimits()))

        def encode_group(group: NDArray[np.int64]) -> Representation:
            return self.encode(to_tensors(table.padded(chosen[group]), weights.device, weights.dtype))

        if torch.is_grad_enabled() or self.training:  # gradients and dropout want one order
            parts = [encode_group(group) for group in groups]
        else:
            parts = map_in_threads(torch.no_grad()(encode_group), groups)
        whole = Representation.concatenate(parts)
        if len(chosen) == 1:
            return whole
        back = torch.from_numpy(np.argsort(np.concatenate(groups))).to(weights.device)
        return whole.take(back)

    def forward(self, batch: BatchTensors, pairs: Tensor) -> Tensor:
        """Distances, on the scale of the head, of pairs (n, 2) of positions in the batch."""
        return self.head.among(self.encode(batch), pairs)

    def _nothing(self) -> Representation:
        weights = next(self.parameters())
        width: int = self.encoder.output_size  # type: ignore[assignment]
        vectors, none = weights.new_zeros(0, width), torch.zeros(0, dtype=torch.int64)
        nobody = torch.zeros(0, 1, dtype=torch.int32, device=weights.device) if self.head.needs_links else None
        return Representation(vectors, vectors, none.to(weights.device), none.to(weights.device), nobody)


class GraphDistanceModel(TrainableDistance):
    """Encoder and pair distance.

    Weights are drawn from ``seed`` alone: the global state of random numbers is neither used nor changed.
    """

    options: ModelOptions
    encoder: GraphEncoder

    def __init__(self, schema: FeatureSchema, options: ModelOptions | None = None, seed: int = 0) -> None:
        options = options or ModelOptions()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            encoder = GraphEncoder(schema, options.encoder)
            super().__init__(options, encoder, options.head.build(encoder.output_size))
        self.schema = schema


@torch.no_grad()
def encode_table(
    model: GraphDistanceModel, table: FeatureTable, *, limits: BatchLimits | None = None
) -> Representation:
    """All graphs of a table, on the device of the model, without gradients; the model should be in evaluation mode."""
    return model.encode_rows(table, np.arange(len(table)), limits)


def encode_graphs(
    model: GraphDistanceModel, featurizer: GraphFeaturizer, graphs: Iterable[Graph], *, threads: int | None = None
) -> Representation:
    """All graphs of a collection, in the order given; the model should be in evaluation mode.

    Features are made for a few thousand graphs at a time, so memory grows with the representation alone. Chunks, or
    the batches of a few chunks, are spread over ``threads``; None: as many as are allowed.
    """
    collection = GraphCollection(graphs)

    def encode_chunk(start: int) -> Representation:
        return encode_table(model, featurizer.transform(collection[start : start + _CHUNK]))

    starts = range(0, max(1, len(collection)), _CHUNK)
    with working_threads(threads):
        return Representation.concatenate(map_in_threads(encode_chunk, starts, parts_are_parallel=True))


def link_graphs(featurizer: GraphFeaturizer, graphs: GraphCollection) -> Tensor:
    """The neighbours of all nodes of a collection, as :attr:`Representation.links` has them, without encoding it."""
    links = [torch.zeros(0, 1, dtype=torch.int32)] * (1 + len(graphs))
    for start in range(0, len(graphs), _CHUNK):
        table = featurizer.transform(graphs[start : start + _CHUNK])
        for positions, batch in table.batches():
            found = list_neighbours(torch.from_numpy(batch.weights))
            for place, graph in enumerate(positions.tolist()):
                links[1 + start + graph] = found[place, : table.sizes[graph]]
    joined = join_links(links)
    assert joined is not None
    return joined
