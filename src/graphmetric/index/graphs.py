"""The graphs of an open index: their segments, and selections of eligible graphs.

Graphs are addressed by their position through all segments, removed ones included. Graphs that are equal for a search
form a class: isomorphic ones, or those that a model cannot distinguish. A search evaluates only the first of a class,
and the result holds for all of them.

Embeddings are stored with the graphs, but nothing here calls a model.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidArgument
from graphmetric.formats.molecules import distinctions_in_labels
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import concatenate
from graphmetric.graphs.graph import Graph
from graphmetric.index.building import Chunk
from graphmetric.index.folder.lists import InvertedLists
from graphmetric.index.segment import Classes, Positions, Segment, StoredSegment, find_key

Condition = Mapping[str, Any] | Callable[[Mapping[str, Any]], bool]
"""Values that the metadata of a graph must have, or a function of the metadata."""

_SHOWN_KEYS = 8
_MOST_SEGMENTS, _MOST_REMOVED = 8, 0.25
"""With more segments, or a larger share of removed graphs, saving makes one segment of all."""


class OpenSegment:
    """A segment of an open index."""

    def __init__(
        self, segment: Segment, lists: InvertedLists | None = None, stored: StoredSegment | None = None
    ) -> None:
        self.segment, self.lists, self.stored = segment, lists, stored
        self.alive = np.ones(len(segment), dtype=bool)
        """Mask of the graphs that were not removed."""
        self.offset = 0
        """The position of its first graph among those of all segments."""
        if stored is not None:
            self.alive[list(stored.removed)] = False

    def __len__(self) -> int:
        return len(self.segment)


@dataclass(frozen=True, slots=True, eq=False)
class Selection:
    """Graphs that may be answers, with those taken together in classes that are equal for the search."""

    positions: Positions
    """Rising positions of all of them."""
    numbers: NDArray[np.int64]
    """For each of them the number of its class, which is its place in ``first``."""
    first: Positions
    """Rising positions of the first graph of each class."""
    copies: NDArray[np.int64]
    """The number of graphs in each class, the first one included."""

    @classmethod
    def among(cls, positions: Positions, classes: NDArray[np.int64]) -> Selection:
        """Graphs at rising positions, with their numbers from :func:`number_classes`."""
        found, first, numbers, copies = np.unique(classes, return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(first)
        place = np.empty(len(found), dtype=np.int64)
        place[order] = np.arange(len(found))
        return cls(positions, place[numbers], positions[first[order]], copies[order])

    def __len__(self) -> int:
        return len(self.positions)

    def spread(self, classes: NDArray[np.int64]) -> tuple[Positions, NDArray[np.int64]]:
        """Positions of all graphs of some classes, and for each of them the place of its class among these."""
        if (self.copies[classes] == 1).all():
            return self.first[classes], np.arange(len(classes))
        place = np.full(len(self.first), -1, dtype=np.int64)
        place[classes] = np.arange(len(classes))
        own = place[self.numbers]
        return self.positions[own >= 0], own[own >= 0]

    def find(self, positions: Positions) -> NDArray[np.int64]:
        """The classes of selected graphs."""
        numbers: NDArray[np.int64] = self.numbers[np.searchsorted(self.positions, positions)]
        return numbers


class IndexedGraphs:
    """All segments of an open index."""

    def __init__(self) -> None:
        self.segments: list[OpenSegment] = []
        self._everything: dict[Classes, Selection] = {}  # all graphs, removed ones included
        self._unconditional: dict[tuple[Classes, bool], Selection] = {}  # what may be an answer without a condition
        self._coded: dict[str, CodedFact | None] = {}  # metadata that conditions have asked for

    def append(self, segment: OpenSegment) -> None:
        """Add a segment at the end."""
        segment.offset = self.size
        self.segments.append(segment)
        self._everything, self._unconditional, self._coded = {}, {}, {}

    @property
    def size(self) -> int:
        """The number of graphs, removed ones included."""
        return sum(map(len, self.segments))

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Mask of the graphs that were not removed."""
        return np.concatenate([np.empty(0, dtype=bool), *(one.alive for one in self.segments)])

    def __len__(self) -> int:
        return sum(int(one.alive.sum()) for one in self.segments)

    @property
    def needs_compaction(self) -> bool:
        """Return whether the segments should be merged into one."""
        return len(self.segments) > _MOST_SEGMENTS or len(self) < (1 - _MOST_REMOVED) * self.size

    def ids(self) -> Iterator[Hashable]:
        """The ids of all graphs that were not removed, in the order in which they were added."""
        return (note[0] for note in self.notes())

    def notes(self) -> Iterator[tuple[Hashable, dict[str, Any]]]:
        """Id and metadata of all graphs that were not removed."""
        return chain.from_iterable(one.segment.notes(np.flatnonzero(one.alive)) for one in self.segments)

    def find(self, id: object) -> int | None:
        """The position of a graph by its id; None where there is none."""
        key = find_key(id)
        if key is None:
            return None
        for one in self.segments:
            for k in np.flatnonzero((one.segment.arrays["id_keys"] == key) & one.alive).tolist():
                return one.offset + int(k)
        return None

    @property
    def have_edge_labels(self) -> bool:
        """Return whether any graph has edge labels, removed ones included."""
        return any(one.segment.vocabularies.get("edge_labels") for one in self.segments)

    def distinctions(self) -> dict[str, str]:
        """What the labels show molecules to have been distinguished by, with examples, removed graphs included."""
        found: dict[str, str] = {}
        for one in self.segments:
            labels = one.segment.vocabularies
            found = distinctions_in_labels(labels.get("node_labels"), labels.get("edge_labels")) | found
        return found

    def remove(self, positions: Positions) -> None:
        """Mark graphs as removed."""
        self._unconditional = {}
        for one, own in self.split(np.sort(positions)):
            one.alive[own] = False

    def check_new_ids(self, segment: Segment) -> None:
        """Raise where a new segment has an id twice, or one that is taken."""
        new = segment.arrays["id_keys"]
        taken = [one.segment.arrays["id_keys"][one.alive] for one in self.segments]
        keys = np.concatenate([*taken, new])
        _, first, occurs = np.unique(keys, return_index=True, return_counts=True)
        if (occurs > 1).any():
            key = keys[first[occurs > 1][0]]
            name = segment.note(int(np.flatnonzero(new == key)[-1]))[0]
            there = "is in the index already" if np.count_nonzero(new == key) == 1 else "occurs twice"
            raise InvalidArgument(
                f"id {name!r} {there}; ids tell graphs apart: pass others as ids=, or number them (--number)"
            )

    def hits(self, positions: Iterable[int]) -> list[tuple[Hashable, Callable[[], Graph]]]:
        """For each of a few graphs its id and a function that makes it, also after the index has changed."""
        places = [(self._at(position), position) for position in positions]
        found: dict[int, tuple[Hashable, Callable[[], Graph]]] = {}
        for one in self.segments:
            own = [position for home, position in places if home is one]
            found |= zip(own, one.segment.hits([position - one.offset for position in own]), strict=True)
        return [found[position] for _, position in places]

    def loader(self, position: int) -> Callable[[], Graph]:
        """A function that makes a graph with id and metadata; it works also after the index has changed."""
        one = self._at(position)
        return partial(one.segment.graph, position - one.offset)

    def collection(self, positions: Positions) -> GraphCollection:
        """Graphs at rising positions, without ids and metadata."""
        if not self.segments:
            return GraphCollection()
        parts = [one.segment.collection(own).columns for one, own in self.split(positions)]
        return GraphCollection._of(concatenate(parts))

    def per_graph(self, name: str) -> NDArray[np.int64]:
        """An array of all segments, "sizes" or "edge_counts", end to end."""
        parts = (getattr(one.segment, name) for one in self.segments)
        return np.concatenate([np.empty(0, dtype=np.int64), *parts])

    def select(
        self, where: Condition | None = None, distinct: bool = False, classes: Classes = "certificates"
    ) -> Selection:
        """Select graphs that were not removed and meet a condition; with ``distinct``, one of each isomorphism class.

        They are grouped into classes of isomorphic graphs ("certificates"), or of graphs that the model of the index
        cannot distinguish ("seen").
        """
        if where is None and (classes, distinct) in self._unconditional:
            return self._unconditional[classes, distinct]
        chosen = self.alive
        if where is not None:
            chosen &= self._meets(where)
        if distinct:
            chosen = np.isin(np.arange(self.size), self._divide(chosen, "certificates").first)
        found = self._divide(chosen, classes)
        if where is None:
            self._unconditional[classes, distinct] = found
        return found

    def near(
        self, vector: NDArray[np.float32], count: int, where: Condition | None
    ) -> tuple[IndexedGraphs, int] | None:
        """Return graphs with about the nearest vectors among those that meet a condition, and the number that meet it.

        None if the store has no index of vectors.
        """
        return None

    def split(self, positions: Positions, *others: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
        """For each segment: itself, its part of rising positions, counted from its first graph, and of other arrays."""
        starts = np.searchsorted(positions, [one.offset for one in self.segments])
        parts = (np.split(array, starts)[1:] for array in (positions, *others))
        for one, own, *rest in zip(self.segments, *parts, strict=True):
            yield one, own - one.offset, *rest

    def chunks(self) -> Iterator[Chunk]:
        """All graphs that were not removed, in chunks, at least one."""
        for one in [one for one in self.segments if one.alive.any()] or self.segments[:1]:
            alive = np.flatnonzero(one.alive)
            yield from Chunk.of_segment(one.segment, alive)

    def _meets(self, where: Condition) -> NDArray[np.bool_]:
        """Return a mask of the graphs that meet a condition, removed ones included."""
        if not isinstance(where, Mapping):
            return matches(where, self._metadata())
        meets = np.ones(self.size, dtype=bool)
        for key, value in where.items():
            coded = self._code(key)
            if coded is None:
                return matches(where, self._metadata())
            meets &= coded.equals(value)
        return meets

    def _code(self, key: Any) -> CodedFact | None:
        """A fact of all graphs as codes; None if no graph has it, or values cannot be numbered."""
        if not isinstance(key, str):
            return None
        if key not in self._coded:
            self._coded[key] = CodedFact.of(key, self._metadata())
        return self._coded[key]

    def _metadata(self) -> list[dict[str, Any]]:
        return [facts for one in self.segments for facts in one.segment.metadata]

    def _divide(self, chosen: NDArray[np.bool_], classes: Classes) -> Selection:
        """The graphs of a mask, in classes."""
        if classes not in self._everything:
            names = [one.segment.names(classes) for one in self.segments]
            numbers = number_classes(np.concatenate([np.empty((0, 16), dtype=np.uint8), *names]))
            self._everything[classes] = Selection.among(np.arange(self.size), numbers)
        everything = self._everything[classes]
        if chosen.all():
            return everything
        positions = np.flatnonzero(chosen)
        return Selection.among(positions, everything.numbers[positions])

    def _at(self, position: int) -> OpenSegment:
        return self.segments[bisect_right(self.segments, position, key=attrgetter("offset")) - 1]


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


@dataclass(frozen=True, eq=False)
class CodedFact:
    """One key of the metadata of all graphs, with a number for each value, so that a condition compares numbers."""

    numbers: dict[Any, int]
    """The number of each value; values that are equal in Python, such as 1 and True, have one."""
    codes: NDArray[np.int32]
    """For each graph the number of its value; -1 if it has none."""

    @classmethod
    def of(cls, key: str, metadata: list[dict[str, Any]]) -> CodedFact | None:
        numbers: dict[Any, int] = {}
        try:
            found = [numbers.setdefault(facts[key], len(numbers)) if key in facts else -1 for facts in metadata]
        except TypeError:  # a list or a table
            return None
        return cls(numbers, np.array(found, dtype=np.int32)) if numbers else None

    def equals(self, value: Any) -> NDArray[np.bool_]:
        """Return a mask of the graphs that have this value."""
        try:
            number = self.numbers.get(value.item() if isinstance(value, np.generic) else value, -2)
        except TypeError:  # a list or a table, which no graph has
            number = -2
        found: NDArray[np.bool_] = self.codes == number
        return found


def matches(condition: Condition, metadata: list[dict[str, Any]]) -> NDArray[np.bool_]:
    """Return a mask of the graphs that meet a condition; raises if it is malformed or names a key that no graph has."""
    if callable(condition):
        holds = condition
    elif isinstance(condition, Mapping):
        known = dict.fromkeys(key for facts in metadata for key in facts)
        unknown = [key for key in condition if key not in known]
        if unknown and metadata:
            shown = [repr(key) for key in islice(known, _SHOWN_KEYS)] + ["..."] * (len(known) > _SHOWN_KEYS)
            there = f"the keys are: {', '.join(shown)}" if known else "its graphs have no metadata"
            raise InvalidArgument(f"no graph of the index has metadata {', '.join(map(repr, unknown))}; {there}")
        missing = object()
        wanted = {key: value.item() if isinstance(value, np.generic) else value for key, value in condition.items()}

        def holds(facts: Mapping[str, Any]) -> bool:
            return all(facts.get(key, missing) == value for key, value in wanted.items())
    else:
        raise InvalidArgument(f"where takes a mapping of metadata or a function of it; got {condition!r}")
    return np.fromiter((bool(holds(facts)) for facts in metadata), dtype=bool, count=len(metadata))
