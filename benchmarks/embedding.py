"""Graphs per second through features and encoder, and how memory grows with the collection.

    python benchmarks/embedding.py [--presets paper small base] [--graphs 20000] [--threads 2] [--root FOLDER]

The graphs are those of the embedded set ``molecules`` (8 nodes on average, like AIDS700nef), repeated. Shown are the
features alone, the encoder alone, and both together by ``embed_graphs`` on all threads; then the memory that twice as
many graphs add, beyond the vectors that were asked for.

With ``--root``, the folder of AIDS42k, its molecules of 24 to 27 and of 46 to 50 atoms are embedded as well, bond types
counted, on one thread, and pairs of them are compared: CPU time, the least of three runs.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch

import graphmetric as gm
from graphmetric._foundation.threads import thread_limit
from graphmetric.distance import Comparison, pair_distances
from graphmetric.features import GraphFeaturizer
from graphmetric.graphs.collection import GraphCollection
from graphmetric.model import GraphDistanceNetwork
from graphmetric.training import PRESETS, preset


def repeat(graphs: GraphCollection, count: int) -> GraphCollection:
    """As many graphs, the same ones over and over."""
    return graphs[[k % len(graphs) for k in range(count)]]


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    clocks = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clocks[0], time.process_time() - clocks[1]


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name: str, graphs: GraphCollection, threads: int) -> None:
    options, _ = preset(name)
    featurizer = GraphFeaturizer(options.features).fit(graphs[:1000])
    model = GraphDistanceNetwork.build(featurizer.schema, options).eval()
    model.embed_graphs(featurizer, graphs[:1000])  # compiles, and warms up
    few = graphs[:8000]
    torch.set_num_threads(1)
    table = featurizer.transform(few)
    parts = [
        ("features, one thread", len(few), timed(lambda: featurizer.transform(few))),
        ("encoder, one thread", len(few), timed(lambda: model.embed_table(table))),
        (
            f"both, {threads} threads",
            len(graphs),
            timed(lambda: model.embed_graphs(featurizer, graphs, threads=threads)),
        ),
    ]
    for part, count, (wall, cpu) in parts:
        print(f"{name:8}{part:24}{count / wall:>10,.0f} graphs/s, {1e6 * cpu / count:6.1f} us CPU per graph")
    before = peak_megabytes()
    more = repeat(graphs, 2 * len(graphs))
    grown_by_graphs = peak_megabytes()
    model.embed_graphs(featurizer, more, threads=threads)
    vectors = len(more) * model.encoder.output_size * 4 / 2**20
    print(
        f"{name:8}{len(more):,} graphs, not {len(graphs):,}: peak {before:,.0f} -> {peak_megabytes():,.0f} MB, of "
        f"which graphs {grown_by_graphs - before:,.0f} MB and vectors {vectors:,.0f} MB"
    )


SIZES = ((24, 27), (46, 50))
PAIRS = 4000


def measure_larger(name: str, everything: GraphCollection) -> None:
    """Print the CPU time per graph and per pair for molecules of two sizes."""
    for least, most in SIZES:
        chosen = np.flatnonzero((everything.sizes >= least) & (everything.sizes <= most))[:2000]
        features, encoder, compared = time_parts(name, everything[chosen])
        print(
            f"{name:8}{least}-{most} atoms: features {features:.0f} us, encoder {encoder:.0f} us a graph, "
            f"{1e6 / (features + encoder):,.0f} graphs per CPU second; {compared:.1f} us a pair"
        )


def time_parts(name: str, graphs: GraphCollection) -> tuple[float, ...]:
    """Microseconds of features and encoder per graph, and of the head per pair."""
    options, _ = preset(name)
    featurizer = GraphFeaturizer(options.features).fit(graphs)
    model = GraphDistanceNetwork.build(featurizer.schema, options).eval()
    pairs = np.random.default_rng(0).integers(0, len(graphs), (PAIRS, 2))
    with thread_limit(1):
        table = featurizer.transform(graphs)
        comparison = Comparison.prepare(model.head, model.encode_table(table))
        pair_distances(comparison, pairs[:2])  # compiles
        parts: list[tuple[Callable[[], object], int]] = [
            (lambda: featurizer.transform(graphs), len(graphs)),
            (lambda: model.embed_table(table), len(graphs)),
            (lambda: pair_distances(comparison, pairs), PAIRS),
        ]
        return tuple(1e6 / count * min(timed(work)[1] for _ in range(3)) for work, count in parts)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--presets", nargs="+", default=list(PRESETS), choices=PRESETS)
    parser.add_argument("--graphs", type=int, default=20_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--root", help="folder of AIDS42k")
    given = parser.parse_args(arguments)
    graphs = repeat(GraphCollection(gm.load_dataset("molecules").graphs), given.graphs)
    for name in given.presets:
        measure(name, graphs, given.threads)
    if given.root is not None:
        everything = gm.load_dataset("AIDS42k", root=given.root).graphs
        for name in given.presets:
            measure_larger(name, everything)


if __name__ == "__main__":
    main()
