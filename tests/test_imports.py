"""Imports flow one way, also those inside functions, and every method of Graph works whatever was imported first."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import graphmetric
from graphmetric.graphs import _homes, graph_method

SOURCE = Path(graphmetric.__file__).parents[1]
FACE = "graphmetric"
"""The package itself, which knows every stage; it imports them by name when they are first used."""


def _name(path: Path) -> str:
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_name(path): path for path in SOURCE.glob("graphmetric/**/*.py")}


def _imported(statement: ast.stmt, importer: str) -> Iterator[str]:
    """The modules of the package that a statement imports."""
    if isinstance(statement, ast.Import):
        names = [alias.name for alias in statement.names]
    elif isinstance(statement, ast.ImportFrom):
        assert statement.level == 0, f"{importer} has a relative import"
        names = [f"{statement.module}.{alias.name}" for alias in statement.names]
        names = [name if name in MODULES else str(statement.module) for name in names]
    else:
        return
    yield from (name for name in names if name in MODULES and name != FACE)


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def _statements(node: ast.AST, inside: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """All statements that run, and whether they run in a function only."""
    for child in ast.iter_child_nodes(node):
        if _is_for_types(child):
            continue
        if isinstance(child, ast.stmt):
            yield child, inside
        yield from _statements(child, inside or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))


@cache
def _imports(module: str) -> dict[bool, frozenset[str]]:
    """The modules that a module imports when it is loaded (False) and in functions (True)."""
    found: dict[bool, set[str]] = {False: set(), True: set()}
    for statement, inside in _statements(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        found[inside].update(_imported(statement, module))
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
