"""What isomorphic graphs save, and what a strict coupling costs, in one run.

    python benchmarks/copies_and_strict.py --root data/

For LINUX, of whose 1,000 graphs 89 are distinct, and for AIDS700nef: CPU time of all distances, of which isomorphic
graphs are encoded once. For pairs of molecules of AIDS42k of three sizes: CPU time per distance of a coupling of
the shipped model's node states, solved to .02 edits or two thousandths, and to .02 edits whatever the distance, as a
strict distance is.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

import graphmetric as gm
from graphmetric._foundation.threads import working_threads
from graphmetric.distance import Comparison, Coupling, Representation, pair_distances
from graphmetric.graphs.collection import GraphCollection
from graphmetric.learned.learned_distance import LearnedDistance
from graphmetric.model import structure_of


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True, help="Folder with LINUX.json, AIDS700nef.json and AIDS42k.npz.")
    parser.add_argument("--pairs", type=int, default=60)
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name, model in (("LINUX", "unlabelled"), ("AIDS700nef", "molecules")):
        measure_copies(name, LearnedDistance.load(model), gm.load_dataset(name, root=options.root).graphs)
    molecules = gm.load_dataset("AIDS42k", root=options.root).graphs.without(["edge_labels"])
    for least, most in ((8, 10), (20, 26), (38, 45)):
        chosen = np.flatnonzero((molecules.sizes >= least) & (molecules.sizes <= most))[:200]
        measure_strict(f"{least}-{most} nodes", molecules[chosen], options.pairs)


def measure_copies(name: str, model: LearnedDistance, graphs: GraphCollection) -> None:
    """Encoding every graph, and every class once, and the distances among them."""
    model.embed(graphs[:50])
    clock = time.process_time()
    with working_threads(1):
        model.network.encode_graphs(model.featurizer, graphs)
    every = time.process_time() - clock
    clock = time.process_time()
    model.encode(graphs)
    once = time.process_time() - clock
    classes = len(set(model.identify(graphs)))
    print(f"{name}: {len(graphs)} graphs, {classes} classes; encoded {every:.2f} -> {once:.2f} CPU s", flush=True)


def measure_strict(name: str, graphs: GraphCollection, count: int) -> None:
    """Distances of random pairs, to a relative and to an absolute tolerance."""
    model = LearnedDistance.load("molecules")
    encoded = model.encode(graphs).detached().compacted()
    encoded = encoded._replace(structure=structure_of(model.featurizer, graphs))
    pairs = np.random.default_rng(0).integers(0, len(graphs), (count, 2))
    names = [str(k) for k in range(len(graphs))]
    plain, strict = (seconds_of(encoded, pairs, names, epsilon) for epsilon in (0.0, None))
    print(
        f"{name}: {1000 * plain:.2f} ms a pair, strict {1000 * strict:.2f} ms ({strict / plain:.1f} times)", flush=True
    )


def seconds_of(graphs: Representation, pairs: np.ndarray, names: list[str], epsilon: float | None) -> float:
    with working_threads(1):
        comparison = Comparison.prepare(
            Coupling(graphs.rows.shape[1], fractions=True), graphs, certificates=names, epsilon=epsilon
        )
        pair_distances(comparison, pairs[:2])
        clock = time.process_time()
        pair_distances(comparison, pairs)
        return (time.process_time() - clock) / len(pairs)


if __name__ == "__main__":
    main()
