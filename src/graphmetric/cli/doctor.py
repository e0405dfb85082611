"""``graphmetric doctor``."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import click

from graphmetric import __version__
from graphmetric._foundation.compilation import CACHE_FOLDER, cache_problem
from graphmetric.cli.terminal import say, say_json

REQUIRED = ("numpy", "scipy", "numba", "networkx", "lxml", "click", "rich", "joblib")
EXTRAS = {
    "torch": "learn",
    "safetensors": "learn",
    "scikit-learn": "learn",
    "rdkit": "molecules",
    "igraph": "igraph",
    "matplotlib": "plot",
    "faiss-cpu": "search",
    "pyarrow": "parquet",
}


@click.command()
@click.option("--warm", "compile_all", is_flag=True, help="Compile all loops now, so that no later command waits.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(compile_all: bool, as_json: bool) -> None:
    """Versions, threads and extras of this installation: paste it into a bug report."""
    if compile_all:
        from graphmetric.search.graph_index import warm

        warm()
    installed = {name: _installed(name) for name in (*REQUIRED, *EXTRAS)}
    report = {
        "graphmetric": __version__,
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "compiled loops": _kernel_check(),
        "compiled code": _where_code_is_kept(),
        "packages": installed,
    }
    if as_json:
        say_json(report)
        return
    for name in ("graphmetric", "python", "platform", "cores", "compiled loops", "compiled code"):
        say(f"{name:<16}{report[name]}")
    for name in REQUIRED:
        say(f"{name:<16}{installed[name] or 'MISSING: pip install ' + name}")
    for name, extra in EXTRAS.items():
        say(f"{name:<16}{installed[name] or f'not installed (optional): pip install graphmetric[{extra}]'}")


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _where_code_is_kept() -> str:
    problem = cache_problem()
    if problem is None:
        return f"kept in {CACHE_FOLDER}"
    return f"NOT KEPT, so that every command compiles anew, which takes up to a minute: {problem}; set NUMBA_CACHE_DIR"


def _kernel_check() -> str:
    """Run one compiled loop for real: a broken numba shows here, not in the middle of a job."""
    from graphmetric.graphs.graph import Graph

    triangle = Graph(3, [(0, 1), (1, 2), (0, 2)])
    return "work" if triangle.is_isomorphic(triangle.relabeled([2, 0, 1])) else "GIVE WRONG RESULTS"
