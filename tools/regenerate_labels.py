"""Compute the distances of the public benchmarks anew and compare them with the stored ones.

    python tools/regenerate_labels.py --data ../shared/data --out labels/

Every pair of AIDS700nef, LINUX and ALKANE is proven exact; IMDBMulti is searched within a time limit per pair and gets
bounds elsewhere. Stopped, the same command goes on where it was.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import graphmetric as gm
from graphmetric.graphs.pair_bounds import PairBounds

TIME_LIMITS: dict[str, float | None] = {"ALKANE": None, "LINUX": None, "AIDS700nef": None, "IMDBMulti": 0.2}


def compare(name: str, labels: PairBounds, data: gm.Dataset) -> str:
    i, j = labels.pairs.T
    lower, upper = data.lower[i, j], data.upper[i, j]
    contradictions = int(((labels.upper < lower) | (labels.lower > upper)).sum())
    known, proven = lower == upper, labels.exact
    newly, tighter = int((proven & ~known).sum()), int((labels.upper < upper).sum())
    return (
        f"{name}: {len(i):,} pairs, {proven.mean():.2%} proven exact (stored: {known.mean():.2%}); "
        f"{contradictions} contradictions; {newly:,} pairs newly exact, {tighter:,} upper bounds lowered"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--only", nargs="*", choices=list(TIME_LIMITS), default=list(TIME_LIMITS))
    options = parser.parse_args()
    for name in options.only:
        data = gm.load_dataset(name, root=options.data)
        started, cpu = time.perf_counter(), time.process_time()
        labels = gm.label_graphs(data.graphs, Path(options.out) / name, time_limit=TIME_LIMITS[name])
        print(compare(name, labels, data))
        print(f"  {time.perf_counter() - started:.1f} s, {time.process_time() - cpu:.1f} s CPU")


if __name__ == "__main__":
    main()
