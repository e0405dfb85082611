"""A run of graphs as an index keeps it: packed columns, what the model made of them, ids and metadata.

A segment never changes, in memory or on disk. Its arrays by name:

==========================  ============================================================================
node_ptr, edge_ptr          where the nodes and edges of each graph start, and where the last ones end
flags, edges, node_labels,  the columns of :class:`~graphmetric.graphs.columns.Columns`; labels and texts as
...                         codes into vocabularies
vectors                     (graphs, width): what stands for a graph in a vector index
projected                   (graphs, width): what the head compares, where that is another vector
states                      (nodes, d): node states, for heads that match nodes
axes, basis                 states along a few axes, sorted within each graph (see _kernels/axis_gaps.py), where
                            searches bound distances by them (see space.py)
to_empty                    learned distances to the empty graph
certificates                (graphs, 16): equal for isomorphic graphs
counts                      label counts and degrees (see count_vectors.py)
id_keys                     64-bit digests of the ids
notes, note_ptr             for each graph a line of JSON: its id and its metadata
==========================  ============================================================================

Where the arrays of a segment go while it grows: into memory, or into files that are mapped afterwards.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidGraph
from graphmetric.formats.values import format_json, parse_json, plain
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import COLUMNS, Columns
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn, label_from_json, label_to_json, spelling
from graphmetric.index.count_vectors import count_graphs, number_labels

DIGEST_BYTES = 16


class Sink(Protocol):
    """Takes the rows of one array piece by piece."""

    def append(self, rows: NDArray[Any]) -> None: ...

    def close(self) -> NDArray[Any]:
        """All rows."""


class MemorySink:
    """Rows in memory."""

    def __init__(self) -> None:
        self._parts: list[NDArray[Any]] = []

    def append(self, rows: NDArray[Any]) -> None:
        self._parts.append(rows)

    def close(self) -> NDArray[Any]:
        return np.concatenate(self._parts)


class FileSink:
    """Rows in a file, little-endian, nothing else; their type and shape are written down elsewhere."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("xb")
        self._digest = blake2b(digest_size=DIGEST_BYTES)
        self._rows = 0
        self._kind: NDArray[Any] | None = None

    def append(self, rows: NDArray[Any]) -> None:
        self._kind = rows[:0] if self._kind is None else self._kind
        data = np.ascontiguousarray(rows, dtype=rows.dtype.newbyteorder("<")).tobytes()
        self._file.write(data)
        self._digest.update(data)
        self._rows += len(rows)

    def close(self) -> NDArray[Any]:
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return map_array(self.path, self._array.dtype.str, self.shape)

    def describe(self) -> dict[str, Any]:
        """What a reader has to know."""
        return {
            "type": self._array.dtype.newbyteorder("<").str,
            "shape": list(self.shape),
            "digest": self._digest.hexdigest(),
        }

    @property
    def shape(self) -> tuple[int, ...]:
        return (self._rows, *self._array.shape[1:])

    @property
    def _array(self) -> NDArray[Any]:
        assert self._kind is not None, "every array is appended to at least once"
        return self._kind


def map_array(path: Path, kind: str, shape: tuple[int, ...]) -> NDArray[Any]:
    """A file as an array that is read when touched. Private: what were written to it would never reach the file."""
    if 0 in shape:
        return np.empty(shape, dtype=kind)  # there is nothing to map
    return np.asarray(np.memmap(path, dtype=kind, mode="c", shape=shape))


def digest_of_file(path: Path) -> str:
    """Of the contents, read piece by piece."""
    digest = blake2b(digest_size=DIGEST_BYTES)
    with path.open("rb") as file:
        while piece := file.read(1 << 22):
            digest.update(piece)
    return digest.hexdigest()


Arrays = dict[str, NDArray[Any]]


class EncodedChunk(NamedTuple):
    """Some graphs on their way into a segment."""

    columns: Columns
    ids: list[Hashable]
    learned: Arrays
    """What the model made of them: rows by graph, or by node (``states`` and ``axes``)."""


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
        arrays = self.arrays
        return GraphCollection._of(
            Columns(arrays["node_ptr"], arrays["edge_ptr"], arrays["flags"], arrays["edges"], **optional)
        )

    @cached_property
    def places(self) -> tuple[dict[bytes, int], dict[bytes, int]]:
        """Numbers of node labels and of edge labels in ``counts``."""
        node, edge = (number_labels(self.vocabularies.get(name, ())) for name in ("node_labels", "edge_labels"))
        return node, edge

    def note(self, k: int) -> tuple[Hashable, dict[str, Any]]:
        """Id and metadata of graph ``k``."""
        first, last = self.arrays["note_ptr"][k : k + 2].tolist()
        id, metadata = parse_json(self.arrays["notes"][first:last].tobytes())
        return label_from_json(id), metadata

    def graph(self, k: int) -> Graph:
        """Graph ``k`` with its id and metadata."""
        id, metadata = self.note(k)
        bare = self.graphs[k]
        return Graph._unchecked(  # as the columns have it; to check every hit again takes longer than to find it
            bare.num_nodes,
            bare.edges,
            bare.directed,
            bare._columns,
            id,
            metadata,
        )

    @cached_property
    def metadata(self) -> list[dict[str, Any]]:
        """Of all graphs; read once, when first filtered by."""
        text = self.arrays["notes"].tobytes()
        return [parse_json(text[first:last])[1] for first, last in pairwise(self.arrays["note_ptr"].tolist())]


class SegmentBuilder:
    """Puts chunk after chunk into sinks; memory holds one chunk, the vocabularies and what the sinks keep."""

    def __init__(self, make_sink: Callable[[str], Sink] = lambda _: MemorySink()) -> None:
        self._make_sink = make_sink
        self._sinks: dict[str, Sink] = {}
        self._kinds: dict[str, NDArray[Any]] = {}
        self._vocabularies: dict[str, dict[Hashable, Hashable]] = {}
        self._graphs = self._nodes = self._edges = self._bytes = 0

    def append(self, chunk: EncodedChunk) -> None:
        """Add the graphs of a chunk."""
        columns = chunk.columns
        notes = [_note(id, columns.metadata, k) for k, id in enumerate(chunk.ids)]
        note_ptr = np.cumsum([0, *map(len, notes)])
        rows: Arrays = {
            "node_ptr": columns.node_ptr + self._nodes,
            "edge_ptr": columns.edge_ptr + self._edges,
            "note_ptr": note_ptr + self._bytes,
        }
        rows = {name: ptr if self._graphs == 0 else ptr[1:] for name, ptr in rows.items()}
        rows |= {"flags": columns.flags, "edges": columns.edges, **chunk.learned}
        rows |= {"id_keys": id_keys(chunk.ids), "notes": np.frombuffer(b"".join(notes), dtype=np.uint8)}
        coded = {name: self._coded(name, getattr(columns, name)) for name in COLUMNS}
        rows |= {name: column for name, column in coded.items() if column is not None}
        node_places, edge_places = (number_labels(self._vocabulary(name)) for name in ("node_labels", "edge_labels"))
        rows["counts"] = count_graphs(columns, node_places, edge_places)
        counts = {"node": (self._nodes, columns.num_nodes), "edge": (self._edges, len(columns.edges))}
        for name, column in COLUMNS.items():
            self._fill(name, rows, *counts[column.per])
        for name, part in rows.items():
            self._put(name, part)
        self._graphs += columns.num_graphs
        self._nodes += int(columns.node_ptr[-1])
        self._edges += len(columns.edges)
        self._bytes += int(note_ptr[-1])

    def keep(self, name: str, array: NDArray[Any]) -> None:
        """An array that belongs to the segment as a whole."""
        self._put(name, array)

    def finish(self) -> Segment:
        """The whole; at least one chunk, empty or not, must have been added."""
        arrays = {name: sink.close() for name, sink in self._sinks.items()}
        return Segment(arrays, {name: self._vocabulary(name) for name in self._vocabularies})

    def _vocabulary(self, name: str) -> tuple[Hashable, ...]:
        return tuple(self._vocabularies.get(name, {}).values())

    def _coded(self, name: str, column: Any) -> NDArray[Any] | None:
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
        """Rows of zeros for the graphs that do not have a column, now or before."""
        if name in rows and name not in self._sinks and before:
            self._put(name, np.zeros((before, *rows[name].shape[1:]), dtype=rows[name].dtype))
        elif name not in rows and name in self._sinks:
            kind = self._kinds[name]
            rows[name] = np.zeros((count, *kind.shape[1:]), dtype=kind.dtype)

    def _put(self, name: str, rows: NDArray[Any]) -> None:
        if name not in self._sinks:
            self._sinks[name], self._kinds[name] = self._make_sink(name), rows[:0]
        kind = self._kinds[name]
        if rows.dtype != kind.dtype or rows.shape[1:] != kind.shape[1:]:
            raise InvalidGraph(
                f"{name} of graphs from position {self._graphs} on are {rows.dtype} of shape {rows.shape[1:]} per row, "
                f"before they were {kind.dtype} of shape {kind.shape[1:]}; an index takes one sort"
            )
        self._sinks[name].append(rows)


def id_keys(ids: Iterable[Hashable]) -> NDArray[np.uint64]:
    """64 bits that tell ids apart."""
    digests = (blake2b(format_json(label_to_json(id), nan=True).encode(), digest_size=8).digest() for id in ids)
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def _note(id: Hashable, metadata: tuple[Mapping[str, Any], ...] | None, k: int) -> bytes:
    facts = {} if metadata is None else plain(metadata[k])
    return format_json([label_to_json(id), facts], nan=True).encode()
