"""What a conversion could not carry over, gathered so that it is said once and never dropped in silence."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from graphmetric.errors import ConversionWarning


class LeftOut:
    """Names of the things left out, in order of first appearance, however many graphs had them."""

    def __init__(self) -> None:
        self._things: dict[str, None] = {}

    def note(self, kind: str, names: Iterable[object]) -> None:
        """Remember e.g. ``kind="node attribute"`` with the names of such attributes."""
        for name in names:
            self._things[f"{kind} {name!r}"] = None

    def note_columns(self, columns: dict[str, object]) -> None:
        """Remember the columns of a graph that are there but have no place in the target."""
        for name, column in columns.items():
            if column is not None:
                self._things[name] = None

    def warn(self, function: str, advice: str = "") -> None:
        """One warning that names everything, pointing at the line that called the public function."""
        if self._things:
            message = f"{function} left out {', '.join(self._things)}" + (f"; {advice}" if advice else "")
            warnings.warn(ConversionWarning(message), stacklevel=3)
