"""CPU time of the default number of threads against one thread, on a quiet machine and beside a busy loop.

    python benchmarks/threads.py --root ../shared/data

Every figure comes from a process of its own, after a first call that compiles and warms up, and is CPU time: that of
this process, all of its threads, without the busy loops, of which there is one per core. The claim is that the default
never takes more than 1.3 times the CPU time of ``n_jobs=1``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

import graphmetric as gm

LIMIT = 1.3
TASKS = ("fit", "embed", "embed one", "pairwise", "pairwise block-norm", "search")


def prepare(task: str, n_jobs: int, root: str) -> tuple[Callable[[], object], int]:
    """What is measured, and how many times it is done."""
    graphs = gm.load_dataset("AIDS700nef", root=root).graphs
    if task == "fit":
        model = gm.GraphDistance("small", max_steps=100, label_budget=10_000, n_jobs=n_jobs)
        return lambda: model.fit(graphs[:200]), 1
    model = gm.GraphDistance.load("molecules").set_params(n_jobs=n_jobs)
    if task == "embed":
        return lambda: model.embed(graphs), 5
    if task == "embed one":
        ring = gm.Graph(48, [(k, (k + 1) % 48) for k in range(48)], node_labels=["C"] * 48)
        return lambda: model.embed([ring]), 200
    if task == "pairwise":
        return lambda: model.pairwise(graphs), 1
    if task == "pairwise block-norm":
        model = gm.GraphDistance("small", head="block-norm", max_steps=1, label_budget=100, n_jobs=n_jobs)
        model.fit(graphs[:30])
        return lambda: model.pairwise(graphs), 5
    index = gm.GraphIndex.build(model, graphs)
    return lambda: [index.search(graph, k=10) for graph in graphs[:20]], 1


def measure(task: str, n_jobs: int, root: str) -> dict[str, float]:
    """CPU and wall seconds of one run."""
    work, times = prepare(task, n_jobs, root)
    work()
    cpu, wall = time.process_time(), time.perf_counter()
    for _ in range(times):
        work()
    return {"cpu": (time.process_time() - cpu) / times, "wall": (time.perf_counter() - wall) / times}


@contextmanager
def busy_loops(number: int) -> Iterator[None]:
    """So many processes that do nothing but compute."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def measure_in_process(task: str, n_jobs: int, options: argparse.Namespace) -> dict[str, float]:
    """The least CPU time of a few processes: what disturbs only adds to it."""
    command = [sys.executable, __file__, "--root", options.root, "--one", task, str(n_jobs)]
    runs = [
        json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        for _ in range(options.repeats)
    ]
    return min(runs, key=lambda run: run["cpu"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default="../shared/data", help="folder of the benchmark data sets")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--one", nargs=2, metavar=("TASK", "JOBS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        task, n_jobs = options.one
        print(json.dumps(measure(task, int(n_jobs), options.root)))
        return
    print(f"{os.cpu_count()} cores; CPU seconds (wall seconds); ratio of CPU, which should be at most {LIMIT}\n")
    print("| task | beside | one thread | default | ratio |\n|---|---|---|---|---|")
    worst = []
    for beside, loops in (("nothing", 0), ("a busy loop per core", os.cpu_count() or 1)):
        for task in TASKS:
            with busy_loops(loops):
                one, default = (measure_in_process(task, n_jobs, options) for n_jobs in (1, -1))
            worst.append(default["cpu"] / one["cpu"])
            cells = [f"{run['cpu']:.3g} ({run['wall']:.3g})" for run in (one, default)]
            print(f"| {task} | {beside} | {cells[0]} | {cells[1]} | {worst[-1]:.2f} |", flush=True)
    print(f"\nlargest ratio: {np.max(worst):.2f}")


if __name__ == "__main__":
    main()
