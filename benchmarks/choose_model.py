"""Train a variant of a preset on a public benchmark and score it on validation pairs: how the presets were chosen.

    python benchmarks/choose_model.py AIDS700nef --preset base --encoder layers=4 attention_size=64 --pool 1520

Changes are NAME=JSON of the options of the encoder, the features, the head and the training. ``--pool`` trains on so
many training graphs and mutations of them, drawn and labelled as ``GraphDistance.fit`` does, and not on the distances
of the benchmark; ``--edits`` is how many edits a mutation has at most. Validation graphs rank the training graphs; test
graphs are never looked at. One line of JSON per run, appended to ``--out``.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import graphmetric as gm
from graphmetric.evaluation import score_distances
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.training import preset
from graphmetric.training.supervision import LabelBudget, TrainingPool, sample_pool


def label_pool(pool: TrainingPool, cache: Path) -> PairBounds:
    """Distances of all pairs of the pool, kept in a file since they take a minute."""
    pairs = pool.pairs()
    if not cache.exists():
        found, _ = LabelBudget(len(pairs), n_jobs=1).label(pool.graphs, pairs)
        np.save(cache, np.stack([found.lower, found.upper]))
    return PairBounds(pairs, *np.load(cache)).concatenate(pool.label_empty_graphs())


def changed(options: Any, changes: list[str]) -> Any:
    found = {name: json.loads(value) for name, value in (item.split("=", 1) for item in changes)}
    return replace(options, **{name: tuple(v) if isinstance(v, list) else v for name, v in found.items()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset")
    parser.add_argument("--preset", default="base")
    for part in ("encoder", "features", "head", "training"):
        parser.add_argument(f"--{part}", nargs="*", default=[], metavar="NAME=JSON")
    parser.add_argument("--pool", type=int, default=0, metavar="GRAPHS")
    parser.add_argument("--edits", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", default=os.environ.get("GRAPHMETRIC_DATA", "../shared/data"))
    parser.add_argument("--out", type=Path, default=Path("choose_model.jsonl"))
    parser.add_argument("--predictions", type=Path, metavar="FILE", help="keep validation x training distances as .npy")
    given = parser.parse_args()

    model, training = preset(given.preset)
    model = replace(
        model,
        encoder=changed(model.encoder, given.encoder),
        features=changed(model.features, given.features),
        head=changed(model.head, given.head),
    )
    training = changed(training, given.training)

    data = gm.load_dataset(given.dataset, root=given.data)
    queries, database = data.graphs[data.val], data.graphs[data.train]
    if given.pool:
        pool = sample_pool(database, given.pool * (given.pool - 1) // 2, given.edits, np.random.default_rng(given.seed))
        cache = given.out.parent / f"pool-{given.dataset}-{given.pool}-{given.edits}-{given.seed}.npy"
        learned, among = pool.graphs, label_pool(pool, cache)
    else:
        learned, among = database, PairBounds.from_matrix(data.distances[np.ix_(data.train, data.train)])
    truth = data.distances[np.ix_(data.val, data.train)]
    rows, columns = np.nonzero(~np.isnan(truth))
    graphs = learned + database + queries
    places = np.column_stack([len(learned) + len(database) + rows, len(learned) + columns])
    labels = among.concatenate(PairBounds.from_distances(places, truth[rows, columns]))

    clock = time.process_time()
    estimator = gm.GraphDistance((model, training), random_state=given.seed, n_jobs=1)
    estimator.fit(graphs, distances=labels, val=np.arange(len(graphs) - len(queries), len(graphs)))
    seconds = time.process_time() - clock

    predicted = estimator.pairwise(queries, database)
    if given.predictions:
        np.save(given.predictions, predicted)
    scores = score_distances(*(gm.normalized_distance(found, queries, database) for found in (predicted, truth)))
    torch.set_num_threads(1)
    clock = time.process_time()
    estimator.model_.embed_graphs(estimator.featurizer_, graphs)
    cost = (time.process_time() - clock) / len(graphs)
    record = {
        **{name: getattr(given, name) for name in ("dataset", "preset", "encoder", "features", "head", "training")},
        "pool": given.pool, "edits": given.edits, "seed": given.seed, "own": len(database), **scores.to_dict(),
        "mae": float(np.nanmean(np.abs(predicted - truth))), "seconds": seconds, "embed_us": 1e6 * cost,
        "losses": [[past["step"], past["loss"], past["validation"]] for past in estimator.report_["history"][-1::-10]],
    }  # fmt: skip
    with given.out.open("a") as lines:
        lines.write(json.dumps(record) + "\n")
    print(f"{given.preset} {given.encoder} {given.head} {given.training} pool {given.pool}: {scores}", end="  ")
    print(f"MAE {record['mae']:.3f}  {seconds:.0f} s CPU, embedding {1e6 * cost:.0f} us per graph")


if __name__ == "__main__":
    main()
