"""The edge matching distance of many pairs of graphs, what it is made of, and the alignment that follows from it.

A pair is always solved in the same orientation, as in :mod:`graphmetric.distance._kernels.matching`; between graphs
whose states are identical the neighbours decide. So the distance is symmetric to the last bit.
"""

from graphmetric.compiling import entry, part
from graphmetric.distance._kernels.assignment import ROW_MATCH, Floats, Integers
from graphmetric.distance._kernels.matching import NOBODY, NodeStates, compare_graphs
from graphmetric.distance._kernels.relaxation import (
    SHARE,
    SUM,
    Effort,
    LinkedStates,
    RelaxationWork,
    assign,
    solve_pair,
    spread,
)


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
    """Lower bounds, and what they are made of: shares of rows of both sides, NOBODY for none, and of edges.

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
            work.assignment.cost[i, j] = -work.tables[SHARE, i, j]
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
    """All pairs of nodes with their shares, then what is left of each node; returns what is paid of edges."""
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
    """Every node with its own likeness."""
    n = left.size[a]
    for k in range(n * n + 2 * n):
        slots[k, 0], slots[k, 1] = left.start[a] + k % max(1, n), right.start[b] + k % max(1, n)
        shares[k] = 1.0 if k < n else 0.0
