"""Quick intervals: bounds from both sides after few primal-dual steps, which may start from a prediction.

Plain steps start without prices and need some forty of them to reach the neighbourhood of the optimum. A *start* is a
guess of where the steps would end. It is made of vectors: each node, arc and graph has some, and a price or mass is the
inner product of two of them, or zero if that is negative. Whatever the vectors are, the bounds hold: any prices give a
valid split (split_bound.py), and the map is priced edit by edit.

Steps whose prices move slowly towards the end give better bounds: the prices of early steps swing around their aim.

The masses are rounded to a map, which shifts improve (rounding.py). A shift maps a row to a column where it has some
mass: these are a sixth of all columns, and nearly all shifts that help are among them.
"""

from typing import Any, NamedTuple

import numpy as np

from graphmetric._foundation.assignment import FREE
from graphmetric._foundation.compilation import entry, fragment, part
from graphmetric.edit_distance._kernels.dual_pair import (
    ARC_HEAD,
    ARC_TAIL,
    N_COLUMN_ARCS,
    N_COLUMNS,
    N_ROW_EDGES,
    N_ROWS,
    NODE_OF,
    DualPair,
    DualSize,
    Singles,
    load_dual_pair,
)
from graphmetric.edit_distance._kernels.dual_search import (
    BEST_LOWER,
    DualWork,
    bound_root,
    improve_image,
    keep_local,
    lower_bound_of,
    make_first_maps,
    start_root,
)
from graphmetric.edit_distance._kernels.node_maps import draw_below, seed_pair, write_bounds
from graphmetric.edit_distance._kernels.packing import Integers, PackedGraphs, PackedProblem
from graphmetric.edit_distance._kernels.primal_dual import (
    BALANCE,
    COLUMN_PRICE,
    IN_PRICE,
    NODE_STEP,
    ROW_PRICE,
    WEIGHT,
    Steps,
    X,
    set_balance,
    start_steps,
    take_steps,
)
from graphmetric.edit_distance._kernels.rounding import COST, round_masses, shift_region
from graphmetric.edit_distance._kernels.workspace import (
    NO_LIMIT,
    STOP,
    SWAPPED,
    UPPER,
    Results,
    load_pair,
)

HELD = 0.6  # the share of steps before prices slow down
LAST_BALANCE = 0.25  # how fast prices move in the last step, compared with masses
PLAIN_BALANCE, STARTED_BALANCE = 6.0, 4.0  # how fast they move at first, without and with a start
HIGHEST = np.float32(64)  # of a price at the start; prices of molecules are below 5
NOTHING = np.float32(0)
SOME_MASS = 0.1  # a row may be shifted to columns where it has more than this
MOST_AROUND = np.int64(12)  # rows or columns that a shift unmaps on either side

# Fields of Starts.nodes: vectors that a node has as a row (node of the query) or as a column (node of the target)
ROW_MASS, COLUMN_MASS, ROW_IN, COLUMN_OUT, ROW_OWN, COLUMN_OWN = range(6)
# Fields of Starts.arcs and Starts.graphs, of the query and of the target
QUERY_ARC, TARGET_ARC = range(2)
QUERY_GRAPH, TARGET_GRAPH = range(2)


class Starts(NamedTuple):
    """Vectors of the nodes, arcs and graphs of a collection; edge e has the arcs 2 e, as it is listed, and 2 e + 1."""

    nodes: Singles  # (node, field, dimension)
    arcs: Singles  # (arc, field, dimension)
    graphs: Singles  # (graph, field, dimension)


class StartRoom(NamedTuple):
    """Scratch for the vectors of one target, dimension by dimension, and the numbers of its arcs."""

    columns: Singles  # (COLUMN_MASS or COLUMN_OUT first, dimension, column)
    arcs: Singles  # (dimension, arc of the target)
    line: Singles  # (row, column or arc)
    numbers: Integers  # (tail, head): number of the arc in its graph
    pairs: Integers  # (place, row or column): pairs with some mass


class QuickLimits(NamedTuple):
    """How much to do for each pair."""

    steps: int
    shifts: int  # of the rounded map, for each row
    started: int  # 1: with starts


class Settled(NamedTuple):
    """Where the steps of some pairs ended, by the nodes and arcs of the graphs; zero beyond their own."""

    query: Integers  # (pair): 1 where the second graph is the query
    mass: Singles  # (pair, node of the query, node of the target)
    out: Singles  # (pair, arc of the query, node of the target)
    into: Singles  # (pair, node of the query, arc of the target)
    row: Singles  # (pair, node of the query)
    column: Singles  # (pair, node of the target)


def allocate_start_room(size: DualSize, dimensions: int) -> StartRoom:
    """Make room."""
    arcs = 2 * size.column_edges

    def singles(*shape: int) -> Singles:
        return np.zeros(shape, dtype=np.float32)

    return StartRoom(
        singles(2, dimensions, size.columns),
        singles(dimensions, arcs),
        singles(max(size.rows, size.columns, arcs)),
        np.zeros((size.columns, size.columns), dtype=np.int64),
        np.zeros((size.rows * size.columns, 2), dtype=np.int64),
    )


@entry
def bound_quickly(
    problem: PackedProblem,
    pairs: Integers,
    limits: QuickLimits,
    starts: tuple[Starts, Starts],
    work: DualWork,
    room: StartRoom,
    results: Results,
) -> None:
    """Bound every pair by few steps, and round their masses to a map. ``starts`` are those of both collections."""
    signals = work.base.progress.signals
    for p in range(len(pairs)):
        if p > 0 and signals[STOP] > 0:
            return
        load_both(problem, pairs, p, work)
        start_root(work, np.int64(NO_LIMIT), np.int64(0))
        if work.dual.sizes[N_ROWS] > 0:
            start_steps(work.dual, work.steps)
            if limits.started == 1:
                place_start(problem, pairs, p, starts, work, room)
            settle(work, limits.steps, limits.started)
            if signals[STOP] == 0:
                bound_root(work)
                lower_bound_of(work)
                make_map(work, limits.shifts * work.dual.sizes[N_ROWS], room.pairs)
            else:
                make_first_maps(work, np.int64(0))
        lower = min(lower_bound_of(work), work.base.progress.status[UPPER])
        write_bounds(work.base, results, p, lower)
        results.expanded[p] = 0
        results.finished[p] = 1


@part
def load_both(problem: PackedProblem, pairs: Integers, p: int, work: DualWork) -> None:
    """Lay out a pair."""
    load_pair(problem, pairs[p, 0], pairs[p, 1], work.base.pair)
    load_dual_pair(problem, pairs[p, 0], pairs[p, 1], work.base.pair, work.dual)
    seed_pair(work.random, pairs[p, 0], pairs[p, 1])


@part
def settle(work: DualWork, n_steps: int, started: int) -> None:
    """Take the steps, the last ones with slower and slower prices."""
    balance = STARTED_BALANCE if started == 1 else PLAIN_BALANCE
    held = int(HELD * n_steps)
    slower = (LAST_BALANCE / balance) ** (1.0 / max(1, n_steps - held - 1))
    set_balance(work.dual, work.steps, np.float32(balance))
    for step in range(n_steps):
        if work.base.progress.signals[STOP] > 0:
            return
        if step > held:
            slow_prices(work.dual, work.steps, np.float32(slower))
        take_steps(work.dual, work.steps, np.int64(1))


@part
def slow_prices(dual: DualPair, steps: Steps, share: float) -> None:
    """Let prices move at this share of their pace, and masses quicker by as much."""
    steps.pace[BALANCE] *= share
    for i in range(dual.sizes[N_ROWS]):
        step = steps.nodes[NODE_STEP, i]
        for k in range(dual.sizes[N_COLUMNS]):
            step[k] /= share


@part
def make_map(work: DualWork, n_shifts: int, pairs: Integers) -> None:
    """Round the masses to a map, descend, and shift rows to columns where they have some mass."""
    base, dual, state, n_pairs = work.base, work.dual, work.local.state, 0
    for i in range(dual.sizes[N_ROWS]):
        work.image[i] = FREE
        mass, score = work.steps.nodes[X, i], work.score[i]
        for k in range(dual.sizes[N_COLUMNS]):
            score[k] = mass[k]
            if mass[k] > SOME_MASS:
                pairs[n_pairs, 0], pairs[n_pairs, 1] = i, k
                n_pairs += 1
    if not round_masses(dual, work.local, work.score, work.image, base.progress.signals):
        return
    improve_image(work, np.int64(0))
    for _ in range(n_shifts if n_pairs > 0 and dual.sizes[N_ROWS] > 1 else 0):
        if state[COST] <= work.status[BEST_LOWER] or base.progress.signals[STOP] > 0:
            break
        chosen = draw_below(work.random, n_pairs)
        n_around = 1 + np.int64(draw_below(work.random, MOST_AROUND))
        i, k = pairs[chosen, 0], pairs[chosen, 1]
        shift_region(base.pair, dual, work.local, work.random, i, k, n_around, base.progress.signals)
    keep_local(work)


@part
def place_start(
    problem: PackedProblem,
    pairs: Integers,
    p: int,
    starts: tuple[Starts, Starts],
    work: DualWork,
    room: StartRoom,
) -> None:
    """Fill in masses and prices of the start."""
    first, second, _ = problem
    if work.base.pair.sizes[SWAPPED] == 1:
        place_roles(second, pairs[p, 1], starts[1], first, pairs[p, 0], starts[0], work.dual, work.steps, room)
    else:
        place_roles(first, pairs[p, 0], starts[0], second, pairs[p, 1], starts[1], work.dual, work.steps, room)


@part
def place_roles(
    queries: PackedGraphs,
    query: int,
    of_query: Starts,
    targets: PackedGraphs,
    target: int,
    of_target: Starts,
    dual: DualPair,
    steps: Steps,
    room: StartRoom,
) -> None:
    """Fill in the start once it is known which graph is the query."""
    n_rows, n_columns, n_arcs = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS], dual.sizes[N_COLUMN_ARCS]
    first_row, first_column = queries.node_start[query], targets.node_start[target]
    first_arc, first_target_arc = 2 * queries.edge_start[query], 2 * targets.edge_start[target]
    n_dimensions = of_query.nodes.shape[2]
    number_arcs(targets, target, room.numbers)
    for k in range(n_columns):
        vectors = of_target.nodes[first_column + dual.lines[NODE_OF, k]]
        for d in range(n_dimensions):
            room.columns[0, d, k] = vectors[COLUMN_MASS, d]
            room.columns[1, d, k] = vectors[COLUMN_OUT, d]
        steps.lines[COLUMN_PRICE, k] = inner(vectors[COLUMN_OWN], of_query.graphs[query, QUERY_GRAPH])
    for arc in range(n_arcs):
        tail, head = dual.column_arcs[ARC_TAIL, arc], dual.column_arcs[ARC_HEAD, arc]
        number = room.numbers[dual.lines[NODE_OF, tail], dual.lines[NODE_OF, head]]
        for d in range(n_dimensions):
            room.arcs[d, arc] = of_target.arcs[first_target_arc + number, TARGET_ARC, d]
    for i in range(n_rows):
        vectors = of_query.nodes[first_row + i]
        steps.lines[ROW_PRICE, i] = inner(vectors[ROW_OWN], of_target.graphs[target, TARGET_GRAPH])
        place_line(vectors[ROW_MASS], room.columns[0], room.line, steps.nodes[X, i], n_columns)
        place_line(vectors[ROW_IN], room.arcs, room.line, steps.ins[IN_PRICE, i], n_arcs)
    for arc in range(2 * dual.sizes[N_ROW_EDGES]):
        vector = of_query.arcs[first_arc + arc, QUERY_ARC]
        place_line(vector, room.columns[1], room.line, steps.outs[arc], n_columns)


@fragment
def number_arcs(graphs: PackedGraphs, graph: int, numbers: Integers) -> None:
    """Note the number of each arc by its two nodes."""
    first = graphs.edge_start[graph]
    for edge in range(graphs.edge_start[graph + 1] - first):
        tail, head = graphs.edge_tail[first + edge], graphs.edge_head[first + edge]
        numbers[tail, head] = 2 * edge
        numbers[head, tail] = 2 * edge + 1


@part
def place_line(vector: Singles, others: Singles, total: Singles, line: Singles, count: int) -> None:
    """The inner products of one vector with many."""
    for k in range(count):
        total[k] = NOTHING
    for d in range(vector.shape[0]):
        factor, other = vector[d], others[d]
        for k in range(count):
            total[k] += factor * other[k]
    for k in range(count):
        line[k] = within(total[k])


@part
def inner(vector: Singles, other: Singles) -> float:
    """The inner product of two vectors, as a price."""
    total = NOTHING
    for d in range(vector.shape[0]):
        total += vector[d] * other[d]
    return within(total)


@fragment
def within(number: Any) -> Any:
    """A price at the start: not negative and not too high; 0 for what is not a number."""
    return min(number, HIGHEST) if number > NOTHING else NOTHING


@entry
def settle_pairs(
    problem: PackedProblem, pairs: Integers, n_steps: int, work: DualWork, room: StartRoom, settled: Settled
) -> None:
    """Take many plain steps for every pair and say where they end."""
    for p in range(len(pairs)):
        if work.base.progress.signals[STOP] > 0:
            return
        load_both(problem, pairs, p, work)
        dual, steps = work.dual, work.steps
        swapped = work.base.pair.sizes[SWAPPED]
        start_steps(dual, steps)
        set_balance(dual, steps, WEIGHT)
        take_steps(dual, steps, n_steps)
        if swapped == 1:
            number_arcs(problem.first, pairs[p, 0], room.numbers)
        else:
            number_arcs(problem.second, pairs[p, 1], room.numbers)
        settled.query[p] = swapped
        for i in range(dual.sizes[N_ROWS]):
            settled.row[p, i] = steps.lines[ROW_PRICE, i]
        for k in range(dual.sizes[N_COLUMNS]):
            node = dual.lines[NODE_OF, k]
            settled.column[p, node] = steps.lines[COLUMN_PRICE, k]
            for i in range(dual.sizes[N_ROWS]):
                settled.mass[p, i, node] = steps.nodes[X, i, k]
            for arc in range(2 * dual.sizes[N_ROW_EDGES]):
                settled.out[p, arc, node] = steps.outs[arc, k]
        for arc in range(dual.sizes[N_COLUMN_ARCS]):
            tail, head = dual.column_arcs[ARC_TAIL, arc], dual.column_arcs[ARC_HEAD, arc]
            number = room.numbers[dual.lines[NODE_OF, tail], dual.lines[NODE_OF, head]]
            for i in range(dual.sizes[N_ROWS]):
                settled.into[p, i, number] = steps.ins[IN_PRICE, i, arc]
