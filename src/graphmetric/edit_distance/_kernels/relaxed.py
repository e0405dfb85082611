"""Primal-dual steps without a search: the relaxed edit distance to a tolerance, and quick intervals.

**The relaxed edit distance.** Steps are taken until bounds from both sides are close enough.

A split of the edge savings bounds the relaxed distance from below (split_bound.py). The masses of the steps, scaled
down until they keep every constraint, are a coupling, and its cost bounds the relaxed distance from above; so does the
cost of any node map. The gap between the two bounds is therefore a proven error.

Plain steps soon come close to the optimum and then close the rest ever more slowly. *Anchored* steps (the reflected
Halpern iteration) go twice as far as their aim, and back by a share that shrinks, towards where the steps were at the
last restart. From restart to restart they close a constant share of the gap. At a restart the balance between prices
and masses is set by how far each has moved, as in PDLP (Applegate et al. 2021).

**Quick intervals.** Bounds from both sides after few steps. Any prices give a valid split (split_bound.py), and the
map is priced edit by edit. Steps whose prices move slowly towards the end give better bounds: the prices of early steps
swing around their aim.

The masses are rounded to a map, which shifts improve (rounding.py). A shift maps a row to a column where it has some
mass. These are a seventh of all pairs, and as many shifts give a better map than shifts to random columns.
"""

from typing import NamedTuple

import numpy as np

from graphmetric._foundation.assignment import FREE
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
    BEST_LOWER,
    DualWork,
    bound_root,
    improve_image,
    keep_local,
    lower_bound_of,
    make_first_maps,
    round_root,
    start_dual,
    start_root,
)
from graphmetric.edit_distance._kernels.node_maps import (
    draw_below,
    seed_pair,
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
    EMPHASIS,
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
from graphmetric.edit_distance._kernels.rounding import COST, round_masses, shift_region
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
LEAST_EXCESS = (
    1e-3  # units above a whole number that rounding up ignores: masses approach an optimum, they never reach it
)
# Fields of Anchor.path
TAKEN, SINCE, SHORTEST = range(3)


class RelaxedLimits(NamedTuple):
    """When to stop."""

    tolerance: float  # in units of the costs
    most_steps: int
    round_up: int  # 1: answers are whole units, and it is enough that both bounds round up to the same


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
    """Bound the relaxed distance of every pair until the bounds are close enough, or steps or time run out.

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
        close = is_close(relaxed.lower[p], relaxed.upper[p], limits)
        if limits.round_up == 1:
            relaxed.value[p] = rounded_up(relaxed.lower[p])
        else:
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
    if not is_close(relaxed.lower[p], relaxed.upper[p], limits):
        bound_by_prices(root, relaxed, p)
    while not is_close(relaxed.lower[p], relaxed.upper[p], limits) and path[TAKEN] < limits.most_steps:
        advance(root.dual, root.steps, work.anchor, limits.most_steps, signals)
        relaxed.steps[p] = np.int64(path[TAKEN])
        if signals[STOP] != 0:
            return
        look_at_bounds(work, relaxed, p)
        restart_if_due(root.dual, root.steps, work.anchor)


@fragment
def is_close(lower: float, upper: float, limits: RelaxedLimits) -> bool:
    """Return whether the bounds determine the answer."""
    if limits.round_up == 1:
        return rounded_up(lower) == rounded_up(upper)
    return upper - lower <= limits.tolerance


@fragment
def rounded_up(bound: float) -> float:
    """Return the least whole number that is no less, up to what rounding up ignores; never above the edit distance."""
    return max(0.0, np.ceil(bound - LEAST_EXCESS))


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


# Quick intervals
PLAIN_BALANCE = 6.0  # how fast prices move at first
AGAIN_BALANCE = 3.0  # and when steps go on after a first map
FIRST_BALANCE, LAST_BALANCE = 0.6, 0.15  # how fast they move in the step before the first map and in the last one
HELD = 0.7  # the share of the first steps before prices slow down; later ones slow down at once
FURTHER = 1.9  # over-relaxation of few steps
MORE_EMPHASIS = 1.5  # on rows and columns
FIRST_STEPS, FIRST_SHIFTS = 0.4, 0.5  # shares of what is done before the first map
FEW_STEPS = 90  # fewer are taken in one go, since a map after half of them would be poor
SOME_MASS = 0.1  # a row may be shifted to columns where it has more than this
MOST_AROUND = np.int64(12)  # rows or columns that a shift unmaps on either side


class QuickLimits(NamedTuple):
    """How much to do for each pair."""

    steps: int
    shifts: int  # of the rounded map, for each row


@entry
def bound_quickly(
    problem: PackedProblem,
    pairs: Integers,
    limits: QuickLimits,
    work: DualWork,
    massive: Integers,
    results: Results,
) -> None:
    """Bound every pair by few steps, and round their masses to a map.

    ``massive`` is scratch: (place, row or column), pairs of nodes with some mass.
    """
    signals = work.base.progress.signals
    for p in range(len(pairs)):
        if p > 0 and signals[STOP] > 0:
            return
        load_both(problem, pairs, p, work)
        start_root(work, np.int64(NO_LIMIT), np.int64(0))
        if work.dual.sizes[N_ROWS] > 0:
            start_steps(work.dual, work.steps)
            bound_by_few_steps(work, limits, massive)
            if signals[STOP] > 0:
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
def bound_by_few_steps(work: DualWork, limits: QuickLimits, pairs: Integers) -> None:
    """Take some of the steps, bound, and make a map; take the others where bound and map do not meet."""
    shifts = limits.shifts * work.dual.sizes[N_ROWS]
    first, first_shifts, last = np.int64(limits.steps), np.int64(shifts), LAST_BALANCE
    if limits.steps >= FEW_STEPS:
        first, first_shifts = np.int64(FIRST_STEPS * limits.steps), np.int64(FIRST_SHIFTS * shifts)
        last = FIRST_BALANCE
    work.steps.pace[REACH], work.steps.pace[EMPHASIS] = FURTHER, MORE_EMPHASIS
    settle(work, first, np.int64(HELD * first), PLAIN_BALANCE, last)
    bound_and_map(work, first_shifts, pairs)
    if first < limits.steps and work.status[BEST_LOWER] < work.base.progress.status[UPPER]:
        settle(work, limits.steps - first, np.int64(0), AGAIN_BALANCE, LAST_BALANCE)
        bound_and_map(work, np.int64(shifts), pairs)


@part
def settle(work: DualWork, n_steps: int, held: int, balance: float, last: float) -> None:
    """Take steps, after some of them with slower and slower prices."""
    slower = (last / balance) ** (1.0 / max(1, n_steps - held - 1))
    set_balance(work.dual, work.steps, np.float32(balance))
    for step in range(n_steps):
        if work.base.progress.signals[STOP] > 0:
            return
        if step > held:
            slow_prices(work.dual, work.steps, np.float32(slower))
        take_steps(work.dual, work.steps, np.int64(1))


@part
def bound_and_map(work: DualWork, n_shifts: int, pairs: Integers) -> None:
    """Bound by the prices, and round the masses to a map."""
    if work.base.progress.signals[STOP] == 0:
        bound_root(work)
        lower_bound_of(work)
        make_map(work, n_shifts, pairs)


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
