"""All graphs of AIDS42k within some edits of a query, with proof: CPU seconds per query, and what each stage removes.

    python benchmarks/certified_range.py [--data ../shared/data] [--queries 100] [--radii 2 4 6 8] [--sample 2000]

Queries are drawn by a seed and taken out of the collection; the index has no model. One thread. The same is measured
with bond types left out, as the published tables do. Brute force is our own exact search, told the radius, of the first
five queries against a sample of the graphs; its time is scaled to all of them, and its answers are compared.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import graphmetric as gm

BRUTE_QUERIES = 5


def measure(index: gm.GraphIndex, queries: gm.GraphCollection, radius: float) -> list[gm.search.SearchResult]:
    """Every query on its own; prints CPU seconds, answers and stages."""
    results, seconds = [], []
    for query in queries:
        started = time.process_time()
        results.append(index.range_search(query, radius, certified=True, time_limit=None, n_jobs=1))
        seconds.append(time.process_time() - started)
    found = [len(result) for result in results]
    print(
        f"  within {radius:g}: {np.mean(seconds):.4f} s per query (median {np.median(seconds):.4f}, largest "
        f"{max(seconds):.2f}), {np.mean(found):.1f} answers, all proven {all(r.report.complete for r in results)}"
    )
    left = float(len(index))
    for stage in results[0].report.stages:
        removed = float(np.mean([result.report.stages[stage] for result in results]))
        left -= removed
        print(f"    {stage:<32} removes {removed:10.1f}, leaves {left:10.1f}")
    return results


def brute_force(
    index: gm.GraphIndex, queries: gm.GraphCollection, graphs: gm.GraphCollection, chosen: np.ndarray, radius: float
) -> None:
    """Exact searches of all pairs of a sample; compares the answers."""
    sample, method = graphs[chosen], gm.ExactSearch(upper_bound=radius)
    started = time.process_time()
    found = gm.pairwise_edit_distances(queries, sample, method=method, costs=index.costs, n_jobs=1)
    seconds = (time.process_time() - started) * len(graphs) / len(sample) / len(queries)
    ids = set(chosen.tolist())
    for row, query in enumerate(queries):
        wanted = {(int(chosen[k]), found.upper[row, k]) for k in np.flatnonzero(found.upper[row] <= radius)}
        hits = index.range_search(query, radius, certified=True, time_limit=None)
        assert {(hit.id, hit.exact) for hit in hits if hit.id in ids} == wanted
    print(f"    brute force on {len(sample)} graphs, scaled to all: {seconds:.1f} s per query; the same answers")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--queries", type=int, default=100)
    parser.add_argument("--radii", type=float, nargs="*", default=[2, 4, 6, 8])
    parser.add_argument("--sample", type=int, default=2_000, help="Graphs for brute force; 0 leaves it out.")
    options = parser.parse_args()
    graphs = gm.load_dataset("AIDS42k", root=options.data).graphs
    order = np.random.default_rng(0).permutation(len(graphs))
    queries, rest = graphs[order[: options.queries]], graphs[np.sort(order[options.queries :])]
    for name, ignored in (("bond types left out", {"edge_labels"}), ("with bond types", set[str]())):
        started = time.process_time()
        index = gm.GraphIndex.build(rest, ids=range(len(rest)), costs=gm.EditCosts(ignore=frozenset(ignored)))
        print(f"{name}: {len(index)} graphs indexed in {time.process_time() - started:.1f} s of CPU time", flush=True)
        index.warm_up()
        for radius in options.radii:
            measure(index, queries, radius)
            if options.sample:
                chosen = np.sort(np.random.default_rng(1).choice(len(rest), options.sample, replace=False))
                brute_force(index, queries[:BRUTE_QUERIES], rest, chosen, radius)


if __name__ == "__main__":
    main()
