"""Pairs per second of every distance, on random representations.

    python benchmarks/heads.py [--dim 64] [--nodes 10] [--threads 2] [--file 20000]

Node states are drawn around a few centres, as an encoder's are. Pooled heads are asked for 1,000,000 pairs, the
matching for 100,000; each time once as a matrix and once as a list of random pairs. A training
step is forward and backward of 4,096 pairs. ``--file N`` also writes an N x N matrix into a temporary file and shows
the memory it took.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from graphmetric.distance import (
    BlockNorm,
    Comparison,
    ConcaveHead,
    DistanceHead,
    Matching,
    Representation,
    SquaredFC,
    distance_matrix,
    pair_distances,
    write_distance_matrix,
)

CENTRES = 12
TRAINING_PAIRS = 4096


def make_heads(dim: int) -> dict[str, DistanceHead]:
    return {
        "SquaredFC (Eq. 9)": SquaredFC(dim),
        "SquaredFC, one hidden layer": SquaredFC(dim, hidden=(dim // 2,)),
        "BlockNorm, 8 blocks": BlockNorm(dim),
        "ConcaveHead": ConcaveHead(dim),
        "Matching": Matching(),
        "Matching, 4 heads": Matching(heads=4),
        "ConcaveHead of BlockNorm, Matching": ConcaveHead(None, bases=[BlockNorm(dim), Matching()]),
    }


def make_graphs(count: int, dim: int, nodes: int) -> Representation:
    centres = torch.randn(CENTRES, dim)
    rows = centres[torch.randint(CENTRES, (count * nodes,))] + 0.3 * torch.randn(count * nodes, dim)
    size = torch.full((count,), nodes)
    return Representation(rows.reshape(count, nodes, dim).sum(1), rows, torch.arange(count) * nodes, size)


def best_of(work: Callable[[], object], repeats: int = 3) -> tuple[float, float]:
    """Least wall time and least CPU time of all threads, after one run that compiles."""
    work()
    wall, cpu = [], []
    for _ in range(repeats):
        clocks = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - clocks[0])
        cpu.append(time.process_time() - clocks[1])
    return min(wall), min(cpu)


def training_step(head: DistanceHead, graphs: Representation, pairs: torch.Tensor) -> None:
    z, rows = (tensor.clone().requires_grad_() for tensor in (graphs.z, graphs.rows))
    head.batch_distances(graphs._replace(z=z, rows=rows), pairs).sum().backward()


def measure_heads(dim: int, nodes: int) -> None:
    print(f"{'head':36}{'matrix':>12}{'pair list':>12}{'training':>12}   pairs per second (CPU seconds per million)")
    for name, head in make_heads(dim).items():
        side = 316 if head.needs_states else 1000
        comparison = Comparison.prepare(head, make_graphs(side, dim, nodes), make_graphs(side, dim, nodes))
        pairs = np.random.default_rng(0).integers(0, side, (side * side, 2))
        graphs, chosen = make_graphs(512, dim, nodes), torch.randint(512, (TRAINING_PAIRS, 2))
        results = [
            (side * side, best_of(lambda c=comparison: distance_matrix(c))),
            (side * side, best_of(lambda c=comparison, p=pairs: pair_distances(c, p))),
            (TRAINING_PAIRS, best_of(lambda h=head, g=graphs, p=chosen: training_step(h, g, p))),
        ]
        rates = "".join(f"{count / wall:>12,.0f}" for count, (wall, _) in results)
        print(f"{name:36}{rates}   " + " / ".join(f"{1e6 * cpu / count:.2f}" for count, (_, cpu) in results))


def measure_file(count: int, dim: int) -> None:
    comparison = Comparison.prepare(BlockNorm(dim), make_graphs(count, dim, 10))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with tempfile.TemporaryDirectory() as folder:
        clocks = time.perf_counter(), time.process_time()
        written = write_distance_matrix(comparison, Path(folder) / "distances.npy")
        wall, cpu = time.perf_counter() - clocks[0], time.process_time() - clocks[1]
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        print(
            f"BlockNorm, {count:,} x {count:,} into a file of {written.nbytes / 2**30:.1f} GB: {wall:.0f} s, "
            f"{cpu:.0f} s CPU; resident memory grew by {grown:.0f} MB, pages of the file included"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--nodes", type=int, default=10)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--file", type=int, metavar="N")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    measure_heads(options.dim, options.nodes)
    if options.file:
        measure_file(options.file, options.dim)


if __name__ == "__main__":
    main()
