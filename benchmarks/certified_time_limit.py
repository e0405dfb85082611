"""How well certified search keeps its time limit with large queries: 300 to 1,000 nodes among 1,000 graphs.

    python benchmarks/certified_time_limit.py [--limits 0.5 2 5] [--queries 300 377 600 1000] [--count 1000]

The collection has control-flow graphs of 10 to 1,000 nodes, as a program has: most are small, some are large. Each
line is one search: the limit, wall-clock seconds of the call, CPU seconds, hits, and how many of them have a proven
rank. The last line has the largest share of a limit by which a search was late. Run it on a quiet machine.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import graphmetric as gm


def control_flow(nodes: int, seed: int) -> gm.Graph:
    """A directed chain of blocks with jumps ahead and some loops back."""
    rng = np.random.default_rng(seed)
    edges = {(v - 1, v) for v in range(1, nodes)}
    edges |= {(v, int(min(nodes - 1, v + rng.integers(2, 12)))) for v in range(1, nodes - 2) if rng.random() < 0.35}
    edges |= {(v, int(max(0, v - rng.integers(1, 20)))) for v in range(1, nodes) if rng.random() < 0.1}
    return gm.Graph(nodes, sorted(edges), node_labels=rng.integers(4, size=nodes).tolist(), directed=True)


def collection(count: int) -> list[gm.Graph]:
    """Graphs of 10 to 1,000 nodes, a fifth of them above 300."""
    sizes = np.exp(np.random.default_rng(0).uniform(np.log(10), np.log(1000), count)).astype(int)
    return [control_flow(int(nodes), 100 + k) for k, nodes in enumerate(sizes)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limits", type=float, nargs="+", default=[0.5, 2.0, 5.0])
    parser.add_argument("--queries", type=int, nargs="+", default=[300, 377, 600, 1000])
    parser.add_argument("--count", type=int, default=1000)
    options = parser.parse_args()
    index, latest = gm.GraphIndex.build(collection(options.count)), 0.0
    for nodes in (20, 100, 320):  # compiles and loads every loop
        index.search(control_flow(nodes, 1), 3, certified=True, time_limit=3)
        gm.graph_edit_distance(control_flow(nodes, 1), control_flow(nodes, 2), time_limit=0.1)
    for nodes in options.queries:
        query = control_flow(nodes, 7)
        for limit in options.limits:
            for name in ("10 nearest", "within 100"):
                wall, cpu = time.monotonic(), time.process_time()
                if name == "10 nearest":
                    found = index.search(query, 10, certified=True, time_limit=limit)
                else:
                    found = index.range_search(query, 100, time_limit=limit)
                wall, cpu = time.monotonic() - wall, time.process_time() - cpu
                latest = max(latest, wall / limit - 1)
                proven = sum(hit.proven for hit in found)
                print(
                    f"{nodes} nodes, {name}, limit {limit:g} s: {wall:.2f} s, {cpu:.2f} s of CPU time, "
                    f"{len(found)} hits, {proven} proven, {found.report.undecided:,} undecided",
                    flush=True,
                )
    print(f"at most {latest:.0%} later than the limit")


if __name__ == "__main__":
    main()
