"""How well maps keep neighbours: principal components beside t-SNE, on the vectors of the shipped model.

    python benchmarks/collection_map.py [--dataset molecules] [--neighbours 5 10 30]

Trustworthiness is 1 if the nearest points of every point are among its nearest vectors (scikit-learn's measure).
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.manifold import trustworthiness

import graphmetric as gm
from graphmetric.learned.learned_distance import LearnedDistance


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="molecules")
    parser.add_argument("--neighbours", type=int, nargs="+", default=[5, 10, 30])
    given = parser.parse_args()
    graphs = gm.load_dataset(given.dataset).graphs
    index = gm.GraphIndex.build(LearnedDistance.load("molecules", 1), graphs)
    vectors = index.vectors()
    firsts = np.unique(vectors, axis=0, return_index=True)[1]
    print(f"{len(index):,} graphs of {given.dataset}, {len(firsts):,} different vectors of {vectors.shape[1]} numbers")
    index.map()
    for method in ("pca", "tsne"):
        start = time.process_time()
        found = index.build_map(method)  # type: ignore[arg-type]
        seconds = time.process_time() - start
        kept = [trustworthiness(vectors[firsts], found.points[firsts], n_neighbors=k) for k in given.neighbours]
        told = ", ".join(f"{value:.3f} at {k}" for value, k in zip(kept, given.neighbours, strict=True))
        print(f"{method:5} {seconds:6.2f} CPU s   trustworthiness {told}")


if __name__ == "__main__":
    main()
