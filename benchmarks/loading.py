"""Reading the 42,689 molecules of AIDS42k: graphmetric beside networkx and PyG.

Each reader runs in a process of its own on files of the same graphs, and reports CPU seconds and the memory that the
loaded graphs take (growth of resident memory). Ratios are against graphmetric's own format.

    python benchmarks/loading.py [--data FOLDER] [--graphs N] [--repeat 3]
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path


def read_gmg(folder: Path) -> object:
    from graphmetric import read_graphs

    return read_graphs(folder / "graphs.gmg")


def read_jsonl(folder: Path) -> object:
    from graphmetric import read_graphs

    return read_graphs(folder / "node_link.jsonl")


def read_tve(folder: Path) -> object:
    from graphmetric import read_graphs

    return read_graphs(folder / "graphs.tve")


def read_json(folder: Path) -> object:
    from graphmetric import read_graphs

    return read_graphs(folder / "node_link.json")


def read_tudataset(folder: Path) -> object:
    from graphmetric import read_graphs

    return read_graphs(folder / "AIDS42k")


def networkx_node_link(folder: Path) -> object:
    import networkx as nx

    with open(folder / "node_link.jsonl", encoding="utf-8") as lines:
        return [nx.node_link_graph(json.loads(line), edges="edges") for line in lines]


def networkx_tve(folder: Path) -> object:
    """A plain loop without checks, since networkx has no reader of this format."""
    import networkx as nx

    graphs: list[nx.Graph] = []
    with open(folder / "graphs.tve", encoding="utf-8") as lines:
        for line in lines:
            kind, *words = line.split()
            if kind == "t":
                graphs.append(nx.Graph(id=words[1]))
            elif kind == "v":
                graphs[-1].add_node(int(words[0]), label=words[1])
            else:
                graphs[-1].add_edge(int(words[0]), int(words[1]), label=words[2])
    return graphs


def pyg_tudataset(folder: Path) -> object:
    from torch_geometric.io import read_tu_data

    return read_tu_data(str(folder / "AIDS42k"), "AIDS42k")


READERS: dict[str, Callable[[Path], object]] = {
    "graphmetric .gmg": read_gmg,
    "graphmetric node-link JSON lines": read_jsonl,
    "graphmetric node-link JSON": read_json,
    "graphmetric t/v/e text": read_tve,
    "graphmetric TUDataset": read_tudataset,
    "networkx node-link JSON lines": networkx_node_link,
    "networkx t/v/e text, plain loop": networkx_tve,
    "PyG TUDataset": pyg_tudataset,
}


def measure(name: str, folder: Path) -> None:
    """Run one reader twice: imports and compiled code are warm when the clock starts."""
    reader = READERS[name]
    small = folder / "warm-up"
    reader(small)
    gc.collect()
    before, started = resident_bytes(), time.process_time()
    loaded = reader(folder)
    seconds = time.process_time() - started
    gc.collect()
    print(json.dumps({"seconds": seconds, "bytes": resident_bytes() - before, "kept": loaded is not None}))


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def write_files(graphs: object, folder: Path) -> None:
    """The same graphs in every layout that some reader here wants."""
    import networkx as nx

    from graphmetric import write_graphs

    folder.mkdir(parents=True, exist_ok=True)
    write_graphs(graphs, folder / "graphs.gmg")
    write_graphs(graphs, folder / "AIDS42k", format="tudataset")
    write_graphs(graphs, folder / "node_link.json")
    write_graphs(graphs, folder / "graphs.tve")
    with open(folder / "node_link.jsonl", "w", encoding="utf-8") as file:
        for graph in graphs:
            file.write(json.dumps(nx.node_link_data(graph.to_networkx(), edges="edges")) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("GRAPHMETRIC_DATA", "../shared/data"))
    parser.add_argument("--graphs", type=int, default=None, help="only the first N graphs")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--measure", nargs=2, metavar=("READER", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        measure(options.measure[0], Path(options.measure[1]))
        return
    from graphmetric import load_dataset

    graphs = load_dataset("AIDS42k", root=options.data).graphs[: options.graphs]
    print(f"{len(graphs):,} graphs; CPU seconds, median of {options.repeat}; memory of the loaded graphs")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_files(graphs, folder)
        write_files(graphs[:50], folder / "warm-up")
        baseline: tuple[float, float] | None = None
        for reader in READERS:
            command = [sys.executable, __file__, "--measure", reader, str(folder)]
            runs = [json.loads(subprocess.check_output(command).splitlines()[-1]) for _ in range(options.repeat)]
            seconds = statistics.median(run["seconds"] for run in runs)
            memory = statistics.median(run["bytes"] for run in runs)
            baseline = baseline or (seconds, memory)
            print(
                f"{reader:<34}{seconds:9.3f} s {1e6 * seconds / len(graphs):8.1f} us a graph "
                f"({seconds / baseline[0]:7.1f}x){memory / 1e6:10.1f} MB "
                f"({memory / baseline[1]:6.1f}x)"
            )


if __name__ == "__main__":
    main()
