"""``graphmetric doctor``."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from graphmetric import __version__
from graphmetric._foundation.compilation import CACHE_FOLDER, cache_problem
from graphmetric.cli.options import json_option
from graphmetric.cli.output import show_result
from graphmetric.errors import EXTRAS

if TYPE_CHECKING:
    from graphmetric.search import GraphIndex

_REQUIRED = ("numpy", "scipy", "numba", "networkx", "lxml", "click", "rich")


@click.command()
@click.option("--warm", "compile_all", is_flag=True, help="Compile all kernels now, so that no later command waits.")
@json_option
def doctor_command(compile_all: bool) -> None:
    """Show the versions, the extras and the state of this installation. Paste it into a bug report.

    \b
    Examples:
      graphmetric doctor
      graphmetric doctor --warm
    """
    if compile_all:
        _compile_searches()
    facts = {
        "graphmetric": __version__,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "compiled loops": _kernel_check(),
        "compiled code": _cache_state(),
    }
    required = {name: _installed(name) for name in _REQUIRED}
    extras = {extra: {name: _installed(name) for name in names.values()} for extra, names in EXTRAS.items()}
    rows = facts | {name: found or f"MISSING: pip install {name}" for name, found in required.items()}
    optional = {f"[{extra}]": _describe_extra(extra, found) for extra, found in extras.items()}
    lines = [f"{name:<16}{value}" for name, value in rows.items()]
    lines += ["", "extras, which are optional", *(f"  {name:<14}{value}" for name, value in optional.items())]
    packages = required | {name: found for extra in extras.values() for name, found in extra.items()}
    show_result("\n".join(lines), {**facts, "packages": packages, "extras": extras})


def _describe_extra(extra: str, packages: dict[str, str | None]) -> str:
    """The versions of its packages, and how to install what is missing."""
    found = [f"{name} {version}" for name, version in packages.items() if version]
    missing = [name for name, version in packages.items() if not version]
    if missing:
        found.append(f"{', '.join(missing)} not installed: pip install 'graphmetric[{extra}]'")
    return ", ".join(found)


def _compile_searches() -> None:
    """Run every kind of search once. Compiled code is kept on disk, so no later command or service waits for it.

    Without the extra ``learn`` there are no learned distances to compile.
    """
    import networkx as nx

    from graphmetric.edit_distance import graph_edit_distance, pairwise_edit_distances
    from graphmetric.edit_distance.methods import LARGEST_EASY
    from graphmetric.graphs.collection import GraphCollection
    from graphmetric.graphs.graph import Graph
    from graphmetric.search import GraphIndex

    sizes = (LARGEST_EASY - 4, LARGEST_EASY + 4)  # a certified search takes different paths for these
    trees = [nx.random_labeled_tree(nodes, seed=seed) for nodes in sizes for seed in range(8)]
    graphs = GraphCollection([Graph(tree.number_of_nodes(), list(tree.edges)) for tree in trees])
    _search_every_way(GraphIndex.build(graphs))
    pairwise_edit_distances(graphs[:4], n_jobs=1)
    graph_edit_distance(graphs[0], graphs[1], time_limit=5)
    graph_edit_distance(graphs[0], graphs[1], method="relaxed")
    if find_spec("torch") is None:
        return
    from graphmetric.estimator import GraphDistance
    from graphmetric.learned.learned_distance import LearnedDistance

    _search_every_way(GraphIndex.build(LearnedDistance.load("unlabelled"), graphs))
    model = GraphDistance("base", max_steps=1, label_budget=50, n_jobs=1).fit(graphs)  # its head searches
    model.pairwise(graphs[:4])


def _search_every_way(index: GraphIndex) -> None:
    for query in (index.graphs[0], index.graphs[-1]):
        index.search(query, k=3)
        index.search(query, k=3, certified=True, time_limit=5)
        index.range_search(query, 2.0)


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _cache_state() -> str:
    problem = cache_problem()
    if problem is None:
        return f"kept in {CACHE_FOLDER}"
    return f"NOT KEPT, so every command compiles it again, which takes up to a minute: {problem}; set NUMBA_CACHE_DIR"


def _kernel_check() -> str:
    """Run a compiled kernel: a broken numba shows here, not in the middle of a job."""
    from graphmetric.graphs.graph import Graph

    triangle = Graph(3, [(0, 1), (1, 2), (0, 2)])
    return "work" if triangle.is_isomorphic(triangle.relabeled([2, 0, 1])) else "GIVE WRONG RESULTS"
