"""Certified intervals: how wide they are after how much CPU time, and whether they ever are wrong.

    python benchmarks/intervals.py [--data ../shared/data] [--pairs 500] [--only width,check] [--earlier FOLDER]

1. *width*: molecules of AIDS42k with 24 to 27 atoms, bond types counted, unit costs. Pairs of a quarter of the
   isomorphism classes are bounded by quick intervals, by plain primal-dual steps and by beam searches. Random pairs,
   and near ones (the smallest branch bound among 200). All methods take turns, and the least time of each counts.
   ``--earlier`` is a folder with the sources of another commit, whose plain steps are measured before and after by a
   process of their own.
2. *check*: intervals against distances that are known: all of ``--known`` random pairs of AIDS700nef whose distance is
   in its matrix, and pairs of larger molecules that the exact search proves in ``--seconds``.

Times are CPU time of one thread.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

import numpy as np
from numpy.typing import NDArray

import graphmetric as gm
from graphmetric._foundation.threads import thread_limit
from graphmetric.edit_distance import EditDistanceMethod, QuickInterval
from graphmetric.edit_distance.encoding import EncodedProblem, encode
from graphmetric.graphs.collection import GraphCollection, certificates

SIZES = (24, 27)
NEAR_AMONG = 200
ROUNDS = 3
COSTS = gm.EditCosts()
Pairs = NDArray[np.int64]


def choose_classes(graphs: GraphCollection) -> GraphCollection:
    """One graph of each of a quarter of the isomorphism classes."""
    _, first = np.unique(certificates(graphs), return_index=True)
    chosen = np.random.default_rng(0).permutation(len(first)) < len(first) // 4
    return graphs[np.sort(first[chosen])]


def choose_pairs(problem: EncodedProblem, n_graphs: int, count: int) -> dict[str, Pairs]:
    """Random pairs, and for random queries the graph with the smallest branch bound among some."""
    rng = np.random.default_rng(1)
    near = []
    for query in rng.choice(n_graphs, count):
        others = rng.choice(np.delete(np.arange(n_graphs), query), NEAR_AMONG, replace=False)
        among = np.column_stack([np.full(NEAR_AMONG, query), others])
        near.append((query, others[np.argmin(gm.BranchBound().solve(problem, among).lower)]))
    return {"random": rng.integers(0, n_graphs, (count, 2)), "near": np.array(near, dtype=np.int64)}


def measure(methods: dict[str, EditDistanceMethod], problem: EncodedProblem, pairs: Pairs, rounds: int) -> None:
    """Let all methods take turns; print the least CPU time of each, its bounds and the width of its intervals."""
    least = dict.fromkeys(methods, np.inf)
    found = {name: method.solve(problem, pairs[:2]) for name, method in methods.items()}  # compiles
    for _ in range(rounds):
        for name, method in methods.items():
            started = time.process_time()
            found[name] = method.solve(problem, pairs)
            least[name] = min(least[name], 1e3 * (time.process_time() - started) / len(pairs))
    for name, bounds in found.items():
        width = bounds.upper - bounds.lower
        print(
            f"  {name:32s} {least[name]:6.2f} ms  lower {bounds.lower.mean():6.2f}  upper {bounds.upper.mean():6.2f}  "
            f"width {width.mean():6.2f}  proven {np.mean(width == 0):4.0%}",
            flush=True,
        )


def plain_methods() -> dict[str, EditDistanceMethod]:
    return {f"plain steps, {steps}": gm.DualBound(steps) for steps in (25, 50, 75, 100, 125, 150, 200, 250)}


def measure_earlier(options: argparse.Namespace) -> None:
    """Measure plain steps of the commit in ``--earlier``, in a process that finds its sources first."""
    if options.earlier:
        environment = os.environ | {"PYTHONPATH": os.path.join(options.earlier, "src")}
        command = [sys.executable, __file__, "--only", "plain", "--data", options.data, "--pairs", str(options.pairs)]
        print(f"in {options.earlier}:", flush=True)
        subprocess.run(command, env=environment, check=True)


def report_widths(graphs: GraphCollection, options: argparse.Namespace) -> None:
    problem = encode(graphs, graphs, COSTS)
    for kind, pairs in choose_pairs(problem, len(graphs), options.pairs).items():
        print(f"{SIZES[0]} to {SIZES[1]} atoms, {kind}, {len(pairs)} pairs")
        methods: dict[str, EditDistanceMethod] = {f"beam, width {w}": gm.BeamSearch(w) for w in (10, 100)}
        methods |= plain_methods()
        for steps, shifts in ((30, 2), (60, 4), (110, 3), (120, 5), (130, 4), (140, 5), (180, 5)):
            methods[f"interval, {steps} steps, {shifts} shifts"] = QuickInterval(steps, shifts)
        measure(methods, problem, pairs, ROUNDS)


def check(name: str, graphs: GraphCollection, pairs: Pairs, true: NDArray[np.float64]) -> None:
    """Count the pairs whose interval does not hold their distance."""
    found = gm.pairwise_edit_distances(graphs, pairs=pairs, costs=COSTS, method=QuickInterval(30, 1), n_jobs=1)
    wrong = np.sum((found.lower > true) | (found.upper < true))
    met = np.mean(found.lower == found.upper)
    print(f"  {name}: {len(pairs)} pairs, {wrong} wrong; proven by the interval {met:.1%}", flush=True)


def report_checks(data: str, larger: GraphCollection, options: argparse.Namespace) -> None:
    dataset = gm.load_dataset("AIDS700nef", root=data)
    rng = np.random.default_rng(2)
    pairs = rng.integers(0, len(dataset.graphs), (options.known, 2))
    true = dataset.distances[pairs[:, 0], pairs[:, 1]]
    pairs, true = pairs[np.isfinite(true)], true[np.isfinite(true)]
    some = rng.integers(0, len(larger), (options.proven, 2))
    proof = gm.pairwise_edit_distances(larger, pairs=some, method=gm.ExactSearch(time_limit=options.seconds))
    sets = {
        "AIDS700nef": (dataset.graphs, pairs, true),
        f"{SIZES[0]} to {SIZES[1]} atoms": (larger, some[proof.exact], proof.upper[proof.exact]),
    }
    for name, (graphs, known, distances) in sets.items():
        check(name, graphs, known, distances)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("GRAPHMETRIC_DATA", "../shared/data"))
    parser.add_argument("--pairs", type=int, default=500, help="pairs of each kind whose width is measured")
    parser.add_argument("--known", type=int, default=20_000, help="pairs of AIDS700nef to check")
    parser.add_argument("--proven", type=int, default=1_000, help="pairs of larger molecules to prove and check")
    parser.add_argument("--seconds", type=float, default=0.5, help="to prove one of these")
    parser.add_argument("--earlier", help="a folder with the sources of another commit, to measure its plain steps too")
    parser.add_argument("--only", default="width,check")
    options = parser.parse_args()
    molecules = gm.load_dataset("AIDS42k", root=options.data).graphs
    chosen = molecules[np.flatnonzero((molecules.sizes >= SIZES[0]) & (molecules.sizes <= SIZES[1]))]
    with thread_limit(1):
        test = choose_classes(chosen)
        if "plain" in options.only.split(","):
            problem = encode(test, test, COSTS)
            for kind, pairs in choose_pairs(problem, len(test), options.pairs).items():
                print(f"{kind}, {len(pairs)} pairs")
                measure(plain_methods(), problem, pairs, ROUNDS)
        if "width" in options.only.split(","):
            measure_earlier(options)
            report_widths(test, options)
            measure_earlier(options)
        if "check" in options.only.split(","):
            report_checks(options.data, test, options)


if __name__ == "__main__":
    main()
