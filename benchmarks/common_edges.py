"""Maximum common edge subgraphs of molecules, beside RDKit's RascalMCES.

    python benchmarks/common_edges.py [--data ../shared/data] [--sets 14-17 24-27 34-38] [--pairs 200] [--seconds 1]

The molecules are those of AIDS42k, as atoms with elements and bonds of order 1, 2 and 3. Each set has random pairs, and
near ones (the smallest branch bound among 400). Both programs get the same pairs in one process, one pair at a time,
and a wall-clock limit for each pair; times are CPU times of the search alone, graphs and molecules being made
beforehand.

RascalMCES computes the same number of common bonds if it has no threshold of similarity and may cut aromatic rings; the
bonds are not aromatic here. It reports nothing for fewer than two common bonds, and says if it ran out of time. It
counts whole seconds, so that a limit of one second ends after up to two.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rdkit import Chem, RDLogger
from rdkit.Chem import rdRascalMCES

import graphmetric as gm
from graphmetric.edit_distance import ExactSearch
from graphmetric.edit_distance.encoding import encode

Pairs = NDArray[np.int64]
NEAR_AMONG = 400
BONDS = {1: Chem.BondType.SINGLE, 2: Chem.BondType.DOUBLE, 3: Chem.BondType.TRIPLE}


@dataclass(frozen=True, slots=True)
class Found:
    """What one program says of one pair."""

    common: int
    """Common bonds of the best subgraph found."""
    proven: bool
    seconds: float


def draw_pairs(graphs: gm.GraphCollection, count: int, kind: str) -> Pairs:
    rng = np.random.default_rng(7)
    first, second = rng.integers(len(graphs), size=(2, count))
    for k, i in enumerate(first.tolist() if kind == "near" else ()):
        others = rng.permutation(np.delete(np.arange(len(graphs)), i))[:NEAR_AMONG]
        bounds = gm.pairwise_edit_distances(graphs[[i]], graphs[others], method="branch").lower[0]
        second[k] = others[np.argmin(bounds)]
    return np.column_stack([first, second])


def as_molecule(graph: gm.Graph) -> Chem.Mol:
    """A molecule whose elements stand for the labels of the nodes."""
    molecule = Chem.RWMol()
    for label in graph.node_labels or ():
        molecule.AddAtom(Chem.Atom(int(label)))
    for (u, v), order in zip(graph.edges.tolist(), graph.edge_labels or (), strict=True):
        molecule.AddBond(u, v, BONDS[order])
    molecule.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(molecule)
    return molecule.GetMol()


def search_ours(graphs: gm.GraphCollection, seconds: float) -> Callable[[Pairs], Found]:
    problem, method = encode(graphs, graphs, gm.mces_costs()), ExactSearch(time_limit=seconds)
    edges = graphs.edge_counts

    def search(pair: Pairs) -> Found:
        started = time.process_time()
        found = method.bounds(problem, pair[None])
        spent = time.process_time() - started
        return Found(int(edges[pair].sum() - found.upper[0]) // 2, bool(found.lower[0] == found.upper[0]), spent)

    return search


def search_rascal(graphs: gm.GraphCollection, seconds: float) -> Callable[[Pairs], Found]:
    molecules: dict[int, Any] = {}
    options = rdRascalMCES.RascalOptions()
    options.similarityThreshold, options.completeAromaticRings = 0.0, False
    options.timeout, options.maxBondMatchPairs = int(seconds), 10_000

    def search(pair: Pairs) -> Found:
        i, j = pair.tolist()
        first, second = (molecules.setdefault(k, as_molecule(graphs[k])) for k in (i, j))
        started = time.process_time()
        reported = rdRascalMCES.FindMCES(first, second, options)
        spent = time.process_time() - started
        if not reported:
            return Found(0, True, spent)
        return Found(len(reported[0].bondMatches()), not reported[0].timedOut, spent)

    return search


def describe(name: str, found: list[Found]) -> str:
    times = 1e3 * np.array([one.seconds for one in found])
    proven = np.mean([one.proven for one in found])
    common = np.mean([one.common for one in found])
    return (
        f"  {name:8} proven {proven:6.1%}, common bonds {common:5.2f}, CPU ms: mean {times.mean():.1f}, "
        f"median {np.median(times):.1f}, 90 % {np.quantile(times, 0.9):.1f}, most {times.max():.0f}"
    )


def compare(name: str, kind: str, ours: list[Found], theirs: list[Found]) -> None:
    print(f"{name} atoms, {kind}, {len(ours)} pairs")
    print(describe("ours", ours))
    print(describe("Rascal", theirs))
    pairs = list(zip(ours, theirs, strict=True))
    gains = np.array([max(a.common, 1) - max(b.common, 1) for a, b in pairs])
    both = np.array([a.proven and b.proven for a, b in pairs])
    ratio = sum(one.seconds for one in ours) / sum(one.seconds for one in theirs)
    middle = float(np.median([a.seconds / b.seconds for a, b in pairs]))
    print(f"  ours / Rascal: all CPU time {ratio:.2f}, median of the ratios {middle:.2f}")
    print(f"  proven by both {both.sum()}, of which {(gains[both] != 0).sum()} differ;", end=" ")
    print(f"ours has more common bonds in {(gains > 0).sum()} pairs, Rascal in {(gains < 0).sum()}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--sets", nargs="+", default=["14-17", "24-27", "34-38"], metavar="SMALLEST-LARGEST")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--seconds", type=int, default=1, help="for each pair")
    options = parser.parse_args()
    RDLogger.DisableLog("rdApp.*")
    molecules = gm.load_dataset("AIDS42k", root=options.data).graphs
    for name in options.sets:
        smallest, largest = map(int, name.split("-"))
        graphs = molecules[(molecules.sizes >= smallest) & (molecules.sizes <= largest)]
        for kind in ("random", "near"):
            compared, pairs = np.unique(draw_pairs(graphs, options.pairs, kind), return_inverse=True)
            programs = [make(graphs[compared], options.seconds) for make in (search_ours, search_rascal)]
            pairs = pairs.reshape(-1, 2)
            programs[0](pairs[0])  # compiles
            ours, theirs = zip(*([program(pair) for program in programs] for pair in pairs), strict=True)
            compare(name, kind, list(ours), list(theirs))


if __name__ == "__main__":
    main()
