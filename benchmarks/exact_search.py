"""Microseconds of CPU per pair of the exact edit-distance search, on one core.

    python benchmarks/exact_search.py ../shared/data

Unit costs, edge labels ignored. Small graphs are searched to the end; molecules of 15 to 18 and of 25 nodes stop at a
number of seconds per pair. The mean is that of one call over all pairs, the best of several since other processes share
the machine. For median and 99th percentile every pair is searched many times in one call, so that what a call from
Python costs does not count.
"""

import argparse
import json
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance._kernels.exact_search import SearchLimits, search_pairs
from graphmetric.edit_distance._kernels.packing import (
    EditCostTables,
    PackedGraphs,
    PackedProblem,
    pack_graphs,
    tabulate_costs,
)
from graphmetric.edit_distance._kernels.workspace import NO_LIMIT, Results, Workspace, WorkspaceSize, allocate_workspace

Integers = NDArray[np.int64]
SLICE = 1000  # expansions between two looks at the clock
COPIES = 50  # of a pair that is timed by itself


class Problem(NamedTuple):
    graphs: PackedGraphs
    costs: EditCostTables
    distances: NDArray[np.int16] | None  # known exact ones, to check against


def make_problem(
    node_start: Integers,
    node_code: Integers,
    edge_start: Integers,
    edges: Integers,
    distances: NDArray[np.int16] | None,
) -> Problem:
    """Unit costs, one edge code."""
    n_labels = int(node_code.max()) + 1
    ones = np.ones(n_labels, dtype=np.int64)
    graphs = pack_graphs(node_start, node_code, edge_start, edges, np.ones(len(edges), dtype=np.int64), np.arange(2))
    costs = tabulate_costs(1 - np.eye(n_labels, dtype=np.int64), ones, ones, 1 - np.eye(2, dtype=np.int64))
    return Problem(graphs, costs, distances)


def read_json(folder: Path, name: str) -> Problem:
    records = json.loads((folder / f"{name}.json").read_text())["graphs"]
    labels = sorted({str(label) for record in records for label in record["nodes"]})
    number = {label: k for k, label in enumerate(labels)}
    node_start = np.cumsum([0, *(len(record["nodes"]) for record in records)])
    edge_start = np.cumsum([0, *(len(record["edges"]) for record in records)])
    node_code = np.array([number[str(label)] for record in records for label in record["nodes"]])
    edges = np.array([edge for record in records for edge in record["edges"]])
    return make_problem(node_start, node_code, edge_start, edges, np.load(folder / f"{name}.ged.npz")["ged"])


def read_molecules(folder: Path) -> Problem:
    arrays = dict(np.load(folder / "AIDS42k.npz"))
    edges = np.stack([arrays["edge_u"], arrays["edge_v"]], axis=1)
    return make_problem(arrays["node_ptr"], arrays["node_label"], arrays["edge_ptr"], edges, None)


def make_room(problem: Problem, pairs: Integers) -> tuple[Workspace, Results]:
    nodes, edges = (np.diff(start)[pairs].max() for start in (problem.graphs.node_start, problem.graphs.edge_start))
    work = allocate_workspace(WorkspaceSize(int(nodes), int(nodes), int(edges), 1, False))
    columns = (np.zeros(len(pairs), dtype=np.int64) for _ in range(4))
    return work, Results(*columns, np.zeros((len(pairs), int(nodes)), dtype=np.int64))


def search(
    problem: Problem, pairs: Integers, work: Workspace, results: Results, max_expanded: int, resume: int
) -> float:
    """CPU seconds of one call."""
    limits = SearchLimits(np.full(len(pairs), NO_LIMIT), 0, max_expanded, resume)
    started = time.process_time()
    search_pairs(PackedProblem(problem.graphs, problem.graphs, problem.costs), pairs, limits, work, results)
    return time.process_time() - started


def report_exact(name: str, problem: Problem, n_pairs: int, repeats: int) -> None:
    """Time pairs to the end and compare the distances with the known ones."""
    pairs = np.random.default_rng(0).integers(0, len(problem.graphs.node_start) - 1, (n_pairs, 2))
    work, results = make_room(problem, pairs)
    mean = min(search(problem, pairs, work, results, NO_LIMIT, 0) for _ in range(repeats)) / n_pairs
    assert problem.distances is not None
    wrong = int((results.upper != problem.distances[pairs[:, 0], pairs[:, 1]]).sum())
    single = np.empty(n_pairs)
    for p in range(n_pairs):
        copies = np.tile(pairs[p], (COPIES, 1))
        single[p] = search(problem, copies, work, results, NO_LIMIT, 0) / COPIES
    median, high = np.quantile(single, [0.5, 0.99])
    print(
        f"{name}: mean {mean * 1e6:.1f}, median {median * 1e6:.1f}, p99 {high * 1e6:.0f} us; "
        f"{n_pairs} pairs, {wrong} differ from the known distances"
    )


def search_until(problem: Problem, pair: Integers, work: Workspace, results: Results, seconds: float) -> float:
    """Search one pair in slices until it is finished or the CPU seconds are used up."""
    used, expanded = 0.0, 0
    while used < seconds:
        expanded += SLICE
        used += search(problem, pair, work, results, expanded, int(expanded > SLICE))
        if results.finished[0]:
            break
    return used


def report_capped(problem: Problem, sizes: tuple[int, int], n_pairs: int, seconds: float) -> None:
    """Share solved and bounds left for random pairs of molecules of so many nodes."""
    nodes = np.diff(problem.graphs.node_start)
    chosen = np.flatnonzero((nodes >= sizes[0]) & (nodes <= sizes[1]))
    pairs = np.random.default_rng(1).choice(chosen, (n_pairs, 2))
    work, _ = make_room(problem, pairs)
    used, lower, upper = np.zeros(n_pairs), np.zeros(n_pairs), np.zeros(n_pairs)
    for p in range(n_pairs):
        _, results = make_room(problem, pairs[p : p + 1])
        used[p] = search_until(problem, pairs[p : p + 1], work, results, seconds)
        lower[p], upper[p] = results.lower[0], results.upper[0]
    print(
        f"{sizes[0]}-{sizes[1]} nodes, {seconds:g} s: {int((lower == upper).sum())}/{n_pairs} solved, mean "
        f"{used.mean() * 1e3:.1f} ms, median {np.median(used) * 1e3:.1f} ms; "
        f"left: lower {lower.mean():.2f}, upper {upper.mean():.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "data", type=Path, help="folder with AIDS700nef.json, LINUX.json, AIDS42k.npz and their distances"
    )
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--molecules", type=int, default=200, help="pairs of 15-18 nodes; a third as many of 25 nodes")
    options = parser.parse_args()
    started = time.process_time()
    small = {name: read_json(options.data, name) for name in ("AIDS700nef", "LINUX")}
    pairs = np.array([[0, 1]])
    search(small["LINUX"], pairs, *make_room(small["LINUX"], pairs), 1, 0)
    print(f"reading and compiling or loading: {time.process_time() - started:.1f} s CPU")
    for name, problem in small.items():
        report_exact(name, problem, options.pairs, options.repeats)
    molecules = read_molecules(options.data)
    report_capped(molecules, (15, 18), options.molecules, 2.0)
    report_capped(molecules, (25, 25), options.molecules // 3, 1.0)


if __name__ == "__main__":
    main()
