"""The segments of an open index, which graphs of them count, and where a graph is among all.

Graphs of an index with isomorphic ones taken together: what is true of the first is true of its copies.

The learned distance from a query to the graphs of a segment, and lower bounds of it that cost less.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from graphmetric.distance import (
    BlockNorm,
    Comparison,
    EdgeMatching,
    Matching,
    PairDistance,
    Representation,
    View,
    view_distances,
)
from graphmetric.distance._kernels.matching import AxisValues, add_axis_gaps
from graphmetric.distance.comparison import Extent, Side, Unsolved
from graphmetric.errors import InvalidArgument, WorkBudgetExceeded
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import concatenate
from graphmetric.graphs.graph import Graph
from graphmetric.index.encoding import CHUNK, as_bytes, represent, sort_within
from graphmetric.index.index_files import StoredSegment
from graphmetric.index.queries import Condition, check_condition, matches
from graphmetric.index.segment import Arrays, EncodedChunk, Segment, SegmentBuilder, id_keys
from graphmetric.index.vector_index import ListIndex, scan
from graphmetric.learned.learned_distance import LearnedDistance
from graphmetric.model import link_graphs


@dataclass(frozen=True, slots=True, eq=False)
class DistinctGraphs:
    """The first graph of each class among those that are allowed as answers."""

    positions: Positions
    """Of all graphs that are allowed, rising."""
    numbers: NDArray[np.int64]
    """For each of them the number of its class, which is its place in ``first``."""
    first: Positions
    """Rising positions of the first graphs."""
    copies: NDArray[np.int64]
    """How many graphs are in each class, the first one included."""

    @classmethod
    def among(cls, positions: Positions, classes: NDArray[np.int64]) -> DistinctGraphs:
        """Graphs at rising positions, with their numbers from :func:`number_classes`."""
        found, first, numbers, copies = np.unique(classes, return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(first)
        place = np.empty(len(found), dtype=np.int64)
        place[order] = np.arange(len(found))
        return cls(positions, place[numbers], positions[first[order]], copies[order])

    def spread(self, classes: NDArray[np.int64]) -> tuple[Positions, NDArray[np.int64]]:
        """Positions of all graphs of some classes, and for each of them the place of its class among these."""
        if (self.copies[classes] == 1).all():
            return self.first[classes], np.arange(len(classes))
        place = np.full(len(self.first), -1, dtype=np.int64)
        place[classes] = np.arange(len(classes))
        own = place[self.numbers]
        return self.positions[own >= 0], own[own >= 0]

    def find(self, positions: Positions) -> NDArray[np.int64]:
        """The classes of graphs that are allowed."""
        numbers: NDArray[np.int64] = self.numbers[np.searchsorted(self.positions, positions)]
        return numbers


def number_classes(certificates: NDArray[np.uint8]) -> NDArray[np.int64]:
    """For each graph the number of its certificate, (graphs, 16) bytes."""
    high, low = np.ascontiguousarray(certificates).view("<u8").reshape(-1, 2).T
    order = np.lexsort((low, high))
    high, low = high[order], low[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    numbers = np.empty(len(order), dtype=np.int64)
    numbers[order] = np.cumsum(is_new)
    return numbers


def match_nodes(graph: Graph, copy: Graph) -> NDArray[np.int64]:
    """For each node of a graph its counterpart in a graph of the same certificate."""
    counterpart = np.arange(graph.num_nodes)
    with suppress(WorkBudgetExceeded):  # certificates of so regular graphs tell numberings apart: these are the same
        counterpart[graph.canonical_order()] = copy.canonical_order()
    return counterpart


_ROUNDING = 4e-6
"""Of single precision, relative to the sum of the norms of all states, which bounds every number on the way."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """Encoded queries, of which one is looked at."""

    arrays: Arrays
    side: Side
    row: int
    view: View
    unsolved: Unsolved = field(default_factory=Unsolved)
    """Of the distances that were measured from it."""

    @property
    def vector(self) -> Floats:
        """What the vector index is asked for."""
        return self.arrays["vectors"][self.row]  # type: ignore[no-any-return]

    @property
    def states(self) -> Floats:
        """Of its nodes."""
        start, size = int(self.side.graphs.start[self.row]), int(self.side.graphs.size[self.row])
        return self.arrays["states"][start : start + size]


def encode_queries(learned: LearnedDistance, graphs: GraphCollection, view: View) -> list[Query]:
    """All queries in one batch."""
    head = learned.cpu_head
    with learned.limited_threads():
        encoded = learned.encode(graphs).detached().compacted()
        arrays = represent(head, encoded)
    arrays["certificates"] = as_bytes(learned.identify(graphs))
    pointers = torch.cat([encoded.start, encoded.size.sum()[None]])
    side = _side(head, arrays, pointers, encoded.links, learned.strict)
    return [Query(arrays, side, row, view) for row in range(len(graphs))]


class Group(NamedTuple):
    """What a search looks at in a segment: of isomorphic graphs only the first, which stands for all of them."""

    space: SegmentSpace
    offset: int
    """The position of the first graph of the segment among all graphs of the index."""
    positions: Positions
    """Rising, within the segment."""
    copies: NDArray[np.int64]
    """For each position how many graphs of the whole index it stands for."""


class SegmentSpace:
    """A segment, ready to be searched by the learned distance."""

    def __init__(self, learned: LearnedDistance, segment: Segment, lists: ListIndex | None) -> None:
        self.head, self.segment, self.lists = learned.cpu_head, segment, lists
        self._learned = learned

    @cached_property
    def _side(self) -> Side:
        arrays = dict(self.segment.arrays)
        seen = self.segment.graphs.without(self._learned.costs.ignore)
        links = link_graphs(self._learned.featurizer, seen) if self.head.needs_links else None
        return _side(self.head, arrays, torch.from_numpy(arrays["node_ptr"]), links, self._learned.strict)

    @property
    def bounds_exist(self) -> bool:
        """Whether the distance of vectors is a lower bound; under a block norm it is the distance, rounding aside."""
        return isinstance(self.head, Matching | BlockNorm)

    def __len__(self) -> int:
        return len(self.segment)

    def measure(self, query: Query, positions: Positions) -> Floats:
        """The learned distances to chosen graphs."""
        return self.measure_pairs(query, np.full(len(positions), query.row), positions)

    def measure_pairs(self, query: Query, rows: Positions, positions: Positions) -> Floats:
        """The same from several queries that were encoded together with this one, at once."""
        epsilon = self.head.epsilon if self._learned.strict else 0.0
        comparison = Comparison(self.head, query.view, query.side, self._side, epsilon, query.unsolved)
        return comparison.of_pairs(torch.from_numpy(np.column_stack([rows, positions]))).numpy()

    def gaps(self, query: Query, positions: Positions | None = None) -> Floats:
        """Distances of the vectors of chosen graphs, by default all; where bounds exist, no raw distance is below."""
        vectors = self.segment.arrays["vectors"]
        return scan(vectors if positions is None else vectors[positions], query.vector, self._blocks)

    @property
    def _blocks(self) -> int:
        if isinstance(self.head, Matching):
            return self.head.heads
        return self.head.blocks if isinstance(self.head, BlockNorm) else 1

    def bound(self, query: Query, gaps: Floats, positions: Positions) -> Floats:
        """Lower bounds of the distances to these graphs, in the view of the query, from the gaps of their vectors."""
        left = Extent(*(part[query.row] for part in query.side.extent))
        right = Extent(*(part[torch.from_numpy(positions)] for part in self._side.extent))
        slack = _ROUNDING * (left.to_empty + right.to_empty)
        raw = (torch.from_numpy(gaps) - slack).clamp(min=0)
        return view_distances(raw, self.head.scale, query.view, left, right).numpy()

    def tighten(self, query: Query, gaps: Floats, positions: Positions) -> Floats:
        """The same from the sorted states of these graphs along a few axes; see ``_kernels/axis_gaps.py``.

        An edge matching takes a hundred times as long as the matching of its states, which bounds it better still.
        """
        if isinstance(self.head, EdgeMatching):
            chosen = self._side.graphs.take(torch.from_numpy(positions))
            matched = Matching().compare(query.side.graphs.take(slice(query.row, query.row + 1)), chosen)
            return self.bound(query, np.maximum(gaps, matched.numpy()), positions)
        arrays = self.segment.arrays
        if "axes" not in arrays:
            return self.bound(query, gaps, positions)
        states = query.states
        own = sort_within(states @ arrays["basis"], np.array([len(states)]))
        more = np.empty(len(positions))
        add_axis_gaps(own, AxisValues(arrays["axes"], arrays["node_ptr"]), positions, more)
        squared = np.square(gaps, dtype=np.float64) + more
        return self.bound(query, np.sqrt(np.maximum(squared, 0)).astype(np.float32), positions)


def _side(head: PairDistance, arrays: Arrays, node_ptr: Tensor, links: Tensor | None, strict: bool) -> Side:
    """Arrays of a segment as the comparison of collections has them, nothing computed anew."""
    start, size = node_ptr[:-1], node_ptr.diff()
    vectors = torch.from_numpy(arrays["vectors"])
    z = vectors[:, :0] if isinstance(head, Matching) else torch.from_numpy(arrays.get("projected", arrays["vectors"]))
    rows = torch.from_numpy(arrays["states"]) if "states" in arrays else vectors[:0]
    to_empty = torch.from_numpy(arrays["to_empty"])
    number = torch.from_numpy(arrays["certificates"][:, :8].copy().view("<i8")[:, 0].astype(np.int64))
    if strict:  # as Comparison.prepare has it
        to_empty = torch.where(size > 0, to_empty + head.epsilon, 0.0)
    return Side(Representation(z, rows, start, size, links), Extent(size.to(to_empty), to_empty), number)


Positions = NDArray[np.int64]


class Held:
    """One segment and what is known about it."""

    def __init__(
        self, learned: LearnedDistance, segment: Segment, lists: ListIndex | None, stored: StoredSegment | None
    ) -> None:
        self.segment, self.stored = segment, stored
        self.space = SegmentSpace(learned, segment, lists)
        self.alive = np.ones(len(segment), dtype=bool)
        """Which graphs were not removed."""
        self.offset = 0
        """The position of its first graph among those of all segments."""
        if stored is not None:
            self.alive[list(stored.removed)] = False

    def described(self) -> StoredSegment:
        """For the description of the index."""
        assert self.stored is not None
        return replace(self.stored, removed=tuple(np.flatnonzero(~self.alive).tolist()))


@dataclass(frozen=True, slots=True, eq=False)
class Allowed:
    """Graphs that may be answers: a mask for each segment, None where all may."""

    masks: list[NDArray[np.bool_] | None]
    count: int
    whole: NDArray[np.bool_] | None
    """The masks end to end; None where all graphs may."""
    distinct: DistinctGraphs
    """The graphs that may, with isomorphic ones taken together."""


class HeldSegments:
    """All segments; graphs are addressed by their position through all of them, the removed ones included."""

    def __init__(self, segments: list[Held]) -> None:
        self.segments: list[Held] = []
        self._distinct: DistinctGraphs | None = None
        self._unconditional: Allowed | None = None  # what is allowed without a condition, until graphs come or go
        for held in segments:
            self.append(held)

    def append(self, held: Held) -> None:
        """At the end."""
        held.offset = self.size
        self.segments.append(held)
        self._distinct = self._unconditional = None

    @property
    def size(self) -> int:
        """Graphs, the removed ones included."""
        return sum(len(held.segment) for held in self.segments)

    @property
    def count(self) -> int:
        """Graphs that count."""
        return sum(int(held.alive.sum()) for held in self.segments)

    def positions(self) -> Positions:
        """Of all graphs that count."""
        return np.flatnonzero(np.concatenate([np.empty(0, dtype=bool), *(held.alive for held in self.segments)]))

    def crowded(self, most_segments: int, most_removed: float) -> bool:
        """Whether searches pay for too many segments or removed graphs."""
        return len(self.segments) > most_segments or self.count < (1 - most_removed) * self.size

    def find(self, id: object) -> int | None:
        """The position of a graph by its id; None where there is none."""
        name: Any = id.item() if isinstance(id, np.generic) else id
        (key,) = id_keys([name])
        for held in self.segments:
            for k in np.flatnonzero((held.segment.arrays["id_keys"] == key) & held.alive).tolist():
                return held.offset + int(k)
        return None

    def remove(self, positions: Positions) -> None:
        """Mark graphs as removed."""
        self._unconditional = None
        for held in self.segments:
            own = positions[(positions >= held.offset) & (positions < held.offset + len(held.segment))]
            held.alive[own - held.offset] = False

    def check_new_ids(self, segment: Segment) -> None:
        """Raise where a new segment has an id twice, or one that is taken."""
        new = segment.arrays["id_keys"]
        taken = [held.segment.arrays["id_keys"][held.alive] for held in self.segments]
        keys = np.concatenate([*taken, new])
        _, first, occurs = np.unique(keys, return_index=True, return_counts=True)
        if (occurs > 1).any():
            key = keys[first[occurs > 1][0]]
            name = segment.note(int(np.flatnonzero(new == key)[-1]))[0]
            there = "is in the index already" if np.count_nonzero(new == key) == 1 else "occurs twice"
            raise InvalidArgument(
                f"id {name!r} {there}; ids tell graphs apart: pass others as ids=, or number them (--number)"
            )

    def note(self, position: int) -> tuple[Hashable, dict[str, Any]]:
        """Id and metadata."""
        held = self._at(position)
        return held.segment.note(position - held.offset)

    def graph(self, position: int) -> Graph:
        """With id and metadata."""
        held = self._at(position)
        return held.segment.graph(position - held.offset)

    def named(self, position: int) -> tuple[Hashable, Callable[[], Graph]]:
        """The id of a graph, and what makes the graph."""
        return self.note(position)[0], self.loader(position)

    def loader(self, position: int) -> Callable[[], Graph]:
        """What makes a graph; that works also after the index has changed."""
        held = self._at(position)
        return partial(held.segment.graph, position - held.offset)

    def collection(self, positions: Positions) -> GraphCollection:
        """Graphs at rising positions, without ids and metadata."""
        parts = []
        for held in self.segments:
            own = positions[(positions >= held.offset) & (positions < held.offset + len(held.segment))]
            parts.append(held.segment.graphs[own - held.offset].columns)
        return GraphCollection._of(concatenate(parts))

    def allowed(self, where: Condition | None, distinct: bool) -> Allowed:
        """Graphs that count, meet a condition and, if only distinct ones are wanted, are the first of their class."""
        if where is not None or distinct:
            return self._choose(where, distinct)
        self._unconditional = self._unconditional or self._choose(None, False)
        return self._unconditional

    def groups(self, allowed: Allowed) -> list[Group]:
        """What a search by the learned distance looks at in each segment."""
        distinct, starts = allowed.distinct, [held.offset for held in self.segments[1:]]
        ends = np.searchsorted(distinct.first, starts)
        parts = zip(self.segments, np.split(distinct.first, ends), np.split(distinct.copies, ends), strict=True)
        return [Group(held.space, held.offset, first - held.offset, copies) for held, first, copies in parts]

    def _choose(self, where: Condition | None, distinct: bool) -> Allowed:
        masks = [held.alive for held in self.segments]
        if where is not None:
            if self.size:
                check_condition(where, (facts for held in self.segments for facts in held.segment.metadata))
            masks = [
                mask & matches(where, held.segment.metadata) for mask, held in zip(masks, self.segments, strict=True)
            ]
        whole = np.concatenate([np.empty(0, dtype=bool), *masks])
        if distinct:
            first = self.distinct(whole).first
            whole = np.zeros(len(whole), dtype=bool)
            whole[first] = True
        if whole.all():
            return Allowed([None] * len(masks), len(whole), None, self.distinct(None))
        ends = np.cumsum([len(mask) for mask in masks])[:-1]
        return Allowed(list(np.split(whole, ends)), int(whole.sum()), whole, self.distinct(whole))

    def distinct(self, allowed: NDArray[np.bool_] | None) -> DistinctGraphs:
        """The graphs of a mask, by default all, with isomorphic ones taken together."""
        if self._distinct is None:
            certificates = [held.segment.arrays["certificates"] for held in self.segments]
            classes = number_classes(np.concatenate([np.empty((0, 16), dtype=np.uint8), *certificates]))
            self._distinct = DistinctGraphs.among(np.arange(self.size), classes)
        if allowed is None:
            return self._distinct
        positions = np.flatnonzero(allowed)
        return DistinctGraphs.among(positions, self._distinct.numbers[positions])

    def _at(self, position: int) -> Held:
        return next(held for held in reversed(self.segments) if held.offset <= position)


def merge_segments(held: HeldSegments) -> Segment:
    """One segment with all graphs that count; nothing is encoded anew."""
    builder = SegmentBuilder()
    basis = held.segments[0].segment.arrays.get("basis")
    for one in held.segments:
        for chunk in _chunks_of(one, basis):
            builder.append(chunk)
    if basis is not None:
        builder.keep("basis", basis)
    return builder.finish()


def _chunks_of(held: Held, basis: NDArray[np.float32] | None) -> Iterator[EncodedChunk]:
    segment, alive = held.segment, np.flatnonzero(held.alive)
    for start in range(0, max(1, len(alive)), CHUNK):
        chosen = alive[start : start + CHUNK]
        graphs = segment.graphs[chosen]
        notes = [segment.note(k) for k in chosen.tolist()]
        names = ("vectors", "projected", "to_empty", "certificates")
        learned = {name: segment.arrays[name][chosen] for name in names if name in segment.arrays}
        if "states" in segment.arrays:
            nodes = np.repeat(np.isin(np.arange(len(segment)), chosen), segment.graphs.sizes)
            learned["states"] = segment.arrays["states"][nodes]
        if basis is not None:
            learned["axes"] = sort_within(learned["states"] @ basis, graphs.sizes)
        columns = replace(graphs.columns, metadata=tuple(facts for _, facts in notes))
        yield EncodedChunk(columns, [id for id, _ in notes], learned)
