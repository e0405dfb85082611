"""From graphs to the chunks of a segment: encoded by the model, certified, counted."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from graphmetric._foundation.progress import progress
from graphmetric.distance import BlockNorm, EdgeMatching, Matching, PairDistance, Representation
from graphmetric.errors import InvalidArgument
from graphmetric.formats.conversion import as_graphs
from graphmetric.graphs.collection import GraphCollection
from graphmetric.index.segment import Arrays, EncodedChunk, Segment, SegmentBuilder
from graphmetric.learned.learned_distance import LearnedDistance, identify_graphs

CHUNK = 4096
"""Graphs encoded at a time."""
AXES = 8
"""Along which states are kept sorted: with more, hardly fewer graphs pass the bound."""

Floats = NDArray[np.float32]


class ChunkEncoder:
    """Encodes graphs for one segment; its axes are settled by the first chunk."""

    def __init__(self, learned: LearnedDistance) -> None:
        self._learned, self._head = learned, learned.cpu_head
        self._basis: Floats | None = None

    def encode(self, graphs: GraphCollection, ids: list[Hashable]) -> EncodedChunk:
        """What the index keeps of these graphs."""
        with self._learned.limited_threads():
            learned = represent(self._head, self._learned.encode(graphs).detached().compacted())
        if isinstance(self._head, Matching) and self._head.heads == 1 and not isinstance(self._head, EdgeMatching):
            learned["axes"] = sort_within(learned["states"] @ self._axes_of(learned["states"]), graphs.sizes)
        learned["certificates"] = certify(graphs)
        return EncodedChunk(graphs.columns, ids, learned)

    @property
    def basis(self) -> Floats | None:
        """(d, axes), orthonormal; None where the head has no use for it."""
        return self._basis

    def _axes_of(self, states: Floats) -> Floats:
        """The directions in which the states spread most."""
        if self._basis is None:
            _, vectors = np.linalg.eigh(states.T.astype(np.float64) @ states)
            self._basis = np.ascontiguousarray(vectors[:, ::-1][:, :AXES], dtype=np.float32)
        return self._basis


def encode_segment(
    learned: LearnedDistance,
    builder: SegmentBuilder,
    graphs: Any,
    ids: Iterable[Hashable] | None,
    numbers: Iterator[int],
) -> Segment:
    """Run all graphs through the model; one that has no name gets the next number."""
    encoder = ChunkEncoder(learned)
    names = None if ids is None else iter(ids)
    with progress("indexing", len(graphs) if hasattr(graphs, "__len__") else 0, "graphs") as bar:
        for chunk in in_chunks(graphs):
            own = [graph.id for graph in chunk] if names is None else list(islice(names, len(chunk)))
            if len(own) != len(chunk):
                raise InvalidArgument("there are fewer ids than graphs; each graph has one")
            given = [next(numbers) if name is None else name for name in own]
            builder.append(encoder.encode(chunk, given))
            bar.advance(len(chunk))
    if encoder.basis is not None:
        builder.keep("basis", encoder.basis)
    return builder.finish()


@torch.no_grad()
def represent(head: PairDistance, encoded: Representation) -> Arrays:
    """The arrays that distances are computed from later; see :mod:`graphmetric.index.segment`."""
    arrays = {"to_empty": head.distance_to_empty(encoded).numpy()}
    if any(isinstance(part, Matching) for part in head.modules()):
        arrays["states"] = encoded.rows.numpy()
    if isinstance(head, Matching):
        return arrays | {"vectors": head.pool(encoded).numpy()}
    projected = head.project(encoded.z).numpy()
    if isinstance(head, BlockNorm):
        return arrays | {"vectors": projected}
    return arrays | {"vectors": encoded.z.numpy(), "projected": projected}


def sort_within(values: Floats, sizes: NDArray[np.int64]) -> Floats:
    """Every column rising within the rows of each graph."""
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return np.stack([column[np.lexsort((column, owner))] for column in values.T], axis=1)


def certify(graphs: GraphCollection) -> NDArray[np.uint8]:
    """(graphs, 16): certificates; of a graph too regular for one, a digest that other numberings do not share."""
    return as_bytes(identify_graphs(graphs))


def as_bytes(texts: list[str]) -> NDArray[np.uint8]:
    """Certificates as the index keeps them."""
    return np.frombuffer(bytes.fromhex("".join(texts)), dtype=np.uint8).reshape(-1, 16)


def in_chunks(graphs: Any) -> Iterator[GraphCollection]:
    """Graphs of any kind, a chunk at a time and at least one, if empty. Of an iterator no more than a chunk exists."""
    if isinstance(graphs, Iterator):
        chunk = list(islice(graphs, CHUNK))
        yield as_graphs(chunk)
        while chunk := list(islice(graphs, CHUNK)):
            yield as_graphs(chunk)
        return
    collection = as_graphs(graphs)
    for start in range(0, max(1, len(collection)), CHUNK):
        yield collection[start : start + CHUNK]
