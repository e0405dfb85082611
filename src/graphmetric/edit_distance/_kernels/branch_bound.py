r"""The branch bound of a tree node: anchored branch costs, and the assignment over them started from the parent's.

With M the set of mapped nodes, and twice everything so that half edges stay integer, mapping u to v costs

    c(u, v) = 2 node(u, v) + 2 \sum_{x in M} edge(ux, v phi(x)) + D(Q_u, G_v),

where Q_u and G_v are the multisets of edge codes from u and v to unmapped nodes and D is the cheapest way to turn one
into the other. Every edge of an unmapped pair is seen from both ends, so the sum of c over any completion never
exceeds twice its cost: the assignment problem over c is a lower bound.

Costs never fall from parent to child, hence the parent's duals stay feasible. Map x to y and let a = code(ux),
b = code(vy). Then c grows by 2 edge(a, b) + D(Q_u - a, G_v - b) - D(Q_u, G_v), and D(Q_u, G_v) <= D(Q_u - a, G_v - b) +
edge(a, b), since a may be turned into b directly. So c grows by at least edge(a, b) >= 0. The same holds for the
insertion row (a = 0 always) and for any D computed from costs that are nowhere above the true ones, as done here with
one cheapest deletion, insertion and unequal substitution for all codes. Where a = b nothing changes at all.

The assignment is solved by shortest augmenting paths from the duals and the matching that the level already holds. A
level is feasible when row dual + column dual <= cost everywhere and matched entries are tight. The sum of all duals
(the insertion row counted once for each column it must take) is then a lower bound, and every step raises it, so a
solve may stop as soon as the bound reaches ``limit``.
"""

import numpy as np

from graphmetric._foundation.compilation import fragment, hot_part, part
from graphmetric.edit_distance._kernels.packing import Integers
from graphmetric.edit_distance._kernels.workspace import (
    BLOCKED,
    BOUND,
    CHEAPEST_DELETE,
    CHEAPEST_INSERT,
    CHEAPEST_SUBSTITUTE,
    CODE,
    COST_START,
    DEGREE,
    DISTANCE,
    DUAL,
    FREE,
    INSERTION,
    MATCH,
    MODULUS,
    N_EDGE_CODES,
    N_QUERY,
    N_TARGET,
    NEIGHBOUR,
    NODE,
    ONE,
    QUERY,
    REACHED_FROM,
    RESIDUE,
    ROOT,
    SCANNED,
    STOP,
    TARGET,
    UNIFORM_EDGE,
    Levels,
    Pair,
    Scratch,
    Workspace,
)


@hot_part
def compare_inner_edges(pair: Pair, levels: Levels, depth: int, i: int, j: int) -> int:
    """D, the cost of turning the inner edges of row i into those of column j."""
    rows, columns, sizes = levels.rows, levels.columns, pair.sizes
    if sizes[UNIFORM_EDGE] > 0:
        return sizes[UNIFORM_EDGE] * abs(rows[depth, DEGREE, i] - columns[depth, DEGREE, j])
    common = 0
    for code in range(1, sizes[N_EDGE_CODES] + 1):
        common += min(rows[depth, DEGREE + code, i], columns[depth, DEGREE + code, j])
    surplus, lack = rows[depth, DEGREE, i] - common, columns[depth, DEGREE, j] - common
    replaced = min(surplus, lack)
    kept_apart = (surplus - replaced) * sizes[CHEAPEST_DELETE] + (lack - replaced) * sizes[CHEAPEST_INSERT]
    return replaced * sizes[CHEAPEST_SUBSTITUTE] + kept_apart


@part
def fill_root_costs(pair: Pair, levels: Levels, signals: Integers) -> None:
    """Fill depth 0, where nothing is mapped and all edges are inner edges.

    On cancellation the remaining rows cost nothing, which keeps all bounds valid.
    """
    n_query, n_target = pair.sizes[N_QUERY], pair.sizes[N_TARGET]
    place_unmapped(pair, levels)
    count_inner_edges(pair, QUERY, n_query, levels.rows, ONE)
    count_inner_edges(pair, TARGET, n_target, levels.columns, ROOT)
    for field in range(DEGREE, DEGREE + pair.sizes[N_EDGE_CODES] + 1):
        levels.rows[0, field, INSERTION] = 0
    start = 0
    for depth in range(n_query + 1):
        levels.state[depth, COST_START] = start
        start += (n_query - depth + 1) * (n_target - depth)
    entry = 0
    for i in range(n_query + 1):
        is_canceled = signals[STOP] > 0  # with many edge codes a row takes milliseconds
        for j in range(n_target):
            if is_canceled:
                levels.cost[entry] = 0
            else:
                inner = compare_inner_edges(pair, levels, ROOT, i, j)
                levels.cost[entry] = 2 * pair.node_cost[levels.rows[0, NODE, i], j] + inner
            entry += 1


@fragment
def place_unmapped(pair: Pair, levels: Levels) -> None:
    """Place the unmatched rows and columns of the root; the insertion row has the number after the last query node."""
    n_query = pair.sizes[N_QUERY]
    for i in range(n_query + 1):
        levels.rows[0, NODE, i] = i - 1 if i > 0 else n_query
        levels.rows[0, DUAL, i] = 0
        levels.rows[0, MATCH, i] = FREE
    for j in range(pair.sizes[N_TARGET]):
        levels.columns[0, NODE, j] = j
        levels.columns[0, DUAL, j] = 0
        levels.columns[0, MATCH, j] = FREE


@fragment
def count_inner_edges(pair: Pair, side: int, n_nodes: int, lines: Integers, first: int) -> None:
    """Count degrees by code at depth 0; the nodes are at positions from ``first`` on."""
    for u in range(n_nodes):
        for field in range(DEGREE, DEGREE + pair.sizes[N_EDGE_CODES] + 1):
            lines[0, field, first + u] = 0
        for v in range(n_nodes):
            code = pair.adjacency[side, u, v]
            if code > 0:
                lines[0, DEGREE, first + u] += 1
                lines[0, DEGREE + code, first + u] += 1


@hot_part
def derive_child(pair: Pair, levels: Levels, scratch: Scratch, depth: int, x: int, y: int) -> int:
    """Fill level ``depth + 1``: row x mapped to column y (positions). Returns how many query rows are now free.

    The last row and the last column move to the places of x and y. Duals carry over; matched entries that are still
    tight stay matched. The bound starts at the sum of the inherited duals, which lacks the inner edges of x and y:
    these now count at their other ends.
    """
    n_rows, n_columns = pair.sizes[N_QUERY] - depth, pair.sizes[N_TARGET] - depth
    state = levels.state
    excess = (
        levels.cost[state[depth, COST_START] + x * n_columns + y]
        - levels.rows[depth, DUAL, x]
        - levels.columns[depth, DUAL, y]
    )
    state[depth + 1, BOUND] = state[depth, BOUND] + excess - compare_inner_edges(pair, levels, depth, x, y)
    state[depth + 1, MODULUS] = state[depth, MODULUS]
    state[depth + 1, RESIDUE] = state[depth, RESIDUE]
    n_neighbours = derive_columns(pair, levels, scratch, depth, y)
    if pair.sizes[UNIFORM_EDGE] > 0:
        derive_uniform_rows(pair, levels, scratch, depth, x, y, n_neighbours)
    else:
        derive_coded_rows(pair, levels, scratch, depth, x, y)
    return keep_tight_matches(levels, scratch, depth, x, y, n_rows, n_columns)


@fragment
def derive_columns(pair: Pair, levels: Levels, scratch: Scratch, depth: int, y: int) -> int:
    """Copy the columns except y. Scratch gets their edge codes to y, and the list of those adjacent to y.

    Returns the length of that list.
    """
    columns = levels.columns
    target = columns[depth, NODE, y]
    last = pair.sizes[N_TARGET] - depth - 1
    counted_codes = 0 if pair.sizes[UNIFORM_EDGE] > 0 else pair.sizes[N_EDGE_CODES]
    n_neighbours = 0
    for j in range(last):
        parent = last if j == y else j
        node = columns[depth, NODE, parent]
        code = pair.adjacency[TARGET, node, target]
        scratch.columns[CODE, j] = code
        scratch.columns[NEIGHBOUR, n_neighbours] = j
        n_neighbours += code > 0
        columns[depth + 1, NODE, j] = node
        columns[depth + 1, DUAL, j] = columns[depth, DUAL, parent]
        columns[depth + 1, MATCH, j] = FREE
        columns[depth + 1, DEGREE, j] = columns[depth, DEGREE, parent] - (code > 0)
        for field in range(DEGREE + 1, DEGREE + 1 + counted_codes):
            columns[depth + 1, field, j] = columns[depth, field, parent] - (field == DEGREE + code)
    return n_neighbours


@fragment
def derive_uniform_rows(
    pair: Pair, levels: Levels, scratch: Scratch, depth: int, x: int, y: int, n_neighbours: int
) -> None:
    """Fill the child's rows if all edge edits cost the same: c grows by 1 or 3 where only u or v loses an edge."""
    n_rows, last = pair.sizes[N_QUERY] - depth, pair.sizes[N_TARGET] - depth - 1
    edit = pair.sizes[UNIFORM_EDGE]
    rows, columns, cost = levels.rows, levels.columns, levels.cost
    for i in range(INSERTION if last >= n_rows else INSERTION + 1, n_rows):
        parent = n_rows if i == x else i
        adjacent = pair.adjacency[QUERY, rows[depth, NODE, parent], rows[depth, NODE, x]]
        degree = rows[depth, DEGREE, parent] - adjacent
        rows[depth + 1, NODE, i] = rows[depth, NODE, parent]
        rows[depth + 1, DUAL, i] = rows[depth, DUAL, parent]
        rows[depth + 1, DEGREE, i] = degree
        source = levels.state[depth, COST_START] + parent * (last + 1)
        child = levels.state[depth + 1, COST_START] + i * last
        for j in range(last):
            cost[child + j] = cost[source + j]
        if y < last:
            cost[child + y] = cost[source + last]
        if adjacent == 1:
            for j in range(last):
                grown = edit + 2 * edit * (degree < columns[depth + 1, DEGREE, j])
                cost[child + j] += grown * (1 - scratch.columns[CODE, j])
        else:
            for k in range(n_neighbours):
                j = scratch.columns[NEIGHBOUR, k]
                cost[child + j] += edit + 2 * edit * (columns[depth + 1, DEGREE, j] < degree)


@fragment
def derive_coded_rows(pair: Pair, levels: Levels, scratch: Scratch, depth: int, x: int, y: int) -> None:
    """Fill the child's rows for any edge codes and costs."""
    n_rows, last = pair.sizes[N_QUERY] - depth, pair.sizes[N_TARGET] - depth - 1
    rows = levels.rows
    for i in range(INSERTION if last >= n_rows else INSERTION + 1, n_rows):
        parent = n_rows if i == x else i
        code = pair.adjacency[QUERY, rows[depth, NODE, parent], rows[depth, NODE, x]]
        rows[depth + 1, NODE, i] = rows[depth, NODE, parent]
        rows[depth + 1, DUAL, i] = rows[depth, DUAL, parent]
        rows[depth + 1, DEGREE, i] = rows[depth, DEGREE, parent] - (code > 0)
        for field in range(DEGREE + 1, DEGREE + pair.sizes[N_EDGE_CODES] + 1):
            rows[depth + 1, field, i] = rows[depth, field, parent] - (field == DEGREE + code)
        source = levels.state[depth, COST_START] + parent * (last + 1)
        child = levels.state[depth + 1, COST_START] + i * last
        for j in range(last):
            from_column = last if j == y else j
            cost = levels.cost[source + from_column]
            image = scratch.columns[CODE, j]
            if image != code:
                cost += 2 * pair.edge_cost[code, image] + compare_inner_edges(pair, levels, depth + 1, i, j)
                cost -= compare_inner_edges(pair, levels, depth, parent, from_column)
            levels.cost[child + j] = cost


@fragment
def keep_tight_matches(
    levels: Levels, scratch: Scratch, depth: int, x: int, y: int, n_rows: int, n_columns: int
) -> int:
    """Take over the parent's matches whose cost did not grow; list the query rows left free."""
    rows, columns = levels.rows, levels.columns
    start = levels.state[depth + 1, COST_START]
    last = n_columns - 1
    n_free = 0
    for i in range(1, n_rows):
        column = rows[depth, MATCH, n_rows if i == x else i]
        if column != y:
            if column == last:
                column = y
            if levels.cost[start + i * last + column] == rows[depth + 1, DUAL, i] + columns[depth + 1, DUAL, column]:
                rows[depth + 1, MATCH, i] = column
                columns[depth + 1, MATCH, column] = i
                continue
        rows[depth + 1, MATCH, i] = FREE
        scratch.free_rows[n_free] = i
        n_free += 1
    if n_columns > n_rows:
        for j in range(last):
            if columns[depth, MATCH, last if j == y else j] == INSERTION:
                tight = levels.cost[start + j] == rows[depth + 1, DUAL, INSERTION] + columns[depth + 1, DUAL, j]
                if tight:
                    columns[depth + 1, MATCH, j] = INSERTION
    return n_free


@fragment
def solve_root_assignment(work: Workspace, limit: int) -> bool:
    """Solve the assignment of the loaded pair before anything is mapped; False as in `solve_assignment`."""
    pair, levels = work.pair, work.levels
    n_query, signals = pair.sizes[N_QUERY], work.progress.signals
    fill_root_costs(pair, levels, signals)
    for u in range(n_query):
        work.scratch.free_rows[u] = u + 1
    levels.state[0, BOUND] = 0
    return solve_assignment(levels, work.scratch, signals, ROOT, n_query, pair.sizes[N_TARGET], n_query, limit)


@part
def solve_assignment(
    levels: Levels,
    scratch: Scratch,
    signals: Integers,
    depth: int,
    n_rows: int,
    n_columns: int,
    n_free: int,
    limit: int,
) -> bool:
    """Complete the matching of ``n_rows`` query rows; False as soon as the bound of the level reaches ``limit``.

    ``scratch.free_rows[:n_free]`` are the unmatched query rows. When it is told to stop, it also returns False; the
    bound is then valid but the matching is not complete.
    """
    unplaced = raise_insertion_row(levels, depth, n_rows, n_columns)
    n_free = raise_free_rows(levels, scratch, depth, n_columns, n_free)
    if levels.state[depth, BOUND] >= limit:
        return False
    if n_free + unplaced == 0:
        return True
    raise_free_columns(levels, depth, n_rows, n_columns)
    if levels.state[depth, BOUND] >= limit:
        return False
    for k in range(unplaced + n_free):
        if signals[STOP] > 0:
            return False
        source, units = (INSERTION, unplaced - k) if k < unplaced else (scratch.free_rows[k - unplaced], ONE)
        if not augment(levels, scratch, depth, n_columns, source, units, limit):
            return False
    return True


@part
def match_anyhow(levels: Levels, depth: int, n_rows: int, n_columns: int) -> None:
    """Match the rows that a stopped solve left unmatched with free columns, in order; other columns are inserted."""
    free = 0
    for i in range(1, n_rows + 1):
        j = levels.rows[depth, MATCH, i]
        if 0 <= j < n_columns and levels.columns[depth, MATCH, j] == i:
            continue
        while levels.columns[depth, MATCH, free] != FREE:
            free += 1
        levels.columns[depth, MATCH, free] = i
        levels.rows[depth, MATCH, i] = free
    for j in range(free, n_columns):
        if levels.columns[depth, MATCH, j] == FREE:
            levels.columns[depth, MATCH, j] = INSERTION


@fragment
def raise_insertion_row(levels: Levels, depth: int, n_rows: int, n_columns: int) -> int:
    """Raise the shared dual of the insertion row as far as it goes; returns how many columns it still lacks."""
    inserted = n_columns - n_rows
    if inserted == 0:
        return 0
    start = levels.state[depth, COST_START]
    unplaced = inserted
    least = BLOCKED
    for j in range(n_columns):
        if levels.columns[depth, MATCH, j] == INSERTION:
            unplaced -= 1
        least = min(least, levels.cost[start + j] - levels.columns[depth, DUAL, j])
    levels.state[depth, BOUND] += inserted * (least - levels.rows[depth, DUAL, INSERTION])
    levels.rows[depth, DUAL, INSERTION] = least
    return unplaced


@fragment
def raise_free_rows(levels: Levels, scratch: Scratch, depth: int, n_columns: int, n_free: int) -> int:
    """Raise the duals of free rows and match those with a tight free column; returns how many rows stay free."""
    still_free = 0
    for f in range(n_free):
        i = scratch.free_rows[f]
        row = levels.state[depth, COST_START] + i * n_columns
        least = 2 * BLOCKED
        best = 0
        for j in range(n_columns):
            slack = 2 * (levels.cost[row + j] - levels.columns[depth, DUAL, j]) + (levels.columns[depth, MATCH, j] >= 0)
            if slack < least:
                least = slack
                best = j
        least >>= 1
        levels.state[depth, BOUND] += least - levels.rows[depth, DUAL, i]
        levels.rows[depth, DUAL, i] = least
        if levels.columns[depth, MATCH, best] == FREE:
            levels.columns[depth, MATCH, best] = i
            levels.rows[depth, MATCH, i] = best
        else:
            scratch.free_rows[still_free] = i
            still_free += 1
    return still_free


@fragment
def raise_free_columns(levels: Levels, depth: int, n_rows: int, n_columns: int) -> None:
    """Raise the duals of free columns as far as they go."""
    first = INSERTION if n_columns > n_rows else INSERTION + 1
    for j in range(n_columns):
        if levels.columns[depth, MATCH, j] != FREE:
            continue
        least = BLOCKED
        entry = levels.state[depth, COST_START] + first * n_columns + j
        for i in range(first, n_rows + 1):
            least = min(least, levels.cost[entry] - levels.rows[depth, DUAL, i])
            entry += n_columns
        levels.state[depth, BOUND] += least - levels.columns[depth, DUAL, j]
        levels.columns[depth, DUAL, j] = least


@fragment
def augment(levels: Levels, scratch: Scratch, depth: int, n_columns: int, source: int, units: int, limit: int) -> bool:
    """Match one more column, starting from row ``source``, by a shortest path in reduced costs (Dijkstra).

    ``units`` is how many columns the source still lacks: its dual counts that often in the bound.
    """
    columns, work = levels.columns, scratch.columns
    row = levels.state[depth, COST_START] + source * n_columns
    offset = levels.rows[depth, DUAL, source]
    for j in range(n_columns):
        work[DISTANCE, j] = levels.cost[row + j] - offset - columns[depth, DUAL, j]
        work[REACHED_FROM, j] = source
        work[SCANNED, j] = 0
    entry_of_insertion = FREE
    while True:
        reach = 4 * BLOCKED
        nearest = INSERTION
        for j in range(n_columns):
            # prefer a free column among equals, since it ends the path
            key = 2 * work[DISTANCE, j] + (columns[depth, MATCH, j] >= 0)
            if work[SCANNED, j] == 0 and key < reach:
                reach = key
                nearest = np.int64(j)
        reach >>= 1
        if levels.state[depth, BOUND] + units * reach >= limit:
            return False
        i = columns[depth, MATCH, nearest]
        if i == FREE:
            break
        work[SCANNED, nearest] = 1
        if i == INSERTION:
            if entry_of_insertion >= 0 or source == INSERTION:
                continue
            entry_of_insertion = nearest
        row = levels.state[depth, COST_START] + i * n_columns
        offset = levels.rows[depth, DUAL, i] - reach
        for j in range(n_columns):
            through = levels.cost[row + j] - offset - columns[depth, DUAL, j]
            if through < work[DISTANCE, j] and work[SCANNED, j] == 0:
                work[DISTANCE, j] = through
                work[REACHED_FROM, j] = i
    if reach > 0:
        shift_duals(levels, scratch, depth, n_columns, entry_of_insertion, reach)
        levels.rows[depth, DUAL, source] += reach
        levels.state[depth, BOUND] += units * reach
    flip_path(levels, scratch, depth, nearest, source, entry_of_insertion)
    return True


@fragment
def shift_duals(
    levels: Levels, scratch: Scratch, depth: int, n_columns: int, entry_of_insertion: int, reach: int
) -> None:
    """Make the shortest path tight without losing feasibility; the insertion row moves once, by its first column."""
    for j in range(n_columns):
        if scratch.columns[SCANNED, j] == 1:
            rise = reach - scratch.columns[DISTANCE, j]
            levels.columns[depth, DUAL, j] -= rise
            i = levels.columns[depth, MATCH, j]
            if i != INSERTION or j == entry_of_insertion:
                levels.rows[depth, DUAL, i] += rise


@fragment
def flip_path(levels: Levels, scratch: Scratch, depth: int, column: int, source: int, entry_of_insertion: int) -> None:
    """Shift the matching along the path that ends in the free column."""
    while True:
        i = scratch.columns[REACHED_FROM, column]
        levels.columns[depth, MATCH, column] = i
        if i == source:
            levels.rows[depth, MATCH, i] = column  # never read for the insertion row
            return
        following = entry_of_insertion if i == INSERTION else levels.rows[depth, MATCH, i]
        levels.rows[depth, MATCH, i] = column
        column = following
