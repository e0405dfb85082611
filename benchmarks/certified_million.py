"""The ten nearest of a million molecules by edit distance, with proof, from an index without a model.

    pip download --no-deps molsets && unzip molsets-*.whl 'moses/dataset/data/*'
    python benchmarks/certified_million.py --molecules moses/dataset/data/train.csv.gz --out DIR
    python benchmarks/certified_million.py --out DIR --queries moses/dataset/data/test.csv.gz [--count 100]

The molecules are those of MOSES (Polykovskiy et al. 2020), of 22 atoms in the mean: the first million SMILES of the
training file are indexed, and queries are drawn by a seed from the test file, which shares no molecule with it. The
first command builds the index, reading the SMILES included. The second opens it and asks one query at a time on one
thread. Time limits and times of queries are of CPU time here, so that whatever else runs on the machine does not count.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np

import graphmetric as gm
from graphmetric.formats.molecules import from_smiles

K = 10


def read_smiles(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="ascii") as lines:
        next(lines)
        for line in lines:
            yield line.strip().partition(",")[0]


def build(molecules: Path, count: int, out: Path) -> None:
    started = time.process_time()
    smiles = itertools.islice(read_smiles(molecules), count)
    index = gm.GraphIndex.build((from_smiles(text, id=k) for k, text in enumerate(smiles)), out=out)
    seconds = time.process_time() - started
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{len(index):,} graphs: {seconds:.0f} s of CPU time, {memory / 1e3:,.0f} MB of memory, {size / 1e6:,.0f} MB")


def ask(out: Path, queries: Path, count: int, limits: list[float]) -> None:
    started = time.process_time()
    index = gm.GraphIndex.load(out, verify=False)
    index.warm_up()
    print(f"opened and warm after {time.process_time() - started:.1f} s of CPU time")
    smiles = list(read_smiles(queries))
    chosen = [smiles[k] for k in np.random.default_rng(0).choice(len(smiles), count, replace=False)]
    asked = [from_smiles(text) for text in chosen]
    for limit in limits:
        results, seconds = [], []
        with mock.patch("time.monotonic", time.process_time):
            for query in asked:
                started = time.process_time()
                results.append(index.search(query, K, certified=True, time_limit=limit, n_jobs=1))
                seconds.append(time.process_time() - started)
        proven = np.array([[bool(hit.proven) for hit in result] for result in results])
        quantiles = ", ".join(f"p{q} {np.percentile(seconds, q):.2f}" for q in (10, 50, 75, 90, 99))
        print(f"limit {limit:g} s: {np.mean(seconds):.2f} s per query ({quantiles})")
        print(f"  queries with all ranks proven {proven.all(axis=1).mean():.1%}, ranks proven {proven.mean():.1%}")
        print(f"  mean distance of the tenth {np.mean([result[-1].distance for result in results]):.2f}")
        for stage in results[0].report.stages:
            removed = np.mean([result.report.stages[stage] for result in results])
            print(f"    {stage:<32} removes {removed:12,.1f}")
        left = np.mean([result.report.undecided for result in results])
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(f"    undecided {left:,.1f}; {memory / 1e3:,.0f} MB of memory at most", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=Path, help="Build an index of these SMILES.")
    parser.add_argument("--graphs", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, required=True, help="The folder of the index.")
    parser.add_argument("--queries", type=Path, help="Ask for the neighbours of some of these SMILES.")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--limits", type=float, nargs="*", default=[1.0, 10.0])
    options = parser.parse_args()
    if options.molecules:
        build(options.molecules, options.graphs, options.out)
    if options.queries:
        ask(options.out, options.queries, options.count, options.limits)


if __name__ == "__main__":
    main()
