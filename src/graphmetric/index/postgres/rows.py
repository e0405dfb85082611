"""The graphs of an index in a PostgreSQL table, read by columns and by rows.

A row never changes, except that it is marked as removed, with the edition in which that happened. So an open index
stays at its edition while others write: it has the positions below which rows belong to it, and the first removal that
came later.

Columns are read whole when a search needs them of all graphs, and kept in memory: vectors by exact learned searches,
histograms, branches and certificates by certified ones. Everything else is read by rows. Approximate
learned searches read no column whole: the database proposes candidates by its own index of vectors, and filters by
metadata.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache, partial
from hashlib import blake2b
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.options import parse_json
from graphmetric.edit_distance import EditCosts
from graphmetric.edit_distance.collection_bounds import tile
from graphmetric.errors import GraphMetricError, StoreError
from graphmetric.formats.molecules import MoleculeOptions
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.columns import COLUMNS, Columns, assemble_columns, pointers
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn, label_from_json
from graphmetric.index.graphs import Condition, IndexedGraphs, OpenSegment, matches
from graphmetric.index.postgres.pool import Database
from graphmetric.index.segment import Arrays, Positions, Segment, find_key
from graphmetric.index.store import Manifest, Part

if TYPE_CHECKING:
    from psycopg import Cursor
    from psycopg.sql import Composed

BLOCK = 1 << 14
"""Rows read together."""
_LARGEST_EF = 1000
"""The most candidates that pgvector keeps while it searches its index."""
_SAMPLE = 4096
"""Graphs whose metadata is read for an error message."""

_PER_GRAPH: dict[str, tuple[str, str]] = {
    "position": ("int8send(position)", ">i8"),
    "nodes": ("int4send(nodes)", ">i4"),
    "edge_count": ("int4send(edge_count)", ">i4"),
    "flags": ("int2send(flags)", ">i2"),
    "id_keys": ("int8send(id_keys)", ">i8"),
    "to_empty": ("float4send(to_empty)", ">f4"),
    "note_sizes": ("int4send(octet_length(note))", ">i4"),
}
"""Numbers of each graph: how they are read, and their type on the way."""
RAW = ("note", "certificates", "seen", "counts", "branches", "edges", "projected", "states", "axes", *COLUMNS)
"""Arrays, as bytes in little-endian order."""
_PER_NODE = ("branches", "states", "axes")
_COUNTS = {"node": "nodes", "edge": "edge_count"}
"""The columns with the number of rows of an array per graph."""
_POINTERS = {"node_ptr": "nodes", "edge_ptr": "edge_count"}
_SEGMENT = (*_POINTERS, "histograms", "branches", "certificates", "id_keys")
"""The arrays of every segment."""
_GRAPH_COLUMNS = ("nodes", "edge_count", "flags", "edges", *COLUMNS)


@dataclass(frozen=True)
class IndexEntry:
    """Entry of an index in the catalogue."""

    number: int
    edition: int
    token: str
    graphs: int
    next_position: int
    next_number: int
    model: str | None
    costs: str | None
    reading: str | None
    """Options by which the molecules were read, as JSON."""
    kinds: Mapping[str, tuple[str, tuple[int, ...]]]
    """For each array that some graph has its type and the shape of a row."""
    basis: bytes | None
    parts: Mapping[Part, str]

    def manifest(self) -> Manifest:
        costs = None if self.costs is None else EditCosts.from_dict(json.loads(self.costs))
        reading = None if self.reading is None else MoleculeOptions.from_dict(json.loads(self.reading))
        return Manifest(self.model, self.next_number, (), costs, reading, self.parts, self.token)


class EarlierRows(NamedTuple):
    """Columns that an earlier edition has read, so that the next one reads only new rows."""

    about: IndexEntry
    positions: Positions
    columns: Arrays


class TableRows(Mapping[str, NDArray[Any]]):
    """Rows of the table of an index at an edition: all of them, or some; columns that were read are kept.

    As a mapping it has the arrays of a segment, which are read on demand.
    """

    def __init__(
        self,
        database: Database,
        about: IndexEntry,
        chosen: Positions | None = None,
        columns: Arrays | None = None,
        earlier: TableRows | None = None,
    ) -> None:
        """``chosen`` are positions in the table, None for all; ``columns`` are those read already.

        ``earlier`` are all rows of an earlier edition.
        """
        self.database, self.about, self._chosen = database, about, chosen
        self._columns: Arrays = columns or {}
        self._arrays: Arrays = {}
        learned = [name for name in ("vectors", "projected", "states", "axes", "seen", "basis") if name in about.kinds]
        self._names = [*_SEGMENT, *learned, *(["to_empty"] if learned else [])]
        self._earlier: EarlierRows | None = None
        if earlier is not None and earlier.about.number == about.number and "positions" in earlier.__dict__:
            self._earlier = EarlierRows(earlier.about, earlier.positions, dict(earlier._columns))

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._arrays:
            self._arrays[name] = self._make(name)
        return self._arrays[name]

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    @property
    def size(self) -> int:
        """The number of rows."""
        return self.about.graphs if self.are_all else len(self.positions)

    @property
    def are_all(self) -> bool:
        """Return whether these are all rows of the edition, not a selection."""
        return self._chosen is None

    @cached_property
    def positions(self) -> Positions:
        """The rising positions of the rows in the table."""
        if self._chosen is not None:
            return self._chosen
        start, kept = 0, np.empty(0, dtype=np.int64)
        if self._earlier is not None:
            start = self._earlier.about.next_position
            query = self.sql("select position from {table} where removed > %s and removed <= %s")
            gone = self.run(query, (self._earlier.about.edition, self.about.edition))
            kept = np.setdiff1d(self._earlier.positions, np.array([row[0] for row in gone], dtype=np.int64))
        found = self._read_blocks("position", start)
        keys = np.concatenate([kept, found])
        if len(keys) != self.size:
            raise self.gone()
        return keys

    def read_positions(self, cursor: Cursor[Any]) -> Positions:
        """The positions, read within a transaction that may have changed them."""
        query = self.sql("select {columns} from {table} where {visible}", ["position"])
        return self._decode(["position"], cursor.execute(query, self.limits).fetchone() or (b"",))["position"]

    def column(self, name: str) -> NDArray[Any]:
        """A column of all these rows, end to end."""
        if name not in self._columns:
            self._columns[name] = self._load(name)
        return self._columns[name]

    def take(self, keys: Positions, names: Sequence[str]) -> TableRows:
        """Some rows, with some of their columns, which are read now."""
        return TableRows(self.database, self.about, keys, self.fetch(keys, names))

    def near(
        self, vector: NDArray[np.float32], count: int, digests: list[int], names: Sequence[str], scan: bool = False
    ) -> TableRows:
        """Return rows with about the nearest vectors among those with these facts, and some of their columns.

        If few rows have the facts, the index of vectors may not reach ``count`` of them; ``scan`` compares all rows.
        """
        facts = "and facts @> %s " if digests else ""
        query = self.sql(
            "select {columns} from (select * from {table} where {visible} " + facts + "order by vectors <-> %s "
            f"limit {int(count)}) near",
            ["position", *names],
        )
        values = (*self.limits, *([digests] if digests else []), vector)
        effort = {"hnsw.ef_search": str(min(_LARGEST_EF, max(40, count))), "hnsw.iterative_scan": "relaxed_order"}

        def look_at_all(cursor: Cursor[Any]) -> list[Any]:
            cursor.execute("set local enable_indexscan = off")
            return cursor.execute(query, values).fetchall()

        (row,) = self.database.read(look_at_all) if scan else self.database.fetch_all(query, values, effort)
        columns = self._decode(["position", *names], row)
        return TableRows(self.database, self.about, columns.pop("position"), columns)

    def fetch(self, keys: Positions, names: Sequence[str]) -> Arrays:
        """Columns of rows at rising positions, read now."""
        blocks = ((keys[start : start + BLOCK].tolist(),) for start in range(0, max(1, len(keys)), BLOCK))
        found = self.read("position = any(%s)", ["position", *names], blocks)
        if len(found["position"]) != len(keys):
            raise self.gone()
        return found

    @property
    def limits(self) -> tuple[int, int]:
        """The parameters of ``{visible}``: the first position and the first removal that came later."""
        return self.about.next_position, self.about.edition

    def run(self, query: bytes, values: Sequence[Any] = ()) -> list[Any]:
        """The rows that a query gives."""
        return self.database.fetch_all(query, values)

    def sql(self, text: str, names: Sequence[str] = ()) -> bytes:
        """Return a query; ``{table}`` and ``{visible}`` are filled in; ``{columns}`` are the bytes of all rows."""
        return _write_query(self.database.address.schema, self.about.number, text, tuple(names))

    def gone(self) -> StoreError:
        """The error for rows that are not there any more."""
        return StoreError("has deleted graphs of this edition, which is too old: load it again", self._shown)

    @property
    def _shown(self) -> str:
        return self.database.address.shown

    def _make(self, name: str) -> NDArray[Any]:
        """An array of a segment."""
        if name in _POINTERS:
            return pointers(self.column(_POINTERS[name])).copy()
        if name == "histograms":
            return tile(self.column("counts"))
        if name == "basis":
            kind, shape = self.about.kinds["basis"]
            return np.frombuffer(bytearray(cast(bytes, self.about.basis)), dtype=kind).reshape(shape)
        found = self.column(name)
        return found.view(np.uint64) if name == "id_keys" else found

    def _load(self, name: str) -> NDArray[Any]:
        if self._chosen is not None:
            return self.fetch(self._chosen, [name])[name]
        earlier = self._earlier
        by_rows = name in ("note", "edges", *COLUMNS)
        if earlier is None or by_rows or not {name, *_owners(name)} <= earlier.columns.keys():
            return self._read_blocks(name, 0)
        kept = np.isin(earlier.positions, self.positions, assume_unique=True)
        if name in _PER_NODE:
            kept = np.repeat(kept, earlier.columns["nodes"])
        before = earlier.columns[name] if name == "nodes" else earlier.columns.pop(name)  # which is then free
        later = self._read_blocks(name, earlier.about.next_position)
        return np.concatenate([before[kept], later])

    def _read_blocks(self, name: str, start: int) -> NDArray[Any]:
        """A column of all visible rows from a position on."""
        firsts = range(start, max(start + 1, self.about.next_position), BLOCK)
        blocks = ((*self.limits, first, first + BLOCK) for first in firsts)
        return self.read("{visible} and position >= %s and position < %s", [name], blocks)[name]

    def read(self, condition: str, names: Sequence[str], blocks: Iterable[Sequence[Any]]) -> Arrays:
        """Columns of the rows that meet a condition, for one block of its values after another."""
        wanted = self._needed(names)
        query = self.sql("select {columns} from {table} where " + condition, wanted)
        parts = [self._decode(wanted, self.run(query, values)[0]) for values in blocks]
        return {name: np.concatenate([part[name] for part in parts]) for name in wanted if name in parts[0]}

    def _needed(self, names: Sequence[str]) -> list[str]:
        """Return those of these columns that any graph has, and the columns needed to split them by graph."""
        there = [name for name in names if name not in COLUMNS or name in self.about.kinds]
        owners = [owner for name in there for owner in _owners(name)]
        return list(dict.fromkeys([*owners, *there]))

    def _decode(self, names: Sequence[str], row: Sequence[bytes]) -> Arrays:
        """Arrays from the bytes of a query; columns that no graph has are left out."""
        try:
            found: Arrays = {}
            for name, data in zip(names, row, strict=True):
                array = self._array(name, data, found)
                if array is not None:
                    found[name] = array
            return found
        except (ValueError, KeyError, IndexError) as error:
            raise StoreError(f"holds rows that are not those of graphs: {error}", self._shown) from None

    def _array(self, name: str, data: bytes, found: Arrays) -> NDArray[Any] | None:
        if name in _PER_GRAPH:
            number = np.dtype(_PER_GRAPH[name][1])
            return np.frombuffer(data, dtype=number).astype(number.newbyteorder("="))
        if name == "vectors":
            width = self.about.kinds["vectors"][1][0]
            return np.frombuffer(data, dtype=[("head", ">i4"), ("vector", ">f4", (width,))])["vector"].astype("f4")
        if name == "note":
            return np.frombuffer(data, dtype=np.uint8)
        if name not in self.about.kinds:
            return None
        kind, shape = self.about.kinds[name]
        rows = np.frombuffer(bytearray(data), dtype=kind).reshape(-1, *shape) if math.prod(shape) else None
        counts = found[_COUNTS[owner_of(name)]] if owner_of(name) in _COUNTS else None
        if name in COLUMNS and counts is not None:
            has = np.repeat((found["flags"] & COLUMNS[name].flag) != 0, counts)
            whole = np.zeros((len(has), *shape), dtype=kind)
            if rows is not None:
                whole[has] = rows
            return whole
        assert rows is not None
        if counts is not None and len(rows) != counts.sum():
            raise ValueError(f"{name} has {len(rows)} rows instead of {counts.sum()}")
        return rows


@dataclass(frozen=True, eq=False)
class TableSegment(Segment):
    """Rows of a table as a segment."""

    rows: TableRows

    @classmethod
    def of(cls, rows: TableRows, vocabularies: Mapping[str, tuple[Hashable, ...]]) -> TableSegment:
        return cls(rows, vocabularies, rows)

    def __len__(self) -> int:
        return self.rows.size

    @cached_property
    def graphs(self) -> GraphCollection:
        return self.collection(np.arange(len(self)))

    def collection(self, chosen: Positions) -> GraphCollection:
        return GraphCollection._of(self._assemble(self.rows.fetch(self.rows.positions[chosen], _GRAPH_COLUMNS)))

    @property
    def reads_rows(self) -> bool:
        return self.rows.are_all

    def part(self, chosen: Positions, names: Sequence[str]) -> TableSegment:
        return TableSegment.of(self.rows.take(self.rows.positions[chosen], self.stored(names)), self.vocabularies)

    def learned(self, chosen: Positions) -> Arrays:
        names = [name for name in ("vectors", "projected", "to_empty", "seen", "states") if name in self.arrays]
        found = self.rows.fetch(self.rows.positions[chosen], names) if names else {}
        return {name: found[name] for name in names}

    def notes(self, chosen: Positions) -> Iterator[tuple[Hashable, dict[str, Any]]]:
        for start in range(0, len(chosen), BLOCK):
            found = self.rows.fetch(self.rows.positions[chosen[start : start + BLOCK]], ("note_sizes", "note"))
            yield from _read_notes(found)

    def graph(self, k: int) -> Graph:
        ((_, load),) = self.hits([k])
        return load()

    def hits(self, chosen: Sequence[int]) -> list[tuple[Hashable, Callable[[], Graph]]]:
        if not chosen:
            return []
        order = np.unique(np.array(chosen, dtype=np.int64))
        found = self.rows.fetch(self.rows.positions[order], ("note_sizes", "note", *_GRAPH_COLUMNS))
        assemble = cache(lambda: GraphCollection._of(self._assemble(found)))  # when one of them is looked at
        notes = dict(zip(order.tolist(), enumerate(_read_notes(found)), strict=True))
        return [(notes[k][1][0], partial(_with_note, assemble, notes[k][0], notes[k][1])) for k in chosen]

    def _assemble(self, found: Arrays) -> Columns:
        """Columns of graphs, checked like those of a file: a database is not believed more."""
        present = {name: found[name] for name in COLUMNS if name in found}
        coded: dict[str, Any] = {
            name: LabelColumn(array, self.vocabularies.get(name, ())) if COLUMNS[name].coded else array
            for name, array in present.items()
        }
        nodes, edges = (pointers(found[name]) for name in ("nodes", "edge_count"))
        flags = found["flags"].astype(np.uint8)
        try:
            return assemble_columns(nodes, edges, found["edges"], flags=flags, in_order=True, **coded)
        except GraphMetricError as error:
            raise StoreError(f"holds rows that are not graphs: {error}", self.rows._shown) from None

    def stored(self, names: Sequence[str]) -> list[str]:
        """Those of some columns that there are."""
        return [name for name in names if name in self.arrays or name in _PER_GRAPH]


class TableGraphs(IndexedGraphs):
    """All graphs of an index in a database, at an edition."""

    def __init__(self, segment: TableSegment) -> None:
        super().__init__()
        self._segment = segment
        self._counts: dict[tuple[int, ...], int] = {}
        self._known_keys: set[int] = set()
        self.append(OpenSegment(segment))

    @property
    def rows(self) -> TableRows:
        """The rows of the table."""
        return self._segment.rows

    def __len__(self) -> int:
        return len(self._segment)

    @property
    def needs_compaction(self) -> bool:
        return False

    def find(self, id: object) -> int | None:
        rows, key = self.rows, find_key(id)
        if key is None:
            return None
        query = rows.sql("select position from {table} where {visible} and id_keys = %s")
        found = rows.run(query, (*rows.limits, signed(np.array([key]))[0]))
        return int(np.searchsorted(rows.positions, found[0][0])) if found else None

    def check_new_ids(self, segment: Segment) -> None:
        IndexedGraphs().check_new_ids(segment)  # whether others have them is seen when they are written

    def near(
        self, vector: NDArray[np.float32], count: int, where: Condition | None
    ) -> tuple[IndexedGraphs, int] | None:
        """Return graphs with about the nearest vectors that meet a condition, and the number that meet it.

        None if the database cannot check the condition.
        """
        digests = self._digests(where)
        if digests is None:
            return None
        rows, names = self.rows, ["nodes", "certificates", "vectors", "to_empty", "seen", "projected", "states", "axes"]
        wanted = self._segment.stored(names)
        near, total = rows.near(vector, count, digests, wanted), self._count(digests)
        if near.size < min(count, total):
            near = rows.near(vector, count, digests, wanted, scan=True)
        found = IndexedGraphs()
        found.append(OpenSegment(TableSegment.of(near, self._segment.vocabularies)))
        return found, total

    def _meets(self, where: Condition) -> NDArray[np.bool_]:
        digests = self._digests(where)
        if digests is None:
            return super()._meets(where)
        found = self.rows.read("{visible} and facts @> %s", ["position"], [(*self.rows.limits, digests)])["position"]
        return np.isin(self.rows.positions, found, assume_unique=True)

    def _digests(self, where: Condition | None) -> list[int] | None:
        """Return the facts that a graph must have; None for a condition that only Python can check."""
        if where is None:
            return []
        if not isinstance(where, Mapping):
            return None
        try:
            digests = [digest_value([key, _canonical(value)]) for key, value in where.items() if isinstance(key, str)]
        except TypeError:
            return None
        if not all(isinstance(key, str) and self._knows(key) for key in where):
            some = self._segment.notes(np.arange(min(len(self), _SAMPLE)))
            matches(where, [facts for _, facts in some])  # which refuses the key, and names some that there are
        return digests

    def _knows(self, key: str) -> bool:
        digest = digest_value(key)
        if digest not in self._known_keys:
            query = self.rows.sql("select exists (select from {table} where facts @> %s)")
            if not self.rows.run(query, ([digest],))[0][0]:
                return False
            self._known_keys.add(digest)
        return True

    def _count(self, digests: list[int]) -> int:
        if not digests:
            return len(self)
        if (key := tuple(digests)) not in self._counts:
            query = self.rows.sql("select count(*) from {table} where {visible} and facts @> %s")
            self._counts[key] = self.rows.run(query, (*self.rows.limits, digests))[0][0]
        return self._counts[key]


@lru_cache(256)
def _write_query(schema: str, number: int, text: str, names: tuple[str, ...]) -> bytes:
    """A query of the table of an index, written once: composing it takes longer than sending it."""
    visible = compose("position < %s and (removed is null or removed > %s)")
    sent = {name: how for name, (how, _) in _PER_GRAPH.items()} | {"vectors": "vector_send(vectors)"}
    each = (f"coalesce(string_agg({sent.get(name, name)}, ''::bytea order by position), ''::bytea)" for name in names)
    return compose(
        text, table=(schema, f"graphs_{number}"), visible=visible, columns=compose(", ".join(each))
    ).as_bytes()


def compose(text: str, **parts: Composed | tuple[str, ...] | str) -> Composed:
    """A statement from fixed text; values are never part of it.

    Its parts are other statements, names such as (schema, table), and texts, which psycopg quotes.
    """
    from psycopg import sql

    def quoted(part: Composed | tuple[str, ...] | str) -> Any:
        if isinstance(part, tuple):
            return sql.Identifier(*part)
        return sql.Literal(part) if isinstance(part, str) else part

    return sql.SQL(cast("Any", text)).format(**{name: quoted(part) for name, part in parts.items()})


def owner_of(name: str) -> str:
    if name == "edges":
        return "edge"
    if name in COLUMNS:
        return COLUMNS[name].per
    return "node" if name in _PER_NODE else "graph"


def _owners(name: str) -> list[str]:
    """The columns that assign the rows of a column to graphs."""
    counts = [_COUNTS[owner_of(name)]] if owner_of(name) in _COUNTS else []
    return ["flags", *counts] if name in COLUMNS else counts


def signed(keys: NDArray[np.uint64]) -> list[int]:
    """64-bit numbers as the database has them."""
    signed: list[int] = keys.view(np.int64).tolist()
    return signed


def digest_value(value: Any) -> int:
    text = json.dumps(value, sort_keys=True).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little", signed=True)


def digest_facts(metadata: Mapping[str, Any]) -> list[int]:
    """Digests of the keys of metadata, and of the keys with their values, for conditions."""
    digests = []
    for key, value in metadata.items():
        digests += [digest_value(key), digest_value([key, _canonical(value)])]
    return digests


def _canonical(value: Any) -> Any:
    """A form that is the same for values that are equal in Python, such as 1, 1.0 and True; TypeError for others."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool | int):
        return ["number", str(int(value))] if abs(int(value)) < 1 << 1024 else ["number", hex(value)]
    if isinstance(value, float):
        if math.isnan(value):
            return ["never", secrets.token_hex(8)]  # equal to nothing, itself included
        return ["number", repr(value) if math.isinf(value) or not value.is_integer() else str(int(value))]
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return ["list", *map(_canonical, value)]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _canonical(item) for key, item in value.items()}
    raise TypeError


def _read_notes(found: Arrays) -> Iterator[tuple[Hashable, dict[str, Any]]]:
    text = found["note"].tobytes()
    for first, last in pairwise(pointers(found["note_sizes"]).tolist()):
        id, metadata = parse_json(text[first:last])
        yield label_from_json(id), dict(metadata)


def _with_note(assemble: Callable[[], GraphCollection], k: int, note: tuple[Hashable, dict[str, Any]]) -> Graph:
    return assemble()[k].replace(id=note[0], metadata=note[1])
