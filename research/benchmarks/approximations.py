"""Cost and error of every approximation on random pairs of AIDS700nef.

    python research/benchmarks/approximations.py FOLDER

Microseconds of processor time per pair, one thread, compiled code only (the least of several runs), unit costs, edge
labels ignored. The error is the mean of |value - distance| / distance over pairs that are not isomorphic.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from graphmetric.edit_distance import BeamSearch, BranchBound, EditDistanceMethod, Hausdorff, LocalSearch
from graphmetric.edit_distance._kernels.common_subgraph import (
    CommonLimits,
    CommonResults,
    allocate_common,
    find_common_subgraphs,
)
from graphmetric.edit_distance._kernels.lower_bounds import (
    bound_against_all,
    find_cheapest,
    lay_out_vectors,
    vectorize_graphs,
)
from graphmetric.edit_distance._kernels.packing import (
    EditCostTables,
    Integers,
    PackedGraphs,
    pack_graphs,
    tabulate_costs,
)
from graphmetric.edit_distance.scaling import EncodedProblem
from graphmetric.edit_distance.stopping import Watch
from graphmetric_research.baselines.published import Hungarian, PublishedBeam, PublishedHausdorff, VolgenantJonker

LARGEST, MOST_EDGES, N_PAIRS, RUNS = 10, 14, 2_000, 15
Measure = Callable[[str, Callable[[], object], Callable[[], np.ndarray]], None]


def load(folder: Path) -> tuple[PackedGraphs, EditCostTables]:
    plain = json.loads((folder / "AIDS700nef.json").read_text())["graphs"]
    alphabet = sorted({label for graph in plain for label in graph["nodes"]})
    codes = np.array([alphabet.index(label) for graph in plain for label in graph["nodes"]])
    node_start = np.cumsum([0, *(len(graph["nodes"]) for graph in plain)])
    edge_start = np.cumsum([0, *(len(graph["edges"]) for graph in plain)])
    ends = np.array([edge for graph in plain for edge in sorted(sorted(edge) for edge in graph["edges"])])
    graphs = pack_graphs(node_start, codes, edge_start, ends, np.ones(len(ends), dtype=np.int64), np.arange(2))
    ones = np.ones(len(alphabet), dtype=np.int64)
    unequal = 1 - np.eye(len(alphabet), dtype=np.int64)
    return graphs, tabulate_costs(unequal, ones, ones, np.array([[0, 1], [1, 0]]))


def integers(*shape: int) -> Integers:
    return np.zeros(shape, dtype=np.int64)


def least_seconds(call: Callable[[], object]) -> float:
    call()
    seconds = []
    for _ in range(RUNS):
        start = time.process_time()
        call()
        seconds.append(time.process_time() - start)
    return min(seconds)


def methods() -> dict[str, EditDistanceMethod]:
    found: dict[str, EditDistanceMethod] = {"branch, lower": BranchBound()}
    found |= {f"assignment + swaps, effort {effort}": LocalSearch(effort) for effort in (0, 3, 10, 30, 100)}
    found |= {f"beam {width}": BeamSearch(width) for width in (1, 10, 100)}
    found |= {"Hungarian": Hungarian(), "VJ": VolgenantJonker()}
    found |= {"Hausdorff, lower": Hausdorff(), "Hausdorff, published": PublishedHausdorff()}
    return found | {f"published beam {width}": PublishedBeam(width) for width in (1, 2, 10, 80)}


def measure_vectors(graphs: PackedGraphs, tables: EditCostTables, distances: np.ndarray) -> None:
    layout = lay_out_vectors(len(tables.node_delete), 2, LARGEST)
    vectors, cheapest = vectorize_graphs(graphs, tables.edge_reverse, layout), find_cheapest(tables)
    doubled = integers(len(vectors), len(vectors))

    def bound_all() -> None:
        for row, vector in enumerate(vectors):
            bound_against_all(vector, vectors, layout, cheapest, doubled[row])

    seconds, known = least_seconds(bound_all), distances > 0
    error = np.mean(np.abs(doubled[known] / 2 - distances[known]) / distances[known])
    print(f"{'vectors, lower':32}{seconds / doubled.size * 1e6:10.3f}{error:10.4f}")


def main(folder: Path) -> None:
    graphs, tables = load(folder)
    with np.load(folder / "AIDS700nef.ged.npz") as stored:
        distances = stored["ged"].astype(np.int64)
    pairs = np.random.default_rng(0).integers(0, len(distances), (N_PAIRS, 2))
    exact = distances[pairs[:, 0], pairs[:, 1]]

    problem, watch = EncodedProblem(graphs, graphs, tables, 1.0), Watch()
    print(f"{'method':32}{'us/pair':>10}{'error':>10}{'exact':>10}")
    measure_vectors(graphs, tables, distances)
    for name, method in methods().items():
        seconds = least_seconds(lambda method=method: method.bounds_watched(problem, pairs, watch))
        value, known = method.bounds_watched(problem, pairs, watch).value, exact > 0
        error = np.mean(np.abs(value[known] - exact[known]) / exact[known])
        print(f"{name:32}{seconds / len(pairs) * 1e6:10.3f}{error:10.4f}{np.mean(value == exact):10.3f}")
    work, sizes = allocate_common(LARGEST), integers(len(pairs))
    results = CommonResults(sizes, integers(len(pairs)), integers(len(pairs), LARGEST))
    limits = CommonLimits(1, 1 << 40)
    seconds = least_seconds(
        lambda: find_common_subgraphs(graphs, graphs, tables.edge_reverse, pairs, limits, work, results)
    )
    print(f"{'connected common subgraph':32}{seconds / len(pairs) * 1e6:10.3f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
