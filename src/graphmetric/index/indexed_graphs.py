"""The graphs of an open index: how they are stored in segments, and which of them count.

Graphs are addressed by their position through all segments, removed ones included. Graphs that are equal for a search
are taken together in a class: isomorphic ones, or those that a model does not tell apart. What is true of the first of
them is true of all, so a search looks at the first alone.

What a model makes of the graphs is stored beside them, but nothing here asks a model.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.executors import map_in_order
from graphmetric.edit_distance.collection_bounds import digest_branches
from graphmetric.errors import InvalidArgument
from graphmetric.formats.conversion import as_graphs
from graphmetric.formats.molecules import MoleculeOptions
from graphmetric.formats.values import shortened
from graphmetric.graphs.collection import GraphCollection, identify_graphs
from graphmetric.graphs.columns import concatenate
from graphmetric.graphs.graph import Graph
from graphmetric.index.segment import Arrays, Classes, Segment, StoredSegment, find_key
from graphmetric.index.vector_lists import VectorLists

CHUNK = 4096
"""Graphs stored at a time."""
Condition = Mapping[str, Any] | Callable[[Mapping[str, Any]], bool]
"""Values that the metadata of a graph must have, or a function of the metadata."""
Positions = NDArray[np.int64]

_SHOWN_KEYS = 8
_MOST_SEGMENTS, _MOST_REMOVED = 8, 0.25
"""With more segments, or a larger share of removed graphs, saving makes one segment of all."""


class Chunk(NamedTuple):
    """Some graphs on their way into a segment."""

    graphs: GraphCollection
    ids: Sequence[Hashable]
    known: Arrays
    """Nothing of new graphs; of stored ones their certificates, and what a model made of them."""

    @classmethod
    def stored(cls, segment: Segment, chosen: Positions) -> Chunk:
        """Chosen graphs of a segment."""
        ids, metadata = zip(*segment.notes(chosen), strict=True) if len(chosen) else ((), ())
        graphs = GraphCollection._of(replace(segment.collection(chosen).columns, metadata=metadata))
        return cls(graphs, ids, {"certificates": segment.arrays["certificates"][chosen], **segment.learned(chosen)})

    @property
    def certificates(self) -> list[str] | None:
        """The certificates of the graphs, if they are known."""
        known = self.known.get("certificates")
        return None if known is None else [row.tobytes().hex() for row in known]

    def without_notes(self) -> tuple[GraphCollection, list[str] | None]:
        """The graphs without ids and metadata, which workers need not see, and their certificates if they are known."""
        return GraphCollection._of(replace(self.graphs.columns, ids=None, metadata=None)), self.certificates


class OpenSegment:
    """A segment of an open index."""

    def __init__(self, segment: Segment, lists: VectorLists | None = None, stored: StoredSegment | None = None) -> None:
        self.segment, self.lists, self.stored = segment, lists, stored
        self.alive = np.ones(len(segment), dtype=bool)
        """Which graphs were not removed."""
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
        """Which graphs were not removed."""
        return np.concatenate([np.empty(0, dtype=bool), *(one.alive for one in self.segments)])

    def __len__(self) -> int:
        return sum(int(one.alive.sum()) for one in self.segments)

    @property
    def is_worn(self) -> bool:
        """Whether one segment should be made of all."""
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
        """Whether any graph has edge labels, removed ones included."""
        return any(one.segment.vocabularies.get("edge_labels") for one in self.segments)

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
        """Graphs that were not removed and meet a condition; with ``distinct``, only the first of isomorphic ones.

        They are taken together in classes of isomorphic graphs ("certificates"), or in those that the model of the
        index does not tell apart ("seen").
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
        """The graphs of about the nearest vectors among those that meet a condition, and how many meet it.

        None where the store does not look for them by itself.
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
            for start in range(0, max(1, len(alive)), CHUNK):
                yield Chunk.stored(one.segment, alive[start : start + CHUNK])

    def _meets(self, where: Condition) -> NDArray[np.bool_]:
        """Which graphs, removed ones included, meet a condition."""
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
    """One key of the metadata of all graphs, with a number for each value, so that a condition looks at numbers."""

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
        """Which graphs have this value."""
        try:
            number = self.numbers.get(value.item() if isinstance(value, np.generic) else value, -2)
        except TypeError:  # a list or a table, which no graph has
            number = -2
        found: NDArray[np.bool_] = self.codes == number
        return found


def matches(condition: Condition, metadata: list[dict[str, Any]]) -> NDArray[np.bool_]:
    """Which graphs meet the condition; raises where it is not one, or names a key that no graph has."""
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


def new_chunks(
    graphs: Any, ids: Iterable[Hashable] | None, numbers: Iterator[int], reading: MoleculeOptions | None = None
) -> Iterator[Chunk]:
    """Graphs of any kind in chunks, at least one; a graph without an id gets the next number.

    ``reading`` has the options for SMILES and RDKit molecules.
    """
    names = None if ids is None else iter(ids)
    for chunk in _in_chunks(graphs, reading):
        own = (chunk.columns.ids or (None,) * len(chunk)) if names is None else tuple(islice(names, len(chunk)))
        if len(own) != len(chunk):
            raise InvalidArgument("there are fewer ids than graphs; each graph has one")
        yield Chunk(chunk, [next(numbers) if name is None else _checked_id(name) for name in own], {})


def check_reading(given: MoleculeOptions | None, known: MoleculeOptions | None, what: str) -> None:
    """Raise where molecules were read otherwise than those of the index, so that distances would be wrong."""
    if given is not None and known is not None and given != known:
        raise InvalidArgument(
            f"{what} were read by {given}, the molecules of the index by {known}: read them alike, by "
            "read_graphs(..., reading=index.reading) or without --distinguish"
        )


def read_alike(chunks: Iterator[Chunk], readings: list[MoleculeOptions | None], is_empty: bool) -> Iterator[Chunk]:
    """New graphs, if they were read like those before them; the first molecules of an empty index set its reading."""
    for chunk in chunks:
        check_reading(chunk.graphs.reading, readings[0], "new graphs")
        if is_empty and readings[0] is None:
            readings[0] = chunk.graphs.reading
        yield chunk


def _checked_id(id: Hashable) -> str | int:
    """An id that can be typed, sent and looked up."""
    name = id.item() if isinstance(id, np.generic) else id
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise InvalidArgument(
            f"id {shortened(id)} is a {type(id).__name__}; ids of an index are strings or integers: pass others as "
            "ids=, or number them (--number)"
        )
    return name


class GraphDescriber:
    """Makes what an index without a model keeps beside the columns of graphs."""

    basis: NDArray[np.float32] | None = None
    """The axes along which states are sorted, if a model wants that."""

    def describe(self, chunks: Iterator[Chunk], executor: Any = None) -> Iterator[tuple[Chunk, Arrays]]:
        """Chunks with what is found out about their graphs, here or in the workers of an executor."""
        if executor is None:
            return ((chunk, describe_graphs(chunk.graphs, chunk.certificates)) for chunk in chunks)
        return map_in_order(executor, describe_graphs, chunks, Chunk.without_notes)

    def copy(self, chunks: Iterator[Chunk]) -> Iterator[tuple[Chunk, Arrays]]:
        """Chunks with what is known about their graphs already."""
        return ((chunk, chunk.known) for chunk in chunks)


def describe_graphs(graphs: GraphCollection, certificates: list[str] | None = None) -> Arrays:
    """What an index without a model keeps beside the columns of graphs, and takes time to find out."""
    known = identify_graphs(graphs) if certificates is None else certificates
    return {"certificates": as_bytes(known), "branches": digest_branches(graphs.columns)}


def as_bytes(certificates: list[str]) -> NDArray[np.uint8]:
    """(graphs, 16): certificates as an index keeps them."""
    return np.frombuffer(bytes.fromhex("".join(certificates)), dtype=np.uint8).reshape(-1, 16)


def _in_chunks(graphs: Any, reading: MoleculeOptions | None) -> Iterator[GraphCollection]:
    """Graphs of any kind in chunks, at least one; at most one chunk of an iterator exists at a time."""
    if isinstance(graphs, Iterator):
        chunks = iter(lambda: list(islice(graphs, CHUNK)), [])
        yield as_graphs(next(chunks, []), reading)
        yield from (as_graphs(chunk, reading) for chunk in chunks)
        return
    collection = as_graphs(graphs, reading)
    for start in range(0, max(1, len(collection)), CHUNK):
        yield collection[start : start + CHUNK]
