"""Train the models that come with the package, and write them into it.

    python tools/make_models.py molecules
    python tools/make_models.py unlabelled
    python tools/make_models.py certificates DATA_FOLDER

``molecules``: the NCI molecules of ``make_molecules.py`` with up to twenty heavy atoms instead of ten, bond types left
out. ``unlabelled``: the embedded sets "programs" and "atlas", and random trees and sparse graphs of 8 to 15 nodes.

Graphs of public benchmarks are left out, so that these can tell how well a model does on graphs that it has never
seen: every training graph, and every mutation of one, that is isomorphic to a graph of AIDS700nef, LINUX or MUTAG. The
certificates of those graphs are in a file beside this one, so nobody needs the benchmarks to train the same model; the
third command writes that file.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import networkx as nx
import numpy as np
from make_molecules import small_molecules

import graphmetric as gm
from graphmetric.graphs.collection import certificates
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.training.supervision import LabelBudget, Supervision, hold_out, make_supervision

TARGET = Path(__file__).parents[1] / "src/graphmetric/learned/shipped_models"
LEFT_OUT = Path(__file__).with_name("benchmark_certificates.json")
BENCHMARKS = ("AIDS700nef", "LINUX", "TU_MUTAG")
MUTAG_ATOMS = ("C", "N", "O", "F", "I", "Cl", "Br")
MOST_ATOMS = 20
RANDOM_GRAPHS = 800
"""Trees, and as many other graphs."""
EDITS, CLIQUE, SEED = 5, 400, 0


def molecules() -> gm.GraphCollection:
    """Molecules without bond types."""
    found = small_molecules(most_atoms=MOST_ATOMS)
    return gm.GraphCollection(graph.replace(edge_labels=None) for graph in found)


def unlabelled() -> gm.GraphCollection:
    """Real and random graphs without labels."""
    rng = np.random.default_rng(SEED)
    trees = [random_graph(0, rng) for _ in range(RANDOM_GRAPHS)]
    others = [random_graph(int(rng.integers(1, 9)), rng) for _ in range(RANDOM_GRAPHS)]
    stored = gm.load_dataset("programs").graphs + gm.load_dataset("atlas").graphs
    return stored + gm.GraphCollection(trees + others)


def random_graph(more_edges: int, rng: np.random.Generator) -> gm.Graph:
    """A random labelled tree of 8 to 15 nodes, forgetting the labels, and edges between nodes that have none."""
    nodes = int(rng.integers(8, 16))
    tree = nx.from_prufer_sequence(rng.integers(nodes, size=nodes - 2).tolist())
    free = list(nx.complement(tree).edges)
    return gm.Graph(nodes, [*tree.edges, *(free[k] for k in rng.permutation(len(free))[:more_edges])])


@dataclass(frozen=True)
class Recipe:
    """What a model is trained on, and how long."""

    make_graphs: Callable[[], gm.GraphCollection]
    source: str
    """The graphs, in words."""
    pairs: int
    """Labels, of validation pairs too."""
    steps: int
    """Mini-batches."""


RECIPES = {
    "molecules": Recipe(
        molecules,
        "connected molecules of up to 20 heavy atoms among the first 5,000 of the NCI open database (NCI/DTP, not "
        "copyrighted), from the file in RDKit; element symbols, no hydrogens, no bond types",
        pairs=400_000,
        steps=2_000,
    ),
    "unlabelled": Recipe(
        unlabelled,
        "control-flow graphs of Python's standard library (data set programs), all graphs of up to 7 nodes (data set "
        "atlas), random trees and sparse random graphs of 8 to 15 nodes",
        pairs=400_000,
        steps=1_500,
    ),
}


def train(name: str, recipe: Recipe) -> gm.GraphDistance:
    """The model of this name, on labels that are made as ``GraphDistance.fit`` makes its own."""
    graphs = take_new(recipe.make_graphs())
    held_out = hold_out(len(graphs), None, 0.1, SEED)
    learned_from = graphs[np.setdiff1d(np.arange(len(graphs)), held_out)]
    budget = LabelBudget(recipe.pairs, n_jobs=1)
    found = drop_known(make_supervision(learned_from, graphs[held_out], budget, EDITS, SEED, CLIQUE))
    model = gm.GraphDistance("small", max_steps=recipe.steps, n_jobs=1, random_state=SEED)
    validation_graphs = np.unique(found.validation.pairs[:, 1])
    model.fit(found.graphs, found.training.joined(found.validation), val=validation_graphs)
    made = count_new(found.graphs, graphs)
    model.report_["graphs"] |= {
        "training_graphs": len(learned_from),
        "source": recipe.source,
        "left_out": f"graphs and mutations that are isomorphic to one of {', '.join(BENCHMARKS)}",
    }
    model.report_["labels"] |= {
        "origin": found.origin,
        "mutated_graphs_in_training_pairs": made,
        "cpu_seconds": round(found.cpu_seconds, 1),
    }
    model.report_["training"] |= {"command": f"python tools/make_models.py {name}"}
    return model.set_params(n_jobs=-1)


def read_left_out() -> set[str]:
    """Certificates of the graphs of all benchmarks."""
    return {text for texts in json.loads(LEFT_OUT.read_text()).values() for text in texts}


def take_new(graphs: gm.GraphCollection) -> gm.GraphCollection:
    """One graph of each isomorphism class that is in no benchmark."""
    found, first = np.unique(certificates(graphs), return_index=True)
    return graphs[np.sort(first[~np.isin(found, list(read_left_out()))])]


def drop_known(supervision: Supervision) -> Supervision:
    """Without the mutations that have become a graph of a benchmark."""
    kept = np.flatnonzero(~np.isin(certificates(supervision.graphs), list(read_left_out())))
    parts = (take_among(kept, labels) for labels in (supervision.training, supervision.validation))
    return Supervision(supervision.graphs[kept], *parts, supervision.origin, cpu_seconds=supervision.cpu_seconds)


def take_among(kept: np.ndarray, labels: PairBounds) -> PairBounds:
    """The labels of pairs of graphs that are kept, by their new positions."""
    inside = labels.take(np.flatnonzero(np.isin(labels.pairs, kept).all(axis=1)))
    return PairBounds(np.searchsorted(kept, inside.pairs), inside.lower, inside.upper)


def count_new(graphs: gm.GraphCollection, known: gm.GraphCollection) -> int:
    """How many are neither empty nor isomorphic to a known one: the mutations."""
    own = set(certificates(known))
    return sum(text not in own for text in certificates(graphs[graphs.sizes > 0]))


def read_benchmark(name: str, root: str) -> gm.GraphCollection:
    """The graphs of a benchmark as the models take them: element symbols, no bond types."""
    graphs = gm.load_dataset(name, root=root, edge_labels=False).graphs
    if name != "TU_MUTAG":
        return graphs
    named = (graph.replace(node_labels=[MUTAG_ATOMS[code] for code in graph.node_labels or ()]) for graph in graphs)
    return gm.GraphCollection(named)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=[*RECIPES, "certificates"])
    parser.add_argument("data", nargs="?", help="folder of the benchmarks")
    parser.add_argument("--pairs", type=int, help="labels, for a try with fewer")
    parser.add_argument("--steps", type=int, help="mini-batches, likewise")
    parser.add_argument("--out", type=Path, default=TARGET, help="folder that gets the folder of the model")
    given = parser.parse_args()
    if given.what == "certificates":
        found = {name: sorted(set(certificates(read_benchmark(name, given.data)))) for name in BENCHMARKS}
        LEFT_OUT.write_text(json.dumps(found, indent=0) + "\n")
        return
    recipe = RECIPES[given.what]
    recipe = replace(recipe, pairs=given.pairs or recipe.pairs, steps=given.steps or recipe.steps)
    model = train(given.what, recipe)
    model.save(given.out / given.what)
    print(model.report_["graphs"], model.report_["labels"], model.report_["training"], model.report_["validation"])


if __name__ == "__main__":
    main()
