"""Definition 1 and what can be done to graphs without comparing them.

Some methods of ``Graph`` are written in later stages, which this folder must not import: conversions in ``formats``,
drawing in ``drawing``. The package's face, which knows every stage, says where they are
(:func:`provide_graph_methods`) before any stage is imported, and ``Graph`` asks for them by name when they are called
(:func:`graph_method`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

_homes: dict[str, str] = {}


def provide_graph_methods(homes: Mapping[str, str]) -> None:
    """Say in which module the function behind each method of ``Graph`` is."""
    _homes.update(homes)


def graph_method(name: str) -> Callable[..., Any]:
    """The function behind a method of ``Graph`` that a later stage provides."""
    return getattr(import_module(_homes[name]), name)  # type: ignore[no-any-return]
