"""A million graphs on one core: building, disk, memory, latency and recall, beside the full scan and fingerprints.

    python benchmarks/million_graphs.py --model DIR --out DIR [--data ../shared/data] [--graphs 1000000] [--queries 100]

Graphs are molecules of AIDS42k and mutations of them by one to eight edits, made one after another from a seed and
never held together. The index is built once into ``--out`` and used again by later runs. Truth is the full scan by the
learned distance. Where RDKit is installed, ``--morgan`` times Morgan fingerprints and Tanimoto similarity on the same
graphs, all bonds taken as single ones.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import graphmetric as gm

K = 10


def make_graphs(data: Path, count: int, skipped: int) -> Iterator[gm.Graph]:
    """The molecules but the first ones, which are queries, then mutations of them, numbered."""
    molecules = gm.load_dataset("AIDS42k", root=data).graphs[skipped:]
    for number in range(count):
        graph = molecules[number % len(molecules)]
        if number >= len(molecules):
            graph = gm.mutate(graph, edits=1 + number % 8, random_state=number).graph
        yield graph.replace(id=number, metadata=None)


def open_index(model: gm.GraphDistance, options: argparse.Namespace) -> gm.GraphIndex:
    folder = options.out / f"{options.graphs}"
    if not (folder / "index.json").exists():
        started, wall = time.process_time(), time.monotonic()
        gm.GraphIndex.build(model, make_graphs(options.data, options.graphs, options.queries), out=folder)
        used, passed = time.process_time() - started, time.monotonic() - wall
        print(f"built in {used:.0f} s of CPU time, {passed:.0f} s on the clock; largest memory {peak():.0f} MB")
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    started = time.process_time()
    index = gm.GraphIndex.load(folder, model=model)
    print(f"{len(index):,} graphs, {size / 1e6:,.0f} MB on disk, opened in {time.process_time() - started:.2f} s")
    return index


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def measure(
    index: gm.GraphIndex, queries: gm.GraphCollection, **how: object
) -> tuple[NDArray[np.float64], list[list[float]], str]:
    """Milliseconds of each query, the distances found, and the last report."""
    times, found = [], []
    for query in queries:
        started = time.process_time()
        result = index.search(query, K, **how)  # type: ignore[arg-type]
        times.append(1e3 * (time.process_time() - started))
        found.append([hit.distance for hit in result])
    return np.array(times), found, str(result.report)


def report(
    name: str, times: NDArray[np.float64], found: list[list[float]], truth: list[list[float]], words: str
) -> None:
    near = [np.mean(np.array(ours) <= theirs[-1] + 1e-4) for ours, theirs in zip(found, truth, strict=True)]
    p50, p99 = np.percentile(times, [50, 99])
    print(f"{name:<24} p50 {p50:8.1f} ms  p99 {p99:8.1f} ms  recall@{K} {np.mean(near):.4f}  ({words})")


def fingerprints(graphs: Iterator[gm.Graph], queries: gm.GraphCollection) -> None:
    from rdkit import Chem, DataStructs, RDLogger
    from rdkit.Chem import rdFingerprintGenerator

    RDLogger.DisableLog("rdApp.*")
    generator = rdFingerprintGenerator.GetMorganGenerator(radius=2, fpSize=2048)

    def fingerprint(graph: gm.Graph) -> object:
        molecule = Chem.RWMol()
        for label in graph.node_labels or ():
            molecule.AddAtom(Chem.Atom(str(label) if str(label).isalpha() else int(str(label)) % 118 + 1))
        for u, v in graph.edges.tolist():
            molecule.AddBond(u, v, Chem.BondType.SINGLE)
        molecule.UpdatePropertyCache(strict=False)
        Chem.FastFindRings(molecule)
        return generator.GetFingerprint(molecule)

    started = time.process_time()
    prints = [fingerprint(graph) for graph in graphs]
    print(f"Morgan fingerprints of {len(prints):,} graphs in {time.process_time() - started:.0f} s of CPU time")
    times = []
    for query in queries:
        started = time.process_time()
        similar = np.array(DataStructs.BulkTanimotoSimilarity(fingerprint(query), prints))
        np.argpartition(-similar, K)[:K]
        times.append(1e3 * (time.process_time() - started))
    print("Morgan and Tanimoto      p50 {:8.1f} ms  p99 {:8.1f} ms".format(*np.percentile(times, [50, 99])))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="A folder of a model.")
    parser.add_argument("--out", type=Path, required=True, help="Folder for indexes, which later runs use again.")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--graphs", type=int, default=1_000_000)
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--candidates", type=int, nargs="*", default=[300, 1000, 3000])
    parser.add_argument("--morgan", action="store_true", help="Time fingerprints as well.")
    options = parser.parse_args()
    model = gm.GraphDistance.load(options.model).set_params(n_jobs=1)
    queries = gm.load_dataset("AIDS42k", root=options.data).graphs[: options.queries]
    index = open_index(model, options)
    index.search(queries[0], K, candidates=K)
    times, truth, words = measure(index, queries, exact=True)
    report("exact", times, truth, truth, words)
    for candidates in options.candidates:
        report(f"{candidates} candidates", *measure(index, queries, candidates=candidates)[:2], truth, "approximate")
    print(f"largest memory {peak():.0f} MB")
    if options.morgan:
        fingerprints(make_graphs(options.data, options.graphs, options.queries), queries)


if __name__ == "__main__":
    main()
