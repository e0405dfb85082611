"""Representations of a whole collection."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from numpy.typing import NDArray

from graphmetric.encoder.graph_encoder import GraphEncoder
from graphmetric.encoder.tensors import to_tensors
from graphmetric.features import BatchLimits, FeatureTable, GraphFeaturizer
from graphmetric.features.bucketing import group_by_size
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph
from graphmetric.threads import map_in_threads, working_threads

_CHUNK = 4096
"""Graphs whose features exist at a time, per thread: memory does not grow with the collection."""


def embed_graphs(
    featurizer: GraphFeaturizer,
    encoder: GraphEncoder,
    graphs: Iterable[Graph],
    *,
    limits: BatchLimits | None = None,
    threads: int | None = None,
) -> NDArray[np.float32]:
    """z of every graph, (graphs, d), in the order given; the encoder should be in evaluation mode.

    Chunks of graphs, or the batches of a few chunks, are spread over ``threads``; None: as many as are allowed.
    """
    collection = GraphCollection(graphs)
    z = np.empty((len(collection), encoder.output_size), dtype=np.float32)

    def embed_chunk(start: int) -> None:
        chunk = collection[start : start + _CHUNK]
        z[start : start + len(chunk)] = embed_table(encoder, featurizer.transform(chunk), limits=limits)

    with working_threads(threads):
        map_in_threads(embed_chunk, range(0, len(collection), _CHUNK), parts_are_parallel=True)
    return z


def embed_table(
    encoder: GraphEncoder, table: FeatureTable, *, limits: BatchLimits | None = None
) -> NDArray[np.float32]:
    """z of every graph of a table that is already there."""
    weights = next(encoder.parameters())
    z = np.empty((len(table), encoder.output_size), dtype=np.float32)

    def embed_batch(positions: NDArray[np.int64]) -> None:
        with torch.inference_mode():  # of one thread alone
            batch = to_tensors(table.padded(positions), weights.device, weights.dtype)
            z[positions] = encoder(batch).z.cpu().numpy()

    map_in_threads(embed_batch, group_by_size(table.sizes, limits or BatchLimits()))
    return z
