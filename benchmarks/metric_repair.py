"""CPU seconds, memory and certificate of the nearest metric, beside plain triangle fixing.

    python benchmarks/metric_repair.py --sizes 200 700 1500
    python benchmarks/metric_repair.py --sizes 3000 5000 --cache FOLDER --no-plain
    python benchmarks/metric_repair.py --sizes 2000 5000 --time-limits 1 5

The matrices: d = 1 - exp(-GED / mean size) of molecules with at most ten atoms, all of different isomorphism classes
(beyond the embedded ones, mutants of those), or of the graph atlas; exact edit distances by our own engine. Of the
first 60 % of the graphs all distances among them are exact, as if they were a training set; all other entries have
noise N(0, sd) and are cut to [0, 1]. "fixed" keeps the exact block, "free" may change it.

Exact distances of 5,000 molecules take five minutes on one core; ``--cache`` keeps them. Times are CPU seconds of one
thread, since other work may share the machine; compilation is not counted.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import graphmetric as gm
from graphmetric.metric_repair import RepairResult, dense_fixing

Matrix = NDArray[np.float64]
TRAINING = 0.6


class Source(NamedTuple):
    """Sizes of graphs in a random order, and their edit distances, which are whole numbers."""

    sizes: NDArray[np.int64]
    distances: NDArray[np.int16]


def draw_graphs(name: str, m: int) -> list[gm.Graph]:
    """``m`` graphs of different isomorphism classes."""
    rng = np.random.default_rng(0)
    graphs = {graph.certificate(): graph for graph in gm.load_dataset(name).graphs if graph.num_nodes > 1}
    originals = list(graphs.values())
    while len(graphs) < m:
        parent = originals[int(rng.integers(len(originals)))]
        edits = int(rng.integers(1, 5))
        child = gm.mutate(parent, edits, random_state=rng, connected=True, min_nodes=4, max_nodes=10).graph
        graphs.setdefault(child.certificate(), child)
    every = list(graphs.values())
    return [every[k] for k in rng.permutation(len(every))[:m]]


def measure_graphs(name: str, m: int, cache: Path | None) -> Source:
    """All edit distances, from the cache if they are there."""
    kept = None if cache is None else cache / f"{name}-{m}.npz"
    if kept is not None and kept.exists():
        with np.load(kept) as arrays:
            return Source(arrays["sizes"], arrays["distances"])
    graphs = draw_graphs(name, m)
    started = time.process_time()
    distances = gm.pairwise_edit_distances(graphs, n_jobs=-1).distances.astype(np.int16)
    source = Source(np.array([graph.num_nodes for graph in graphs]), distances)
    print(f"edit distances of {m} {name}: {time.process_time() - started:.0f} s CPU", flush=True)
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.savez(kept, sizes=source.sizes, distances=source.distances)
    return source


def add_noise(source: Source, sd: float) -> tuple[Matrix, NDArray[np.bool_]]:
    """Distances that are noisy outside the training block, and that block."""
    m = len(source.sizes)
    matrix: Matrix = gm.normalized_distance(source.distances.astype(float), source.sizes)
    training = np.zeros((m, m), dtype=bool)
    training[: int(TRAINING * m), : int(TRAINING * m)] = True
    noise = np.triu(np.random.default_rng(0).normal(0, sd, (m, m)), 1)
    noise += noise.T
    noise[training] = 0
    matrix = np.clip(matrix + noise, 0, 1)
    np.fill_diagonal(matrix, 0)
    return matrix, training


def report(name: str, repair: Callable[[], RepairResult]) -> None:
    """Run once and print a line."""
    cpu, wall = time.process_time(), time.perf_counter()
    result = repair()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    active = f"{len(result.duals.triangles):,}" if result.duals is not None else "-"
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{name:32s} {cpu:8.2f} {wall:8.2f} {result.scans:6d} {result.sweeps:7d} {active:>10s} "
        f"{result.max_violation:10.1e} {result.duality_gap:10.1e} {result.objective:12.4f} {peak:8.2f}",
        flush=True,
    )


def stop_early(sizes: list[int], limits: list[float]) -> None:
    """How well time limits are kept where a sixth of all triangles is violated, and what is reached."""
    for m in sizes:
        upper = np.triu(np.random.default_rng(0).random((m, m)), 1)
        matrix = upper + upper.T
        for limit in limits:
            wall = time.perf_counter()
            result = gm.triangle_fixing(matrix, time_limit=limit)
            wall = time.perf_counter() - wall
            print(f"{m:6,d} items, limit {limit:g} s: {wall:.2f} s, {result.scans} scans, gap {result.duality_gap:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[200, 700, 1500])
    parser.add_argument("--noise", type=float, nargs="+", default=[0.02, 0.05, 0.10])
    parser.add_argument("--data", choices=["molecules", "atlas"], default="molecules")
    parser.add_argument("--cache", type=Path, help="folder that keeps the edit distances")
    parser.add_argument("--jobs", type=int, default=1, help="threads of the scans")
    parser.add_argument("--no-plain", action="store_true", help="leave out triangle fixing with dense multipliers")
    parser.add_argument("--plain-limit", type=int, default=700, help="largest size for that")
    parser.add_argument("--time-limits", type=float, nargs="+", help="instead: random numbers, stopped after so long")
    options = parser.parse_args()
    if options.time_limits:
        stop_early(options.sizes, options.time_limits)
        return
    small, block = add_noise(measure_graphs(options.data, 50, None), 0.05)
    gm.triangle_fixing(small)  # compiles
    gm.triangle_fixing(small, fixed=block)
    dense_fixing(small, stop="certificate")
    print(
        f"{'':32s} {'CPU s':>8s} {'wall s':>8s} {'scans':>6s} {'sweeps':>7s} {'active':>10s} "
        f"{'violation':>10s} {'gap':>10s} {'objective':>12s} {'peak GB':>8s}"
    )
    for m in options.sizes:
        source = measure_graphs(options.data, m, options.cache)
        for sd in options.noise:
            matrix, training = add_noise(source, sd)
            name = f"{options.data} {m}, sd {sd:g}"
            report(f"{name}, free", lambda matrix=matrix: gm.triangle_fixing(matrix, n_jobs=options.jobs))
            report(
                f"{name}, fixed",
                lambda matrix=matrix, fixed=training: gm.triangle_fixing(matrix, fixed=fixed, n_jobs=options.jobs),
            )
            if m <= options.plain_limit and not options.no_plain:
                report(f"{name}, plain", lambda matrix=matrix: dense_fixing(matrix, stop="certificate"))


if __name__ == "__main__":
    main()
