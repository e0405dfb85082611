"""Indexes whose graphs the workers of an executor encode: the same files to the last bit, whoever dies on the way."""

from __future__ import annotations

import multiprocessing
import os
import signal
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphmetric as gm
from graphmetric._foundation.executors import map_in_order, run_tasks
from graphmetric.errors import InvalidArgument, WorkerLost
from graphmetric.index import building
from graphmetric.index.building import SegmentBuilder
from graphmetric.learned import learned_distance
from tests.command_line import run
from tests.search.conftest import HEADS


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a hundred graphs are many tasks, and no worker of an earlier test has a model."""
    monkeypatch.setattr(building, "CHUNK", 16)
    learned_distance._model_slot.cache_clear()


def assert_same(found: gm.GraphIndex, expected: gm.GraphIndex) -> None:
    """Everything that is stored is the same, bit for bit."""
    assert found.ids == expected.ids
    assert found.metadata == expected.metadata
    segments = zip(found._open.graphs.segments, expected._open.graphs.segments, strict=True)
    for ours, theirs in ((one.segment, other.segment) for one, other in segments):
        assert ours.vocabularies == theirs.vocabularies
        assert set(ours.arrays) == set(theirs.arrays)
        for name, array in theirs.arrays.items():
            assert ours.arrays[name].dtype == array.dtype
            assert np.array_equal(ours.arrays[name], array), name


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("head", [None, *HEADS])
def test_an_executor_changes_nothing(
    head: str | None,
    models: dict[str, gm.GraphDistance],
    molecules: gm.GraphCollection,
    threads: Executor,
    tmp_path: Path,
) -> None:
    """With every head and without a model, from a collection and from an iterator, in memory and in a folder."""
    given = (molecules,) if head is None else (models[head], molecules)
    expected = gm.GraphIndex.build(*given)
    assert_same(gm.GraphIndex.build(*given, executor=threads), expected)
    streamed = (*given[:-1], iter(molecules))
    built = gm.GraphIndex.build(*streamed, out=tmp_path / "idx", executor=threads)
    assert_same(built, expected)
    assert_same(gm.GraphIndex.load(tmp_path / "idx", verify=True), expected)


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("head", [None, "matching"])
def test_an_executor_changes_nothing_in_a_database(
    head: str | None,
    models: dict[str, gm.GraphDistance],
    molecules: gm.GraphCollection,
    threads: Executor,
    postgres_url: str,
) -> None:
    given = (molecules,) if head is None else (models[head], molecules)
    there = gm.GraphIndex.build(*given, store=f"{postgres_url}&index=elsewhere", executor=threads)
    here = gm.GraphIndex.build(*given, store=f"{postgres_url}&index=here")
    assert_same(there, here)
    more = [graph.replace(id=f"{graph.id} again") for graph in molecules[:40]]
    there.add(more, executor=threads)
    here.add(more)
    assert_same(there, here)


@pytest.mark.usefixtures("small_chunks")
def test_adding_graphs_and_a_model(
    model: gm.GraphDistance, molecules: gm.GraphCollection, threads: Executor, tmp_path: Path
) -> None:
    expected = gm.GraphIndex.build(molecules[:60])
    found = gm.GraphIndex.build(molecules[:60], executor=threads)
    for index, pool in ((expected, None), (found, threads)):
        index.add(molecules[60:], [f"new {k}" for k in range(len(molecules) - 60)], executor=pool)
        index.remove(molecules[3].id)
    assert_same(found, expected)
    expected.add_model(model)
    found.add_model(model, out=tmp_path / "idx", executor=threads)
    assert_same(found, expected)
    few = gm.GraphIndex.build(molecules[:0], executor=threads)
    few.add_model(model, executor=threads)
    assert len(few) == 0


@pytest.mark.usefixtures("small_chunks")
def test_what_goes_wrong_is_told_and_leaves_the_index(
    model: gm.GraphDistance, molecules: gm.GraphCollection, threads: Executor, tmp_path: Path
) -> None:
    place = tmp_path / "idx"
    before = gm.GraphIndex.build(model, molecules[:20], out=place)
    arcs = gm.Graph(3, [(0, 1), (1, 2)], directed=True, node_labels="CCO")
    with pytest.raises(InvalidArgument, match="direct"):
        gm.GraphIndex.build(model, [*molecules, arcs], out=place, executor=threads)

    def graphs() -> Iterator[gm.Graph]:
        yield from molecules
        raise LookupError("the source broke off")

    with pytest.raises(LookupError, match="broke off"):
        gm.GraphIndex.build(model, graphs(), out=place, executor=threads)
    with pytest.raises(InvalidArgument, match="dask"):
        gm.GraphIndex.build(molecules, executor="a cluster")
    with ThreadPoolExecutor(1) as pool:
        pass  # which shuts it down
    with pytest.raises(WorkerLost, match="takes no more work"):
        gm.GraphIndex.build(model, molecules, out=place, executor=pool)
    assert_same(gm.GraphIndex.load(place), before)


def test_results_that_wait_are_few(threads: Executor) -> None:
    """A first task that takes long does not let the results of all others pile up in memory."""
    begun: list[int] = []

    def tasks() -> Iterator[int]:
        for number in range(60):
            begun.append(number)
            yield number

    def work(number: int) -> int:
        if number == 0:
            while len(finished) < 2:
                pass
        finished.append(number)
        return number

    finished: list[int] = []
    pairs = map_in_order(threads, work, tasks(), lambda number: (number,))
    assert next(pairs) == (0, 0)
    assert len(begun) <= 5
    assert list(pairs) == [(number, number) for number in range(1, 60)]


def test_what_tasks_need_is_sent_to_workers_that_lack_it(threads: Executor) -> None:
    seen: list[str | None] = []
    kept: list[str] = []

    def work(shared: str | None, number: int) -> int | None:
        seen.append(shared)
        if number == 30:
            kept.clear()
        if shared is not None:
            kept.append(shared)
        return number if kept else None

    found = run_tasks(threads, work, ((number, (number,)) for number in range(60)), shared="the model", in_order=True)
    assert list(found) == [(number, number) for number in range(60)]
    assert seen[:4] == ["the model"] * 4
    assert seen.count("the model") < 20
    assert len(seen) > 60


@pytest.mark.usefixtures("small_chunks")
def test_the_memory_of_the_caller_does_not_grow(tmp_path: Path, threads: Executor) -> None:
    """Of each graph some numbers are looked at in the end, to tell ids apart, but neither its nodes nor its edges."""

    def graphs(count: int) -> Iterator[gm.Graph]:
        rng = np.random.default_rng(0)
        for k in range(count):
            yield gm.Graph(200, [(i, i + 1) for i in range(199)], node_labels=rng.integers(0, 3, 200).tolist(), id=k)

    most = []
    gm.GraphIndex.build(graphs(40), out=tmp_path / "first", executor=threads)
    for count in (400, 2400):
        tracemalloc.start()
        gm.GraphIndex.build(graphs(count), out=tmp_path / f"{count}", executor=threads)
        most.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert most[1] - most[0] < 2000 * 400  # the columns of a graph alone take 2,400 bytes


@pytest.mark.slow
def test_processes_give_the_same(model: gm.GraphDistance, molecules: gm.GraphCollection) -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("forkserver")) as pool:
        found = gm.GraphIndex.build(model, molecules, executor=pool)
    assert_same(found, gm.GraphIndex.build(model, molecules))


@pytest.mark.slow
@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("store", ["folder", "postgres"])
def test_a_worker_of_a_cluster_may_die(
    store: str,
    model: gm.GraphDistance,
    molecules: gm.GraphCollection,
    client: Any,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One of two workers, by SIGKILL, as soon as the second chunk is written; the new one is sent the model."""
    place = str(tmp_path / "idx")
    if store == "postgres":
        place = f"{request.getfixturevalue('postgres_url')}&index=killed-worker"
    expected = gm.GraphIndex.build(model, molecules, store=place)
    killed: list[int] = []
    append, chunks = SegmentBuilder.append, []

    def append_and_kill(builder: SegmentBuilder, *given: Any) -> None:
        append(builder, *given)
        chunks.append(len(given[1]))
        if len(chunks) == 2:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    monkeypatch.setattr(SegmentBuilder, "append", append_and_kill)
    found = gm.GraphIndex.build(model, iter(molecules), store=place, executor=client)
    assert killed
    assert len(chunks) == -(-len(molecules) // 16)
    assert_same(found, expected)


@pytest.mark.slow
def test_the_commands_on_a_cluster(client: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    address = client.scheduler.address
    arguments = ["index", "molecules", "molecules", "--out", str(tmp_path / "idx"), "--cluster", address]
    assert run(capsys, *arguments)[0] == 0
    expected = gm.GraphIndex.build(gm.GraphDistance.load("molecules"), gm.load_dataset("molecules").graphs)
    assert_same(gm.GraphIndex.load(tmp_path / "idx"), expected)
    assert run(capsys, "index", "add", str(tmp_path / "idx"), "molecules", "--number", "--cluster", address)[0] == 0
    assert len(gm.GraphIndex.load(tmp_path / "idx")) == 2 * len(expected)
    vectors = tmp_path / "vectors.npy"
    assert run(capsys, "embed", "molecules", "molecules", "--out", str(vectors), "--cluster", address)[0] == 0
    assert np.array_equal(
        np.load(vectors), gm.GraphDistance.load("molecules").embed(gm.load_dataset("molecules").graphs)
    )
