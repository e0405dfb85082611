"""Graphs on their way into a segment: encoded by the model, certified and counted, a chunk at a time."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.progress import progress
from graphmetric.distance.matching import principal_axes, sort_along_axes
from graphmetric.errors import InvalidArgument
from graphmetric.formats.conversion import as_graphs
from graphmetric.graphs.collection import GraphCollection
from graphmetric.index.segment import Segment, SegmentBuilder
from graphmetric.learned.learned_distance import LearnedDistance, identify_graphs

CHUNK = 4096
"""Graphs encoded at a time."""


def encode_segment(
    learned: LearnedDistance,
    builder: SegmentBuilder,
    graphs: Any,
    ids: Iterable[Hashable] | None,
    numbers: Iterator[int],
) -> Segment:
    """Encode all graphs into a segment; a graph without an id gets the next number."""
    head, basis = learned.cpu_head, None
    names = None if ids is None else iter(ids)
    with progress("indexing", len(graphs) if hasattr(graphs, "__len__") else 0, "graphs") as bar:
        for chunk in _in_chunks(graphs):
            own = [graph.id for graph in chunk] if names is None else list(islice(names, len(chunk)))
            if len(own) != len(chunk):
                raise InvalidArgument("there are fewer ids than graphs; each graph has one")
            with learned.limited_threads():
                arrays = dict(head.index_arrays(learned.encode(chunk).detached().compacted()))
            if head.sorted_axes:
                basis = principal_axes(arrays["states"], head.sorted_axes) if basis is None else basis
                arrays["axes"] = sort_along_axes(arrays["states"], chunk.sizes, basis)
            arrays["certificates"] = certify(chunk)
            builder.append(chunk.columns, [next(numbers) if name is None else name for name in own], arrays)
            bar.advance(len(chunk))
    return builder.finish(basis=basis)


def certify(graphs: GraphCollection) -> NDArray[np.uint8]:
    """(graphs, 16): certificates; a graph too regular for one gets a digest that its other numberings do not share."""
    return as_bytes(identify_graphs(graphs))


def as_bytes(certificates: list[str]) -> NDArray[np.uint8]:
    """Certificates as an index keeps them."""
    return np.frombuffer(bytes.fromhex("".join(certificates)), dtype=np.uint8).reshape(-1, 16)


def _in_chunks(graphs: Any) -> Iterator[GraphCollection]:
    """Graphs of any kind in chunks, at least one; at most one chunk of an iterator exists at a time."""
    if isinstance(graphs, Iterator):
        chunk = list(islice(graphs, CHUNK))
        yield as_graphs(chunk)
        while chunk := list(islice(graphs, CHUNK)):
            yield as_graphs(chunk)
        return
    collection = as_graphs(graphs)
    for start in range(0, max(1, len(collection)), CHUNK):
        yield collection[start : start + CHUNK]
