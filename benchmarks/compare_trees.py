"""CPU time of everyday work in two checkouts of graphmetric, side by side: did anything get slower?

    git worktree add ../before COMMIT
    python benchmarks/compare_trees.py ../before . [--rounds 5] [--work exact embed ...]

Each kind of work runs in a process of its own, in turn in the one tree and in the other, so that whatever else the
machine does meets both. The least CPU time of all rounds counts. Compiled loops are warmed up first. The work needs
the embedded data sets and the public names alone, so that any two versions can be compared.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

PREPARE = """
import time, tempfile
import numpy as np
import graphmetric as gm
data = gm.load_dataset("molecules")
graphs = data.graphs
folder = tempfile.mkdtemp()
"""
WORK = {
    "exact": ("pairs = np.random.default_rng(0).integers(0, len(graphs), (20000, 2))",
              "gm.pairwise_edit_distances(graphs, pairs=pairs, n_jobs=1)"),
    "exact, one by one": ("", "for k in range(300): gm.graph_edit_distance(graphs[k], graphs[k + 1])"),
    "embed": ("model = gm.GraphDistance.load('molecules')", "for _ in range(4): model.embed(graphs)"),
    "matrix": ("model = gm.GraphDistance.load('molecules')", "model.pairwise(graphs[:300])"),
    "learned search": ("index = gm.GraphIndex.build(gm.GraphDistance.load('molecules'), graphs)",
                       "index.search(list(graphs[:200]), k=10)"),
    "one query": ("index = gm.GraphIndex.build(gm.GraphDistance.load('molecules'), graphs)",
                  "for k in range(40): index.search(graphs[k], k=10)"),
    "certified search": ("index = gm.GraphIndex.build(gm.GraphDistance.load('molecules'), graphs)",
                         "index.search(list(graphs[:60]), k=10, certified=True)"),
    "build an index": ("model = gm.GraphDistance.load('molecules')", "gm.GraphIndex.build(model, graphs)"),
    "repair": ("m = np.random.default_rng(0).random((300, 300)); m = (m + m.T) / 2; np.fill_diagonal(m, 0)",
               "gm.triangle_fixing(m, n_jobs=1)"),
    "read .gmg": ("path = f'{folder}/g.gmg'; gm.write_graphs([g for _ in range(20) for g in graphs], path)",
                  "for _ in range(5): gm.read_graphs(path)"),
    "read JSON lines": ("path = f'{folder}/g.jsonl'; gm.write_graphs(graphs, path)",
                        "for _ in range(5): gm.read_graphs(path)"),
    "make graphs": ("rows = [(g.num_nodes, np.asarray(g.edges).tolist(), list(g.node_labels)) for g in graphs]",
                    "for _ in range(3): [gm.Graph(n, e, node_labels=l) for n, e, l in rows]"),
    "certificates": ("rows = [(g.num_nodes, np.asarray(g.edges).tolist(), list(g.node_labels)) for g in graphs]",
                     "[gm.Graph(n, e, node_labels=l).certificate() for n, e, l in rows]"),
    "fit": ("distances = gm.pairwise_edit_distances(graphs[:80], n_jobs=1).upper",
            "gm.GraphDistance('small', max_steps=40, n_jobs=1).fit(graphs[:80], distances=distances)"),
}  # fmt: skip
"""Name: what is prepared, and what is measured."""
MEASURE = """
def work():
    {work}

work()
spent = []
for _ in range(2):
    began = time.process_time()
    work()
    spent.append(time.process_time() - began)
print(min(spent))
"""


def measure(tree: Path, name: str) -> float:
    """CPU seconds of one kind of work in one tree."""
    prepare, work = WORK[name]
    code = PREPARE + prepare + MEASURE.format(work=work)
    environment = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(tree.resolve() / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.splitlines()[-1])


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", nargs="+", choices=WORK, default=list(WORK))
    options = parser.parse_args()
    print("| work | before, CPU ms | after, CPU ms | after / before |\n|---|---|---|---|")
    for name in options.work:
        spent = [(measure(options.before, name), measure(options.after, name)) for _ in range(options.rounds)]
        before, after = (1000 * min(column) for column in zip(*spent, strict=True))
        print(f"| {name} | {before:.0f} | {after:.0f} | {after / before:.2f} |", flush=True)


if __name__ == "__main__":
    main()
