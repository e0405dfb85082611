"""The edge matching distance of many pairs of graphs, the shares behind it, and the alignment that follows from them.

A pair is always solved in the same orientation, as in :mod:`graphmetric.distance._kernels.matching`; between graphs
whose states are identical the neighbours decide. So the distance is symmetric to the last bit.

The distance is a linear programme. For graphs with n <= m nodes, S (n, m) says which share of node i becomes node j.
With the price p of half an edge and what is saved by not deleting i and inserting j,

    Q[i, j] = |h_i - h'_j| - (|h_i| + p deg(i)) - (|h'_j| + p deg(j)),

the distance is the price of deleting one graph and inserting the other, plus the least of <Q, S> + p |A S - S B|_1 over
S >= 0 whose rows and columns sum to at most 1. As a saddle point,

    min over S >= 0, max over |Y| <= p, u >= 0, v >= 0 of  <Q + A Y - Y B + u 1' + 1 v', S> - sum u - sum v,

it is solved by over-relaxed primal-dual steps (Chambolle and Pock 2011) with diagonal step sizes (Pock and Chambolle
2011). Any Y gives a lower bound, which is an assignment problem, and any S made feasible an upper one: steps are taken
until the two are close. The lower one is the answer, so that copies of a graph are at distance 0.

Where that takes long, primal and dual steps are balanced anew by how far either side has moved (as PDLP does:
Applegate et al. 2021), ever more rarely, so that the balance settles. Hubs whose neighbours are all alike need it.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.assignment import COLUMN_DUAL as PRICE_OF_COLUMN
from graphmetric._foundation.assignment import ROW_MATCH, AssignmentWork, allocate_assignment, assign_rows
from graphmetric._foundation.compilation import entry, hot_part, part
from graphmetric.distance._kernels.matching import (
    NOBODY,
    Floats,
    Integers,
    NodeStates,
    compare_graphs,
    row_distance,
    row_norm,
)

OVER_RELAXATION = 1.6
BALANCE = 2.0
"""The ratio of primal and dual step sizes at first, in units of the mean price of a node."""
REBALANCE = 400
"""Steps before the balance is changed for the first time; then whenever their number has doubled."""
STILL = 1e-18
"""The squared way of a side that does not move any more."""

# Fields of RelaxationWork.tables, each with one row per node of the smaller graph
SAVING, SHARE, AHEAD, TENSION, SHARE_BEFORE, TENSION_BEFORE = range(6)
# Fields of RelaxationWork.vectors
ROW_PRICE, COLUMN_PRICE, ROW_DUAL, COLUMN_DUAL, ROW_BEFORE, COLUMN_BEFORE, SUM = range(7)
INVERSE = 7  # INVERSE[k] = 1 / k, for sums of degrees


class LinkedStates(NamedTuple):
    """Nodes and the numbers, within their graph, of the neighbours of each; -1 fills up."""

    nodes: NodeStates
    links: NDArray[Any]


class Effort(NamedTuple):
    """When to stop."""

    steps: int
    """The most steps, unless the next limit is higher."""
    steps_per_node: int
    """The most steps for each node of the larger graph."""
    tolerance: float
    """The gap between the bounds at which to stop; 0 to take all steps."""
    relative: float
    """The same as a share of the upper bound; the larger of the two counts."""
    look: int
    """Steps between two looks at the bounds."""


class RelaxationWork(NamedTuple):
    """Room for one pair at a time."""

    tables: Floats
    vectors: Floats
    degrees: Integers
    assignment: AssignmentWork


def allocate_relaxation(largest: int) -> RelaxationWork:
    """Make room for graphs of up to ``largest`` nodes."""
    most_ends = largest + 1  # of edges at one node: a loop has two
    vectors = np.zeros((8, 2 * most_ends + 3))
    vectors[INVERSE, 1:] = 1 / np.arange(1, vectors.shape[1])
    degrees = np.zeros((2, largest), dtype=np.int64)
    return RelaxationWork(np.zeros((6, largest, largest)), vectors, degrees, allocate_assignment(largest))


@part
def solve_pair(
    few: LinkedStates, a: int, many: LinkedStates, b: int, half_price: float, effort: Effort, work: RelaxationWork
) -> tuple[float, float]:
    """A lower bound of the distance, and how far the bounds are apart if there were too few steps for the tolerance.

    ``work`` holds feasible shares afterwards. States that are not finite give NaN.
    """
    n, m = few.nodes.size[a], many.nodes.size[b]
    whole = set_up(few, a, many, b, half_price, work)
    if n == 0 or whole == 0 or not np.isfinite(whole):
        return (whole if np.isfinite(whole) else np.nan), 0.0
    balance = BALANCE * whole / (n + m)
    links = few.links[few.nodes.start[a] :], many.links[many.nodes.start[b] :]
    # Y is still 0: from the start the bound is at least the matching of states
    lower = max(0.0, whole + bound_below(n, m, links[0], links[1], half_price, work))
    limit = max(effort.steps, effort.steps_per_node * m)
    done, turn = 0, REBALANCE
    left_open = 0.0
    while done < limit:
        now = min(effort.look, limit - done)
        for _ in range(now):
            move_shares(n, m, links[0], links[1], balance, work)
            move_duals(n, m, links[0], links[1], balance, half_price, work)
        done += now
        lower = max(lower, whole + bound_below(n, m, links[0], links[1], half_price, work))
        if done < limit or effort.tolerance > 0:
            make_feasible(n, m, work, AHEAD)
            upper = whole + bound_above(n, m, links[0], links[1], half_price, work, AHEAD)
            left_open = upper - lower
            if left_open <= max(effort.tolerance, effort.relative * upper):
                left_open = 0.0
                break
            if done >= turn:
                balance, turn = rebalance(n, m, balance, work), 2 * done
    make_feasible(n, m, work, SHARE)
    return lower, left_open


@part
def set_up(few: LinkedStates, a: int, many: LinkedStates, b: int, half_price: float, work: RelaxationWork) -> float:
    """Savings, prices and zero shares; returns the price of deleting one graph and inserting the other."""
    n, m = few.nodes.size[a], many.nodes.size[b]
    whole = price_nodes(few, a, half_price, work.degrees[0], work.vectors[ROW_PRICE])
    whole += price_nodes(many, b, half_price, work.degrees[1], work.vectors[COLUMN_PRICE])
    total = 0.0
    for i in range(n):
        work.vectors[ROW_DUAL, i] = work.vectors[ROW_BEFORE, i] = 0.0
        for j in range(m):
            cost = row_distance(few.nodes, few.nodes.start[a] + i, many.nodes, many.nodes.start[b] + j)
            total += cost
            work.tables[SAVING, i, j] = cost - work.vectors[ROW_PRICE, i] - work.vectors[COLUMN_PRICE, j]
            work.tables[SHARE, i, j] = work.tables[TENSION, i, j] = 0.0
            work.tables[SHARE_BEFORE, i, j] = work.tables[TENSION_BEFORE, i, j] = 0.0
    for j in range(m):
        work.vectors[COLUMN_DUAL, j] = work.vectors[COLUMN_BEFORE, j] = 0.0
    return whole if np.isfinite(total) else np.nan


@part
def price_nodes(graphs: LinkedStates, graph: int, half_price: float, degrees: Integers, prices: Floats) -> float:
    """What each node costs to delete, with its half of every edge; returns the sum."""
    total = 0.0
    for i in range(graphs.nodes.size[graph]):
        row = graphs.nodes.start[graph] + i
        degree = 0
        while degree < graphs.links.shape[1] and graphs.links[row, degree] != NOBODY:
            degree += 1
        degrees[i] = degree
        prices[i] = row_norm(graphs.nodes, row) + half_price * degree
        total += prices[i]
    return total


@hot_part
def spread(i: int, j: int, near: NDArray[Any], far: NDArray[Any], degrees: Integers, values: Floats) -> float:
    """(A X - X B)[i, j]."""
    total = 0.0
    for k in range(degrees[0, i]):
        total += values[near[i, k], j]
    for k in range(degrees[1, j]):
        total -= values[i, far[j, k]]
    return total


@part
def move_shares(n: int, m: int, near: NDArray[Any], far: NDArray[Any], balance: float, work: RelaxationWork) -> None:
    """The primal step, and the point ahead of it that the dual step looks at."""
    share, ahead, tension, saving = (
        work.tables[SHARE], work.tables[AHEAD], work.tables[TENSION], work.tables[SAVING],
    )  # fmt: skip
    inverse, column_dual, degrees = work.vectors[INVERSE], work.vectors[COLUMN_DUAL], work.degrees
    rate = 1.0 / balance
    for i in range(n):
        own = work.vectors[ROW_DUAL, i]
        for j in range(m):
            slope = saving[i, j] + own + column_dual[j] + spread(i, j, near, far, degrees, tension)
            step = rate * inverse[degrees[0, i] + degrees[1, j] + 2]
            moved = max(0.0, share[i, j] - step * slope)
            ahead[i, j] = 2 * moved - share[i, j]
            share[i, j] += OVER_RELAXATION * (moved - share[i, j])


@part
def move_duals(
    n: int, m: int, near: NDArray[Any], far: NDArray[Any], balance: float, half_price: float, work: RelaxationWork
) -> None:
    """The dual step."""
    ahead, tension = work.tables[AHEAD], work.tables[TENSION]
    row_dual, column_dual, sums, inverse = (
        work.vectors[ROW_DUAL], work.vectors[COLUMN_DUAL], work.vectors[SUM], work.vectors[INVERSE],
    )  # fmt: skip
    for j in range(m):
        sums[j] = 0.0
    for i in range(n):
        row_sum = 0.0
        for j in range(m):
            row_sum += ahead[i, j]
            sums[j] += ahead[i, j]
            degree = work.degrees[0, i] + work.degrees[1, j]
            if degree > 0:
                raised = tension[i, j] + balance * inverse[degree] * spread(i, j, near, far, work.degrees, ahead)
                moved = min(half_price, max(-half_price, raised))
                tension[i, j] += OVER_RELAXATION * (moved - tension[i, j])
        row_dual[i] += OVER_RELAXATION * (max(0.0, row_dual[i] + balance / m * (row_sum - 1)) - row_dual[i])
    for j in range(m):
        column_dual[j] += OVER_RELAXATION * (max(0.0, column_dual[j] + balance / n * (sums[j] - 1)) - column_dual[j])


@part
def rebalance(n: int, m: int, balance: float, work: RelaxationWork) -> float:
    """Half way, on a logarithmic scale, to where both sides would have gone equally far since the last time."""
    tables, vectors = work.tables, work.vectors
    primal = dual = 0.0
    for i in range(n):
        dual += m * (vectors[ROW_DUAL, i] - vectors[ROW_BEFORE, i]) ** 2
        vectors[ROW_BEFORE, i] = vectors[ROW_DUAL, i]
        for j in range(m):
            degree = work.degrees[0, i] + work.degrees[1, j]
            primal += (degree + 2) * (tables[SHARE, i, j] - tables[SHARE_BEFORE, i, j]) ** 2
            dual += degree * (tables[TENSION, i, j] - tables[TENSION_BEFORE, i, j]) ** 2
            tables[SHARE_BEFORE, i, j] = tables[SHARE, i, j]
            tables[TENSION_BEFORE, i, j] = tables[TENSION, i, j]
    for j in range(m):
        dual += n * (vectors[COLUMN_DUAL, j] - vectors[COLUMN_BEFORE, j]) ** 2
        vectors[COLUMN_BEFORE, j] = vectors[COLUMN_DUAL, j]
    return np.sqrt(balance * np.sqrt(dual / primal)) if min(primal, dual) > STILL else balance


@part
def bound_below(
    n: int, m: int, near: NDArray[Any], far: NDArray[Any], half_price: float, work: RelaxationWork
) -> float:
    """The least of <Q + A Y - Y B, S>: an assignment, which may contain pairs that save nothing."""
    allowed, saving, weight = work.tables[AHEAD], work.tables[SAVING], work.assignment.weight
    for i in range(n):
        for j in range(m):  # over-relaxed steps may have gone too far
            allowed[i, j] = min(half_price, max(-half_price, work.tables[TENSION, i, j]))
    for i in range(n):
        for j in range(m):
            weight[i, j] = -min(0.0, saving[i, j] + spread(i, j, near, far, work.degrees, allowed))
    assign(n, m, work)
    total = 0.0
    for i in range(n):
        total -= weight[i, work.assignment.places[ROW_MATCH, i]]
    return total


@part
def assign(n: int, m: int, work: RelaxationWork) -> None:
    for j in range(m):
        work.assignment.values[PRICE_OF_COLUMN, j] = 0.0
    assign_rows(n, m, work.assignment)


@part
def make_feasible(n: int, m: int, work: RelaxationWork, table: int) -> None:
    """Put the shares into a table, none of them negative, with rows and columns that sum to at most 1."""
    share = work.tables[table]
    for i in range(n):
        total = 0.0
        for j in range(m):
            share[i, j] = max(0.0, work.tables[SHARE, i, j])
            total += share[i, j]
        if total > 1:
            for j in range(m):
                share[i, j] /= total
    for j in range(m):
        total = 0.0
        for i in range(n):
            total += share[i, j]
        if total > 1:
            for i in range(n):
                share[i, j] /= total


@part
def bound_above(
    n: int, m: int, near: NDArray[Any], far: NDArray[Any], half_price: float, work: RelaxationWork, table: int
) -> float:
    """<Q, S> + p |A S - S B|_1 of the shares in a table."""
    total = 0.0
    for i in range(n):
        for j in range(m):
            total += work.tables[SAVING, i, j] * work.tables[table, i, j]
            total += half_price * abs(spread(i, j, near, far, work.degrees, work.tables[table]))
    return total


@entry
def bound_pairs(
    left: LinkedStates,
    right: LinkedStates,
    pairs: Integers,
    half_price: float,
    effort: Effort,
    work: RelaxationWork,
    out: Floats,
    left_open: Floats,
) -> None:
    """The lower bound of each pair of graphs (left, right); and how far it may be off if the steps did not suffice."""
    for p in range(len(pairs)):
        a, b = pairs[p, 0], pairs[p, 1]
        order = compare_linked(left, a, right, b)
        out[p] = left_open[p] = 0.0
        if order < 0:
            out[p], left_open[p] = solve_pair(left, a, right, b, half_price, effort, work)
        elif order > 0:
            out[p], left_open[p] = solve_pair(right, b, left, a, half_price, effort, work)


@entry
def share_pairs(
    left: LinkedStates,
    right: LinkedStates,
    pairs: Integers,
    half_price: float,
    effort: Effort,
    work: RelaxationWork,
    slot_start: Integers,
    slots: Integers,
    shares: Floats,
    edges: Floats,
    out: Floats,
) -> None:
    """Lower bounds, and what they consist of: shares of rows of both sides, NOBODY for none, and of edges.

    Pair p fills n m + n + m slots from ``slot_start[p]`` on, most of them with a share of 0.
    """
    for p in range(len(pairs)):
        a, b = pairs[p, 0], pairs[p, 1]
        order = compare_linked(left, a, right, b)
        own, parts = slots[slot_start[p] :], shares[slot_start[p] :]
        out[p] = edges[p] = 0.0
        if order < 0:
            out[p], _ = solve_pair(left, a, right, b, half_price, effort, work)
            edges[p] = list_shares(left, a, right, b, work, own, parts)
        elif order > 0:
            out[p], _ = solve_pair(right, b, left, a, half_price, effort, work)
            edges[p] = list_shares(right, b, left, a, work, own[:, ::-1], parts)
        else:
            match_equals(left.nodes, a, right.nodes, b, own, parts)


@entry
def align_pair(
    left: LinkedStates,
    right: LinkedStates,
    half_price: float,
    effort: Effort,
    work: RelaxationWork,
    partner: Integers,
) -> None:
    """The bijection with the largest shares: for each node of the first graph one of the second, or NOBODY."""
    n = left.nodes.size[0]
    order = compare_linked(left, 0, right, 0)
    if order == 0:
        for i in range(n):
            partner[i] = i
        return
    few, many = (left, right) if order < 0 else (right, left)
    solve_pair(few, 0, many, 0, half_price, effort, work)
    rows, columns = few.nodes.size[0], many.nodes.size[0]
    for i in range(rows):
        for j in range(columns):
            work.assignment.weight[i, j] = work.tables[SHARE, i, j]
    assign(rows, columns, work)
    for i in range(n):
        partner[i] = NOBODY
    for i in range(rows):
        j = work.assignment.places[ROW_MATCH, i]
        if order < 0:
            partner[i] = j
        else:
            partner[j] = i


@part
def compare_linked(left: LinkedStates, a: int, right: LinkedStates, b: int) -> int:
    """Negative if graph a comes before graph b, positive if after, 0 if states and neighbours are identical."""
    order = compare_graphs(left.nodes, a, right.nodes, b)
    if order != 0:
        return order
    for k in range(left.nodes.size[a]):
        i, j = left.nodes.start[a] + k, right.nodes.start[b] + k
        for c in range(max(left.links.shape[1], right.links.shape[1])):
            one = left.links[i, c] if c < left.links.shape[1] else NOBODY
            other = right.links[j, c] if c < right.links.shape[1] else NOBODY
            if one != other:
                return -1 if one < other else 1
    return 0


@part
def list_shares(
    few: LinkedStates, a: int, many: LinkedStates, b: int, work: RelaxationWork, slots: Integers, shares: Floats
) -> float:
    """All pairs of nodes with their shares, then what is left of each node; returns what is paid for edges."""
    n, m = few.nodes.size[a], many.nodes.size[b]
    first, second = few.nodes.start[a], many.nodes.start[b]
    near, far, share = few.links[first:], many.links[second:], work.tables[SHARE]
    paid = 0.0
    at = 0
    for j in range(m):
        work.vectors[SUM, j] = 1.0
    for i in range(n):
        left_over = 1.0
        for j in range(m):
            slots[at, 0], slots[at, 1], shares[at] = first + i, second + j, share[i, j]
            at += 1
            left_over -= share[i, j]
            work.vectors[SUM, j] -= share[i, j]
            paid += abs(spread(i, j, near, far, work.degrees, share))
        slots[at, 0], slots[at, 1], shares[at] = first + i, NOBODY, max(0.0, left_over)
        at += 1
        paid += work.degrees[0, i] * left_over
    for j in range(m):
        slots[at, 0], slots[at, 1], shares[at] = NOBODY, second + j, max(0.0, work.vectors[SUM, j])
        at += 1
        paid += work.degrees[1, j] * work.vectors[SUM, j]
    return paid / 2


@part
def match_equals(left: NodeStates, a: int, right: NodeStates, b: int, slots: Integers, shares: Floats) -> None:
    """Every node with the equal node of the other graph."""
    n = left.size[a]
    for k in range(n * n + 2 * n):
        slots[k, 0], slots[k, 1] = left.start[a] + k % max(1, n), right.start[b] + k % max(1, n)
        shares[k] = 1.0 if k < n else 0.0
