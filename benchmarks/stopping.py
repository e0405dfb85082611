"""What it costs that every search can be stopped, how well time limits are kept, and what large graphs get for it.

* *Throughput*: CPU time of ``pairwise_edit_distances`` for many quick pairs, handed out in batches under the default
  time limit, against one call of the compiled search for all of them, which nothing can stop.
* *Limits*: by how much one search exceeds its time limit, for sparse random graphs, and how long it lasts after Ctrl-C.
* *Large graphs*: bounds of two control-flow graphs of more than 300 nodes by the exact search with a time limit, and by
  the bounds at the root and a beam of 100, which are what was and what could be had before.

    python benchmarks/stopping.py [--data ../shared/data] [--pairs 20000] [--seconds 10]
"""

from __future__ import annotations

import argparse
import os
import signal
import threading
import time
from pathlib import Path

import numpy as np

import graphmetric as gm
from graphmetric.edit_distance.encoding import encode
from graphmetric.edit_distance.stopping import in_thread
from graphmetric.errors import SearchInterrupted


def sparse(nodes: int, seed: int) -> gm.Graph:
    rng = np.random.default_rng(seed)
    edges = {(int(rng.integers(v)), v) for v in range(1, nodes)}
    edges |= {(int(min(a, b)), int(max(a, b))) for a, b in rng.integers(nodes, size=(nodes // 2, 2)) if a != b}
    return gm.Graph(nodes, sorted(edges), node_labels=rng.integers(4, size=nodes).tolist())


def control_flow(nodes: int, seed: int) -> gm.Graph:
    """A directed chain of blocks with jumps ahead and some loops back."""
    rng = np.random.default_rng(seed)
    edges = {(v - 1, v) for v in range(1, nodes)}
    edges |= {(v, int(min(nodes - 1, v + rng.integers(2, 12)))) for v in range(1, nodes - 2) if rng.random() < 0.35}
    edges |= {(v, int(max(0, v - rng.integers(1, 20)))) for v in range(1, nodes) if rng.random() < 0.1}
    return gm.Graph(nodes, sorted(edges), directed=True)


def measure_throughput(data: Path, count: int) -> None:
    graphs = gm.load_dataset("AIDS700nef", root=data).graphs
    pairs = np.sort(np.random.default_rng(0).integers(len(graphs), size=(count, 2)), axis=1)
    pairs = np.unique(pairs[pairs[:, 0] < pairs[:, 1]], axis=0)
    problem, search = encode(graphs, graphs, gm.EditCosts()), gm.ExactSearch()
    in_thread(lambda watch: search.bounds_watched(problem, pairs[:10], watch))
    for _ in range(2):
        started = time.process_time()
        in_thread(lambda watch: search.bounds_watched(problem, pairs, watch))
        at_once = time.process_time() - started
        started = time.process_time()
        found = gm.pairwise_edit_distances(graphs, pairs=pairs)
        handed_out = time.process_time() - started
        print(
            f"AIDS700nef, {len(pairs)} pairs ({found.computed} computed): at once {at_once:.2f} s of CPU time, "
            f"handed out {handed_out:.2f} s, of which searching {found.cpu_seconds:.2f} s"
        )


def measure_limits() -> None:
    for nodes in (30, 100, 290, 500, 1000):
        pair = sparse(nodes, 1), sparse(nodes + nodes // 10, 2)
        gm.graph_edit_distance(*pair, time_limit=0)
        late = [gm.graph_edit_distance(*pair, time_limit=limit).seconds - limit for limit in (0.05, 0.2, 1.0)]
        sent = []

        def press() -> None:
            time.sleep(1.0)
            sent.append(time.perf_counter())  # noqa: B023 - called within this round
            os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=press).start()
        try:
            gm.graph_edit_distance(*pair, time_limit=None)
        except SearchInterrupted:
            after = time.perf_counter() - sent[0]
        shown = ", ".join(f"{1e3 * seconds:.0f}" for seconds in late)
        print(
            f"{nodes} nodes: {shown} ms beyond limits of 50 ms, 200 ms and 1 s; ends {1e3 * after:.0f} ms after Ctrl-C"
        )


def measure_large(seconds: float) -> None:
    for nodes in (350, 500, 800):
        pair = control_flow(nodes, 1), control_flow(nodes + nodes // 10, 2)
        for method in (gm.BranchBound(), gm.BeamSearch(100), gm.ExactSearch(time_limit=seconds)):
            started = time.process_time()
            result = gm.graph_edit_distance(*pair, method=method)
            used = time.process_time() - started
            print(
                f"{nodes} nodes, {method}: {result.lower:g} to {result.upper:g}, {used:.1f} s of CPU time", flush=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=10.0)
    options = parser.parse_args()
    measure_throughput(options.data, options.pairs)
    measure_limits()
    measure_large(options.seconds)


if __name__ == "__main__":
    main()
