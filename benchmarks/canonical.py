"""Canonical form against igraph: CPU time per graph on the benchmark sets, and on very regular graphs.

    python benchmarks/canonical.py [--data FOLDER]

Ours ends with a certificate in hand: attributes read, canonical order, hash. igraph is timed twice: the order alone, on
graphs built beforehand, and the way to the relabelled edges, which is what a certificate would be made of.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import igraph
import networkx as nx
import numpy as np

from graphmetric.graphs.collection import GraphCollection, certificates, isomorphism_classes
from graphmetric.graphs.graph import Graph

REGULAR = {
    "Paley 101": nx.paley_graph(101).to_undirected(),
    "rook 15": nx.line_graph(nx.complete_bipartite_graph(15, 15)),
    "hypercube 10": nx.hypercube_graph(10),
    "complete 300": nx.complete_graph(300),
    "star 2000": nx.star_graph(2000),
    "cycle 2000": nx.cycle_graph(2000),
    "binary tree 2047": nx.balanced_tree(2, 10),
    "random tree 2000": nx.random_labeled_tree(2000, seed=1),
    "cubic 2000": nx.random_regular_graph(3, 2000, seed=1),
    "random 2000": nx.gnm_random_graph(2000, 5000, seed=1),
}


def cpu_seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """The least CPU time of a few runs."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def colours_of(graph: Graph, numbers: dict[object, int]) -> list[int]:
    return [numbers.setdefault(label, len(numbers)) for label in graph.node_labels or [None] * graph.num_nodes]


def time_igraph_order(graphs: Sequence[Graph]) -> float:
    numbers: dict[object, int] = {}
    ready = [(igraph.Graph(g.num_nodes, g.edges.tolist()), colours_of(g, numbers)) for g in graphs]
    return cpu_seconds(lambda: [graph.canonical_permutation(color=colours) for graph, colours in ready])


def time_igraph_form(graphs: Sequence[Graph]) -> float:
    numbers: dict[object, int] = {}
    given = [(g.num_nodes, g.edges.tolist(), colours_of(g, numbers)) for g in graphs]

    def find_forms() -> None:
        for num_nodes, edges, colours in given:
            graph = igraph.Graph(num_nodes, edges)
            sorted(graph.permute_vertices(graph.canonical_permutation(color=colours)).get_edgelist())

    return cpu_seconds(find_forms)


def read_set(path: Path) -> GraphCollection:
    found = json.loads(path.read_text())["graphs"]
    return GraphCollection(Graph(len(one["nodes"]), one["edges"], node_labels=one["nodes"]) for one in found)


def compare_sets(folder: Path) -> None:
    print(f"{'set':12} {'graphs':>7} {'classes':>8} {'ours us':>9} {'igraph us':>10} {'its form us':>12}")
    for name in ("AIDS700nef", "LINUX", "IMDBMulti"):
        graphs = read_set(folder / f"{name}.json")
        ours = cpu_seconds(lambda graphs=graphs: certificates(graphs)) / len(graphs)
        order, form = (time(list(graphs)) / len(graphs) for time in (time_igraph_order, time_igraph_form))
        classes = isomorphism_classes(graphs).max() + 1
        print(f"{name:12} {len(graphs):7} {classes:8} {ours * 1e6:9.1f} {order * 1e6:10.1f} {form * 1e6:12.1f}")


def compare_regular_graphs() -> None:
    print(f"{'graph':18} {'nodes':>6} {'edges':>7} {'ours ms':>9} {'igraph ms':>10}")
    for name, given in REGULAR.items():
        numbered = nx.convert_node_labels_to_integers(given)
        graph = Graph(len(numbered), list(numbered.edges))
        graph = graph.relabeled(np.random.default_rng(0).permutation(graph.num_nodes))
        ours, theirs = cpu_seconds(lambda graph=graph: graph.certificate(), 1), time_igraph_order([graph])
        print(f"{name:18} {graph.num_nodes:6} {graph.num_edges:7} {ours * 1e3:9.2f} {theirs * 1e3:10.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = os.environ.get("GRAPHMETRIC_DATA", Path(__file__).parents[2] / "shared" / "data")
    parser.add_argument("--data", type=Path, default=default, help="folder of the benchmark sets")
    folder = Path(parser.parse_args().data)
    compile_seconds = cpu_seconds(lambda: Graph(2, [(0, 1)]).certificate(), 1)
    print(f"first call: {compile_seconds:.1f} s")
    if folder.exists():
        compare_sets(folder)
    compare_regular_graphs()


if __name__ == "__main__":
    main()
