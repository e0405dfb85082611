"""A metric that labelled its own molecules of 15 to 40 atoms, against bounds and floors, where the truth can be proven.

    python research/benchmarks/larger_molecules.py [--data ../shared/data] [--work FOLDER] [--out FILE.json]
        [--presets small]

2,000 connected molecules of AIDS42k, no two isomorphic, are split 60/20/20 by seed; bond types count. The metric
is fitted to labels of its own making, exact ones and bounds. Some of the test molecules are then compared with training
molecules at random, with those that have the smallest lower bound from label counts and degrees, and with mutations of
themselves. Exact search with a limit in search-tree nodes, the same on every machine, proves some of these distances.

**Proven pairs are the easy ones**: near, small, or with a lower bound that happens to be tight, which flatters the
methods that are such bounds themselves. Of random pairs that stay open only this is said: how often a prediction lies
within the bounds that are left, and by how many edits it misses them.

Times are of CPU on one thread. Everything that takes minutes is kept in ``--work``, and a stopped run goes on there.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

import graphmetric as gm
from graphmetric import estimator
from graphmetric.datasets.dataset import split_indices
from graphmetric.distance import Comparison, pair_distances
from graphmetric.edit_distance import ExactSearch
from graphmetric.edit_distance.collection_bounds import CollectionBounds
from graphmetric.evaluation.scores import spearman_rho
from graphmetric.graphs.summary import component_counts
from graphmetric.learned.learned_distance import LearnedDistance
from graphmetric.training.supervision import SMALLEST_GROUP, Mutator, find_distinct, make_supervision
from graphmetric_research.baselines import build_baseline

SMALLEST, LARGEST = 15, 40
MOST_EDITS = 12
"""The most edits of a mutation of a test graph; mutations that a fit trains on have up to five."""
FEWEST_RANKED = 5
"""Proven pairs that a query must have for a ranking of its own."""
ENGINE = {
    "Hungarian": "hungarian",
    "VJ": "vj",
    "Beam 10, as published": "published-beam:10",
    "Beam 10": "beam:10",
    "branch, lower bound": "branch",
}
FLOORS = ("labels-and-degrees", "label-counts", "degree-sequences", "size-difference")

Floats = NDArray[np.float64]
Pairs = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class TestPairs:
    """Pairs (query, graph of the database) of several groups, and what is proven of them."""

    queries: gm.GraphCollection
    database: gm.GraphCollection
    """Training graphs, then mutations of the queries."""
    pairs: Pairs
    group: NDArray[np.str_]
    lower: Floats
    upper: Floats

    @property
    def proven(self) -> NDArray[np.bool_]:
        return np.asarray(self.lower == self.upper)


@dataclass(frozen=True, slots=True, eq=False)
class Predictions:
    """What one method says of all test pairs."""

    method: str
    values: Floats
    seconds_per_pair: float
    seconds_per_graph: float = 0.0
    """For what is done once per graph."""


def draw_molecules(root: str, count: int, rng: np.random.Generator) -> gm.GraphCollection:
    graphs: gm.GraphCollection = gm.load_dataset("AIDS42k", root=root).graphs
    fitting = np.flatnonzero((graphs.sizes >= SMALLEST) & (graphs.sizes <= LARGEST))
    graphs = graphs[rng.permutation(fitting)[: 2 * count]]
    graphs = graphs[component_counts(graphs.columns) == 1]
    return graphs[find_distinct(graphs)[:count]]


def draw_pairs(
    queries: gm.GraphCollection, training: gm.GraphCollection, each: int, rng: np.random.Generator
) -> tuple[gm.GraphCollection, dict[str, Pairs]]:
    """The database and, by group, ``each`` pairs of every query."""
    mutator = Mutator(training, MOST_EDITS)
    made = (mutator.mutate(query, rng) for query in queries for _ in range(each))
    mutations = [mutation.graph for mutation in made if mutation is not None]
    assert len(mutations) == each * len(queries), "a molecule allows of every number of edits"
    bounds = CollectionBounds.of(training + queries)
    count = len(training)
    near = [np.argsort(bounds.to_all(count + k)[:count], kind="stable")[:each] for k in range(len(queries))]
    chosen = {
        "random": [rng.choice(count, each, replace=False) for _ in range(len(queries))],
        "near": near,
        "mutations": np.split(count + np.arange(len(mutations)), len(queries)),
    }
    rows = np.repeat(np.arange(len(queries)), each)
    pairs = {group: np.column_stack([rows, np.concatenate(columns)]) for group, columns in chosen.items()}
    return training + gm.GraphCollection(mutations), pairs


def prove_pairs(
    queries: gm.GraphCollection, database: gm.GraphCollection, groups: dict[str, Pairs], nodes: int, store: Path
) -> TestPairs:
    """Distances or bounds of all groups, each kept in a folder of its own."""
    found = {}
    for group, pairs in groups.items():
        clock = time.process_time()
        found[group] = gm.pairwise_edit_distances(
            queries, database, pairs=pairs, method=ExactSearch(node_limit=nodes), store=store / group
        )
        print(f"{group}: {len(pairs)} pairs in {time.process_time() - clock:.0f} s of CPU time", flush=True)
    return TestPairs(
        queries,
        database,
        np.concatenate(list(groups.values())),
        np.repeat(list(groups), [len(pairs) for pairs in groups.values()]),
        np.concatenate([result.lower for result in found.values()]),
        np.concatenate([result.upper for result in found.values()]),
    )


def fit_metric(
    graphs: gm.GraphCollection, val: NDArray[np.int64], preset: str, options: argparse.Namespace
) -> gm.GraphDistance:
    """The fitted metric, or that of an earlier run; all presets learn from the same labels."""
    labels = options.work / f"labels-{options.labels}-{options.clique}"
    folder = options.work / f"{preset}-{options.labels}-{options.clique}-{options.steps}"
    if (folder / "model").exists():
        return gm.GraphDistance.load(folder / "model")
    folder.mkdir(parents=True, exist_ok=True)
    labels.mkdir(exist_ok=True)
    if not (folder / "labels").exists():
        (folder / "labels").symlink_to(labels.resolve(), target_is_directory=True)
    model = gm.GraphDistance(
        preset, label_budget=options.labels, max_steps=options.steps, n_jobs=1, checkpoint=folder,
        random_state=options.seed,
    )  # fmt: skip
    clock = time.process_time()
    make_labels = partial(make_supervision, smallest_clique=options.clique)
    with mock.patch.object(estimator, "make_supervision", make_labels):
        model.fit(graphs, val=val).save(folder / "model")
    print(f"{preset}: fitted in {time.process_time() - clock:.0f} s of CPU time, labels included if new", flush=True)
    return model


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What the work gives and its CPU time, the second time: by then everything is compiled."""
    work()
    clock = time.process_time()
    return work(), time.process_time() - clock


def predict_learned(name: str, model: gm.GraphDistance, test: TestPairs) -> Predictions:
    learned = LearnedDistance(model.model_, model.featurizer_, strict=False, threads=1)
    encoded, encoding = timed(lambda: [learned.encode(side) for side in (test.queries, test.database)])
    with learned.limited_threads():
        comparison = Comparison.prepare(model.model_.head, *encoded)
        values, comparing = timed(lambda: pair_distances(comparison, test.pairs))
    graphs = len(test.queries) + len(test.database)
    return Predictions(name, values.astype(np.float64), comparing / len(test.pairs), encoding / graphs)


def predict_engine(name: str, method: str, test: TestPairs) -> Predictions:
    found, seconds = timed(
        lambda: gm.pairwise_edit_distances(test.queries, test.database, pairs=test.pairs, method=method)
    )
    return Predictions(name, found.value, seconds / len(test.pairs))


def predict_floor(name: str, test: TestPairs) -> Predictions:
    """Floors are computed for the whole table of queries and database, which is what they are quick at."""
    floor = build_baseline(name)
    table, seconds = timed(lambda: floor.predict(test.queries, test.database))
    return Predictions(f"floor: {name}", table[tuple(test.pairs.T)], seconds / table.size)


def predict_all(models: dict[str, gm.GraphDistance], test: TestPairs) -> list[Predictions]:
    learned = [predict_learned(f"learned, {name}", model, test) for name, model in models.items()]
    engine = {name: predict_engine(name, method, test) for name, method in ENGINE.items()}
    lower, upper = engine["branch, lower bound"], engine["Beam 10"]
    middle = Predictions(
        "middle of branch and Beam 10",
        (lower.values + upper.values) / 2,
        lower.seconds_per_pair + upper.seconds_per_pair,
    )
    return [*learned, *engine.values(), middle, *(predict_floor(name, test) for name in FLOORS)]


def score(predictions: Predictions, test: TestPairs) -> dict[str, Any]:
    rho, error, excess = {}, {}, {}
    for group in (*dict.fromkeys(test.group.tolist()), "all"):
        chosen = test.proven & ((test.group == group) | (group == "all"))
        predicted, true = predictions.values[chosen], test.lower[chosen]
        rho[group] = spearman_rho(predicted, true) if len(true) else math.nan
        error[group] = float(np.abs(predicted - true).mean()) if len(true) else math.nan
        excess[group] = float((predicted - true).mean()) if len(true) else math.nan
    per_query = rank_queries(predictions, test)
    is_open = ~test.proven & (test.group == "random")
    predicted = predictions.values[is_open]
    outside = np.maximum(test.lower[is_open] - predicted, predicted - test.upper[is_open]).clip(0)
    return {
        "method": predictions.method,
        "rho": rho,
        "rho_per_query": float(np.mean(per_query)) if per_query else math.nan,
        "rho_per_query_error": float(np.std(per_query) / math.sqrt(len(per_query))) if per_query else math.nan,
        "queries": len(per_query),
        "mae": error,
        "mean_excess": excess,
        "within_open_bounds": float((outside == 0).mean()) if len(outside) else math.nan,
        "edits_outside_open_bounds": float(outside.mean()) if len(outside) else math.nan,
        "microseconds_per_pair": 1e6 * predictions.seconds_per_pair,
        "microseconds_per_graph": 1e6 * predictions.seconds_per_graph,
    }


def rank_queries(predictions: Predictions, test: TestPairs) -> list[float]:
    """Rank correlation of each query that has enough proven pairs, mutations left out: they are no database."""
    found = []
    for query in range(len(test.queries)):
        chosen = test.proven & (test.pairs[:, 0] == query) & (test.group != "mutations")
        true = test.lower[chosen]
        if len(true) >= FEWEST_RANKED and true.min() < true.max():
            found.append(spearman_rho(predictions.values[chosen], true))
    return found


def describe_pairs(test: TestPairs) -> list[dict[str, Any]]:
    rows = []
    for group in dict.fromkeys(test.group.tolist()):
        proven, is_open = (test.group == group) & test.proven, (test.group == group) & ~test.proven
        true = test.lower[proven]
        rows.append(
            {
                "group": group,
                "pairs": int((test.group == group).sum()),
                "proven": int(proven.sum()),
                "quartiles": np.percentile(true, [0, 25, 50, 75, 100]).tolist() if len(true) else None,
                "open_lower": float(test.lower[is_open].mean()) if is_open.any() else None,
                "open_upper": float(test.upper[is_open].mean()) if is_open.any() else None,
            }
        )
    return rows


def print_tables(pairs: list[dict[str, Any]], scores: list[dict[str, Any]]) -> None:
    print("\n| pairs | number | proven | distances proven: least, quartiles, most | others: mean lower, upper |")
    print("|---|---|---|---|---|")
    for row in pairs:
        spread = " ".join(f"{value:g}" for value in row["quartiles"] or [])
        bounds = "-" if row["open_lower"] is None else f"{row['open_lower']:.1f}, {row['open_upper']:.1f}"
        print(f"| {row['group']} | {row['pairs']} | {row['proven']} | {spread} | {bounds} |")
    groups = list(scores[0]["rho"])
    heads = [f"rho {group}" for group in groups] + ["rho per query"] + [f"MAE {group}" for group in groups]
    heads += ["within open bounds", "edits outside", "us/pair"]
    print(f"\n| method | {' | '.join(heads)} |")
    print("|---" * (len(heads) + 1) + "|")
    for row in scores:
        cells = [f"{row['rho'][group]:.3f}" for group in groups]
        cells.append(f"{row['rho_per_query']:.3f} ± {row['rho_per_query_error']:.3f}")
        cells += [f"{row['mae'][group]:.2f}" for group in groups]
        cells += [f"{row['within_open_bounds']:.0%}", f"{row['edits_outside_open_bounds']:.2f}"]
        once = f" + {row['microseconds_per_graph']:.0f} per graph" if row["microseconds_per_graph"] else ""
        print(f"| {row['method']} | {' | '.join(cells)} | {row['microseconds_per_pair']:.3g}{once} |")
    print(f"\nrho per query: random and near pairs together, mean and standard error of {scores[0]['queries']} queries")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("GRAPHMETRIC_DATA", "../shared/data"))
    kept = Path(tempfile.gettempdir()) / "graphmetric-larger-molecules"
    parser.add_argument("--work", type=Path, default=kept, help="where unfinished work is kept")
    parser.add_argument("--out", type=Path, help="JSON file for the numbers")
    parser.add_argument("--presets", nargs="*", default=["small"])
    parser.add_argument("--graphs", type=int, default=2000)
    parser.add_argument("--labels", type=int, default=20_000, help="pairs that each fit may label")
    parser.add_argument(
        "--clique", type=int, default=SMALLEST_GROUP,
        help="least graphs of which all pairs are labelled: with few labels, fewer let a fit see more molecules",
    )  # fmt: skip
    parser.add_argument("--steps", type=int, default=600, help="of training")
    parser.add_argument("--queries", type=int, default=60, help="test graphs that are asked for")
    parser.add_argument("--each", type=int, default=10, help="pairs of each query in each group")
    parser.add_argument("--node-limit", type=int, default=50_000, help="of the search for the truth, per pair")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.work /= f"{options.graphs}-graphs-seed-{options.seed}"
    rng = np.random.default_rng(options.seed)
    graphs = draw_molecules(options.data, options.graphs, rng)
    split = split_indices(len(graphs), random_state=options.seed)
    queries, training = graphs[split.test[: options.queries]], graphs[split.train]
    nodes, edges = graphs.sizes.mean(), graphs.edge_counts.mean()
    print(f"{len(graphs)} molecules, {nodes:.1f} nodes and {edges:.1f} edges in the mean")
    database, groups = draw_pairs(queries, training, options.each, rng)
    truth = options.work / f"truth-{options.queries}-{options.each}-{options.node_limit}"
    test = prove_pairs(queries, database, groups, options.node_limit, truth)
    seen = training + graphs[split.val]
    val = np.arange(len(training), len(seen))
    models = {preset: fit_metric(seen, val, preset, options) for preset in options.presets}
    for preset, model in models.items():
        print(preset, json.dumps({part: model.report_[part] for part in ("labels", "training", "validation")}))
    pairs, scores = describe_pairs(test), [score(predictions, test) for predictions in predict_all(models, test)]
    print_tables(pairs, scores)
    if options.out is not None:
        settings = {key: value for key, value in vars(options).items() if not isinstance(value, Path)}
        reports = {preset: model.report_ for preset, model in models.items()}
        plain = {"settings": settings, "pairs": pairs, "scores": scores, "reports": reports}
        options.out.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
