"""Edit distances within limits: time to proof, and the share of pairs proven in a second.

    python benchmarks/limited_edits.py [--data ../shared/data] [--pairs 100] [--seconds 1.0]

The pairs are the random and near ones of ``dual_bound.py``: molecules of AIDS42k with 24 to 27 atoms, bond types
counted, unit costs. The time is CPU time of one thread for each pair, from two graphs to bounds and edits. The last
lines ask for distances of at most 6 edits only, as a search does.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

import numpy as np

import graphmetric as gm
from graphmetric.edit_distance.encoding import encode
from graphmetric.edit_distance.limited import LimitedSearch
from graphmetric.edit_distance.stopping import in_thread

sys.path.append(str(Path(__file__).parent))
from dual_bound import KINDS, Measurement, Pairs, Rows, graphs_of

LIMITS: tuple[dict[str, int], ...] = (
    {},
    {"ring": 0},
    {"ring": 0, "element": 1},
    {"ring": 2},
    {"element": 2},
    {"element": 2, "terminal": 4},
    {"nodes_deleted": 1, "linker": 2},
)
RADIUS = 6.0


def measure(graphs: gm.GraphCollection, pairs: Pairs, search: LimitedSearch) -> str:
    """One row of the table."""
    milliseconds, proven, impossible, gaps = [], 0, 0, list[float]()
    for first, second in ((graphs[i], graphs[j]) for i, j in pairs.tolist()):
        started = time.process_time()
        found = in_thread(lambda watch, a=first, b=second: search.solve_watched(a, b, gm.EditCosts(), watch))
        milliseconds.append(1e3 * (time.process_time() - started))
        bound = math.inf if search.upper_bound is None else search.upper_bound
        if found.lower == found.upper or found.lower > bound:
            proven += 1
        else:
            gaps.append(found.upper - found.lower)
        impossible += found.lower == math.inf
    low, middle, high = np.mean(milliseconds), np.median(milliseconds), np.percentile(milliseconds, 90)
    without = sum(math.isinf(gap) for gap in gaps)
    gap = np.mean([gap for gap in gaps if math.isfinite(gap)]) if len(gaps) > without else 0.0
    shares = f"{proven / len(pairs):.0%} | {impossible / len(pairs):.0%}"
    return f"{low:.1f} | {middle:.1f} | {high:.0f} | {shares} | {without} of {len(gaps)} | {gap:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=1.0)
    options = parser.parse_args()
    graphs = graphs_of("24-27", options.data)
    problem = encode(graphs, graphs, gm.EditCosts())
    gm.graph_edit_distance(graphs[0], graphs[1], limits={"element": 2})  # compiles
    measured = "mean ms", "median", "90 %", "proven", "impossible", "open without edits", "gap of the rest"
    print(f"| limits | pairs | {' | '.join(measured)} |\n|{'---|' * (2 + len(measured))}")
    for radius in (None, RADIUS):
        for limits in LIMITS:
            for kind in KINDS:
                pairs = Measurement("24-27", kind, graphs, problem, Rows()).pairs(options.pairs)
                search = LimitedSearch(limits, options.seconds, radius)
                words = ", ".join(f"{name} {most}" for name, most in limits.items()) or "none"
                within = "" if radius is None else f", within {radius:g}"
                print(f"| {words}{within} | {kind} | {measure(graphs, pairs, search)} |", flush=True)


if __name__ == "__main__":
    main()
