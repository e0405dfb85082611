"""The relaxed edit distance: how near it is to the edit distance, what it costs, and whether it is a metric.

    python research/benchmarks/relaxed.py [--data ../shared/data] [--pairs 300] [--molecules 120]
        [--only tolerance,small,large]

1. *tolerance*: scores of 40 training graphs of AIDS700nef against the other ones, for several tolerances. The default
   tolerance was chosen by these.
2. *small*: AIDS700nef and LINUX. Scores of the test graphs against training and validation graphs (protocol A), beside
   the branch bound and a beam search; and all triangle inequalities among all graphs.
3. *large*: molecules of AIDS42k with 24 to 27 atoms, bond types counted. Random pairs, and near ones (the smallest
   branch bound among 400), against distances that the exact search proves in ``--seconds``; and all triangle
   inequalities among some molecules.

Unit costs, one process; times are CPU time of one thread for each pair that was computed: copies of a graph are
computed once.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

import graphmetric as gm
from graphmetric.edit_distance import EditDistanceMethod, PairwiseDistances
from graphmetric.evaluation.scores import Raw, score_distances
from graphmetric_research.protocols import make_protocol

TOLERANCES = (0.3, 0.1, 0.05, 0.02, 0.01, 0.001)
SIZES = (24, 27)
NEAR_AMONG = 400
Floats = NDArray[np.float64]


def score_matrix(value: Floats, true: Floats, rows: gm.GraphCollection, columns: gm.GraphCollection) -> str:
    """Scores by protocol A, and the share of pairs for which the answer is the distance."""
    predicted, expected = (gm.normalized_distance(d, rows.sizes, columns.sizes) for d in (value, true))
    scores = score_distances(predicted, expected, raw=Raw(value, true)).to_dict()
    shown = f"rho {scores['rho']:.4f}  tau {scores['tau']:.4f}  p@10 {scores['p@10']:.4f}  p@20 {scores['p@20']:.4f}"
    return f"{shown}  MSE e-3 {1e3 * scores['mse']:.3f}  MAE {scores['mae']:.3f}  exact {np.mean(value == true):.1%}"


def describe_cost(found: PairwiseDistances) -> str:
    """CPU time of a pair, and what did not converge."""
    cost = f"{1e3 * found.cpu_seconds / found.computed:.3f} ms"
    return cost if found.converged is None else f"{cost}  not converged {np.mean(~found.converged):.2%}"


def report_triangles(name: str, graphs: gm.GraphCollection, tolerance: float) -> None:
    """All triangle inequalities of a matrix of relaxed distances."""
    found = gm.pairwise_edit_distances(graphs, method=gm.RelaxedDistance(tolerance))
    value = found.value
    exactly = gm.triangle_violations(value)
    beyond = gm.triangle_violations(value, tolerance=tolerance / value.max())
    print(
        f"{name}: {len(graphs)} graphs, {exactly.tested:,} triangle inequalities: {exactly.count:,} broken at all, the "
        f"deepest by {exactly.max_depth:.4f}; {beyond.count} by more than the tolerance of {tolerance:g}; "
        f"{describe_cost(found)}",
        flush=True,
    )


def report_tolerances(data: str) -> None:
    dataset = gm.load_dataset("AIDS700nef", root=data)
    queries, database = dataset.train[:40], dataset.train[40:]
    rows, columns = dataset.graphs[queries], dataset.graphs[database]
    true = dataset.distances[np.ix_(queries, database)]
    print(f"training graphs of AIDS700nef, {len(queries)} x {len(database)}")
    gm.relaxed_edit_distance(rows[0], columns[0])  # compiles
    for tolerance in TOLERANCES:
        found = gm.pairwise_edit_distances(rows, columns, method=gm.RelaxedDistance(tolerance))
        print(f"  {tolerance:g}: {score_matrix(found.value, true, rows, columns)}  {describe_cost(found)}", flush=True)


def report_small(name: str, data: str) -> None:
    dataset = gm.load_dataset(name, root=data)
    protocol = make_protocol("A", dataset.train, dataset.val, dataset.test)
    rows, columns = dataset.graphs[protocol.queries], dataset.graphs[protocol.database]
    true = protocol.test_distances(dataset.distances)
    print(f"{name}, protocol A, {len(rows)} x {len(columns)}")
    methods: Sequence[EditDistanceMethod] = (gm.RelaxedDistance(), gm.BranchBound(), gm.BeamSearch(10))
    for method in methods:
        gm.graph_edit_distance(rows[0], columns[0], method=method)  # compiles
        found = gm.pairwise_edit_distances(rows, columns, method=method)
        print(f"  {method.name}: {score_matrix(found.value, true, rows, columns)}  {describe_cost(found)}", flush=True)
        if found.converged is not None:
            print(f"  {method.name}, rounded up: {score_matrix(np.ceil(found.value), true, rows, columns)}", flush=True)
    report_triangles(f"  {name}", dataset.graphs, gm.RelaxedDistance().tolerance)


def choose_pairs(graphs: gm.GraphCollection, count: int) -> dict[str, NDArray[np.int64]]:
    """Random pairs, and for random queries the graph with the smallest branch bound among some."""
    rng = np.random.default_rng(7)
    near = []
    for query in rng.choice(len(graphs), count):
        others = rng.choice(len(graphs), NEAR_AMONG, replace=False)
        others = others[others != query]
        pairs = np.column_stack([np.full(len(others), query), others])
        near.append((query, others[np.argmin(gm.pairwise_edit_distances(graphs, pairs=pairs, method="branch").lower)]))
    return {"random": rng.integers(0, len(graphs), (count, 2)), "near": np.array(near, dtype=np.int64)}


def report_large(data: str, n_pairs: int, n_molecules: int, seconds: float) -> None:
    molecules = gm.load_dataset("AIDS42k", root=data).graphs
    graphs = molecules[np.flatnonzero((molecules.sizes >= SIZES[0]) & (molecules.sizes <= SIZES[1]))]
    for kind, pairs in choose_pairs(graphs, n_pairs).items():
        truth = gm.pairwise_edit_distances(graphs, pairs=pairs, method=gm.ExactSearch(time_limit=seconds))
        proven = truth.exact
        true, pairs = truth.upper[proven], pairs[proven]
        print(f"{SIZES[0]} to {SIZES[1]} atoms, {kind}: {proven.sum()} of {n_pairs} proven, mean {true.mean():.2f}")
        for method in (gm.RelaxedDistance(), gm.RelaxedDistance(0.01), gm.BranchBound(), gm.BeamSearch(10)):
            found = gm.pairwise_edit_distances(graphs, pairs=pairs, method=method)
            value = found.value
            rounded = np.mean(np.ceil(value) == true)
            print(
                f"  {method!r}: mean {value.mean():.2f}, MAE {np.abs(value - true).mean():.3f}, rho "
                f"{spearmanr(value, true).statistic:.4f}, exact {np.mean(value == true):.1%}, rounded up "
                f"{rounded:.1%}, above the distance {np.sum(value > true)}, {describe_cost(found)}",
                flush=True,
            )
    chosen = np.random.default_rng(3).choice(len(graphs), n_molecules, replace=False)
    report_triangles(f"{SIZES[0]} to {SIZES[1]} atoms", graphs[chosen], gm.RelaxedDistance().tolerance)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("GRAPHMETRIC_DATA", "../shared/data"))
    parser.add_argument("--pairs", type=int, default=300, help="pairs of larger molecules of each kind")
    parser.add_argument("--molecules", type=int, default=120, help="larger molecules for the triangles")
    parser.add_argument("--seconds", type=float, default=2.0, help="to prove one distance of larger molecules")
    parser.add_argument("--only", default="tolerance,small,large")
    options = parser.parse_args()
    parts = options.only.split(",")
    if "tolerance" in parts:
        report_tolerances(options.data)
    if "small" in parts:
        for name in ("AIDS700nef", "LINUX"):
            report_small(name, options.data)
    if "large" in parts:
        report_large(options.data, options.pairs, options.molecules, options.seconds)


if __name__ == "__main__":
    main()
