"""Which totals a subtree can attain at all: integer costs, and parity, let bounds be rounded up."""

from graphmetric.compiling import fragment, hot_part
from graphmetric.edit_distance._kernels.workspace import (
    INSERTION,
    MODULUS,
    N_QUERY,
    N_TARGET,
    NODE,
    RESIDUE,
    STEP,
    UNIFORM_EDGE,
    UPPER,
    UPPER_LIMIT,
    Levels,
    Pair,
    Progress,
)


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
