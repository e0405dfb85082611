"""Train the models that come with the package, and write them into it.

    python tools/make_models.py molecules
    python tools/make_models.py programs
    python tools/make_models.py unlabelled
    python tools/make_models.py certificates DATA_FOLDER

``molecules``: the NCI molecules of ``make_molecules.py`` with up to fifty heavy atoms, read in four ways, so that the
model knows bonds under each of their usual names, and molecules without bond types. ``programs``: directed control-flow
graphs of Python's standard library, 4 to 100 blocks. ``unlabelled``: the embedded sets "programs" and "atlas", and
random trees and sparse graphs of 8 to 15 nodes.

Graphs of public benchmarks are left out, so that these can tell how well a model does on graphs that it has never
seen: every training graph, and every mutation of one, that is isomorphic to a graph of AIDS700nef, LINUX or MUTAG, bond
types and charges aside. The certificates of those graphs are in a file beside this one, so nobody needs the benchmarks
to train the same model; the last command writes that file.

With ``--work FOLDER`` labels and checkpoints are kept there, and a run that was stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import re
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, reduce
from pathlib import Path

import make_programs
import networkx as nx
import numpy as np
from make_molecules import small_molecules
from scipy.stats import spearmanr

import graphmetric as gm
from graphmetric.graphs.collection import certificates
from graphmetric.graphs.pair_bounds import PairBounds
from graphmetric.learned.training_range import describe_range
from graphmetric.training.options import preset
from graphmetric.training.supervision import LabelBudget, Supervision, find_distinct, hold_out, make_supervision

TARGET = Path(__file__).parents[1] / "src/graphmetric/learned/shipped_models"
LEFT_OUT = Path(__file__).with_name("benchmark_certificates.json")
BENCHMARKS = ("AIDS700nef", "LINUX", "TU_MUTAG")
MUTAG_ATOMS = ("C", "N", "O", "F", "I", "Cl", "Br")
MOST_ATOMS = 50
FEWEST_BLOCKS, MOST_BLOCKS = 4, 100
RANDOM_GRAPHS = 800
"""Trees, and as many other graphs."""
BANDS = ((1, 12), (13, 20), (21, 30), (31, 100))
"""Sizes of which the larger models take equally many, as far as there are that many: most of what there is is small."""
NEAR_HALVING = 0.4
"""As many edits for each node halve the weight of a pair: with equal weights near pairs are overrated by more."""
SEED = 0

Part = tuple[float, gm.GraphCollection]
"""Graphs of one kind with their share of the labels."""


def molecules() -> list[Part]:
    """The same molecules with bonds as SMILES have them and charges; with alternating bonds; named bonds; no bonds."""
    named = list(small_molecules(most_atoms=MOST_ATOMS))
    texts = [str(graph.metadata["smiles"]) for graph in named]
    plain = [graph.replace(edge_labels=None) for graph in named]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of stereochemistry and isotopes, which do not count here
        charged = [gm.Graph.from_smiles(text, distinguish="charge") for text in texts]
        alternating = [gm.Graph.from_smiles(text, kekulize=True) for text in texts]
    kinds = ((0.4, charged), (0.3, alternating), (0.1, named), (0.2, plain))
    return [(share, take_bands(gm.GraphCollection(graphs), SEED + k)) for k, (share, graphs) in enumerate(kinds)]


def programs() -> list[Part]:
    """Directed control flow of the functions of the standard library, blocks labelled by how they end, and without."""
    sources = make_programs.library_sources()
    labelled = gm.GraphCollection(make_programs.directed_graphs(sources, FEWEST_BLOCKS, MOST_BLOCKS))
    parts = (labelled, labelled.without(["node_labels"]))
    return [(0.5, take_bands(graphs, SEED + k)) for k, graphs in enumerate(parts)]


def take_bands(graphs: gm.GraphCollection, seed: int, most: int = 1000) -> gm.GraphCollection:
    """At most this many graphs of every band of sizes, no two isomorphic, drawn by seed."""
    graphs = graphs[find_distinct(graphs)]
    order = np.random.default_rng(seed).permutation(len(graphs))
    sizes = graphs.sizes[order]
    chosen = [order[(sizes >= least) & (sizes <= largest)][:most] for least, largest in BANDS]
    return graphs[np.sort(np.concatenate(chosen))]


def unlabelled() -> list[Part]:
    """Real and random graphs without labels."""
    rng = np.random.default_rng(SEED)
    trees = [random_graph(0, rng) for _ in range(RANDOM_GRAPHS)]
    others = [random_graph(int(rng.integers(1, 9)), rng) for _ in range(RANDOM_GRAPHS)]
    stored = gm.load_dataset("programs").graphs + gm.load_dataset("atlas").graphs
    return [(1.0, stored + gm.GraphCollection(trees + others))]


def random_graph(more_edges: int, rng: np.random.Generator) -> gm.Graph:
    """A random labelled tree of 8 to 15 nodes, forgetting the labels, and edges between nodes that have none."""
    nodes = int(rng.integers(8, 16))
    tree = nx.from_prufer_sequence(rng.integers(nodes, size=nodes - 2).tolist())
    free = list(nx.complement(tree).edges)
    return gm.Graph(nodes, [*tree.edges, *(free[k] for k in rng.permutation(len(free))[:more_edges])])


@dataclass(frozen=True)
class Recipe:
    """What a model is trained on, and how long."""

    make_parts: Callable[[], list[Part]]
    source: str
    """The graphs, in words."""
    pairs: int
    """Labels, of validation pairs too."""
    steps: int
    """Mini-batches."""
    edits: int
    """The most edits of a mutation."""
    clique: int
    """The least graphs of which all pairs are labelled."""


RECIPES = {
    "molecules": Recipe(
        molecules,
        "connected molecules of up to 50 heavy atoms among the first 5,000 of the NCI open database (NCI/DTP, not "
        "copyrighted), from the file in RDKit, no hydrogens; with bonds 1, 2, 3, aromatic and charges (N+, O-) for "
        "two fifths of the labels, alternating bonds 1, 2, 3 for three tenths, bonds single, double, triple, aromatic "
        "for a tenth, no bond types for a fifth",
        pairs=600_000,
        steps=10_000,
        edits=10,
        clique=32,
    ),
    "programs": Recipe(
        programs,
        "directed control-flow graphs of 4 to 100 basic blocks of the functions of Python's standard library, by "
        f"{make_programs.MADE_WITH[0]}; for half of the labels blocks are labelled by how they end (return, raise, "
        "loop, condition, jump, next), for half not at all",
        pairs=300_000,
        steps=6_000,
        edits=10,
        clique=32,
    ),
    "unlabelled": Recipe(
        unlabelled,
        "control-flow graphs of Python's standard library (data set programs), all graphs of up to 7 nodes (data set "
        "atlas), random trees and sparse random graphs of 8 to 15 nodes",
        pairs=600_000,
        steps=10_000,
        edits=5,
        clique=200,
    ),
}


def train(name: str, recipe: Recipe, work: Path | None = None) -> gm.GraphDistance:
    """The model of this name, on labels that are made as ``GraphDistance.fit`` makes its own."""
    parts = [(share, take_new(graphs)) for share, graphs in recipe.make_parts()]
    made = [label_part(k, *part, recipe, work) for k, part in enumerate(parts)]
    found = join([supervision for supervision, _ in made])
    options, training = preset("small")
    training = replace(training, steps=recipe.steps, near_halving=NEAR_HALVING)
    checkpoint = None if work is None else work / name
    model = gm.GraphDistance((options, training), n_jobs=1, random_state=SEED, checkpoint=checkpoint)
    validation_graphs = np.unique(found.validation.pairs[:, 1])
    model.fit(found.graphs, found.training.concatenate(found.validation), val=validation_graphs)
    model.report_["graphs"] |= {
        "training_graphs": sum(count for _, count in made),
        **describe_range(sum((graphs for _, graphs in parts[1:]), parts[0][1])),
        "source": recipe.source,
        "left_out": f"graphs and mutations that are isomorphic to one of {', '.join(BENCHMARKS)}",
    }
    model.report_["labels"] |= {
        "origin": found.origin,
        "mutated_graphs_in_training_pairs": count_new(found.graphs, [graphs for _, graphs in parts]),
        "cpu_seconds": round(found.cpu_seconds, 1),
    }
    model.report_["training"] |= {"command": f"python tools/make_models.py {name}"}
    model.report_["validation"] |= describe_by_size(model, found)
    return model.set_params(n_jobs=-1, checkpoint=None)


def describe_by_size(model: gm.GraphDistance, found: Supervision) -> dict[str, str]:
    """How near the distances of validation pairs are to the known ones, by the mean number of nodes of a pair."""
    labels = found.validation.take(np.flatnonzero(found.validation.exact))
    sizes = found.graphs.sizes[labels.pairs].mean(axis=1)
    said = model.learned_.measure_pairs(found.graphs, labels.pairs)
    rows = {}
    for least, most in BANDS:
        chosen = (sizes > least - 1) & (sizes <= most)
        if chosen.sum() > 20:
            true, predicted = labels.lower[chosen], said[chosen]
            error, correlation = np.abs(predicted - true).mean(), spearmanr(predicted, true).statistic
            rows[f"pairs of {least} to {most} nodes"] = (
                f"{chosen.sum():,}; mean error {error:.2f} of {true.mean():.1f} edits, rank correlation "
                f"{correlation:.3f}"
            )
    return rows


def label_part(
    k: int, share: float, graphs: gm.GraphCollection, recipe: Recipe, work: Path | None
) -> tuple[Supervision, int]:
    """Labels of one kind of graphs, and how many graphs they were made from."""
    held_out = hold_out(len(graphs), None, 0.1, SEED)
    training_graphs = graphs[np.setdiff1d(np.arange(len(graphs)), held_out)]
    budget = LabelBudget(round(share * recipe.pairs), n_jobs=1, store=None if work is None else work / f"labels-{k}")
    made = make_supervision(training_graphs, graphs[held_out], budget, recipe.edits, SEED + k, recipe.clique)
    return drop_known(made), len(training_graphs)


def join(parts: list[Supervision]) -> Supervision:
    """All graphs and labels of several supervisions."""
    first = np.cumsum([0, *(len(part.graphs) for part in parts)])
    graphs = sum((part.graphs for part in parts[1:]), parts[0].graphs)
    training, validation = (
        join_labels([getattr(part, name) for part in parts], first) for name in ("training", "validation")
    )
    return Supervision(
        graphs, training, validation, parts[0].origin, cpu_seconds=sum(part.cpu_seconds for part in parts)
    )


def join_labels(parts: Iterable[PairBounds], first: np.ndarray) -> PairBounds:
    """Labels one after another; those of part k name graphs from number first[k] on."""
    moved = [PairBounds(own.pairs + first[k], own.lower, own.upper) for k, own in enumerate(parts)]
    return reduce(PairBounds.concatenate, moved)


@cache
def read_left_out() -> frozenset[str]:
    """Certificates of the graphs of all benchmarks."""
    return frozenset(text for texts in json.loads(LEFT_OUT.read_text()).values() for text in texts)


def plain_names(graphs: gm.GraphCollection) -> np.ndarray:
    """Certificates as the benchmarks have them: without bond types and charges; of directed graphs without labels."""
    return np.array(certificates(gm.GraphCollection(without_details(graph) for graph in graphs)))


def without_details(graph: gm.Graph) -> gm.Graph:
    """The graph without edge labels, with element symbols for labels such as N+ or O-2, or none where directed."""
    labels = None if graph.directed else graph.node_labels
    symbols = None if labels is None else [re.sub(r"[+-]\d*$", "", str(label)) for label in labels]
    return graph.replace(node_labels=symbols, edge_labels=None)


def take_new(graphs: gm.GraphCollection) -> gm.GraphCollection:
    """One graph of each isomorphism class that is in no benchmark."""
    graphs = graphs[np.sort(np.unique(certificates(graphs), return_index=True)[1])]
    return graphs[np.flatnonzero(~np.isin(plain_names(graphs), list(read_left_out())))]


def drop_known(supervision: Supervision) -> Supervision:
    """Without the mutations that have become a graph of a benchmark."""
    kept = np.flatnonzero(~np.isin(plain_names(supervision.graphs), list(read_left_out())))
    parts = (take_among(kept, labels) for labels in (supervision.training, supervision.validation))
    return Supervision(supervision.graphs[kept], *parts, supervision.origin, cpu_seconds=supervision.cpu_seconds)


def take_among(kept: np.ndarray, labels: PairBounds) -> PairBounds:
    """The labels of pairs of graphs that are kept, by their new positions."""
    inside = labels.take(np.flatnonzero(np.isin(labels.pairs, kept).all(axis=1)))
    return PairBounds(np.searchsorted(kept, inside.pairs), inside.lower, inside.upper)


def count_new(graphs: gm.GraphCollection, known: Iterable[gm.GraphCollection]) -> int:
    """How many are neither empty nor isomorphic to a known one: the mutations."""
    own = {text for collection in known for text in certificates(collection)}
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
    parser.add_argument("--work", type=Path, help="folder in which unfinished work is kept")
    parser.add_argument("--out", type=Path, default=TARGET, help="folder that gets the folder of the model")
    given = parser.parse_args()
    if given.what == "certificates":
        found = {name: sorted(set(certificates(read_benchmark(name, given.data)))) for name in BENCHMARKS}
        LEFT_OUT.write_text(json.dumps(json.loads(LEFT_OUT.read_text()) | found, indent=0) + "\n")
        return
    recipe = RECIPES[given.what]
    recipe = replace(recipe, pairs=given.pairs or recipe.pairs, steps=given.steps or recipe.steps)
    model = train(given.what, recipe, given.work)
    model.save(given.out / given.what)
    print(model.report_["graphs"], model.report_["labels"], model.report_["training"], model.report_["validation"])


if __name__ == "__main__":
    main()
