"""Representations of a whole collection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from graphmetric.encoder.graph_encoder import GraphEncoder
from graphmetric.encoder.tensors import to_tensors
from graphmetric.features import BatchLimits, FeatureTable, GraphFeaturizer
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph

Result = TypeVar("Result")

_CHUNK = 4096
"""Graphs whose features exist at a time, per thread: memory does not grow with the collection."""


def embed_graphs(
    featurizer: GraphFeaturizer,
    encoder: GraphEncoder,
    graphs: Iterable[Graph],
    *,
    limits: BatchLimits | None = None,
    threads: int = 1,
) -> NDArray[np.float32]:
    """z of every graph, (graphs, d), in the order given; the encoder should be in evaluation mode.

    Chunks of graphs are spread over ``threads``, each of which computes on its own: for matrices as small as those of
    graphs this is faster than several threads within each product.
    """
    collection = GraphCollection(graphs)
    z = np.empty((len(collection), encoder.output_size), dtype=np.float32)

    def embed_chunk(start: int) -> None:
        chunk = collection[start : start + _CHUNK]
        z[start : start + len(chunk)] = embed_table(encoder, featurizer.transform(chunk), limits=limits)

    map_in_threads(embed_chunk, range(0, len(collection), _CHUNK), threads)
    return z


def map_in_threads(work: Callable[[int], Result], starts: Sequence[int], threads: int) -> list[Result]:
    """``work`` of every start, in order; several threads have one thread of torch each, one has all of them."""
    if threads <= 1 or len(starts) <= 1:
        return [work(start) for start in starts]
    before = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            return list(pool.map(work, starts))
    finally:
        torch.set_num_threads(before)


def embed_table(
    encoder: GraphEncoder, table: FeatureTable, *, limits: BatchLimits | None = None
) -> NDArray[np.float32]:
    """z of every graph of a table that is already there."""
    weights = next(encoder.parameters())
    z = np.empty((len(table), encoder.output_size), dtype=np.float32)
    with torch.inference_mode():
        for positions, batch in table.batches(limits):
            z[positions] = encoder(to_tensors(batch, weights.device, weights.dtype)).z.cpu().numpy()
    return z
