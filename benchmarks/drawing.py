"""CPU seconds to lay out graphs, beside networkx's Kamada-Kawai layout, and how near the two nearest nodes come.

python benchmarks/drawing.py
"""

from __future__ import annotations

import time
from collections.abc import Callable

import networkx as nx
import numpy as np
from scipy.spatial.distance import pdist

import graphmetric as gm
from graphmetric.drawing import layout

LOSARTAN = "CCCCC1=NC(=C(N1CC2=CC=C(C=C2)C3=CC=CC=C3C4=NNN=N4)CO)Cl"
KAMADA_KAWAI_UP_TO = 150  # nodes; minutes beyond


def main() -> None:
    graphs = {
        "losartan": gm.Graph.from_smiles(LOSARTAN),
        "64 nodes, 512 edges": gm.Graph.from_networkx(nx.gnm_random_graph(64, 512, seed=0)),
        "100 nodes, 150 edges": gm.Graph.from_networkx(nx.gnm_random_graph(100, 150, seed=0)),
        "256 nodes, 2,048 edges": gm.Graph.from_networkx(nx.gnm_random_graph(256, 2048, seed=0)),
        "1,600 nodes, a grid": gm.Graph.from_networkx(nx.grid_2d_graph(40, 40)),
    }
    print(f"{'graph':<24}{'ours':>16}{'Kamada-Kawai':>22}   CPU s, nearest nodes in mean edge lengths")
    for name, graph in graphs.items():
        ours = measure(layout, graph)
        theirs = measure(kamada_kawai, graph) if graph.num_nodes <= KAMADA_KAWAI_UP_TO else "-"
        print(f"{name:<24}{ours:>16}{theirs:>22}")


def measure(lay_out: Callable[[gm.Graph], np.ndarray], graph: gm.Graph) -> str:
    started = time.process_time()
    positions = lay_out(graph)
    seconds = time.process_time() - started
    edges = np.linalg.norm(positions[graph.edges[:, 0]] - positions[graph.edges[:, 1]], axis=1)
    return f"{seconds:.3f}, {pdist(positions).min() / edges.mean():.2f}"


def kamada_kawai(graph: gm.Graph) -> np.ndarray:
    network = nx.Graph(graph.edges.tolist())
    network.add_nodes_from(range(graph.num_nodes))
    return np.array([place for _, place in sorted(nx.kamada_kawai_layout(network).items())])


if __name__ == "__main__":
    main()
