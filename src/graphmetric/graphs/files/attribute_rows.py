"""Free attributes of the nodes or edges of one graph, one mapping each, with defaults for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

from graphmetric.graphs.files.graph_dict import is_number


class AttributeRows:
    """The attributes that a file gives to nodes or edges.

    Defaults are kept apart: copied into every row they would let a small file with many defaults and many nodes fill
    the memory.
    """

    def __init__(
        self,
        defaults: Mapping[str, Any] | None = None,
        rows: Sequence[Mapping[str, Any]] = (),
        without: frozenset[str] = frozenset(),
    ) -> None:
        """``without`` are keys of the rows that are not attributes, such as the id of a node."""
        self._defaults = defaults or {}
        self._rows = list(rows)
        self._without = without
        self._known_shapes: set[tuple[str, ...]] | None = None

    def append(self, row: Mapping[str, Any]) -> None:
        """Add the attributes of the next node or edge."""
        self._rows.append(row)
        self._known_shapes = None

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def _shapes(self) -> set[tuple[str, ...]]:
        """The keys that a row has, once for all rows that have them: in most files one tuple."""
        if self._known_shapes is None:
            self._known_shapes = set(map(tuple, self._rows))
        return self._known_shapes

    def names(self) -> set[str]:
        """Attributes that any row has."""
        found = set().union(*self._shapes) - self._without
        return found | set(self._defaults) if self._rows else found

    def common_names(self) -> set[str]:
        """Attributes that every row has."""
        shapes = list(self._shapes)
        common = set(shapes[0]).intersection(*shapes[1:]) if shapes else set()
        return (common - self._without) | set(self._defaults)

    def has(self, name: str) -> bool:
        """Whether any row has this attribute."""
        found = name not in self._without and any(name in shape for shape in self._shapes)
        return found or (bool(self._rows) and name in self._defaults)

    def column(self, name: str, missing: Any = None) -> list[Any]:
        """The values of one attribute, ``missing`` where there is none."""
        if all(name in shape for shape in self._shapes):
            return list(map(itemgetter(name), self._rows))
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
