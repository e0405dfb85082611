"""Many graphs in shared arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from graphmetric.errors import InvalidGraph
from graphmetric.graphs.arrays import read_only
from graphmetric.graphs.columns import Columns, Has, concatenate, pack
from graphmetric.graphs.graph import Graph

_CHUNK = 10_000
"""Graphs packed at a time, so that an iterator of a million never exists as a million objects."""


class GraphCollection(Sequence[Graph]):
    """An immutable sequence of graphs that share their arrays.

    Ten million nodes cost about a hundred megabytes rather than several gigabytes of objects. Graphs are made when
    asked for and share memory with the collection; a slice or a choice of positions shares it too.

    Example:
        >>> graphs = GraphCollection([Graph(2, [(0, 1)]), Graph(3), Graph(0)])
        >>> graphs
        GraphCollection(3 graphs, 5 nodes, 1 edge)
        >>> graphs[1:][0]
        Graph(3 nodes, 0 edges)
        >>> graphs.sizes.tolist()
        [2, 3, 0]
    """

    __slots__ = ("_columns", "_index")

    def __init__(self, graphs: Iterable[Graph] = ()) -> None:
        if isinstance(graphs, GraphCollection):
            self._columns: Columns = graphs._columns
            self._index: NDArray[np.intp] | range = graphs._index
            return
        iterator = enumerate(graphs)
        parts: list[Columns] = []
        while chunk := [_checked_item(k, graph) for k, graph in islice(iterator, _CHUNK)]:
            parts.append(pack(chunk, position=_CHUNK * len(parts)))
        self._columns = concatenate(parts) if parts else pack([])
        self._index = range(self._columns.num_graphs)

    @classmethod
    def _of(cls, columns: Columns, index: NDArray[np.intp] | range | None = None) -> GraphCollection:
        collection = object.__new__(cls)
        collection._columns = columns
        collection._index = range(columns.num_graphs) if index is None else index
        return collection

    @property
    def columns(self) -> Columns:
        """The packed arrays of exactly these graphs; copied together first where this is a choice from a larger set."""
        if self._index == range(self._columns.num_graphs) if isinstance(self._index, range) else False:
            return self._columns
        return self._columns.take(np.asarray(self._index, dtype=np.intp))

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of nodes of each graph."""
        index = np.asarray(self._index, dtype=np.intp)
        return self._columns.node_ptr[index + 1] - self._columns.node_ptr[index]

    @property
    def edge_counts(self) -> NDArray[np.int64]:
        """Number of edges of each graph."""
        index = np.asarray(self._index, dtype=np.intp)
        return self._columns.edge_ptr[index + 1] - self._columns.edge_ptr[index]

    @property
    def flags(self) -> NDArray[np.uint8]:
        """:class:`~graphmetric.graphs.columns.Has` bits of each graph."""
        return self._columns.flags[np.asarray(self._index, dtype=np.intp)]

    def any_has(self, what: Has) -> bool:
        """Whether any of the graphs has this column."""
        return bool((self.flags & what).any())

    def without(self, names: Iterable[str]) -> GraphCollection:
        """The same graphs without some of their attributes, such as "edge_labels"; they are shared, not copied."""
        dropped = [name for name in names if getattr(self._columns, name) is not None]
        if not dropped:
            return self
        bits = int(np.bitwise_or.reduce([int(Has[name.upper()]) for name in dropped]))
        flags: Any = read_only(self._columns.flags & np.uint8(255 - bits))
        nothing: dict[str, Any] = dict.fromkeys(dropped)
        return GraphCollection._of(replace(self._columns, flags=flags, **nothing), self._index)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays behind the collection."""
        return self._columns.nbytes()

    def __len__(self) -> int:
        return len(self._index)

    @overload
    def __getitem__(self, key: int) -> Graph: ...
    @overload
    def __getitem__(self, key: slice | Sequence[int] | NDArray[Any]) -> GraphCollection: ...
    def __getitem__(self, key: Any) -> Graph | GraphCollection:
        if isinstance(key, int | np.integer):
            if not -len(self) <= key < len(self):
                raise IndexError(f"graphs[{key}]: the collection has {len(self)} graphs")
            return self._columns.graph(int(self._index[int(key)]))
        if isinstance(key, slice):
            return GraphCollection._of(self._columns, self._index[key])
        chosen = np.asarray(key)
        if chosen.size == 0 and chosen.dtype != np.bool_:
            chosen = chosen.astype(np.intp)
        return GraphCollection._of(self._columns, np.asarray(self._index, dtype=np.intp)[chosen])

    def __iter__(self) -> Iterator[Graph]:
        graph = self._columns.graph
        return (graph(int(k)) for k in self._index)

    def __add__(self, other: Iterable[Graph]) -> GraphCollection:
        return GraphCollection._of(concatenate([self.columns, GraphCollection(other).columns]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GraphCollection):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        counts = ((len(self), "graph"), (int(self.sizes.sum()), "node"), (int(self.edge_counts.sum()), "edge"))
        described = (f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s" for count, noun in counts)
        return f"GraphCollection({', '.join(described)})"

    def __reduce__(self) -> tuple[Any, ...]:
        # For worker processes of this program only; files never hold pickles.
        return GraphCollection._of, (self.columns,)


def _checked_item(k: int, graph: object) -> Graph:
    if not isinstance(graph, Graph):
        raise InvalidGraph(f"graphs[{k}] is a {type(graph).__name__}, not a Graph; see graphmetric.as_graphs")
    return graph
