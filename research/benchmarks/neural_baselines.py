"""Train baselines on a public benchmark and rank the training and validation graphs for every test graph (protocol A).

    python research/benchmarks/neural_baselines.py AIDS700nef simgnn greed [--data ../shared/data] [--seeds 0 1 2]
        [--test]

Distances among training graphs train, those between validation and training graphs choose the weights. Without
``--test`` only validation graphs are queries, against the training graphs, and the test graphs are not looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import replace
from typing import Any

import numpy as np

import graphmetric as gm
from graphmetric.evaluation import mean_squared_error, score_rankings
from graphmetric_research.baselines import BASELINES, Baseline, TrainingTask, build_baseline
from graphmetric_research.protocols import make_protocol


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("dataset", choices=["AIDS700nef", "LINUX", "IMDBMulti"])
    parser.add_argument("baselines", nargs="+", choices=BASELINES)
    parser.add_argument("--data", default=os.environ.get("GRAPHMETRIC_DATA", "../shared/data"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--test", action="store_true")
    parser.add_argument("--network", type=json.loads, default={}, help="changes of the options of the network, as JSON")
    parser.add_argument("--training", type=json.loads, default={}, help="changes of the options of its training")
    parser.add_argument("--history", action="store_true", help="show how training and validation loss went")
    options = parser.parse_args()
    data = gm.load_dataset(options.dataset, root=options.data)
    for name in options.baselines:
        for seed in options.seeds:
            measure(name, data, seed, options)


def measure(name: str, data: Any, seed: int, options: argparse.Namespace) -> None:
    """Train one baseline with one seed and print its scores."""
    baseline = build_baseline(name)
    if hasattr(baseline, "training"):
        changes = {key: tuple(value) if isinstance(value, list) else value for key, value in options.network.items()}
        baseline.network = replace(baseline.network, **changes)
        baseline.training = replace(baseline.training, **options.training)
    started = time.process_time()
    protocol = make_protocol("A", *data.split)
    baseline.fit(TrainingTask.of_protocol(protocol, data.graphs, data.distances, seed, options.threads))
    trained = time.process_time() - started
    show(baseline, data, data.val, data.train, f"{name} seed {seed}, validation x training")
    if options.test:
        known = np.concatenate([data.train, data.val])
        show(baseline, data, data.test, known, f"{name} seed {seed}, test x training + validation")
    print(f"  fit {trained:.0f} s CPU", flush=True)
    if (result := getattr(baseline, "result_", None)) is not None:
        print(f"  best step {result.best_step} of {result.steps}, validation loss {result.validation_loss:.5g}")
        if options.history:
            for record in result.history:
                print(f"    {record['step']:6d}  {record['loss']:.5f}  {record['validation']:.5f}")


def show(baseline: Baseline, data: Any, queries: np.ndarray, known: np.ndarray, what: str) -> None:
    """Rank the known graphs for every query, on the paper's scale."""
    started = time.process_time()
    sides = data.graphs[queries], data.graphs[known]
    predicted = baseline.predict(*sides)
    seconds = time.process_time() - started
    if baseline.scale == "raw":
        predicted = gm.normalized_distance(predicted, *sides)
    raw = data.distances[np.ix_(queries, known)]
    true = gm.normalized_distance(raw, *sides)
    scores, error = score_rankings(predicted, true), mean_squared_error(predicted, true)
    print(
        f"{what}: rho {scores.rho:.3f}  tau {scores.tau:.3f}  p@10 {scores.precision[10]:.3f}  "
        f"p@20 {scores.precision[20]:.3f}  MSE {1e3 * error:.3f}e-3  ({seconds:.1f} s CPU)",
        flush=True,
    )


if __name__ == "__main__":
    main()
