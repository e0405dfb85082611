"""Conversion of graphs to segments: in chunks, with embeddings and certificates, by a builder that writes rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.executors import map_in_order
from graphmetric._foundation.options import format_json
from graphmetric.edit_distance.collection_bounds import (
    COUNT_LAYOUT,
    GRAPHS_PER_TILE,
    count_graphs,
    digest_branches,
    number_labels,
    tile,
)
from graphmetric.errors import InvalidArgument, InvalidGraph
from graphmetric.formats.conversion import as_graphs
from graphmetric.formats.molecules import MoleculeOptions, distinctions_in_labels
from graphmetric.formats.values import plain, shortened
from graphmetric.graphs.collection import GraphCollection, identity_keys
from graphmetric.graphs.columns import COLUMNS, Columns
from graphmetric.graphs.labels import LabelColumn, label_to_json, spelling
from graphmetric.index.segment import Arrays, Positions, Segment, id_keys

CHUNK = 4096
"""Graphs stored at a time."""


class Chunk(NamedTuple):
    """Some graphs on their way into a segment."""

    graphs: GraphCollection
    ids: Sequence[Hashable]
    known: Arrays
    """Empty for new graphs; for stored ones their certificates and embeddings."""

    @classmethod
    def stored(cls, segment: Segment, chosen: Positions) -> Chunk:
        """Chosen graphs of a segment."""
        ids, metadata = zip(*segment.notes(chosen), strict=True) if len(chosen) else ((), ())
        graphs = GraphCollection._of(replace(segment.collection(chosen).columns, metadata=metadata))
        return cls(graphs, ids, {"certificates": segment.arrays["certificates"][chosen], **segment.learned(chosen)})

    @classmethod
    def of_segment(cls, segment: Segment, chosen: Positions) -> Iterator[Chunk]:
        """Chosen graphs of a segment in chunks, at least one."""
        return (cls.stored(segment, chosen[start : start + CHUNK]) for start in _chunk_starts(len(chosen)))

    @property
    def certificates(self) -> list[str] | None:
        """The certificates of the graphs, if already computed."""
        known = self.known.get("certificates")
        return None if known is None else [row.tobytes().hex() for row in known]

    def without_notes(self) -> tuple[GraphCollection, list[str] | None]:
        """The graphs without ids and metadata, which workers do not need, with certificates if already computed."""
        return GraphCollection._of(replace(self.graphs.columns, ids=None, metadata=None)), self.certificates


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


def check_labels(shown: Mapping[str, str], reading: MoleculeOptions | None, what: str) -> None:
    """Raise where labels show that more was distinguished than ``reading`` says, so that distances would be wrong.

    Args:
        shown: Distinctions with an example label each, from :func:`distinctions_in_labels`.
        reading: How other molecules are read; None if that is not known.
        what: The graphs that have the labels.
    """
    missing = [name for name in shown if reading is not None and name not in reading.distinguish]
    if missing:
        *others, last = missing
        names = f"{', '.join(others)} and {last}" if others else last
        examples = ", ".join(repr(shown[name]) for name in missing)
        raise InvalidArgument(
            f"{what} do not record how they were read; labels such as {examples} show that {names} counted, and other "
            f"molecules are read by {reading}: distances would be wrong. Build the index with "
            f"reading=MoleculeOptions(distinguish={tuple(shown)!r}), set index.reading to it, or say --distinguish "
            f"{','.join(shown)} on the command line"
        )


@dataclass
class ReadingRecord:
    """The record of how the molecules of an index were read, while graphs are added."""

    reading: MoleculeOptions | None
    shown: dict[str, str]
    """What the labels of graphs distinguish whose reading is not known."""
    is_empty: bool

    def check_each(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        """New graphs, if they were read like those before them; the first of an empty index set its reading."""
        for chunk in chunks:
            given = chunk.graphs.reading
            check_reading(given, self.reading, "new graphs")
            if given is None:
                self.shown = _distinctions_in_labels(chunk.graphs) | self.shown
            if self.is_empty and self.reading is None:
                self.reading = given
            self.is_empty = self.is_empty and len(chunk.graphs) == 0
            check_labels(self.shown, self.reading or given, "graphs")
            yield chunk


def _distinctions_in_labels(graphs: GraphCollection) -> dict[str, str]:
    node, edge = (graphs.columns.node_labels, graphs.columns.edge_labels)
    # a slice has the vocabulary of the whole collection
    return distinctions_in_labels(*(None if labels is None else labels.compact().vocabulary for labels in (node, edge)))


def _checked_id(id: Hashable) -> str | int:
    """Check that an id can be stored, sent and found again."""
    name = id.item() if isinstance(id, np.generic) else id
    if isinstance(name, bool) or not isinstance(name, str | int):
        raise InvalidArgument(
            f"id {shortened(id)} is of type {type(id).__name__}; ids of an index are strings or integers: pass others "
            "as ids=, or number them (--number)"
        )
    return name


class GraphDescriber:
    """Makes what an index without a model keeps beside the columns of graphs."""

    basis: NDArray[np.float32] | None = None
    """The axes along which states are sorted, if a model requires them."""

    def describe(self, chunks: Iterator[Chunk], executor: Any = None) -> Iterator[tuple[Chunk, Arrays]]:
        """Chunks with what is found out about their graphs, here or in the workers of an executor."""
        if executor is None:
            return ((chunk, describe_graphs(chunk.graphs, chunk.certificates)) for chunk in chunks)
        return map_in_order(executor, describe_graphs, chunks, Chunk.without_notes)

    def copy(self, chunks: Iterator[Chunk]) -> Iterator[tuple[Chunk, Arrays]]:
        """Chunks with the arrays of their graphs that are already computed."""
        return ((chunk, chunk.known) for chunk in chunks)


def describe_graphs(graphs: GraphCollection, certificates: list[str] | None = None) -> Arrays:
    """Compute the arrays that an index without a model stores in addition to the columns of graphs."""
    known = identity_keys(graphs) if certificates is None else certificates
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
    for start in _chunk_starts(len(collection)):
        yield collection[start : start + CHUNK]


def _chunk_starts(count: int) -> range:
    return range(0, max(1, count), CHUNK)


class RowWriter(Protocol):
    """Takes the rows of one array piece by piece, into memory or into a file."""

    kind: NDArray[Any]
    """An empty array with the type and shape of all rows."""

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

        ``vocabularies`` has the labels so far, by their spelling, and is extended by new ones.
        """
        self._open_rows = open_rows
        self._writers: dict[str, RowWriter] = {}
        self._vocabularies = {} if vocabularies is None else vocabularies
        self._graphs = self._nodes = self._edges = self._bytes = 0
        self._untiled = np.empty((0, COUNT_LAYOUT.length), dtype=np.int16)

    def append(self, columns: Columns, ids: Sequence[Hashable], learned: Arrays) -> None:
        """Add graphs with their ids and arrays, which have rows by graph or by node (states, axes, branches).

        The arrays are their embeddings, their certificates and, if already computed, their branches.
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


def _note(id: Hashable, metadata: tuple[Mapping[str, Any], ...] | None, k: int) -> bytes:
    facts = {} if metadata is None else plain(metadata[k])
    return format_json([label_to_json(id), facts], nan=True).encode()
