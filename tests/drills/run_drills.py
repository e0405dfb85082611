"""Drills: processes that are killed, files that are damaged, two writers, too little memory, hostile clients.

Nothing may be lost.

    python tests/drills/run_drills.py                     minutes
    python tests/drills/run_drills.py --long              1,000 kills and 1,000,000 inputs: hours
    python tests/drills/run_drills.py --kills 200 --inputs 5000 --only label

It prints a table, and ends with status 1 if anything was lost, or an error was not one of ours.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch

import graphmetric as gm
from graphmetric.errors import GraphMetricError
from tests.drills.damage import all_kinds, damage_at_random, damage_every_byte
from tests.drills.hostile import attacks, fault, run, victim
from tests.drills.kills import all_jobs, kill_workers, run_kills

_ADDRESS_SPACE = 300 << 20
"""Bytes that a process with little memory gets beyond what it has."""


def main() -> int:
    """Parse arguments, run, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=48, help="kills of jobs in all; a twelfth more of cluster workers")
    parser.add_argument("--bytes", type=int, default=150, help="bytes of each file that are flipped")
    parser.add_argument("--inputs", type=int, default=2_000, help="files damaged in other ways, in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="only drills whose name contains this")
    parser.add_argument("--long", action="store_true", help="1,000 kills, every byte, 1,000,000 inputs")
    given = parser.parse_args()
    if given.long:
        given.kills, given.bytes, given.inputs = 936, 1 << 30, 1_000_000
    torch.set_num_threads(1)  # threads do not survive a fork
    random, bad = Random(given.seed), 0
    with tempfile.TemporaryDirectory(prefix="drills") as name:
        folder = Path(name)
        bad += _drill_kills(folder, given, random)
        bad += _drill_damage(folder, given, random)
        for title, drill in _OTHERS.items():
            if given.only in title:
                wrong = drill(folder / title.replace(" ", "-"))
                print(f"{title:<22}{'well' if wrong is None else wrong}", flush=True)
                bad += wrong is not None
    return 1 if bad else 0


def _drill_kills(folder: Path, given: argparse.Namespace, random: Random) -> int:
    jobs, bad = all_jobs(folder), 0
    drills: list[tuple[str, Callable[[int, Path, Random], object], int]] = [
        (job.name, lambda kills, place, rng, job=job: run_kills(job, kills, place, rng), given.kills // len(jobs))
        for job in jobs
    ]
    drills.append(("cluster workers", kill_workers, given.kills // 12))
    print(f"{'kills of':<22}{'kills':>8}{'jobs':>8}{'lost':>8}{'foreign':>9}{'seconds':>9}")
    for name, drill, kills in drills:
        if given.only not in name or kills == 0:
            continue
        started = time.monotonic()
        (folder / name).mkdir()
        found = drill(kills, folder / name, random)
        seconds = time.monotonic() - started
        numbers = f"{found.kills:>8,}{found.jobs:>8,}{found.lost:>8,}{found.foreign:>9,}{seconds:>9.0f}"
        print(f"{name:<22}{numbers}", flush=True)
        for note in found.notes[:5]:
            print(f"    {note}", flush=True)
        bad += found.lost + found.foreign
    return bad


def _drill_damage(folder: Path, given: argparse.Namespace, random: Random) -> int:
    kinds, outcomes, bad = all_kinds(), Counter[tuple[str, str]](), 0
    columns = ("refused", "the same", "another number", "different", "foreign error")
    print(f"\n{'damaged files of':<22}" + "".join(f"{column:>16}" for column in columns))
    for kind in kinds:
        if given.only not in kind.name:
            continue
        place = folder / "damage" / kind.name.replace(" ", "-")
        for number, found in enumerate(
            (
                damage_every_byte(kind, place / "bytes", random, given.bytes),
                damage_at_random(kind, place / "random", random, given.inputs // len(kinds)),
            )
        ):
            outcomes += found.outcomes
            bad += len(found.failures)
            for failure in found.failures[:5]:
                print(f"    {('every byte', 'at random')[number]}: {failure}", flush=True)
        print(f"{kind.name:<22}" + "".join(f"{outcomes[kind.name, column]:>16,}" for column in columns), flush=True)
    print(f"{sum(outcomes.values()):,} inputs\n", flush=True)
    return bad


def _hostile_clients(folder: Path) -> str | None:
    """Clients of a service that send what takes long, or never end."""
    with victim("--body-seconds", "4") as service:
        faults = [fault(name, run(service, attack)) for name, attack in attacks().items()]
    return next(filter(None, faults), None)


def _two_writers(folder: Path) -> str | None:
    """Two processes that label into one folder, and two that add to one index, at the same time."""
    graphs = gm.load_dataset("molecules").graphs[:60]
    expected = gm.label_graphs(graphs, folder / "peace", n_jobs=1).digest()
    codes = _at_once(lambda _: gm.label_graphs(graphs, folder / "labels", n_jobs=1))
    if gm.label_graphs(graphs, folder / "labels", n_jobs=1).digest() != expected or 2 in codes:
        return f"labels differ, or an error was not ours: {codes}"
    gm.GraphIndex.build(graphs[:20], ids=range(20), out=folder / "index")

    def add(writer: int) -> None:
        index = gm.GraphIndex.load(folder / "index")
        index.add(graphs[20:30], ids=range(100 * writer, 100 * writer + 10))
        index.save(folder / "index")

    codes = _at_once(lambda writer: add(writer + 1))
    size = len(gm.GraphIndex.load(folder / "index", verify=True))
    if 2 in codes or size != 20 + 10 * codes.count(0):
        return f"an index of {size} graphs after {codes.count(0)} additions of 10, or an error was not ours: {codes}"
    return None


def _little_memory(folder: Path) -> str | None:
    """A matrix that does not fit is refused by our own error."""
    folder.mkdir()
    graphs = gm.GraphCollection([gm.Graph(1)] * 20_000)

    def work(_: int) -> None:
        used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + _ADDRESS_SPACE, used + _ADDRESS_SPACE))
        gm.pairwise_edit_distances(graphs)

    codes = _at_once(work, 1)
    return None if codes == [1] else f"it ended with {codes}"


def _at_once(work: Callable[[int], object], writers: int = 2) -> list[int]:
    """Forks that work at the same time: 0 for one that ended well, 1 for one of our errors, 2 for another."""
    children = []
    for writer in range(writers):
        child = os.fork()
        if child == 0:
            status = 2
            try:
                work(writer)
                status = 0
            except GraphMetricError:
                status = 1
            except BaseException as error:
                print(repr(error), file=sys.stderr, flush=True)
            os._exit(status)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]


_OTHERS = {"two writers": _two_writers, "little memory": _little_memory, "hostile clients": _hostile_clients}

if __name__ == "__main__":
    sys.exit(main())
