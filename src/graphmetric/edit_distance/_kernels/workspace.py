"""Arrays that one search owns and uses again for every pair: nothing is allocated between pairs.

Few arrays with named fields, all int64: every array in a signature costs compile time and counts references on each
call. All costs inside a search are doubled, because an edge between two unmapped nodes is shared by its two ends.

Sets of small numbers as 64-bit words.

Which totals a subtree can attain at all: integer costs, and parity, let bounds be rounded up.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, cast

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from graphmetric._foundation.compilation import fragment, hot_part
from graphmetric.edit_distance._kernels.packing import Integers


def _type_highest_bit(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zeros = builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 1))
        return builder.sub(ir.Constant(ir.IntType(64), 63), zeros)

    return types.int64(types.uint64), generate


def _type_lowest_bit(typing_context: Any, word: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.uint64), generate


highest_bit = cast(Callable[[np.uint64], int], intrinsic(_type_highest_bit))
"""Position of the highest bit of a word that is not zero."""
lowest_bit = cast(Callable[[np.uint64], int], intrinsic(_type_lowest_bit))
"""Position of the lowest bit of a word that is not zero."""

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
# Fields of Progress.status
DEPTH, UPPER, EXPANDED, UPPER_LIMIT, STOP_AT_LIMIT = range(5)
# First index of Progress.maps
BEST, TRIAL, REFINED = range(3)
# Fields of Progress.signals: the waiting thread sets STOP, the kernel tells the others how far it is
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


class Progress(NamedTuple):
    """What a search knows so far; with `Levels` enough to stop at any expansion and go on later."""

    status: Integers
    maps: Integers  # (best, trial or refined; query node): target node; refined lists the inserted nodes behind
    signals: Integers  # shared with another thread; once STOP is set, every loop ends soon, with bounds that hold


class Workspace(NamedTuple):
    """Everything a search writes to."""

    pair: Pair
    levels: Levels
    scratch: Scratch
    progress: Progress


class WorkspaceSize(NamedTuple):
    """Upper limits of the pairs a workspace can take."""

    smaller: int  # nodes of the smaller graph of a pair
    larger: int
    edges: int
    edge_codes: int
    null_nodes: bool  # whether some node substitution costs more than deletion and insertion
    root_only: bool = False  # for kernels that do not search: room for one level, which grows with n**2 only


def count_bytes(size: WorkspaceSize) -> Any:
    """What :func:`allocate_workspace` takes; the fields of the size may be arrays, of one entry for each pair."""
    n_rows, n_columns = size.smaller + 1, size.larger + np.where(size.null_nodes, size.smaller, 0)
    levels = np.where(size.root_only, 1, n_rows)
    widest = np.maximum(n_rows, n_columns).astype(np.float64)
    skipped = levels * (levels - 1) / 2  # the sum of all depths d; matrices are (rows - d) x (columns - d)
    matrices = levels * n_rows * n_columns - skipped * (n_rows + n_columns) + skipped * (2 * levels - 1) / 3
    lines = (levels + 1) * (DEGREE + 1 + size.edge_codes + 2) * (n_rows + n_columns + 1)
    return 8 * (matrices + lines + 3 * widest**2 + n_rows * n_columns + 3 * size.edges + (size.edge_codes + 1) ** 2)


def allocate_workspace(size: WorkspaceSize, signals: Integers | None = None) -> Workspace:
    """Make room. The matrices of all depths take about 8/3 n**3 bytes for two graphs of n nodes: 2 MB for n = 89.

    ``signals`` is what another thread stops the kernels by; without it nothing does.
    """
    n_rows, n_columns = size.smaller + 1, size.larger + (size.smaller if size.null_nodes else 0)
    depths = np.arange(1 if size.root_only else n_rows)
    n_levels = len(depths) + 1
    matrix_entries = int(((n_rows - depths) * (n_columns - depths)).sum())
    fields = DEGREE + 1 + size.edge_codes
    widest = max(n_rows, n_columns)

    def integers(*shape: int) -> Integers:
        return np.zeros(shape, dtype=np.int64)

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
        integers(n_rows + 1, 7),  # where the matrices of all levels start is noted at the root
    )
    heard = integers(N_SIGNALS) if signals is None else signals
    scratch = Scratch(integers(5, n_columns), integers(n_rows), integers(widest, widest))
    return Workspace(pair, levels, scratch, Progress(integers(5), integers(3, widest), heard))


@fragment
def round_up(doubled_bound: int, attainable: int, step: int) -> int:
    """The smallest cost not below half the doubled bound that differs from ``attainable`` by a multiple of ``step``."""
    bound = (doubled_bound + 1) // 2
    return bound + (attainable - bound) % step


@fragment
def find_limit(levels: Levels, progress: Progress, depth: int) -> int:
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
    """Find a modulus to which all completions of the level agree with ``cost``, that of one of them.

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
