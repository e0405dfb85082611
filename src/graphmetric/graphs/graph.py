r"""Definition 1 of the paper: a graph :math:`G = (\mathcal{V}, \mathcal{E}, w, x)`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidGraph
from graphmetric.graphs import graph_method
from graphmetric.graphs.canonical import (
    DEFAULT_BUDGET,
    budget_error,
    compute_certificates,
    could_be_isomorphic,
    is_isomorphic_by_igraph,
    require_igraph,
    search_orders,
)
from graphmetric.graphs.columns import (
    COLUMNS,
    EDGE_COLUMNS,
    Columns,
    GraphFlags,
    edge_order,
    pointers,
    read_only,
    sort_edges,
)
from graphmetric.graphs.labels import LabelColumn

if TYPE_CHECKING:
    import networkx as nx

MAX_NODES = 2**31 - 1
"""Node numbers are 32-bit."""

_NO_METADATA: Mapping[str, Any] = MappingProxyType({})
_BITS = tuple((column.name, column.per, int(column.flag)) for column in COLUMNS.values())
_DIRECTION = int(GraphFlags.DIRECTION)


class Adjacency(NamedTuple):
    """Compressed rows: the neighbors of node v are ``indices[indptr[v]:indptr[v + 1]]``, ascending."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    edge: NDArray[np.int64]
    """Row of ``Graph.edges`` of each entry."""


class Graph:
    r"""An immutable graph :math:`G = (\mathcal{V}, \mathcal{E}, w, x)` (Definition 1), checked once when built.

    Nodes are ``0 .. num_nodes - 1``. Edges are kept sorted, an undirected edge as ``(small, large)``; edge columns
    follow them. A self-loop is an edge. The empty graph and graphs without edges are graphs. A second edge between
    the same two nodes, a weight of 0 (the paper's "no edge"), NaN and infinite numbers are refused.

    The attributes :math:`x` come in the four kinds the paper names, each optional and free to combine: tags
    (``node_labels``), real vectors (``node_features``), texts (``node_texts``) and images (``node_images``).

    Two graphs are equal when V, E, w, x and direction are, node by node; ``id`` and ``metadata`` are not compared.
    For equality up to the numbering of nodes see :meth:`is_isomorphic`.

    Example:
        >>> g = Graph(5, [(0, 1), (1, 2)], node_labels=list("CCOCN"), id="small")
        >>> g
        Graph('small', 5 nodes, 2 edges, labels C:3 N O)
        >>> g.relabeled([4, 3, 2, 1, 0]).node_labels
        ('N', 'C', 'O', 'C', 'C')
    """

    __slots__ = ("_adjacency", "_columns", "directed", "edges", "id", "metadata", "num_nodes")

    num_nodes: int
    """|V|."""
    edges: NDArray[np.int32]
    """(num_edges, 2), sorted; read-only."""
    directed: bool
    id: Hashable
    """A name of the user's choice; None when there is none."""
    metadata: Mapping[str, Any]
    """Facts about the whole graph, such as its class. Read-only."""
    _columns: Mapping[str, Any]
    _adjacency: Adjacency | None

    def __init__(
        self,
        num_nodes: int,
        edges: Iterable[Sequence[int]] | NDArray[Any] = (),
        *,
        node_labels: Iterable[Hashable] | None = None,
        edge_labels: Iterable[Hashable] | None = None,
        edge_weights: ArrayLike | None = None,
        node_features: ArrayLike | None = None,
        node_texts: Iterable[str] | None = None,
        node_images: ArrayLike | None = None,
        directed: bool = False,
        id: Hashable = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        count = _checked_count(num_nodes)
        pairs, order = sort_edges(_edge_array(edges), count, directed)
        given = (node_labels, edge_labels, edge_weights, node_features, node_texts, node_images)
        columns: dict[str, Any] = {}
        for column, values in zip(COLUMNS.values(), given, strict=True):
            if values is not None:
                read = column.read(values, count if column.per == "node" else len(pairs))
                columns[column.name] = read if order is None or column.per == "node" else read[order]
        self._fill(count, np.ascontiguousarray(pairs, dtype=np.int32), bool(directed), columns, id, metadata)

    def _fill(
        self,
        num_nodes: int,
        edges: NDArray[np.int32],
        directed: bool,
        columns: Mapping[str, Any],
        id: Hashable,
        metadata: Mapping[str, Any] | None,
    ) -> None:
        put = object.__setattr__
        for array in (edges, *columns.values()):
            if isinstance(array, np.ndarray):
                read_only(array)
        put(self, "num_nodes", num_nodes)
        put(self, "edges", edges)
        put(self, "directed", directed)
        put(self, "_columns", columns)
        put(self, "id", id)
        put(self, "metadata", MappingProxyType(dict(metadata)) if metadata else _NO_METADATA)
        put(self, "_adjacency", None)

    @classmethod
    def _unchecked(cls, *parts: Any) -> Graph:
        """A graph from what ``_fill`` takes, already known to be right: sorted, of fitting length, finite."""
        graph = object.__new__(cls)
        graph._fill(*parts)
        return graph

    @classmethod
    def _unpacked(cls, packed: Columns, k: int) -> Graph:
        """Graph ``k`` of packed columns, sharing memory with them."""
        flags = int(packed.flags[k])
        nodes = slice(int(packed.node_ptr[k]), int(packed.node_ptr[k + 1]))
        edges = slice(int(packed.edge_ptr[k]), int(packed.edge_ptr[k + 1]))
        return cls._unchecked(
            nodes.stop - nodes.start,
            packed.edges[edges],
            bool(flags & _DIRECTION),
            {name: getattr(packed, name)[nodes if per == "node" else edges] for name, per, bit in _BITS if flags & bit},
            None if packed.ids is None else packed.ids[k],
            None if packed.metadata is None else packed.metadata[k],
        )

    def _packed(self) -> Columns:
        """This graph alone as packed columns, sharing memory with it; without id and metadata."""
        flags = np.array([self.flags], dtype=np.uint8)
        return Columns(pointers([self.num_nodes]), pointers([self.num_edges]), flags, self.edges, **self._columns)

    @property
    def num_edges(self) -> int:
        """|E|; an undirected edge counts once."""
        return len(self.edges)

    @property
    def flags(self) -> int:
        """:class:`~graphmetric.graphs.columns.GraphFlags` bits: direction, and which attributes there are."""
        return sum((bit for name, _, bit in _BITS if name in self._columns), int(self.directed))

    def column(self, name: str) -> Any:
        """An attribute as it is stored, an array or a :class:`LabelColumn`; None where the graph lacks it."""
        return self._columns.get(name)

    @property
    def node_labels(self) -> tuple[Hashable, ...] | None:
        """The tags, one per node."""
        return self._values("node_labels")

    @property
    def edge_labels(self) -> tuple[Hashable, ...] | None:
        """The tags of the edges, in the order of ``edges``."""
        return self._values("edge_labels")

    @property
    def edge_weights(self) -> NDArray[np.float64] | None:
        """w, one per edge; None means 1 everywhere."""
        return self._columns.get("edge_weights")

    @property
    def node_features(self) -> NDArray[np.float64] | None:
        """Real vectors, (num_nodes, d)."""
        return self._columns.get("node_features")

    @property
    def node_texts(self) -> tuple[str, ...] | None:
        """The texts, one per node."""
        return self._values("node_texts")

    @property
    def node_images(self) -> NDArray[Any] | None:
        """Images, (num_nodes, height, width, channels), uint8 or float32."""
        return self._columns.get("node_images")

    def _values(self, name: str) -> tuple[Any, ...] | None:
        column = self._columns.get(name)
        return None if column is None else column.values()

    @property
    def adjacency(self) -> Adjacency:
        """Neighbors in compressed rows: successors where directed, both ends of each edge otherwise."""
        known = self._adjacency
        if known is None:
            arcs, edge = (self.edges, np.arange(len(self.edges))) if self.directed else arcs_of(self.edges)
            known = _compressed_rows(self.num_nodes, arcs, edge)
            object.__setattr__(self, "_adjacency", known)
        return known

    @property
    def in_adjacency(self) -> Adjacency:
        """Predecessors in compressed rows; the same as :attr:`adjacency` where undirected."""
        if not self.directed:
            return self.adjacency
        return _compressed_rows(self.num_nodes, self.edges[:, ::-1], np.arange(len(self.edges)))

    def degrees(self) -> NDArray[np.int64]:
        """Number of edge ends at each node: a self-loop counts twice, arcs count in both directions."""
        return np.bincount(self.edges.ravel(), minlength=self.num_nodes)

    def relabeled(self, permutation: ArrayLike) -> Graph:
        """Return the graph with its nodes in another order: new node ``i`` is old node ``permutation[i]``."""
        order = np.asarray(permutation)
        if order.shape != (self.num_nodes,) or not np.array_equal(np.sort(order), np.arange(self.num_nodes)):
            raise InvalidGraph(f"permutation must hold each of the nodes 0..{self.num_nodes - 1} once; got {order!r}")
        order = order.astype(np.intp)
        new_number = np.empty(self.num_nodes, dtype=np.int64)
        new_number[order] = np.arange(self.num_nodes)
        pairs = new_number[self.edges]
        rows = {"node": order, "edge": edge_order(pairs, self.directed)}
        edges = pairs[rows["edge"]].astype(np.int32)
        columns = {name: column[rows[COLUMNS[name].per]] for name, column in self._columns.items()}
        metadata = _with_names_reordered(self.metadata, order)
        return Graph._unchecked(self.num_nodes, edges, self.directed, columns, self.id, metadata)

    def replace(self, **changes: Any) -> Graph:
        """A copy with some of the constructor's arguments changed, such as ``replace(edge_labels=None)``.

        ``directed=True`` makes two arcs of every undirected edge, one in each direction, with its label and weight.
        ``directed=False`` makes one edge of every arc; two opposite arcs become one edge, and are refused where their
        labels or weights differ. Give ``edges`` as well to say yourself which arcs or edges there are.
        """
        if changes.keys() <= {"id", "metadata"}:  # nothing that would have to be checked again
            described = changes.get("id", self.id), changes.get("metadata", self.metadata)
            return Graph._unchecked(self.num_nodes, self.edges, self.directed, self._columns, *described)
        directed = changes.get("directed", self.directed)
        if directed != self.directed and "edges" not in changes:
            others = {name: value for name, value in changes.items() if name != "directed"}
            return (self.replace(**others) if others else self)._redirected(bool(directed))
        kept = ("num_nodes", "edges", *self._columns, "directed", "id", "metadata")
        return Graph(**({name: getattr(self, name) for name in kept} | changes))

    def _redirected(self, directed: bool) -> Graph:
        """Every edge as two arcs, or arcs as edges; neither depends on how nodes are numbered."""
        pairs, rows = arcs_of(self.edges) if directed else (self.edges.copy(), np.arange(self.num_edges))
        order = edge_order(pairs, directed)
        pairs, rows = pairs[order], rows[order]
        again = np.zeros(len(pairs), dtype=bool)
        again[1:] = (pairs[1:] == pairs[:-1]).all(axis=1)
        changed = {name: self._columns[name][rows] for name in EDGE_COLUMNS if name in self._columns}
        _check_opposite_arcs(pairs, np.flatnonzero(again), changed)
        columns = {**self._columns, **{name: column[~again] for name, column in changed.items()}}
        edges = pairs[~again].astype(np.int32)
        return Graph._unchecked(self.num_nodes, edges, directed, columns, self.id, self.metadata)

    def canonical_order(self, *, budget: int = DEFAULT_BUDGET) -> NDArray[np.int64]:
        """The nodes in canonical order: ``g.relabeled(g.canonical_order())`` is equal for all isomorphic graphs.

        Raises :class:`WorkBudgetExceeded` when a very regular graph needs more than ``budget`` steps.
        """
        outcome = search_orders(self._packed(), budget).outcome
        if not outcome.solved[0]:
            raise budget_error(f"the graph {self!r}", budget)
        return outcome.order

    def certificate(self, *, budget: int = DEFAULT_BUDGET) -> str:
        """32 hexadecimal digits that two graphs share exactly when they are isomorphic, the same on every machine.

        Raises :class:`WorkBudgetExceeded` as :meth:`canonical_order` does.
        """
        text = compute_certificates(self._packed(), budget)[0][0]
        if text is None:
            raise budget_error(f"the graph {self!r}", budget)
        return text

    def is_isomorphic(self, other: Graph, *, budget: int = DEFAULT_BUDGET) -> bool:
        """Return whether a renumbering of the nodes turns one graph into the other, with all attributes and weights.

        Pairs that exceed the budget go to igraph when it is installed; otherwise :class:`WorkBudgetExceeded`.
        """
        packed = self._packed(), other._packed()
        if not could_be_isomorphic(*packed):
            return False
        first, second = (compute_certificates(graph, budget)[0][0] for graph in packed)
        if first is not None and second is not None:
            return first == second
        require_igraph(f"the graph {self if first is None else other!r}", budget)
        return is_isomorphic_by_igraph(*packed)

    @classmethod
    def from_networkx(cls, graph: nx.Graph, **options: Any) -> Graph:
        """See :func:`graphmetric.formats.conversion.from_networkx`."""
        return graph_method("from_networkx")(graph, **options)  # type: ignore[no-any-return]

    def to_networkx(self) -> nx.Graph:
        """See :func:`graphmetric.formats.conversion.to_networkx`."""
        return graph_method("to_networkx")(self)

    @classmethod
    def from_smiles(cls, smiles: str, **options: Any) -> Graph:
        """See :func:`graphmetric.formats.conversion.from_smiles`."""
        return graph_method("from_smiles")(smiles, **options)  # type: ignore[no-any-return]

    def _repr_svg_(self) -> str:
        return graph_method("draw_graph")(self)  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return (
            self.num_nodes == other.num_nodes
            and self.directed == other.directed
            and np.array_equal(self.edges, other.edges)
            and self._columns.keys() == other._columns.keys()
            and all(_same_column(column, other._columns[name]) for name, column in self._columns.items())
        )

    def __hash__(self) -> int:
        return hash((self.num_nodes, self.directed, self.edges.tobytes(), self.node_labels, self.edge_labels))

    def __repr__(self) -> str:
        parts = [repr(self.id)] if self.id is not None else []
        parts += [_counted(self.num_nodes, "node"), _counted(self.num_edges, "edge")]
        if self.directed:
            parts.append("directed")
        for name, words in (("node_labels", "labels"), ("edge_labels", "edge labels")):
            if self._columns.get(name):
                parts.append(f"{words} {_tally(self._columns[name])}")
        if self.edge_weights is not None:
            parts.append("weighted")
        if self.node_features is not None:
            parts.append(_counted(self.node_features.shape[1], "feature"))
        parts += [kind for kind in ("texts", "images") if f"node_{kind}" in self._columns]
        return f"Graph({', '.join(parts)})"

    def __copy__(self) -> Graph:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # For worker processes of this program only; files never hold pickles.
        columns, metadata = dict(self._columns), dict(self.metadata)
        return Graph._unchecked, (self.num_nodes, self.edges, self.directed, columns, self.id, metadata)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"graphs are immutable; use g.replace({name}=...) to make a changed copy")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("graphs are immutable")


def _checked_count(num_nodes: object) -> int:
    if not _is_integer(num_nodes):
        raise InvalidGraph(f"num_nodes must be an integer; got {num_nodes!r}")
    if not 0 <= num_nodes <= MAX_NODES:  # type: ignore[operator]
        raise InvalidGraph(f"num_nodes must be between 0 and {MAX_NODES}; got {num_nodes}")
    return int(num_nodes)  # type: ignore[call-overload, no-any-return]


def _edge_array(edges: object) -> NDArray[np.int64]:
    """A copy of edges given as pairs, as an (m, 2) array; raises :class:`InvalidGraph` for anything else."""
    given = edges if isinstance(edges, np.ndarray) else list(edges)  # type: ignore[call-overload]
    try:
        array = np.asarray(given)
    except (ValueError, OverflowError):
        raise InvalidGraph("edges must be pairs of node numbers; some have another length") from None
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2:
        raise InvalidGraph(f"edges must be pairs of node numbers, shape (m, 2); got shape {array.shape}")
    if array.dtype.kind not in "iu":
        wrong = next((tuple(pair) for pair in given if not all(_is_integer(end) for end in pair)), given[0])
        raise InvalidGraph(f"edge {wrong!r} is not a pair of integers; number the nodes 0..n-1 first")
    if array.dtype == np.uint64 and array.max() > MAX_NODES:
        raise InvalidGraph(f"node {array.max()} is beyond the largest node number {MAX_NODES}")
    return array.astype(np.int64)


def _is_integer(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool | np.bool_)


def arcs_of(edges: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Both directions of every edge, a self-loop once, and the edge that each comes from."""
    other = np.flatnonzero(edges[:, 0] != edges[:, 1])
    return np.concatenate([edges, edges[other, ::-1]]), np.concatenate([np.arange(len(edges)), other])


def _compressed_rows(num_nodes: int, arcs: NDArray[Any], edge: NDArray[Any]) -> Adjacency:
    """Sort arcs by source, then target."""
    sources, targets = arcs.T
    order = np.lexsort((targets, sources))
    indptr = pointers(np.bincount(sources, minlength=num_nodes))
    return Adjacency(indptr, read_only(targets[order].astype(np.int32)), read_only(edge[order]))


def _with_names_reordered(metadata: Mapping[str, Any], node_order: NDArray[np.intp]) -> Mapping[str, Any]:
    """``node_names``, kept by conversions from libraries whose nodes have names, is the one entry by node."""
    names = metadata.get("node_names")
    if not isinstance(names, list | tuple) or len(names) != len(node_order):
        return metadata
    return {**metadata, "node_names": type(names)(names[old] for old in node_order.tolist())}


def _check_opposite_arcs(pairs: NDArray[Any], second: NDArray[np.intp], columns: Mapping[str, Any]) -> None:
    """Raise unless each pair of opposite arcs, the rows ``second`` and those before them, agrees in all columns."""
    for column in columns.values():
        values = column.codes if isinstance(column, LabelColumn) else column
        differs = second[values[second] != values[second - 1]]
        if len(differs):
            u, v = pairs[differs[0]].tolist()
            raise InvalidGraph(
                f"arcs ({u}, {v}) and ({v}, {u}) differ in label or weight, so they cannot become one undirected edge; "
                "keep the graph directed, or drop the columns, as with replace(edge_labels=None, edge_weights=None)"
            )


def _same_column(a: Any, b: Any) -> bool:
    if isinstance(a, LabelColumn):
        return np.array_equal(a.codes, b.codes) if a.vocabulary is b.vocabulary else a.values() == b.values()
    return np.array_equal(a, b)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _tally(column: LabelColumn, most: int = 6) -> str:
    counts = Counter(column).most_common()
    counts.sort(key=lambda item: (-item[1], str(item[0])))
    shown = [f"{label}:{count}" if count > 1 else f"{label}" for label, count in counts[:most]]
    return " ".join(shown) + (" ..." if len(counts) > most else "")
