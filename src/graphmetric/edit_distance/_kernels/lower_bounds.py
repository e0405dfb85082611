r"""Lower bounds without an assignment: from vectors of counts, and from every node's cheapest partner.

**Histograms.** Each graph has one vector of counts, computed once; one pass over those of a collection bounds a query
against all of it. The vector holds the number of nodes n, of edges m, the sum of the degrees, a histogram h of node
codes, a histogram e of edge codes, and for t = 1, 2, ... the number N_t of nodes of degree at least t. Deletions,
insertions and substitutions of unequal codes are counted at their cheapest in the tables (a substitution at no more
than a deletion and an insertion). Three statements hold for every map, and their combination
"node part + max(edge part, degree part)" is a **lower bound** of the edit distance:

* Nodes. If k nodes keep their code, k <= \sum_c min(h_c, h'_c). The others are deleted (a), inserted (b) or
  substituted (s): a + s + k = n, b + s + k = n'. The least a del + b ins + s sub is attained with k as large as
  possible, since one more kept node saves a substitution or a deletion and an insertion, and s as large as possible,
  since sub <= del + ins.
* Edges. The same with edge codes in place of node codes; where codes have a direction, a code and its reverse are one.
* Degrees. A node of degree x mapped to one of degree y (0 if it is deleted or inserted) has at least x - y of its
  edges deleted or y - x inserted, and every edge edit is seen by two nodes: the edges cost at least
  1/2 \sum f(x - y) with f(t) = del t for t > 0 and -ins t otherwise. f is convex, so matching the degrees in sorted
  order, padded with zeros, is the least this sum can be over all maps. Sorted degrees d and d' have
  \sum_k max(d_k - d'_k, 0) = \sum_t max(N_t - N'_t, 0), so no sequence is needed.

With unit costs it is (|n - n'| + |h - h'|_1) / 2 + max(..., |N - N'|_1 / 2), half an L1 distance and so a metric.
Values are doubled to stay whole. Codes may be folded into fewer buckets, and degrees cut at the largest t: counting
unequal codes as equal, or smaller differences of degrees, only lowers the bound.

All three parts follow from what both graphs have in common, \sum min(q_c, x_c), to which only those counts contribute
that the query has. So the vectors of some graphs at a time are kept by columns, in *tiles*, and a pass over a
collection of molecules reads a dozen columns out of 75.

**Common branches.** The branch of a node is its code with the codes of its incident edges. Let K be the number of
nodes that two graphs have in common by their codes and C <= K by their branches. In every map the nodes that keep
their code, at most K, change an incident edge unless they keep their branch, and each edge edit is seen by two nodes.
So "node part + (K - C) e / 2" is a lower bound with e the cheapest edge edit; keeping fewer nodes than K does not make
it smaller if e is at most twice what one more kept node saves. Branches are compared by 32-bit numbers whose upper half
is a digest of the node code; collisions only lower the bound.

**Hausdorff edit distance** (Fischer, Suen, Frinken, Riesen and Bunke 2015). Each node of either graph pays for its own
removal or half of its cheapest substitution; several nodes may choose the same partner, so no assignment is solved.
With c the node cost and D the cost of turning incident edges into each other,

    removal(u) = c(u, eps) + 1/2 \sum incident edges,      share(u, v) = (c(u, v) + w D(u, v)) / 2,
    HED = \sum_u min(removal(u), min_v share(u, v)) + \sum_v min(removal(v), min_u share(u, v)).

With w = 1/2 this is a lower bound. In an edit path split every edge cost between its two ends and every node
substitution with its edges between the two nodes; then each node pays at least its term above. Edges between u and
mapped nodes cost at least D when summed over the edges at u, since the path turns one set of edges into the other.
Values are four times the distance, so that they stay whole numbers.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import entry, part
from graphmetric.edit_distance._kernels.packing import EditCostTables, Integers, PackedGraphs, PackedProblem, integers

TILE = 1024
"""Graphs of a tile; the columns of one that a query reads stay in the first cache."""
N_TOTALS = 3
"""Columns before the histograms."""


class HistogramLayout(NamedTuple):
    """Which column of a tile holds what; columns 0, 1, 2 are the numbers of nodes and edges and the sum of degrees."""

    node_start: int  # node codes are at node_start:edge_start
    edge_start: int
    degree_start: int  # edge codes are at edge_start:degree_start
    length: int  # column degree_start + t - 1 counts nodes of degree t and more


class CheapestCosts(NamedTuple):
    """The cheapest edit of each kind in the tables."""

    node_delete: int
    node_insert: int
    node_substitute: int
    edge_delete: int
    edge_insert: int
    edge_substitute: int


def lay_out_histograms(n_node_codes: int, n_edge_codes: int, largest: int, max_buckets: int = 64) -> HistogramLayout:
    """Room for the codes, ``n_edge_codes`` counting code 0, and for degrees up to the largest that is told apart."""
    edge_start = N_TOTALS + min(n_node_codes, max_buckets)
    degree_start = edge_start + min(n_edge_codes, max_buckets)
    return HistogramLayout(N_TOTALS, edge_start, degree_start, degree_start + largest)


def find_cheapest(costs: EditCostTables) -> CheapestCosts:
    """Read the tables; substituting equal node codes is free and does not count."""
    deletion = int(costs.node_delete.min(initial=1 << 40))
    insertion = int(costs.node_insert.min(initial=1 << 40))
    unequal = costs.node_substitute.copy()
    np.fill_diagonal(unequal, deletion + insertion)
    substitution = min(int(unequal.min(initial=deletion + insertion)), deletion + insertion)
    edge = costs.edge_floor[0]
    return CheapestCosts(deletion, insertion, substitution, int(edge[0]), int(edge[1]), int(edge[2]))


def count_codes(graphs: PackedGraphs, edge_reverse: Integers, layout: HistogramLayout) -> Integers:
    """The tiles of a collection: (tiles, columns, graphs of a tile)."""
    n_graphs = len(graphs.node_start) - 1
    width = max(1, min(TILE, n_graphs))
    tiles = integers(-(-n_graphs // width), layout.length, width)
    fill_tiles(graphs, edge_reverse, layout, integers(int(np.diff(graphs.node_start).max(initial=0))), tiles)
    return tiles


@entry
def fill_tiles(
    graphs: PackedGraphs, edge_reverse: Integers, layout: HistogramLayout, degrees: Integers, tiles: Integers
) -> None:
    """Count the codes and degrees of every graph."""
    n_node_buckets, n_edge_buckets = layout.edge_start - layout.node_start, layout.degree_start - layout.edge_start
    largest, width = layout.length - layout.degree_start, tiles.shape[2]
    for graph in range(len(graphs.node_start) - 1):
        counts = tiles[graph // width, :, graph % width]
        start, end = graphs.node_start[graph], graphs.node_start[graph + 1]
        counts[0] = end - start
        counts[1] = graphs.edge_start[graph + 1] - graphs.edge_start[graph]
        for u in range(end - start):
            degrees[u] = 0
            counts[layout.node_start + graphs.node_code[start + u] % n_node_buckets] += 1
        for edge in range(graphs.edge_start[graph], graphs.edge_start[graph + 1]):
            degrees[graphs.edge_tail[edge]] += 1
            degrees[graphs.edge_head[edge]] += 1
            code = graphs.edge_code[edge]
            counts[layout.edge_start + min(code, edge_reverse[code]) % n_edge_buckets] += 1
        for u in range(end - start):
            seen = min(degrees[u], largest)
            counts[2] += seen
            for t in range(seen):
                counts[layout.degree_start + t] += 1


@entry
def scan_tiles(
    query: Integers,
    tiles: NDArray[np.int16],
    layout: HistogramLayout,
    cheapest: CheapestCosts,
    common: Integers,
    doubled: Integers,
) -> None:
    """Twice the lower bound between the graph with the counts ``query`` and each graph of the tiles.

    The costs read from the query to the others. ``common`` has a row for each part of the bound, as long as a tile.
    """
    for place in range(len(tiles)):
        tile = tiles[place]
        width = tile.shape[1]
        share(query, tile, layout.node_start, layout.edge_start, common[0])
        share(query, tile, layout.edge_start, layout.degree_start, common[1])
        share(query, tile, layout.degree_start, layout.length, common[2])
        for k in range(width):
            shared = common[0, k]
            nodes = edit_multisets(
                query[0] - shared,
                tile[0, k] - shared,
                (cheapest.node_delete, cheapest.node_insert, cheapest.node_substitute),
            )
            shared = common[1, k]
            edges = edit_multisets(
                query[1] - shared,
                tile[1, k] - shared,
                (cheapest.edge_delete, cheapest.edge_insert, cheapest.edge_substitute),
            )
            shared = common[2, k]
            surplus, lack = query[2] - shared, tile[2, k] - shared
            degrees = surplus * cheapest.edge_delete + lack * cheapest.edge_insert
            doubled[place * width + k] = 2 * nodes + max(2 * edges, degrees)


@part
def share(query: Integers, tile: NDArray[np.int16], start: int, end: int, common: Integers) -> None:
    """What the query and each graph of a tile have in common in these columns."""
    for k in range(len(common)):
        common[k] = 0
    for column in range(start, end):
        wanted = query[column]
        if wanted > 0:
            counts = tile[column]
            for k in range(len(common)):
                common[k] += min(wanted, np.int64(counts[k]))


@part
def edit_multisets(surplus: int, lack: int, costs: tuple[int, int, int]) -> int:
    """The cheapest way to replace ``surplus`` codes by ``lack`` others."""
    deletion, insertion, substitution = costs
    replaced = min(surplus, lack)
    return replaced * substitution + (surplus - replaced) * deletion + (lack - replaced) * insertion


@entry
def compare_branches(
    query: NDArray[np.uint32],
    branches: NDArray[np.uint32],
    node_ptr: Integers,
    graphs: Integers,
    cheapest: CheapestCosts,
    doubled: Integers,
) -> None:
    """Twice the lower bound by common branches between a query and chosen graphs; the branches of a graph rise."""
    edge = min(cheapest.edge_delete, cheapest.edge_insert, cheapest.edge_substitute)
    edge = min(edge, 2 * cheapest.node_substitute)
    for k in range(len(graphs)):
        start, end = node_ptr[graphs[k]], node_ptr[graphs[k] + 1]
        kept, same = count_common(query, branches[start:end])
        nodes = edit_multisets(
            len(query) - kept,
            end - start - kept,
            (cheapest.node_delete, cheapest.node_insert, cheapest.node_substitute),
        )
        doubled[k] = 2 * nodes + (kept - same) * edge


@part
def count_common(first: NDArray[np.uint32], second: NDArray[np.uint32]) -> tuple[int, int]:
    """The number of common upper halves of two rising sequences, and of common numbers."""
    kept, same, i, j = 0, 0, 0, 0
    while i < len(first) and j < len(second):
        if first[i] == second[j]:
            same += 1
            i += 1
            j += 1
        elif first[i] < second[j]:
            i += 1
        else:
            j += 1
    i, j = 0, 0
    while i < len(first) and j < len(second):
        code, other = first[i] >> np.uint32(16), second[j] >> np.uint32(16)
        if code == other:
            kept += 1
            i += 1
            j += 1
        elif code < other:
            i += 1
        else:
            j += 1
    return kept, same


class NodeProfiles(NamedTuple):
    """One row for every node of a packed collection, computed once and used for all its pairs."""

    total_degree: Integers
    degree: Integers  # (nodes, codes + 1): incident edges by code; column 0 is not used
    edge_removal: Integers  # deleting (first collection) or inserting (second) all incident edges


Profiles = tuple[NodeProfiles, NodeProfiles]  # of the first and of the second collection


class HausdorffWork(NamedTuple):
    """Working memory for the largest first and the largest second graph."""

    difference: Integers
    column_least: Integers


def sum_hausdorff(problem: PackedProblem, pairs: Integers, edge_weight: int = 1) -> Integers:
    """Four times the Hausdorff edit distance of rows (i, j) of ``pairs``; ``edge_weight`` is 2 w."""
    first, second, costs = problem
    profiles = profile_nodes(first, costs, False), profile_nodes(second, costs, True)
    largest = [int(np.diff(graphs.node_start).max(initial=0)) for graphs in (first, second)]
    work, quadrupled = HausdorffWork(integers(*largest), integers(largest[1])), integers(len(pairs))
    match_hausdorff(problem, profiles, pairs, edge_weight, work, quadrupled)
    return quadrupled


def profile_nodes(graphs: PackedGraphs, costs: EditCostTables, inserted: bool) -> NodeProfiles:
    """Profiles of the second collection of a comparison have ``inserted`` set, those of the first have not."""
    n_nodes = len(graphs.node_code)
    profiles = NodeProfiles(integers(n_nodes), integers(n_nodes, costs.edge_cost.shape[1]), integers(n_nodes))
    removal = costs.edge_cost[0, 0, :] if inserted else costs.edge_cost[0, :, 0]
    fill_profiles(graphs, costs.edge_reverse, np.ascontiguousarray(removal), profiles)
    return profiles


@entry
def match_hausdorff(
    problem: PackedProblem,
    profiles: Profiles,
    pairs: Integers,
    edge_weight: int,
    work: HausdorffWork,
    quadrupled: Integers,
) -> None:
    """As `sum_hausdorff`, into ``quadrupled``."""
    second, costs = problem.second, problem.costs
    for p in range(len(pairs)):
        i, j = pairs[p, 0], pairs[p, 1]
        start, end = second.node_start[j], second.node_start[j + 1]
        for node in range(start, end):
            insertion = 4 * costs.node_insert[second.node_code[node]]
            work.column_least[node - start] = insertion + 2 * profiles[1].edge_removal[node]
        total = sum_rows(problem, profiles, i, j, edge_weight, work)
        for v in range(end - start):
            total += work.column_least[v]
        quadrupled[p] = total


@part
def sum_rows(problem: PackedProblem, profiles: Profiles, i: int, j: int, edge_weight: int, work: HausdorffWork) -> int:
    """Cheapest choices of the first graph's nodes, times four; lowers ``column_least`` on the way."""
    first, second, costs = problem
    first_node, start, end = first.node_start[i], second.node_start[j], second.node_start[j + 1]
    codes, degrees = second.node_code[start:end], profiles[1].total_degree[start:end]
    column_least = work.column_least
    uniform = costs.uniform_edge
    if uniform == 0:
        compare_incident_edges(problem, profiles, i, j, work.difference)
    total = 0
    for u in range(first.node_start[i + 1] - first_node):
        code = first.node_code[first_node + u]
        substitute, difference = costs.node_substitute[code], work.difference[u]
        degree = profiles[0].total_degree[first_node + u]
        least = 4 * costs.node_delete[code] + 2 * profiles[0].edge_removal[first_node + u]
        for v in range(len(codes)):
            edges = uniform * abs(degree - degrees[v]) if uniform > 0 else difference[v]
            share = 2 * substitute[codes[v]] + edge_weight * edges
            least = min(least, share)
            column_least[v] = min(column_least[v], share)
        total += least
    return total


@entry
def fill_profiles(graphs: PackedGraphs, edge_reverse: Integers, removal: Integers, profiles: NodeProfiles) -> None:
    """Count every edge at both of its ends."""
    for graph in range(len(graphs.node_start) - 1):
        first = graphs.node_start[graph]
        for edge in range(graphs.edge_start[graph], graphs.edge_start[graph + 1]):
            code = graphs.edge_code[edge]
            tail, head = first + graphs.edge_tail[edge], first + graphs.edge_head[edge]
            profiles.total_degree[tail] += 1
            profiles.degree[tail, code] += 1
            profiles.total_degree[head] += 1
            profiles.degree[head, edge_reverse[code]] += 1
            profiles.edge_removal[tail] += removal[code]
            profiles.edge_removal[head] += removal[edge_reverse[code]]


@part
def compare_incident_edges(problem: PackedProblem, profiles: Profiles, i: int, j: int, difference: Integers) -> None:
    """The cheapest way to turn the incident edges of one node into those of another, for all nodes of two graphs.

    Each edge counts in full. It is what an assignment between the two sets of edges costs when all deletions, all
    insertions and all substitutions of unequal codes cost the same; otherwise it takes the cheapest of each and is a
    lower bound. One call for each pair of graphs: arguments with this many arrays take too long in an inner loop.
    """
    first, second, costs = problem
    first_node, second_node = first.node_start[i], second.node_start[j]
    n_first, n_second = first.node_start[i + 1] - first_node, second.node_start[j + 1] - second_node
    others = profiles[1].total_degree[second_node : second_node + n_second]
    uniform = costs.uniform_edge
    deletion, insertion, substitution = costs.edge_floor[0, 0], costs.edge_floor[0, 1], costs.edge_floor[0, 2]
    degree, other_degree = profiles[0].degree, profiles[1].degree
    for u in range(n_first):
        total = profiles[0].total_degree[first_node + u]
        if uniform > 0:
            row = difference[u]
            for v in range(len(others)):
                row[v] = uniform * abs(total - others[v])
            continue
        for v in range(n_second):
            common = 0
            for code in range(1, degree.shape[1]):
                common += min(degree[first_node + u, code], other_degree[second_node + v, code])
            surplus, lack = total - common, others[v] - common
            replaced = min(surplus, lack)
            kept_apart = (surplus - replaced) * deletion + (lack - replaced) * insertion
            difference[u, v] = replaced * substitution + kept_apart
