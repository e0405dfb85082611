"""The form of the code base: names, and where they are defined."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tools"))

import measure_house

MODULES = measure_house.list_modules()


def test_the_root_holds_the_face_alone() -> None:
    root = {path.stem for path in MODULES.values() if path.parent == measure_house.PACKAGE}
    assert root == {"__init__", "__main__", "demo", "errors", "estimator", "model"}


def test_no_class_name_occurs_twice() -> None:
    assert measure_house.find_classes_named_twice(MODULES) == {}


def test_no_function_hides_a_module_of_its_name() -> None:
    assert measure_house.find_shadowing_functions(MODULES) == []


def test_nobody_imports_a_kernel_from_a_module_that_only_imports_it() -> None:
    """A folder's compiled loops are its own: not even another name for them is passed on."""
    research = sorted((measure_house.ROOT / "research" / "src").rglob("*.py"))
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in [*MODULES.values(), *research]}
    imports = {
        path: [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)] for path, tree in trees.items()
    }
    passed_on = []
    for path, statements in imports.items():
        for statement in statements:
            home = MODULES.get(str(statement.module))
            if home is None or "_kernels" in home.parts:
                continue
            kernels = {
                alias.asname or alias.name
                for inner in imports[home]
                if "_kernels" in str(inner.module).split(".")
                for alias in inner.names
            }
            passed_on += [(path.name, alias.name) for alias in statement.names if alias.name in kernels]
    assert passed_on == []
