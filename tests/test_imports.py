"""Imports flow one way, also those inside functions, and every method of Graph works whatever was imported first."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from graphmetric.graphs import _homes, graph_method

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import measure_house

MODULES = measure_house.list_modules()
FACE = "graphmetric"
"""The package itself, which knows every stage; it imports them by name when they are first used."""


@cache
def _imports(module: str) -> dict[bool, frozenset[str]]:
    """The modules that a module imports when it is loaded (False) and in functions (True)."""
    found: dict[bool, set[str]] = {False: set(), True: set()}
    for name, inside in measure_house.list_imports(MODULES[module], MODULES):
        if name != FACE:
            found[inside].add(name)
    return {inside: frozenset(names) for inside, names in found.items()}


@cache
def _loaded_with(module: str) -> frozenset[str]:
    """Every module that is loaded together with a module, itself included."""
    seen, waiting = {module}, [module]
    while waiting:
        new = _imports(waiting.pop())[False] - seen
        seen |= new
        waiting += new
    return frozenset(seen)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_an_import_in_a_function_hides_no_cycle(module: str) -> None:
    """It keeps start-up quick; were it at the top of its module, Python could load it there as well."""
    for later in _imports(module)[True]:
        assert module not in _loaded_with(later), f"{module} imports {later} in a function, which imports {module}"


def test_the_face_names_every_method_that_a_later_stage_provides() -> None:
    text = MODULES["graphmetric.graphs.graph"].read_text(encoding="utf-8")
    called = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    asked = {ast.literal_eval(call.args[0]) for call in called if ast.unparse(call.func) == "graph_method"}
    assert asked == set(_homes)
    assert all(callable(graph_method(name)) for name in asked)


@pytest.mark.parametrize("code", ["Graph(1)._repr_svg_()", "Graph(1).to_networkx()", "Graph.from_smiles('C')"])
def test_methods_of_later_stages_work_without_importing_these(code: str) -> None:
    subprocess.run([sys.executable, "-c", f"from graphmetric.graphs.graph import Graph; {code}"], check=True)
