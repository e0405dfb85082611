"""10^8 labelled pairs on two workers of a cluster: the caller's memory, and what kill -9 costs.

14,200 graphs of 4 to 6 nodes with four node labels, no two isomorphic: trees with at most one more edge, drawn at
random. They are as small as graphs without copies get, since the number of pairs is what this is about. All 100,812,900
pairs are labelled by two worker processes of a dask cluster over TCP. The caller is ended twice by SIGKILL on the way,
at a third and at two thirds of the blocks, and started again. In the end a sample of pairs is compared with an
undisturbed computation in this process.

    nice -n 10 python benchmarks/hundred_million_pairs.py --out /tmp/pairs
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import graphmetric as gm
from graphmetric.edit_distance.label_store import choose_pairs
from graphmetric.graphs.collection import certificates

SAMPLE = 20_000


def draw_graphs(count: int) -> gm.GraphCollection:
    """Connected sparse graphs of different classes."""
    rng, found = np.random.default_rng(0), dict[str, gm.Graph]()
    while len(found) < count:
        drawn = [_draw_graph(rng) for _ in range(4096)]
        for name, graph in zip(certificates(drawn), drawn, strict=True):
            found.setdefault(name, graph)
    return gm.GraphCollection(list(found.values())[:count])


def _draw_graph(rng: np.random.Generator) -> gm.Graph:
    nodes = int(rng.integers(4, 7))
    edges = {(int(rng.integers(k)), k) for k in range(1, nodes)}
    if rng.integers(2):
        first, second = sorted(rng.choice(nodes, 2, replace=False).tolist())
        edges.add((first, second))
    return gm.Graph(nodes, sorted(edges), node_labels=rng.integers(0, 4, nodes).tolist())


def label(graphs: Path, out: Path, address: str) -> None:
    """What the caller does, in a process of its own; prints its time and memory."""
    from graphmetric._foundation.executors import dask_client

    started = time.perf_counter()
    collection = gm.read_graphs(graphs)
    before = _peak()
    with dask_client(address) as client:
        labels = gm.label_graphs(collection, out, executor=client)
        exact = labels.count_exact()
    seconds = {"seconds": time.perf_counter() - started, "cpu": time.process_time()}
    memory = {"peak_mb_before": before, "peak_mb": _peak()}
    print(json.dumps({"pairs": len(labels), "exact": exact, **seconds, **memory}))


def _peak() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000, 1)


def run_and_kill(options: argparse.Namespace) -> None:
    """Start a cluster; label, kill, label, kill, label; compare a sample."""
    import dask
    from distributed import LocalCluster

    dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"})  # a busy machine brings workers back late
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    graphs = draw_graphs(options.graphs)
    gm.write_graphs(graphs, out / "graphs.gmg")
    print(f"{len(graphs):,} graphs, {len(set(gm.isomorphism_classes(graphs).tolist())):,} classes", flush=True)
    width = -(-options.graphs // 256)
    blocks = width * (width + 1) // 2
    cpu_before = _children()
    address = {"protocol": "tcp", "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, silence_logs=50, **address) as cluster:
        command = [sys.executable, __file__, "--out", str(out), "--label", cluster.scheduler_address]
        for stop in (blocks // 3, 2 * blocks // 3, None):
            started, at_start = time.perf_counter(), _count(out)
            job = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            while job.poll() is None and (stop is None or _count(out) < stop):
                time.sleep(1)
            if stop is not None and job.poll() is None:
                os.kill(job.pid, signal.SIGKILL)
            shown, _ = job.communicate()
            done = _count(out)
            print(
                f"{'killed' if job.returncode < 0 else 'finished'} with {done} blocks after "
                f"{time.perf_counter() - started:.0f} s, {done - at_start} of them new {shown.strip()}",
                flush=True,
            )
    print(f"CPU time of workers and callers: {_children() - cpu_before:.0f} s", flush=True)
    size = sum(path.stat().st_size for path in (out / "labels" / "grid").iterdir())
    print(f"on disk: {size / 1e6:.0f} MB in {_count(out)} blocks", flush=True)
    labels = gm.open_labels(out / "labels", graphs)
    pairs = choose_pairs(graphs, f"random:{SAMPLE}", random_state=1)
    started = time.process_time()
    stored = labels.bounds(pairs)
    read = time.process_time() - started
    expected = gm.pairwise_edit_distances(graphs, pairs=pairs, time_limit=1.0)
    wrong = int((stored.lower != expected.lower).sum() + (stored.upper != expected.upper).sum())
    print(
        f"sample of {SAMPLE:,} pairs: {wrong} differ from an undisturbed computation; read in {read:.2f} s of CPU time"
    )
    print(f"peak memory of this process: {_peak()} MB")


def _count(out: Path) -> int:
    folder = out / "labels" / "grid"
    return (
        sum(name.startswith("0") and name.endswith(".block") for name in os.listdir(folder)) if folder.exists() else 0
    )


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", required=True, help="folder for graphs and labels; a run continues what is there")
    parser.add_argument("--graphs", type=int, default=14_200)
    parser.add_argument("--label", metavar="ADDRESS", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.label:
        label(Path(given.out) / "graphs.gmg", Path(given.out) / "labels", given.label)
    else:
        run_and_kill(given)
