"""Try every public name and every command without the extras that are missing here, or that are hidden.

    python tools/try_extras.py                       in an environment without some extras, such as a plain installation
    python tools/try_extras.py --hide learn plot     as if these two had never been installed
    python tools/try_extras.py --hide-each           hide one extra after the other

What needs no missing extra must work, and everything else must end in our own error with the pip command. It imports
nothing but graphmetric, so it runs wherever that is installed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import graphmetric as gm
from graphmetric.cli import COMMANDS, main
from graphmetric.errors import EXTRAS, MissingExtra

COMMAND_LINES: dict[str, str | None] = {
    "demo --quick": "learn",
    "info graphs.jsonl": None,
    "convert graphs.jsonl graphs.gmg": None,
    "ged graphs.jsonl:0 graphs.jsonl:1": None,
    "ged CCO CCN --smiles": "molecules",
    "label graphs.jsonl --out labels": None,
    "label graphs.jsonl --out others --cluster tcp://127.0.0.1:1": "cluster",
    "train graphs.jsonl --out model": "learn",
    "evaluate unlabelled graphs.jsonl": "learn",
    "distance unlabelled graphs.jsonl:0 graphs.jsonl:1": "learn",
    "embed unlabelled graphs.jsonl --out vectors.npy": "learn",
    "index graphs.jsonl --out idx": None,
    "index unlabelled graphs.jsonl --out learned": "learn",
    "index graphs.jsonl --store postgresql://nobody@127.0.0.1:1/none?index=mine": "postgres",
    "index add-model idx unlabelled": "learn",
    "index map idx": "learn",
    "search idx graphs.jsonl:0 -k 2": None,
    "search idx graphs.jsonl:0 -k 2 --plot nearest.svg": None,
    "search idx graphs.jsonl:0 -k 2 --plot nearest.png": "plot",
    "serve idx --port 0": "serve",
    "repair distances.csv repaired.csv": None,
    "repair distances.csv repaired.parquet": "parquet",
    "repair distances.csv repaired.npy --figure repair.png": "plot",
    "doctor": None,
}
"""A command with its fewest arguments -> the extras that it needs, in the order in which they are missed."""
CALLS = {
    "gm.GraphDistance().fit(graphs)": "learn",
    "gm.GraphDistance.load('unlabelled')": "learn",
    "gm.DistanceTransformer('unlabelled')": "learn",
    "gm.GraphIndex.build('unlabelled', graphs)": "learn",
    "gm.GraphIndex.load('idx').build_map('tsne')": "learn",
    "gm.Graph.from_smiles('C')": "molecules",
    "gm.plot_map(gm.GraphIndex.load('idx'))": "plot",
    "gm.explore(gm.GraphIndex.load('idx'))": "widget",
    "gm.GraphIndex.load('idx').search(graphs[0], 2).to_pandas()": "pandas",
    "gm.GraphIndex.load('postgresql://nobody@127.0.0.1:1/none?index=mine')": "postgres",
    "module('graphmetric.formats.libraries').to_igraph(graphs[0])": "igraph",
    "module('graphmetric.formats.libraries').to_pyg(graphs[0])": "pyg",
    "module('graphmetric.index.folder.lists').InvertedLists.build(None)": "search",
    "module('graphmetric.training')": "learn",
    "module('graphmetric.report')": "learn",
    "module('graphmetric.training').TensorBoardLog('curves')": "learn tensorboard",
}
"""The same for calls from Python."""


class _Hiding:
    """A finder of modules that does not find some of them."""

    def __init__(self, finder: Any, hidden: frozenset[str]) -> None:
        self._finder, self._hidden = finder, hidden

    def find_spec(self, name: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.partition(".")[0] in self._hidden:
            return None
        found: ModuleSpec | None = self._finder.find_spec(name, path, target)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._finder, name)


@contextlib.contextmanager
def hidden_packages(packages: Iterable[str]) -> Iterator[None]:
    """Within the block, none of these packages is found, as if it had never been installed."""
    hidden = frozenset(packages)
    loaded = {name: module for name, module in sys.modules.items() if name.partition(".")[0] in hidden}
    for name in loaded:
        del sys.modules[name]
    finders = sys.meta_path[:]
    sys.meta_path[:] = [_Hiding(finder, hidden) for finder in finders]
    try:
        yield
    finally:
        sys.meta_path[:] = finders
        sys.modules.update(loaded)


def is_missing(extra: str) -> bool:
    """Whether a package of the extra cannot be found."""
    return any(find_spec(package) is None for package in EXTRAS[extra])


def run_command(line: str) -> str:
    """Run a command in this process; what it ended in, or nothing if it succeeded."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        try:
            main(shlex.split(line))
        except SystemExit as ended:
            return errors.getvalue() if ended.code else ""
    return ""


def run_call(code: str) -> str:
    """Evaluate an expression; the error it raised, or nothing if it succeeded."""
    try:
        eval(code, {"gm": gm, "graphs": some_graphs(), "module": importlib.import_module})  # noqa: S307 (from above)
    except MissingExtra as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 (reported)
        return repr(error)
    return ""


def some_graphs() -> gm.GraphCollection:
    """Three small graphs."""
    return gm.as_graphs([gm.Graph(n, [(k, k + 1) for k in range(n - 1)], id=f"path {n}") for n in (3, 4, 5)])


def try_all(others: bool) -> list[str]:
    """Try everything that needs a missing extra and, if ``others``, what needs none; the complaints."""
    missing = {extra for extra in EXTRAS if is_missing(extra)}
    kinds: list[tuple[dict[str, Any], Callable[[str], str]]] = [(COMMAND_LINES, run_command), (CALLS, run_call)]
    complaints = []
    if others:
        kinds.insert(0, ({f"gm.{name}": _extra_of(name) for name in gm.__all__}, run_call))
    for cases, run in kinds:
        for case, needed in cases.items():
            missed = [extra for extra in (needed or "").split() if extra in missing]
            if missed:
                found = run(case)
                if f"not installed: pip install 'graphmetric[{missed[0]}]'" not in found or "bug" in found:
                    complaints.append(f"{case}: needs the extra {missed[0]}, and ends in: {found or 'success'}")
            elif needed is None and others and (found := run(case)):
                complaints.append(f"{case}: needs no extra, and ends in: {found}")
    return complaints


def _extra_of(name: str) -> str | None:
    return "learn" if name in ("GraphDistance", "DistanceTransformer") else None


def run_script() -> None:
    """Try in a folder of its own, and say what was not as it should be."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hide", nargs="+", choices=[*EXTRAS, "all"], default=[], metavar="EXTRA")
    parser.add_argument("--hide-each", action="store_true", help="one after the other, but for learn")
    options = parser.parse_args()
    untried = COMMANDS.keys() - {line.split()[0] for line in COMMAND_LINES}
    complaints = [f"no line tries the command {name}" for name in sorted(untried)]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["GRAPHMETRIC_TOKEN"] = ""
        gm.write_graphs(some_graphs(), "graphs.jsonl")
        with open("distances.csv", "w", encoding="utf-8") as file:
            file.write("0,1,5\n1,0,1\n5,1,0\n")
        if options.hide_each:
            gm.GraphIndex.build(some_graphs()).save("idx")
            for extra in sorted(EXTRAS.keys() - {"learn"}):
                with hidden_packages(EXTRAS[extra].keys() - EXTRAS["learn"].keys()):
                    complaints += [f"without {extra}: {complaint}" for complaint in try_all(others=False)]
        else:
            hidden = EXTRAS if "all" in options.hide else options.hide
            with hidden_packages(package for extra in hidden for package in EXTRAS[extra]):
                complaints += try_all(others=True)
    print("\n".join(complaints) or "everything ends as it should")
    sys.exit(bool(complaints))


if __name__ == "__main__":
    run_script()
