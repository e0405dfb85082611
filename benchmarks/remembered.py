"""Certified searches that remember what they prove: asking again, and the triangle inequality between queries.

    python benchmarks/remembered.py [--data ../shared/data] [--queries 20]

The graphs are AIDS42k with bond types. The first table has CPU seconds per query: asked for the first time, while
remembering, and again. The second asks for the neighbours of a query q that is d edits from a query p which was asked
before with some radius: a candidate x is at least lower(p, x) - d from q. It counts the candidates that this excludes
among those that histograms and common branches leave, and gives the CPU time with and without these bounds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import graphmetric as gm
from graphmetric.edit_distance._kernels.nearest import BY_COMMON
from graphmetric.search.remembered import RememberedPairs, SearchMemory, memory_keys

LIMIT = 10.0


def seconds(ask: Callable[..., Any], query: gm.Graph, number: int, remember: bool = True) -> float:
    """CPU seconds of a search."""
    started = time.process_time()
    ask(query, number, time_limit=LIMIT, remember=remember)
    return time.process_time() - started


def ask_again(graphs: gm.GraphCollection, queries: list[gm.Graph]) -> None:
    print("| question | first | the same, remembering | again | the second alone | the second after the first | kB |")
    print("|---|---|---|---|---|---|---|")
    for kind, first, then in (("within", 4, 6), ("within", 6, 8), ("nearest", 10, 20)):
        index = gm.GraphIndex.build(graphs, ids=range(len(graphs)))
        ask = index.search if kind == "nearest" else index.range
        rows = []
        for query in queries:
            alone = [seconds(ask, query, number, remember=False) for number in (first, then)]
            rows.append([*alone, *(seconds(ask, query, number) for number in (first, first, then))])
        mean = np.mean(rows, axis=0)
        size = sum(pairs.size for pairs in index._memory._queries.values()) / len(queries) / 1e3
        times = " | ".join(f"{mean[k]:.3f}" for k in (0, 2, 3, 1, 4))
        print(f"| {kind} {first}, then {then} | {times} | {size:.0f} |", flush=True)


def use_triangles(graphs: gm.GraphCollection, queries: list[gm.Graph]) -> None:
    print("\n| p within | d(p, q) | q within | left by common branches | excluded by triangles | CPU without | with |")
    print("|---|---|---|---|---|---|---|")
    index = gm.GraphIndex.build(graphs, ids=range(len(graphs)))
    costs = gm.EditCosts()
    for asked, apart, wanted in ((6, 1, 6), (6, 2, 4), (8, 1, 6), (8, 2, 6), (8, 2, 4), (8, 4, 4)):
        rows = []
        for k, p in enumerate(queries):
            q = gm.mutate(p, apart, random_state=k).graph
            d = gm.graph_edit_distance(p, q).upper
            index._memory = SearchMemory()
            index.range(p, asked, time_limit=LIMIT, remember=True)
            known = index._memory._queries[memory_keys(gm.GraphCollection([p]), costs)[0]]
            index._memory = SearchMemory()
            plain = seconds(index.range, q, wanted)
            key = memory_keys(gm.GraphCollection([q]), costs)[0]
            looked_at = index._memory._queries[key]
            lower = np.maximum(0.0, known.lower - d)
            far = {name.tobytes() for name in known.names[lower > wanted]}
            excluded = sum(name.tobytes() in far for name in looked_at.names)
            nothing = np.full(len(lower), np.inf)
            none = np.zeros((0, q.num_nodes), dtype=np.int32)
            stage = np.full(len(lower), BY_COMMON, dtype=np.int8)
            index._memory = SearchMemory()
            index._memory._queries[key] = RememberedPairs(known.names, lower, nothing, stage, none)
            helped = seconds(index.range, q, wanted)
            rows.append((len(looked_at.names), excluded, plain, helped))
        left, gone, before, after = np.mean(rows, axis=0)
        print(f"| {asked} | {apart} | {wanted} | {left:.0f} | {gone:.1f} | {before:.3f} | {after:.3f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--queries", type=int, default=20)
    options = parser.parse_args()
    graphs = gm.load_dataset("AIDS42k", root=options.data).graphs
    chosen = np.random.default_rng(0).choice(len(graphs), options.queries, replace=False)
    queries = [graphs[int(k)] for k in chosen]
    gm.GraphIndex.build(graphs[:2000]).warm()
    ask_again(graphs, queries)
    use_triangles(graphs, queries)


if __name__ == "__main__":
    main()
