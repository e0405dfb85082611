"""Classes of graphs by their nearest neighbours: a learned distance beside graph kernels and trivial floors.

Run it: python examples/classification.py                               which molecules have a carbonyl group?
        python examples/classification.py MUTAG --root FOLDER           a TUDataset, see docs/datasets.md

The graph kernels beside it come with graphmetric-research, which must be installed: pip install -e research.

Every method is cross-validated on the same folds and is one or more matrices of all graphs: the training part of a fold
chooses among them, and the number of neighbours or the penalty of the SVM, by a cross-validation of its own.

The distance is learned from edit distances that it computes itself and never sees a class. By default it is learned
once, from all graphs: those of the test folds are known to it, their classes are not (a transductive use). With
--per-fold it is learned anew from the training graphs of each fold, at as many times the cost. Copies of a graph in
training and test part help every method alike; --leak-free keeps one graph of each isomorphism class.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

import graphmetric as gm
from graphmetric.errors import DatasetNotFound, InvalidArgument
from graphmetric_research.baselines import build_baseline

ROUNDS = (1, 2, 3, 4)
NEIGHBOURS = GridSearchCV(KNeighborsClassifier(metric="precomputed"), {"n_neighbors": [1, 3, 5, 9, 15]})
SUPPORT_VECTORS = GridSearchCV(SVC(kernel="precomputed"), {"C": [0.01, 0.1, 1, 10, 100, 1000]})


class Method(NamedTuple):
    """A classifier and what it looks at."""

    name: str
    search: GridSearchCV
    candidates: list[list[np.ndarray]]
    """The matrices that each fold may choose from, all graphs by all graphs: distances, or kernels for an SVM."""
    seconds: float
    """CPU seconds that it took to make them."""


def main(
    name: str = "molecules",
    root: str | None = None,
    count: int = 500,
    folds: int = 5,
    max_steps: int = 300,
    per_fold: bool = False,
    leak_free: bool = False,
    **options: Any,
) -> dict[str, np.ndarray]:
    """Compare the methods; returns the accuracy of each in every fold, nothing if the data set is not there."""
    try:
        graphs, classes = read_classes(name, root, count, leak_free)
    except DatasetNotFound as missing:
        print("skipped:", missing)
        return {}
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=0).split(classes, classes))
    sources = [train for train, _ in splits] if per_fold else [np.arange(len(graphs))]
    model = gm.GraphDistance("small", max_steps=max_steps, **options)
    common = np.unique(classes, return_counts=True)[1].max() / len(graphs)
    print(f"{name}: {len(graphs)} graphs, {folds} folds; always saying the same: {common:.1%} right")
    print("method                          right  +- folds  CPU seconds: matrices, classifier")
    accuracies = {}
    for method in chain(compare_directly(graphs, folds), compare_by_learning(graphs, model, sources, folds)):
        started = process_time()
        folded = zip(method.candidates, splits, strict=True)
        found = np.array([score_fold(method.search, matrices, classes, *split) for matrices, split in folded])
        seconds = process_time() - started
        times = f"{method.seconds:21.1f}  {seconds:10.1f}"
        print(f"{method.name:30}  {found.mean():5.1%}  {found.std():8.1%}  {times}", flush=True)
        accuracies[method.name] = found
    return accuracies


def read_classes(name: str, root: str | None, count: int, leak_free: bool) -> tuple[gm.GraphCollection, np.ndarray]:
    """Graphs and their classes, ``count`` at most, in random order.

    Of molecules it is asked whether they have a carbonyl group; the bond types that tell are not in the graphs.
    """
    data = gm.load_dataset(name, root)
    if name == "molecules":
        with_bonds = gm.load_dataset(name, edge_labels=True).graphs
        data = replace(data, classes=np.array([has_carbonyl(molecule) for molecule in with_bonds], dtype=int))
    if leak_free:
        data = data.leak_free()
    if data.classes is None:
        raise InvalidArgument(f"{name} has no classes; molecules has, and so have TUDatasets")
    drawn = np.random.default_rng(0).permutation(len(data.graphs))[:count]
    return data.graphs[drawn], data.classes[drawn]


def has_carbonyl(molecule: gm.Graph) -> bool:
    """Whether a carbon and an oxygen share a double bond."""
    atoms, bonds = molecule.node_labels or (), molecule.edge_labels or ()
    ends = [{atoms[u], atoms[v]} for u, v in molecule.edges]
    return ({"C", "O"}, "double") in zip(ends, bonds, strict=True)


def compare_directly(graphs: gm.GraphCollection, folds: int) -> Iterator[Method]:
    """Floors and kernels, which learn nothing, so that all folds share their matrices."""
    for name, rounds in (("size-difference", ()), ("labels-and-degrees", ()), ("wl-subtree", ROUNDS), ("wwl", ROUNDS)):
        started = process_time()
        baselines = [build_baseline(name, rounds=r) for r in rounds] or [build_baseline(name)]
        distances = [baseline.predict(graphs, graphs) for baseline in baselines]
        seconds = process_time() - started
        yield Method(f"{name}, neighbours", NEIGHBOURS, [distances] * folds, seconds)
        if name == "wl-subtree":
            kernels = [1 - d**2 / 2 for d in distances]  # back from the distance to the normalised kernel
            yield Method(f"{name}, SVM", SUPPORT_VECTORS, [kernels] * folds, seconds)


def compare_by_learning(
    graphs: gm.GraphCollection, model: gm.GraphDistance, sources: list[np.ndarray], folds: int
) -> Iterator[Method]:
    """The model, learned from the graphs at each of ``sources``: one for every fold, or one for all of them."""
    started = process_time()
    learned = [measure_twice(clone(model).fit(graphs[source]), graphs) for source in sources]
    seconds = process_time() - started
    learned *= folds // len(sources)
    yield Method("learned, neighbours", NEIGHBOURS, learned, seconds)
    similar = [[np.exp(-share / scale) for scale in (0.1, 0.3, 1.0)] for _, share in learned]
    yield Method("learned, SVM", SUPPORT_VECTORS, similar, seconds)


def measure_twice(model: gm.GraphDistance, graphs: gm.GraphCollection) -> list[np.ndarray]:
    """The distances in edits, and in [0, 1] whatever the sizes of the graphs. Both are metrics."""
    return [model.pairwise(graphs), model.pairwise(graphs, view="steinhaus")]


def score_fold(
    search: GridSearchCV, matrices: list[np.ndarray], classes: np.ndarray, train: np.ndarray, test: np.ndarray
) -> float:
    """Accuracy on the test part of the matrix and the parameter that do best within the training part."""
    searches = [clone(search).fit(matrix[np.ix_(train, train)], classes[train]) for matrix in matrices]
    best = int(np.argmax([found.best_score_ for found in searches]))
    return float(searches[best].score(matrices[best][np.ix_(test, train)], classes[test]))


def read_command_line() -> dict[str, Any]:
    """The arguments of :func:`main`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", default="molecules")
    parser.add_argument("--root", help="folder of the data sets; by default what GRAPHMETRIC_DATA names, else data")
    parser.add_argument("--count", type=int, default=500, help="graphs, drawn at random where there are more")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--max-steps", type=int, default=300, help="of training")
    parser.add_argument("--label-budget", type=int, default=5000, help="edit distances to learn from")
    parser.add_argument("--n-jobs", type=int, default=-1, help="threads")
    parser.add_argument("--per-fold", action="store_true", help="learn from the training graphs of each fold only")
    parser.add_argument("--leak-free", action="store_true", help="one graph per isomorphism class")
    return vars(parser.parse_args())


if __name__ == "__main__":
    main(**read_command_line())
