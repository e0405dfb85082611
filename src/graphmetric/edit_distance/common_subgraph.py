"""Maximum common subgraphs, and the distance that Bunke and Shearer (1998) define by them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric.edit_distance._kernels.common_subgraph import (
    CommonLimits,
    CommonResults,
    allocate_common,
    find_common_subgraphs,
)
from graphmetric.edit_distance.costs import EditCosts, Ignorable
from graphmetric.edit_distance.encoding import EncodedProblem, encode
from graphmetric.edit_distance.method import room_for
from graphmetric.edit_distance.pairwise import checked_pairs
from graphmetric.edit_distance.scaling import node_counts
from graphmetric.edit_distance.single import NodeMap
from graphmetric.edit_distance.stopping import Watch, in_thread
from graphmetric.errors import InvalidArgument
from graphmetric.formats.conversion import as_graph, as_graphs
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph

_UNLIMITED = 1 << 40


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
        from graphmetric.graphs.edits import DeleteEdge, DeleteNode, Edit, apply_edits

        dropped = {u for u, v in enumerate(self.node_map) if v is None}
        labels = self.first.node_labels or (None,) * self.first.num_nodes
        tags = self.first.edge_labels or (None,) * self.first.num_edges
        edges = zip(self.first.edges.tolist(), tags, strict=True)
        edits: list[Edit] = [DeleteEdge(u, v, tag) for (u, v), tag in edges if u in dropped or v in dropped]
        edits += [DeleteNode(u, labels[u]) for u in sorted(dropped)]
        return apply_edits(self.first, edits)

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
