"""Time that isomorphic graphs save.

    python benchmarks/copies.py --root data/

For LINUX, of whose 1,000 graphs 89 are distinct, and for AIDS700nef: CPU time of encoding every graph, and every
isomorphism class once.
"""

from __future__ import annotations

import argparse
import time

import torch

import graphmetric as gm
from graphmetric._foundation.threads import thread_limit
from graphmetric.graphs.collection import GraphCollection
from graphmetric.learned.learned_distance import LearnedDistance


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", required=True, help="Folder with LINUX.json and AIDS700nef.json.")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for name, model in (("LINUX", "unlabelled"), ("AIDS700nef", "molecules")):
        measure_copies(name, LearnedDistance.load(model), gm.load_dataset(name, root=options.root).graphs)


def measure_copies(name: str, model: LearnedDistance, graphs: GraphCollection) -> None:
    """Encoding every graph, and every class once, and the distances among them."""
    model.embed(graphs[:50])
    clock = time.process_time()
    with thread_limit(1):
        model.network.encode_graphs(model.featurizer, graphs)
    every = time.process_time() - clock
    clock = time.process_time()
    model.encode(graphs)
    once = time.process_time() - clock
    classes = len(set(model.identify(graphs)))
    print(f"{name}: {len(graphs)} graphs, {classes} classes; encoded {every:.2f} -> {once:.2f} CPU s", flush=True)


if __name__ == "__main__":
    main()
