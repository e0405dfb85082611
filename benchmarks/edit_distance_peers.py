"""The exact edit distance beside networkx, on the same pairs of the embedded molecules, in one run.

    python benchmarks/edit_distance_peers.py [--pairs 40] [--largest 7] [--timeout 20]

networkx gets pairs of small molecules and a time limit for each, since larger ones take it hours. CPU time, one core.
"""

from __future__ import annotations

import argparse
import time

import networkx as nx
import numpy as np

import graphmetric as gm


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=40)
    parser.add_argument("--largest", type=int, default=7, help="nodes of the largest molecules used")
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds networkx may take for a pair")
    options = parser.parse_args()
    molecules = gm.load_dataset("molecules").graphs
    small = molecules[np.flatnonzero(molecules.sizes <= options.largest)]
    pairs = np.random.default_rng(0).integers(len(small), size=(options.pairs, 2))
    gm.pairwise_edit_distances(small, pairs=pairs[:1])  # compiles

    repeats = 20
    started = time.process_time()
    for _ in range(repeats):
        ours = gm.pairwise_edit_distances(small, pairs=pairs).distances
    own_seconds = (time.process_time() - started) / repeats

    graphs = [graph.to_networkx() for graph in small]
    started = time.process_time()
    theirs = np.array([
        nx.graph_edit_distance(
            graphs[i], graphs[j], node_match=lambda a, b: a["label"] == b["label"], timeout=options.timeout
        )
        for i, j in pairs.tolist()
    ])  # fmt: skip
    peer_seconds = time.process_time() - started
    print(f"{len(pairs)} pairs of molecules with at most {options.largest} atoms")
    print(f"graphmetric {1e6 * own_seconds / len(pairs):12,.1f} us per pair, all exact, checks and threads included")
    print(f"networkx    {1e6 * peer_seconds / len(pairs):12,.1f} us per pair, {(theirs == ours).mean():.0%} agree")
    print(f"ratio       {peer_seconds / own_seconds:12,.0f}")


if __name__ == "__main__":
    main()
