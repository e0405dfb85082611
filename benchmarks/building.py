"""Building an index: CPU and wall time per graph, with a model and without, on one thread and on all cores.

    python benchmarks/building.py --root ../shared/data [--graphs 8192] [--profile]
    python benchmarks/building.py --root ../shared/data --stream 1000000

The graphs are molecules of AIDS42k as they are, of 24 nodes, and with hydrogens on all free valences, of 48 nodes.
Every figure comes from a process of its own, after a first call that compiles and warms up. ``--profile`` shows where
the time goes. ``--stream`` repeats AIDS42k up to this number of graphs in a file, and builds an index without a model
from that file, reading included.
"""

from __future__ import annotations

import argparse
import cProfile
import json
import os
import pstats
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import graphmetric as gm
from graphmetric.formats import iter_graphs

VALENCES = {"C": 4, "N": 3, "O": 2, "S": 2, "P": 3}
KINDS = {"24 nodes": (24, False), "48 nodes, with hydrogens": (48, True)}
"""The mean number of nodes of each kind, and whether its graphs have hydrogens."""
MODELS = (None, "molecules", "small block-norm")


def with_hydrogens(graph: gm.Graph) -> gm.Graph:
    """The molecule with as many hydrogens as its valences leave room for, all bonds taken as single ones."""
    labels, edges = list(graph.node_labels or ()), graph.edges.tolist()
    degrees = np.bincount(graph.edges.ravel(), minlength=graph.num_nodes)
    for atom in range(graph.num_nodes):
        for _ in range(max(0, VALENCES.get(str(labels[atom]), 0) - int(degrees[atom]))):
            edges.append([atom, len(labels)])
            labels.append("H")
    return gm.Graph(len(labels), edges, node_labels=labels)


def choose(kind: str, root: str, count: int) -> gm.GraphCollection:
    """The graphs whose sizes are nearest to that of the kind."""
    nodes, hydrogens = KINDS[kind]
    graphs = gm.load_dataset("AIDS42k", root=root).graphs.without({"edge_labels"})
    if hydrogens:
        graphs = gm.GraphCollection(with_hydrogens(graph) for graph in graphs[: 4 * count])
    return graphs[np.sort(np.argsort(np.abs(graphs.sizes - nodes), kind="stable")[:count])]


def load(name: str | None, graphs: gm.GraphCollection, n_jobs: int) -> gm.GraphDistance | None:
    if name is None:
        return None
    if name == "molecules":
        return gm.GraphDistance.load("molecules").set_params(n_jobs=n_jobs)
    model = gm.GraphDistance("small", head="block-norm", max_steps=1, label_budget=100, n_jobs=n_jobs)
    return model.fit(gm.load_dataset("molecules").graphs[:30])


def measure(kind: str, name: str | None, n_jobs: int, root: str, count: int, profile: bool) -> dict[str, float]:
    """CPU and wall milliseconds per graph."""
    graphs = choose(kind, root, count)
    model = load(name, graphs, n_jobs)
    gm.GraphIndex.build(model, graphs[:100], ids=range(100))
    profiler = cProfile.Profile() if profile else None
    with tempfile.TemporaryDirectory() as folder:
        cpu, wall = time.process_time(), time.perf_counter()
        if profiler is not None:
            profiler.enable()
        gm.GraphIndex.build(model, graphs, ids=range(len(graphs)), out=f"{folder}/index")
        if profiler is not None:
            profiler.disable()
            pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(28)
        seconds = time.process_time() - cpu, time.perf_counter() - wall
    return {"cpu": 1e3 * seconds[0] / count, "wall": 1e3 * seconds[1] / count}


def stream(root: str, count: int) -> None:
    """Build an index without a model from a file of many graphs, of which a chunk is in memory at a time."""
    graphs = gm.load_dataset("AIDS42k", root=root).graphs
    gm.GraphIndex.build(graphs[:100], ids=range(100))
    with tempfile.TemporaryDirectory() as folder:
        file, out = Path(folder) / "graphs.gmg", Path(folder) / "index"
        gm.write_graphs((graphs[k % len(graphs)].replace(id=k) for k in range(count)), file)
        cpu, wall = time.process_time(), time.perf_counter()
        index = gm.GraphIndex.build(iter_graphs(file), out=out)
        seconds = time.process_time() - cpu, time.perf_counter() - wall
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        print(f"{len(index):,} graphs read and indexed: {seconds[0]:.0f} s of CPU, {seconds[1]:.0f} s on the clock")
        print(f"largest memory {memory:,.0f} MB, {size / 1e6:,.0f} MB on disk")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", default="../shared/data")
    parser.add_argument("--graphs", type=int, default=8192)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--stream", type=int)
    parser.add_argument("--one", help="one case as JSON; for the processes that this script starts")
    options = parser.parse_args()
    if options.one:
        print(json.dumps(measure(*json.loads(options.one), options.root, options.graphs, options.profile)))
        return
    if options.stream:
        stream(options.root, options.stream)
        return
    for kind in KINDS:
        for name in MODELS:
            for n_jobs in (1, os.cpu_count() or 1) if name else (1,):
                case = json.dumps([kind, name, n_jobs])
                command = [sys.executable, __file__, "--root", options.root, "--graphs", str(options.graphs)]
                command += ["--profile"] if options.profile else []
                done = subprocess.run([*command, "--one", case], stdout=subprocess.PIPE, text=True, check=True)
                found = json.loads(done.stdout)
                what = f"{kind:<26} {name or 'no model':<18} {n_jobs} thread{'s' if n_jobs > 1 else ''}"
                print(
                    f"{what:<56} {found['cpu']:6.3f} ms of CPU time, {found['wall']:6.3f} ms on the clock", flush=True
                )


if __name__ == "__main__":
    main()
