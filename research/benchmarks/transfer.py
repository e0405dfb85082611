"""How far the models that come with the package carry over to graphs that they have never seen.

    python research/benchmarks/transfer.py AIDS700nef molecules --data FOLDER --steps 500
    python research/benchmarks/transfer.py LINUX unlabelled --data FOLDER --steps 500
    python research/benchmarks/transfer.py TU_MUTAG molecules --data FOLDER
    python research/benchmarks/transfer.py AIDS42k molecules --data FOLDER --steps 1500 --seeds 3
    python research/benchmarks/transfer.py packages programs --steps 1500

The first two rank by protocol A (or, with ``--split leak-free``, without isomorphic graphs in two parts): the model as
it is; after ``--steps`` of warm start on the distances among training graphs; and a new model after as many steps on
the same distances. The third compares distances of 2,000 random pairs with the exact ones where the search proves them
within its limit, and counts how many predictions lie between the bounds where it does not. The floor is the
difference in nodes and edges. No graph of these benchmarks, nor one isomorphic to it, was in the training of the
models: ``tools/make_models.py`` sees to it.

The last two go by size: a few graphs of each band of sizes rank others of the same band, and the truth is the exact
search within its limit (the middle of its bounds where that ends first). The graphs are molecules of AIDS42k, bond
types counted, or control-flow graphs of the functions of numpy, scipy and sympy as they are installed, directed, with
labels. Molecules that are among the NCI molecules of ``tools/make_models.py``, bond types aside, and graphs that are
isomorphic to one of the standard library are left out. With ``--steps`` new models of the preset ``small`` learn from
other graphs of the same source, which they label themselves, and do the same.

With ``--card`` the figures of the model as it is are written into its model card.
"""

from __future__ import annotations

import argparse
import os
import site
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import graphmetric as gm
from graphmetric.edit_distance.label_store import choose_pairs
from graphmetric.evaluation import Raw, score_distances
from graphmetric.graphs.collection import certificates
from graphmetric.learned.model_folder import find_model
from graphmetric.training.supervision import find_distinct
from graphmetric_research.protocols import Protocol
from graphmetric_research.reproduction.benchmark import Benchmark, load_benchmark

sys.path.append(str(Path(__file__).parents[2] / "tools"))
from make_models import FEWEST_BLOCKS, MOST_ATOMS, plain_names, read_benchmark, small_molecules
from make_programs import directed_graphs, library_sources

Naming = Callable[[gm.GraphCollection], Any]
"""Names of graphs, the same for graphs that count as the same."""
PAIRS, SEARCH_NODES, SEED = 2_000, 50_000, 0
BANDS = {
    "AIDS42k": ((2, 12), (13, 20), (21, 30), (31, 50)),
    "packages": ((4, 12), (13, 20), (21, 30), (31, 60)),
}
"""Sizes of graphs that are ranked together."""
PACKAGES = ("numpy", "scipy", "sympy")
TITLES = {"AIDS42k": "molecules of AIDS42k", "packages": "functions of numpy, scipy and sympy"}
"""What a model card calls the graphs."""
QUERIES, RANKED = 8, 120
"""Graphs of each band that ask, and that are ranked."""
TRAINING, LABELS = 4_000, 100_000
"""Graphs that a new model learns from, and pairs of them and their mutations that it labels."""
Scores = dict[str, str]
"""What the model card says, by the name of what was measured."""


def differences(first: gm.GraphCollection, second: gm.GraphCollection) -> np.ndarray:
    """The floor: edits that numbers of nodes and edges alone demand, (first, second)."""
    parts = ((graphs.sizes, graphs.edge_counts) for graphs in (first, second))
    return sum(np.abs(rows[:, None] - columns) for rows, columns in zip(*parts, strict=True)).astype(float)


def report_ranking(name: str, predicted: np.ndarray, benchmark: Benchmark, protocol: Protocol, cpu: float) -> str:
    sides = benchmark.graphs[protocol.queries], benchmark.graphs[protocol.database]
    true = protocol.test_distances(benchmark.distances)
    scaled = (gm.normalized_distance(edits, *sides) for edits in (predicted, true))
    found = score_distances(*scaled, raw=Raw(predicted, true)).to_dict()
    shown = "  ".join(f"{key} {found[key]:.3f}" for key in ("rho", "tau", "p@10", "p@20", "mae"))
    print(f"{name:34}  {shown}  mse e-3 {1e3 * found['mse']:.2f}  trained {cpu:.0f} s", flush=True)
    return describe(found, true)


def describe(scores: dict[str, Any], true: np.ndarray) -> str:
    """The scores of a ranking for a model card."""
    return (
        f"rank correlation {scores['rho']:.3f}, {scores['p@10']:.0%} of the ten nearest found, mean error "
        f"{scores['mae']:.2f} of {true.mean():.1f} edits"
    )


def rank(dataset: str, name: str, data: str, split: str, steps: int) -> Scores:
    """One line per model."""
    with tempfile.TemporaryDirectory() as store:
        benchmark = load_benchmark(dataset, root=data, split=split, store=Path(store))  # type: ignore[arg-type]
    protocol = benchmark.protocol("A" if split == "as given" else "leak-free")
    queries, database = benchmark.graphs[protocol.queries], benchmark.graphs[protocol.database]
    print(f"{dataset}, {protocol.name}: {len(queries)} queries, {len(database)} graphs", flush=True)
    report_ranking("difference of nodes and edges", differences(queries, database), benchmark, protocol, 0)
    shipped = gm.GraphDistance.load(name).set_params(n_jobs=1)
    as_it_is = report_ranking(f"{name}, as it is", shipped.pairwise(queries, database), benchmark, protocol, 0)
    fresh = gm.GraphDistance("small", max_steps=steps, n_jobs=1, random_state=SEED)
    trained = {f"{name}, {steps} steps more": shipped, f"new model, {steps} steps": fresh} if steps else {}
    for title, model in trained.items():
        clock = time.process_time()
        model.set_params(warm_start=True, max_steps=steps).fit(
            benchmark.graphs[protocol.seen],
            protocol.visible_distances(benchmark.distances),
            val=np.arange(len(protocol.train), len(protocol.seen)),
        )
        cpu = time.process_time() - clock
        report_ranking(title, model.pairwise(queries, database), benchmark, protocol, cpu)
    return {f"{dataset}, protocol {protocol.name}": as_it_is}


def correlate(dataset: str, name: str, data: str) -> Scores:
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
        correlation = spearmanr(said[proven], found.lower[proven]).statistic
        error, mean = np.abs(said - found.lower)[proven].mean(), found.lower[proven].mean()
        print(
            f"{title:34}  spearman {correlation:.3f}  mae {error:.3f} of {mean:.1f} edits  "
            f"within the bounds of the others {within[~proven].mean() if (~proven).any() else np.nan:.3f}"
        )
    return {
        f"{dataset}, {len(pairs):,} random pairs": f"rank correlation {correlation:.3f}, mean error {error:.2f} of "
        f"{mean:.1f} edits"
    }


def read_molecules(data: str) -> tuple[gm.GraphCollection, set[str], Naming]:
    """Molecules of AIDS42k of different classes, with element symbols and bonds 1, 2 and 3, and those of training."""
    graphs = gm.load_dataset("AIDS42k", root=data).graphs
    symbols = np.load(Path(data) / "AIDS42k.npz")["label_symbol_guess"]
    largest = BANDS["AIDS42k"][-1][1]
    order = np.random.default_rng(SEED).permutation(np.flatnonzero(graphs.sizes <= largest))[:8_000]
    named = gm.GraphCollection(
        graph.replace(
            node_labels=[str(symbols[code]) for code in graph.node_labels or ()],
            edge_labels=[str(bond) for bond in graph.edge_labels or ()],
        )
        for graph in graphs[order]
    )
    known = plain_names(gm.GraphCollection(small_molecules(most_atoms=MOST_ATOMS)))
    return named[find_distinct(named)], set(known.tolist()), plain_names


def read_functions(_: str) -> tuple[gm.GraphCollection, set[str], Naming]:
    """Control flow of functions of installed packages of different classes, and that of the standard library."""
    largest = BANDS["packages"][-1][1]
    places = (Path(folder) / package for folder in site.getsitepackages() for package in PACKAGES)
    found = gm.GraphCollection(
        graph for place in places for graph in directed_graphs(library_sources(place), FEWEST_BLOCKS, largest)
    )
    found = found[np.random.default_rng(SEED).permutation(len(found))]
    known = certificates(gm.GraphCollection(directed_graphs(library_sources(), FEWEST_BLOCKS, largest)))
    return found[find_distinct(found)], set(known), certificates


SOURCES = {"AIDS42k": read_molecules, "packages": read_functions}
"""For each source of graphs by size: the graphs, names of those that training may have seen, and how they are named."""


def rank_by_size(dataset: str, name: str, data: str, steps: int, seeds: int) -> Scores:
    """One line per band and model."""
    graphs, known, names_of = SOURCES[dataset](data)
    new = ~np.isin(names_of(graphs), list(known))
    bands = [np.flatnonzero(new & (graphs.sizes >= least) & (graphs.sizes <= most)) for least, most in BANDS[dataset]]
    bands = [band[: QUERIES + RANKED] for band in bands]
    models = {name: [gm.GraphDistance.load(name).set_params(n_jobs=1)]}
    if steps:
        others = np.setdiff1d(np.arange(len(graphs)), np.concatenate(bands))
        title, models[title] = f"new model, {steps} steps", []
        for seed in range(seeds):
            chosen = np.sort(np.random.default_rng(seed).permutation(others)[:TRAINING])
            fresh = gm.GraphDistance(
                "small", max_steps=steps, label_budget=LABELS, mutation_edits=10, n_jobs=1, random_state=seed
            )
            models[title].append(fresh.fit(graphs[chosen]))
            print(fresh.report_["labels"], fresh.report_["validation"], flush=True)
    rows = {}
    for (least, most), band in zip(BANDS[dataset], bands, strict=True):
        queries, ranked = graphs[band[:QUERIES]], graphs[band[QUERIES:]]
        found = gm.pairwise_edit_distances(queries, ranked, method=gm.ExactSearch(node_limit=SEARCH_NODES), n_jobs=1)
        true = (found.lower + found.upper) / 2
        print(
            f"{least}-{most} nodes, mean distance {true.mean():.1f}, {found.exact.mean():.1%} proven, bounds "
            f"{(found.upper - found.lower).mean():.2f} apart"
        )
        said = {"difference of nodes and edges": [differences(queries, ranked)]}
        said |= {title: [model.pairwise(queries, ranked) for model in trained] for title, trained in models.items()}
        for title, several in said.items():
            scores = [score_distances(predicted, true, scale="raw").to_dict() for predicted in several]
            mean = {key: float(np.mean([each[key] for each in scores])) for key in ("rho", "tau", "p@10", "mae")}
            shown = "  ".join(f"{key} {value:.3f}" for key, value in mean.items())
            spread = "".join(f"  {key} {each[key]:.3f}" for each in scores for key in ("p@10", "mae"))
            print(
                f"{title:34}  {shown}  of the distance {mean['mae'] / true.mean():.3f}"
                f"{f'  seeds:{spread}' if len(scores) > 1 else ''}",
                flush=True,
            )
            if title == name:
                rows[f"{TITLES[dataset]}, {least} to {most} nodes"] = describe(mean, true)
    return rows


def write_card(name: str, rows: Scores) -> None:
    """Add what was measured to the card of a model."""
    model = gm.GraphDistance.load(name)
    known = model.report_.get("held_out", {})
    model.report_["held_out"] = {"measured_by": "research/benchmarks/transfer.py"} | known | rows
    model.save(find_model(name))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", choices=["AIDS700nef", "LINUX", "TU_MUTAG", *SOURCES])
    parser.add_argument("model", help="name or folder")
    parser.add_argument("--data", default=os.environ.get("GRAPHMETRIC_DATA", "data"))
    parser.add_argument("--split", choices=["as given", "leak-free"], default="as given")
    parser.add_argument("--steps", type=int, default=0, help="of fine-tuning; 0: none")
    parser.add_argument("--seeds", type=int, default=1, help="new models to train; AIDS42k and packages")
    parser.add_argument("--card", action="store_true", help="write the figures into the card of the model")
    given = parser.parse_args()
    if given.dataset == "TU_MUTAG":
        rows = correlate(given.dataset, given.model, given.data)
    elif given.dataset in SOURCES:
        rows = rank_by_size(given.dataset, given.model, given.data, given.steps, given.seeds)
    else:
        rows = rank(given.dataset, given.model, given.data, given.split, given.steps)
    if given.card:
        write_card(given.model, rows)


if __name__ == "__main__":
    main()
