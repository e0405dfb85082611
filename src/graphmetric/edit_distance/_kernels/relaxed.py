"""The relaxed edit distance: primal-dual steps until bounds from both sides are close enough.

A split of the edge savings bounds the relaxed distance from below (split_bound.py). The masses of the steps, scaled
down until they keep every constraint, are a coupling, and its cost bounds the relaxed distance from above; so does the
cost of any node map. The gap between the two bounds is therefore a proven error.

Plain steps soon come close to the optimum and then close the rest ever more slowly. *Anchored* steps (the reflected
Halpern iteration) go twice as far as their aim, and back by a share that shrinks, towards where the steps were at the
last restart. From restart to restart they close a constant share of the gap. At a restart the balance between prices
and masses is set by how far each has moved, as in PDLP (Applegate et al. 2021).
"""

from typing import NamedTuple

import numpy as np

from graphmetric._foundation.compilation import entry, fragment, hot_part, part
from graphmetric.edit_distance._kernels.dual_pair import (
    ARC_REVERSE,
    ARC_TAIL,
    BY_ROW,
    EVERYTHING,
    HEAD,
    N_COLUMN_ARCS,
    N_COLUMNS,
    N_ROW_EDGES,
    N_ROWS,
    ROW_START,
    TAIL,
    DualPair,
    DualSize,
    Floats,
    Singles,
    load_dual_pair,
)
from graphmetric.edit_distance._kernels.dual_search import (
    DualWork,
    bound_root,
    lower_bound_of,
    round_root,
    start_dual,
)
from graphmetric.edit_distance._kernels.node_maps import (
    write_bounds,
)
from graphmetric.edit_distance._kernels.packing import (
    Integers,
    PackedProblem,
)
from graphmetric.edit_distance._kernels.primal_dual import (
    BALANCE,
    COLUMN_PRICE,
    COLUMN_WEIGHT,
    IN_PRICE,
    IN_SUM,
    NODE_STEP,
    REACH,
    ROW_PRICE,
    ROW_WEIGHT,
    ZERO,
    Steps,
    X,
    Y,
    set_balance,
    start_steps,
    take_steps,
)
from graphmetric.edit_distance._kernels.workspace import (
    LOWER_SO_FAR,
    NO_LIMIT,
    STOP,
    UPPER,
    UPPER_SO_FAR,
    Results,
    load_pair,
)

PLAIN_STEPS = 5  # for each node of both graphs; then anchored steps
LEAST_CHUNK = 25  # steps between two looks at the bounds, or
CHUNK_SHARE = 0.1  # this share of the steps so far
RESTART_GAIN = 0.3  # restart when steps have become this much shorter than at the last restart, or
RESTART_SHARE = 0.3  # when this share of all steps was taken since then
SMOOTHING = 0.5  # of the balance from restart to restart, as an exponent
MOST_BALANCE = 50.0
TWICE = np.float32(2)
NO_SHIFTS = np.int64(0)  # node maps are a by-product here: shifts would make them better, and pairs a quarter slower
LARGEST_DENOMINATOR = 1_000
# Fields of Anchor.path
TAKEN, SINCE, SHORTEST = range(3)


class RelaxedLimits(NamedTuple):
    """When to stop."""

    tolerance: float  # in units of the costs
    most_steps: int


class RelaxedResults(NamedTuple):
    """One row for each pair: bounds of the relaxed distance in units of the costs, and the answer between them."""

    lower: Floats
    upper: Floats
    value: Floats
    steps: Integers


class Anchor(NamedTuple):
    """Where the steps were at the last restart."""

    nodes: Singles  # (row, column): x
    edges: Singles  # (edge, arc of the target): y
    outs: Singles  # (arc of the query, column)
    ins: Singles  # (row, arc of the target)
    lines: Singles  # (ROW_PRICE or COLUMN_PRICE, row or column)
    path: Floats  # how many steps were taken, how many since the restart, and how long they were then


class FeasibleMasses(NamedTuple):
    """Scratch for masses that keep every constraint."""

    x: Floats  # (row, column)
    shrink: Floats  # (arc of the query, column): factors of the out constraints


class RelaxedWork(NamedTuple):
    """Everything the steps write to."""

    root: DualWork  # its tree is not used
    anchor: Anchor
    coupling: FeasibleMasses


def allocate_relaxed(root: DualWork, size: DualSize) -> RelaxedWork:
    """Make room."""
    return RelaxedWork(root, allocate_anchor(size), allocate_masses(size))


def allocate_anchor(size: DualSize) -> Anchor:
    """Make room."""

    def singles(*shape: int) -> Singles:
        return np.zeros(shape, dtype=np.float32)

    rows, columns, edges, arcs = size.rows, size.columns, size.row_edges, 2 * size.column_edges
    return Anchor(
        singles(rows, columns),
        singles(edges, arcs),
        singles(2 * edges, columns),
        singles(rows, arcs),
        singles(2, max(rows, columns)),
        np.zeros(3),
    )


def allocate_masses(size: DualSize) -> FeasibleMasses:
    """Make room."""
    return FeasibleMasses(np.zeros((size.rows, size.columns)), np.zeros((2 * size.row_edges, size.columns)))


@entry
def relax_pairs(
    problem: PackedProblem,
    pairs: Integers,
    limits: RelaxedLimits,
    work: RelaxedWork,
    results: Results,
    relaxed: RelaxedResults,
) -> None:
    """Bound the relaxed distance of every pair until the bounds are as close as asked, or steps or time run out.

    ``results`` gets bounds of the edit distance itself, and the best node map met on the way. Its ``expanded`` counts
    the steps; one more than allowed says that the bounds did not come close enough.
    """
    root = work.root
    for p in range(len(pairs)):
        load_pair(problem, pairs[p, 0], pairs[p, 1], root.base.pair)
        load_dual_pair(problem, pairs[p, 0], pairs[p, 1], root.base.pair, root.dual)
        start_dual(root, np.int64(NO_LIMIT), np.int64(0), np.int64(0), NO_SHIFTS)
        start_steps(root.dual, root.steps)
        relax_pair(work, limits, relaxed, p)
        write_bounds(root.base, results, p, lower_bound_of(root))
        close = relaxed.upper[p] - relaxed.lower[p] <= limits.tolerance
        relaxed.value[p] = simplest_between(relaxed.lower[p], relaxed.upper[p]) if close else relaxed.lower[p]
        results.expanded[p] = relaxed.steps[p] if close else limits.most_steps + 1
        results.finished[p] = 1 if close else 0


@part
def relax_pair(work: RelaxedWork, limits: RelaxedLimits, relaxed: RelaxedResults, p: int) -> None:
    """Take steps, and look at the bounds now and then."""
    root = work.root
    signals, path = root.base.progress.signals, work.anchor.path
    start_path(work.anchor)
    relaxed.lower[p], relaxed.upper[p], relaxed.steps[p] = 0.0, np.float64(root.base.progress.status[UPPER]), 0
    if relaxed.upper[p] > limits.tolerance:
        bound_by_prices(root, relaxed, p)
    while relaxed.upper[p] - relaxed.lower[p] > limits.tolerance and path[TAKEN] < limits.most_steps:
        advance(root.dual, root.steps, work.anchor, limits.most_steps, signals)
        relaxed.steps[p] = np.int64(path[TAKEN])
        if signals[STOP] != 0:
            return
        look_at_bounds(work, relaxed, p)
        restart_if_due(root.dual, root.steps, work.anchor)


@part
def start_path(anchor: Anchor) -> None:
    """Begin to count steps."""
    anchor.path[TAKEN], anchor.path[SINCE], anchor.path[SHORTEST] = 0.0, 0.0, np.inf


@part
def advance(dual: DualPair, steps: Steps, anchor: Anchor, most_steps: int, signals: Integers) -> None:
    """Take the steps up to the next look at the bounds, plain ones at first, then anchored ones."""
    path = anchor.path
    chunk = min(most_steps - int(path[TAKEN]), max(LEAST_CHUNK, int(CHUNK_SHARE * path[TAKEN])))
    if path[TAKEN] >= PLAIN_STEPS * (dual.sizes[N_ROWS] + dual.sizes[N_COLUMNS]) and steps.pace[REACH] != TWICE:
        steps.pace[REACH] = TWICE
        set_anchor(dual, steps, anchor)
    for _ in range(chunk):
        if signals[STOP] != 0:
            return
        take_steps(dual, steps, np.int64(1))
        path[TAKEN] += 1.0
        if steps.pace[REACH] == TWICE:
            path[SINCE] += 1.0
            draw_back(dual, steps, anchor, np.float32(path[SINCE] / (path[SINCE] + 1.0)))


@part
def restart_if_due(dual: DualPair, steps: Steps, anchor: Anchor) -> None:
    """Restart anchored steps where steps have become much shorter, or where the last restart is long ago."""
    path = anchor.path
    if path[SINCE] > 0:
        masses, prices = moved_since_restart(dual, steps, anchor)
        length = np.sqrt(masses * steps.pace[BALANCE] + prices / steps.pace[BALANCE]) / path[SINCE]
        if length <= RESTART_GAIN * path[SHORTEST] or path[SINCE] >= RESTART_SHARE * path[TAKEN]:
            balance_again(dual, steps, masses, prices)
            set_anchor(dual, steps, anchor)
            path[SHORTEST], path[SINCE] = length, 0.0


@part
def look_at_bounds(work: RelaxedWork, relaxed: RelaxedResults, p: int) -> None:
    """Bound the relaxed distance by the prices, by the masses and by the best node map, as long as there is time."""
    root = work.root
    dual, progress = root.dual, root.base.progress
    bound_by_prices(root, relaxed, p)
    if progress.signals[STOP] == 0:
        coupled = dual.sizes[EVERYTHING] - coupled_saving(dual, root.steps, work.coupling) / dual.unit[0]
        relaxed.upper[p] = max(relaxed.lower[p], min(relaxed.upper[p], coupled))
    if progress.signals[STOP] == 0:
        round_root(root, NO_SHIFTS)
        relaxed.upper[p] = max(relaxed.lower[p], min(relaxed.upper[p], np.float64(progress.status[UPPER])))
    progress.signals[LOWER_SO_FAR], progress.signals[UPPER_SO_FAR] = lower_bound_of(root), progress.status[UPPER]


@part
def bound_by_prices(root: DualWork, relaxed: RelaxedResults, p: int) -> None:
    """Bound the relaxed distance from below."""
    relaxed.lower[p] = max(relaxed.lower[p], bound_root(root) / root.dual.unit[0])
    relaxed.upper[p] = max(relaxed.lower[p], relaxed.upper[p])


@part
def simplest_between(lower: float, upper: float) -> float:
    """The number with the least denominator, since optima of such programmes usually have a small one.

    It is never above the edit distance: that is a whole number of units, and not below ``lower``.
    """
    for denominator in range(1, LARGEST_DENOMINATOR):
        numerator = np.ceil(lower * denominator)
        if numerator <= upper * denominator:
            return numerator / denominator
    return lower


@fragment
def balance_again(dual: DualPair, steps: Steps, masses: float, prices: float) -> None:
    """Let prices and masses move as fast relative to each other as they moved since the restart, with some inertia."""
    if masses > 0.0 and prices > 0.0:
        aim = (prices / masses) ** (0.5 * SMOOTHING) * np.float64(steps.pace[BALANCE]) ** (1.0 - SMOOTHING)
        set_balance(dual, steps, np.float32(min(MOST_BALANCE, max(1.0 / MOST_BALANCE, aim))))


@part
def set_anchor(dual: DualPair, steps: Steps, anchor: Anchor) -> None:
    """Make the present point the anchor."""
    sizes = dual.sizes
    n_rows, n_columns, n_arcs = sizes[N_ROWS], sizes[N_COLUMNS], sizes[N_COLUMN_ARCS]
    copy_line(steps.lines[ROW_PRICE], anchor.lines[ROW_PRICE], n_rows)
    copy_line(steps.lines[COLUMN_PRICE], anchor.lines[COLUMN_PRICE], n_columns)
    for i in range(n_rows):
        copy_line(steps.nodes[X, i], anchor.nodes[i], n_columns)
        copy_line(steps.ins[IN_PRICE, i], anchor.ins[i], n_arcs)
    for edge in range(sizes[N_ROW_EDGES]):
        copy_line(steps.edges[Y, edge], anchor.edges[edge], n_arcs)
        copy_line(steps.outs[2 * edge], anchor.outs[2 * edge], n_columns)
        copy_line(steps.outs[2 * edge + 1], anchor.outs[2 * edge + 1], n_columns)


@part
def draw_back(dual: DualPair, steps: Steps, anchor: Anchor, keep: float) -> None:
    """Keep this share of the way from the anchor."""
    sizes = dual.sizes
    n_rows, n_columns, n_arcs = sizes[N_ROWS], sizes[N_COLUMNS], sizes[N_COLUMN_ARCS]
    draw_line(steps.lines[ROW_PRICE], anchor.lines[ROW_PRICE], n_rows, keep)
    draw_line(steps.lines[COLUMN_PRICE], anchor.lines[COLUMN_PRICE], n_columns, keep)
    for i in range(n_rows):
        draw_line(steps.nodes[X, i], anchor.nodes[i], n_columns, keep)
        draw_line(steps.ins[IN_PRICE, i], anchor.ins[i], n_arcs, keep)
    for edge in range(sizes[N_ROW_EDGES]):
        draw_line(steps.edges[Y, edge], anchor.edges[edge], n_arcs, keep)
        draw_line(steps.outs[2 * edge], anchor.outs[2 * edge], n_columns, keep)
        draw_line(steps.outs[2 * edge + 1], anchor.outs[2 * edge + 1], n_columns, keep)


@part
def moved_since_restart(dual: DualPair, steps: Steps, anchor: Anchor) -> tuple[float, float]:
    """Squared distances of masses and of prices from the anchor, each in the norm of its step sizes."""
    sizes, lines = dual.sizes, steps.lines
    n_rows, n_columns, n_arcs = sizes[N_ROWS], sizes[N_COLUMNS], sizes[N_COLUMN_ARCS]
    masses, balance = 0.0, np.float64(steps.pace[BALANCE])
    prices = n_columns * squared_move(lines[ROW_PRICE], anchor.lines[ROW_PRICE], n_rows)
    prices += n_rows * squared_move(lines[COLUMN_PRICE], anchor.lines[COLUMN_PRICE], n_columns)
    for i in range(n_rows):
        x, start, step = steps.nodes[X, i], anchor.nodes[i], steps.nodes[NODE_STEP, i]
        for k in range(n_columns):
            masses += (x[k] - start[k]) ** 2 / (balance * step[k])
        prices += squared_move(steps.ins[IN_PRICE, i], anchor.ins[i], n_arcs) / lines[ROW_WEIGHT, i]
    for edge in range(sizes[N_ROW_EDGES]):
        masses += 4.0 * squared_move(steps.edges[Y, edge], anchor.edges[edge], n_arcs)
        for arc in range(2 * edge, 2 * edge + 2):
            price, start = steps.outs[arc], anchor.outs[arc]
            for k in range(n_columns):
                prices += (price[k] - start[k]) ** 2 / lines[COLUMN_WEIGHT, k]
    return masses, prices


@part
def copy_line(line: Singles, to: Singles, count: int) -> None:
    """Copy the first numbers of a line."""
    for k in range(count):
        to[k] = line[k]


@part
def draw_line(line: Singles, anchor: Singles, count: int, keep: float) -> None:
    """Draw the first numbers of a line towards the anchor."""
    for k in range(count):
        line[k] = anchor[k] + keep * (line[k] - anchor[k])


@part
def squared_move(line: Singles, anchor: Singles, count: int) -> float:
    """The squared distance of the first numbers of a line from the anchor."""
    total = 0.0
    for k in range(count):
        total += np.float64(line[k] - anchor[k]) ** 2
    return total


@part
def coupled_saving(dual: DualPair, steps: Steps, coupling: FeasibleMasses) -> float:
    """What the masses save once they are scaled down to keep every constraint, in the unit of the splits."""
    saving = scale_nodes(dual, steps, coupling.x)
    shrink_arcs(dual, steps, coupling)
    for edge in range(dual.sizes[N_ROW_EDGES]):
        worth = dual.edge_saving[edge]
        for arc in range(dual.sizes[N_COLUMN_ARCS]):
            saving += coupled_mass(dual, steps, coupling, edge, arc) * worth[arc]
    return saving


@hot_part
def coupled_mass(dual: DualPair, steps: Steps, coupling: FeasibleMasses, edge: int, arc: int) -> float:
    """How much of an edge goes to an arc of the target, after scaling."""
    back, tails = dual.column_arcs[ARC_REVERSE, arc], dual.column_arcs[ARC_TAIL]
    factor = min(coupling.shrink[2 * edge, tails[arc]], coupling.shrink[2 * edge + 1, tails[back]])
    into = steps.ins[IN_SUM, dual.arcs[TAIL, 2 * edge], arc]
    into_backward = steps.ins[IN_SUM, dual.arcs[HEAD, 2 * edge], back]
    factor = min(factor, np.float64(min(into, into_backward)))
    return factor * max(0.0, np.float64(steps.edges[Y, edge, arc]))


@fragment
def scale_nodes(dual: DualPair, steps: Steps, x: Floats) -> float:
    """Scale rows and columns until each sums to one at most; gives what they save."""
    n_rows, n_columns = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS]
    for i in range(n_rows):
        total = 0.0
        for k in range(n_columns):
            x[i, k] = max(0.0, np.float64(steps.nodes[X, i, k]))
            total += x[i, k]
        if total > 1.0:
            for k in range(n_columns):
                x[i, k] /= total
    saving = 0.0
    for k in range(n_columns):
        total = 0.0
        for i in range(n_rows):
            total += x[i, k]
        for i in range(n_rows):
            x[i, k] /= max(1.0, total)
            saving += x[i, k] * dual.node_saving[i, k]
    return saving


@fragment
def shrink_arcs(dual: DualPair, steps: Steps, coupling: FeasibleMasses) -> None:
    """By how much each out and in constraint asks its masses to shrink; factors of the latter go into IN_SUM."""
    sizes, lines = dual.sizes, dual.lines
    n_columns, n_arcs = sizes[N_COLUMNS], sizes[N_COLUMN_ARCS]
    reverse, tails = dual.column_arcs[ARC_REVERSE], dual.column_arcs[ARC_TAIL]
    for i in range(sizes[N_ROWS]):
        into, x = steps.ins[IN_SUM, i], coupling.x[i]
        for arc in range(n_arcs):
            into[arc] = ZERO
        for a in range(lines[ROW_START, i], lines[ROW_START, i + 1]):
            own = dual.arcs[BY_ROW, a]
            y, shrink = steps.edges[Y, own >> 1], coupling.shrink[own]
            for k in range(n_columns):
                shrink[k] = 0.0
            for arc in range(n_arcs):
                mass = max(ZERO, y[arc] if own & 1 == 0 else y[reverse[arc]])
                into[arc] += mass
                shrink[tails[arc]] += mass
            for k in range(n_columns):
                shrink[k] = shrink_factor(shrink[k], x[k])
        margin = 1.0 + 1e-7 * (lines[ROW_START, i + 1] - lines[ROW_START, i] + 2)  # sums in single precision
        for arc in range(n_arcs):
            into[arc] = shrink_factor(margin * into[arc], x[tails[arc]])


@part
def shrink_factor(total: float, room: float) -> float:
    """What makes a sum of masses fit."""
    return 1.0 if total <= room else room / total
