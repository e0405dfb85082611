"""A run of graphs as an index keeps it: packed columns, what the model made of them, ids and metadata.

A segment never changes, in memory or on disk. Its arrays by name; those from ``vectors`` to ``seen`` only where the
index has a model:

==========================  ============================================================================
node_ptr, edge_ptr          where the nodes and edges of each graph start, and where the last ones end
flags, edges, node_labels,  the columns of :class:`~graphmetric.graphs.columns.Columns`; labels and texts as
...                         codes into vocabularies
vectors                     (graphs, width): what stands for a graph when near ones are looked for
projected                   (graphs, width): what the head compares, where that is another vector
states                      (nodes, d): node states, for heads that compare them
axes, basis                 states along a few axes, sorted within each graph, for heads that bound distances
                            by them (:mod:`graphmetric.distance._kernels.matching`)
to_empty                    learned distances to the empty graph
seen                        (graphs, 16): equal for graphs that the model does not tell apart
certificates                (graphs, 16): equal for isomorphic graphs
histograms                  counts of labels and degrees, by columns, for the bounds of certified searches
                            (:mod:`graphmetric.edit_distance.collection_bounds`)
branches                    for each node a number for its label and its edges, rising within each graph
id_keys                     64-bit digests of the ids
notes, note_ptr             for each graph a line of JSON: its id and its metadata
==========================  ============================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.options import format_json, parse_json
from graphmetric.edit_distance.collection_bounds import (
    COUNT_LAYOUT,
    GRAPHS_PER_TILE,
    count_graphs,
    digest_branches,
    number_labels,
    tile,
)
from graphmetric.errors import InvalidGraph
from graphmetric.formats.values import plain
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import COLUMNS, Columns
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn, label_from_json, label_to_json, spelling

Arrays = dict[str, NDArray[Any]]
Classes = Literal["certificates", "seen"]
"""Arrays of names that graphs of a class share."""


@dataclass(frozen=True, slots=True)
class StoredSegment:
    """A segment on disk."""

    name: str
    digest: str
    """The digest of its description, which has the digests of its files."""
    removed: tuple[int, ...] = ()
    """Positions of graphs that were removed."""


@dataclass(frozen=True, eq=False)
class Segment:
    """Arrays and vocabularies of some graphs."""

    arrays: Mapping[str, NDArray[Any]]
    vocabularies: Mapping[str, tuple[Hashable, ...]]

    def __len__(self) -> int:
        return len(self.arrays["flags"])

    @cached_property
    def graphs(self) -> GraphCollection:
        """The graphs, without ids and metadata."""
        optional: dict[str, Any] = {
            name: LabelColumn(self.arrays[name], self.vocabularies[name]) if COLUMNS[name].coded else self.arrays[name]
            for name in COLUMNS
            if name in self.arrays
        }
        required: dict[str, Any] = {name: self.arrays[name] for name in ("node_ptr", "edge_ptr", "flags", "edges")}
        return GraphCollection._of(Columns(**required, **optional))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """The number of nodes of each graph."""
        return np.diff(self.arrays["node_ptr"])

    @property
    def edge_counts(self) -> NDArray[np.int64]:
        """The number of edges of each graph."""
        return np.diff(self.arrays["edge_ptr"])

    def collection(self, chosen: NDArray[np.int64]) -> GraphCollection:
        """Chosen graphs, without ids and metadata."""
        return self.graphs[chosen]

    @property
    def reads_rows(self) -> bool:
        """Whether it is too large to hold what a model made of all nodes, and reads that by :meth:`part`."""
        return False

    def part(self, chosen: NDArray[np.int64], names: Sequence[str]) -> Segment:
        """Chosen graphs with these arrays; positions rise."""
        raise NotImplementedError("a segment that holds its arrays is used as it is")

    @cached_property
    def label_numbers(self) -> tuple[dict[bytes, int], dict[bytes, int]]:
        """The numbers of node labels and of edge labels in ``histograms``."""
        node, edge = (number_labels(self.vocabularies.get(name, ())) for name in ("node_labels", "edge_labels"))
        return node, edge

    @cached_property
    def histograms(self) -> NDArray[np.int16]:
        """The histograms of all graphs."""
        return self.arrays["histograms"]

    @cached_property
    def branches(self) -> NDArray[np.uint32]:
        """The branches of all nodes."""
        return self.arrays["branches"]

    def names(self, classes: Classes) -> NDArray[np.uint8]:
        """(graphs, 16): equal for graphs of one class; what a model sees was not stored in earlier versions."""
        return self.arrays[classes] if classes in self.arrays else self.arrays["certificates"]

    def learned(self, chosen: NDArray[np.int64]) -> Arrays:
        """What a model made of chosen graphs, without what follows from it; nothing where there is no model."""
        if "vectors" not in self.arrays:
            return {}
        names = [name for name in ("vectors", "projected", "to_empty") if name in self.arrays]
        arrays = {"seen": self.names("seen")[chosen], **{name: self.arrays[name][chosen] for name in names}}
        if "states" in self.arrays:
            nodes = np.repeat(np.isin(np.arange(len(self)), chosen), self.sizes)
            arrays["states"] = self.arrays["states"][nodes]
        return arrays

    def note(self, k: int) -> tuple[Hashable, dict[str, Any]]:
        """Id and metadata of graph ``k``."""
        return next(self.notes(np.array([k])))

    def notes(self, chosen: NDArray[np.int64]) -> Iterator[tuple[Hashable, dict[str, Any]]]:
        """Id and metadata of chosen graphs."""
        ptr, notes = self.arrays["note_ptr"], self.arrays["notes"]
        for first, last in zip(ptr[chosen].tolist(), ptr[chosen + 1].tolist(), strict=True):
            id, metadata = parse_json(notes[first:last].tobytes())
            yield label_from_json(id), metadata

    def graph(self, k: int) -> Graph:
        """Graph ``k`` with its id and metadata."""
        id, metadata = self.note(k)
        return self.graphs[k].replace(id=id, metadata=metadata)

    def hits(self, chosen: Sequence[int]) -> list[tuple[Hashable, Callable[[], Graph]]]:
        """For each of a few graphs its id and a function that makes it, also after the index has changed."""
        notes = self.notes(np.array(chosen, dtype=np.int64))
        return [(id, partial(self.graph, k)) for k, (id, _) in zip(chosen, notes, strict=True)]

    @cached_property
    def metadata(self) -> list[dict[str, Any]]:
        """The metadata of all graphs, read when it is first used in a condition."""
        return [facts for _, facts in self.notes(np.arange(len(self)))]


class RowWriter(Protocol):
    """Takes the rows of one array piece by piece, into memory or into a file."""

    kind: NDArray[Any]
    """No rows, with the type and shape that all rows have."""

    def append(self, rows: NDArray[Any]) -> None: ...

    def close(self) -> NDArray[Any]:
        """Return all rows."""


class MemoryRows:
    """Rows in memory."""

    def __init__(self, name: str, kind: NDArray[Any]) -> None:
        self.kind = kind
        self._parts = [kind]

    def append(self, rows: NDArray[Any]) -> None:
        self._parts.append(rows)

    def close(self) -> NDArray[Any]:
        return np.concatenate(self._parts)


class GraphWriter(Protocol):
    """Takes one chunk of graphs after another, into a segment or into a database."""

    def append(self, columns: Columns, ids: Sequence[Hashable], learned: Arrays) -> None: ...

    def finish(self, **whole: NDArray[Any] | None) -> object: ...


class SegmentBuilder:
    """Makes a segment of one chunk of graphs after another; memory holds a chunk and what the writers keep."""

    def __init__(
        self,
        open_rows: Callable[[str, NDArray[Any]], RowWriter] = MemoryRows,
        vocabularies: dict[str, dict[Hashable, Hashable]] | None = None,
    ) -> None:
        """``open_rows`` makes the writer of an array, given its name and kind.

        ``vocabularies`` has the labels that are known, by their spelling, and takes up new ones.
        """
        self._open_rows = open_rows
        self._writers: dict[str, RowWriter] = {}
        self._vocabularies = {} if vocabularies is None else vocabularies
        self._graphs = self._nodes = self._edges = self._bytes = 0
        self._untiled = np.empty((0, COUNT_LAYOUT.length), dtype=np.int16)

    def append(self, columns: Columns, ids: Sequence[Hashable], learned: Arrays) -> None:
        """Add graphs with their ids and what is known of them: rows by graph, or by node (states, axes, branches).

        That is what a model made of them, their certificates and, if they are known already, their branches.
        """
        notes = [_note(id, columns.metadata, k) for k, id in enumerate(ids)]
        note_ptr = np.cumsum([0, *map(len, notes)])
        rows: Arrays = {
            "node_ptr": columns.node_ptr + self._nodes,
            "edge_ptr": columns.edge_ptr + self._edges,
            "note_ptr": note_ptr + self._bytes,
        }
        rows = {name: ptr if self._graphs == 0 else ptr[1:] for name, ptr in rows.items()}
        rows |= {"flags": columns.flags, "edges": columns.edges, **learned}
        rows |= {"id_keys": id_keys(ids), "notes": np.frombuffer(b"".join(notes), dtype=np.uint8)}
        coded = {name: self._encode(name, getattr(columns, name)) for name in COLUMNS}
        rows |= {name: column for name, column in coded.items() if column is not None}
        numbers = [number_labels(self._vocabulary(name)) for name in ("node_labels", "edge_labels")]
        rows["histograms"] = self._tile(count_graphs(columns, *numbers))
        if "branches" not in rows:
            rows["branches"] = digest_branches(columns)
        counts = {"node": (self._nodes, columns.num_nodes), "edge": (self._edges, len(columns.edges))}
        for name, column in COLUMNS.items():
            self._fill(name, rows, *counts[column.per])
        for name, part in rows.items():
            self._write(name, part)
        self._graphs += columns.num_graphs
        self._nodes += columns.num_nodes
        self._edges += len(columns.edges)
        self._bytes += int(note_ptr[-1])

    def finish(self, **whole: NDArray[Any] | None) -> Segment:
        """The segment, with arrays that belong to it as a whole; at least one chunk must have been added."""
        for name, array in {**whole, "histograms": tile(self._untiled)}.items():
            if array is not None:
                self._write(name, array)
        arrays = {name: writer.close() for name, writer in self._writers.items()}
        return Segment(arrays, {name: self._vocabulary(name) for name in self._vocabularies})

    def _tile(self, counts: NDArray[np.int16]) -> NDArray[np.int16]:
        """The tiles that are full with these histograms; what is left waits for more."""
        counts = np.concatenate([self._untiled, counts])
        full = len(counts) - len(counts) % GRAPHS_PER_TILE
        self._untiled = counts[full:]
        return tile(counts[:full])

    def _vocabulary(self, name: str) -> tuple[Hashable, ...]:
        return tuple(self._vocabularies.get(name, {}).values())

    def _encode(self, name: str, column: Any) -> NDArray[Any] | None:
        """Labels as codes into the vocabulary of the segment; other columns as they are."""
        if not isinstance(column, LabelColumn):
            return column  # type: ignore[no-any-return]
        known = self._vocabularies.setdefault(name, {})
        place = np.zeros(max(1, len(column.vocabulary)), dtype=np.int32)
        numbers = {key: k for k, key in enumerate(known)}
        for code in np.unique(column.codes).tolist():  # the vocabulary may be that of a larger collection
            label = column.vocabulary[code]
            key = spelling(label)
            known.setdefault(key, label)
            place[code] = numbers.setdefault(key, len(numbers))
        return place[column.codes]

    def _fill(self, name: str, rows: Arrays, before: int, count: int) -> None:
        """Add rows of zeros for the graphs that do not have a column, now or before."""
        if name in rows and name not in self._writers and before:
            self._write(name, np.zeros((before, *rows[name].shape[1:]), dtype=rows[name].dtype))
        elif name not in rows and name in self._writers:
            kind = self._writers[name].kind
            rows[name] = np.zeros((count, *kind.shape[1:]), dtype=kind.dtype)

    def _write(self, name: str, rows: NDArray[Any]) -> None:
        if name not in self._writers:
            self._writers[name] = self._open_rows(name, rows[:0])
        kind = self._writers[name].kind
        if rows.dtype != kind.dtype or rows.shape[1:] != kind.shape[1:]:
            raise InvalidGraph(
                f"{name} of graphs from position {self._graphs} on are {rows.dtype} of shape {rows.shape[1:]} per row, "
                f"before they were {kind.dtype} of shape {kind.shape[1:]}; an index takes one sort"
            )
        self._writers[name].append(rows)


def id_keys(ids: Iterable[Hashable]) -> NDArray[np.uint64]:
    """64-bit digests that tell ids apart."""
    digests = (blake2b(format_json(label_to_json(id), nan=True).encode(), digest_size=8).digest() for id in ids)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def find_key(id: object) -> np.uint64 | None:
    """The digest of an id that is looked up; None for what can be no id, such as a list."""
    try:
        return id_keys([id.item() if isinstance(id, np.generic) else id])[0]  # type: ignore[no-any-return]
    except (TypeError, InvalidGraph):
        return None


def _note(id: Hashable, metadata: tuple[Mapping[str, Any], ...] | None, k: int) -> bytes:
    facts = {} if metadata is None else plain(metadata[k])
    return format_json([label_to_json(id), facts], nan=True).encode()
