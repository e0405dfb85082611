"""graphmetric: learn and compute distances between graphs.

The public names are listed once, in ``__init__.pyi``, where type checkers find them too. Each is imported when it is
first used, so ``import graphmetric`` is quick and needs none of the extras.
"""

import ast
import logging
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from graphmetric.graphs import provide_graph_methods

_HOMES = {
    name.name: statement.module
    for statement in ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")).body
    if isinstance(statement, ast.ImportFrom) and statement.module is not None
    for name in statement.names
}
"""The module in which each public name is defined."""

__all__ = sorted(_HOMES)
__version__ = version("graphmetric")

provide_graph_methods(
    {
        "from_networkx": "graphmetric.formats.conversion",
        "to_networkx": "graphmetric.formats.conversion",
        "from_smiles": "graphmetric.formats.conversion",
        "draw_graph": "graphmetric.drawing",
    }
)
logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has: {', '.join(__all__)}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
