"""The dual bound and the search on it, beside the branch bound, the older search and the other upper bounds.

    python benchmarks/dual_bound.py [--data ../shared/data] [--pairs 100] [--seconds 1.0] [--programmes 12]

Pairs of molecules of AIDS42k with 24 to 27 and with 34 to 38 atoms, bond types counted, unit costs: random pairs, and
near ones (the smallest branch bound among 400). One process, CPU time of one thread.

1. The way from the branch bound to the linear programme (HiGHS) that the bound has gone after some steps.
2. The share of pairs proven within 20 ms, 100 ms and ``--seconds``, the bounds left, and the same for the older search.
3. Mean upper bounds: after 5 and 20 ms of this search, and of the other methods.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import graphmetric as gm
from graphmetric.edit_distance import BeamSearch, BranchBound, LocalSearch
from graphmetric.edit_distance._kernels.dual_search import (
    STEPS_PER_BOUND,
    DualWork,
    search_dual,
)
from graphmetric.edit_distance._kernels.exact_search import SearchLimits, search_pairs
from graphmetric.edit_distance._kernels.workspace import NO_LIMIT, Workspace, allocate_workspace
from graphmetric.edit_distance.dual import DualBound, dual_work
from graphmetric.edit_distance.encoding import EncodedProblem, encode
from graphmetric.edit_distance.method import room_for
from graphmetric.edit_distance.scaling import workspace_size

sys.path.append(str(Path(__file__).parents[1]))  # the linear programme is that of the tests
from tests.naive.edit_distance_by_enumeration import PlainCosts, PlainGraph
from tests.naive.relaxed_edit_distance_by_linear_programme import relaxed_edit_distance

Pairs = NDArray[np.int64]
SIZES = ((24, 27), (34, 38))
NEAR_AMONG = 400
STEPS = (50, 100, 200, 400, 800)


def choose_pairs(problem: EncodedProblem, n_graphs: int, n_pairs: int) -> dict[str, Pairs]:
    """Random pairs, and for random queries the graph with the smallest branch bound among some."""
    rng = np.random.default_rng(7)
    near = []
    for query in rng.choice(n_graphs, n_pairs):
        others = rng.choice(n_graphs, NEAR_AMONG, replace=False)
        others = others[others != query]
        lower = BranchBound().solve(problem, np.column_stack([np.full(len(others), query), others])).lower
        assert lower is not None
        near.append((query, others[np.argmin(lower)]))
    return {"random": rng.integers(0, n_graphs, (n_pairs, 2)), "near": np.array(near, dtype=np.int64)}


def plain_pair(first: gm.Graph, second: gm.Graph) -> tuple[PlainGraph, PlainGraph, PlainCosts]:
    """The pair as the linear programme reads it, at unit costs."""
    labels: dict[object, int] = {}
    bonds: dict[object, int] = {}

    def plain(graph: gm.Graph) -> PlainGraph:
        assert graph.node_labels is not None
        assert graph.edge_labels is not None
        nodes = [labels.setdefault(label, len(labels)) for label in graph.node_labels]
        edges = {
            (min(edge), max(edge)): bonds.setdefault(label, len(bonds))
            for edge, label in zip(map(tuple, np.asarray(graph.edges).tolist()), graph.edge_labels, strict=True)
        }
        return PlainGraph(nodes, edges, False)

    graphs = plain(first), plain(second)
    n, m = len(labels), len(bonds)
    unequal = [(1 - np.eye(k, dtype=int)).tolist() for k in (n, m)]
    return *graphs, PlainCosts(unequal[0], [1] * n, [1] * n, unequal[1], [1] * m, [1] * m)


def report_bound(graphs: gm.GraphCollection, problem: EncodedProblem, pairs: Pairs) -> None:
    """How far the bound has come after some steps, and at what price."""
    branch = DualBound(0).bound(problem, pairs)[0].lower
    DualBound(STEPS[0]).bound(problem, pairs[:1])
    limit = np.array([relaxed_edit_distance(*plain_pair(graphs[int(i)], graphs[int(j)])) for i, j in pairs])
    open_pairs = limit > branch + 1e-6
    print(f"  mean branch bound {branch.mean():.2f}, linear programme {limit.mean():.2f}; {len(pairs)} pairs")
    for steps in STEPS:
        started = time.process_time()
        found, relaxed = DualBound(steps).bound(problem, pairs)
        used = (time.process_time() - started) / len(pairs)
        way = (np.maximum(relaxed, branch) - branch) / (limit - branch).clip(1e-9)
        met = found.lower == found.upper  # and no more steps were taken: all of the way
        way = np.where(met, 1.0, way)[open_pairs]
        print(
            f"  {steps:4d} steps: {1e3 * used:6.2f} ms, {way.mean():6.1%} of the way, worst {way.min():.1%}, "
            f"{met.mean():.0%} proven"
        )


def dual_slices(problem: EncodedProblem, pair: Pairs, work: DualWork) -> Iterator[tuple[int, int]]:
    """Bounds of the search with the dual bound, slice by slice."""
    results = room_for(problem, pair)
    lower, upper, _, finished, _ = results
    allowed = 0
    while not finished[0]:
        limits = SearchLimits(np.full(1, NO_LIMIT), 0, allowed + 2, int(allowed > 0))
        search_dual(problem.packed, pair, limits, 0, work, results, np.zeros(1))
        allowed += 2
        yield int(lower[0]), int(upper[0])


def older_slices(problem: EncodedProblem, pair: Pairs, work: Workspace) -> Iterator[tuple[int, int]]:
    """Bounds of the older search after a beam search, as it treats graphs of this size."""
    ahead = BeamSearch(100).solve(problem, pair)
    best = int(ahead.upper[0])
    results = room_for(problem, pair)
    lower, upper, _, finished, _ = results
    allowed = 0
    while not finished[0]:
        limits = SearchLimits(np.full(1, best - 1), 0, allowed + 500, int(allowed > 0))
        search_pairs(problem.packed, pair, limits, work, results)
        allowed += 500
        found = min(best, int(upper[0]))
        yield min(found, max(int(lower[0]), int(ahead.lower[0]))), found


def bounds_in_time(slices: Iterator[tuple[int, int]], budgets: tuple[float, ...]) -> list[tuple[int, int]]:
    """The bounds when each budget of CPU time was used up, or when the search was over."""
    known: list[tuple[int, int]] = []
    bounds, started = (0, 1 << 40), time.process_time()
    for found in slices:
        used = time.process_time() - started
        while len(known) < len(budgets) and used > budgets[len(known)]:
            known.append(bounds if bounds[1] < 1 << 40 else found)
        bounds = found
        if len(known) == len(budgets):
            break
    return known + [bounds] * (len(budgets) - len(known))


def report_search(name: str, all_bounds: NDArray[np.float64], budgets: tuple[float, ...]) -> None:
    for k, budget in enumerate(budgets):
        lower, upper = all_bounds[:, k].T
        proven = lower == upper
        gap = (upper - lower)[~proven].mean() if (~proven).any() else 0.0
        print(
            f"  {name:6s} {1e3 * budget:5.0f} ms: {proven.mean():6.1%} proven, lower {lower.mean():6.2f}, "
            f"upper {upper.mean():6.2f}, gap of the rest {gap:.2f}"
        )


def report_set(title: str, problem: EncodedProblem, pairs: Pairs, seconds: float) -> None:
    budgets = (0.005, 0.02, 0.1, seconds)
    print(f"{title}: {len(pairs)} pairs")
    engines: dict[str, tuple[Any, Any]] = {
        "dual": (dual_slices, dual_work(problem, pairs)),
        "older": (older_slices, allocate_workspace(workspace_size(problem, pairs))),
    }
    found = {}
    for name, (slices, work) in engines.items():
        bounds_in_time(slices(problem, pairs[:1], work), (0.0,))  # compiles
        found[name] = np.array([bounds_in_time(slices(problem, p[None], work), budgets) for p in pairs], dtype=float)
        report_search(name, found[name], budgets)
    contradictions = (found["dual"][:, -1, 0] > found["older"][:, -1, 1]) | (
        found["older"][:, -1, 0] > found["dual"][:, -1, 1]
    )
    print(f"  contradictions between the two: {int(contradictions.sum())}")
    for method in (BeamSearch(10), BeamSearch(100), LocalSearch(10), LocalSearch(100), DualBound(STEPS_PER_BOUND * 4)):
        method.solve(problem, pairs[:1])
        started = time.process_time()
        upper = method.solve(problem, pairs).upper
        used = (time.process_time() - started) / len(pairs)
        assert upper is not None
        print(f"  upper bound of {method!r}: {upper.mean():.2f} in {1e3 * used:.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("GRAPHMETRIC_DATA", "../shared/data"))
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1.0, help="largest budget per pair")
    parser.add_argument("--programmes", type=int, default=12, help="linear programmes to solve per set")
    options = parser.parse_args()
    molecules = gm.load_dataset("AIDS42k", root=options.data).graphs
    for smallest, largest in SIZES:
        graphs = molecules[np.flatnonzero((molecules.sizes >= smallest) & (molecules.sizes <= largest))]
        problem = encode(graphs, graphs, gm.EditCosts())
        for kind, pairs in choose_pairs(problem, len(graphs), options.pairs).items():
            report_set(f"{smallest} to {largest} atoms, {kind}", problem, pairs, options.seconds)
            if options.programmes:
                report_bound(graphs, problem, pairs[: options.programmes])


if __name__ == "__main__":
    main()
