"""The relaxed edit distance with costs of any kind: graphs whose nodes and edges have states.

Changing a node i into k costs ``prices.node`` for a label that changes and for a loop that does, and the distance of
their states; deleting it costs the same with nothing, whose state is 0. An edge is seen from its two ends: turned
around, it has its other view. Changing an edge costs ``prices.edge`` for each code of the view that changes, and the
distance of the states. Costs become whole numbers of quanta, and from there on everything is that of the relaxed edit
distance (relaxed.py): the same steps, and exact bounds from both sides.

**One image.** Parts of a node may go to several nodes, which no edit does. So, if asked, every node is tried in turn:
it may have one image only, whichever that is. The distance is the largest of these least costs over all nodes of
both graphs. Couplings in which a node has one image compose, so this is a pseudo-metric as well, and closer to the edit
distance. It is computed only where the best map that was met costs more than the relaxed distance rounded up.

A pair is always solved in the same orientation, whichever graph was named first: the graph with fewer nodes gives the
rows, and graphs of one size are ordered by what they consist of. So answers are symmetric to the last bit, and
identical graphs are at distance exactly 0.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.assignment import COLUMN_DUAL, FREE, ROW_MATCH, AssignmentWork
from graphmetric._foundation.compilation import entry, fragment, part
from graphmetric.edit_distance._kernels.dual_pair import (
    ARC_CODE,
    ARC_HEAD,
    ARC_REVERSE,
    ARC_TAIL,
    BY_ROW,
    COLUMN_OF,
    DEGREE_OF,
    EVERYTHING,
    HEAD,
    LARGEST_SAVING,
    MAY_DELETE,
    N_COLUMN_ARCS,
    N_COLUMNS,
    N_ROW_EDGES,
    N_ROWS,
    NODE_OF,
    ROW_START,
    SLOT_START,
    TAIL,
    DualPair,
    DualSize,
    Floats,
    Singles,
    allocate_dual_pair,
    list_row_arcs,
    sort_columns,
)
from graphmetric.edit_distance._kernels.packing import Integers, integers
from graphmetric.edit_distance._kernels.primal_dual import Steps, X, allocate_steps, start_steps
from graphmetric.edit_distance._kernels.relaxed import (
    TAKEN,
    Anchor,
    FeasibleMasses,
    advance,
    allocate_anchor,
    allocate_masses,
    coupled_mass,
    coupled_saving,
    draw_back,
    restart_if_due,
    set_anchor,
    start_path,
)
from graphmetric.edit_distance._kernels.rounding import LocalMap, allocate_local_map, round_masses
from graphmetric.edit_distance._kernels.split_bound import (
    ROW_DUAL,
    Splits,
    allocate_splits,
    solve_weights,
    split_by_prices,
    weigh_blocks,
)
from graphmetric.edit_distance._kernels.workspace import QUERY, STOP, TARGET

QUANTA = 2.0**20  # per edit
MOST = 2.0**20  # edits to delete one graph and insert the other; sums of quanta then stay exact
LEAST_MASS = 1e-4  # smaller ones are left out of gradients: there are many, and together they mean little
LEAST_GAP = 1e-3  # edits above a whole number that do not count; to close a smaller gap would take very long
MASS = 2.0**30  # weights of an assignment by masses
TRIED = -np.inf  # in place of the costs of a node

Shorts = NDArray[Any]  # of 32 bits

# Fields of CouplingWork.lines: the rows of columns, the best map, and slots that are taken
OWNER, BEST_IMAGE, TAKEN_SLOTS = range(3)
# Fields of CouplingWork.values: costs of deleting rows and inserting columns, or of arcs
OF_ROWS, OF_COLUMNS, OF_ARCS, SUMS = range(4)


class CoupledGraphs(NamedTuple):
    """Graphs one after another; graph g has the nodes from start[g] and the edges from edge_start[g] on."""

    states: Singles  # (node, d)
    labels: Shorts  # (node, 2): codes of the label and of the loop, where 0 is none
    start: Integers
    size: Integers
    edge_states: Singles  # (edge, 2, d): seen from the first end, and from the second
    views: Shorts  # (edge, 2, 2): codes of the edge seen likewise; 0 is none
    ends: Shorts  # (edge, 2): numbers of nodes within the graph
    edge_start: Integers
    edge_size: Integers


class LabelPrices(NamedTuple):
    """What a change of a label costs."""

    node: float
    edge: float


class Effort(NamedTuple):
    """When to stop."""

    steps: int
    """The most steps, unless the next limit is higher."""
    steps_per_node: int
    """The most steps for each node of both graphs."""
    tolerance: float
    """The gap between the bounds at which to stop."""
    relative: float
    """The same as a share of the upper bound; the larger of the two counts."""
    unit: float
    """Answers are rounded up to multiples of this, and it is enough that both bounds round to the same; 0: they are
    not rounded."""
    one_image: int
    """1: every node is tried with one image only, before answers are rounded."""


class CouplingWork(NamedTuple):
    """Room for one pair at a time."""

    dual: DualPair
    steps: Steps
    splits: Splits
    anchor: Anchor
    settled: Anchor  # where steps start when a node is restricted to one image
    coupling: FeasibleMasses
    lines: Integers  # (field, row, column or slot)
    values: Floats  # (field, row, column or arc)
    turned: Singles  # (d, column or arc of the target): states, one coordinate after another
    squares: Singles  # (column or arc of the target)
    local: LocalMap  # scratch of rounding, as the next one
    score: Floats  # (row, column)
    node_saving: Floats  # (row, column): while a node may have one image only, what all would save
    edge_saving: Floats  # (edge, arc of the target): likewise
    screened: Floats  # (row or column, node, image): the least cost by the prices without further steps


class Masses(NamedTuple):
    """What goes where, for many pairs one after another; rows of states, and -1 for nothing."""

    nodes: Integers  # (mass, 2)
    node_masses: Floats
    edges: Integers  # (mass, 2): rows of edge states, twice the edge plus the view
    edge_masses: Floats
    ends: Integers  # (pair, 2): where the masses of nodes and of edges end
    changes: Floats  # (pair, 2): changes of labels and loops, and of codes of edges


def allocate_coupling_work(size: DualSize, width: int) -> CouplingWork:
    """Make room for pairs of this size with states of this width."""
    widest = max(size.rows, size.columns) + 1
    across = max(widest, 2 * size.column_edges)
    steps = allocate_steps(size)
    return CouplingWork(
        allocate_dual_pair(size),
        steps,
        allocate_splits(size, integers(STOP + 1)),
        allocate_anchor(size),
        allocate_anchor(size),
        allocate_masses(size),
        integers(3, widest),
        np.zeros((4, across)),
        np.zeros((width, across), dtype=np.float32),
        np.zeros(across, dtype=np.float32),
        allocate_local_map(size, steps.nodes[X]),
        np.zeros((size.rows, size.columns)),
        np.zeros((size.rows, size.columns)),
        np.zeros((size.row_edges, 2 * size.column_edges)),
        np.zeros((2, widest, widest)),
    )


@entry
def couple_pairs(
    left: CoupledGraphs,
    right: CoupledGraphs,
    pairs: Integers,
    prices: LabelPrices,
    effort: Effort,
    work: CouplingWork,
    lower: Floats,
    left_open: Floats,
) -> None:
    """Lower bounds, which are answers; and how far apart the bounds are where the steps did not suffice."""
    for p in range(len(pairs)):
        a, b = pairs[p, 0], pairs[p, 1]
        order = compare_coupled(left, a, right, b)
        lower[p] = left_open[p] = 0.0
        if order < 0:
            lower[p], left_open[p] = couple_pair(left, a, right, b, prices, effort, work)
        elif order > 0:
            lower[p], left_open[p] = couple_pair(right, b, left, a, prices, effort, work)


@entry
def couple_with_masses(
    left: CoupledGraphs,
    right: CoupledGraphs,
    pairs: Integers,
    prices: LabelPrices,
    effort: Effort,
    work: CouplingWork,
    lower: Floats,
    masses: Masses,
) -> None:
    """Lower bounds, and the masses of the best coupling that was met. Identical graphs have none."""
    node_end, edge_end = 0, 0
    for p in range(len(pairs)):
        a, b = pairs[p, 0], pairs[p, 1]
        order = compare_coupled(left, a, right, b)
        lower[p] = masses.changes[p, 0] = masses.changes[p, 1] = 0.0
        if order < 0:
            lower[p], _ = couple_pair(left, a, right, b, prices, effort, work)
            node_end = list_node_masses(left, a, right, b, work, masses, p, node_end, 0)
            edge_end = list_edge_masses(left, a, right, b, work, masses, p, edge_end, 0)
        elif order > 0:
            lower[p], _ = couple_pair(right, b, left, a, prices, effort, work)
            node_end = list_node_masses(right, b, left, a, work, masses, p, node_end, 1)
            edge_end = list_edge_masses(right, b, left, a, work, masses, p, edge_end, 1)
        masses.ends[p, 0], masses.ends[p, 1] = node_end, edge_end


@entry
def align_pair(
    left: CoupledGraphs,
    right: CoupledGraphs,
    pair: Integers,
    prices: LabelPrices,
    effort: Effort,
    work: CouplingWork,
    partner: Integers,
) -> None:
    """For each node of the first graph one of the second, or -1: the best map that was met, or the largest masses."""
    a, b = pair[0], pair[1]
    order = compare_coupled(left, a, right, b)
    for i in range(left.size[a]):
        partner[i] = i if order == 0 else FREE
    if order == 0:
        return
    if order < 0:
        couple_pair(left, a, right, b, prices, effort, work)
    else:
        couple_pair(right, b, left, a, prices, effort, work)
    dual = work.dual
    image = work.lines[BEST_IMAGE]
    if image[0] == FREE:
        assign_by_masses(work)
        image = work.splits.assignment.places[ROW_MATCH]
    for i in range(dual.sizes[N_ROWS]):
        node = dual.lines[NODE_OF, image[i]]
        if order < 0:
            partner[i] = node
        else:
            partner[node] = i


@part
def assign_by_masses(work: CouplingWork) -> None:
    """Find the assignment with the largest masses."""
    dual, assignment = work.dual, work.splits.assignment
    n_rows, n_columns = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS]
    forget_assignment(assignment, n_columns)
    for k in range(n_columns):
        for i in range(n_columns):
            assignment.weight[i, k] = np.rint(work.coupling.x[i, k] * MASS) if i < n_rows else 0.0
    solve_weights(work.splits, n_columns)


@part
def map_by_masses(work: CouplingWork) -> None:
    """Round the masses to a map, heaviest first, where edges that are saved make the pairs next to them heavier."""
    dual, image = work.dual, work.splits.assignment.places[ROW_MATCH]
    for i in range(dual.sizes[N_ROWS]):
        image[i] = FREE
        for k in range(dual.sizes[N_COLUMNS]):
            work.score[i, k] = work.coupling.x[i, k]
    round_masses(dual, work.local, work.score, image, work.splits.signals)
    exchange_images(work, image)


@part
def price_rounded_masses(work: CouplingWork, everything: float, of_map: float) -> float:
    """What the best map costs, among them the one that the masses are rounded to now."""
    map_by_masses(work)
    return everything - price_map(work, everything - of_map)


@part
def exchange_images(work: CouplingWork, image: Integers) -> None:
    """Exchange images of two rows, and move rows to free columns, while that saves more."""
    n_rows, n_columns, owner = work.dual.sizes[N_ROWS], work.dual.sizes[N_COLUMNS], work.lines[OWNER]
    for k in range(n_columns):
        owner[k] = FREE
    for i in range(n_rows):
        owner[image[i]] = i
    looks = 0  # rows since the last exchange
    i = 0
    while looks < n_rows:
        looks += 1
        for k in range(n_columns):
            own, j = image[i], owner[k]
            if k == own:
                continue
            before = saving_at(work, image, i, np.int64(FREE))
            if j != FREE:
                before += saving_at(work, image, j, np.int64(i))
                image[j] = own
            image[i] = k
            after = saving_at(work, image, i, np.int64(FREE))
            if j != FREE:
                after += saving_at(work, image, j, np.int64(i))
            if after > before:
                owner[k], owner[own], looks = i, j, 0
            else:
                image[i] = own
                if j != FREE:
                    image[j] = k
        i = (i + 1) % n_rows


@part
def saving_at(work: CouplingWork, image: Integers, i: int, without: int) -> float:
    """What row i and its edges save where the rows are, its edge to one other row left out."""
    dual, k = work.dual, image[i]
    saving = dual.node_saving[i, k]
    for a in range(dual.lines[ROW_START, i], dual.lines[ROW_START, i + 1]):
        own = dual.arcs[BY_ROW, a]
        other = dual.arcs[HEAD, own]
        for slot in range(dual.lines[DEGREE_OF, k] if other != without else 0):
            arc = dual.lines[SLOT_START, slot] + k
            if dual.column_arcs[ARC_HEAD, arc] == image[other]:
                saving += dual.edge_saving[own >> 1, arc if own & 1 == 0 else dual.column_arcs[ARC_REVERSE, arc]]
    return saving


@part
def forget_assignment(assignment: AssignmentWork, n_columns: int) -> None:
    """Start without prices and without a matching."""
    for k in range(n_columns):
        assignment.values[COLUMN_DUAL, k] = 0.0
        assignment.places[ROW_MATCH, k] = FREE


@part
def couple_pair(
    few: CoupledGraphs, a: int, many: CoupledGraphs, b: int, prices: LabelPrices, effort: Effort, work: CouplingWork
) -> tuple[float, float]:
    """A lower bound, and how far the bounds are apart if the steps did not suffice; NaN if costs are not finite.

    Afterwards ``coupling`` and ``steps`` hold masses that keep every constraint, or BEST_IMAGE a map that costs less.
    """
    dual, steps, splits, anchor = work.dual, work.steps, work.splits, work.anchor
    if not load_coupled(few, a, many, b, prices, work):
        return np.nan, 0.0
    everything = np.float64(dual.sizes[EVERYTHING])
    work.lines[BEST_IMAGE, 0] = FREE
    most_steps = max(effort.steps, effort.steps_per_node * (dual.sizes[N_ROWS] + dual.sizes[N_COLUMNS]))
    start_steps(dual, steps)
    start_path(anchor)
    forget_assignment(splits.assignment, dual.sizes[N_COLUMNS])
    lower = max(0.0, everything - bound_saving(work))
    of_map = everything - price_map(work, 0.0)
    upper, coupled = max(lower, of_map), np.inf
    while not is_close(lower, upper, effort) and anchor.path[TAKEN] < most_steps:
        advance(dual, steps, anchor, most_steps, splits.signals)
        lower = max(lower, everything - bound_saving(work))
        of_map = everything - price_map(work, everything - of_map)
        coupled = everything - coupled_saving(dual, steps, work.coupling)
        upper = max(lower, min(upper, of_map, coupled))
        if effort.unit > 0.0 and not is_close(lower, upper, effort):  # in whole edits a good map often ends the steps
            of_map = price_rounded_masses(work, everything, of_map)
            upper = max(lower, min(upper, of_map))
        restart_if_due(dual, steps, anchor)
    if coupled < of_map:
        work.lines[BEST_IMAGE, 0] = FREE
    left_open = 0.0 if is_close(lower, upper, effort) else (upper - lower) / QUANTA
    if effort.unit == 0.0:
        return lower / QUANTA, left_open
    answer = rounded_up(lower, effort.unit)
    if effort.one_image == 0 or left_open > 0.0:
        return answer, left_open
    if answer < rounded_up(of_map, effort.unit) and coupled < np.inf:
        of_map = price_rounded_masses(work, everything, of_map)
    most = rounded_up(of_map, effort.unit)
    if answer < most:
        screen_images(work)
        while answer < most and some_node_costs_more(work, effort.unit, answer, most_steps):
            answer += effort.unit
    return answer, left_open


@part
def screen_images(work: CouplingWork) -> None:
    """Bound what it costs that a node has one image only, for every node and image, by the present prices.

    A row that may go to one column only saves nothing elsewhere, and its price falls to what that leaves.
    """
    dual, screened, assignment = work.dual, work.screened, work.splits.assignment
    n_rows, n_columns = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS]
    set_anchor(dual, work.steps, work.settled)
    least = np.float64(dual.sizes[EVERYTHING]) - bound_saving(work)
    row_price, column_price, weight = work.splits.values[ROW_DUAL], assignment.values[COLUMN_DUAL], assignment.weight
    for i in range(n_rows):
        for k in range(n_columns):
            by_row, by_column = weight[i, k] - column_price[k], weight[i, k] - row_price[i]
            for other in range(n_columns):
                if other != k:
                    by_row = max(by_row, -column_price[other])
                if other != i:
                    by_column = max(by_column, -row_price[other])
            screened[QUERY, i, k] = least + row_price[i] - by_row
            screened[TARGET, k, i] = least + column_price[k] - by_column
            work.node_saving[i, k] = dual.node_saving[i, k]
    for edge in range(dual.sizes[N_ROW_EDGES]):
        for arc in range(dual.sizes[N_COLUMN_ARCS]):
            work.edge_saving[edge, arc] = dual.edge_saving[edge, arc]


@part
def some_node_costs_more(work: CouplingWork, unit: float, answer: float, most_steps: int) -> bool:
    """Whether some node of either graph makes the pair cost more than this, whichever image it may have.

    The nodes whose images cost most by the present prices come first.
    """
    n_rows, n_columns = work.dual.sizes[N_ROWS], work.dual.sizes[N_COLUMNS]
    for node in range(n_rows):
        work.values[OF_ROWS, node] = cheapest_image(work.screened[QUERY, node], n_columns)
    for node in range(n_columns):
        work.values[OF_COLUMNS, node] = cheapest_image(work.screened[TARGET, node], n_rows)
    for _ in range(n_rows + n_columns):
        dearest, side, chosen = TRIED, np.int64(QUERY), np.int64(0)
        for i in range(n_rows):
            if work.values[OF_ROWS, i] > dearest:
                dearest, side, chosen = work.values[OF_ROWS, i], np.int64(QUERY), np.int64(i)
        for k in range(n_columns):
            if work.values[OF_COLUMNS, k] > dearest:
                dearest, side, chosen = work.values[OF_COLUMNS, k], np.int64(TARGET), np.int64(k)
        work.values[OF_ROWS if side == QUERY else OF_COLUMNS, chosen] = TRIED
        if node_costs_more(work, side, chosen, unit, answer, most_steps):
            return True
    return False


@part
def cheapest_image(costs: Floats, n_images: int) -> float:
    """The least cost of the images of a node."""
    least = np.inf
    for image in range(n_images):
        least = min(least, costs[image])
    return least


@part
def node_costs_more(work: CouplingWork, side: int, node: int, unit: float, answer: float, most_steps: int) -> bool:
    """Whether a node makes the pair cost more than this, whichever image it may have.

    The image that most of it has is the first one to be tried: one that is cheap enough settles the question.
    """
    n_images = work.dual.sizes[N_COLUMNS] if side == QUERY else work.dual.sizes[N_ROWS]
    heaviest, chosen = -1.0, np.int64(0)
    for image in range(n_images):
        mass = work.settled.nodes[node, image] if side == QUERY else work.settled.nodes[image, node]
        if mass > heaviest:
            heaviest, chosen = np.float64(mass), np.int64(image)
    if not image_costs_more(work, side, node, chosen, unit, answer, most_steps):
        return False
    for image in range(n_images):
        if image != chosen and not image_costs_more(work, side, node, np.int64(image), unit, answer, most_steps):
            return False
    return True


@part
def image_costs_more(
    work: CouplingWork, side: int, node: int, image: int, unit: float, answer: float, most_steps: int
) -> bool:
    """Whether the pair costs more than this if a node may have this image only."""
    dual, steps, anchor = work.dual, work.steps, work.anchor
    if rounded_up(work.screened[side, node, image], unit) > answer:
        return True
    everything = np.float64(dual.sizes[EVERYTHING])
    if side == QUERY:
        allow_one_image(work, node, image, np.int64(FREE), np.int64(FREE))
    else:
        allow_one_image(work, np.int64(FREE), np.int64(FREE), node, image)
    start_steps(dual, steps)
    draw_back(dual, steps, work.settled, np.float32(0))
    start_path(anchor)
    while rounded_up(everything - coupled_saving(dual, steps, work.coupling), unit) > answer:
        if anchor.path[TAKEN] >= most_steps:
            break
        advance(dual, steps, anchor, most_steps, work.splits.signals)
        if rounded_up(everything - bound_saving(work), unit) > answer:
            return True
        restart_if_due(dual, steps, anchor)
    set_anchor(dual, steps, work.settled)  # a coupling that is cheap enough, and may be so for other nodes
    return False


@part
def allow_one_image(work: CouplingWork, row: int, image: int, column: int, origin: int) -> None:
    """Let a row save at its image only, and a column only with its origin; FREE is no row or column."""
    dual = work.dual
    tails, heads = dual.column_arcs[ARC_TAIL], dual.column_arcs[ARC_HEAD]
    for i in range(dual.sizes[N_ROWS]):
        for k in range(dual.sizes[N_COLUMNS]):
            apart = (i == row and k != image) or (k == column and i != origin)
            dual.node_saving[i, k] = 0.0 if apart else work.node_saving[i, k]
    for edge in range(dual.sizes[N_ROW_EDGES]):
        tail, head = dual.arcs[TAIL, 2 * edge], dual.arcs[HEAD, 2 * edge]
        for arc in range(dual.sizes[N_COLUMN_ARCS]):
            apart = (tail == row and tails[arc] != image) or (head == row and heads[arc] != image)
            apart |= (tails[arc] == column and tail != origin) or (heads[arc] == column and head != origin)
            dual.edge_saving[edge, arc] = 0.0 if apart else work.edge_saving[edge, arc]


@part
def is_close(lower: float, upper: float, effort: Effort) -> bool:
    """Whether the bounds, in quanta, say all that is asked."""
    if effort.unit > 0.0:
        return rounded_up(lower, effort.unit) == rounded_up(upper, effort.unit)
    return upper - lower <= QUANTA * max(effort.tolerance, effort.relative * upper / QUANTA)


@part
def rounded_up(quanta: float, unit: float) -> float:
    """The least multiple of the unit that is no less, up to what rounding may have added to many costs."""
    return unit * np.ceil((quanta / QUANTA - LEAST_GAP) / unit)


@part
def bound_saving(work: CouplingWork) -> float:
    """The most that any coupling can save, by the prices of the steps."""
    split_by_prices(work.dual, work.steps, work.splits)
    weigh_blocks(work.dual, work.steps, work.splits)
    return solve_weights(work.splits, work.dual.sizes[N_COLUMNS])


@part
def price_map(work: CouplingWork, best: float) -> float:
    """What the map of the last assignment saves, or ``best`` if that is more; a better map becomes the best one."""
    dual, image = work.dual, work.splits.assignment.places[ROW_MATCH]
    sizes, arcs = dual.sizes, dual.column_arcs
    saving = 0.0
    for i in range(sizes[N_ROWS]):
        saving += dual.node_saving[i, image[i]]
    for edge in range(sizes[N_ROW_EDGES]):
        k, other = image[dual.arcs[TAIL, 2 * edge]], image[dual.arcs[HEAD, 2 * edge]]
        for slot in range(dual.lines[DEGREE_OF, k]):
            arc = dual.lines[SLOT_START, slot] + k
            if arcs[ARC_HEAD, arc] == other:
                saving += dual.edge_saving[edge, arc]
    if saving < best:
        return best
    for i in range(sizes[N_ROWS]):
        work.lines[BEST_IMAGE, i] = image[i]
    return saving


@part
def load_coupled(
    few: CoupledGraphs, a: int, many: CoupledGraphs, b: int, prices: LabelPrices, work: CouplingWork
) -> bool:
    """Lay out two graphs; False if costs are not finite or too large."""
    dual = work.dual
    sizes = dual.sizes
    sizes[N_ROWS], sizes[N_COLUMNS] = few.size[a], many.size[b]
    sizes[N_ROW_EDGES], sizes[MAY_DELETE] = few.edge_size[a], 0
    dual.unit[0] = 1.0
    list_row_arcs(few.ends[few.edge_start[a] :], dual)
    list_target_arcs(many.ends[many.edge_start[b] :], many.edge_size[b], work)
    total = place_node_savings(few, a, many, b, prices, work) + place_edge_savings(few, a, many, b, prices, work)
    if not total <= QUANTA * MOST:
        return False
    sizes[EVERYTHING] = np.int64(total)
    return True


@fragment
def list_target_arcs(ends: Shorts, n_edges: int, work: CouplingWork) -> None:
    """Sort the columns, and list every arc of the target with the arc in the other direction."""
    dual, filled = work.dual, work.lines[TAKEN_SLOTS]
    degree, arcs = dual.lines[COLUMN_OF], dual.column_arcs
    for k in range(dual.sizes[N_COLUMNS]):
        degree[k] = filled[k] = 0
    for edge in range(n_edges):
        degree[ends[edge, 0]] += 1
        degree[ends[edge, 1]] += 1
    sort_columns(dual)
    for edge in range(n_edges):
        k, other = dual.lines[COLUMN_OF, ends[edge, 0]], dual.lines[COLUMN_OF, ends[edge, 1]]
        arc, back = dual.lines[SLOT_START, filled[k]] + k, dual.lines[SLOT_START, filled[other]] + other
        filled[k] += 1
        filled[other] += 1
        arcs[ARC_TAIL, arc], arcs[ARC_HEAD, arc], arcs[ARC_CODE, arc], arcs[ARC_REVERSE, arc] = (
            k, other, 2 * edge, back
        )  # fmt: skip
        arcs[ARC_TAIL, back], arcs[ARC_HEAD, back], arcs[ARC_CODE, back], arcs[ARC_REVERSE, back] = (
            other, k, 2 * edge + 1, arc
        )  # fmt: skip


@fragment
def place_node_savings(
    few: CoupledGraphs, a: int, many: CoupledGraphs, b: int, prices: LabelPrices, work: CouplingWork
) -> float:
    """Savings of node pairs; returns the costs of deleting and inserting all of them, in quanta."""
    dual, values, turned = work.dual, work.values, work.turned
    n_rows, n_columns, width = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS], few.states.shape[1]
    total = 0.0
    for k in range(n_columns):
        node = many.start[b] + dual.lines[NODE_OF, k]
        norm = 0.0
        for c in range(width):
            turned[c, k] = many.states[node, c]
            norm += np.float64(turned[c, k]) ** 2
        loops = 1.0 if many.labels[node, 1] != 0 else 0.0
        values[OF_COLUMNS, k] = np.rint(QUANTA * (prices.node * (1.0 + loops) + np.sqrt(norm)))
        total += values[OF_COLUMNS, k]
    squares = work.squares
    for i in range(n_rows):
        node = few.start[a] + i
        norm = 0.0
        for k in range(n_columns):
            squares[k] = np.float32(0)
        for c in range(width):
            state, line = few.states[node, c], turned[c]
            norm += np.float64(state) ** 2
            for k in range(n_columns):
                gap = state - line[k]
                squares[k] += gap * gap
        label, loop = few.labels[node, 0], few.labels[node, 1]
        own = np.rint(QUANTA * (prices.node * (1.0 + (loop != 0)) + np.sqrt(norm)))
        total += own
        for k in range(n_columns):
            other = many.start[b] + dual.lines[NODE_OF, k]
            changes = np.float64(label != many.labels[other, 0]) + np.float64(loop != many.labels[other, 1])
            change = np.rint(QUANTA * (prices.node * changes + np.sqrt(np.float64(squares[k]))))
            dual.node_saving[i, k] = max(0.0, own + values[OF_COLUMNS, k] - change)
            if not change < np.inf:
                total = np.nan
    return total


@fragment
def place_edge_savings(
    few: CoupledGraphs, a: int, many: CoupledGraphs, b: int, prices: LabelPrices, work: CouplingWork
) -> float:
    """Savings of pairs of an edge and an arc; returns the costs of deleting and inserting all edges, in quanta."""
    dual, values, turned, arcs = work.dual, work.values, work.turned, work.dual.column_arcs
    n_edges, n_arcs, width = dual.sizes[N_ROW_EDGES], dual.sizes[N_COLUMN_ARCS], few.edge_states.shape[2]
    total, largest = 0.0, 0.0
    for arc in range(n_arcs):
        edge, view = many.edge_start[b] + (arcs[ARC_CODE, arc] >> 1), arcs[ARC_CODE, arc] & 1
        norm = 0.0
        for c in range(width):
            turned[c, arc] = many.edge_states[edge, view, c]
            norm += np.float64(turned[c, arc]) ** 2
        values[OF_ARCS, arc] = np.rint(QUANTA * (prices.edge * count_codes(many, edge) + np.sqrt(norm)))
        if view == 0:
            total += values[OF_ARCS, arc]
    squares = work.squares
    for edge in range(n_edges):
        own_edge = few.edge_start[a] + edge
        norm = 0.0
        for arc in range(n_arcs):
            squares[arc] = np.float32(0)
        for c in range(width):
            state, line = few.edge_states[own_edge, 0, c], turned[c]
            norm += np.float64(state) ** 2
            for arc in range(n_arcs):
                gap = state - line[arc]
                squares[arc] += gap * gap
        own = np.rint(QUANTA * (prices.edge * count_codes(few, own_edge) + np.sqrt(norm)))
        total += own
        forth, back = few.views[own_edge, 0, 0], few.views[own_edge, 0, 1]
        for arc in range(n_arcs):
            other, view = many.edge_start[b] + (arcs[ARC_CODE, arc] >> 1), arcs[ARC_CODE, arc] & 1
            changes = np.float64(forth != many.views[other, view, 0]) + np.float64(back != many.views[other, view, 1])
            change = np.rint(QUANTA * (prices.edge * changes + np.sqrt(np.float64(squares[arc]))))
            # the cost of an arc is that of its edge, whichever way it is seen, up to a quantum
            saving = max(0.0, own + values[OF_ARCS, arc] - change)
            dual.edge_saving[edge, arc] = saving
            largest = max(largest, saving)
            if not change < np.inf:
                total = np.nan
    if largest == 0.0:  # a scale for the steps where no edge can be kept
        for i in range(dual.sizes[N_ROWS]):
            for k in range(dual.sizes[N_COLUMNS]):
                largest = max(largest, dual.node_saving[i, k])
    dual.sizes[LARGEST_SAVING] = np.int64(min(largest, QUANTA * MOST))
    return total


@part
def count_codes(graphs: CoupledGraphs, edge: int) -> float:
    """How many codes an edge has."""
    return np.float64(graphs.views[edge, 0, 0] != 0) + np.float64(graphs.views[edge, 0, 1] != 0)


@part
def list_node_masses(
    few: CoupledGraphs,
    a: int,
    many: CoupledGraphs,
    b: int,
    work: CouplingWork,
    masses: Masses,
    p: int,
    at: int,
    swap: int,
) -> int:
    """All masses of nodes, and what is left of each; returns where they end."""
    dual, best, sums = work.dual, work.lines[BEST_IMAGE], work.values[SUMS]
    n_rows, n_columns = dual.sizes[N_ROWS], dual.sizes[N_COLUMNS]
    is_map = best[0] != FREE
    for k in range(n_columns):
        sums[k] = 1.0
    changes = 0.0
    for i in range(n_rows):
        row, rest = few.start[a] + i, 1.0
        for k in range(n_columns):
            mass = work.coupling.x[i, k]
            if is_map:
                mass = 1.0 if best[i] == k else 0.0
            if mass > LEAST_MASS:
                column = many.start[b] + dual.lines[NODE_OF, k]
                changes += mass * (few.labels[row, 0] != many.labels[column, 0])
                changes += mass * (few.labels[row, 1] != many.labels[column, 1])
                at = put_mass(masses.nodes, masses.node_masses, at, row, column, mass, swap)
                rest -= mass
                sums[k] -= mass
        if rest > LEAST_MASS:
            changes += rest * (1.0 + (few.labels[row, 1] != 0))
            at = put_mass(masses.nodes, masses.node_masses, at, row, FREE, rest, swap)
    for k in range(n_columns):
        if sums[k] > LEAST_MASS:
            column = many.start[b] + dual.lines[NODE_OF, k]
            changes += sums[k] * (1.0 + (many.labels[column, 1] != 0))
            at = put_mass(masses.nodes, masses.node_masses, at, FREE, column, sums[k], swap)
    masses.changes[p, 0] = changes
    return at


@part
def list_edge_masses(
    few: CoupledGraphs,
    a: int,
    many: CoupledGraphs,
    b: int,
    work: CouplingWork,
    masses: Masses,
    p: int,
    at: int,
    swap: int,
) -> int:
    """All masses of edges, and what is left of each; returns where they end."""
    dual, best, sums, arcs = work.dual, work.lines[BEST_IMAGE], work.values[SUMS], work.dual.column_arcs
    n_arcs = dual.sizes[N_COLUMN_ARCS]
    is_map = best[0] != FREE
    for arc in range(n_arcs):
        sums[arc] = 1.0  # what is left of the edges, at their first view
    changes = 0.0
    for edge in range(dual.sizes[N_ROW_EDGES]):
        own, rest = few.edge_start[a] + edge, 1.0
        tail, head = dual.arcs[TAIL, 2 * edge], dual.arcs[HEAD, 2 * edge]
        for arc in range(n_arcs):
            if is_map:
                mass = 1.0 if best[tail] == arcs[ARC_TAIL, arc] and best[head] == arcs[ARC_HEAD, arc] else 0.0
            else:
                mass = coupled_mass(dual, work.steps, work.coupling, edge, arc)
            if mass > LEAST_MASS:
                code = arcs[ARC_CODE, arc]
                other = many.edge_start[b] + (code >> 1)
                for c in range(2):
                    changes += mass * (few.views[own, 0, c] != many.views[other, code & 1, c])
                at = put_mass(masses.edges, masses.edge_masses, at, 2 * own, 2 * other + (code & 1), mass, swap)
                rest -= mass
                sums[code >> 1] -= mass
        if rest > LEAST_MASS:
            changes += rest * count_codes(few, own)
            at = put_mass(masses.edges, masses.edge_masses, at, 2 * own, FREE, rest, swap)
    for edge in range(n_arcs // 2):
        if sums[edge] > LEAST_MASS:
            other = many.edge_start[b] + edge
            changes += sums[edge] * count_codes(many, other)
            at = put_mass(masses.edges, masses.edge_masses, at, FREE, 2 * other, sums[edge], swap)
    masses.changes[p, 1] = changes
    return at


@part
def put_mass(slots: Integers, shares: Floats, at: int, row: int, column: int, mass: float, swap: int) -> int:
    """Write one mass, the graph that was named first at the left; returns the next place."""
    slots[at, swap], slots[at, 1 - swap], shares[at] = row, column, mass
    return at + 1


@part
def compare_coupled(left: CoupledGraphs, a: int, right: CoupledGraphs, b: int) -> int:
    """Negative if graph a comes before graph b, positive if after, 0 if they are identical.

    The smaller graph comes first; numbers that are not finite count as different.
    """
    if left.size[a] != right.size[b]:
        return left.size[a] - right.size[b]
    if left.edge_size[a] != right.edge_size[b]:
        return left.edge_size[a] - right.edge_size[b]
    for i in range(left.size[a]):
        row, column = left.start[a] + i, right.start[b] + i
        order = compare_lines(left.labels[row], right.labels[column])
        if order == 0:
            order = compare_lines(left.states[row], right.states[column])
        if order != 0:
            return order
    for e in range(left.edge_size[a]):
        one, other = left.edge_start[a] + e, right.edge_start[b] + e
        order = compare_lines(left.ends[one], right.ends[other])
        for view in range(2):
            if order == 0:
                order = compare_lines(left.views[one, view], right.views[other, view])
            if order == 0:
                order = compare_lines(left.edge_states[one, view], right.edge_states[other, view])
        if order != 0:
            return order
    return 0


@part
def compare_lines(line: Shorts, other: Shorts) -> int:
    """Compare two lines of numbers, in lexicographic order."""
    for c in range(len(line)):
        if line[c] != other[c]:
            return -1 if line[c] < other[c] else 1
    return 0
