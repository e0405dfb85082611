"""Many graphs in shared arrays, and which of them are the same up to the numbering of nodes."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.markup import Markup, captioned, data_frame, key_value_table, notebook_view
from graphmetric.errors import InvalidGraph
from graphmetric.graphs.canonical import (
    DEFAULT_BUDGET,
    budget_error,
    compute_certificates,
    is_isomorphic_by_igraph,
    require_igraph,
)
from graphmetric.graphs.columns import (
    LABEL_COLUMNS,
    Columns,
    GraphFlags,
    concatenate,
    join_columns,
    pointers,
    read_only,
)
from graphmetric.graphs.graph import Graph
from graphmetric.graphs.labels import LabelColumn, label_to_json

if TYPE_CHECKING:
    import pandas

_PICTURES, _LARGEST_PICTURE = 6, 60
"""Graphs of which a notebook shows pictures, and the most nodes of these."""
_CHUNK = 10_000
"""Graphs packed at a time, so that an iterator of a million never exists as a million objects."""
_CERTIFIED_AT_ONCE = 20_000
"""Graphs per call of the compiled search, which cannot be interrupted."""


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

    __slots__ = ("_columns", "_index", "reading")

    def __init__(self, graphs: Iterable[Graph] = (), *, reading: Any = None) -> None:
        """Pack graphs; ``reading`` is for graphs that were made from others whose ``reading`` is known."""
        self.reading: Any = reading
        """The :class:`~graphmetric.formats.MoleculeOptions` by which molecules were read; None if that is not known."""
        if isinstance(graphs, GraphCollection):
            self.reading = graphs.reading if reading is None else reading
            self._columns: Columns = graphs._columns
            self._index: NDArray[np.intp] | range = graphs._index
            return
        iterator = enumerate(graphs)
        parts: list[Columns] = []
        while chunk := [checked_item(k, graph) for k, graph in islice(iterator, _CHUNK)]:
            parts.append(pack(chunk, position=_CHUNK * len(parts)))
        self._columns = concatenate(parts) if parts else pack([])
        self._index = range(self._columns.num_graphs)

    @classmethod
    def _of(
        cls, columns: Columns, index: NDArray[np.intp] | range | None = None, reading: Any = None
    ) -> GraphCollection:
        collection = object.__new__(cls)
        collection.reading = reading
        collection._columns = columns
        collection._index = range(columns.num_graphs) if index is None else index
        return collection

    @property
    def _positions(self) -> NDArray[np.intp]:
        own = self._index  # a range of a million numbers takes fifty milliseconds to be made an array
        return np.arange(own.start, own.stop, own.step, dtype=np.intp) if isinstance(own, range) else own

    def _positions_of(self, chosen: NDArray[Any]) -> NDArray[np.intp]:
        """Positions of chosen graphs, by numbers or a mask."""
        own, count = self._index, len(self._index)
        few = chosen.dtype.kind in "iu" and 0 < chosen.size < count // 4  # then the other positions are not made
        if few and isinstance(own, range) and -count <= chosen.min() and chosen.max() < count:
            return own.start + own.step * np.where(chosen < 0, chosen + count, chosen).astype(np.intp)
        positions: NDArray[np.intp] = self._positions[chosen]
        return positions

    @property
    def _is_whole(self) -> bool:
        return isinstance(self._index, range) and self._index == range(self._columns.num_graphs)

    @property
    def columns(self) -> Columns:
        """The packed arrays of exactly these graphs; copied together first where this is a choice from a larger set."""
        if self._is_whole:
            return self._columns
        return self._columns.take(self._positions)

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of nodes of each graph."""
        return self._run_lengths(self._columns.node_ptr)

    @property
    def edge_counts(self) -> NDArray[np.int64]:
        """Number of edges of each graph."""
        return self._run_lengths(self._columns.edge_ptr)

    @property
    def flags(self) -> NDArray[np.uint8]:
        """:class:`~graphmetric.graphs.columns.GraphFlags` bits of each graph."""
        return self._columns.flags[self._positions]

    def _run_lengths(self, ptr: NDArray[np.int64]) -> NDArray[np.int64]:
        if self._is_whole:
            return np.diff(ptr)
        chosen = self._positions
        return ptr[chosen + 1] - ptr[chosen]

    def any_has(self, what: GraphFlags) -> bool:
        """Return whether any of the graphs has this column."""
        return bool((self.flags & what).any())

    def without(self, names: Iterable[str]) -> GraphCollection:
        """Return the graphs without some of their attributes, such as "edge_labels"; arrays are shared, not copied."""
        return GraphCollection._of(self._columns.without(names), self._index, self.reading)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays behind the collection."""
        return self._columns.nbytes

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
            return Graph._unpacked(self._columns, int(self._index[int(key)]))
        if isinstance(key, slice):
            return GraphCollection._of(self._columns, self._index[key], self.reading)
        chosen = np.asarray(key)
        if chosen.size == 0 and chosen.dtype != np.bool_:
            chosen = chosen.astype(np.intp)
        return GraphCollection._of(self._columns, self._positions_of(chosen), self.reading)

    def __iter__(self) -> Iterator[Graph]:
        return (Graph._unpacked(self._columns, int(k)) for k in self._index)

    def __add__(self, other: Iterable[Graph]) -> GraphCollection:
        added = GraphCollection(other)
        reading = self.reading if self.reading == added.reading else None
        return GraphCollection._of(concatenate([self.columns, added.columns]), reading=reading)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, GraphCollection):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        counts = ((len(self), "graph"), (int(self.sizes.sum()), "node"), (int(self.edge_counts.sum()), "edge"))
        described = (f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s" for count, noun in counts)
        return f"GraphCollection({', '.join(described)})"

    def _repr_html_(self) -> str:
        title = repr(self).removeprefix("GraphCollection(").removesuffix(")")
        if len(self) == 0:
            return notebook_view(title)
        ranges = (f"{counts.min():,} to {counts.max():,}" for counts in (self.sizes, self.edge_counts))
        has = [str(what.name).lower().replace("_", " ") for what in GraphFlags if self.any_has(what)]
        about = dict(zip(("nodes of a graph", "edges of a graph"), ranges, strict=True))
        about["attributes"] = ", ".join(has) or "none"
        few = [graph for graph in islice(self, _PICTURES) if graph.num_nodes <= _LARGEST_PICTURE]
        drawn = [(Markup(graph._repr_svg_()), str("" if graph.id is None else graph.id)) for graph in few]
        return notebook_view(title, key_value_table(about), captioned(drawn, more=len(self) - len(few)))

    def to_pandas(self) -> pandas.DataFrame:
        """A table with one row for each graph: its id, its numbers of nodes and edges, and its metadata."""
        notes = [graph.metadata for graph in self]
        keys = dict.fromkeys(key for note in notes for key in note)
        columns = {"id": [graph.id for graph in self], "num_nodes": self.sizes, "num_edges": self.edge_counts}
        return data_frame(columns | {key: [note.get(key) for note in notes] for key in keys}, "tables of graphs")

    def __reduce__(self) -> tuple[Any, ...]:
        # For worker processes of this program only; files never hold pickles.
        columns = self.columns
        compact = {name: column.compact() for name, column in columns.present().items() if name in LABEL_COLUMNS}
        return GraphCollection._of, (replace(columns, **compact), None, self.reading)


def checked_item(k: int, graph: object) -> Graph:
    """The ``k``-th of the graphs that somebody gave, which must be one."""
    if not isinstance(graph, Graph):
        raise InvalidGraph(f"graphs[{k}] is of type {type(graph).__name__}, not a Graph; see graphmetric.as_graphs")
    return graph


def pack(graphs: Sequence[Graph], position: int = 0) -> Columns:
    """Copy graphs into shared columns; errors count them from ``position``."""
    counts = {"node": [graph.num_nodes for graph in graphs], "edge": [graph.num_edges for graph in graphs]}
    return Columns(
        node_ptr=pointers(counts["node"]),
        edge_ptr=pointers(counts["edge"]),
        flags=read_only(np.array([graph.flags for graph in graphs], dtype=np.uint8)),
        edges=read_only(np.concatenate([g.edges for g in graphs]) if graphs else np.empty((0, 2), dtype=np.int32)),
        ids=tuple(g.id for g in graphs) if any(g.id is not None for g in graphs) else None,
        metadata=tuple(dict(g.metadata) for g in graphs) if any(g.metadata for g in graphs) else None,
        **join_columns([graph._columns for graph in graphs], counts, "graphs", position),
    )


def certificates(graphs: Iterable[Graph], *, budget: int = DEFAULT_BUDGET) -> list[str]:
    """The certificate of each graph, as ``Graph.certificate`` gives it; much faster than one by one."""
    collection = GraphCollection(graphs)
    found = certificates_within(collection, budget)
    texts = [text for text in found if text is not None]
    if len(texts) < len(found):
        raise budget_error(_name(collection, found.index(None)), budget)
    return texts


def certificates_within(graphs: Iterable[Graph], budget: int = DEFAULT_BUDGET) -> list[str | None]:
    """The certificate of each graph, None for one that is too regular for the budget."""
    return _certify(GraphCollection(graphs), budget)[0]


def identity_keys(graphs: GraphCollection, budget: int = DEFAULT_BUDGET) -> list[str]:
    """Certificates; a graph too regular for the budget gets a digest that its other numberings do not share."""
    found = certificates_within(graphs, budget)
    return [fingerprint(graphs[k : k + 1]) if text is None else text for k, text in enumerate(found)]


def fingerprint(graphs: GraphCollection) -> str:
    """A digest of everything in a collection that a distance can depend on."""
    digest = blake2b(digest_size=16)
    columns = graphs.columns
    for name in ("node_ptr", "edge_ptr", "flags", "edges", "edge_weights", "node_features", "node_images"):
        _add_array(digest, name, getattr(columns, name))
    for name in ("node_labels", "edge_labels", "node_texts"):
        column: LabelColumn | None = getattr(columns, name)
        if column is not None:
            column = column.compact()  # the vocabulary may hold more than is used
            words = [label_to_json(label) for label in column.vocabulary]
            order = np.argsort(np.array([json.dumps(word) for word in words], dtype=object), kind="stable")
            rank = np.empty(len(order), dtype=np.int64)
            rank[order] = np.arange(len(order))
            _add_array(digest, name, rank[column.codes])
            digest.update(json.dumps([words[k] for k in order]).encode())
    return digest.hexdigest()


def isomorphism_classes(graphs: Iterable[Graph], *, budget: int = DEFAULT_BUDGET) -> NDArray[np.int64]:
    """For each graph the number of its class; classes are numbered in order of first appearance.

    Graphs that exceed the budget go to igraph when it is installed; otherwise :class:`WorkBudgetExceeded`.
    """
    collection = GraphCollection(graphs)
    names, invariants = _certify(collection, budget)
    hard = [k for k, text in enumerate(names) if text is None]
    if hard:
        require_igraph(_name(collection, hard[0]), budget)
    known: defaultdict[int, dict[str, int]] = defaultdict(dict)  # invariant -> name -> a graph of that name
    hard_invariants = {invariants[k] for k in hard}
    for k, text in enumerate(names):
        if text is not None and invariants[k] in hard_invariants:
            known[invariants[k]].setdefault(text, k)
    for k in hard:
        same, graph = known[invariants[k]], collection[k]._packed()
        found_in = (name for name, j in same.items() if is_isomorphic_by_igraph(graph, collection[j]._packed()))
        names[k] = name = next(found_in, f"hard {k}")
        same.setdefault(name, k)
    numbers: dict[str | None, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def _certify(graphs: GraphCollection, budget: int) -> tuple[list[str | None], list[int]]:
    texts: list[str | None] = []
    invariants: list[int] = []
    for start in range(0, len(graphs), _CERTIFIED_AT_ONCE):
        found = compute_certificates(graphs[start : start + _CERTIFIED_AT_ONCE].columns, budget)
        texts += found[0]
        invariants += found[1]
    return texts, invariants


def _name(graphs: GraphCollection, k: int) -> str:
    return f"graphs[{k}] {graphs[k]!r}"


def _add_array(digest: Any, name: str, array: NDArray[Any] | None) -> None:
    if array is not None:
        digest.update(f"{name}{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
