"""Pairs solved by executors: the same numbers as here, whoever dies on the way, and memory that does not grow."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joblib.externals import loky

import graphmetric as gm
from graphmetric._foundation.executors import ATTEMPTS, run_tasks
from graphmetric.edit_distance import blocks
from graphmetric.edit_distance.label_store import choose_pairs
from graphmetric.edit_distance.store import Block, BlockStore
from graphmetric.errors import FileError, InvalidArgument, MissingExtra, NotEnoughMemory, WorkerLost
from tests.clocks import NOT_FOR_EVER
from tests.command_line import run

NAMES = ("lower", "upper", "value")


@pytest.fixture(scope="module")
def molecules() -> gm.GraphCollection:
    return gm.load_dataset("molecules").graphs[:90]


def assert_same(found: gm.PairwiseDistances, expected: gm.PairwiseDistances) -> None:
    for name in NAMES:
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    assert (found.nodes_expanded, found.computed) == (expected.nodes_expanded, expected.computed)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"others": 20},
        {"pairs": [[5, 0], [3, 3], [0, 5], [7, 30]]},
        {"pairs": []},
        {"costs": gm.EditCosts(node_delete=1, node_insert=3.3)},
        {"method": gm.ExactSearch(node_limit=5)},
        {"method": "beam:2"},
        {"method": "relaxed"},
    ],
    ids=repr,
)
def test_an_executor_changes_nothing(molecules: gm.GraphCollection, threads: Executor, options: dict) -> None:
    few = molecules[:40]
    if "others" in options:
        options = {"others": molecules[20:60]}
    expected = gm.pairwise_edit_distances(few, **options)
    found = gm.pairwise_edit_distances(few, executor=threads, **options)
    assert_same(found, expected)
    assert (found.converged is None) == (expected.converged is None)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["processes", "loky"])
def test_processes_give_the_same(molecules: gm.GraphCollection, kind: str) -> None:
    expected = gm.pairwise_edit_distances(molecules)
    if kind == "processes":
        with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("forkserver")) as pool:
            assert_same(gm.pairwise_edit_distances(molecules, executor=pool), expected)
    else:
        pool = loky.get_reusable_executor(max_workers=2)
        assert_same(gm.pairwise_edit_distances(molecules, executor=pool), expected)
        pool.shutdown(kill_workers=True)


@pytest.mark.slow
def test_a_worker_of_a_cluster_may_die(molecules: gm.GraphCollection, client: Any, tmp_path: Path) -> None:
    """One of two workers, by SIGKILL, as soon as the first block is there."""
    expected = gm.pairwise_edit_distances(molecules)
    killed: list[int] = []
    write = BlockStore.write

    def write_and_kill(store: BlockStore, name: str, block: Block) -> None:
        write(store, name, block)
        if not killed:
            killed.append(next(iter(client.run(os.getpid).values())))
            os.kill(killed[0], signal.SIGKILL)

    with mock.patch.object(BlockStore, "write", write_and_kill):
        found = gm.pairwise_edit_distances(molecules, executor=client, store=tmp_path / "store")
    assert killed
    assert_same(found, expected)
    assert len(list((tmp_path / "store").glob("*.block"))) > 4


@pytest.mark.slow
def test_a_client_that_is_closed_is_not_waited_for(client: Any, tmp_path: Path) -> None:
    own, end = type(client)(client.scheduler.address, set_as_default=False), tmp_path / "end"

    def work(is_long: bool) -> None:
        while is_long and not end.exists():
            time.sleep(0.01)

    results = run_tasks(own, work, [(0, (False,)), (1, (True,))])
    assert next(results)[0] == 0
    own.close()
    with pytest.raises(WorkerLost):
        next(results)
    end.touch()  # the workers are for other tests, too


@pytest.mark.slow
def test_labels_by_the_command_on_a_cluster(client: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["label", "molecules", "--out", str(tmp_path), "--cluster", client.scheduler.address]
    code, shown, _ = run(capsys, *arguments, "--pairs", "random:300", "--json")
    assert code == 0
    assert json.loads(shown)["exact_pairs"] == json.loads(shown)["pairs"] == 300
    graphs = gm.load_dataset("molecules").graphs
    expected = gm.label_graphs(graphs, tmp_path / "here", pairs="random:300", n_jobs=1)
    found = gm.read_labels(tmp_path, graphs)
    assert np.array_equal(found.pairs, expected.pairs)
    assert np.array_equal(found.upper, expected.upper)


def test_labels_of_all_pairs_are_a_view(molecules: gm.GraphCollection, threads: Executor, tmp_path: Path) -> None:
    graphs = gm.GraphCollection([*molecules[:40], *molecules[5:25]])  # copies are solved once
    expected = gm.label_graphs(graphs, tmp_path / "here", n_jobs=1)
    labels = gm.label_graphs(graphs, tmp_path / "there", executor=threads)
    assert len(labels) == len(expected) == 60 * 59 // 2
    assert labels.count_exact() == int(expected.exact.sum())
    for view in (labels, gm.open_labels(tmp_path / "there", graphs), gm.open_labels(tmp_path / "here", graphs)):
        everything = view.bounds()
        assert np.array_equal(everything.pairs, expected.pairs)
        assert np.array_equal(everything.lower, expected.lower)
        assert np.array_equal(everything.upper, expected.upper)
        chosen = np.array([3, 50, 17, 41])
        among = view.subset(chosen)
        assert among.to_matrices(4)[1].tolist() == expected.subset(chosen).to_matrices(4)[1].tolist()
        some = view.bounds(expected.pairs[[7, 3, 900]])
        assert some.upper.tolist() == expected.upper[[7, 3, 900]].tolist()
    assert gm.read_labels(tmp_path / "there", graphs).digest() == expected.digest()
    with pytest.raises(InvalidArgument, match="60 other graphs"):
        gm.open_labels(tmp_path / "there", graphs[1:])
    with pytest.raises(InvalidArgument, match=r"graphs are numbered 0\.\.59"):
        labels.bounds([[0, 60]])


def test_labels_in_one_direction(molecules: gm.GraphCollection, threads: Executor, tmp_path: Path) -> None:
    """Where the way back costs something else, the label is that from the lower to the higher position."""
    costs = gm.EditCosts(node_delete=1, node_insert=3, edge_insert=2)
    expected = gm.label_graphs(molecules[:25], tmp_path / "here", costs=costs, n_jobs=1)
    labels = gm.label_graphs(molecules[:25], tmp_path / "there", costs=costs, executor=threads)
    assert np.array_equal(labels.bounds().upper, expected.upper)
    assert labels.count_exact() == int(expected.exact.sum())


def test_a_list_says_which_pairs_it_has(molecules: gm.GraphCollection, threads: Executor, tmp_path: Path) -> None:
    labels = gm.label_graphs(molecules, tmp_path, pairs="random:50", executor=threads)
    everything = labels.bounds()
    assert labels.bounds(everything.pairs[::-1]).upper.tolist() == everything.upper[::-1].tolist()
    missing = next((0, k) for k in range(1, 90) if [0, k] not in everything.pairs.tolist())
    with pytest.raises(InvalidArgument, match=rf"no label of graphs \(0, {missing[1]}\)"):
        labels.bounds([missing])


def test_a_list_of_too_many_labels_is_refused(
    molecules: gm.GraphCollection, threads: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    labels = gm.label_graphs(molecules[:10], tmp_path, executor=threads)
    monkeypatch.setattr("graphmetric._foundation.limits.available_memory", lambda: 1000)
    with pytest.raises(NotEnoughMemory, match=r"a list of 45 labels .* subset\(positions\)"):
        labels.bounds()


def test_finished_blocks_are_not_computed_again(
    molecules: gm.GraphCollection, threads: Executor, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A block that is cut, damaged or of another job is; a view refuses it."""
    expected = gm.label_graphs(molecules, tmp_path / "here", n_jobs=1)
    folder = tmp_path / "there"
    gm.label_graphs(molecules, folder, executor=threads)
    files = sorted((folder / "grid").glob("0*.block"))
    whole = [path.read_bytes() for path in files]
    assert len(files) > 4
    files[0].write_bytes(whole[0][:-5])
    files[1].write_bytes(whole[1][:100] + bytes([whole[1][100] ^ 4]) + whole[1][101:])
    files[2].write_bytes(b"")
    files[3].unlink()
    Block.read(files[4]).write(files[4], "another job")
    for _ in range(2):  # in whatever order blocks are read
        with pytest.raises(FileError, match=r"\.block: .*label the graphs again"):
            gm.open_labels(folder).bounds()
    with mock.patch.object(blocks, "solve_tile", wraps=blocks.solve_tile) as solve:
        labels = gm.label_graphs(molecules, folder, executor=threads)
    assert solve.call_count == 5
    assert labels.bounds().digest() == expected.digest()
    assert "it will be computed again" in caplog.text
    assert [path.read_bytes()[200:-16] for path in files[5:]] == [data[200:-16] for data in whole[5:]]


@given(st.integers(0, 10**6), st.integers(0, 7))
@settings(max_examples=100)
def test_every_bit_of_a_block_counts(block_file: Path, at: int, bit: int) -> None:
    data = bytearray(block_file.read_bytes())
    data[at % len(data)] ^= 1 << bit
    damaged = block_file.with_name("damaged.block")
    damaged.write_bytes(bytes(data))
    with pytest.raises(FileError, match="checksum"):
        Block.read(damaged)


@pytest.fixture(scope="module")
def block_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("block") / "one.block"
    Block.of({"lower": np.arange(30.0), "upper": np.linspace(0, 99, 30)}).write(path, "job")
    return path


numbers = st.one_of(st.integers(0, 10**6).map(float), st.floats(0, allow_nan=False), st.just(np.inf))


@given(st.lists(numbers, max_size=8), st.lists(st.integers(-(2**62), 2**62), max_size=8), st.booleans())
def test_blocks_hold_numbers_exactly(block_folder: Path, reals: list[float], integers: list[int], same: bool) -> None:
    lower = np.array(reals)
    columns = {"lower": lower, "upper": lower if same else lower + 1, "pairs": np.array(integers, dtype=np.int64)}
    Block.of(columns, 7, 0.25).write(block_folder / "x.block", "job")
    found = Block.read(block_folder / "x.block", "job")
    for name, column in columns.items():
        assert np.array_equal(found[name], column)
    assert (found.expanded, found.seconds) == (7, 0.25)


@pytest.fixture(scope="module")
def block_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("blocks")


def test_whole_numbers_take_a_byte() -> None:
    distances = np.arange(255.0)
    packed = Block.of({"lower": distances, "upper": distances})
    assert [array.nbytes for array in packed.arrays.values()] == [255]
    assert Block.of({"upper": np.where(distances > 9, np.inf, distances)}).arrays["upper"].dtype == np.uint8
    assert Block.of({"upper": distances + 0.5}).arrays["upper"].dtype == np.float32
    assert Block.of({"upper": distances + 0.1}).arrays["upper"].dtype == np.float64


def test_a_store_of_rows_is_not_one_of_blocks(molecules: gm.GraphCollection, threads: Executor, tmp_path: Path) -> None:
    gm.pairwise_edit_distances(molecules[:5], store=tmp_path / "rows")
    gm.pairwise_edit_distances(molecules[:5], store=tmp_path / "blocks", executor=threads)
    with pytest.raises(FileError, match="2 is for a job without an executor"):
        gm.pairwise_edit_distances(molecules[:5], store=tmp_path / "rows", executor=threads)
    with pytest.raises(FileError, match="2 is for a job without an executor"):
        gm.pairwise_edit_distances(molecules[:5], store=tmp_path / "blocks")
    with pytest.raises(InvalidArgument, match=r"another job: .*graphs"):
        gm.pairwise_edit_distances(molecules[1:6], store=tmp_path / "blocks", executor=threads)
    manifest = tmp_path / "blocks" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"width": ', '"width": 1'))
    with pytest.raises(FileError, match="digest does not match"):
        gm.pairwise_edit_distances(molecules[:5], store=tmp_path / "blocks", executor=threads)


KILLED_JOB = """
import sys
from concurrent.futures import ThreadPoolExecutor
import graphmetric as gm
from graphmetric.edit_distance import blocks
blocks.choose_width = lambda plan, workers: 8
print("computing", flush=True)
gm.label_graphs(gm.load_dataset("molecules").graphs[:90], sys.argv[1], executor=ThreadPoolExecutor(2))
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_the_caller_may_die(molecules: gm.GraphCollection, threads: Executor, tmp_path: Path, how: int) -> None:
    """What is finished is kept, and the next run computes the rest."""
    done = [0]
    for _ in range(2):
        command = [sys.executable, "-c", KILLED_JOB, str(tmp_path)]
        job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert job.stdout is not None
        job.stdout.readline()
        while job.poll() is None and count_blocks(tmp_path) <= done[-1] + 2:
            time.sleep(0.005)
        job.send_signal(how)
        job.communicate(timeout=NOT_FOR_EVER)
        done.append(count_blocks(tmp_path))
    assert done == sorted(done)
    assert done[1] > 0
    with mock.patch.object(blocks, "solve_tile", wraps=blocks.solve_tile) as solve:
        labels = gm.label_graphs(molecules, tmp_path, executor=threads)
    assert solve.call_count == count_blocks(tmp_path) - done[-1]
    pairs = choose_pairs(molecules, "random:200")
    expected = gm.pairwise_edit_distances(molecules, pairs=pairs)
    assert np.array_equal(labels.bounds(pairs).upper, expected.upper)


def count_blocks(folder: Path) -> int:
    return len(list((folder / "grid").glob("0*.block")))


@pytest.mark.slow
def test_the_memory_of_the_caller_does_not_grow(tmp_path: Path) -> None:
    """Four times the pairs, from twice the graphs, take the same."""
    rng = np.random.default_rng(0)
    chains = [
        gm.Graph(6, [(k, k + 1) for k in range(5)], node_labels=rng.integers(0, 3, 6).tolist()) for _ in range(480)
    ]
    most = []
    method = gm.BeamSearch(1)
    with ThreadPoolExecutor(1) as pool, mock.patch.object(blocks, "choose_width", return_value=32):
        for count in (60, 120, 240):
            graphs = gm.GraphCollection(chains[:count])
            tracemalloc.start()
            labels = gm.label_graphs(graphs, tmp_path / str(count), executor=pool, method=method)
            exact = labels.count_exact()
            most.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
            assert 0 < exact <= len(labels) == count * (count - 1) // 2
    assert most[2] < most[1] + 400_000  # 21,000 more pairs, which as a list would take .7 MB, and on the way 2


def fail(text: str) -> None:
    raise ValueError(text)


def need_an_extra() -> None:
    raise MissingExtra("x", "y", "z")


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_the_work_raises_is_raised(threads: Executor) -> None:
    with pytest.raises(ValueError, match="too bad") as caught:
        list(run_tasks(threads, fail, [(0, ("too bad",))]))
    assert "in a worker" in caught.value.__notes__[0]
    with pytest.raises(RuntimeError, match="pip install"):  # an error that cannot be sent as it is
        list(run_tasks(threads, need_an_extra, [(0, ())]))


@pytest.mark.slow
def test_a_pool_whose_worker_dies_is_told_in_our_words() -> None:
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("forkserver")) as pool:
        with pytest.raises(WorkerLost, match="a worker of the executor died"):
            list(run_tasks(pool, die, [(0, ())]))
        with pytest.raises(WorkerLost, match="takes no more work"):
            list(run_tasks(pool, fail, [(0, ("x",))]))


def test_a_lost_task_is_done_again_but_not_for_ever(threads: Executor, caplog: pytest.LogCaptureFixture) -> None:
    submit, lost = threads.submit, []

    def lose(work: Any, *arguments: Any) -> Any:
        future = submit(work, *arguments)
        if len(lost) < most:
            future = type(future)()
            future.cancel()
            future.set_running_or_notify_cancel()
            lost.append(future)
        return future

    with mock.patch.object(threads, "submit", lose):
        most = ATTEMPTS - 1
        assert list(run_tasks(threads, str, [(0, (1,))])) == [(0, "1")]
        assert "done again" in caplog.text
        most, lost = ATTEMPTS, []
        with pytest.raises(WorkerLost, match=rf"task 0 was lost {ATTEMPTS} times"):
            list(run_tasks(threads, str, [(0, (1,))]))


def test_only_some_tasks_are_handed_out_at_once(threads: Executor) -> None:
    made = 0

    def tasks() -> Iterator[tuple[int, tuple[int]]]:
        nonlocal made
        for made in range(1000):
            yield made, (made,)

    results = run_tasks(threads, str, tasks())
    next(results)
    assert made < 50
    results.close()


@pytest.mark.parametrize("executor", [3, "tcp://localhost:1", object()])
def test_other_things_are_no_executors(molecules: gm.GraphCollection, executor: object) -> None:
    with pytest.raises(InvalidArgument, match=r"must be a concurrent\.futures\.Executor"):
        gm.pairwise_edit_distances(molecules[:3], executor=executor)


def test_workers_of_another_version_refuse(molecules: gm.GraphCollection) -> None:
    solver = blocks.Solver(gm.ExactSearch(), gm.EditCosts(), version="0.0.1")
    with pytest.raises(InvalidArgument, match=r"a worker has graphmetric .* the caller 0\.0\.1"):
        solver.solve(molecules[:2], np.array([[0, 1]]))


def test_hard_pairs_make_small_blocks(molecules: gm.GraphCollection) -> None:
    plan = blocks.PairRuns(
        blocks.Solver(gm.BeamSearch(1), gm.EditCosts()), molecules, molecules, np.zeros((10**6, 2), dtype=np.int64)
    )
    assert blocks.choose_width(plan, 1) == blocks.WIDEST
    with mock.patch.object(blocks, "_BLOCK_SECONDS", 1e-6):
        assert blocks.choose_width(plan, 1) == 8
    assert blocks.choose_width(plan, 1000) == 16
