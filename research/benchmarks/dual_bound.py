"""The dual bound and the search on it, beside the branch bound, the older search and the other upper bounds.

    python research/benchmarks/dual_bound.py [--data ../shared/data] [--sets 24-27 34-38 40-60 programs] [--pairs 100]
        [--older-pairs 100] [--other-pairs 100] [--programmes 12] [--seconds 1.0] [--output rows.jsonl]

The sets are molecules of AIDS42k with 24 to 27, 34 to 38 and 40 to 60 atoms, bond types counted, and control-flow
graphs of 80 to 120 blocks. Costs are unit costs. Each set has random pairs, and near ones (the smallest branch bound
among 400). The first pairs of a longer list are those of a shorter one. One process, CPU time of one thread.

1. The share of pairs proven after 5, 20 and 100 ms and ``--seconds``, and the bounds left. The older search (a beam
   search of width 100, then a search with the branch bound) takes the first ``--older-pairs`` of the same pairs.
2. Mean upper bounds of this search and of every other method that gives maps, on the first ``--other-pairs``.
3. The way from the branch bound to the linear programme (HiGHS) that the bound has gone after some steps, on the first
   ``--programmes`` pairs of molecules.

With ``--output`` every measurement becomes one line of that file. A run that was stopped continues where it was, and a
longer run uses the lines of a shorter one. ``--older-pairs 0`` and the like leave a part out.
"""

from __future__ import annotations

import argparse
import json
import os
import site
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

import graphmetric as gm
from graphmetric.edit_distance import BeamSearch, BranchBound
from graphmetric.edit_distance._kernels.dual_search import STEPS_PER_BOUND, DualWork, search_dual
from graphmetric.edit_distance._kernels.exact_search import SearchLimits, search_pairs
from graphmetric.edit_distance._kernels.workspace import NO_LIMIT, Results, Workspace, allocate_workspace
from graphmetric.edit_distance.dual import dual_work
from graphmetric.edit_distance.encoding import EncodedProblem, encode
from graphmetric.edit_distance.method import METHODS, EditDistanceMethod, as_method, room_for
from graphmetric.edit_distance.scaling import workspace_size

sys.path.append(str(Path(__file__).parents[2]))  # the linear programme is that of the tests
from tools.make_programs import directed_graphs, library_sources

from tests.naive.edit_distance_by_enumeration import PlainCosts, PlainGraph
from tests.naive.relaxed_edit_distance_by_linear_programme import relaxed_edit_distance

Pairs = NDArray[np.int64]
Bounds = tuple[int, int]
Key = tuple[str, str, int, str]
"""Set, kind of pairs, number of the pair, what was measured."""
MOLECULES = {"24-27": (24, 27), "34-38": (34, 38), "40-60": (40, 60)}
PROGRAMS = "programs"
FEWEST_BLOCKS, MOST_BLOCKS = 80, 120
PACKAGES = ("numpy", "scipy", "sympy")
"""Where to look for large functions beside the standard library, which has only sixteen."""
KINDS = ("random", "near")
NEAR_AMONG = 400
STEPS = (50, 100, 200, 400, 800)
OTHERS = ("hungarian", "vj", "branch", "local:0", "local:10", "local:100", "beam:1", "beam:10", "beam:100", "beam:1000")
"""Methods that give maps; those of the registry that are not here are measured with their defaults."""
WITHOUT_MAPS = {"exact", "hed", "published-hed", "dual-search", "relaxed"}
LIMIT = "linear programme"


@dataclass
class Rows:
    """What was measured, in memory and in a file."""

    file: TextIO | None = None
    known: dict[Key, dict[str, Any]] = field(default_factory=dict)

    def measure(self, key: Key, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        """The row with this key, measured unless it is known."""
        if key not in self.known:
            self.known[key] = row = work()
            if self.file is not None:
                print(json.dumps(dict(zip(("set", "kind", "number", "what"), key, strict=True)) | row), file=self.file)
                self.file.flush()
        return self.known[key]

    @classmethod
    def of(cls, path: str | None) -> Rows:
        """The rows of a file, to which new ones are added."""
        if path is None:
            return cls()
        known: dict[Key, dict[str, Any]] = {}
        complete = ""
        for line in Path(path).read_text().splitlines(keepends=True) if Path(path).exists() else []:
            if line.endswith("\n"):  # else it was being written when the run was stopped
                row = json.loads(line)
                known[row.pop("set"), row.pop("kind"), row.pop("number"), row.pop("what")] = row
                complete += line
        Path(path).write_text(complete)
        return cls(Path(path).open("a"), known)


@dataclass
class Measurement:
    """One set of graphs with one kind of pairs."""

    name: str
    kind: str
    graphs: gm.GraphCollection
    problem: EncodedProblem
    rows: Rows

    def pairs(self, n_pairs: int) -> Pairs:
        """The first pairs, which do not depend on how many there are."""
        draw = draw_near if self.kind == "near" else draw_random

        def draw_pair(number: int) -> dict[str, Any]:
            return {"pair": draw(self.problem, np.random.default_rng([7, number, len(self.graphs)]))}

        rows = [self.rows.measure(self.key(number, "pair"), lambda n=number: draw_pair(n)) for number in range(n_pairs)]
        return np.array([row["pair"] for row in rows], dtype=np.int64).reshape(-1, 2)

    @property
    def every(self) -> Pairs:
        """All graphs, each paired with itself: working memory for these suffices for all pairs."""
        return np.repeat(np.arange(len(self.graphs)), 2).reshape(-1, 2)

    def key(self, number: int, what: str) -> Key:
        return self.name, self.kind, number, what

    def each(self, what: str, n_pairs: int, work: Callable[[Pairs], dict[str, Any]]) -> list[dict[str, Any]]:
        """Measure the first pairs one by one."""
        return [
            self.rows.measure(self.key(number, what), lambda pair=pair: work(pair[None]))
            for number, pair in enumerate(self.pairs(n_pairs))
        ]

    def together(
        self, what: str, n_pairs: int, work: Callable[[Pairs], Iterable[dict[str, Any]]]
    ) -> list[dict[str, Any]]:
        """Measure the first pairs in one batch, so that working memory is allocated once; they share its mean time."""
        pairs, missing = self.pairs(n_pairs), [n for n in range(n_pairs) if self.key(n, what) not in self.rows.known]
        if missing:
            list(work(pairs[missing[:1]]))  # compiles
            started = time.process_time()
            found = list(work(pairs[missing]))
            used = 1e3 * (time.process_time() - started) / len(missing)
            for number, row in zip(missing, found, strict=True):
                self.rows.measure(self.key(number, what), lambda row=row: row | {"ms": round(used, 3)})
        return [self.rows.known[self.key(number, what)] for number in range(n_pairs)]


def draw_random(problem: EncodedProblem, rng: np.random.Generator) -> list[int]:
    return [int(i) for i in rng.choice(len(problem.first.node_start) - 1, 2, replace=False)]


def draw_near(problem: EncodedProblem, rng: np.random.Generator) -> list[int]:
    """A random graph, and the one with the smallest branch bound among some others."""
    n_graphs = len(problem.first.node_start) - 1
    query, *others = rng.choice(n_graphs, min(n_graphs, NEAR_AMONG + 1), replace=False).tolist()
    lower = BranchBound().solve(problem, np.array([(query, other) for other in others])).lower
    return [query, others[int(np.argmin(lower))]]


def large_programs() -> gm.GraphCollection:
    """Control-flow graphs of large functions, directed, with the way in which a block ends as its label."""
    roots = [None, *(Path(folder) / package for folder in site.getsitepackages() for package in PACKAGES)]
    found = (directed_graphs(library_sources(root), FEWEST_BLOCKS, MOST_BLOCKS) for root in roots)
    return gm.GraphCollection([graph for graphs in found for graph in graphs])


def graphs_of(name: str, data: str) -> gm.GraphCollection:
    """The graphs of a set."""
    if name == PROGRAMS:
        return large_programs()
    molecules = gm.load_dataset("AIDS42k", root=data).graphs
    smallest, largest = MOLECULES[name]
    return molecules[np.flatnonzero((molecules.sizes >= smallest) & (molecules.sizes <= largest))]


def run_dual(
    problem: EncodedProblem, pairs: Pairs, work: DualWork, results: Results, n_expanded: tuple[int, int], root_only: int
) -> NDArray[np.float64]:
    """Search with the dual bound from so many expansions to so many; returns its bounds before they are rounded up."""
    relaxed, (before, after) = np.zeros(len(pairs)), n_expanded
    limits = SearchLimits(np.full(len(pairs), NO_LIMIT), 0, after, int(before > 0))
    search_dual(problem.packed, pairs, limits, root_only, work, results, relaxed)
    return relaxed


def dual_slices(problem: EncodedProblem, pair: Pairs, work: DualWork) -> Iterator[Bounds]:
    """Bounds of the search with the dual bound, slice by slice."""
    results = room_for(problem, pair)
    allowed = 0
    while not results.finished[0]:
        before, allowed = allowed, allowed + (1 if allowed < 10 else 2)  # the first expansions take longest
        run_dual(problem, pair, work, results, (before, allowed), 0)
        yield int(results.lower[0]), int(results.upper[0])


def older_slices(problem: EncodedProblem, pair: Pairs, work: Workspace) -> Iterator[Bounds]:
    """Bounds of the older search after a beam search, as it treats graphs of this size."""
    ahead = BeamSearch(100).solve(problem, pair)
    best = int(ahead.upper[0])
    results = room_for(problem, pair)
    lower, upper, _, finished, _ = results
    allowed = 0
    while not finished[0]:
        limits = SearchLimits(np.full(1, best - 1), 0, allowed + 100, int(allowed > 0))
        search_pairs(problem.packed, pair, limits, work, results)
        allowed += 100
        found = min(best, int(upper[0]))
        yield min(found, max(int(lower[0]), int(ahead.lower[0]))), found


def bounds_in_time(slices: Iterable[Bounds], budgets: tuple[float, ...]) -> dict[str, Any]:
    """The bounds when each budget of CPU time was used up, or when the search was over, and the time it took."""
    known: list[Bounds] = []
    bounds, started, used = None, time.process_time(), 0.0
    for found in slices:
        used = time.process_time() - started
        while len(known) < len(budgets) and used > budgets[len(known)]:
            known.append(found if bounds is None else bounds)
        bounds = found
        if len(known) == len(budgets):
            break
    assert bounds is not None
    return {"bounds": known + [bounds] * (len(budgets) - len(known)), "ms": round(1e3 * used, 3)}


def report_searches(measured: Measurement, options: argparse.Namespace) -> None:
    """Tables of what is proven, and of what is left, by the two searches."""
    problem, budgets = measured.problem, (0.005, 0.02, 0.1, options.seconds)
    engines: dict[str, tuple[int, Any, Callable[[], Any]]] = {
        "dual": (options.pairs, dual_slices, lambda: dual_work(problem, measured.every)),
        "older": (
            options.older_pairs,
            older_slices,
            lambda: allocate_workspace(workspace_size(problem, measured.every)),
        ),
    }
    found = {}
    for name, (n_pairs, slices, allocate) in engines.items():
        work = allocate()

        def solve(pair: Pairs, slices: Any = slices, work: Any = work) -> dict[str, Any]:
            return bounds_in_time(slices(problem, pair, work), budgets)

        next(iter(slices(problem, measured.every[:1], work)))  # compiles
        rows = measured.each(f"{name} {options.seconds:g} s", n_pairs, solve)
        found[name] = np.array([row["bounds"] for row in rows], dtype=float).reshape(-1, len(budgets), 2)
        if rows:
            report_search(name, found[name], budgets)
    n_both = min(map(len, found.values()))
    if n_both:
        new, old = found["dual"][:n_both, -1], found["older"][:n_both, -1]
        known = tuple(f"{bounds.mean():.2f}" for bounds in (found["dual"][:n_both, 1, 1], new[:, 1], old[:, 1]))
        print(f"  contradictions between the two: {int(((new[:, 0] > old[:, 1]) | (old[:, 0] > new[:, 1])).sum())}")
        print(f"  upper bounds of these {n_both} pairs after 20 ms, at the end, and of the older search: {known}")


def report_search(name: str, all_bounds: NDArray[np.float64], budgets: tuple[float, ...]) -> None:
    for k, budget in enumerate(budgets):
        lower, upper = all_bounds[:, k].T
        proven = lower == upper
        gap = (upper - lower)[~proven].mean() if (~proven).any() else 0.0
        print(
            f"  {name:6s} {1e3 * budget:5.0f} ms: {proven.mean():6.1%} of {len(proven)} proven, "
            f"lower {lower.mean():6.2f}, upper {upper.mean():6.2f}, gap of the rest {gap:.2f}"
        )


def report_maps(measured: Measurement, n_pairs: int) -> None:
    """Mean upper bounds of all methods that give maps, on the first pairs."""
    if n_pairs == 0:
        return
    problem, known = measured.problem, {name.partition(":")[0] for name in OTHERS}
    for name in (*OTHERS, *(name for name in METHODS if name not in WITHOUT_MAPS | known)):
        method = as_method(name)

        def solve(pairs: Pairs, method: EditDistanceMethod = method) -> Iterator[dict[str, Any]]:
            found = method.solve(problem, pairs)
            return ({"bounds": [pair]} for pair in np.column_stack([found.lower, found.upper]).tolist())

        rows = measured.together(name, n_pairs, solve)
        lower, upper = np.array([row["bounds"][-1] for row in rows], dtype=float).T
        used = np.mean([row["ms"] for row in rows])
        print(f"  {name:14s} lower {lower.mean():6.2f}, upper {upper.mean():6.2f} in {used:8.2f} ms, {n_pairs} pairs")


def report_bound(measured: Measurement, n_pairs: int) -> None:
    """How far the bound has come after some steps, and at what price."""
    if n_pairs == 0:
        return
    problem = measured.problem
    work = dual_work(problem, measured.every)

    def limit(pair: Pairs) -> dict[str, Any]:
        first, second = (measured.graphs[int(i)] for i in pair[0])
        return {"value": float(relaxed_edit_distance(*plain_pair(first, second)))}

    def take_steps(pairs: Pairs, steps: int) -> Iterator[dict[str, Any]]:
        results = room_for(problem, pairs)
        relaxed = run_dual(problem, pairs, work, results, (0, 1 + steps // STEPS_PER_BOUND), 1)
        met = results.lower == results.upper
        return ({"value": float(relaxed[p]), "met": bool(met[p])} for p in range(len(pairs)))

    limits = np.array([row["value"] for row in measured.each(LIMIT, n_pairs, limit)])
    branch = BranchBound().solve(problem, measured.pairs(n_pairs)).lower
    apart = limits > branch + 1e-6
    print(f"  mean branch bound {branch.mean():.2f}, linear programme {limits.mean():.2f}; {apart.sum()} pairs apart")
    for steps in STEPS if apart.any() else ():
        rows = measured.together(f"{steps} steps", n_pairs, lambda pairs, steps=steps: take_steps(pairs, steps))
        value, met = np.array([row["value"] for row in rows]), np.array([row["met"] for row in rows])
        way = (np.maximum(value, branch) - branch) / (limits - branch).clip(1e-9)
        way = np.where(met, 1.0, way)[apart]  # no more steps were taken: all of the way
        used = np.mean([row["ms"] for row in rows])
        print(f"  {steps:4d} steps: {used:6.2f} ms, {way.mean():6.1%} of the way, worst {way.min():.1%}", end="")
        print(f", {met.mean():.0%} proven")


def plain_pair(first: gm.Graph, second: gm.Graph) -> tuple[PlainGraph, PlainGraph, PlainCosts]:
    """The pair as the linear programme reads it, at unit costs."""
    labels: dict[object, int] = {}
    bonds: dict[object, int] = {}

    def plain(graph: gm.Graph) -> PlainGraph:
        assert graph.node_labels is not None
        assert graph.edge_labels is not None
        nodes = [labels.setdefault(label, len(labels)) for label in graph.node_labels]
        edges = {
            (min(edge), max(edge)): bonds.setdefault(label, len(bonds))
            for edge, label in zip(map(tuple, np.asarray(graph.edges).tolist()), graph.edge_labels, strict=True)
        }
        return PlainGraph(nodes, edges, False)

    graphs = plain(first), plain(second)
    n, m = len(labels), len(bonds)
    unequal = [(1 - np.eye(k, dtype=int)).tolist() for k in (n, m)]
    return *graphs, PlainCosts(unequal[0], [1] * n, [1] * n, unequal[1], [1] * m, [1] * m)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("GRAPHMETRIC_DATA", "../shared/data"))
    parser.add_argument("--sets", nargs="+", choices=(*MOLECULES, PROGRAMS), default=(*MOLECULES, PROGRAMS))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--pairs", type=int, default=100, help="pairs of each kind for the search")
    parser.add_argument("--older-pairs", type=int, default=100, help="of these, pairs for the older search")
    parser.add_argument("--other-pairs", type=int, default=100, help="of these, pairs for the other methods")
    parser.add_argument("--programmes", type=int, default=12, help="of these, linear programmes to solve")
    parser.add_argument("--seconds", type=float, default=1.0, help="largest budget per pair")
    parser.add_argument("--output", help="file for the measurements, one JSON object per line")
    options = parser.parse_args()
    rows = Rows.of(options.output)
    for name in options.sets:
        graphs = graphs_of(name, options.data)
        problem = encode(graphs, graphs, gm.EditCosts())
        for kind in options.kinds:
            print(f"{name}, {kind}: {len(graphs)} graphs", flush=True)
            measured = Measurement(name, kind, graphs, problem, rows)
            report_searches(measured, options)
            report_maps(measured, options.other_pairs)
            if name != PROGRAMS:
                report_bound(measured, options.programmes)


if __name__ == "__main__":
    main()
