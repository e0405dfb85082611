"""How far the models that come with the package carry over to public benchmarks that they have never seen.

    python benchmarks/transfer.py AIDS700nef molecules --data FOLDER --steps 500
    python benchmarks/transfer.py LINUX unlabelled --data FOLDER --steps 500
    python benchmarks/transfer.py TU_MUTAG molecules --data FOLDER
    python benchmarks/transfer.py AIDS42k molecules --data FOLDER --steps 800

The first two rank by protocol A (or, with ``--split leak-free``, without isomorphic graphs in two parts): the model as
it is; after ``--steps`` of warm start on the distances among training graphs; and a new model after as many steps on
the same distances. The third compares distances of 2,000 random pairs with the exact ones where the search proves them
within its limit, and counts how many predictions lie between the bounds where it does not. The floor is the
difference in nodes and edges. No graph of these benchmarks, nor one isomorphic to it, was in the training of the
models: ``tools/make_models.py`` sees to it.

The last one goes by size: a few molecules of each band of sizes rank others of the same band, bond types counted, and
the truth is the exact search within its limit (the least upper bound where that ends first). Molecules that are among
the NCI molecules of ``tools/make_models.py``, bond types aside, are left out. With ``--steps`` a new model of the
preset ``small`` learns from other molecules of AIDS42k, which it labels itself, and does the same.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

import graphmetric as gm
from graphmetric.edit_distance.label_store import choose_pairs
from graphmetric.evaluation import Protocol, Raw, score_distances
from graphmetric.reproduction.benchmark import Benchmark, load_benchmark
from graphmetric.training.supervision import find_distinct

sys.path.append(str(Path(__file__).parents[1] / "tools"))
from make_models import MOST_ATOMS, plain_names, read_benchmark, small_molecules

PAIRS, SEARCH_NODES, SEED = 2_000, 50_000, 0
BANDS = ((2, 12), (13, 20), (21, 30), (31, 50))
"""Atoms of the molecules of AIDS42k that are ranked together."""
QUERIES, RANKED = 8, 120
"""Molecules of each band that ask, and that are ranked."""
TRAINING, LABELS = 4_000, 100_000
"""Molecules that the new model learns from, and pairs of them and their mutations that it labels."""


def differences(first: gm.GraphCollection, second: gm.GraphCollection) -> np.ndarray:
    """The floor: edits that numbers of nodes and edges alone demand, (first, second)."""
    parts = ((graphs.sizes, graphs.edge_counts) for graphs in (first, second))
    return sum(np.abs(rows[:, None] - columns) for rows, columns in zip(*parts, strict=True)).astype(float)


def report_ranking(name: str, predicted: np.ndarray, benchmark: Benchmark, protocol: Protocol, cpu: float) -> None:
    sides = benchmark.graphs[protocol.queries], benchmark.graphs[protocol.database]
    true = protocol.test_distances(benchmark.distances)
    scaled = (gm.normalized_distance(edits, *sides) for edits in (predicted, true))
    found = score_distances(*scaled, raw=Raw(predicted, true)).to_dict()
    shown = "  ".join(f"{key} {found[key]:.3f}" for key in ("rho", "tau", "p@10", "p@20", "mae"))
    print(f"{name:34}  {shown}  mse e-3 {1e3 * found['mse']:.2f}  trained {cpu:.0f} s", flush=True)


def rank(dataset: str, name: str, data: str, split: str, steps: int) -> None:
    """One line per model."""
    with tempfile.TemporaryDirectory() as store:
        benchmark = load_benchmark(dataset, root=data, split=split, store=Path(store))  # type: ignore[arg-type]
    protocol = benchmark.protocol("A" if split == "as given" else "leak-free")
    queries, database = benchmark.graphs[protocol.queries], benchmark.graphs[protocol.database]
    print(f"{dataset}, {protocol.name}: {len(queries)} queries, {len(database)} graphs", flush=True)
    report_ranking("difference of nodes and edges", differences(queries, database), benchmark, protocol, 0)
    shipped = gm.GraphDistance.load(name).set_params(n_jobs=1)
    report_ranking(f"{name}, as it is", shipped.pairwise(queries, database), benchmark, protocol, 0)
    if not steps:
        return
    fresh = gm.GraphDistance("small", max_steps=steps, n_jobs=1, random_state=SEED)
    for title, model in {f"{name}, {steps} steps more": shipped, f"new model, {steps} steps": fresh}.items():
        clock = time.process_time()
        model.set_params(warm_start=True, max_steps=steps).fit(
            benchmark.graphs[protocol.seen],
            protocol.visible_distances(benchmark.distances),
            val=np.arange(len(protocol.train), len(protocol.seen)),
        )
        cpu = time.process_time() - clock
        report_ranking(title, model.pairwise(queries, database), benchmark, protocol, cpu)


def correlate(dataset: str, name: str, data: str) -> None:
    """Random pairs of a set whose distances are not known."""
    graphs = read_benchmark(dataset, data)
    pairs = choose_pairs(graphs, f"random:{PAIRS}", random_state=SEED)
    clock = time.process_time()
    found = gm.pairwise_edit_distances(graphs, pairs=pairs, method=gm.ExactSearch(node_limit=SEARCH_NODES), n_jobs=1)
    cpu = time.process_time() - clock
    proven, (rows, columns) = found.exact, pairs.T
    print(f"{dataset}: {len(graphs)} graphs, {len(pairs)} pairs, {proven.mean():.1%} proven, {cpu:.0f} s of search")
    model = gm.GraphDistance.load(name).set_params(n_jobs=1)
    for title, matrix in {
        "difference of nodes and edges": differences(graphs, graphs),
        name: model.pairwise(graphs),
    }.items():
        said = matrix[rows, columns]
        within = (np.rint(said) >= found.lower) & (np.rint(said) <= found.upper)
        print(
            f"{title:34}  spearman {spearmanr(said[proven], found.lower[proven]).statistic:.3f}  "
            f"mae {np.abs(said - found.lower)[proven].mean():.3f} of {found.lower[proven].mean():.1f} edits  "
            f"within the bounds of the others {within[~proven].mean() if (~proven).any() else np.nan:.3f}"
        )


def read_molecules(data: str) -> gm.GraphCollection:
    """One molecule of AIDS42k of each isomorphism class, up to 50 atoms, with element symbols and bonds 1, 2 and 3."""
    graphs = gm.load_dataset("AIDS42k", root=data).graphs
    symbols = np.load(Path(data) / "AIDS42k.npz")["label_symbol_guess"]
    order = np.random.default_rng(SEED).permutation(np.flatnonzero(graphs.sizes <= BANDS[-1][1]))[:8_000]
    named = gm.GraphCollection(
        graph.replace(
            node_labels=[str(symbols[code]) for code in graph.node_labels or ()],
            edge_labels=[str(bond) for bond in graph.edge_labels or ()],
        )
        for graph in graphs[order]
    )
    return named[find_distinct(named)]


def rank_by_size(name: str, data: str, steps: int) -> None:
    """One line per model and band."""
    graphs = read_molecules(data)
    known = set(plain_names(gm.GraphCollection(small_molecules(most_atoms=MOST_ATOMS))).tolist())
    new = ~np.isin(plain_names(graphs), list(known))
    bands = [np.flatnonzero(new & (graphs.sizes >= least) & (graphs.sizes <= most)) for least, most in BANDS]
    bands = [band[: QUERIES + RANKED] for band in bands]
    models = {name: gm.GraphDistance.load(name).set_params(n_jobs=1)}
    if steps:
        others = np.setdiff1d(np.arange(len(graphs)), np.concatenate(bands))[:TRAINING]
        fresh = gm.GraphDistance("small", max_steps=steps, label_budget=LABELS, mutation_edits=10, n_jobs=1)
        models[f"new model, {steps} steps"] = fresh.fit(graphs[others])
        print(fresh.report_["labels"], fresh.report_["validation"], flush=True)
    for (least, most), band in zip(BANDS, bands, strict=True):
        queries, ranked = graphs[band[:QUERIES]], graphs[band[QUERIES:]]
        found = gm.pairwise_edit_distances(queries, ranked, method=gm.ExactSearch(node_limit=SEARCH_NODES), n_jobs=1)
        true = found.upper
        said = {"difference of nodes and edges": differences(queries, ranked)}
        said |= {title: model.pairwise(queries, ranked) for title, model in models.items()}
        print(f"{least}-{most} atoms, mean distance {true.mean():.1f}, {found.exact.mean():.1%} proven")
        for title, predicted in said.items():
            scores = score_distances(predicted, true, raw=Raw(predicted, true)).to_dict()
            shown = "  ".join(f"{key} {scores[key]:.3f}" for key in ("rho", "tau", "p@10", "mae"))
            print(f"{title:34}  {shown}  of the distance {scores['mae'] / true.mean():.3f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", choices=["AIDS700nef", "LINUX", "TU_MUTAG", "AIDS42k"])
    parser.add_argument("model", help="name or folder")
    parser.add_argument("--data", default=os.environ.get("GRAPHMETRIC_DATA", "data"))
    parser.add_argument("--split", choices=["as given", "leak-free"], default="as given")
    parser.add_argument("--steps", type=int, default=0, help="of fine-tuning; 0: none")
    given = parser.parse_args()
    if given.dataset == "TU_MUTAG":
        correlate(given.dataset, given.model, given.data)
    elif given.dataset == "AIDS42k":
        rank_by_size(given.model, given.data, given.steps)
    else:
        rank(given.dataset, given.model, given.data, given.split, given.steps)


if __name__ == "__main__":
    main()
