r"""Definition 1 of the paper: a graph :math:`G = (\mathcal{V}, \mathcal{E}, w, x)`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidGraph
from graphmetric.graphs.arrays import (
    MAX_NODES,
    Adjacency,
    check_length,
    compressed_rows,
    edge_array,
    feature_array,
    image_array,
    read_only,
    weight_array,
)
from graphmetric.graphs.labels import LabelColumn

if TYPE_CHECKING:
    import networkx as nx

_NO_METADATA: Mapping[str, Any] = MappingProxyType({})


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

    __slots__ = (
        "_adjacency",
        "_edge_labels",
        "_in_adjacency",
        "_node_labels",
        "_node_texts",
        "directed",
        "edge_weights",
        "edges",
        "id",
        "metadata",
        "node_features",
        "node_images",
        "num_nodes",
    )

    num_nodes: int
    """|V|."""
    edges: NDArray[np.int32]
    """(num_edges, 2), sorted; read-only."""
    directed: bool
    edge_weights: NDArray[np.float64] | None
    """w, one per edge; None means 1 everywhere."""
    node_features: NDArray[np.float64] | None
    """Real vectors, (num_nodes, d)."""
    node_images: NDArray[Any] | None
    """Images, (num_nodes, height, width, channels), uint8 or float32."""
    id: Hashable
    """A name of the user's choice; None when there is none."""
    metadata: Mapping[str, Any]
    """Facts about the whole graph, such as its class. Read-only."""
    _node_labels: LabelColumn | None
    _edge_labels: LabelColumn | None
    _node_texts: LabelColumn | None
    _adjacency: Adjacency | None
    _in_adjacency: Adjacency | None

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
        pairs = edge_array(edges)
        order = _checked_edge_order(count, pairs, directed)
        weights = None if edge_weights is None else weight_array(edge_weights, pairs)[order]
        self._fill(
            count,
            np.ascontiguousarray(pairs[order], dtype=np.int32),
            bool(directed),
            node_labels=_label_column("node_labels", node_labels, count, "nodes"),
            edge_labels=_label_column("edge_labels", edge_labels, len(pairs), "edges", order),
            edge_weights=weights,
            node_features=None if node_features is None else feature_array(node_features, count),
            node_texts=_text_column(node_texts, count),
            node_images=None if node_images is None else image_array(node_images, count),
            id=id,
            metadata=metadata,
        )

    def _fill(
        self,
        num_nodes: int,
        edges: NDArray[np.int32],
        directed: bool,
        *,
        node_labels: LabelColumn | None = None,
        edge_labels: LabelColumn | None = None,
        edge_weights: NDArray[np.float64] | None = None,
        node_features: NDArray[np.float64] | None = None,
        node_texts: LabelColumn | None = None,
        node_images: NDArray[Any] | None = None,
        id: Hashable = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        put = object.__setattr__
        for array in (edges, edge_weights, node_features, node_images):
            if array is not None:
                read_only(array)
        put(self, "num_nodes", num_nodes)
        put(self, "edges", edges)
        put(self, "directed", directed)
        put(self, "_node_labels", node_labels)
        put(self, "_edge_labels", edge_labels)
        put(self, "edge_weights", edge_weights)
        put(self, "node_features", node_features)
        put(self, "_node_texts", node_texts)
        put(self, "node_images", node_images)
        put(self, "id", id)
        put(self, "metadata", MappingProxyType(dict(metadata)) if metadata else _NO_METADATA)
        put(self, "_adjacency", None)
        put(self, "_in_adjacency", None)

    @classmethod
    def _unchecked(cls, num_nodes: int, edges: NDArray[np.int32], directed: bool, **columns: Any) -> Graph:
        """A graph from columns that are already known to be right: sorted, of fitting length, finite."""
        graph = object.__new__(cls)
        graph._fill(num_nodes, edges, directed, **columns)
        return graph

    @property
    def num_edges(self) -> int:
        """|E|; an undirected edge counts once."""
        return len(self.edges)

    @property
    def node_labels(self) -> tuple[Hashable, ...] | None:
        """The tags, one per node."""
        return None if self._node_labels is None else self._node_labels.values()

    @property
    def edge_labels(self) -> tuple[Hashable, ...] | None:
        """The tags of the edges, in the order of ``edges``."""
        return None if self._edge_labels is None else self._edge_labels.values()

    @property
    def node_texts(self) -> tuple[str, ...] | None:
        """The texts, one per node."""
        return None if self._node_texts is None else self._node_texts.values()  # type: ignore[return-value]

    @property
    def node_label_column(self) -> LabelColumn | None:
        """The tags as codes and vocabulary."""
        return self._node_labels

    @property
    def edge_label_column(self) -> LabelColumn | None:
        """The tags of the edges as codes and vocabulary."""
        return self._edge_labels

    @property
    def node_text_column(self) -> LabelColumn | None:
        """The texts as codes and vocabulary."""
        return self._node_texts

    @property
    def adjacency(self) -> Adjacency:
        """Neighbours in compressed rows: successors where directed, both ends of each edge otherwise."""
        known = self._adjacency
        if known is None:
            sources, targets = self.edges[:, 0], self.edges[:, 1]
            edge = np.arange(len(self.edges))
            if not self.directed:
                other = np.flatnonzero(sources != targets)  # a self-loop appears once in its row
                sources, targets, edge = (
                    np.concatenate([sources, targets[other]]),
                    np.concatenate([targets, sources[other]]),
                    np.concatenate([edge, other]),
                )
            known = compressed_rows(self.num_nodes, sources, targets, edge)
            object.__setattr__(self, "_adjacency", known)
        return known

    @property
    def in_adjacency(self) -> Adjacency:
        """Predecessors in compressed rows; the same as :attr:`adjacency` where undirected."""
        if not self.directed:
            return self.adjacency
        known = self._in_adjacency
        if known is None:
            known = compressed_rows(self.num_nodes, self.edges[:, 1], self.edges[:, 0], np.arange(len(self.edges)))
            object.__setattr__(self, "_in_adjacency", known)
        return known

    def degrees(self) -> NDArray[np.int64]:
        """How many edge ends meet at each node: a self-loop counts twice, arcs count in both directions."""
        return np.bincount(self.edges.ravel(), minlength=self.num_nodes)

    def relabeled(self, permutation: ArrayLike) -> Graph:
        """The same graph with its nodes in another order: new node ``i`` is old node ``permutation[i]``."""
        order = np.asarray(permutation)
        if order.shape != (self.num_nodes,) or not np.array_equal(np.sort(order), np.arange(self.num_nodes)):
            raise InvalidGraph(f"permutation must hold each of the nodes 0..{self.num_nodes - 1} once; got {order!r}")
        order = order.astype(np.intp)
        new_number = np.empty(self.num_nodes, dtype=np.int64)
        new_number[order] = np.arange(self.num_nodes)
        pairs = new_number[self.edges] if self.num_edges else np.empty((0, 2), dtype=np.int64)
        return self._reordered(order, pairs)

    def _reordered(self, node_order: NDArray[np.intp], pairs: NDArray[np.int64]) -> Graph:
        edge_order = sort_edges(pairs, self.directed)
        return Graph._unchecked(
            self.num_nodes,
            pairs[edge_order].astype(np.int32),
            self.directed,
            node_labels=self._node_labels and self._node_labels.take(node_order),
            edge_labels=self._edge_labels and self._edge_labels.take(edge_order),
            edge_weights=None if self.edge_weights is None else self.edge_weights[edge_order],
            node_features=None if self.node_features is None else self.node_features[node_order],
            node_texts=self._node_texts and self._node_texts.take(node_order),
            node_images=None if self.node_images is None else self.node_images[node_order],
            id=self.id,
            metadata=_with_names_reordered(self.metadata, node_order),
        )

    def replace(self, **changes: Any) -> Graph:
        """A copy with some of the constructor's arguments changed, such as ``replace(edge_labels=None)``.

        ``directed=True`` makes two arcs of every undirected edge, one in each direction, with its label and weight.
        ``directed=False`` makes one edge of every arc; two opposite arcs become one edge, and are refused where their
        labels or weights differ. Give ``edges`` as well to say yourself which arcs or edges there are.
        """
        directed = changes.get("directed", self.directed)
        if directed != self.directed and "edges" not in changes:
            others = {name: value for name, value in changes.items() if name != "directed"}
            return (self.replace(**others) if others else self)._redirected(bool(directed))
        columns: dict[str, Any] = {
            "num_nodes": self.num_nodes,
            "edges": self.edges,
            "node_labels": self.node_labels,
            "edge_labels": self.edge_labels,
            "edge_weights": self.edge_weights,
            "node_features": self.node_features,
            "node_texts": self.node_texts,
            "node_images": self.node_images,
            "directed": self.directed,
            "id": self.id,
            "metadata": self.metadata,
        }
        return Graph(**(columns | changes))

    def _redirected(self, directed: bool) -> Graph:
        """Every edge as two arcs, or arcs as edges; neither depends on how nodes are numbered."""
        pairs = self.edges.astype(np.int64)
        rows = np.arange(len(pairs))
        if directed:
            both = np.flatnonzero(pairs[:, 0] != pairs[:, 1])  # a self-loop is its own opposite
            pairs, rows = np.concatenate([pairs, pairs[both, ::-1]]), np.concatenate([rows, both])
        order = sort_edges(pairs, directed)
        pairs, rows = pairs[order], rows[order]
        labels = self._edge_labels and self._edge_labels.take(rows)
        weights = None if self.edge_weights is None else self.edge_weights[rows]
        if not directed:
            again = np.concatenate([[False], (pairs[1:] == pairs[:-1]).all(axis=1)]) if len(pairs) else rows > 0
            _check_opposite_arcs(pairs, np.flatnonzero(again), labels, weights)
            pairs, labels = pairs[~again], labels and labels.take(np.flatnonzero(~again))
            weights = None if weights is None else weights[~again]
        return Graph._unchecked(
            self.num_nodes,
            pairs.astype(np.int32),
            directed,
            node_labels=self._node_labels,
            edge_labels=labels,
            edge_weights=weights,
            node_features=self.node_features,
            node_texts=self._node_texts,
            node_images=self.node_images,
            id=self.id,
            metadata=self.metadata,
        )

    def canonical_order(self) -> NDArray[np.int64]:
        """The nodes in canonical order: ``g.relabeled(g.canonical_order())`` is equal for all isomorphic graphs."""
        from graphmetric.graphs.canonical import canonical_order

        return canonical_order(self)

    def certificate(self) -> str:
        """A text that two graphs share exactly when they are isomorphic, the same on every machine."""
        from graphmetric.graphs.canonical import certificate

        return certificate(self)

    def is_isomorphic(self, other: Graph) -> bool:
        """Whether some renumbering of the nodes turns one graph into the other, attributes, weights and all."""
        from graphmetric.graphs.canonical import is_isomorphic

        return is_isomorphic(self, other)

    @classmethod
    def from_networkx(cls, graph: nx.Graph, **options: Any) -> Graph:
        """See :func:`graphmetric.formats.conversion.from_networkx`."""
        from graphmetric.formats.conversion import from_networkx

        return from_networkx(graph, **options)

    def to_networkx(self) -> nx.Graph:
        """See :func:`graphmetric.formats.conversion.to_networkx`."""
        from graphmetric.formats.conversion import to_networkx

        return to_networkx(self)

    @classmethod
    def from_smiles(cls, smiles: str, **options: Any) -> Graph:
        """See :func:`graphmetric.formats.conversion.from_smiles`."""
        from graphmetric.formats.conversion import from_smiles

        return from_smiles(smiles, **options)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Graph):
            return NotImplemented
        return (
            self.num_nodes == other.num_nodes
            and self.directed == other.directed
            and np.array_equal(self.edges, other.edges)
            and self.node_labels == other.node_labels
            and self.edge_labels == other.edge_labels
            and self.node_texts == other.node_texts
            and _same_array(self.edge_weights, other.edge_weights)
            and _same_array(self.node_features, other.node_features)
            and _same_array(self.node_images, other.node_images)
        )

    def __hash__(self) -> int:
        return hash((self.num_nodes, self.directed, self.edges.tobytes(), self.node_labels, self.edge_labels))

    def __repr__(self) -> str:
        parts = [repr(self.id)] if self.id is not None else []
        parts += [_counted(self.num_nodes, "node"), _counted(self.num_edges, "edge")]
        if self.directed:
            parts.append("directed")
        if self._node_labels is not None and self.num_nodes:
            parts.append("labels " + _tally(self._node_labels))
        if self._edge_labels is not None and self.num_edges:
            parts.append("edge labels " + _tally(self._edge_labels))
        if self.edge_weights is not None:
            parts.append("weighted")
        if self.node_features is not None:
            parts.append(_counted(self.node_features.shape[1], "feature"))
        parts += [kind for kind in ("texts", "images") if getattr(self, f"node_{kind}") is not None]
        return f"Graph({', '.join(parts)})"

    def _repr_svg_(self) -> str:
        from graphmetric.drawing import draw_graph

        return draw_graph(self)

    def __copy__(self) -> Graph:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Graph:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        # For worker processes of this program only; files never hold pickles.
        columns = {name: getattr(self, name) for name in ("edge_weights", "node_features", "node_images", "id")}
        columns |= {"metadata": dict(self.metadata), "node_labels": self._node_labels}
        columns |= {"edge_labels": self._edge_labels, "node_texts": self._node_texts}
        return _rebuild, (self.num_nodes, self.edges, self.directed, columns)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"graphs are immutable; use g.replace({name}=...) to make a changed copy")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError("graphs are immutable")


def _with_names_reordered(metadata: Mapping[str, Any], node_order: NDArray[np.intp]) -> Mapping[str, Any]:
    """``node_names``, kept by conversions from libraries whose nodes have names, is the one entry by node."""
    names = metadata.get("node_names")
    if not isinstance(names, list | tuple) or len(names) != len(node_order):
        return metadata
    return {**metadata, "node_names": type(names)(names[old] for old in node_order.tolist())}


def sort_edges(pairs: NDArray[np.int64], directed: bool) -> NDArray[np.intp]:
    """Put undirected edges as (small, large), in place, and return the order that sorts them."""
    if not directed:
        pairs.sort(axis=1)
    return np.lexsort((pairs[:, 1], pairs[:, 0]))


def _checked_count(num_nodes: object) -> int:
    if isinstance(num_nodes, bool) or not isinstance(num_nodes, int | np.integer):
        raise InvalidGraph(f"num_nodes must be an integer; got {num_nodes!r}")
    if not 0 <= num_nodes <= MAX_NODES:
        raise InvalidGraph(f"num_nodes must be between 0 and {MAX_NODES}; got {num_nodes}")
    return int(num_nodes)


def _checked_edge_order(num_nodes: int, pairs: NDArray[np.int64], directed: bool) -> NDArray[np.intp]:
    """Check end points and duplicates; orient undirected pairs in place; return the sorting order."""
    outside = np.flatnonzero(((pairs < 0) | (pairs >= num_nodes)).any(axis=1))
    if len(outside):
        u, v = pairs[outside[0]].tolist()
        node = v if 0 <= u < num_nodes else u
        has = f"{_counted(num_nodes, 'node')} (0..{num_nodes - 1})" if num_nodes else "no nodes"
        raise InvalidGraph(f"edge ({u}, {v}) names node {node}; the graph has {has}")
    order = sort_edges(pairs, directed)
    ordered = pairs[order]
    again = np.flatnonzero((ordered[1:] == ordered[:-1]).all(axis=1))
    if len(again):
        u, v = ordered[again[0]].tolist()
        either = "" if directed else f" (as ({u}, {v}) or ({v}, {u}))"
        raise InvalidGraph(f"edge ({u}, {v}) is given twice{either}; merge parallel edges, for instance into a weight")
    return order


def _check_opposite_arcs(
    pairs: NDArray[np.int64],
    second: NDArray[np.intp],
    labels: LabelColumn | None,
    weights: NDArray[np.float64] | None,
) -> None:
    """Raise unless each pair of opposite arcs, the rows ``second`` and those before them, agrees in all columns."""
    differs = np.zeros(len(second), dtype=bool)
    if labels is not None:
        differs |= labels.codes[second] != labels.codes[second - 1]
    if weights is not None:
        differs |= weights[second] != weights[second - 1]
    if differs.any():
        u, v = pairs[second[differs][0]].tolist()
        raise InvalidGraph(
            f"arcs ({u}, {v}) and ({v}, {u}) differ in label or weight, so they cannot become one undirected edge; "
            "keep the graph directed, or drop the column first, as with replace(edge_labels=None, edge_weights=None)"
        )


def _label_column(
    name: str, values: Iterable[Hashable] | None, length: int, what: str, order: NDArray[np.intp] | None = None
) -> LabelColumn | None:
    if values is None:
        return None
    if not isinstance(values, Iterable):
        raise InvalidGraph(f"{name} must be a sequence, one entry for each of the {what}; got {values!r}")
    column = LabelColumn.from_values(values)
    check_length(name, column.codes, length, what)
    return column if order is None else column.take(order)


def _text_column(texts: Iterable[str] | None, num_nodes: int) -> LabelColumn | None:
    column = _label_column("node_texts", texts, num_nodes, "nodes")
    if column is not None:
        wrong = next((text for text in column.vocabulary if not isinstance(text, str)), None)
        if wrong is not None:
            raise InvalidGraph(f"node_texts must be strings; got {wrong!r}")
    return column


def _same_array(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    if a is None or b is None:
        return a is b
    return np.array_equal(a, b)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _tally(column: LabelColumn, most: int = 6) -> str:
    counts = Counter(column).most_common()
    counts.sort(key=lambda item: (-item[1], str(item[0])))
    shown = [f"{label}:{count}" if count > 1 else f"{label}" for label, count in counts[:most]]
    return " ".join(shown) + (" ..." if len(counts) > most else "")


def _rebuild(num_nodes: int, edges: NDArray[np.int32], directed: bool, columns: dict[str, Any]) -> Graph:
    return Graph._unchecked(num_nodes, edges, directed, **columns)
