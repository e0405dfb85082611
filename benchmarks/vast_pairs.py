"""Peak memory, CPU seconds and bounds of pairs whose matrices would not fit into memory.

python benchmarks/vast_pairs.py --nodes 20000
"""

import argparse
import resource
import time

import numpy as np

import graphmetric as gm


def star(nodes: int) -> gm.Graph:
    return gm.Graph(nodes, [(0, leaf) for leaf in range(1, nodes)])


def tree(nodes: int, seed: int) -> gm.Graph:
    """A random recursive tree with four labels."""
    rng = np.random.default_rng(seed)
    edges = [(int(rng.integers(0, node)), node) for node in range(1, nodes)]
    return gm.Graph(nodes, edges, node_labels=rng.choice(list("CNOS"), nodes).tolist())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=20_000)
    nodes = parser.parse_args().nodes
    gm.graph_edit_distance(star(4), star(3))
    pairs = {
        f"star of {nodes} and star of 3": (star(nodes), star(3)),
        f"tree of {nodes} and tree of 9": (tree(nodes, 0), tree(9, 1)),
        f"two trees of {nodes}": (tree(nodes, 0), tree(nodes, 1)),
    }
    for name, pair in pairs.items():
        started = time.process_time()
        found = gm.graph_edit_distance(*pair)
        used = time.process_time() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # kilobytes on Linux
        print(f"{name}: {found.lower:g} .. {found.upper:g}, {used:.2f} s of CPU, {peak:.2f} GB at most so far")


if __name__ == "__main__":
    main()
