"""How far the exact search gets on graphs of 25 nodes and more and on ego networks, by CPU time per pair.

For random pairs and for near pairs (smallest lower bound by label counts and degrees) of molecules and of ego networks:
the share of pairs proven exact after 10 ms, 100 ms and 1 s of CPU time, the mean gap between the bounds that are left,
and what the bounds at the root cost.

    python benchmarks/large_pairs.py [--data ../shared/data] [--pairs 1000] [--seconds 1.0]
"""

from __future__ import annotations

import argparse
import os
import time
from unittest import mock

import numpy as np
from numpy.typing import NDArray

import graphmetric as gm
from graphmetric.edit_distance import ExactSearch
from graphmetric.edit_distance.encoding import EncodedProblem, encode
from graphmetric.edit_distance.label_store import choose_pairs

BUDGETS = (0.01, 0.1, 1.0)


def anytime(problem: EncodedProblem, pair: NDArray[np.int64], budgets: list[float]) -> list[tuple[float, float]]:
    """Lower and upper bound of one pair with each budget of CPU time as the time limit; what is proven stays so."""
    known = list[tuple[float, float]]()
    with mock.patch("time.monotonic", time.process_time):
        for budget in budgets:
            if known and known[-1][0] == known[-1][1]:
                known.append(known[-1])
                continue
            found = ExactSearch(time_limit=budget).bounds(problem, pair)
            known.append((float(found.lower[0]), float(found.upper[0])))
    return known


def report(name: str, graphs: gm.GraphCollection, pairs: NDArray[np.int64], budgets: list[float]) -> None:
    problem = encode(graphs, graphs, gm.EditCosts())
    anytime(problem, pairs[:1], budgets[:1])  # compiles
    started = time.process_time()
    for pair in pairs[:200]:
        anytime(problem, pair[None, :], [0.0])
    root = (time.process_time() - started) / min(200, len(pairs))
    bounds = np.array([anytime(problem, pair[None, :], budgets) for pair in pairs], dtype=float)
    print(f"{name}: {len(pairs)} pairs, mean nodes {graphs.sizes[pairs].mean():.1f}, root bounds {1e3 * root:.2f} ms")
    for k, budget in enumerate(budgets):
        lower, upper = bounds[:, k].T
        proven = lower == upper
        open_gap = ((upper - lower) / upper.clip(1))[~proven].mean() if (~proven).any() else 0.0
        print(
            f"  {1e3 * budget:6.0f} ms: {proven.mean():6.1%} proven, mean lower {lower.mean():.2f}, "
            f"mean upper {upper.mean():.2f}, relative gap of the open ones {open_gap:.1%}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("GRAPHMETRIC_DATA", "../shared/data"))
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=1.0, help="largest budget per pair")
    options = parser.parse_args()
    budgets = [budget for budget in BUDGETS if budget <= options.seconds]
    rng = np.random.default_rng(0)
    molecules = gm.load_dataset("AIDS42k", root=options.data, edge_labels=False).graphs
    molecules = molecules[rng.permutation(np.flatnonzero(molecules.sizes >= 25))[:4000]]
    networks = gm.load_dataset("IMDBMulti", root=options.data).leak_free().graphs
    for name, graphs in (("AIDS42k, 25 nodes and more", molecules), ("IMDBMulti, one graph per class", networks)):
        for choice in ("random", "near"):
            report(f"{name}, {choice}", graphs, choose_pairs(graphs, f"{choice}:{options.pairs}"), budgets)


if __name__ == "__main__":
    main()
