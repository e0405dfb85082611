"""Groups of graphs that are built alike: a learned distance, clustered with scikit-learn and by medoids.

Run it: python examples/clustering.py                          functions of Python's library, then families with truth
        python examples/clustering.py MUTAG --root FOLDER      clusters beside the classes of a TUDataset

The graph kernels beside it come with graphmetric-research, which must be installed: pip install -e research.

Classes are never learned from: they only tell how well clusters agree with them, by the adjusted Rand index and the
adjusted mutual information (both 0 for chance, 1 for the same groups). Few classes are clusters of any distance.
"""

# ruff: noqa: T201
from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

import graphmetric as gm
from graphmetric.errors import DatasetNotFound, InvalidArgument
from graphmetric_research.baselines import build_baseline


def group_functions(count: int = 200, max_steps: int = 300, **options: Any) -> tuple[list[int], list[int]]:
    """Cluster functions of Python's library in two ways; returns the cluster of each, -1 where DBSCAN sees noise."""
    programs = gm.load_dataset("programs").graphs
    graphs = programs[np.linspace(0, len(programs) - 1, count).astype(int)]  # from all modules
    model = gm.GraphDistance("small", max_steps=max_steps, **options).fit(graphs)
    distances = model.pairwise(graphs)  # a metric, so every method that needs one may have it

    dense = DBSCAN(metric="precomputed", eps=1.5, min_samples=4).fit_predict(distances)
    medoids = find_medoids(distances, 5)
    nearest = distances[:, medoids].argmin(axis=1)
    print("DBSCAN, up to 1.5 edits apart:", dict(sorted(Counter(dense.tolist()).items())))
    print("5 medoids, each with the functions that are nearest to it:")
    for cluster, medoid in enumerate(medoids):
        members = np.flatnonzero(nearest == cluster)
        middle, furthest = graphs[int(medoid)], distances[members, medoid].max()
        shape = f"{middle.num_nodes} blocks, {middle.num_edges} jumps"
        print(f"  {len(members):3}, up to {furthest:.1f} edits from {middle.id} ({shape})")
    return dense.tolist(), nearest.tolist()


def compare_with_classes(
    name: str = "families",
    root: str | None = None,
    count: int | None = None,
    max_steps: int = 300,
    **options: Any,
) -> dict[str, tuple[float, float]]:
    """Cluster by several distances in several ways; returns rand index and information of each, by their names."""
    try:
        graphs, classes = make_families() if name == "families" else read_classes(name, root)
    except DatasetNotFound as missing:
        print("skipped:", missing)
        return {}
    drawn = np.random.default_rng(0).permutation(len(graphs))[:count]
    graphs, classes = graphs[drawn], classes[drawn]
    print(f"{name}: {len(graphs)} graphs, {len(np.unique(classes))} classes")
    print("distance            clusters            number  noise   rand   information")
    agreements = {}
    for distance, matrix in measure_distances(graphs, gm.GraphDistance("small", max_steps=max_steps, **options)):
        for method, clusters in find_clusters(matrix, len(np.unique(classes))).items():
            rand, information = adjusted_rand_score(classes, clusters), adjusted_mutual_info_score(classes, clusters)
            number, noise = len(set(clusters) - {-1}), np.mean(clusters == -1)
            print(f"{distance:18}  {method:18}  {number:6}  {noise:5.0%}  {rand:5.2f}  {information:11.2f}", flush=True)
            agreements[f"{distance}, {method}"] = rand, information
    return agreements


def measure_distances(graphs: gm.GraphCollection, model: gm.GraphDistance) -> list[tuple[str, np.ndarray]]:
    """The learned distance in edits and in [0, 1], and what it must beat."""
    model.fit(graphs)
    others = ["wl-subtree", "wwl", "labels-and-degrees"]
    return [
        ("learned", model.pairwise(graphs).astype(np.float64)),
        ("learned, steinhaus", model.pairwise(graphs, view="steinhaus").astype(np.float64)),
        *((name, build_baseline(name).predict(graphs, graphs)) for name in others),
    ]


def find_clusters(distances: np.ndarray, number: int) -> dict[str, np.ndarray]:
    """The cluster of each graph, -1 for noise, in three ways; only HDBSCAN finds the number of clusters by itself."""
    linkage = AgglomerativeClustering(n_clusters=number, metric="precomputed", linkage="average")
    return {
        "HDBSCAN": HDBSCAN(metric="precomputed", min_cluster_size=5, copy=True).fit_predict(distances),
        "medoids": distances[:, find_medoids(distances, number)].argmin(axis=1),
        "average linkage": linkage.fit_predict(distances),
    }


def find_medoids(distances: np.ndarray, number: int) -> np.ndarray:
    """Positions of the graphs to which all others are nearest in sum, as far as exchanging one at a time leads.

    Medoids are graphs of the collection and need distances only; a mean of graphs does not exist.
    """
    medoids = np.zeros(0, dtype=int)
    for _ in range(number):
        medoids = np.append(medoids, _sum_to_nearest(distances, medoids).argmin())
    exchanged = True
    while exchanged:
        exchanged = False
        for place in range(number):
            sums = _sum_to_nearest(distances, np.delete(medoids, place))
            if sums.min() < sums[medoids[place]]:
                medoids[place], exchanged = sums.argmin(), True
    return medoids


def _sum_to_nearest(distances: np.ndarray, medoids: np.ndarray) -> np.ndarray:
    """For each graph, the sum of all distances to the nearest medoid if this graph were one more of them."""
    nearest = distances[:, medoids].min(axis=1, initial=np.inf)
    sums: np.ndarray = np.minimum(nearest[:, None], distances).sum(axis=0, dtype=np.float64)
    return sums


def make_families(families: int = 8, variants: int = 25) -> tuple[gm.GraphCollection, np.ndarray]:
    """Molecules, each with copies of it that differ by one to three random edits: a truth that is about edits."""
    rng = np.random.default_rng(0)
    originals = [graph for graph in gm.load_dataset("molecules").graphs if graph.num_nodes == 10]
    chosen = rng.choice(len(originals), families, replace=False)
    graphs = [
        gm.mutate(originals[k], int(rng.integers(1, 4)), random_state=rng, connected=True).graph
        for k in chosen
        for _ in range(variants)
    ]
    return gm.as_graphs(graphs), np.repeat(np.arange(families), variants)


def read_classes(name: str, root: str | None) -> tuple[gm.GraphCollection, np.ndarray]:
    """The graphs of a TUDataset and their classes."""
    data = gm.load_dataset(name, root)
    if data.classes is None:
        raise InvalidArgument(f"{name} has no classes; TUDatasets have")
    return data.graphs, data.classes


def main() -> None:
    """Read the command line and run what it asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", nargs="?", help="a TUDataset, or families")
    parser.add_argument("--root", help="folder of the data sets; by default what GRAPHMETRIC_DATA names, else data")
    parser.add_argument("--count", type=int, help="graphs to draw; by default all")
    parser.add_argument("--max-steps", type=int, default=300, help="of training")
    parser.add_argument("--label-budget", type=int, default=5000, help="edit distances to learn from")
    parser.add_argument("--n-jobs", type=int, default=-1, help="threads")
    given = vars(parser.parse_args())
    if given["name"] is None:
        group_functions()
    compare_with_classes(**given | {"name": given["name"] or "families"})


if __name__ == "__main__":
    main()
