"""Queries and graphs of an index as the compiled searches read them: all at once, or those a query still needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance import EditCosts
from graphmetric.edit_distance._kernels.workspace import (
    Workspace,
    WorkspaceSize,
    allocate_workspace,
    count_bytes,
)
from graphmetric.edit_distance.encoding import EncodedProblem, encode
from graphmetric.edit_distance.exact import LARGEST_SEARCHED
from graphmetric.edit_distance.method import exceeds_memory, smaller_sizes, workspace_size
from graphmetric.edit_distance.watch import Watch
from graphmetric.graphs.collection import GraphCollection

Positions = NDArray[np.int64]
Graphs = NDArray[np.int64]
"""Numbers of graphs among those that are searched."""


@dataclass(frozen=True, eq=False)
class CodedGraphs:
    """Queries and graphs with common tables, and room to search any of their pairs, one at a time."""

    problem: EncodedProblem
    graphs: Graphs | None
    """Which graphs the second ones are, rising; None if they are all."""
    watch: Watch = field(default_factory=Watch)
    """What stops the searches."""

    def columns(self, graphs: Graphs) -> Graphs:
        """Places of these graphs among the second ones."""
        return graphs if self.graphs is None else np.searchsorted(self.graphs, graphs)

    def pairs(self, row: int, graphs: Graphs) -> NDArray[np.int64]:
        """A query with these graphs, as the methods of edit distance take them."""
        return np.column_stack([np.full(len(graphs), row), self.columns(graphs)])

    def too_large(self, row: int, graphs: Graphs) -> NDArray[np.bool_]:
        """Where both graphs are too large for an exact search."""
        return smaller_sizes(self.problem, self.pairs(row, graphs)) > LARGEST_SEARCHED

    @cached_property
    def work(self) -> Workspace:
        """As large as the largest pair needs that is searched."""
        return allocate_workspace(self._size, self.watch.signals)

    @cached_property
    def is_vast(self) -> bool:
        """Whether the largest pair needs more memory than one computation may take."""
        return bool(exceeds_memory(np.array([count_bytes(self._size)], dtype=np.float64))[0])

    @cached_property
    def _size(self) -> WorkspaceSize:
        first, second = self.problem.first, self.problem.second
        largest = [
            [int(np.argmax(np.diff(start))) for start in starts]
            for starts in ((first.node_start, second.node_start), (first.edge_start, second.edge_start))
        ]
        size = workspace_size(self.problem, np.array(largest))
        return size._replace(smaller=min(size.smaller, LARGEST_SEARCHED))


class Coder(Protocol):
    """Codes graphs for one query."""

    @property
    def row(self) -> int:
        """Of the query among the first graphs."""

    @property
    def at_once(self) -> bool:
        """Whether all graphs are coded already."""

    def code(self, graphs: Graphs) -> CodedGraphs:
        """At least these graphs."""


@dataclass(frozen=True, slots=True, eq=False)
class CodedAtOnce:
    """For many queries to few graphs."""

    coded: CodedGraphs
    row: int
    at_once: bool = True

    def code(self, graphs: Graphs) -> CodedGraphs:
        """All of them, whichever are asked for."""
        return self.coded


@dataclass(slots=True, eq=False)
class CodedWhenNeeded:
    """For few queries to many graphs, most of which their bounds remove."""

    query: GraphCollection
    collect: Callable[[Graphs], GraphCollection]
    """Graphs by rising numbers."""
    costs: EditCosts
    watch: Watch = field(default_factory=Watch)
    row: int = 0
    at_once: bool = False

    def code(self, graphs: Graphs) -> CodedGraphs:
        """These graphs."""
        chosen = np.sort(graphs)
        return CodedGraphs(encode(self.query, self.collect(chosen), self.costs), chosen, self.watch)
