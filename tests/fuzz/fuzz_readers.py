"""Damage valid files and read them: every input must end in graphs or in one of our own errors.

    python tests/fuzz/fuzz_readers.py --inputs 100000 --seed 0

Each input has a limit of processor time, the process one of memory. Anything else than graphs or our errors (another
exception, a warning, a crash, a hang) is a failure; its input is saved and the command ends with status 1. An input
depends on the seed and its number only, so a failure can be repeated with ``--only NUMBER``.
"""

from __future__ import annotations

import argparse
import io
import multiprocessing as mp
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from graphmetric.errors import ConversionWarning, FileError
from graphmetric.formats import read_graphs

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.fuzz.mutations import gzip_bomb, mutated
from tests.fuzz.seeds import Files, all_seeds

SECONDS_PER_INPUT = 5.0
"""Processor time; decompressing a bomb up to the default limits takes about one second."""
SECONDS_PER_MEGABYTE = 40.0
"""Processor time beside it: a megabyte can hold 160,000 valid SMILES, a tenth of a millisecond each."""
MEMORY = 2 << 30
"""Bytes of address space beyond what the process has when it starts reading."""
BATCH = 5_000
"""Inputs per process: a crash loses no more than one input, and leaks would show as memory errors."""
BOMB_EVERY = 1_000


class TooSlow(BaseException):
    """Raised by the timer; not an Exception, so that no reader can swallow it."""


@dataclass
class Report:
    """What became of the inputs."""

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(format, outcome) -> inputs; outcomes are ``graphs``, the name of our error, or ``FAILURE``."""
    failures: list[str] = field(default_factory=list)
    slowest: tuple[float, int, str] = (0.0, -1, "")

    def add(self, other: Report) -> None:
        """Count another report's inputs too."""
        self.outcomes += other.outcomes
        self.failures += other.failures
        self.slowest = max(self.slowest, other.slowest)


def make_input(seed: int, number: int, seeds: dict[str, list[Files]]) -> tuple[str, Files]:
    """Input ``number`` of the run: its format and its files."""
    random = Random(f"{seed}:{number}")
    name = random.choice(sorted(seeds))
    files = dict(random.choice(seeds[name]))
    victim = random.choice(sorted(files))
    files[victim] = gzip_bomb(random) if number % BOMB_EVERY == 1 else mutated(random, name, files[victim])
    if len(files) > 1 and random.random() < 0.05:
        del files[random.choice(sorted(files))]
    return name, files


def read_input(name: str, files: Files) -> str:
    """Read one input; returns what became of it, raises what must not happen."""
    try:
        graphs = read_graphs(io.BytesIO(files[""]), format=name) if "" in files else _read_folder(name, files)
        for graph in graphs[:3]:
            graph.replace()  # the constructor checks again what the reader let through
    except FileError as error:
        return type(error).__name__
    return "graphs"


def _read_folder(name: str, files: Files) -> Any:
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    try:
        for file, content in files.items():
            (folder / file).write_bytes(content)
        return read_graphs(folder / "list.cxl" if name == "cxl" else folder, format=name)
    finally:
        shutil.rmtree(folder)


def run_batch(seed: int, numbers: range, save: Path | None = None, progress: Any = None) -> Report:
    """Read inputs one after the other in this process."""
    seeds, report = all_seeds(), Report()
    previous = signal.signal(signal.SIGPROF, _stop)
    try:
        for number in numbers:
            if progress is not None:
                progress.value = number
            name, files = make_input(seed, number, seeds)
            start = time.process_time()
            outcome = _watched(name, files, number, save, report)
            report.slowest = max(report.slowest, (time.process_time() - start, number, name))
            report.outcomes[name, outcome] += 1
    finally:
        signal.signal(signal.SIGPROF, previous)
    return report


def _stop(*_: Any) -> None:
    raise TooSlow


def _watched(name: str, files: Files, number: int, save: Path | None, report: Report) -> str:
    megabytes = sum(map(len, files.values())) / 1e6
    signal.setitimer(signal.ITIMER_PROF, SECONDS_PER_INPUT + megabytes * SECONDS_PER_MEGABYTE)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", ConversionWarning)
            return read_input(name, files)
    except (Exception, TooSlow) as error:
        signal.setitimer(signal.ITIMER_PROF, 0)
        where = "".join(traceback.format_tb(error.__traceback__)[-2:])
        report.failures.append(f"input {number} ({name}): {type(error).__name__}: {str(error)[:300]}\n{where}")
        _save(files, name, number, save)
        return "FAILURE"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _save(files: Files, name: str, number: int, save: Path | None) -> None:
    if save is not None:
        folder = save / f"{number}-{name}"
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in files.items():
            (folder / (file or "input")).write_bytes(content)


def _batch_process(seed: int, numbers: range, save: Path, progress: Any, results: Any) -> None:
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    results.put(run_batch(seed, numbers, save, progress))


def run_in_process(seed: int, numbers: range, save: Path) -> Report:
    """Read inputs in a process of their own; survives its crash or hang and goes on after the guilty input."""
    progress, results = mp.Value("q", numbers.start), mp.Queue()
    process = mp.Process(target=_batch_process, args=(seed, numbers, save, progress, results))
    process.start()
    report = _result_of(process, progress, results)
    if report is not None:
        process.join()
        return report
    process.kill()
    process.join()
    guilty = progress.value
    name, files = make_input(seed, guilty, all_seeds())
    _save(files, name, guilty, save)
    report = Report(
        Counter({(name, "FAILURE"): 1}), [f"input {guilty} ({name}): crash or hang, status {process.exitcode}"]
    )
    for rest in (range(numbers.start, guilty), range(guilty + 1, numbers.stop)):
        if len(rest):
            report.add(run_in_process(seed, rest, save))
    return report


def _result_of(process: mp.Process, progress: Any, results: Any) -> Report | None:
    last, since = -1, time.monotonic()
    while True:
        try:
            return results.get(timeout=1)  # type: ignore[no-any-return]
        except Exception:
            if progress.value != last:
                last, since = progress.value, time.monotonic()
            if not process.is_alive() or time.monotonic() - since > 20 * SECONDS_PER_INPUT:
                return None


def main() -> int:
    """Parse arguments, run, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, default=Path("fuzz-failures"), help="folder for inputs that fail")
    parser.add_argument("--only", type=int, help="run this input alone, in this process")
    arguments = parser.parse_args()
    start = time.monotonic()
    report = Report()
    if arguments.only is not None:
        report = run_batch(arguments.seed, range(arguments.only, arguments.only + 1), arguments.save)
    else:
        for first in range(0, arguments.inputs, BATCH):
            report.add(
                run_in_process(arguments.seed, range(first, min(first + BATCH, arguments.inputs)), arguments.save)
            )
            print(f"{sum(report.outcomes.values())} inputs, {len(report.failures)} failures", file=sys.stderr)
    _print(report, time.monotonic() - start)
    return 1 if report.failures else 0


def _print(report: Report, seconds: float) -> None:
    columns = sorted({outcome for _, outcome in report.outcomes})
    print(f"{'format':<14}" + "".join(f"{column:>15}" for column in columns))
    for name in sorted({name for name, _ in report.outcomes}):
        print(f"{name:<14}" + "".join(f"{report.outcomes[name, column]:>15,}" for column in columns))
    totals = [sum(count for (_, outcome), count in report.outcomes.items() if outcome == column) for column in columns]
    print(f"{'all':<14}" + "".join(f"{total:>15,}" for total in totals))
    took, number, name = report.slowest
    print(
        f"{sum(totals):,} inputs in {seconds:.0f} s; slowest: input {number} ({name}), {took:.2f} s of processor time"
    )
    for failure in report.failures[:20]:
        print(failure)


if __name__ == "__main__":
    sys.exit(main())
