"""Maximum common subgraphs and the distances that they define.

There are two kinds. An *induced* common subgraph (:func:`maximum_common_subgraph`) has as many nodes as possible, and
two of its nodes are joined in both graphs or in neither. The distance of Bunke and Shearer (1998) counts the nodes
outside of it. A common *edge* subgraph (:func:`mces_distance`) has as many edges as possible, and it does not matter
which other edges lie between its nodes. Its distance counts the edges outside of it, by weight if they have weights.

The first kind has a search of its own. The second is an edit distance in which inserting and deleting nodes is free,
no node may be relabeled, and edges cost their weights (:func:`mces_costs`).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.edit_distance._kernels.common_subgraph import (
    CommonLimits,
    CommonResults,
    allocate_common,
    find_common_subgraphs,
)
from graphmetric.edit_distance.costs import EditCosts, Ignorable
from graphmetric.edit_distance.edit_path import NodeMap, without
from graphmetric.edit_distance.encoding import EncodedProblem, encode
from graphmetric.edit_distance.method import TimeLimit, room_for
from graphmetric.edit_distance.pairwise import checked_pairs
from graphmetric.edit_distance.scaling import node_counts
from graphmetric.edit_distance.single import graph_edit_distance
from graphmetric.edit_distance.stopping import Watch, in_thread
from graphmetric.errors import InvalidArgument
from graphmetric.formats.conversion import as_graph, as_graphs
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.edits import DeleteEdge, DeleteNode, Edit, apply_edits, edge_key, edges_of
from graphmetric.graphs.graph import Graph

_UNLIMITED = 1 << 40
_BOND_ORDERS: dict[Hashable, float] = {"1": 1.0, "2": 2.0, "3": 3.0, "4": 4.0, "aromatic": 1.5, "dative": 1.0}
"""The weights of the bonds that :mod:`graphmetric.formats.molecules` reads, as in RDKit."""

EdgeWeights = Mapping[Hashable, float] | Literal["bond_orders"] | None
"""Weights of edges by label; those of the bonds of molecules; or None where every edge counts 1."""


@dataclass(frozen=True, slots=True, eq=False)
class CommonSubgraph:
    """The largest induced subgraph found in both graphs."""

    first: Graph
    second: Graph
    node_map: NodeMap
    """For each node of ``first`` the node of ``second`` it corresponds to, None outside the common subgraph."""
    proven: bool
    """Whether it is proven to be the largest; False only when the limit ended the search."""

    @property
    def size(self) -> int:
        """Its number of nodes."""
        return sum(v is not None for v in self.node_map)

    @property
    def distance(self) -> int:
        r"""\|V1\| + \|V2\| - 2 \|MCS\|: the nodes outside of it. A metric when the subgraph need not be connected."""
        return self.first.num_nodes + self.second.num_nodes - 2 * self.size

    @property
    def subgraph(self) -> Graph:
        """The common subgraph itself, with the attributes it has in ``first``."""
        inside = {u for u, v in enumerate(self.node_map) if v is not None}
        return _part(self.first, self.node_map, {(u, v) for u, v in self.first.edges.tolist() if {u, v} <= inside})

    def __repr__(self) -> str:
        status = "" if self.proven else " or more"
        return f"CommonSubgraph({self.size}{status} of {self.first.num_nodes} and {self.second.num_nodes} nodes)"


def maximum_common_subgraph(
    first: Any,
    second: Any,
    *,
    connected: bool = False,
    ignore: frozenset[Ignorable] = frozenset(),
    node_limit: int | None = None,
) -> CommonSubgraph:
    """The largest induced subgraph that two graphs have in common, all attributes counting unless ignored.

    Args:
        first: A graph; anything :func:`graphmetric.as_graph` takes.
        second: Another one.
        connected: The subgraph must be connected, as in the public benchmark sizes of AIDS700nef and LINUX.
        ignore: Attributes that need not agree, such as ``{"edge_labels"}``.
        node_limit: Pairs of nodes to try before the best so far is returned.

    Example:
        >>> ring = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)])
        >>> chain = Graph(5, [(0, 1), (1, 2), (2, 3), (3, 4)])
        >>> common = maximum_common_subgraph(ring, chain)
        >>> common, common.distance
        (CommonSubgraph(3 of 4 and 5 nodes), 3)
    """
    g, h = as_graph(first), as_graph(second)
    problem = encode(GraphCollection([g]), GraphCollection([h]), EditCosts(ignore=ignore))
    found = _solve(problem, np.zeros((1, 2), dtype=np.int64), connected, node_limit)
    images = found.node_map[0, : g.num_nodes].tolist()
    return CommonSubgraph(g, h, tuple(None if v < 0 else v for v in images), bool(found.finished[0]))


@dataclass(frozen=True, slots=True, eq=False)
class CommonEdgeSubgraph:
    """The common subgraph with the most edges, or with the most weight on them, and the distance that it defines."""

    first: Graph
    second: Graph
    lower: float
    """The distance is at least this."""
    upper: float
    """The distance is at most this: the weight of all edges of both graphs that are not common, and the differences of
    the weights of those that are."""
    node_map: NodeMap
    """For each node of ``first`` the node of ``second`` that it corresponds to, None if it has no common edge."""
    common_edges: tuple[tuple[tuple[int, int], tuple[int, int]], ...]
    """Edges of ``first``, each with the edge of ``second`` that it corresponds to."""
    note: str | None = None
    """Why it is not proven to be the largest, such as a time limit; None if it is."""

    @property
    def exact(self) -> bool:
        """Whether the distance is proven, so that no common subgraph is larger."""
        return self.lower == self.upper

    @property
    def size(self) -> int:
        """Its number of edges."""
        return len(self.common_edges)

    @property
    def similarity(self) -> float:
        """Johnson's similarity, from 0 to 1.

        Count the nodes and edges of the common subgraph, square, and divide by those of ``first`` and of ``second``.
        """
        common = self.size + sum(v is not None for v in self.node_map)
        one, other = (graph.num_nodes + graph.num_edges for graph in (self.first, self.second))
        return common**2 / (one * other) if one * other else float(one == other)

    @property
    def subgraph(self) -> Graph:
        """The common subgraph itself, with the attributes it has in ``first``."""
        return _part(self.first, self.node_map, {edge for edge, _ in self.common_edges})

    def __repr__(self) -> str:
        edges = f"{self.size} of {self.first.num_edges} and {self.second.num_edges} edges"
        known = f"distance {self.upper:g}, exact" if self.exact else f"between {self.lower:g} and {self.upper:g}"
        return f"CommonEdgeSubgraph({edges}, {known}{f': {self.note}' if self.note else ''})"


def mces_distance(
    first: Any,
    second: Any,
    *,
    weights: EdgeWeights = None,
    ignore: frozenset[Ignorable] = frozenset(),
    time_limit: TimeLimit = "auto",
) -> CommonEdgeSubgraph:
    r"""The distance by the maximum common edge subgraph (MCES), or bounds on it, and that subgraph.

    Only equal nodes correspond to each other, and nodes outside of the common subgraph cost nothing. Without weights
    only equal edges correspond, and the distance is the number of all other edges, \|E1\| + \|E2\| - 2 \|MCES\|. With
    weights, edges of different labels may correspond and cost the difference of their weights; all other edges cost
    their weights. With bond orders as weights this is the distance between molecules that the tool *myopic MCES*
    computes. The common subgraph need not be connected. The distance is a metric on graphs without isolated nodes, as
    long as no two labels have the same weight.

    For many pairs use ``pairwise_edit_distances(graphs, costs=mces_costs())``.

    Args:
        first: A graph; anything :func:`graphmetric.as_graph` takes.
        second: Another one.
        weights: Positive weights of edges by label. ``"bond_orders"`` stands for those of molecules as they are read
            from SMILES and SDF: 1, 2, 3, 4, and 1.5 for aromatic bonds. Edges without labels weigh 1.
        ignore: Attributes that need not agree, such as ``{"edge_labels"}``.
        time_limit: Seconds after which the search returns the bounds it has; "auto" is 10, None means no limit.

    Raises:
        SearchInterrupted: Ctrl-C was pressed. Its ``known`` is an :class:`EditDistance` with the bounds so far.

    Example:
        >>> ring = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], node_labels="CCCO")
        >>> chain = Graph(5, [(0, 1), (1, 2), (2, 3), (3, 4)], node_labels="CCCON")
        >>> common = mces_distance(ring, chain)
        >>> common
        CommonEdgeSubgraph(3 of 4 and 4 edges, distance 2, exact)
        >>> common.subgraph
        Graph(4 nodes, 3 edges, labels C:3 O)
    """
    g, h = as_graph(first), as_graph(second)
    costs = mces_costs(weights, ignore=ignore)
    _check_weighed(costs, [*(without(g, ignore).edge_labels or ()), *(without(h, ignore).edge_labels or ())])
    found = graph_edit_distance(g, h, costs=costs, time_limit=time_limit)
    assert found.node_map is not None
    edges = _common_edges(without(g, ignore), without(h, ignore), found.node_map, any_label=weights is not None)
    inside = {u for edge, _ in edges for u in edge}
    node_map = tuple(v if u in inside else None for u, v in enumerate(found.node_map))
    return CommonEdgeSubgraph(g, h, found.lower, found.upper, node_map, edges, found.note)


def mces_costs(weights: EdgeWeights = None, *, ignore: frozenset[Ignorable] = frozenset()) -> EditCosts:
    """Costs under which the edit distance is the one by the maximum common edge subgraph; see :func:`mces_distance`.

    Example:
        >>> from graphmetric import pairwise_edit_distances
        >>> chains = [Graph(n, [(k, k + 1) for k in range(n - 1)]) for n in (2, 3, 5)]
        >>> pairwise_edit_distances(chains, costs=mces_costs()).distances
        array([[0., 1., 3.],
               [1., 0., 2.],
               [3., 2., 0.]])
    """
    free = EditCosts(node_substitute=float("inf"), node_delete=0, node_insert=0, edge_substitute=2, ignore=ignore)
    if weights is None:
        return free
    table = _checked_weights(weights)
    differences = {(a, b): abs(table[a] - table[b]) for a, b in combinations(table, 2)}
    return replace(free, edge_delete=table, edge_insert=table, edge_substitute=differences)


def _checked_weights(weights: Mapping[Hashable, float] | str) -> dict[Hashable, float]:
    """Weights by label; edges without labels weigh 1 unless another weight is given for None."""
    given = _BOND_ORDERS if weights == "bond_orders" else weights
    if not isinstance(given, Mapping):
        raise InvalidArgument(f"weights is {weights!r}; give weights by edge label, 'bond_orders', or None")
    for label, weight in given.items():
        if isinstance(weight, bool | str) or not 0 < weight < float("inf"):
            raise InvalidArgument(f"weights[{label!r}] is {weight!r}; a weight is a positive finite number")
    return {None: 1.0, **given}


def _check_weighed(costs: EditCosts, labels: list[Hashable]) -> None:
    table = costs.edge_delete
    if isinstance(table, Mapping) and (missing := [label for label in labels if label not in table]):
        raise InvalidArgument(
            f"weights has none for the edge label {missing[0]!r}; it has some for {', '.join(map(repr, table))}: "
            "add the missing ones, or leave weights out"
        )


def _common_edges(
    first: Graph, second: Graph, node_map: NodeMap, *, any_label: bool
) -> tuple[tuple[tuple[int, int], tuple[int, int]], ...]:
    """Edges of the first graph that the map takes to edges of the second, which are equal unless any label will do."""
    others, common = edges_of(second), []
    for (u, v), carried in edges_of(first).items():
        a, b = node_map[u], node_map[v]
        if a is not None and b is not None:
            image = edge_key(a, b, first.directed)
            if image in others and (any_label or others[image] == carried):
                common.append(((u, v), image))
    return tuple(common)


def _part(graph: Graph, node_map: NodeMap, kept: Collection[tuple[int, int]]) -> Graph:
    """The mapped nodes of a graph and some of the edges between them."""
    labels = graph.node_labels or (None,) * graph.num_nodes
    edits: list[Edit] = [DeleteEdge(u, v, edge.label) for (u, v), edge in edges_of(graph).items() if (u, v) not in kept]
    edits += [DeleteNode(u, labels[u]) for u, v in enumerate(node_map) if v is None]
    return apply_edits(graph, edits)


def common_subgraph_sizes(
    graphs: Any,
    others: Any = None,
    *,
    pairs: ArrayLike,
    connected: bool = False,
    ignore: frozenset[Ignorable] = frozenset(),
    node_limit: int | None = None,
) -> NDArray[np.int64]:
    """Sizes of the maximum common subgraphs of many pairs; see :func:`maximum_common_subgraph`."""
    left = as_graphs(graphs)
    right = left if others is None else as_graphs(others)
    chosen = checked_pairs(pairs, len(left), len(right))
    return _solve(encode(left, right, EditCosts(ignore=ignore)), chosen, connected, node_limit).size


def _solve(problem: EncodedProblem, pairs: NDArray[np.int64], connected: bool, node_limit: int | None) -> CommonResults:
    if node_limit is not None and node_limit < 1:
        raise InvalidArgument(f"node_limit is {node_limit}; it must be at least 1, or None")
    size, finished = np.zeros((2, len(pairs)), dtype=np.int64)
    results = CommonResults(size, finished, room_for(problem, pairs).node_map)
    limits = CommonLimits(int(connected), node_limit or _UNLIMITED)

    def search(watch: Watch) -> None:
        largest = int(np.maximum(*node_counts(problem, pairs)).max(initial=0))
        work = allocate_common(largest, watch.signals)
        find_common_subgraphs(problem.first, problem.second, problem.tables.edge_reverse, pairs, limits, work, results)

    in_thread(search)
    return results
