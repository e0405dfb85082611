"""A million graphs on one core: building, disk, memory, latency and recall, beside the full scan and fingerprints.

    python benchmarks/million_graphs.py --train block-norm --model DIR
    python benchmarks/million_graphs.py --model DIR --out DIR [--data ../shared/data] [--graphs 1000000] [--queries 100]

The first command trains the model on the embedded molecules in a minute. The graphs are those of ``mutated_molecules``:
all of AIDS42k but its first molecules, which are the queries, then mutations by one to eight edits, made as needed.
The index is built once into ``--out`` and used again by later runs. Truth is the exact search by the learned distance.
Where RDKit is installed, ``--morgan N`` times Morgan fingerprints and Tanimoto similarity on the first N of the graphs,
all bonds taken as single ones. Milliseconds are CPU time, and in brackets those on the clock.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import graphmetric as gm
from graphmetric.search.hits import SearchResult
from mutated_molecules import load_molecules, make_graphs

K = 10
STEPS, LABELS = 800, 40_000


def train(head: str, folder: Path) -> None:
    """A model of the preset "small" on molecules of up to ten atoms and edit distances of its own."""
    model = gm.GraphDistance("small", head=head, max_steps=STEPS, label_budget=LABELS, n_jobs=1)
    with timed(f"trained {head}"):
        model.fit(gm.load_dataset("molecules").graphs)
    model.save(folder)


@contextmanager
def timed(what: str) -> Iterator[None]:
    cpu, clock = time.process_time(), time.monotonic()
    yield
    print(
        f"{what}: {time.process_time() - cpu:.1f} s of CPU time, {time.monotonic() - clock:.1f} s on the clock, "
        f"largest memory so far {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3:,.0f} MB",
        flush=True,
    )


def open_index(model: gm.GraphDistance, graphs: Iterator[gm.Graph], folder: Path) -> gm.GraphIndex:
    if not (folder / "index.json").exists():
        with timed("built"):
            gm.GraphIndex.build(model, graphs, out=folder)
    with timed("opened, digests compared"):
        gm.GraphIndex.load(folder, model=model)
    with timed("opened, trusted"):
        index = gm.GraphIndex.load(folder, model=model, verify=False)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{len(index):,} graphs, {size / 1e6:,.0f} MB on disk")
    return index


def time_each(ask: Callable[[Any], Any], queries: Sequence[Any]) -> tuple[list[Any], str]:
    """The answers, and how long they took."""
    answers, times = [], []
    for query in queries:
        cpu, clock = time.process_time(), time.perf_counter()
        answers.append(ask(query))
        times.append((time.process_time() - cpu, time.perf_counter() - clock))
    (p50, wall50), (p99, wall99) = 1e3 * np.percentile(times, [50, 99], axis=0)
    return answers, f"p50 {p50:7.1f} ({wall50:7.1f}) ms  p99 {p99:7.1f} ({wall99:7.1f}) ms"


def recall(found: Sequence[SearchResult], truth: Sequence[SearchResult]) -> float:
    """The share of answers that are as near as the k-th of the truth: at equal distance one is as good as another."""
    near = [[hit.distance <= best[-1].distance + 1e-4 for hit in hits] for hits, best in zip(found, truth, strict=True)]
    return sum(map(sum, near)) / (K * len(near))


def search(index: gm.GraphIndex, queries: gm.GraphCollection, candidates: Sequence[int]) -> None:
    truth, times = time_each(lambda query: index.search(query, K, exhaustive=True), queries)
    looked_at = np.mean([result.report.evaluated_fraction for result in truth])
    print(f"{'exact':<16} {times}  {looked_at:.2%} evaluated exactly")
    for count in candidates:
        found, times = time_each(lambda query, count=count: index.search(query, K, num_candidates=count), queries)
        print(f"{count:>5} candidates {times}  recall@{K} {recall(found, truth):.4f}", flush=True)


def fingerprint_maker() -> Callable[[gm.Graph], Any]:
    from rdkit import Chem, RDLogger
    from rdkit.Chem import rdFingerprintGenerator

    RDLogger.DisableLog("rdApp.*")
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)

    def make(graph: gm.Graph) -> Any:
        molecule = Chem.RWMol()
        for label in graph.node_labels or ():
            molecule.AddAtom(Chem.Atom(0 if label == "?" else str(label)))
        for u, v in graph.edges.tolist():
            molecule.AddBond(u, v, Chem.BondType.SINGLE)
        molecule.UpdatePropertyCache(strict=False)
        Chem.FastFindRings(molecule)
        return generator.GetFingerprint(molecule)

    return make


def search_fingerprints(graphs: Iterator[gm.Graph], queries: gm.GraphCollection) -> None:
    from rdkit.DataStructs import BulkTanimotoSimilarity

    make = fingerprint_maker()
    with timed("Morgan fingerprints"):
        prints = [make(graph) for graph in graphs]

    def ask(query: gm.Graph) -> Any:
        return np.argpartition(-np.array(BulkTanimotoSimilarity(make(query), prints)), K)[:K]

    print(f"Tanimoto, {len(prints):,} graphs: {time_each(ask, queries)[1]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", metavar="HEAD", help="Train a model into --model, and do nothing else.")
    parser.add_argument("--model", type=Path, required=True, help="The folder of a model.")
    parser.add_argument("--out", type=Path, help="Folder for indexes, which later runs use again.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--graphs", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--candidates", type=int, nargs="*", default=[30, 100, 300, 1000])
    parser.add_argument("--morgan", type=int, default=0, metavar="N", help="Graphs to make fingerprints of.")
    options = parser.parse_args()
    if options.train:
        train(options.train, options.model)
        return
    molecules = load_molecules(options.data)
    queries, others = molecules[: options.queries], molecules[options.queries :]
    if options.out:
        model = gm.GraphDistance.load(options.model).set_params(n_jobs=1)
        index = open_index(model, make_graphs(others, options.graphs), options.out / str(options.graphs))
        index.search(queries[0], K, num_candidates=K)
        search(index, queries, options.candidates)
    if options.morgan:
        search_fingerprints(make_graphs(others, options.morgan), queries)


if __name__ == "__main__":
    main()
