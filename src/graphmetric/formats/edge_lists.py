"""Graphs from lists of edges between nodes of any name, and from and to adjacency matrices, dense and sparse.

Also how two edges between the same nodes, which :class:`Graph` refuses, are made into one, and arcs paired into edges.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric._foundation.options import format_count
from graphmetric.errors import InvalidArgument, InvalidGraph
from graphmetric.formats.attributes import NODE_NAMES, are_node_numbers
from graphmetric.graphs.graph import Graph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

ParallelEdges = Literal["error", "sum", "first"]
"""``"error"`` refuses them, ``"sum"`` adds their weights (1 where there are none), ``"first"`` keeps the first."""

Labels = Iterable[Hashable] | Mapping[Hashable, Hashable]


def from_edge_list(
    edges: Iterable[Sequence[Hashable]],
    labels: Labels | None = None,
    *,
    nodes: Iterable[Hashable] | None = None,
    edge_labels: Iterable[Hashable] | None = None,
    edge_weights: Iterable[float] | None = None,
    directed: bool = False,
    parallel_edges: ParallelEdges = "error",
    id: Hashable = None,
) -> Graph:
    """A graph from pairs of node names, which may be any hashable values.

    ``labels`` is a mapping from names to labels (names it lacks get None, names without edges become nodes), or a
    sequence in the order of the nodes. Nodes are numbered in order of first appearance: first in ``nodes``, then in
    ``edges``, then in ``labels``. Integers that are exactly 0..n-1 are node numbers and stay as they are; beside a
    sequence of n labels all integers are taken as such. Names that are not numbers are kept as
    ``metadata["node_names"]``.

    Example:
        >>> from_edge_list([("main", "parse"), ("parse", "read")], {"main": "entry"}).node_labels
        ('entry', None, None)
    """
    pairs = _checked_pairs(edges)
    by_name = labels if isinstance(labels, Mapping) else None
    in_order = None if labels is None or by_name is not None else list(labels)
    ordered = list(dict.fromkeys(chain(nodes or (), *pairs, by_name or ())))
    if in_order is not None and nodes is None and all(type(name) is int for name in ordered):
        ordered = list(range(len(in_order)))
    elif are_node_numbers(ordered):
        ordered = list(range(len(ordered)))
    rows = EdgeRows(
        _numbered(pairs, ordered),
        None if edge_labels is None else list(edge_labels),
        None if edge_weights is None else list(edge_weights),
    )
    for name, column in (("edge_labels", rows.labels), ("edge_weights", rows.weights)):
        if column is not None and len(column) != len(rows.pairs):
            entries, edges = format_count(len(column), "entry", "entries"), format_count(len(rows.pairs), "edge")
            raise InvalidGraph(f"{name} has {entries}; the list has {edges}")
    rows = merge_parallel_edges(rows, directed, parallel_edges)
    return Graph(
        len(ordered),
        rows.pairs,
        node_labels=in_order if by_name is None else [by_name.get(name) for name in ordered],
        edge_labels=rows.labels,
        edge_weights=rows.weights,
        directed=directed,
        id=id,
        metadata={NODE_NAMES: tuple(ordered)} if not are_node_numbers(ordered) else None,
    )


def _checked_pairs(edges: Iterable[Sequence[Hashable]]) -> list[tuple[Any, ...]]:
    given = edges.tolist() if isinstance(edges, np.ndarray) else list(edges)
    for k, edge in enumerate(given):
        if isinstance(edge, str | bytes) or not hasattr(edge, "__len__") or len(edge) != 2:
            raise InvalidGraph(
                f"edges[{k}] is {edge!r}; an edge is a pair of nodes, its label and weight go to edge_labels=, "
                "edge_weights="
            )
        for name in edge:
            if not isinstance(name, Hashable):
                raise InvalidGraph(f"edges[{k}]: {name!r} is of type {type(name).__name__}, which cannot name a node")
    return [tuple(name.item() if isinstance(name, np.generic) else name for name in edge) for edge in given]


def _numbered(pairs: list[tuple[Any, ...]], names: list[Hashable]) -> list[tuple[int, int]]:
    number = {name: i for i, name in enumerate(names)}
    for pair in pairs:
        missing = next((name for name in pair if name not in number), None)
        if missing is not None:
            has = f"there are {len(number)} labels (0..{len(number) - 1})"
            raise InvalidGraph(f"edge {pair!r} names node {missing}; {has}")
    return [(number[u], number[v]) for u, v in pairs]


class EdgeRows(NamedTuple):
    """Edges and their columns, before they are part of a graph."""

    pairs: list[tuple[int, int]]
    labels: list[Hashable] | None = None
    weights: list[float] | None = None

    def take(self, rows: list[int]) -> EdgeRows:
        """The chosen edges, in the given order."""
        taken = (None if column is None else [column[row] for row in rows] for column in self)
        return EdgeRows(*taken)  # type: ignore[arg-type]


def merge_parallel_edges(edges: EdgeRows, directed: bool, how: ParallelEdges) -> EdgeRows:
    """At most one edge per pair of nodes, by the rule ``how``."""
    if how not in get_args(ParallelEdges):
        raise InvalidArgument(f"parallel_edges must be 'error', 'sum' or 'first'; got {how!r}")
    keys = edges.pairs if directed else [(u, v) if u <= v else (v, u) for u, v in edges.pairs]
    rows: dict[tuple[int, int], list[int]] = {}
    for row, key in enumerate(keys):
        rows.setdefault(key, []).append(row)
    if len(rows) == len(keys):
        return edges
    if how == "error":
        edge = max(rows, key=lambda key: len(rows[key]))
        raise InvalidGraph(
            f"edge {edge} is given {len(rows[edge])} times; parallel_edges='sum' adds the weights (1 where there are "
            "none), 'first' keeps the first"
        )
    merged = edges.take([first for first, *_ in rows.values()])
    if how == "first":
        return merged
    for key, (first, *others) in rows.items():
        wrong = next((row for row in others if edges.labels and edges.labels[row] != edges.labels[first]), None)
        if edges.labels and wrong is not None:
            given = f"edge {key} is given with labels {edges.labels[first]!r} and {edges.labels[wrong]!r}"
            raise InvalidGraph(f"{given}; parallel_edges='sum' cannot merge different labels")
    weights = edges.weights or [1.0] * len(keys)
    return merged._replace(weights=[sum(_number(weights[row], key) for row in same) for key, same in rows.items()])


def _number(weight: object, edge: tuple[int, int]) -> float:
    try:
        return float(weight)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InvalidGraph(f"edge {edge} has weight {weight!r}, which is not a number") from None


def pair_opposite_arcs(graph: Graph) -> Graph:
    """The undirected graph of a directed one in which every arc has its equal opposite; any other graph as it is."""
    try:
        undirected = graph.replace(directed=False)
    except InvalidGraph:  # opposite arcs that differ
        return graph
    loops = int((graph.edges[:, 0] == graph.edges[:, 1]).sum())
    return undirected if 2 * undirected.num_edges - loops == graph.num_edges else graph


def from_adjacency(
    matrix: Any,
    *,
    directed: bool | None = None,
    node_labels: Iterable[Hashable] | None = None,
    node_features: ArrayLike | None = None,
    id: Hashable = None,
) -> Graph:
    """The graph with an edge from i to j where ``matrix[i, j]`` is not 0; a numpy or scipy sparse matrix.

    Entries become weights unless all are 1. The diagonal holds self-loops. Stored zeros of a sparse matrix are not
    edges, its repeated entries are added up. A symmetric matrix gives an undirected graph, any other a directed one;
    ``directed`` demands one or the other. A matrix that is symmetric but for rounding is refused without it.
    """
    from scipy.sparse import triu  # slow to import

    entries = _checked_entries(matrix)
    directed = _is_directed(entries, directed)
    stored = (entries if directed else triu(entries)).tocoo()
    return Graph(
        entries.shape[0],
        np.column_stack(stored.coords),
        edge_weights=None if (stored.data == 1).all() else stored.data,
        directed=directed,
        node_labels=node_labels,
        node_features=node_features,
        id=id,
    )


@overload
def to_adjacency(graph: Graph, *, sparse: Literal[False] = False) -> NDArray[np.float64]: ...
@overload
def to_adjacency(graph: Graph, *, sparse: Literal[True]) -> csr_array: ...
def to_adjacency(graph: Graph, *, sparse: bool = False) -> Any:
    """The matrix of edge weights, 1 where the graph has none; labels and all else have no place in a matrix.

    Dense by default, in ``8 * num_nodes**2`` bytes; ``sparse=True`` gives a ``scipy.sparse.csr_array``.
    """
    from scipy.sparse import csr_array

    adjacency = graph.adjacency
    weights = np.ones(graph.num_edges) if graph.edge_weights is None else graph.edge_weights
    values = weights[adjacency.edge]
    shape = (graph.num_nodes, graph.num_nodes)
    matrix = csr_array((values, adjacency.indices, adjacency.indptr), shape=shape, copy=True)
    return matrix if sparse else matrix.toarray()


def _checked_entries(matrix: Any) -> csr_array:
    """The entries other than 0 of a square matrix of finite numbers; repeated ones are added up."""
    from scipy.sparse import csr_array

    given: Any = matrix if hasattr(matrix, "tocsr") else np.asarray(matrix)
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise InvalidGraph(f"an adjacency matrix is square; got shape {given.shape}")
    if given.dtype.kind not in "buif":
        raise InvalidGraph(f"an adjacency matrix holds numbers; got {given.dtype}")
    entries = csr_array(given, dtype=np.float64, copy=True)
    entries.sum_duplicates()
    entries.eliminate_zeros()
    wrong = np.flatnonzero(~np.isfinite(entries.data))
    if len(wrong):
        i, j = (part[wrong[0]] for part in entries.tocoo().coords)
        raise InvalidGraph(f"matrix[{i}, {j}] is {entries.data[wrong[0]]}; entries are finite numbers, 0 for no edge")
    return entries


def _is_directed(entries: csr_array, directed: bool | None) -> bool:
    if directed:
        return True
    opposites = entries.T.tocsr()
    apart: Any = entries != opposites
    if not apart.nnz:
        return False
    apart.sort_indices()
    i, j = (part[0] for part in apart.tocoo().coords)
    if directed is False:
        raise InvalidGraph(f"matrix[{i}, {j}] and matrix[{j}, {i}] differ; an undirected graph has a symmetric matrix")
    if np.array_equal(entries.indices, opposites.indices) and np.allclose(entries.data, opposites.data):
        raise InvalidGraph(
            f"matrix[{i}, {j}] and matrix[{j}, {i}] differ by rounding only; "
            "make it symmetric, (A + A.T) / 2, or say directed=True"
        )
    return True
