"""An index in PostgreSQL: several writers and readers, lost connections, killed writers, hostile content, passwords."""

from __future__ import annotations

import gc
import json
import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric.errors import FileError, InvalidArgument, InvalidGraph, MissingExtra, StoreError
from graphmetric.formats import MoleculeOptions
from graphmetric.index.postgres import pool as connections
from graphmetric.index.postgres import store as postgres_store
from graphmetric.index.postgres.address import DatabaseAddress
from tests.clocks import NOT_FOR_EVER
from tests.command_line import run as run_command
from tests.search.conftest import HEADS

psycopg = pytest.importorskip("psycopg")
_numbers = count()


@pytest.fixture
def url(postgres_url: str) -> str:
    """The address of an index that does not exist yet."""
    return f"{postgres_url}&index=own-{next(_numbers)}"


@pytest.fixture
def run(postgres_url: str) -> Iterator[Callable[..., Any]]:
    """Runs a statement beside all that the package does."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:

        def execute(statement: str, *values: object) -> Any:
            found = connection.execute(statement, values)
            return found.fetchall() if found.description else None

        yield execute


@pytest.fixture
def shared(url: str, molecules: gm.GraphCollection) -> gm.GraphIndex:
    """Twenty molecules without a model."""
    return gm.GraphIndex.build(molecules[:20], store=url)


def answers(index: gm.GraphIndex, query: gm.Graph, **options: Any) -> list[tuple[object, float]]:
    return [(hit.id, hit.distance) for hit in index.search(query, 6, **options)]


def kill_connections(run: Callable[..., Any]) -> int:
    """End all sessions of the package on the server."""
    query = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where application_name = 'graphmetric'"
    return len(run(query))


@pytest.mark.slow
@pytest.mark.parametrize("head", HEADS)
def test_as_in_memory(
    models: dict[str, gm.GraphDistance], molecules: gm.GraphCollection, head: str, url: str, tmp_path: Path
) -> None:
    """Every head, every view, built there or copied there, and copied back into a folder."""
    memory = gm.GraphIndex.build(models[head], molecules[:50])
    built = gm.GraphIndex.build(models[head], iter(molecules[:50]), store=url)
    memory.save(f"{url}-copy")
    for other in (built, gm.GraphIndex.load(url), gm.GraphIndex.load(f"{url}-copy", model=models[head])):
        for options in ({}, {"view": "steinhaus"}, {"where": {"class": 1}}, {"distinct": True}, {"num_candidates": 50}):
            assert answers(other, molecules[60], **options) == answers(memory, molecules[60], **options)
        near = memory.range_search(molecules[60], 8.0)
        assert [(hit.id, hit.distance) for hit in other.range_search(molecules[60], 8.0)] == [
            (h.id, h.distance) for h in near
        ]
        assert np.array_equal(other.vectors(), memory.vectors())
        assert other.graph(molecules[7].id) == molecules[7]
        assert other.metadata == memory.metadata
        other.verify()
    gm.GraphIndex.load(url).save(tmp_path / "back")
    back = gm.GraphIndex.load(tmp_path / "back")
    assert back.ids == memory.ids
    assert answers(back, molecules[60]) == answers(memory, molecules[60])


@pytest.mark.slow
def test_the_index_of_vectors(
    models: dict[str, gm.GraphDistance],
    molecules: gm.GraphCollection,
    url: str,
    run: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The database proposes by its own index, within conditions, without removed graphs, and reads no column whole."""
    monkeypatch.setattr(postgres_store, "APPROXIMATE_FROM", 60)
    memory = gm.GraphIndex.build(models["block-norm"], molecules[:90])
    gm.GraphIndex.build(models["block-norm"], molecules[:50], store=url).add(molecules[50:90])  # made while adding
    assert run("select count(*) from pg_indexes where indexdef like '%%USING hnsw%%'")[0][0] >= 1
    index = gm.GraphIndex.load(url, model=models["block-norm"])
    for options in ({}, {"where": {"class": 2}}, {"distinct": True}):
        found = index.search(molecules[95], 5, num_candidates=25, **options)  # type: ignore[arg-type]
        wanted = memory.search(molecules[95], 5, **options)  # type: ignore[arg-type]
        assert [(hit.id, hit.distance) for hit in found] == [(hit.id, hit.distance) for hit in wanted]
        assert found.report.graphs == (30 if "where" in options else 90)
        assert not found.report.exact
    assert index._open.graphs.rows._columns == {}  # type: ignore[attr-defined]
    few = index.search(
        molecules[95], 5, num_candidates=80, where={"class": 2}
    )  # of which the index of vectors finds some
    assert len(few) == 5
    assert few.report.exact
    index.remove(found[0].id)
    assert found[0].graph.id not in [hit.id for hit in index.search(molecules[95], 5, num_candidates=25)]
    assert found[0].graph.num_nodes > 0  # what was found stays


@pytest.mark.slow
def test_two_writers_at_once(shared: gm.GraphIndex, url: str, molecules: gm.GraphCollection) -> None:
    """Nothing of either is lost, and graphs without ids get different numbers."""
    writers = [gm.GraphIndex.load(url) for _ in range(3)]
    problems: list[Exception] = []

    def write(index: gm.GraphIndex, own: int) -> None:
        try:
            for k in range(4):
                index.add([molecules[20 + 4 * own + k], molecules[50].replace(id=None)])
            index.remove(molecules[own].id)
        except gm.errors.GraphMetricError as error:
            problems.append(error)

    threads = [threading.Thread(target=write, args=(index, own)) for own, index in enumerate(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    ids = gm.GraphIndex.load(url).ids
    assert set(ids) == {graph.id for graph in molecules[3:32]} | set(range(12))
    assert len(ids) == 29 + 12
    assert len(shared) == 20  # who only reads stays at the edition that was opened
    assert shared.ids == [graph.id for graph in molecules[:20]]
    assert shared.graph(molecules[0].id) == molecules[0]
    assert shared.search(molecules[0], 1)[0].id == molecules[0].id


def test_a_writer_sees_what_others_wrote(shared: gm.GraphIndex, url: str, molecules: gm.GraphCollection) -> None:
    other = gm.GraphIndex.load(url)
    shared.search(molecules[0], 1)  # its columns are in memory now, and are continued
    other.remove([molecules[3].id, molecules[19].id])
    other.add(molecules[30:33])
    shared.add(molecules[33:35])
    wanted = [graph for k, graph in enumerate(molecules[:35]) if k not in (3, 19) and not 20 <= k < 30]
    assert shared.ids == [graph.id for graph in wanted]
    memory = gm.GraphIndex.build(wanted)
    for query in (molecules[3], molecules[34]):
        assert answers(shared, query) == answers(memory, query)
    with pytest.raises(InvalidArgument, match=r"no graph .*nothing was removed"):
        shared.remove([molecules[0].id, molecules[3].id])
    with pytest.raises(InvalidArgument, match="is in the index already"):
        other.add([molecules[34]])
    assert len(gm.GraphIndex.load(url)) == len(wanted)


def test_ids_of_a_new_index_tell_graphs_apart(url: str, molecules: gm.GraphCollection) -> None:
    with pytest.raises(InvalidArgument, match="id 'x' occurs twice"):
        gm.GraphIndex.build(molecules[:3], ids=["x", "y", "x"], store=url)
    with pytest.raises(FileError, match="has no index"):
        gm.GraphIndex.load(url)


def test_one_sort_of_features(url: str) -> None:
    index = gm.GraphIndex.build([gm.Graph(2, [(0, 1)], node_features=[[1.0, 2.0], [3.0, 4.0]])], store=url)
    index.add([gm.Graph(1), gm.Graph(1, node_features=[[0.5, 0.5]])])
    with pytest.raises(InvalidGraph, match="an index takes one sort"):
        index.add([gm.Graph(1, node_features=[[1.0]])])
    assert index.graph(2).node_features.tolist() == [[0.5, 0.5]]  # type: ignore[union-attr]
    assert index.graph(1).node_features is None
    assert len(gm.GraphIndex.load(url)) == 3


def test_lost_connections_are_tried_again(
    shared: gm.GraphIndex, molecules: gm.GraphCollection, run: Callable[..., Any]
) -> None:
    wanted = answers(shared, molecules[30])
    for _ in range(3):
        assert kill_connections(run) >= 1
        assert answers(shared, molecules[30]) == wanted
        kill_connections(run)
        shared.add([molecules[30]])
        shared.remove(molecules[30].id)


def count_sessions(run: Callable[..., Any]) -> int:
    query = "select count(*) from pg_stat_activity where application_name = 'graphmetric'"
    return int(run(query)[0][0])


def test_indexes_share_connections(
    shared: gm.GraphIndex, url: str, molecules: gm.GraphCollection, run: Callable[..., Any]
) -> None:
    """However many indexes are open, and however many threads ask them, a server is not full of one process."""
    kill_connections(run)
    opened = [gm.GraphIndex.load(url) for _ in range(120)]
    opened.append(gm.GraphIndex.build(molecules[:2], store=f"{url}-other"))
    assert {answers(index, molecules[3])[0][0] for index in opened[:-1]} == {molecules[3].id}
    assert count_sessions(run) <= 2
    most = []

    def ask(index: gm.GraphIndex) -> None:
        assert len(index.ids) >= 2
        most.append(count_sessions(run))

    with ThreadPoolExecutor(40) as pool:
        list(pool.map(ask, opened))
    assert max(most) <= connections.MOST_CONNECTIONS
    assert count_sessions(run) <= 8


def test_connections_are_closed_with_the_last_index(
    postgres_url: str, molecules: gm.GraphCollection, run: Callable[..., Any]
) -> None:
    own = f"{postgres_url}&application_name=own-session&index=closing"
    query = "select count(*) from pg_stat_activity where application_name = 'own-session'"
    indexes = [gm.GraphIndex.build(molecules[:2], store=own), gm.GraphIndex.load(own)]
    assert run(query)[0][0] == 1
    indexes.clear()
    gc.collect()
    wait_until(lambda: run(query)[0][0] == 0)


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + NOT_FOR_EVER
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_thread_that_waits_too_long_for_a_connection_is_told(
    url: str, molecules: gm.GraphCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 1)
    monkeypatch.setattr(connections, "_WAIT_SECONDS", 0.05)
    place = f"{url}&connect_timeout=9"  # an address of its own, whose pool is made now
    index = gm.GraphIndex.build(molecules[:2], store=place)

    def graphs() -> Iterator[gm.Graph]:
        yield molecules[3]
        with pytest.raises(StoreError, match="in use by 1 threads of this process"):
            index.graph(molecules[0].id)

    assert len(gm.GraphIndex.build(graphs(), store=place)) == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_lost_in_a_write(
    shared: gm.GraphIndex,
    url: str,
    molecules: gm.GraphCollection,
    run: Callable[..., Any],
    when: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Graphs are added once, whether the connection broke before the commit or after it."""
    real, left = connections.Database._transact, [1]

    def transact(self: connections.Database, work: Callable[[Any], Any]) -> Any:
        def breaking(cursor: Any) -> Any:
            found = work(cursor)
            if isinstance(found, postgres_store.IndexEntry) and found.edition > 1 and left[0] and when == "before":
                left[0] = 0
                run("select pg_terminate_backend(%s, 5000)", cursor.connection.info.backend_pid)
            return found

        found = real(self, breaking)
        if isinstance(found, postgres_store.IndexEntry) and found.edition > 1 and left[0] and when == "after":
            left[0] = 0
            raise psycopg.OperationalError("server closed the connection unexpectedly")
        return found

    monkeypatch.setattr(connections.Database, "_transact", transact)
    shared.add(molecules[30:32])
    assert left == [0]
    assert len(shared) == len(gm.GraphIndex.load(url)) == 22
    assert shared.ids[20:] == [molecules[30].id, molecules[31].id]


def test_a_connection_lost_while_building_is_told(
    url: str, molecules: gm.GraphCollection, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphmetric.index.building.CHUNK", 10)

    def graphs() -> Iterator[gm.Graph]:
        yield from molecules[:25]
        kill_connections(run)
        yield from molecules[25:40]

    with pytest.raises(StoreError, match="nothing was written"):
        gm.GraphIndex.build(graphs(), store=url)
    with pytest.raises(StoreError, match="has no index"):
        gm.GraphIndex.load(url)
    assert len(gm.GraphIndex.build(molecules[:40], store=url)) == 40


def in_a_process_killed_at(step: int, work: Callable[[], object]) -> bool:
    """Do the work in a fork that kills itself at its ``step``-th statement; whether it was killed."""
    child = os.fork()
    if child == 0:
        torch.set_num_threads(1)
        left, real = [step], psycopg.Cursor.execute

        def count_down(self: Any, *given: Any, **options: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(self, *given, **options)

        psycopg.Cursor.execute = count_down
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.slow
def test_kill_9_leaves_the_old_or_the_new(shared: gm.GraphIndex, url: str, molecules: gm.GraphCollection) -> None:
    """A writer that is killed at any statement leaves nothing half-written; the next one goes on."""
    sizes, killed, step = [], True, 0
    while killed:
        step += 2
        killed = in_a_process_killed_at(step, lambda: gm.GraphIndex.load(url).add(molecules[20:25]))
        found = gm.GraphIndex.load(url)
        sizes.append(len(found))
        assert found.ids == [graph.id for graph in molecules[: len(found)]]
        assert found.search(molecules[3], 1)[0].id == molecules[3].id
        if len(found) == 25:
            found.remove([graph.id for graph in molecules[20:25]])
    assert set(sizes) == {20, 25}
    assert len(shared) == 20


@pytest.mark.slow
def test_kill_9_while_building(url: str, molecules: gm.GraphCollection, run: Callable[..., Any]) -> None:
    before = {row[0] for row in run("select oid from pg_class where relname like 'graphs\\_%%'")}
    killed, step, whole = True, 0, []
    while killed:
        step += 5
        killed = in_a_process_killed_at(step, lambda: gm.GraphIndex.build(molecules[:10], store=url))
        try:
            whole.append(len(gm.GraphIndex.load(url)))
        except StoreError:
            whole.append(0)
    assert set(whole) == {0, 10}
    tables = {row[0] for row in run("select oid from pg_class where relname like 'graphs\\_%%' and relkind = 'r'")}
    assert len(tables - before) <= 1 + whole.count(10)  # what was not committed is gone


def test_a_replaced_index_stays_for_its_readers(
    shared: gm.GraphIndex, url: str, molecules: gm.GraphCollection, monkeypatch: pytest.MonkeyPatch
) -> None:
    query, wanted = molecules[5], answers(shared, molecules[5])
    reader, other = gm.GraphIndex.load(url), gm.GraphIndex.load(url)
    other.remove(molecules[5].id)
    assert answers(reader, query) == wanted  # read only now
    gm.GraphIndex.build(molecules[50:60], store=url)
    assert answers(gm.GraphIndex.load(url), query) != wanted
    assert reader.graph(molecules[7].id) == molecules[7]
    monkeypatch.setattr(postgres_store, "_KEPT", "0 seconds")
    gm.GraphIndex.load(url).add([molecules[60]])
    with pytest.raises(StoreError, match="load it again"):
        reader.graph(molecules[8].id)
    with pytest.raises(StoreError, match="load it again"):
        other.search(molecules[9], 1)


def test_removed_rows_are_deleted_in_the_end(
    shared: gm.GraphIndex,
    url: str,
    molecules: gm.GraphCollection,
    run: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    late = gm.GraphIndex.load(url)
    monkeypatch.setattr(postgres_store, "_KEPT", "0 seconds")
    shared.remove([graph.id for graph in molecules[:5]])
    shared.add([molecules[40]])
    assert len(gm.GraphIndex.load(url)) == 16
    with pytest.raises(StoreError, match="load it again"):
        late.search(molecules[0], 1)


def test_an_add_to_a_changed_index_needs_its_base(
    shared: gm.GraphIndex, url: str, model: gm.GraphDistance, molecules: gm.GraphCollection
) -> None:
    """A model is added to what the index was; if it was changed meanwhile, that must not be lost."""
    other = gm.GraphIndex.load(url)
    other.add([molecules[40]])
    with pytest.raises(StoreError, match="changed by another process"):
        shared.add_model(model, out=url)
    again = gm.GraphIndex.load(url)
    again.add_model(model, out=url)
    assert again.search(molecules[40], 1)[0].id == molecules[40].id
    assert gm.GraphIndex.load(url).model is not None


def test_a_writer_that_waits_too_long_is_told(
    shared: gm.GraphIndex, url: str, molecules: gm.GraphCollection, postgres_url: str
) -> None:
    impatient = gm.GraphIndex.load(f"{url}&options=-c%20lock_timeout%3D200ms")
    with psycopg.connect(postgres_url) as connection:
        connection.execute("select * from graphmetric.indexes for update")
        with pytest.raises(StoreError, match="is being written by another process"):
            impatient.add([molecules[40]])
        assert answers(shared, molecules[3])[0][0] == molecules[3].id  # readers wait for nobody
        connection.rollback()
    impatient.add([molecules[40]])


def test_two_builders_at_once(url: str, molecules: gm.GraphCollection, run: Callable[..., Any]) -> None:
    def graphs() -> Iterator[gm.Graph]:
        yield molecules[0]
        with pytest.raises(StoreError, match="is being written by another process"):
            gm.GraphIndex.build(molecules[1:3], store=url)
        yield molecules[5]

    assert gm.GraphIndex.build(graphs(), store=url).ids == [molecules[0].id, molecules[5].id]


def test_slow_statements_are_ended(url: str, shared: gm.GraphIndex, molecules: gm.GraphCollection) -> None:
    hasty = gm.GraphIndex.load(f"{url}&options=-c%20statement_timeout%3D500s")
    store: Any = hasty._open.home[0]  # type: ignore[index]
    with pytest.raises(StoreError, match="did not answer in time"):
        store._database.read(
            lambda cursor: (cursor.execute("set local statement_timeout = 50"), cursor.execute("select pg_sleep(500)"))
        )
    assert answers(hasty, molecules[3])[0][0] == molecules[3].id


NASTY = [
    "'; drop table graphmetric.indexes; --",
    '"',
    "\\",
    "%s",
    "{table}",
    "a\x00b",
    "\x00",
    "",
    "ünï \U0001f600",
]
values = st.one_of(
    st.sampled_from(NASTY),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.booleans(),
    st.none(),
)


@pytest.mark.slow
@settings(max_examples=25)
@given(data=st.data())
def test_hostile_content(postgres_url: str, data: st.DataObject) -> None:
    """Ids, labels and metadata of any kind come back as they were, and conditions hold as they do in Python."""
    names = st.one_of(
        st.sampled_from(NASTY),
        st.integers(-(10**30), 10**30),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    )
    ids = data.draw(st.lists(names, min_size=1, max_size=4, unique_by=lambda x: (type(x), x)))
    keys = st.sampled_from([*NASTY, "k"])
    graphs = [
        gm.Graph(
            2,
            [(0, 1)],
            node_labels=[data.draw(names), data.draw(names)],
            id=id,
            metadata=data.draw(st.dictionaries(keys, st.one_of(values, st.lists(values, max_size=2)), max_size=2)),
        )
        for id in ids
    ]
    index = gm.GraphIndex.build(graphs, store=f"{postgres_url}&index=hostile")
    memory = gm.GraphIndex.build(graphs)
    again = gm.GraphIndex.load(f"{postgres_url}&index=hostile")
    assert again.ids == ids
    assert [again.graph(id) for id in ids] == graphs
    assert [repr(facts) for facts in index.metadata] == [repr(facts) for facts in memory.metadata]
    for key, value in [(key, value) for graph in graphs for key, value in graph.metadata.items()][:3]:
        for asked in (value, data.draw(values)):
            found = again.search(graphs[0], 4, where={key: asked})
            wanted = memory.search(graphs[0], 4, where={key: asked})
            assert {hit.id for hit in found} == {hit.id for hit in wanted}
    with pytest.raises(InvalidArgument, match="no graph of the index has metadata"):
        again.search(graphs[0], 1, where={"'; select 1; --no such key": 1})


def test_numbers_that_are_equal_in_python(url: str, molecules: gm.GraphCollection) -> None:
    facts = [
        {"v": 1},
        {"v": 1.0},
        {"v": True},
        {"v": 0.5},
        {"v": "1"},
        {"v": [1, None]},
        {"v": math.nan},
        {"v": 10**30},
    ]
    graphs = [graph.replace(id=k, metadata=fact) for k, (graph, fact) in enumerate(zip(molecules, facts, strict=False))]
    index, memory = gm.GraphIndex.build(graphs, store=url), gm.GraphIndex.build(graphs)
    asked = [1, np.float64(1), np.True_, 0.5, "1", [1.0, None], math.nan, 1e30, 10**30, (1, None), math.inf]
    for value in asked:
        found, wanted = (one.search(molecules[0], 8, where={"v": value}) for one in (index, memory))
        assert {hit.id for hit in found} == {hit.id for hit in wanted}, value


def test_rows_that_were_damaged_are_told(
    shared: gm.GraphIndex, url: str, molecules: gm.GraphCollection, run: Callable[..., Any]
) -> None:
    table = f"graphmetric.graphs_{shared._open.graphs.rows.about.number}"  # type: ignore[attr-defined]
    for change in (
        "edges = '\\x01'::bytea",
        "edges = decode(repeat('7f', octet_length(edges)), 'hex')",
        "nodes = 9999",
    ):
        run(f"create table kept as select * from {table}")
        run(f"update {table} set {change} where position = 3")
        with pytest.raises(StoreError, match="rows that are not"):
            gm.GraphIndex.load(url).verify()
        run(f"delete from {table}")
        run(f"insert into {table} select * from kept")
        run("drop table kept")
    gm.GraphIndex.load(url).verify()


def test_versions(url: str, molecules: gm.GraphCollection, run: Callable[..., Any]) -> None:
    """A schema that is missing is made; one of another version is refused, by readers and writers."""
    place = f"{url}&schema=later"
    with pytest.raises(StoreError, match="there is none"):
        gm.GraphIndex.load(place)
    gm.GraphIndex.build(molecules[:2], store=place)
    with pytest.raises(StoreError, match="there are: own-"):
        gm.GraphIndex.load(place.replace("index=own", "index=other"))
    run("update later.about set version = 3")
    for act in (gm.GraphIndex.load, lambda there: gm.GraphIndex.build(molecules[:2], store=there)):
        with pytest.raises(StoreError, match="tables of version 3; this graphmetric reads versions 1 and 2"):
            act(place)


def test_tables_of_version_1_are_read_and_upgraded_by_the_first_change(
    url: str, molecules: gm.GraphCollection, run: Callable[..., Any]
) -> None:
    place = f"{url}&schema=earlier"
    gm.GraphIndex.build(molecules[:5], store=place)
    run("alter table earlier.indexes drop column reading")
    run("update earlier.about set version = 1")
    index = gm.GraphIndex.load(place)
    assert (index.reading, len(index)) == (None, 5)
    index.reading = MoleculeOptions(distinguish="charge")
    index.save(place)
    index.add(gm.GraphCollection(molecules[5:7], reading=index.reading))
    assert run("select max(version) from earlier.about") == [(2,)]
    again = gm.GraphIndex.load(place)
    assert (again.reading, len(again)) == (MoleculeOptions(distinguish="charge"), 7)


@given(
    password=st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=6, max_size=20),
    how=st.sampled_from(["user", "query"]),
)
@settings(max_examples=50)
def test_no_password_is_ever_shown(password: str, how: str) -> None:
    from urllib.parse import quote

    hidden = quote(password, safe="")
    user, query = (f"me:{hidden}@", "") if how == "user" else ("me@", f"password={hidden}&")
    address = DatabaseAddress.parse(f"postgresql://{user}127.0.0.1:1/db?{query}index=x&connect_timeout=2")
    shown = f"{address!r} {address.shown} {address.hide(f'failed: {password}')}"
    assert (
        shown.count(password) == 0 or password in "postgresql://me@127.0.0.1:1/db?connect_timeout=2&index=x failed: ***"
    )
    assert (address.index, address.schema) == ("x", "graphmetric")


@pytest.mark.parametrize(
    "place",
    [
        "postgresql://me:s3cr3t-word@127.0.0.1:1/db?index=x",
        "postgresql://me:s3cr3t-word@127.0.0.1:port/db",
        "postgresql://me:s3cr3t-word@[::1/db",
        "postgresql://me@127.0.0.1:1/db?password=s3cr3t-word&nonsense=1",
        "postgresql://me:s3cr3t-word@127.0.0.1:1/db?index=no%20name",
        "postgresql://me:s3cr3t-word%@127.0.0.1:1/db",
    ],
)
def test_errors_hold_no_password(
    place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(connections, "_PAUSES", (0.01,))
    with pytest.raises((StoreError, InvalidArgument)) as caught:
        gm.GraphIndex.load(place)
    error: BaseException | None = caught.value
    assert "s3cr3t" not in f"{error} {error!r}"
    assert error is not None
    assert error.__cause__ is None
    assert error.__suppress_context__ or error.__context__ is None
    from graphmetric.cli import main

    monkeypatch.setattr(sys, "argv", ["graphmetric", "search", place, "molecules:3"])
    with pytest.raises(SystemExit):
        main()
    printed = capsys.readouterr()
    assert "s3cr3t" not in printed.out + printed.err


def test_other_addresses_are_refused(molecules: gm.GraphCollection, tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="begin with mysql://"):
        gm.GraphIndex.load("mysql://host/db")
    with pytest.raises(InvalidArgument, match="not in both"):
        gm.GraphIndex.build(molecules[:2], out=tmp_path / "x", store="postgresql:///db")


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"graphmetric\[postgres\]"):
        gm.GraphIndex.load("postgresql:///db")


@pytest.mark.slow
def test_a_map_follows_the_changes(
    url: str, molecules: gm.GraphCollection, model: gm.GraphDistance, tmp_path: Path
) -> None:
    index = gm.GraphIndex.build(model, molecules[:30], store=url)
    late = gm.GraphIndex.load(url)
    points = index.build_map("tsne").points
    other = gm.GraphIndex.load(url)
    assert np.allclose(other.map().points, points)
    other.remove(molecules[4].id)
    other.add(molecules[30:33])
    again = gm.GraphIndex.load(url)
    for found in (other, again):
        assert found.map().method == "tsne"
        assert np.allclose(found.map().points[:29], np.delete(points, 4, axis=0))
        assert found.map().placed == 3
    with pytest.raises(StoreError, match="load it again"):
        late.build_map("tsne")
    again.save(tmp_path / "folder")
    assert np.allclose(gm.GraphIndex.load(tmp_path / "folder").map().points, again.map().points)


def test_the_command_line(
    url: str, tmp_path: Path, molecules: gm.GraphCollection, capsys: pytest.CaptureFixture[str]
) -> None:
    """Index, add, remove and search by address, which is shown without its password."""
    first, more = tmp_path / "first.jsonl", tmp_path / "more.jsonl"
    gm.write_graphs(molecules[:20], first)
    gm.write_graphs(molecules[20:25], more)
    place, outputs = url.replace("postgres:@", "postgres:s3cr3t@"), []

    def ask(*arguments: object) -> tuple[int, str]:
        code, out, err = run_command(capsys, *arguments)
        outputs.append(out + err)
        return code, out + err

    assert "20 graphs indexed" in ask("index", first, "--store", place)[1]
    code, said = ask("index", first, "--store", place)
    assert code
    assert "--overwrite" in said
    assert "holds 25" in ask("index", "add", place, more)[1]
    assert "holds 24" in ask("index", "remove", place, molecules[3].id)[1]
    found = json.loads(ask("search", place, f"{more}:2", "-k", "2", "--json")[1])
    assert found["hits"][0]["id"] == molecules[22].id
    assert found["hits"][0]["proven"]
    code, said = ask("index", first)
    assert code
    assert "--store" in said
    assert "s3cr3t" not in "".join(outputs)


@pytest.mark.slow
def test_the_service_takes_over_new_editions(shared: gm.GraphIndex, url: str, molecules: gm.GraphCollection) -> None:
    pytest.importorskip("fastapi")
    from graphmetric.serve.service import Service

    service = Service(gm.GraphIndex.load(url), name="test", store=url)
    assert not service.take_new_edition()
    shared.add(molecules[40:42])
    shared.remove(molecules[0].id)
    assert service.take_new_edition()
    assert not service.take_new_edition()
    assert service.current.index.edition == shared.edition
    assert service.current.index.ids == shared.ids
    service.shut()
