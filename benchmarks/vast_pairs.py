"""Bounds, time and peak memory of the exact search on graphs of 100 to 20,000 nodes, each pair in a process of its own.

    python benchmarks/vast_pairs.py [--seconds 1 10] [--only PART_OF_NAME]

Sparse random graphs have four labels and 1.2 edges for each node; near ones are renumbered copies from which some edges
are deleted and in which as many nodes are relabelled. The matrices of the last pairs would not fit into memory.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable

import networkx as nx
import numpy as np

import graphmetric as gm

Pair = tuple[gm.Graph, gm.Graph]
LABELS = 4


def sparse(nodes: int, seed: int) -> gm.Graph:
    """A random graph with labels."""
    rng = np.random.default_rng(seed)
    edges = {tuple(sorted(rng.choice(nodes, 2, replace=False).tolist())) for _ in range(6 * nodes // 5)}
    return gm.Graph(nodes, sorted(edges), node_labels=rng.integers(0, LABELS, nodes).tolist())


def near(nodes: int, edits: int) -> Pair:
    """A random graph, and a copy with some edits, half of them of each kind."""
    graph, rng = sparse(nodes, 1), np.random.default_rng(9)
    assert graph.node_labels is not None
    labels = list(graph.node_labels)
    for node in rng.choice(nodes, edits // 2, replace=False).tolist():
        labels[node] = int(rng.integers(0, LABELS))
    changed = gm.Graph(nodes, graph.edges[edits // 2 :], node_labels=labels)
    return graph, changed.relabeled(rng.permutation(nodes))


def star(nodes: int) -> gm.Graph:
    return gm.Graph(nodes, [(0, leaf) for leaf in range(1, nodes)])


def tree(nodes: int, seed: int) -> gm.Graph:
    """A random recursive tree with four labels."""
    rng = np.random.default_rng(seed)
    edges = [(int(rng.integers(0, node)), node) for node in range(1, nodes)]
    return gm.Graph(nodes, edges, node_labels=rng.choice(list("CNOS"), nodes).tolist())


def from_nx(graph: nx.Graph) -> gm.Graph:
    return gm.as_graph(nx.convert_node_labels_to_integers(graph))


PAIRS: dict[str, Callable[[], Pair]] = {
    "complete graphs of 100 and 98 nodes": lambda: (
        from_nx(nx.complete_graph(100)),
        from_nx(nx.complete_graph(98)),
    ),
    "stars of 100 and 90 nodes": lambda: (star(100), star(90)),
    "grids of 10 x 10 and 9 x 11": lambda: (from_nx(nx.grid_2d_graph(10, 10)), from_nx(nx.grid_2d_graph(9, 11))),
    "random graphs of 100 nodes, 500 edges": lambda: (
        from_nx(nx.gnm_random_graph(100, 500, seed=1)),
        from_nx(nx.gnm_random_graph(100, 500, seed=2)),
    ),
    "random graphs of 100 nodes, 2,500 edges": lambda: (
        from_nx(nx.gnm_random_graph(100, 2500, seed=1)),
        from_nx(nx.gnm_random_graph(100, 2500, seed=2)),
    ),
    "sparse graphs of 100 nodes": lambda: (sparse(100, 1), sparse(100, 2)),
    "sparse graphs of 500 nodes": lambda: (sparse(500, 1), sparse(500, 2)),
    "near graphs of 500 nodes, 20 edits": lambda: near(500, 20),
    "grids of 22 x 22 and 22 x 23": lambda: (from_nx(nx.grid_2d_graph(22, 22)), from_nx(nx.grid_2d_graph(22, 23))),
    "sparse graphs of 2,000 nodes": lambda: (sparse(2000, 1), sparse(2000, 2)),
    "near graphs of 2,000 nodes, 40 edits": lambda: near(2000, 40),
    "stars of 20,000 and 3 nodes": lambda: (star(20_000), star(3)),
    "random trees of 20,000 and 9 nodes": lambda: (tree(20_000, 0), tree(9, 1)),
    "two random trees of 20,000 nodes": lambda: (tree(20_000, 0), tree(20_000, 1)),
}


def measure(name: str, seconds: float) -> None:
    """Print one row; compiled code is read and used once before."""
    gm.graph_edit_distance(sparse(30, 1), sparse(30, 2), time_limit=0.1)
    pair = PAIRS[name]()
    gm.graph_edit_distance(*pair, time_limit=0.0)
    started, used = time.monotonic(), time.process_time()
    found = gm.graph_edit_distance(*pair, time_limit=seconds)
    wall, cpu = time.monotonic() - started, time.process_time() - used
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # kilobytes on Linux
    bounds = f"{found.upper:g}, proven" if found.exact else f"{found.lower:g} .. {found.upper:g}"
    print(f"{name}, limit {seconds:g} s: {bounds}, {wall:.2f} s ({cpu:.2f} s of CPU), {peak:.2f} GB", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, nargs="+", default=[1.0, 10.0])
    parser.add_argument("--only", default="", help="pairs with this in their names")
    options = parser.parse_args()
    for name in PAIRS:
        for seconds in options.seconds if options.only in name else ():
            process = multiprocessing.get_context("spawn").Process(target=measure, args=(name, seconds))
            process.start()
            process.join()


if __name__ == "__main__":
    main()
