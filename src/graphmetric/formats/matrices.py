"""Adjacency matrices, dense and sparse.

Lists of edges between nodes of any name.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.errors import InvalidGraph
from graphmetric.formats.attributes import NODE_NAMES, EdgeRows, ParallelEdges, are_node_numbers, merge_parallel_edges
from graphmetric.graphs.graph import Graph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

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
    names = dict.fromkeys(nodes or ())
    names |= dict.fromkeys(name for pair in pairs for name in pair)
    names |= dict.fromkeys(by_name or ())
    ordered = _ordered(list(names), None if in_order is None or nodes is not None else len(in_order))
    number = {name: i for i, name in enumerate(ordered)}
    rows = EdgeRows(
        [_numbered(pair, number) for pair in pairs],
        None if edge_labels is None else list(edge_labels),
        None if edge_weights is None else list(edge_weights),
    )
    _check_edge_columns(rows)
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


def _checked_pairs(edges: Iterable[Sequence[Hashable]]) -> list[tuple[Any, Any]]:
    given = edges.tolist() if isinstance(edges, np.ndarray) else list(edges)
    for k, edge in enumerate(given):
        if isinstance(edge, str | bytes) or not hasattr(edge, "__len__") or len(edge) != 2:
            raise InvalidGraph(
                f"edges[{k}] is {edge!r}; an edge is a pair of nodes, its label and weight go to edge_labels=, "
                "edge_weights="
            )
        for name in edge:
            if not isinstance(name, Hashable):
                raise InvalidGraph(f"edges[{k}]: {name!r} is a {type(name).__name__}, which cannot name a node")
    return [(_plain(u), _plain(v)) for u, v in given]


def _plain(name: Any) -> Any:
    return name.item() if isinstance(name, np.generic) else name


def _ordered(names: list[Hashable], num_labels: int | None) -> list[Hashable]:
    """The nodes by number: integers are numbers where they can be."""
    if num_labels is not None and all(type(name) is int for name in names):
        return list(range(num_labels))
    return list(range(len(names))) if are_node_numbers(names) else names


def _numbered(pair: tuple[Any, Any], number: dict[Hashable, int]) -> tuple[int, int]:
    missing = next((name for name in pair if name not in number), None)
    if missing is not None:
        raise InvalidGraph(f"edge {pair!r} names node {missing}; there are {len(number)} labels (0..{len(number) - 1})")
    return number[pair[0]], number[pair[1]]


def _check_edge_columns(rows: EdgeRows) -> None:
    for name, column in (("edge_labels", rows.labels), ("edge_weights", rows.weights)):
        if column is not None and len(column) != len(rows.pairs):
            raise InvalidGraph(f"{name} has {len(column)} entries; there are {len(rows.pairs)} edges")


class _Entries(NamedTuple):
    """The non-zero entries of a matrix."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]

    def chosen(self, mask: NDArray[np.bool_]) -> _Entries:
        return _Entries(self.rows[mask], self.columns[mask], self.values[mask])

    def sorted(self) -> _Entries:
        order = np.lexsort((self.columns, self.rows))
        return _Entries(self.rows[order], self.columns[order], self.values[order])


def from_adjacency(
    matrix: Any,
    *,
    directed: bool | None = None,
    node_labels: Iterable[Hashable] | None = None,
    node_features: ArrayLike | None = None,
    id: Hashable = None,
) -> Graph:
    """The graph with an edge from i to j where ``matrix[i, j]`` is not 0; a numpy or scipy sparse matrix.

    Entries become weights unless all are 1. The diagonal holds self-loops. Stored zeros of a sparse matrix are no
    edges, its repeated entries are added up. A symmetric matrix gives an undirected graph, any other a directed one;
    ``directed`` demands one or the other. A matrix that is symmetric but for rounding is refused without it.
    """
    size, entries = _checked_entries(matrix)
    directed = _checked_direction(entries, directed)
    if not directed:
        entries = entries.chosen(entries.rows <= entries.columns)
    return Graph(
        size,
        np.column_stack([entries.rows, entries.columns]),
        edge_weights=None if (entries.values == 1).all() else entries.values,
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
    """The matrix of edge weights, 1 where the graph has none; everything but E and w is outside a matrix.

    Dense by default, in ``8 * num_nodes**2`` bytes; ``sparse=True`` gives a ``scipy.sparse.csr_array``.
    """
    adjacency = graph.adjacency
    weights = np.ones(graph.num_edges) if graph.edge_weights is None else graph.edge_weights
    values = weights[adjacency.edge]
    shape = (graph.num_nodes, graph.num_nodes)
    if sparse:
        from scipy.sparse import csr_array

        return csr_array((values, adjacency.indices, adjacency.indptr), shape=shape, copy=True)
    matrix = np.zeros(shape)
    matrix[np.repeat(np.arange(graph.num_nodes), np.diff(adjacency.indptr)), adjacency.indices] = values
    return matrix


def _checked_entries(matrix: Any) -> tuple[int, _Entries]:
    is_sparse = hasattr(matrix, "tocsr")
    given: Any = matrix if is_sparse else np.asarray(matrix)
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise InvalidGraph(f"an adjacency matrix is square; got shape {given.shape}")
    if given.dtype.kind not in "buif":
        raise InvalidGraph(f"an adjacency matrix holds numbers; got {given.dtype}")
    if is_sparse:
        stored = given.tocsr().tocoo()  # through rows, which adds up repeated entries
        entries = _Entries(stored.row.astype(np.int64), stored.col.astype(np.int64), stored.data.astype(np.float64))
        entries = entries.chosen(entries.values != 0)
    else:
        rows, columns = np.nonzero(given)
        entries = _Entries(rows, columns, given[rows, columns].astype(np.float64))
    wrong = np.flatnonzero(~np.isfinite(entries.values))
    if len(wrong):
        i, j, value = (part[wrong[0]] for part in entries)
        raise InvalidGraph(f"matrix[{i}, {j}] is {value}; entries are finite numbers, 0 for no edge")
    return given.shape[0], entries


def _checked_direction(entries: _Entries, directed: bool | None) -> bool:
    if directed:
        return True
    here = entries.sorted()
    mirrored = _Entries(entries.columns, entries.rows, entries.values).sorted()
    same_places = np.array_equal(here.rows, mirrored.rows) and np.array_equal(here.columns, mirrored.columns)
    differing = np.flatnonzero(here.values != mirrored.values) if same_places else _unmatched(here, mirrored)
    if not len(differing):
        return False
    i, j = here.rows[differing[0]], here.columns[differing[0]]
    if directed is False:
        raise InvalidGraph(f"matrix[{i}, {j}] and matrix[{j}, {i}] differ; an undirected graph has a symmetric matrix")
    if same_places and np.allclose(here.values, mirrored.values):
        raise InvalidGraph(
            f"matrix[{i}, {j}] and matrix[{j}, {i}] differ by rounding only; "
            "make it symmetric, (A + A.T) / 2, or say directed=True"
        )
    return True


def _unmatched(here: _Entries, mirrored: _Entries) -> NDArray[np.intp]:
    places = set(zip(mirrored.rows.tolist(), mirrored.columns.tolist(), strict=True))
    mine = zip(here.rows.tolist(), here.columns.tolist(), strict=True)
    return np.array([k for k, place in enumerate(mine) if place not in places][:1], dtype=np.intp)
