"""An index in PostgreSQL with pgvector: a table with a row for each graph, and a catalogue of all indexes.

::

    about            the version of all that follows
    indexes          a row for each index: its table, its edition, what its columns hold, its model
    graphs_<number>  the graphs of an index; a table of its own, since vectors of one table have one width
    labels           the labels that the codes of each table stand for
    models, parts    files of models; places of the graphs in the plane
    editions         when each edition was written
    retired          tables that were replaced, and when

Every change is one transaction, and a new edition. Writers of an index wait for each other; readers wait for nobody.
Rows that were removed and tables that were replaced stay for those who still read them, and are deleted by a later
writer, an hour after they went out of use.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import secrets
import tempfile
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.options import format_json, parse_json
from graphmetric.edit_distance.collection_bounds import COUNT_LAYOUT
from graphmetric.errors import InvalidArgument, InvalidGraph, StoreError
from graphmetric.formats.values import plain
from graphmetric.graphs.columns import COLUMNS, LABEL_COLUMNS, Columns
from graphmetric.graphs.labels import label_from_json, label_to_json, spelling
from graphmetric.index.building import SegmentBuilder
from graphmetric.index.graphs import IndexedGraphs
from graphmetric.index.postgres.address import DatabaseAddress
from graphmetric.index.postgres.pool import Database
from graphmetric.index.postgres.rows import (
    BLOCK,
    RAW,
    IndexEntry,
    TableGraphs,
    TableRows,
    TableSegment,
    compose,
    digest_facts,
    digest_value,
    owner_of,
    signed,
)
from graphmetric.index.segment import Arrays, id_keys
from graphmetric.index.store import Chosen, IndexRecord, Make, Manifest, Part

if TYPE_CHECKING:
    from psycopg import Cursor
    from psycopg.sql import Composed

VERSION, READABLE = 2, (1, 2)
"""Versions of the tables; others are refused. Version 2 records how molecules were read; the first change makes it."""
APPROXIMATE_FROM = 10_000
"""Number of graphs from which the database keeps an index of vectors; below, it compares every vector."""
_ATTEMPTS = 20
"""Attempts to open an index that is being changed at the same time."""
_WIDEST = 2000
"""The widest vector that pgvector makes an index of."""
_LINKS = 800
"""Bytes of memory for each vector, beside the vector itself, while pgvector makes its index. It takes 715; where its
memory ends it goes on on disk, many times more slowly."""
_KEPT = "1 hour"
"""Seconds for which removed rows and tables are kept for processes that still read them."""
_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,100}")
_TYPES = {"position": "int8", "id_keys": "int8", "nodes": "int4", "edge_count": "int4", "flags": "int2"}
_TYPES |= {"to_empty": "float4", "vectors": "vector", "facts": "int8[]"}

_STORED = tuple(one.name for one in fields(IndexEntry) if one.name != "parts")
"""Columns of the catalogue; parts have a table."""

_CREATE = """
create schema if not exists {schema};
create table {schema}.about (version integer not null);
insert into {schema}.about values (2);
create sequence {schema}.numbers;
create table {schema}.indexes (
    name text primary key, number bigint not null, edition bigint not null, token text not null,
    graphs bigint not null, next_position bigint not null, next_number bigint not null,
    model text, costs text, reading text, kinds text not null, basis bytea);
create table {schema}.labels (
    number bigint not null, kind text not null, code integer not null, label text not null,
    primary key (number, kind, code));
create table {schema}.models (
    digest text not null, file text not null, content bytea not null, primary key (digest, file));
create table {schema}.parts (
    number bigint not null, part text not null, digest text not null, content bytea not null,
    primary key (number, part));
create table {schema}.editions (
    number bigint not null, edition bigint not null, token text not null unique,
    written timestamptz not null default now(), primary key (number, edition));
create table {schema}.retired (number bigint primary key, since timestamptz not null default now());
"""
_CREATE_TABLE = """
create table {table} (
    position bigint primary key, removed bigint,
    id_keys bigint not null, nodes integer not null, edge_count integer not null, flags smallint not null,
    to_empty real, {vectors} certificates bytea not null, seen bytea, counts bytea not null, branches bytea not null,
    facts bigint[] not null, note bytea not null, edges bytea not null, {columns} projected bytea, states bytea,
    axes bytea)
"""


class TableWriter:
    """Writes graphs as rows, one chunk after another, within a transaction."""

    def __init__(self, cursor: Cursor[Any], address: DatabaseAddress, about: IndexEntry, numbered: range, shift: int):
        """``numbered`` are ids of graphs that had none, which are raised by ``shift``."""
        self.about, self._cursor, self._schema = about, cursor, address.schema
        self._table = address.schema, f"graphs_{about.number}"
        self._numbered, self._shift = numbered, shift
        self._vocabularies = _read_labels(cursor, address.schema, about.number)
        self._known = {name: len(labels) for name, labels in self._vocabularies.items()}

    def append(self, columns: Columns, ids: Sequence[Hashable], learned: Arrays) -> None:
        names = [id + self._shift if type(id) is int and id in self._numbered else id for id in ids]
        builder = SegmentBuilder(vocabularies=self._vocabularies)
        builder.append(columns, names, learned)
        arrays = dict(builder.finish().arrays)
        tiles = arrays.pop("histograms")
        arrays["counts"] = tiles.transpose(0, 2, 1).reshape(-1, COUNT_LAYOUT.length)[: len(names)]
        self._take_kinds(arrays)
        self._refuse_taken(arrays["id_keys"])
        metadata = [{}] * len(names) if columns.metadata is None else columns.metadata
        self._copy(arrays, [digest_facts(plain(facts)) for facts in metadata])
        about, count = self.about, len(names)
        self.about = replace(about, graphs=about.graphs + count, next_position=about.next_position + count)

    def finish(self, **whole: NDArray[Any] | None) -> None:
        """Write the labels; arrays that belong to the table as a whole go into the catalogue."""
        basis = whole.get("basis")
        if basis is not None and self.about.basis is None:
            kinds = {**self.about.kinds, "basis": (basis.dtype.newbyteorder("<").str, basis.shape)}
            self.about = replace(self.about, basis=np.ascontiguousarray(basis).tobytes(), kinds=kinds)
        statement = self._sql("copy {labels} from stdin", labels=(self._schema, "labels"))
        with self._cursor.copy(statement) as copy:
            for name, labels in self._vocabularies.items():
                for code, label in islice(enumerate(labels.values()), self._known.get(name, 0), None):
                    copy.write_row((self.about.number, name, code, format_json(label_to_json(label), nan=True)))

    def finish_table(self) -> None:
        """Make the indexes of a new table, once all rows are there."""
        twice = "select id_keys from {table} group by id_keys having count(*) > 1 limit 1"
        if found := self._run("select note from {table} where id_keys = (" + twice + ") limit 1").fetchone():
            _refuse_id(found[0], "occurs twice")
        self._run("create unique index on {table} (id_keys) where removed is null")
        self._run("create index on {table} (removed) where removed is not null")
        self._run("create index on {table} using gin (facts)")

    def index_vectors(self) -> None:
        """Make the index of vectors if there are many and none was made yet."""
        about = self.about
        width = about.kinds["vectors"][1][0] if "vectors" in about.kinds else _WIDEST + 1
        if about.graphs < APPROXIMATE_FROM or width > _WIDEST or "hnsw" in about.kinds:
            return
        megabytes = min(4096, max(64, about.graphs * (4 * width + _LINKS) >> 20))
        self._cursor.execute("select set_config('maintenance_work_mem', %s, true)", (f"{megabytes}MB",))
        self._run("create index on {table} using hnsw (vectors vector_l2_ops)")
        self.about = replace(about, kinds={**about.kinds, "hnsw": ("", ())})

    def _take_kinds(self, arrays: Arrays) -> None:
        """Note what the arrays hold, and make the table with the first chunk; raises where later ones differ."""
        kinds = dict(self.about.kinds)
        for name, array in arrays.items():
            if name not in (*RAW, "vectors"):
                continue
            kind = array.dtype.newbyteorder("<").str, array.shape[1:]
            if kinds.setdefault(name, kind) != kind:
                before = kinds[name]
                raise InvalidGraph(
                    f"{name} of new graphs are {kind[0]} of shape {kind[1]} per row, before they were {before[0]} of "
                    f"shape {before[1]}; an index takes one sort"
                )
        if not self.about.kinds:
            width = f"vectors vector({int(kinds['vectors'][1][0])}) not null," if "vectors" in kinds else ""
            columns = " ".join(f"{name} bytea," for name in COLUMNS)
            self._run(_CREATE_TABLE, vectors=compose(width), columns=compose(columns))
        self.about = replace(self.about, kinds=kinds)

    def _copy(self, arrays: Arrays, facts: list[list[int]]) -> None:
        count, start = len(facts), self.about.next_position
        ptr = {"node": arrays["node_ptr"], "edge": arrays["edge_ptr"], "graph": np.arange(count + 1)}
        ptr["note"] = arrays["note_ptr"]
        rows: dict[str, Sequence[Any]] = {
            "position": range(start, start + count),
            "id_keys": signed(arrays["id_keys"]),
            "nodes": np.diff(ptr["node"]).tolist(),
            "edge_count": np.diff(ptr["edge"]).tolist(),
            "flags": arrays["flags"].tolist(),
            "facts": facts,
            "note": _cut(arrays["notes"], ptr["note"]),
        }
        if "vectors" in arrays:
            rows |= {"vectors": list(arrays["vectors"]), "to_empty": arrays["to_empty"].tolist()}
        for name in RAW:
            if name in arrays:
                rows[name] = _cut(arrays[name], ptr[owner_of(name)])
                if name in COLUMNS:
                    has = (arrays["flags"] & COLUMNS[name].flag) != 0
                    rows[name] = [part if there else None for part, there in zip(rows[name], has, strict=True)]
        names = compose(", ".join(rows))
        with self._cursor.copy(self._sql("copy {table} ({names}) from stdin (format binary)", names=names)) as copy:
            copy.set_types([_TYPES.get(name, "bytea") for name in rows])
            for row in zip(*rows.values(), strict=True):
                copy.write_row(row)

    def _refuse_taken(self, keys: NDArray[np.uint64]) -> None:
        """Raise if a graph of the index has an id of these."""
        if self.about.edition == 0:  # a new table, which is looked through at the end
            return
        query = "select note from {table} where removed is null and id_keys = any(%s) limit 1"
        if found := self._run(query, (signed(keys),)).fetchone():
            _refuse_id(found[0], "is in the index already")

    def _run(self, text: str, values: Sequence[Any] = (), **parts: Any) -> Any:
        return self._cursor.execute(self._sql(text, **parts), values or None)

    def _sql(self, text: str, **parts: Any) -> Composed:
        return compose(text, table=self._table, **parts)


class PostgresStore:
    """An index in a PostgreSQL database."""

    def __init__(self, address: DatabaseAddress) -> None:
        self._database = Database(address)
        self.place, self.name = address.shown, address.index
        self._latest: TableRows | None = None  # all rows of the edition that was opened last, for what it has in memory

    def exists(self) -> bool:
        return self._database.read(self._find) is not None

    def size(self) -> int:
        table = f'"{self._address.schema}".graphs_{self._read().number}'
        query = b"select pg_total_relation_size(%s::regclass)"
        return int(self._database.fetch_all(query, (table,))[0][0])

    def read(self) -> Manifest:
        return self._read().manifest()

    def open(self, choose: Callable[[Manifest], Chosen], verify: bool | None) -> tuple[Chosen, Manifest, IndexedGraphs]:
        for _ in range(_ATTEMPTS):
            about = self._read()
            try:
                chosen = choose(about.manifest())
            except StoreError:  # what belongs to this edition may have been replaced meanwhile
                if self._read().token == about.token:
                    raise
                continue
            manifest, graphs = self._open_graphs(about)
            for start in range(0, len(graphs) if verify else 0, BLOCK):
                graphs.segments[0].segment.collection(np.arange(start, min(start + BLOCK, len(graphs))))
            return chosen, manifest, graphs
        raise StoreError("is changed faster than it can be opened; try again later", self.place)

    @contextmanager
    def model(self, digest: str) -> Iterator[Path]:
        query = self._sql("select file, content from {models} where digest = %s")
        files = self._database.fetch_all(query, (digest,))
        if not files:
            raise StoreError(f"lacks the model {digest[:12]} of its index: build the index again", self.place)
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files:
                if not _FILE.fullmatch(name):
                    raise StoreError(f"has a model with a file of the name {name!r}", self.place)
                (Path(folder) / name).write_bytes(content)
            yield Path(folder)

    def read_part(self, part: Part, digest: str) -> bytes:
        query = self._sql("select content from {parts} where part = %s and digest = %s")
        found = self._database.fetch_all(query, (part, digest))
        if not found:
            raise StoreError(f"has another edition of what is {part}: load the index again", self.place)
        content = bytes(found[0][0])
        if hashlib.sha256(content).hexdigest() != digest:
            raise StoreError(f"holds what is {part}, but its SHA-256 does not match", self.place)
        return content

    def replace(
        self, make: Make, record: Callable[[], IndexRecord], base: str | None
    ) -> tuple[Manifest, IndexedGraphs]:
        self._database.write(self._prepare, lambda cursor: False)

        def work(cursor: Cursor[Any]) -> IndexEntry:
            name = self._address.index
            lock = digest_value([self._address.schema, name])
            if not self._run(cursor, "select pg_try_advisory_xact_lock(%s)", (lock,)).fetchone()[0]:
                raise StoreError("is being written by another process; try again later", self.place)
            self._check_base(cursor, base)
            (number,) = self._run(cursor, "select nextval({numbers}::regclass)").fetchone()
            about = IndexEntry(number, 0, secrets.token_hex(8), 0, 0, 0, None, None, None, {}, None, {})
            writer = TableWriter(cursor, self._address, about, range(0), 0)
            make(writer)
            cursor.execute("set local statement_timeout = 0")
            writer.finish_table()
            writer.index_vectors()
            old = self._check_base(cursor, base)
            if old is not None:
                self._run(cursor, "insert into {retired} (number) values (%s)", (old.number,))
            about = self._publish(cursor, replace(writer.about, edition=1), record())
            self._run(cursor, "analyze {table}", number=number)
            self._clean(cursor, about)
            return about

        return self._open_graphs(self._database.write_once(work))

    def append(self, make: Make, numbered: range) -> tuple[Manifest, IndexedGraphs]:
        def change(cursor: Cursor[Any], about: IndexEntry) -> IndexEntry:
            shift = about.next_number - numbered.start
            writer = TableWriter(cursor, self._address, about, numbered, shift)
            make(writer)
            cursor.execute("set local statement_timeout = 0")
            writer.index_vectors()
            return replace(writer.about, next_number=about.next_number + len(numbered))

        return self._change(change)

    def remove(self, ids: Sequence[Hashable]) -> tuple[Manifest, IndexedGraphs]:
        keys = signed(id_keys(ids))

        def change(cursor: Cursor[Any], about: IndexEntry) -> IndexEntry:
            text = "update {table} set removed = %s where removed is null and id_keys = any(%s) returning id_keys"
            found = self._run(cursor, text, (about.edition + 1, keys), number=about.number).fetchall()
            gone = {row[0] for row in found}
            for name, key in zip(ids, keys, strict=True):
                if key not in gone:
                    raise InvalidArgument(f"the index has no graph {name!r}; nothing was removed")
            return replace(about, graphs=about.graphs - len(gone))

        return self._change(change)

    def save(self, graphs: IndexedGraphs, record: IndexRecord, base: str | None) -> Manifest:
        """Write what belongs to the index beside its graphs, which are there already."""
        is_base = True

        def change(cursor: Cursor[Any], about: IndexEntry) -> IndexEntry:
            nonlocal is_base
            is_base = about.token == base
            if "map" in record.parts and not is_base:  # which has a point for each graph of the base
                raise self._changed()
            kept = {} if is_base else {part: digest for part, digest in about.parts.items() if part not in record.parts}
            about = replace(about, reading=_write_reading(record) or about.reading)
            return replace(about, parts=kept | self._write_parts(cursor, about.number, record, tuple(kept)))

        manifest, _ = self._change(change, carry=False)
        assert base is not None
        return manifest if is_base else replace(manifest, edition=base)

    @property
    def _address(self) -> DatabaseAddress:
        return self._database.address

    def _change(
        self, change: Callable[[Cursor[Any], IndexEntry], IndexEntry], carry: bool = True
    ) -> tuple[Manifest, IndexedGraphs]:
        """Write a new edition of the present table, after all other writers; ``carry`` lets the map follow."""
        token = secrets.token_hex(8)

        def work(cursor: Cursor[Any]) -> IndexEntry:
            before = self._locked(cursor)
            about = replace(change(cursor, before), edition=before.edition + 1, token=token)
            if carry:
                about = replace(about, parts=self._carry_map(cursor, before, about))
            self._publish(cursor, about, None)
            self._clean(cursor, about)
            return about

        def is_done(cursor: Cursor[Any]) -> bool:
            return self._run(cursor, "select 1 from {editions} where token = %s", (token,)).fetchone() is not None

        about = self._database.write(work, is_done)
        return self._open_graphs(self._read() if about is None else about)

    def _open_graphs(self, about: IndexEntry) -> tuple[Manifest, IndexedGraphs]:
        rows = TableRows(self._database, about, earlier=self._latest)
        self._latest = rows
        labels = self._database.read(lambda cursor: _read_labels(cursor, self._address.schema, about.number))
        vocabularies = {name: tuple(known.values()) for name, known in labels.items()}
        return about.manifest(), TableGraphs(TableSegment.of(rows, vocabularies))

    def _read(self) -> IndexEntry:
        found = self._database.read(self._find)
        if found is not None:
            return found
        names = []
        if self._database.read(self._check_version):
            query = self._sql("select name from {indexes} order by name limit 8")
            names = [row[0] for row in self._database.fetch_all(query)]
        there = f"there are: {', '.join(names)}" if names else "there is none"
        raise StoreError(f"has no index {self._address.index!r}; {there}", self.place)

    def _find(self, cursor: Cursor[Any], lock: bool = False) -> IndexEntry | None:
        version = self._check_version(cursor)
        if version is None:
            return None
        columns = ", ".join("null" if name == "reading" and version == 1 else name for name in _STORED)
        text = "select {columns} from {indexes} where name = %s" + (" for update" if lock else "")
        row = self._run(cursor, text, (self._address.index,), columns=compose(columns)).fetchone()
        if row is None:
            return None
        entry = dict(zip(_STORED, row, strict=True))
        parts = self._run(cursor, "select part, digest from {parts} where number = %s", (row[0],)).fetchall()
        entry["parts"] = {part: digest for part, digest in parts if part in get_args(Part)}
        try:
            kinds = json.loads(entry["kinds"]).items()
            entry["kinds"] = {name: (kind, tuple(shape)) for name, (kind, shape) in kinds}
        except (ValueError, TypeError, AttributeError) as error:
            raise StoreError(f"has a catalogue that cannot be read: {error}", self.place) from None
        return IndexEntry(**entry)

    def _locked(self, cursor: Cursor[Any]) -> IndexEntry:
        """The catalogue's row of the index, which no other writer changes until the end of the transaction."""
        self._upgrade(cursor)
        found = self._find(cursor, lock=True)
        if found is None:
            raise StoreError(f"has no index {self._address.index!r} any more: build it again", self.place)
        return found

    def _check_base(self, cursor: Cursor[Any], base: str | None) -> IndexEntry | None:
        present = self._find(cursor, lock=True)
        if base is not None and present is not None and present.token != base:
            raise self._changed()
        return present

    def _changed(self) -> StoreError:
        return StoreError("was changed by another process since this index was read: load it again", self.place)

    def _check_version(self, cursor: Cursor[Any]) -> int | None:
        """Return the version of the tables, None if there are none; raises if it is unsupported."""
        about = f'"{self._address.schema}".about'
        if not self._run(cursor, "select to_regclass(%s) is not null", (about,)).fetchone()[0]:
            return None
        (version,) = self._run(cursor, "select max(version) from {about}").fetchone()
        if version not in READABLE:
            raise StoreError(
                f"has tables of version {version}; this graphmetric reads versions {' and '.join(map(str, READABLE))}: "
                "install the one that wrote them, or use another schema (schema=NAME in the address)",
                self.place,
            )
        return int(version)

    def _upgrade(self, cursor: Cursor[Any]) -> None:
        """Give tables of version 1 the column that they lack; one writer at a time, before it locks any row."""
        if self._check_version(cursor) == 1:
            self._lock_schema(cursor)
            self._run(cursor, "alter table {indexes} add column if not exists reading text")
            self._run(cursor, "insert into {about} values (%s)", (VERSION,))

    def _lock_schema(self, cursor: Cursor[Any]) -> None:
        cursor.execute("select pg_advisory_xact_lock(%s)", (digest_value(self._address.schema),))

    def _prepare(self, cursor: Cursor[Any]) -> None:
        """Make the extension and the tables where they are missing."""
        from pgvector.psycopg import register_vector

        self._lock_schema(cursor)
        if cursor.execute("select 1 from pg_extension where extname = 'vector'").fetchone() is None:
            cursor.execute("create extension vector")
        register_vector(cursor.connection)
        self._upgrade(cursor)
        if self._check_version(cursor) is None:
            for statement in _CREATE.strip().split(";\n"):
                self._run(cursor, statement.rstrip(";"))

    def _publish(self, cursor: Cursor[Any], about: IndexEntry, record: IndexRecord | None) -> IndexEntry:
        """Write the row of the catalogue, and with a record also what belongs to the index beside its graphs."""
        if record is not None:
            costs = None if record.costs is None else json.dumps(record.costs.to_dict())
            model = None if record.model is None else record.model.digest
            about = replace(about, model=model, costs=costs, reading=_write_reading(record))
            about = replace(about, next_number=record.next_number)
            self._write_model(cursor, record)
            about = replace(about, parts=self._write_parts(cursor, about.number, record))
        values = {name: getattr(about, name) for name in _STORED}
        values |= {"name": self._address.index, "kinds": json.dumps(dict(about.kinds))}
        lists = {"names": values, "marks": ["%s"] * len(values), "new": [f"excluded.{name}" for name in values]}
        self._run(
            cursor,
            "insert into {indexes} ({names}) values ({marks}) on conflict (name) do update set ({names}) = ({new})",
            list(values.values()),
            **{name: compose(", ".join(listed)) for name, listed in lists.items()},
        )
        edition = about.number, about.edition, about.token
        self._run(cursor, "insert into {editions} (number, edition, token) values (%s, %s, %s)", edition)
        return about

    def _write_model(self, cursor: Cursor[Any], record: IndexRecord) -> None:
        if record.model is None:
            return
        digest = record.model.digest
        if self._run(cursor, "select 1 from {models} where digest = %s limit 1", (digest,)).fetchone() is not None:
            return
        with tempfile.TemporaryDirectory() as folder:
            record.model.save(Path(folder) / "model")
            for path in sorted((Path(folder) / "model").iterdir()):
                row = digest, path.name, path.read_bytes()
                self._run(cursor, "insert into {models} values (%s, %s, %s) on conflict do nothing", row)

    def _write_parts(
        self, cursor: Cursor[Any], number: int, record: IndexRecord, kept: Sequence[str] = ()
    ) -> dict[Part, str]:
        """Write the parts of a record in place of all others but those to keep."""
        self._run(cursor, "delete from {parts} where number = %s and part <> all(%s)", (number, list(kept)))
        digests = {part: hashlib.sha256(content).hexdigest() for part, content in record.parts.items()}
        for part, digest in digests.items():
            self._run(cursor, "insert into {parts} values (%s, %s, %s, %s)", (number, part, digest, record.parts[part]))
        return digests

    def _carry_map(self, cursor: Cursor[Any], before: IndexEntry, about: IndexEntry) -> dict[Part, str]:
        """Let the map follow a change: points of removed graphs go, new graphs have none yet."""
        digests = dict(about.parts)
        row = self._run(
            cursor, "select content from {parts} where number = %s and part = 'map'", (about.number,)
        ).fetchone()
        if row is None:
            return digests
        points = np.frombuffer(row[0], dtype="<f4").reshape(-1, 2)
        old, new = (TableRows(self._database, one).read_positions(cursor) for one in (before, about))
        moved = np.full((len(new), 2), np.nan, dtype="<f4")
        moved[np.isin(new, old, assume_unique=True)] = points[np.isin(old, new, assume_unique=True)]
        content = moved.tobytes()
        digests["map"] = hashlib.sha256(content).hexdigest()
        text = "update {parts} set content = %s, digest = %s where number = %s and part = 'map'"
        self._run(cursor, text, (content, digests["map"], about.number))
        return digests

    def _clean(self, cursor: Cursor[Any], about: IndexEntry) -> None:
        """Delete what went out of use so long ago that nobody reads it."""
        old = compose("now() - interval {kept}", kept=_KEPT)
        out_of_use = "select max(edition) from {editions} where number = %s and written < {old}"
        text = "delete from {table} where removed <= (" + out_of_use + ")"
        self._run(cursor, text, (about.number,), number=about.number, old=old)
        for (number,) in self._run(cursor, "select number from {retired} where since < {old}", old=old).fetchall():
            self._run(cursor, "drop table if exists {table}", number=number)
            for name in ("labels", "parts", "editions", "retired"):
                self._run(cursor, f"delete from {{{name}}} where number = %s", (number,))
        self._run(
            cursor, "delete from {models} where digest not in (select model from {indexes} where model is not null)"
        )

    def _run(self, cursor: Cursor[Any], text: str, values: Sequence[Any] = (), **parts: Any) -> Any:
        return cursor.execute(self._sql(text, **parts), values or None)

    def _sql(self, text: str, number: int = 0, **parts: Any) -> Composed:
        """Return a statement, with the names of tables in braces, and that of the graphs by its number, filled in."""
        schema = self._address.schema
        names = ("about", "indexes", "labels", "models", "parts", "editions", "retired")
        tables: dict[str, Any] = {name: (schema, name) for name in names} | {"table": (schema, f"graphs_{number}")}
        return compose(text, **tables | {"schema": (schema,), "numbers": f'"{schema}".numbers'} | parts)


def _cut(array: NDArray[Any], ptr: NDArray[np.int64]) -> list[bytes]:
    """The bytes of each graph."""
    size = array.dtype.itemsize * math.prod(array.shape[1:])
    data = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
    return [data[first:last] for first, last in pairwise((ptr * size).tolist())]


def _read_labels(cursor: Cursor[Any], schema: str, number: int) -> dict[str, dict[Hashable, Hashable]]:
    """The vocabularies of a table, as a builder of segments continues them."""
    query = compose("select kind, label from {labels} where number = %s order by kind, code", labels=(schema, "labels"))
    found: dict[str, dict[Hashable, Hashable]] = {}
    for kind, text in cursor.execute(query, (number,)).fetchall():
        if kind in LABEL_COLUMNS:
            label = label_from_json(parse_json(text))
            found.setdefault(kind, {})[spelling(label)] = label
    return found


def _write_reading(record: IndexRecord) -> str | None:
    return None if record.reading is None else json.dumps(record.reading.to_dict())


def _refuse_id(note: bytes, there: str) -> None:
    name = label_from_json(parse_json(note)[0])
    raise InvalidArgument(f"id {name!r} {there}; ids tell graphs apart: pass others as ids=, or number them (--number)")
