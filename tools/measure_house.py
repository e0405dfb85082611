"""Measure the form of the code base: modules, lines of code, names used twice, and files per flow.

    python tools/measure_house.py

A line of code is a line that is neither blank nor a comment, and belongs to no docstring and no import statement. A
flow's files are those in which a function runs when the flow is run for the second time (so that reading, compiling and
caching do not count), and the compiled loops that these files import, which a profiler cannot see.
"""

from __future__ import annotations

import ast
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "graphmetric"
Flow = Callable[[], Iterator[None]]
"""Prepares until its first ``yield``, then does the work whose files are counted."""


def list_modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    modules = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


def count_code(path: Path) -> int:
    """Lines that are not blank, not a comment, and not part of a docstring or an import."""
    text = path.read_text(encoding="utf-8")
    others: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        is_text = (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        if is_text or isinstance(node, ast.Import | ast.ImportFrom):
            others.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = enumerate(text.splitlines(), 1)
    return sum(1 for number, line in lines if number not in others and line.strip() and line.strip()[0] != "#")


def list_imports(path: Path, modules: dict[str, Path]) -> list[tuple[str, bool]]:
    """Modules of the package that a module imports when it runs, and whether it does so inside a function."""
    found = []
    for statement, inside in _running_statements(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(statement, ast.Import):
            names = [alias.name for alias in statement.names]
        elif isinstance(statement, ast.ImportFrom):
            assert statement.level == 0, f"{path} has a relative import"
            whole = (f"{statement.module}.{alias.name}" for alias in statement.names)
            names = [name if name in modules else str(statement.module) for name in whole]
        found += [(name, inside) for name in names if name in modules]
    return found


def _running_statements(node: ast.AST, inside: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """All statements but those for type checkers, and whether they are inside a function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.stmt):
            yield child, inside
        is_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from _running_statements(child, inside or is_function)


def find_imports(name: str, path: Path, modules: dict[str, Path]) -> set[str]:
    """The other modules of the package that a module imports, at its top or inside functions."""
    return {imported for imported, _ in list_imports(path, modules)} - {name}


def find_service(modules: dict[str, Path]) -> set[str]:
    """The modules of the service and its command, which are counted apart."""
    return {name for name in modules if name.startswith(("graphmetric.serve", "graphmetric.cli.serve"))}


def find_classes_named_twice(modules: dict[str, Path]) -> dict[str, list[str]]:
    """Class names that more than one module defines, with these modules."""
    homes = defaultdict(list)
    for name, path in modules.items():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(name)
    return {name: places for name, places in homes.items() if len(places) > 1}


def find_shadowing_functions(modules: dict[str, Path]) -> list[str]:
    """Packages that export a function under the name of one of their modules, which then cannot be reached."""
    found = []
    for name, path in modules.items():
        if path.name != "__init__.py":
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                names = [f"{name}.{alias.asname or alias.name}" for alias in node.names]
                found += [exported for exported in names if exported in modules and node.module != name]
    return found


def trace_flow(flow: Flow) -> set[Path]:
    """The files of the package that a flow runs through."""
    seen: set[Path] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(str(PACKAGE)):
            seen.add(Path(code.co_filename))

    steps = flow()
    next(steps)
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        for _ in steps:
            pass
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return seen | _compiled_parts(seen)


def _compiled_parts(files: set[Path]) -> set[Path]:
    modules = list_modules()
    names = {path: name for name, path in modules.items()}
    found: set[Path] = set()
    waiting = list(files)
    while waiting:
        path = waiting.pop()
        parts = {modules[name] for name in find_imports(names[path], path, modules) if "._kernels." in name} - found
        found |= parts
        waiting.extend(parts)
    return found


def search() -> Iterator[None]:
    """One certified query to an index on disk."""
    import graphmetric as gm

    graphs = gm.load_dataset("molecules").graphs[:60]
    with tempfile.TemporaryDirectory() as folder:
        gm.GraphIndex.build(gm.GraphDistance.load("molecules"), graphs, out=f"{folder}/index")
        index = gm.GraphIndex.load(f"{folder}/index")
        index.search(graphs[3], k=3, certified=True)
        yield
        index.search(graphs[3], k=3, certified=True)


def fit() -> Iterator[None]:
    """Training on given distances."""
    import graphmetric as gm

    graphs = gm.load_dataset("molecules").graphs[:40]
    distances = gm.pairwise_edit_distances(graphs, n_jobs=1).upper
    for _ in range(2):
        gm.GraphDistance("small", max_steps=5, n_jobs=1).fit(graphs, distances=distances)
        yield


def repair() -> Iterator[None]:
    """The nearest metric to a random matrix."""
    import numpy as np

    import graphmetric as gm

    matrix = np.random.default_rng(0).random((40, 40))
    matrix = (matrix + matrix.T) / 2
    np.fill_diagonal(matrix, 0)
    for _ in range(2):
        gm.triangle_fixing(matrix)
        yield


def describe() -> str:
    """All figures, as Markdown."""
    modules = list_modules()
    code = {name: count_code(path) for name, path in modules.items()}
    imports = {name: find_imports(name, path, modules) for name, path in modules.items()}
    importers = Counter(imported for found in imports.values() for imported in found)
    fragments = [
        name
        for name, path in modules.items()
        if importers[name] == 1 and path.name != "__init__.py" and len(path.read_text().splitlines()) < 40
    ]
    served = find_service(modules)
    rows = [
        ("modules beside the service", f"{len(modules) - len(served)}"),
        ("modules of the service", f"{len(served)}"),
        ("lines of code beside the service", f"{sum(code[name] for name in modules if name not in served):,}"),
        ("lines of code of the service", f"{sum(code[name] for name in served):,}"),
        ("modules with one importer and fewer than 40 lines", f"{len(fragments)}"),
        ("files of a certified search", f"{len(trace_flow(search))}"),
        ("files of `fit` on given distances", f"{len(trace_flow(fit))}"),
        ("files of a repair", f"{len(trace_flow(repair))}"),
    ]
    folders: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    for name in modules:
        folder = name.split(".")[1] if "." in name and modules[name].parent != PACKAGE else "(root)"
        folders[folder] += 1
        lines[folder] += code[name]
    table = [f"| {what} | {figure} |" for what, figure in rows]
    parts = [f"| `{folder}` | {folders[folder]} | {lines[folder]:,} |" for folder in sorted(folders)]
    head = ["| | |", "|---|---|", *table, "", "| folder | modules | lines of code |", "|---|---|---|", *parts]
    return "\n".join(head)


if __name__ == "__main__":
    print(describe())
