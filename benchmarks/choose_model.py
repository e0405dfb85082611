"""Train a variant of a preset on a public benchmark and score it on validation pairs: how the presets were chosen.

    python benchmarks/choose_model.py AIDS700nef --preset base --encoder layers=4 attention_size=64 --pool 1520

Changes are NAME=JSON of the options of the encoder, the features, the head and the training. ``--pool`` adds mutated
training graphs, labelled exactly, until there are so many training graphs; ``--edits`` is how many edits a mutation has
at most. Validation graphs rank the training graphs; test graphs are never looked at. One line of JSON per run, appended
to ``--out``.
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
from graphmetric.encoder import embed_graphs
from graphmetric.evaluation import score_distances
from graphmetric.graphs.collection import GraphCollection
from graphmetric.supervision import LabelBudget
from graphmetric.training import TrainingLabels, preset


def mutated(graphs: GraphCollection, wanted: int, edits: int, seed: int) -> GraphCollection:
    """Graphs until there are ``wanted``, by 1 to ``edits`` edits of one drawn at random, connected and no larger."""
    rng = np.random.default_rng(seed)
    labels = [label for graph in graphs for label in (graph.node_labels or ())]
    largest = int(graphs.sizes.max())
    made = []
    while len(graphs) + len(made) < wanted:
        origin = graphs[int(rng.integers(len(graphs)))]
        mutation = gm.mutate(
            origin, int(rng.integers(1, edits + 1)), random_state=rng, connected=True, max_nodes=largest,
            node_labels=labels or None,
        )  # fmt: skip
        made.append(mutation.graph)
    return GraphCollection(list(graphs) + made)


def label_pool(graphs: GraphCollection, cache: Path) -> np.ndarray:
    """All exact distances among the graphs, kept in a file since they take a minute."""
    if cache.exists():
        return np.load(cache)
    pairs = np.column_stack(np.triu_indices(len(graphs), k=1))
    found = LabelBudget(len(pairs), n_jobs=1).label(graphs, pairs)
    matrix = np.full((len(graphs), len(graphs)), np.nan, dtype=np.float32)
    exact = found.lower == found.upper
    matrix[pairs[exact, 0], pairs[exact, 1]] = found.lower[exact]
    np.save(cache, matrix)
    return matrix


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
    train = mutated(data.graphs[data.train], given.pool, given.edits, given.seed)
    own = len(data.train)
    if given.pool:
        cache = given.out.parent / f"pool-{given.dataset}-{given.pool}-{given.edits}-{given.seed}.npy"
        distances = label_pool(train, cache)
    else:
        distances = data.distances[np.ix_(data.train, data.train)]
    among = TrainingLabels.from_matrix(np.triu(distances, k=1) + np.triu(distances, k=1).T)
    truth = data.distances[np.ix_(data.val, data.train)]
    rows, columns = np.nonzero(~np.isnan(truth))
    across = TrainingLabels.exact(np.column_stack([len(train) + rows, columns]), truth[rows, columns])
    labels = among.joined(across)
    graphs = train + data.graphs[data.val]

    clock = time.process_time()
    estimator = gm.GraphDistance((model, training), random_state=given.seed, n_jobs=1)
    estimator.fit(graphs, distances=labels, val=np.arange(len(train), len(graphs)))
    seconds = time.process_time() - clock

    queries, database = data.graphs[data.val], data.graphs[data.train]
    predicted = estimator.pairwise(queries, database)
    if given.predictions:
        np.save(given.predictions, predicted)
    scores = score_distances(*(gm.normalized_distance(found, queries, database) for found in (predicted, truth)))
    torch.set_num_threads(1)
    clock = time.process_time()
    embed_graphs(estimator.featurizer_, estimator.model_.encoder, graphs)
    cost = (time.process_time() - clock) / len(graphs)
    record = {
        **{name: getattr(given, name) for name in ("dataset", "preset", "encoder", "features", "head", "training")},
        "pool": given.pool, "edits": given.edits, "seed": given.seed, "own": own, **scores.to_dict(),
        "mae": float(np.nanmean(np.abs(predicted - truth))), "seconds": seconds, "embed_us": 1e6 * cost,
        "losses": [[past["step"], past["loss"], past["validation"]] for past in estimator.report_["history"][-1::-10]],
    }  # fmt: skip
    with given.out.open("a") as lines:
        lines.write(json.dumps(record) + "\n")
    print(f"{given.preset} {given.encoder} {given.head} {given.training} pool {given.pool}: {scores}", end="  ")
    print(f"MAE {record['mae']:.3f}  {seconds:.0f} s CPU, embedding {1e6 * cost:.0f} us per graph")


if __name__ == "__main__":
    main()
