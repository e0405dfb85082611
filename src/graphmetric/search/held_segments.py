"""The segments of an open index, which graphs of them count, and where a graph is among all."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import concatenate
from graphmetric.graphs.graph import Graph
from graphmetric.learned_distance import LearnedDistance
from graphmetric.search.distinct_graphs import DistinctGraphs, number_classes
from graphmetric.search.encoding import CHUNK, sort_within
from graphmetric.search.index_files import StoredSegment
from graphmetric.search.queries import Condition, check_condition, matches
from graphmetric.search.segment import EncodedChunk, Segment, SegmentBuilder, id_keys
from graphmetric.search.space import Group, SegmentSpace
from graphmetric.search.vector_index import ListIndex

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
