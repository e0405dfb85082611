"""The arrays that one search owns and uses again for every pair, and how a pair is loaded into them.

Nothing is allocated between pairs. There are few arrays, all int64, with named fields, because every array in a
signature costs compile time. All costs inside a search are doubled, because an edge between two unmapped nodes is
shared by its two ends.

The last part says which totals a subtree can attain at all: bounds are rounded up to whole costs, often of one parity.
"""

from typing import Any, NamedTuple

import numpy as np

from graphmetric._foundation.compilation import fragment, hot_part, part
from graphmetric.edit_distance._kernels.packing import (
    Integers,
    PackedGraphs,
    PackedProblem,
    fill_adjacency,
    integers,
)

NO_LIMIT = 1 << 55  # above any total, and more steps than any search takes
# numpy scalars, not Python ones, where a value is an argument: numba would compile a kernel anew for each literal
BLOCKED = np.int64(1 << 58)  # cost of a pair that cannot be part of a better map; far above twice any total
INSERTION = np.int64(0)  # the row that inserts target nodes; it may take several columns
FREE = np.int64(-1)
ROOT = np.int64(0)  # the first depth
ONE = np.int64(1)
# Fields of Pair.sizes
N_QUERY, N_TARGET, N_EDGES, SWAPPED, N_NULL, N_EDGE_CODES, HAS_TWINS, BASE_COST, STEP, UNIFORM_EDGE = range(10)
CHEAPEST_DELETE, CHEAPEST_INSERT, CHEAPEST_SUBSTITUTE = range(10, 13)
N_SIZES = 13
# First index of Pair.adjacency, Pair.twin
QUERY, TARGET = np.int64(0), np.int64(1)
# Fields of Levels.state
BOUND, N_CHILDREN, NEXT_CHILD, BRANCH_ROW, MODULUS, RESIDUE, COST_START = range(7)
# Fields of Levels.rows and Levels.columns; DEGREE counts edges to unmapped nodes, DEGREE + c those of code c
NODE, DUAL, MATCH, DEGREE = range(4)
# Fields of Levels.children
COLUMN, EXCESS = range(2)
# Fields of Scratch.columns
DISTANCE, REACHED_FROM, SCANNED, CODE, NEIGHBOUR = range(5)
# Fields of TreeProgress.status
DEPTH, UPPER, EXPANDED, UPPER_LIMIT, STOP_AT_LIMIT = range(5)
# First index of TreeProgress.maps
BEST, TRIAL, REFINED = range(3)
# Fields of TreeProgress.signals: the waiting thread sets STOP, the kernel tells the others how far it is
STOP, LOWER_SO_FAR, UPPER_SO_FAR = range(3)
N_SIGNALS = 3


class Pair(NamedTuple):
    """Two graphs ready for the search: the query has at most as many nodes as the target.

    If substituting a node may cost more than deleting and inserting it, the target is padded with null nodes (no
    edges, free to leave unmapped): mapping a node to a null node deletes it. They are twins of each other.
    """

    sizes: Integers
    adjacency: Integers  # (query or target, node, node): edge codes
    twin: Integers  # (query or target, node): smallest twin
    node_cost: Integers  # (query node, target node); the row after the last query node is insertion
    edges: Integers  # (edges of the query, 3): tail, head, code
    edge_cost: Integers  # (code, code) from query to target


class Levels(NamedTuple):
    """One assignment problem per depth of the tree; ``rows`` and ``columns`` are (depth, field, position).

    Position is not node number: at depth d the n - d unmapped target nodes stand at columns 0, 1, ..., the unmapped
    query nodes at rows 1, 2, ..., and row 0 is `INSERTION`.
    """

    cost: Integers  # the matrices of all depths end to end
    rows: Integers
    columns: Integers
    children: Integers  # (depth, field, nth): EXCESS is how much the child's bound exceeds the parent's at least
    state: Integers  # (depth, field)


class Scratch(NamedTuple):
    """Working memory of one step."""

    columns: Integers  # (field, position)
    free_rows: Integers
    agreement: Integers  # (target node, target node)


class TreeProgress(NamedTuple):
    """The state of a search; with `Levels` it is enough to stop at any expansion and continue later."""

    status: Integers
    maps: Integers  # (best, trial or refined; query node): target node; refined lists the inserted nodes at its end
    signals: Integers  # shared with another thread; once STOP is set, every loop ends soon, with valid bounds


class Workspace(NamedTuple):
    """Everything a search writes to."""

    pair: Pair
    levels: Levels
    scratch: Scratch
    progress: TreeProgress


class WorkspaceSize(NamedTuple):
    """The largest pairs that a workspace has room for."""

    smaller: int  # nodes of the smaller graph of a pair
    larger: int
    edges: int
    edge_codes: int
    null_nodes: bool  # whether some node substitution costs more than deletion and insertion
    root_only: bool = False  # for kernels that do not search: room for one level, which grows with n**2 only


class Results(NamedTuple):
    """One row for each pair; ``node_map`` gives the node of the second graph for every node of the first, or -1."""

    lower: Integers
    upper: Integers
    expanded: Integers  # nodes of the search tree
    finished: Integers  # 1 when more expansions would change nothing
    node_map: Integers


def count_bytes(size: WorkspaceSize) -> Any:
    """The memory of :func:`allocate_workspace`; the size may have arrays with one entry for each pair."""
    n_rows, n_columns = size.smaller + 1, size.larger + np.where(size.null_nodes, size.smaller, 0)
    levels = np.where(size.root_only, 1, n_rows)
    widest = np.maximum(n_rows, n_columns).astype(np.float64)
    skipped = levels * (levels - 1) / 2  # the sum of all depths d; matrices are (rows - d) x (columns - d)
    matrices = levels * n_rows * n_columns - skipped * (n_rows + n_columns) + skipped * (2 * levels - 1) / 3
    lines = (levels + 1) * (DEGREE + 1 + size.edge_codes + 2) * (n_rows + n_columns + 1)
    return 8 * (matrices + lines + 3 * widest**2 + n_rows * n_columns + 3 * size.edges + (size.edge_codes + 1) ** 2)


def allocate_workspace(size: WorkspaceSize, signals: Integers | None = None) -> Workspace:
    """Make room. The matrices of all depths take about 8/3 n**3 bytes for two graphs of n nodes: 2 MB for n = 89.

    Another thread stops the kernels by ``signals``.
    """
    n_rows, n_columns = size.smaller + 1, size.larger + (size.smaller if size.null_nodes else 0)
    depths = np.arange(1 if size.root_only else n_rows)
    n_levels = len(depths) + 1
    matrix_entries = int(((n_rows - depths) * (n_columns - depths)).sum())
    fields = DEGREE + 1 + size.edge_codes
    widest = max(n_rows, n_columns)

    pair = Pair(
        integers(N_SIZES),
        integers(2, widest, widest),
        integers(2, widest),
        integers(n_rows, n_columns),
        integers(size.edges, 3),
        integers(size.edge_codes + 1, size.edge_codes + 1),
    )
    levels = Levels(
        integers(matrix_entries + 1),
        integers(n_levels, fields, n_rows),
        integers(n_levels, fields, n_columns + 1),
        integers(n_levels, 2, n_columns),
        integers(n_rows + 1, 7),  # the root notes where the matrices of all levels start
    )
    heard = integers(N_SIGNALS) if signals is None else signals
    scratch = Scratch(integers(5, n_columns), integers(n_rows), integers(widest, widest))
    return Workspace(pair, levels, scratch, TreeProgress(integers(5), integers(3, widest), heard))


@part
def load_pair(problem: PackedProblem, i: int, j: int, pair: Pair) -> None:
    """Make graph i of ``first`` and graph j of ``second`` query and target, the smaller one being the query.

    Of graphs with the same number of nodes, the one with fewer edges is the query: about 6 % fewer expansions.
    """
    first, second, costs = problem
    place_pair(first, second, i, j, costs.edge_reverse, pair)
    place_costs(problem, i, j, pair)
    sum_insertions(first, second, i, j, pair)


@part
def place_pair(first: PackedGraphs, second: PackedGraphs, i: int, j: int, edge_reverse: Integers, pair: Pair) -> None:
    """Choose the query and fill in everything but costs."""
    n_first = first.node_start[i + 1] - first.node_start[i]
    n_second = second.node_start[j + 1] - second.node_start[j]
    m_first = first.edge_start[i + 1] - first.edge_start[i]
    m_second = second.edge_start[j + 1] - second.edge_start[j]
    swapped = 1 if n_first > n_second or (n_first == n_second and m_first > m_second) else 0
    pair.sizes[SWAPPED] = swapped
    queries, query = (second, j) if swapped == 1 else (first, i)
    targets, target = (first, i) if swapped == 1 else (second, j)
    place_graphs(queries, targets, query, target, edge_reverse, pair)


@fragment
def place_graphs(
    queries: PackedGraphs, targets: PackedGraphs, query: int, target: int, edge_reverse: Integers, pair: Pair
) -> None:
    """Fill in adjacency, twins and the edge list of the query."""
    query_start, target_start = queries.node_start[query], targets.node_start[target]
    n_query, n_target = queries.node_start[query + 1] - query_start, targets.node_start[target + 1] - target_start
    fill_adjacency(queries, query, edge_reverse, pair.adjacency, QUERY)
    fill_adjacency(targets, target, edge_reverse, pair.adjacency, TARGET)
    for u in range(n_query):
        pair.adjacency[QUERY, u, n_query] = 0
        pair.adjacency[QUERY, n_query, u] = 0
    pair.adjacency[QUERY, n_query, n_query] = 0
    has_twins = 0
    for u in range(n_query):
        pair.twin[QUERY, u] = queries.node_twin[query_start + u]
        has_twins |= pair.twin[QUERY, u] != u
    for v in range(n_target):
        pair.twin[TARGET, v] = targets.node_twin[target_start + v]
        has_twins |= pair.twin[TARGET, v] != v
    first_edge = queries.edge_start[query]
    n_edges = queries.edge_start[query + 1] - first_edge
    for edge in range(n_edges):
        pair.edges[edge, 0] = queries.edge_tail[first_edge + edge]
        pair.edges[edge, 1] = queries.edge_head[first_edge + edge]
        pair.edges[edge, 2] = queries.edge_code[first_edge + edge]
    pair.sizes[N_QUERY] = n_query
    pair.sizes[N_TARGET] = n_target
    pair.sizes[N_EDGES] = n_edges
    pair.sizes[HAS_TWINS] = has_twins


@fragment
def place_costs(problem: PackedProblem, i: int, j: int, pair: Pair) -> None:
    """Fill in node costs and edge tables in the direction from query to target."""
    first, second, costs = problem
    swapped = pair.sizes[SWAPPED]
    n_query, n_target = pair.sizes[N_QUERY], pair.sizes[N_TARGET]
    needs_deletion = False
    for u in range(n_query):
        for v in range(n_target):
            a, b = (v, u) if swapped == 1 else (u, v)
            code_a = first.node_code[first.node_start[i] + a]
            code_b = second.node_code[second.node_start[j] + b]
            cost = costs.node_substitute[code_a, code_b]
            pair.node_cost[u, v] = cost
            needs_deletion |= cost > costs.node_delete[code_a] + costs.node_insert[code_b]
    for v in range(n_target):
        if swapped == 1:
            pair.node_cost[n_query, v] = costs.node_delete[first.node_code[first.node_start[i] + v]]
        else:
            pair.node_cost[n_query, v] = costs.node_insert[second.node_code[second.node_start[j] + v]]
    for a in range(costs.edge_cost.shape[1]):
        for b in range(costs.edge_cost.shape[1]):
            pair.edge_cost[a, b] = costs.edge_cost[swapped, a, b]
    for k in range(3):
        pair.sizes[CHEAPEST_DELETE + k] = costs.edge_floor[swapped, k]
    pair.sizes[N_EDGE_CODES] = costs.edge_cost.shape[1] - 1
    pair.sizes[UNIFORM_EDGE] = costs.uniform_edge
    pair.sizes[STEP] = costs.step
    pair.sizes[N_NULL] = 0
    if needs_deletion:
        for u in range(n_query):
            if swapped == 1:
                deletion = costs.node_insert[second.node_code[second.node_start[j] + u]]
            else:
                deletion = costs.node_delete[first.node_code[first.node_start[i] + u]]
            for v in range(n_target, n_target + n_query):
                pair.node_cost[u, v] = deletion
        add_null_nodes(pair)


@fragment
def add_null_nodes(pair: Pair) -> None:
    """Pad the target with as many null nodes as the query has nodes."""
    n_query, n_target = pair.sizes[N_QUERY], pair.sizes[N_TARGET]
    for v in range(n_target, n_target + n_query):
        pair.node_cost[n_query, v] = 0
        pair.twin[TARGET, v] = n_target
        for w in range(n_target + n_query):
            pair.adjacency[TARGET, v, w] = 0
            pair.adjacency[TARGET, w, v] = 0
    pair.sizes[N_TARGET] = n_target + n_query
    pair.sizes[N_NULL] = n_query
    pair.sizes[HAS_TWINS] = 1


@fragment
def sum_insertions(first: PackedGraphs, second: PackedGraphs, i: int, j: int, pair: Pair) -> None:
    """Sum the cost of inserting the whole target, from which the price of a map starts."""
    targets, target = (first, i) if pair.sizes[SWAPPED] == 1 else (second, j)
    total = 0
    for v in range(pair.sizes[N_TARGET]):
        total += pair.node_cost[pair.sizes[N_QUERY], v]
    for edge in range(targets.edge_start[target], targets.edge_start[target + 1]):
        total += pair.edge_cost[0, targets.edge_code[edge]]
    pair.sizes[BASE_COST] = total


@fragment
def round_up(doubled_bound: int, attainable: int, step: int) -> int:
    """The smallest cost not below half the doubled bound that differs from ``attainable`` by a multiple of ``step``."""
    bound = (doubled_bound + 1) // 2
    return bound + (attainable - bound) % step


@fragment
def find_limit(levels: Levels, progress: TreeProgress, depth: int) -> int:
    """Doubled bounds from here on cannot lead below the incumbent (nor to a cost within the upper limit).

    All completions of the level cost RESIDUE modulo MODULUS; the largest such number below the incumbent is the best
    that a subtree with a bound under this limit may still reach.
    """
    upper = progress.status[UPPER]
    gap = (upper - levels.state[depth, RESIDUE]) % levels.state[depth, MODULUS]
    better = upper - (gap if gap > 0 else levels.state[depth, MODULUS])
    return 2 * min(better, progress.status[UPPER_LIMIT]) + 1


@hot_part
def note_residue(pair: Pair, levels: Levels, depth: int, cost: int) -> None:
    """Find a modulus to which all completions of the level agree with ``cost``, the cost of one of them.

    Costs are multiples of STEP. With one cost e for every edge edit, edges cost e (m_query + m_target - 2 common):
    completions differ by multiples of 2 e as soon as their node costs are all the same. That is so when the node
    costs of the unmapped nodes, insertion row included, have the form a_i + b_j, since every column is used once and
    every row as often as the shape demands. A child inherits the property.
    """
    uniform = pair.sizes[UNIFORM_EDGE]
    if depth > 0 and uniform > 0 and levels.state[depth, MODULUS] == 2 * uniform:
        return
    levels.state[depth, RESIDUE] = cost
    levels.state[depth, MODULUS] = pair.sizes[STEP]
    if uniform > 0 and has_constant_node_cost(pair, levels, depth):
        levels.state[depth, MODULUS] = 2 * uniform


@fragment
def has_constant_node_cost(pair: Pair, levels: Levels, depth: int) -> bool:
    """Whether the node costs between unmapped nodes are a row term plus a column term."""
    n_rows, n_columns = pair.sizes[N_QUERY] - depth, pair.sizes[N_TARGET] - depth
    if n_columns == 0:
        return True
    first = INSERTION if n_columns > n_rows else INSERTION + 1
    corner_row, corner_column = levels.rows[depth, NODE, first], levels.columns[depth, NODE, 0]
    for i in range(first + 1, n_rows + 1):
        row = levels.rows[depth, NODE, i]
        shift = pair.node_cost[row, corner_column] - pair.node_cost[corner_row, corner_column]
        for j in range(1, n_columns):
            column = levels.columns[depth, NODE, j]
            if pair.node_cost[row, column] - pair.node_cost[corner_row, column] != shift:
                return False
    return True
