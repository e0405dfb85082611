"""All pairs: the same numbers as one by one, each question once, nothing lost."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphmetric as gm
from graphmetric import EditCosts, Graph, pairwise_edit_distances
from graphmetric.edit_distance import methods as exact_module
from graphmetric.edit_distance import schedule as schedule_module
from graphmetric.edit_distance.store import locked
from graphmetric.errors import FileError, InvalidArgument, NotEnoughMemory
from graphmetric.graphs.collection import fingerprint
from tests.clocks import NOT_FOR_EVER
from tests.edit_distance.hard_graphs import sparse


@pytest.fixture(scope="module")
def molecules() -> gm.GraphCollection:
    return gm.load_dataset("molecules").graphs[:40]


def test_is_the_distance_of_each_pair(molecules: gm.GraphCollection) -> None:
    few = molecules[:8]
    together = pairwise_edit_distances(few)
    one_by_one = [[gm.graph_edit_distance(g, h).upper for h in few] for g in few]
    assert together.distances.tolist() == one_by_one
    assert np.array_equal(np.asarray(together), together.distances)
    assert "100.0% proven" in repr(together)


def test_is_a_metric(molecules: gm.GraphCollection) -> None:
    distances = pairwise_edit_distances(molecules, n_jobs=2).distances
    assert np.array_equal(distances, distances.T)
    assert (np.diag(distances) == 0).all()
    assert (distances[:, :, None] <= distances[:, None, :] + distances[None, :, :]).all()
    classes = gm.isomorphism_classes(molecules)
    assert np.array_equal(distances == 0, classes[:, None] == classes[None, :])


def test_shapes_follow_the_question(molecules: gm.GraphCollection) -> None:
    full = pairwise_edit_distances(molecules[:6]).distances
    assert np.array_equal(pairwise_edit_distances(molecules[:2], molecules[2:6]).distances, full[:2, 2:])
    chosen = pairwise_edit_distances(molecules, pairs=[[5, 0], [3, 3], [0, 5]])
    assert chosen.upper.tolist() == [full[5, 0], 0, full[0, 5]]
    assert chosen.computed == 2
    assert pairwise_edit_distances(molecules[:3], molecules[3:6], pairs=[[2, 1]]).upper[0] == full[2, 4]
    assert pairwise_edit_distances(molecules, pairs=[]).upper.shape == (0,)
    assert pairwise_edit_distances([]).distances.shape == (0, 0)


def test_copies_are_computed_once(molecules: gm.GraphCollection) -> None:
    rng = np.random.default_rng(0)
    copies = [g.relabeled(rng.permutation(g.num_nodes)) for g in molecules[:5] for _ in range(4)]
    result = pairwise_edit_distances(copies)
    assert result.computed == 15
    single = pairwise_edit_distances(molecules[:5]).distances
    assert np.array_equal(result.distances, np.kron(single, np.ones((4, 4))))


def test_unsymmetric_costs_are_not_mirrored() -> None:
    costs = EditCosts(node_delete=1, node_insert=3)
    distances = pairwise_edit_distances([Graph(1), Graph(2)], costs=costs).distances
    assert distances.tolist() == [[0, 3], [1, 0]]


@pytest.mark.parametrize(
    "method", ["exact", gm.ExactSearch(node_limit=5), gm.ExactSearch(upper_bound=6), "beam:2", "local:3"]
)
@pytest.mark.parametrize("most", [1, 7, 1_000])
def test_threads_and_batches_change_nothing(
    molecules: gm.GraphCollection, method: object, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = molecules[:16]
    expected = pairwise_edit_distances(few, method=method)
    monkeypatch.setattr(schedule_module, "_MOST", most)
    monkeypatch.setattr(exact_module, "_QUICK_NODES", 3)  # most pairs are tried and then solved singly
    found = pairwise_edit_distances(few, method=method, n_jobs=2)
    for name in ("lower", "upper", "value"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    assert found.nodes_expanded == expected.nodes_expanded


def test_a_handful_of_slow_pairs_keeps_all_threads_busy() -> None:
    """Four pairs that would be one batch of quick ones take half as long in two threads."""
    graphs = [sparse(40, seed) for seed in range(4)]
    pairs, seen = [[0, 1], [0, 2], [0, 3], [1, 2]], set()
    original, both = schedule_module._solve_batch, threading.Barrier(2, timeout=NOT_FOR_EVER)

    def noting(problem: object, batch: object, method: object, watch: object) -> object:
        """The first pair of a thread takes until the other thread has one, too."""
        if all(watch is not other for _, other in seen):
            seen.add((len(batch), watch))
            both.wait()
        seen.add((len(batch), watch))
        return original(problem, batch, method, watch)

    with mock.patch.object(schedule_module, "_solve_batch", noting):
        pairwise_edit_distances(graphs, pairs=pairs, time_limit=0, n_jobs=2)
    assert {size for size, _ in seen} == {1}
    assert len({watch for _, watch in seen}) == 2


def test_store_is_filled_and_read(
    molecules: gm.GraphCollection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = pairwise_edit_distances(molecules, store=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"manifest.json", "results.rows"}
    assert (tmp_path / "results.rows").stat().st_size == 56 * first.computed
    monkeypatch.setattr(schedule_module, "_solve_batch", None)  # anything computed again would fail
    again = pairwise_edit_distances(molecules, store=tmp_path)
    assert np.array_equal(first.distances, again.distances)
    assert first.nodes_expanded == again.nodes_expanded
    assert first.cpu_seconds == again.cpu_seconds > 0


@given(st.integers(0, 56 * 820), st.integers(0, 255))
@settings(max_examples=15)
def test_damage_costs_the_damaged_pairs_alone(
    stored: tuple[Path, bytes, gm.PairwiseDistances], at: int, byte: int
) -> None:
    """Rows that are changed or cut are computed again, and nothing else is."""
    folder, whole, expected = stored
    rows, graphs = folder / "results.rows", gm.load_dataset("molecules").graphs[:40]
    damaged = bytearray(whole[: len(whole) - at % 3 * 20])
    damaged[at % len(damaged)] = byte
    rows.write_bytes(bytes(damaged))
    with mock.patch.object(schedule_module, "_solve_batch", wraps=schedule_module._solve_batch) as solve:
        found = pairwise_edit_distances(graphs, store=folder)
    assert np.array_equal(found.distances, expected.distances)
    assert sum(len(call.args[1]) for call in solve.call_args_list) <= 2
    assert len(rows.read_bytes()) % 56 == 0  # a row that was cut is computed again and takes the place of its rest


@pytest.fixture(scope="module")
def stored(
    molecules: gm.GraphCollection, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, bytes, gm.PairwiseDistances]:
    """A folder of distances, the file of them as it was written, and the distances."""
    folder = tmp_path_factory.mktemp("stored")
    distances = pairwise_edit_distances(molecules, store=folder)
    return folder, (folder / "results.rows").read_bytes(), distances


def test_a_store_of_the_first_format_is_refused(molecules: gm.GraphCollection, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"format": 1}')
    with pytest.raises(FileError, match="format 1, which is no longer read: remove the folder and start again"):
        pairwise_edit_distances(molecules[:3], store=tmp_path)


def test_a_store_of_a_later_format_is_refused(molecules: gm.GraphCollection, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"format": 3}')
    with pytest.raises(FileError, match="choose another folder"):
        pairwise_edit_distances(molecules[:3], store=tmp_path)


def test_a_second_job_in_a_store_is_refused(molecules: gm.GraphCollection, tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(InvalidArgument, match=f"another job is at work in .* .process {os.getpid()}"):
        pairwise_edit_distances(molecules[:3], store=tmp_path)
    assert pairwise_edit_distances(molecules[:3], store=tmp_path).exact.all()


def test_a_store_refuses_another_job(molecules: gm.GraphCollection, tmp_path: Path) -> None:
    pairwise_edit_distances(molecules[:4], store=tmp_path)
    for graphs, options, what in (
        (molecules[1:5], {}, "graphs"),
        (molecules[:4], {"costs": EditCosts(node_delete=2)}, "costs"),
        (molecules[:4], {"pairs": [[0, 1]]}, "pairs"),
        (molecules[:4], {"time_limit": 1.0}, "method"),
    ):
        with pytest.raises(InvalidArgument, match=f"another job: .*{what}"):
            pairwise_edit_distances(graphs, store=tmp_path, **options)


def test_fingerprints_see_contents_not_vocabularies(molecules: gm.GraphCollection) -> None:
    assert fingerprint(molecules[:3]) == fingerprint(gm.GraphCollection(list(molecules[:3])))
    assert fingerprint(molecules[:3]) != fingerprint(molecules[1:4])
    assert fingerprint(gm.GraphCollection([Graph(1, node_labels="a")])) != fingerprint(
        gm.GraphCollection([Graph(1, node_labels="b")])
    )


STOPPED_JOB = """
import sys
from graphmetric.edit_distance import schedule
from tests.edit_distance.test_pairwise import hard_job
schedule._SAVE_EVERY = 0.1
print("computing", flush=True)
hard_job(sys.argv[1])
"""


def hard_job(store: Path | str | None = None) -> gm.PairwiseDistances:
    """Some seconds of work in 66 pairs, fewer than a chunk of the first format had."""
    graphs = [sparse(14, seed, labels=2) for seed in range(12)]
    return pairwise_edit_distances(graphs, method=gm.ExactSearch(node_limit=20_000), n_jobs=2, store=store)


@pytest.fixture(scope="module")
def undisturbed() -> gm.PairwiseDistances:
    return hard_job()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_stopped_again_and_again_it_goes_on_to_the_same_results(
    tmp_path: Path, how: signal.Signals, undisturbed: gm.PairwiseDistances
) -> None:
    """Work accumulates whenever the process is stopped, and the end is that of an undisturbed run."""
    rows, saved = tmp_path / "results.rows", [0]
    for attempt in range(3):
        command = [sys.executable, "-c", STOPPED_JOB, str(tmp_path)]
        job = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert job.stdout is not None
        job.stdout.readline()
        while job.poll() is None and (rows.stat().st_size if rows.exists() else 0) <= saved[-1]:
            time.sleep(0.01)
        time.sleep(0.05 * attempt)
        job.send_signal(how)
        job.communicate(timeout=NOT_FOR_EVER)
        saved.append(rows.stat().st_size)
    assert saved == sorted(saved)
    assert saved[1] > 0
    resumed = hard_job(tmp_path)
    for name in ("lower", "upper", "value"):
        assert np.array_equal(getattr(resumed, name), getattr(undisturbed, name))
    assert resumed.nodes_expanded == undisturbed.nodes_expanded


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_in_the_middle_keeps_what_is_done(tmp_path: Path, n_jobs: int) -> None:
    """It comes while the second pair is at work, which would take for ever."""
    graphs = [sparse(60, seed) for seed in range(5)]
    original, started = schedule_module._solve_batch, []

    def press(problem: object, batch: object, method: gm.ExactSearch, watch: object) -> object:
        started.append(batch)
        if len(started) == 1:
            return original(problem, batch, replace(method, time_limit=0), watch)
        if len(started) == 2 + n_jobs - 1:
            threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        return original(problem, batch, method, watch)

    pairs = [[0, 1], [0, 2], [0, 3], [0, 4]]
    with mock.patch.object(schedule_module, "_solve_batch", press), pytest.raises(KeyboardInterrupt):
        pairwise_edit_distances(graphs, pairs=pairs, n_jobs=n_jobs, store=tmp_path, time_limit=None)
    assert (tmp_path / "results.rows").stat().st_size == 56


@pytest.mark.slow
def test_slow_pairs_show_a_bar_before_the_first_is_finished() -> None:
    """On a terminal, after two seconds."""
    job = """
import sys
from graphmetric import pairwise_edit_distances
from tests.edit_distance.hard_graphs import sparse
pairwise_edit_distances([sparse(60, 1), sparse(60, 2)], pairs=[[0, 1]], time_limit=60)
"""
    terminal, end = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    running = subprocess.Popen([sys.executable, "-c", job], stderr=end, env=environment)
    os.close(end)
    shown = b""
    while b"0/1" not in shown and running.poll() is None:
        shown += os.read(terminal, 1000)
    running.kill()
    running.wait()
    os.close(terminal)
    assert b"edit distances (exact)" in shown


@pytest.mark.parametrize("n_jobs", [0, 1.5, "two", True])
def test_wrong_numbers_of_jobs_are_explained(molecules: gm.GraphCollection, n_jobs: object) -> None:
    with pytest.raises(InvalidArgument, match=r"n_jobs is .* 1 or more, -1 for one per core"):
        pairwise_edit_distances(molecules[:3], n_jobs=n_jobs)  # type: ignore[arg-type]


def test_a_matrix_that_does_not_fit_is_refused_before_anything_is_done() -> None:
    """100,000 graphs: 5,000,000,000 pairs."""
    graphs = gm.GraphCollection([Graph(1)] * 100_000)
    with (
        mock.patch.object(schedule_module, "encode", side_effect=AssertionError("something was done")),
        pytest.raises(NotEnoughMemory, match=r"100,000 by 100,000 distances needs about .* pairs="),
    ):
        pairwise_edit_distances(graphs)


def test_memory_that_ends_on_the_way_is_told_in_our_words(molecules: gm.GraphCollection) -> None:
    with (
        mock.patch.object(schedule_module, "encode", side_effect=MemoryError),
        pytest.raises(NotEnoughMemory, match="not enough memory for 3 distances: give the pairs"),
    ):
        pairwise_edit_distances(molecules, pairs=[[0, 1], [0, 2], [1, 2]])


@pytest.mark.parametrize(
    ("pairs", "message"),
    [([[0, 40]], r"pairs\[0\] is \(0, 40\)"), ([[0.5, 1]], "integers of shape"), ([0, 1], "integers of shape")],
)
def test_wrong_pairs_are_explained(molecules: gm.GraphCollection, pairs: list, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        pairwise_edit_distances(molecules, pairs=pairs)


@pytest.mark.parametrize("name", ["AIDS700nef", "LINUX", "ALKANE"])
def test_known_distances_come_out(shared_data: Path, name: str) -> None:
    data = gm.load_dataset(name, root=shared_data)
    rng = np.random.default_rng(0)
    pairs = rng.integers(len(data.graphs), size=(4000, 2))
    result = pairwise_edit_distances(data.graphs, pairs=pairs)
    assert np.array_equal(result.distances, data.distances[pairs[:, 0], pairs[:, 1]])
