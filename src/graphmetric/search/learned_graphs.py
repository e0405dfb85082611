"""The graphs of an index as a model sees them: how they are encoded, and their distances from a query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.executors import map_in_order
from graphmetric.distance import Comparison, view_distances
from graphmetric.distance.comparison import PreparedGraphs
from graphmetric.distance.matching import principal_axes, sort_along_axes
from graphmetric.distance.pair_distance import StoredGraphs
from graphmetric.edit_distance.normalize import View
from graphmetric.errors import needs_extra
from graphmetric.graphs.collection import GraphCollection, identity_keys
from graphmetric.graphs.graph import Graph
from graphmetric.index.building import Chunk, GraphDescriber, as_bytes, describe_graphs
from graphmetric.index.folder.lists import InvertedLists
from graphmetric.index.graphs import OpenSegment
from graphmetric.index.segment import Arrays, Positions
from graphmetric.learned.learned_distance import LearnedDistance, model_in_worker

with needs_extra("learn", "an index with a model"):
    import torch
    from torch import Tensor

Floats = NDArray[np.float32]

_ROUNDING = 4e-6
"""The rounding error of single precision, relative to the sum of both distances to the empty graph."""


@dataclass(frozen=True, eq=False)
class Query:
    """One of several queries that were encoded together."""

    side: PreparedGraphs
    """All of them, as the head compares them."""
    row: int
    graph: Graph
    vector: Floats
    """Its index vector."""
    view: View

    @classmethod
    def encode(cls, learned: LearnedDistance, graphs: GraphCollection, view: View) -> list[Query]:
        """Encode all queries in one batch."""
        if len(graphs) == 0:
            return []
        with learned.limited_threads(), torch.inference_mode():
            names = learned.identify(graphs)
            encoded = learned.encode(graphs, names).detached().compacted()
            arrays = learned.cpu_head.index_arrays(encoded)
            node_ptr = torch.cat([encoded.start, encoded.size.sum()[None]])
            side = _read_side(learned, arrays, as_bytes(names), node_ptr)
        both = zip(graphs, arrays["vectors"], strict=True)
        return [cls(side, row, graph, vector, view) for row, (graph, vector) in enumerate(both)]

    @cached_property
    def alone(self) -> PreparedGraphs:
        """This query."""
        return self.side.take(slice(self.row, self.row + 1))


class LearnedSegment:
    """A segment of an open index, ready to be searched by the learned distance."""

    def __init__(self, model: LearnedDistance, opened: OpenSegment) -> None:
        self._model, self._head, self._segment = model, model.cpu_head, opened.segment
        self.lists: InvertedLists | None = opened.lists
        self.offset = opened.offset
        """The position of its first graph among all graphs of the index."""

    def __len__(self) -> int:
        return len(self._segment)

    @property
    def has_bounds(self) -> bool:
        """Return whether distances of vectors are lower bounds of the distance."""
        return self._head.vector_blocks is not None

    @property
    def is_quick(self) -> bool:
        """Return whether a distance is as cheap as a bound, since it compares only vectors."""
        return not self._head.needs_states

    def measure(self, query: Query, positions: Positions) -> Floats:
        """The learned distances to chosen graphs."""
        held, places = self._held(positions, "states")
        return held._compare(query, query.alone).from_only_row(torch.from_numpy(places)).numpy()

    def gaps(self, query: Query, positions: Positions | None = None) -> Floats:
        """Distances of the index vectors of chosen graphs, by default all; see :meth:`DistanceHead.gaps`."""
        vectors = self._segment.arrays["vectors"]
        return self._head.gaps(query.vector, vectors if positions is None else vectors[positions])

    def bound(self, query: Query, gaps: Floats, positions: Positions) -> Floats:
        """Lower bounds of the distances to these graphs, in the view of the query, from the gaps of their vectors."""
        chosen = torch.from_numpy(positions)
        slack = _ROUNDING * (query.alone.to_empty + self._side.to_empty[chosen])
        lower = (torch.from_numpy(gaps) - slack).clamp(min=0)
        if query.view != self._head.scale:
            right = self._without_vectors.take(chosen)
            lower = view_distances(lower, self._head.scale, query.view, query.alone, right)
        return lower.numpy()

    def tighten(self, query: Query, gaps: Floats, positions: Positions) -> Floats:
        """Return the bounds, tightened by all other cheap bounds of the head."""
        held, places = self._held(positions, "states", "axes")
        stored = StoredGraphs(held._side.graphs, held._segment.arrays)
        tight = self._head.tighten(gaps, query.alone.graphs, stored, torch.from_numpy(places))
        return held.bound(query, tight, places)

    def _held(self, positions: Positions, *names: str) -> tuple[LearnedSegment, Positions]:
        """Return a segment with these arrays of some graphs, and their rows in it: this one, or a part read from it."""
        if self._holds_states:
            return self, positions
        chosen, places = np.unique(positions, return_inverse=True)
        part = self._segment.part(chosen, ("certificates", "seen", "vectors", "to_empty", *names))
        return LearnedSegment(self._model, OpenSegment(part)), places

    @property
    def _holds_states(self) -> bool:
        """Return whether all inputs of the head are in memory or memory-mapped."""
        return not (self._head.needs_states and self._segment.reads_rows)

    def _compare(self, query: Query, left: PreparedGraphs) -> Comparison:
        epsilon = self._head.epsilon if self._model.strict else 0.0
        return Comparison(self._head, query.view, left, self._side, epsilon)

    @cached_property
    def _side(self) -> PreparedGraphs:
        """All graphs; without states where these are read in parts."""
        arrays = self._segment.arrays
        if not self._holds_states:
            arrays = {name: arrays[name] for name in ("vectors", "projected", "to_empty", "node_ptr") if name in arrays}
        names = self._segment.names("certificates" if self._model.strict else "seen")
        return _read_side(self._model, arrays, names, torch.from_numpy(arrays["node_ptr"]))

    @cached_property
    def _without_vectors(self) -> PreparedGraphs:
        """Return the inputs of bounds; selecting some of its graphs copies no vectors."""
        graphs = self._side.graphs
        return PreparedGraphs(graphs._replace(z=graphs.z[:, :0]), self._side.to_empty)


def _read_side(
    learned: LearnedDistance,
    arrays: Mapping[str, NDArray[Any]],
    names: NDArray[np.uint8],
    node_ptr: Tensor,
) -> PreparedGraphs:
    """Stored arrays as a side of a comparison, nothing computed anew."""
    head = learned.cpu_head
    number = torch.from_numpy(names[:, :8].copy().view("<i8")[:, 0].astype(np.int64))
    graphs = head.read_arrays(arrays, node_ptr)
    return PreparedGraphs.of(
        graphs, torch.from_numpy(arrays["to_empty"]), number, head.epsilon if learned.strict else 0.0
    )


class SegmentSelection(NamedTuple):
    """The part of a selection that lies in one segment: the first graph of each class that the model sees."""

    segment: LearnedSegment
    positions: Positions
    """Rising, counted from the first graph of the segment."""
    copies: NDArray[np.int64]
    """For each position the number of graphs of the whole index that it stands for."""


class SegmentEncoder(GraphDescriber):
    """Makes what a model adds to a new segment as well."""

    def __init__(self, model: LearnedDistance, basis: Floats | None = None) -> None:
        """``basis`` are the axes; by default those of the first chunk."""
        self._model, self._head, self.basis = model, model.trusted_head, basis

    def describe(self, chunks: Iterator[Chunk], executor: Any = None) -> Iterator[tuple[Chunk, Arrays]]:
        if executor is None:
            return ((chunk, describe_learned(self, chunk.graphs, chunk.certificates)) for chunk in chunks)
        return self._describe_elsewhere(chunks, executor)

    def copy(self, chunks: Iterator[Chunk]) -> Iterator[tuple[Chunk, Arrays]]:
        return ((chunk, self._with_axes(chunk.known, chunk.graphs.sizes)) for chunk in chunks)

    def _describe_elsewhere(self, chunks: Iterator[Chunk], executor: Any) -> Iterator[tuple[Chunk, Arrays]]:
        files = self._model.pack()
        chunks = map(self._checked, chunks)  # warnings of workers are lost
        waits = self._head.sorted_axes and self.basis is None  # for the axes, which the first chunk gives
        for some in (islice(chunks, 1 if waits else 0), chunks):
            work = partial(_describe_in_worker, self._model.digest, self.basis)
            for chunk, found in map_in_order(executor, work, some, Chunk.without_notes, files):
                assert found is not None
                rows, self.basis = found
                yield chunk, rows

    def _checked(self, chunk: Chunk) -> Chunk:
        self._model.warn_of_unfamiliar(chunk.graphs)
        return chunk

    def encode(self, graphs: GraphCollection, certificates: list[str]) -> Arrays:
        """Encode new graphs, given their certificates."""
        with self._model.limited_threads():
            names = self._model.identify(graphs, certificates)
            encoded = self._model.encode(graphs, names).detached().compacted()
            arrays = {**self._head.index_arrays(encoded), "seen": as_bytes(names)}
            return self._with_axes(arrays, graphs.sizes)

    def _with_axes(self, arrays: Arrays, sizes: NDArray[np.int64]) -> Arrays:
        if not (axes := self._head.sorted_axes):
            return arrays
        if self.basis is None:
            self.basis = principal_axes(arrays["states"], axes)
        return arrays | {"axes": sort_along_axes(arrays["states"], sizes, self.basis)}


def describe_learned(encoder: SegmentEncoder, graphs: GraphCollection, certificates: list[str] | None = None) -> Arrays:
    """All that an index with a model keeps beside the columns of graphs."""
    known = identity_keys(graphs) if certificates is None else certificates
    return describe_graphs(graphs, known) | encoder.encode(graphs, known)


def _describe_in_worker(
    digest: str,
    basis: Floats | None,
    files: tuple[bytes, bytes] | None,
    graphs: GraphCollection,
    certificates: list[str] | None = None,
) -> tuple[Arrays, Floats | None] | None:
    """Encode graphs to the arrays of an index, with its axes; None if this worker does not have the model."""
    model = model_in_worker(digest, files)
    if model is None:
        return None
    encoder = SegmentEncoder(model, basis)
    return describe_learned(encoder, graphs, certificates), encoder.basis
