"""Free attributes of the nodes or edges of one graph, one mapping each, with defaults for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from graphmetric.graphs.files.graph_dict import is_number


class AttributeRows:
    """The attributes that a file gives to nodes or edges.

    Defaults are kept apart: copied into every row they would let a small file with many defaults and many nodes fill
    the memory.
    """

    def __init__(self, defaults: Mapping[str, Any] | None = None) -> None:
        self._defaults = defaults or {}
        self._rows: list[Mapping[str, Any]] = []

    def append(self, row: Mapping[str, Any]) -> None:
        """Add the attributes of the next node or edge."""
        self._rows.append(row)

    def __len__(self) -> int:
        return len(self._rows)

    def names(self) -> set[str]:
        """Attributes that any row has."""
        return {name for row in self._rows for name in row} | (set(self._defaults) if self._rows else set())

    def common_names(self) -> set[str]:
        """Attributes that every row has."""
        counts = Counter(name for row in self._rows for name in row)
        return {name for name, count in counts.items() if count == len(self._rows)} | set(self._defaults)

    def has(self, name: str) -> bool:
        """Whether any row has this attribute."""
        return bool(self._rows) and (name in self._defaults or any(name in row for row in self._rows))

    def column(self, name: str, missing: Any = None) -> list[Any]:
        """The values of one attribute, ``missing`` where there is none."""
        missing = self._defaults.get(name, missing)
        return [row.get(name, missing) for row in self._rows]

    def numeric_columns(self, name: str) -> list[list[float]] | None:
        """The attribute as columns of numbers, several if it is a list on every row; None if it is anything else."""
        values = self.column(name)
        if all(map(is_number, values)):
            return [values]
        first = values[0]
        if not isinstance(first, list) or not all(isinstance(value, list) for value in values):
            return None
        fits = all(len(value) == len(first) and all(map(is_number, value)) for value in values)
        return [list(column) for column in zip(*values, strict=True)] if fits else None

    @property
    def cells_of_defaults(self) -> int:
        """How many values the defaults would be if they were written out."""
        return len(self._defaults) * len(self._rows)
