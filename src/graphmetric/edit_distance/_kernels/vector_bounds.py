r"""Lower bounds from vectors: one vector for each graph, computed once, and one pass over all of them for a query.

The vector of a graph holds its number of nodes n, a histogram h of node codes, a histogram e of edge codes, and its
degrees in falling order, d. Deletions, insertions and substitutions of unequal codes are counted at their cheapest
in the tables (a substitution at no more than a deletion and an insertion). Three statements hold for every map, and
their combination "node part + max(edge part, degree part)" is a **lower bound** of the edit distance:

* Nodes. If k nodes keep their code, k <= \sum_c min(h_c, h'_c). The others are deleted (a), inserted (b) or
  substituted (s): a + s + k = n, b + s + k = n'. The least a del + b ins + s sub is attained with k as large as
  possible, since one more kept node saves a substitution or a deletion and an insertion, and s as large as possible,
  since sub <= del + ins.
* Edges. The same with edge codes in place of node codes; where codes have a direction, a code and its reverse are one.
* Degrees. A node of degree x mapped to one of degree y (0 if it is deleted or inserted) has at least x - y of its
  edges deleted or y - x inserted, and every edge edit is seen by two nodes: the edges cost at least
  1/2 \sum f(x - y) with f(t) = del t for t > 0 and -ins t otherwise. f is convex, so matching the degrees in sorted
  order, padded with zeros, is the least this sum can be over all maps.

With unit costs this is (|n - n'| + |h - h'|_1) / 2 + max(..., |d - d'|_1 / 2), half an L1 distance and so a metric.
Values are doubled to stay whole.

Codes may be folded into fewer buckets: counting unequal codes as equal only lowers the bound.
"""

from typing import NamedTuple

import numpy as np

from graphmetric._foundation.compilation import entry, part
from graphmetric.edit_distance._kernels.packing import EditCostTables, Integers, PackedGraphs


class VectorLayout(NamedTuple):
    """Where the parts of a vector are: column 0 is the number of nodes, column 1 that of edges."""

    edge_start: int  # node codes are at 2:edge_start
    degree_start: int  # edge codes are at edge_start:degree_start
    length: int  # degrees are at degree_start:length


class CheapestCosts(NamedTuple):
    """The cheapest edit of each kind in the tables."""

    node_delete: int
    node_insert: int
    node_substitute: int
    edge_delete: int
    edge_insert: int
    edge_substitute: int


def lay_out_vectors(n_node_codes: int, n_edge_codes: int, largest: int, max_buckets: int = 64) -> VectorLayout:
    """``n_edge_codes`` counts code 0; ``largest`` is the largest degree sequence to store, longer ones are cut.

    Cutting off the smallest degrees keeps the bound: what is left is the bound of sorted sequences up to there.
    """
    edge_start = 2 + min(n_node_codes, max_buckets)
    degree_start = edge_start + min(n_edge_codes, max_buckets)
    return VectorLayout(edge_start, degree_start, degree_start + largest)


def find_cheapest(costs: EditCostTables) -> CheapestCosts:
    """Read the tables; equal node codes count as substituted for nothing."""
    deletion = int(costs.node_delete.min(initial=1 << 40))
    insertion = int(costs.node_insert.min(initial=1 << 40))
    unequal = costs.node_substitute.copy()
    np.fill_diagonal(unequal, deletion + insertion)
    substitution = min(int(unequal.min(initial=deletion + insertion)), deletion + insertion)
    edge = costs.edge_floor[0]
    return CheapestCosts(deletion, insertion, substitution, int(edge[0]), int(edge[1]), int(edge[2]))


def vectorize_graphs(graphs: PackedGraphs, edge_reverse: Integers, layout: VectorLayout) -> Integers:
    """The vectors of a collection, one row for each graph."""
    vectors = np.zeros((len(graphs.node_start) - 1, layout.length), dtype=np.int64)
    largest = int(np.diff(graphs.node_start).max(initial=0))
    fill_vectors(graphs, edge_reverse, layout, np.zeros(largest, dtype=np.int64), vectors)
    return vectors


@entry
def fill_vectors(
    graphs: PackedGraphs, edge_reverse: Integers, layout: VectorLayout, degrees: Integers, vectors: Integers
) -> None:
    """Count codes and sort degrees of every graph."""
    n_node_buckets, n_edge_buckets = layout.edge_start - 2, layout.degree_start - layout.edge_start
    for graph in range(len(vectors)):
        start, end = graphs.node_start[graph], graphs.node_start[graph + 1]
        vectors[graph, 0] = end - start
        vectors[graph, 1] = graphs.edge_start[graph + 1] - graphs.edge_start[graph]
        for u in range(end - start):
            degrees[u] = 0
            vectors[graph, 2 + graphs.node_code[start + u] % n_node_buckets] += 1
        for edge in range(graphs.edge_start[graph], graphs.edge_start[graph + 1]):
            degrees[graphs.edge_tail[edge]] += 1
            degrees[graphs.edge_head[edge]] += 1
            code = graphs.edge_code[edge]
            vectors[graph, layout.edge_start + min(code, edge_reverse[code]) % n_edge_buckets] += 1
        sort_falling(degrees, end - start)
        for k in range(min(end - start, layout.length - layout.degree_start)):
            vectors[graph, layout.degree_start + k] = degrees[k]


@part
def sort_falling(values: Integers, n: int) -> None:
    """Insertion sort of the first n values, the largest first."""
    for k in range(1, n):
        value = values[k]
        place = k
        while place > 0 and values[place - 1] < value:
            values[place] = values[place - 1]
            place -= 1
        values[place] = value


@entry
def bound_against_all(
    query: Integers, vectors: Integers, layout: VectorLayout, cheapest: CheapestCosts, doubled: Integers
) -> None:
    """Twice the lower bound between the graph of one vector and each graph of ``vectors``.

    The costs read from the query to the others.
    """
    for row in range(len(vectors)):
        other = vectors[row]
        nodes = edit_multisets(
            query,
            other,
            (0, 2, layout.edge_start),
            (cheapest.node_delete, cheapest.node_insert, cheapest.node_substitute),
        )
        edges = edit_multisets(
            query,
            other,
            (1, layout.edge_start, layout.degree_start),
            (cheapest.edge_delete, cheapest.edge_insert, cheapest.edge_substitute),
        )
        surplus, lack = 0, 0
        for k in range(layout.degree_start, layout.length):
            difference = query[k] - other[k]
            surplus += max(difference, 0)
            lack += max(-difference, 0)
        degrees = surplus * cheapest.edge_delete + lack * cheapest.edge_insert
        doubled[row] = 2 * nodes + max(2 * edges, degrees)


@part
def edit_multisets(query: Integers, other: Integers, section: tuple[int, int, int], costs: tuple[int, int, int]) -> int:
    """Cheapest way from one multiset of codes to another; ``section``: column of the total, columns of the counts."""
    total, start, end = section
    deletion, insertion, substitution = costs
    common = 0
    for k in range(start, end):
        common += min(query[k], other[k])
    surplus, lack = query[total] - common, other[total] - common
    replaced = min(surplus, lack)
    return replaced * substitution + (surplus - replaced) * deletion + (lack - replaced) * insertion
