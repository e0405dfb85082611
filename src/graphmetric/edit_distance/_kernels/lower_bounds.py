r"""Lower bounds without an assignment: from vectors of counts, and from every node's cheapest partner.

**Vectors.** Each graph has one vector, computed once; one pass over all vectors bounds a query against a collection.
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

With unit costs it is (|n - n'| + |h - h'|_1) / 2 + max(..., |d - d'|_1 / 2), half an L1 distance and so a metric.
Values are doubled to stay whole. Codes may be folded into fewer buckets: counting unequal codes as equal only lowers
the bound.

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

from graphmetric._foundation.compilation import entry, part
from graphmetric.edit_distance._kernels.packing import EditCostTables, Integers, PackedGraphs, PackedProblem, integers


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


def lay_out_vectors(n_node_codes: int, n_edge_codes: int, longest: int, max_buckets: int = 64) -> VectorLayout:
    """Room for the codes, ``n_edge_codes`` counting code 0, and for degree sequences up to the longest that is kept.

    Longer sequences lose their smallest degrees. The bound then only counts the degrees that are left.
    """
    edge_start = 2 + min(n_node_codes, max_buckets)
    degree_start = edge_start + min(n_edge_codes, max_buckets)
    return VectorLayout(edge_start, degree_start, degree_start + longest)


def find_cheapest(costs: EditCostTables) -> CheapestCosts:
    """Read the tables; substituting equal node codes is free and does not count."""
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
