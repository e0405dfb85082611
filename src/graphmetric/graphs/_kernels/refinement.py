"""What the search for a canonical order stands on: rows of neighbours, twins, and colour refinement.

**Rows** see both directions of every edge at once. **Twins** are nodes that can be swapped without changing the graph.
Cliques, stars and empty graphs have factorially many symmetries of this kind, so the search keeps one node of each
class of twins.

**Refinement** splits the cells of an ordered partition, with a trace of what happened and a way back. It depends on the
numbering of nodes only through the order inside a cell, so that the partitions and traces of isomorphic graphs agree.
A partition is one array with the rows listed below (a tuple of a dozen arrays takes numba ten times as long to
compile). A cell is a run of the row AT and is named by the position where it starts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import counted_part
from graphmetric._foundation.mixing import add_product, mix, scramble

_FORWARD, _BACKWARD = 0x56E8FEB86659FD93, 0x20761D6478BD642F


class EdgeColours(NamedTuple):
    """Edge attributes as ranks; rank order is the order of the attributes' keys, whatever else is in the batch."""

    rank: NDArray[np.int64]
    """One per edge row."""
    weight: NDArray[np.int64]
    """``weight[1 + rank]`` is a hash of the attributes themselves; ``weight[0]`` is 0, for "no edge"."""


class Rows(NamedTuple):
    """The neighbours of node v are ``neighbour[ptr[v]:ptr[v + 1]]``, ascending, without v itself.

    ``relation`` orders and tells apart how v and the neighbour are joined (forward colour, then backward colour; an
    undirected edge runs both ways). ``weight`` hashes the same: two relations may share a weight, which costs
    the refinement some strength but no correctness.
    """

    ptr: NDArray[np.int64]
    neighbour: NDArray[np.int64]
    relation: NDArray[np.int64]
    weight: NDArray[np.int64]


@counted_part
def build_rows(
    num_nodes: int, edges: NDArray[np.int32], colours: EdgeColours, directed: bool
) -> tuple[Rows, NDArray[np.int64]]:
    """Rows of one graph with sorted edges, and for each node 1 + the rank of its self-loop (0: none)."""
    out_ptr, in_ptr = point_to_runs(edges[:, 0], num_nodes), point_to_runs(edges[:, 1], num_nodes)
    in_edge = sort_into_runs(np.arange(len(edges)), edges[:, 1], in_ptr)
    base = len(colours.weight)
    ptr = np.empty(num_nodes + 1, np.int64)
    neighbour = np.empty(2 * len(edges), np.int64)
    relation = np.empty(2 * len(edges), np.int64)
    weight = np.empty(2 * len(edges), np.int64)
    loop = np.zeros(num_nodes, np.int64)
    end = 0
    for v in range(num_nodes):
        ptr[v] = end
        i, j = in_ptr[v], out_ptr[v]
        while i < in_ptr[v + 1] or j < out_ptr[v + 1]:
            source = edges[in_edge[i], 0] if i < in_ptr[v + 1] else num_nodes
            target = edges[j, 1] if j < out_ptr[v + 1] else num_nodes
            other = min(source, target)
            forward, backward = 0, 0
            if target == other:
                forward = 1 + colours.rank[j]
                j += 1
            if source == other:
                backward = 1 + colours.rank[in_edge[i]]
                i += 1
            if other == v:
                loop[v] = forward
                continue
            if not directed:
                forward = backward = max(forward, backward)
            neighbour[end] = other
            relation[end] = forward * base + backward
            ahead = add_product(0, colours.weight[forward], _FORWARD)
            weight[end] = add_product(ahead, colours.weight[backward], _BACKWARD)
            end += 1
    ptr[num_nodes] = end
    return Rows(ptr, neighbour[:end], relation[:end], weight[:end]), loop


@counted_part
def point_to_runs(keys: NDArray[np.integer], num_keys: int) -> NDArray[np.int64]:
    """Where the run of each key starts once the keys are sorted, and where the last run ends."""
    ptr = np.zeros(num_keys + 1, np.int64)
    for key in keys:
        ptr[key + 1] += 1
    for k in range(num_keys):
        ptr[k + 1] += ptr[k]
    return ptr


@counted_part
def sort_into_runs(items: NDArray[np.int64], keys: NDArray[np.integer], ptr: NDArray[np.int64]) -> NDArray[np.int64]:
    """Items by ascending key, equal keys in the given order; ``ptr`` points to the runs of the keys."""
    end = ptr.copy()
    ordered = np.empty(len(items), np.int64)
    for item in items:
        ordered[end[keys[item]]] = item
        end[keys[item]] += 1
    return ordered


class Twins(NamedTuple):
    """Classes of twins; the first node of each class is kept and stands for all."""

    first: NDArray[np.int64]
    """node -> first node of its class"""
    joined_by: NDArray[np.int64]
    """node -> the relation between the members of its class; 0 where they are not adjacent"""
    copies: NDArray[np.int64]
    """kept node -> size of its class"""
    new_number: NDArray[np.int64]
    """kept node -> its place in ``kept``; -1 for all other nodes"""
    kept: NDArray[np.int64]


@counted_part
def find_twins(rows: Rows, colour: NDArray[np.int64], base: int) -> Twins:
    """Hashes of rows propose twins; every pair is checked entry by entry. ``base`` is the radix of relations."""
    num_nodes = len(colour)
    digest = np.zeros(num_nodes, np.int64)
    first = np.arange(num_nodes)
    joined_by = np.zeros(num_nodes, np.int64)
    for v in range(num_nodes):
        for k in range(rows.ptr[v], rows.ptr[v + 1]):
            digest[v] = add_product(digest[v], scramble(rows.neighbour[k]), rows.weight[k] | 1)
    _join_separate_twins(rows, colour, digest, first)
    _join_adjacent_twins(rows, colour, digest, base, first, joined_by)
    copies = np.zeros(num_nodes, np.int64)
    for v in range(num_nodes):
        copies[first[v]] += 1
    kept = np.flatnonzero(copies)
    new_number = np.full(num_nodes, -1)
    new_number[kept] = np.arange(len(kept))
    return Twins(first, joined_by, copies, new_number, kept)


@counted_part
def _join_separate_twins(
    rows: Rows, colour: NDArray[np.int64], digest: NDArray[np.int64], first: NDArray[np.int64]
) -> None:
    """Classes of nodes with equal rows, found through a hash table with open addressing."""
    num_nodes = len(colour)
    size = 4
    while size < 2 * num_nodes:
        size *= 2
    table = np.zeros(size, np.int64)  # 1 + node
    for v in range(num_nodes):
        slot = (digest[v] >> 32) & (size - 1)
        while table[slot] > 0:
            u = table[slot] - 1
            if digest[u] == digest[v] and colour[u] == colour[v] and _equal_rows(rows, u, v, False):
                first[v] = u
                break
            slot = (slot + 1) & (size - 1)
        if first[v] == v:
            table[slot] = v + 1


@counted_part
def _join_adjacent_twins(
    rows: Rows,
    colour: NDArray[np.int64],
    digest: NDArray[np.int64],
    base: int,
    first: NDArray[np.int64],
    joined_by: NDArray[np.int64],
) -> None:
    """Classes of pairwise joined nodes whose rows are equal apart from each other."""
    for u in range(len(colour)):
        if first[u] != u:
            continue
        for k in range(rows.ptr[u], rows.ptr[u + 1]):
            v = rows.neighbour[k]
            if v < u or first[v] != v or colour[u] != colour[v]:
                continue
            if rows.relation[k] // base != rows.relation[k] % base:
                continue
            weight = rows.weight[k] | 1
            if add_product(digest[u], scramble(u), weight) != add_product(digest[v], scramble(v), weight):
                continue
            if _equal_rows(rows, u, v, True):
                first[v] = u
                joined_by[u] = rows.relation[k]
                joined_by[v] = rows.relation[k]


@counted_part
def _equal_rows(rows: Rows, u: int, v: int, joined: bool) -> bool:
    """Whether two rows are the same; where ``joined``, u and v are left out of them."""
    i, j = rows.ptr[u], rows.ptr[v]
    end_i, end_j = rows.ptr[u + 1], rows.ptr[v + 1]
    if end_i - i != end_j - j:
        return False
    while True:
        if joined and i < end_i and rows.neighbour[i] == v:
            i += 1
        if joined and j < end_j and rows.neighbour[j] == u:
            j += 1
        if i == end_i or j == end_j:
            return bool(i == end_i and j == end_j)
        if rows.neighbour[i] != rows.neighbour[j] or rows.relation[i] != rows.relation[j]:
            return False
        i += 1
        j += 1


@counted_part
def drop_twins(rows: Rows, twins: Twins) -> Rows:
    """Rows of the graph on the kept nodes, in their new numbers."""
    if len(twins.kept) == len(twins.first):
        return rows
    ptr = np.zeros(len(twins.kept) + 1, np.int64)
    neighbour = np.empty(len(rows.neighbour), np.int64)
    relation = np.empty(len(rows.neighbour), np.int64)
    weight = np.empty(len(rows.neighbour), np.int64)
    end = 0
    for i in range(len(twins.kept)):
        node = twins.kept[i]
        for k in range(rows.ptr[node], rows.ptr[node + 1]):
            number = twins.new_number[rows.neighbour[k]]
            if number >= 0:
                neighbour[end] = number
                relation[end] = rows.relation[k]
                weight[end] = rows.weight[k]
                end += 1
        ptr[i + 1] = end
    return Rows(ptr, neighbour[:end], relation[:end], weight[:end])


@counted_part
def spread_twins(at: NDArray[np.int64], twins: Twins, order: NDArray[np.int64]) -> None:
    """Fill in the order of all nodes, each beside its twins, from the order ``at`` of the kept ones."""
    position = np.empty(len(order), np.int64)
    begin = 0
    for i in range(len(twins.kept)):
        node = twins.kept[at[i]]
        position[node] = begin
        begin += twins.copies[node]
    for v in range(len(order)):
        order[position[twins.first[v]]] = v
        position[twins.first[v]] += 1


AT = 0
"""position -> node"""
PLACE = 1
"""node -> position"""
CELL = 2
"""node -> start of its cell"""
LENGTH = 3
"""start of a cell -> its length"""
SEEN = 4
"""node -> sum of weights towards the current cell; 0 between steps"""
HITS = 5
"""start of a cell -> how many of its last nodes touch the current cell; 0 between steps"""
QUEUE = 6
"""ring of cells that have yet to split others"""
QUEUED = 7
"""start of a cell -> whether it is in the queue"""
CUT, CUT_FROM = 8, 9
"""undo stack: start of a new cell, and of the cell it was cut from"""
MEMBERS, TOUCHED = 10, 11
"""the nodes of the current cell; the cells they touch"""
SELF = 12
"""position -> itself"""
COUNT = 13
"""the counters below"""
_NUM_ROWS = 14

CELLS, CUTS, HEAD, TAIL, WORK = 0, 1, 2, 3, 4
"""Counters: cells, height of the undo stack, ends of the queue, array entries read."""
_NUM_COUNTERS = 5


@counted_part
def new_partition(order: NDArray[np.int64], starts: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Cells are runs of ``order``; ``starts[p]`` says that one begins at position p. All are queued."""
    n = len(order)
    part = np.zeros((_NUM_ROWS, max(n + 1, _NUM_COUNTERS)), np.int64)
    start = 0
    for p in range(n):
        if starts[p]:
            start = p
            part[COUNT, CELLS] += 1
            _enqueue(part, p)
        part[AT, p] = order[p]
        part[PLACE, order[p]] = p
        part[CELL, order[p]] = start
        part[LENGTH, start] += 1
        part[SELF, p] = p
    return part


@counted_part
def refine(rows: Rows, part: NDArray[np.int64]) -> np.int64:
    """Split cells until nodes of a cell agree on their neighbours in every cell; returns the trace."""
    trace = np.int64(0)
    while can_refine(part, len(rows.ptr) - 1):
        trace = mix(trace, refine_step(rows, part))
    clear_queue(part)
    return trace


@counted_part
def can_refine(part: NDArray[np.int64], num_nodes: int) -> bool:
    """Whether some cell is queued and some cell can be split."""
    return part[COUNT, HEAD] != part[COUNT, TAIL] and part[COUNT, CELLS] < num_nodes


@counted_part
def refine_step(rows: Rows, part: NDArray[np.int64]) -> np.int64:
    """Split all cells by what their nodes see of the first cell in the queue; returns the trace of this step."""
    start = _dequeue(part)
    touched, arcs = _scan(rows, part, start)
    trace = mix(start, arcs)
    sort_by_key(part[TOUCHED], part[SELF], 0, touched)
    for i in range(touched):
        trace = mix(trace, _split(part, part[TOUCHED, i]))
    return trace


@counted_part
def clear_queue(part: NDArray[np.int64]) -> None:
    while part[COUNT, HEAD] != part[COUNT, TAIL]:
        _dequeue(part)


@counted_part
def individualise(part: NDArray[np.int64], node: int) -> None:
    """Cut one node off its cell, to the right, and queue it."""
    start = part[CELL, node]
    last = start + part[LENGTH, start] - 1
    _swap(part, node, last)
    part[LENGTH, start] -= 1
    _open_cell(part, last, 1, start)
    _enqueue(part, last)


@counted_part
def undo_cuts(part: NDArray[np.int64], height: int) -> None:
    """Join cells again until the undo stack is as high as it was."""
    while part[COUNT, CUTS] > height:
        part[COUNT, CUTS] -= 1
        part[COUNT, CELLS] -= 1
        start, parent = part[CUT, part[COUNT, CUTS]], part[CUT_FROM, part[COUNT, CUTS]]
        for p in range(start, start + part[LENGTH, start]):
            part[CELL, part[AT, p]] = parent
        part[LENGTH, parent] += part[LENGTH, start]


@counted_part
def _scan(rows: Rows, part: NDArray[np.int64], start: int) -> tuple[int, np.int64]:
    """Sum up what each node sees of the cell ``start``; move such nodes to the right end of their cells.

    Returns how many cells are TOUCHED (single nodes are left out: they cannot be split) and a hash of all relations.
    """
    size = part[LENGTH, start]
    for i in range(size):
        part[MEMBERS, i] = part[AT, start + i]
    touched, arcs = 0, np.int64(0)
    for i in range(size):
        v = part[MEMBERS, i]
        part[COUNT, WORK] += 1 + rows.ptr[v + 1] - rows.ptr[v]
        for k in range(rows.ptr[v], rows.ptr[v + 1]):
            u = rows.neighbour[k]
            cell = part[CELL, u]
            arcs = add_product(arcs, rows.weight[k], scramble(cell))
            if part[LENGTH, cell] == 1:
                continue
            border = cell + part[LENGTH, cell] - part[HITS, cell]
            if part[PLACE, u] < border:
                if part[HITS, cell] == 0:
                    part[TOUCHED, touched] = cell
                    touched += 1
                part[HITS, cell] += 1
                _swap(part, u, border - 1)
            part[SEEN, u] = add_product(part[SEEN, u], rows.weight[k], 1)
    return touched, arcs


@counted_part
def _split(part: NDArray[np.int64], cell: int) -> np.int64:
    """Cut a touched cell into runs of equal SEEN, untouched nodes first, and queue the new cells; returns a trace."""
    end = cell + part[LENGTH, cell]
    begin = end - part[HITS, cell]
    part[HITS, cell] = 0
    sort_by_key(part[AT], part[SEEN], begin, end)
    trace = np.int64(0)
    last = cell
    for p in range(begin, end):
        node = part[AT, p]
        seen = part[SEEN, node]
        part[PLACE, node] = p
        part[SEEN, node] = 0
        if p + 1 < end and part[SEEN, part[AT, p + 1]] == seen:
            continue
        trace = mix(mix(trace, begin), seen)
        if begin > cell:
            part[LENGTH, last] = begin - last
            _open_cell(part, begin, p + 1 - begin, cell)
            last = begin
        begin = p + 1
    part[LENGTH, last] = end - last
    if last > cell:
        _enqueue_fragments(part, cell, end)
    return trace


@counted_part
def _enqueue_fragments(part: NDArray[np.int64], cell: int, end: int) -> None:
    """Queue all fragments of a cell but the largest; its effect follows from theirs and from that of the whole."""
    spared = cell
    if not part[QUEUED, cell]:
        p = cell
        while p < end:
            if part[LENGTH, p] > part[LENGTH, spared]:
                spared = p
            p += part[LENGTH, p]
    p = cell
    while p < end:
        if p != spared and not part[QUEUED, p]:
            _enqueue(part, p)
        p += part[LENGTH, p]


@counted_part
def _enqueue(part: NDArray[np.int64], start: int) -> None:
    tail = part[COUNT, TAIL]
    part[QUEUE, tail] = start
    part[COUNT, TAIL] = tail + 1 if tail + 1 < part.shape[1] else 0
    part[QUEUED, start] = 1


@counted_part
def _dequeue(part: NDArray[np.int64]) -> int:
    head = part[COUNT, HEAD]
    part[COUNT, HEAD] = head + 1 if head + 1 < part.shape[1] else 0
    start = part[QUEUE, head]
    part[QUEUED, start] = 0
    return start


@counted_part
def _open_cell(part: NDArray[np.int64], start: int, length: int, parent: int) -> None:
    part[LENGTH, start] = length
    for p in range(start, start + length):
        part[CELL, part[AT, p]] = start
    part[CUT, part[COUNT, CUTS]] = start
    part[CUT_FROM, part[COUNT, CUTS]] = parent
    part[COUNT, CUTS] += 1
    part[COUNT, CELLS] += 1


@counted_part
def _swap(part: NDArray[np.int64], node: int, position: int) -> None:
    other, here = part[AT, position], part[PLACE, node]
    part[AT, here] = other
    part[PLACE, other] = here
    part[AT, position] = node
    part[PLACE, node] = position


@counted_part
def sort_by_key(items: NDArray[np.int64], keys: NDArray[np.int64], begin: int, end: int) -> None:
    """Sort ``items[begin:end]`` by ``keys[item]`` in place (shell sort: most runs here are short or sorted)."""
    gap = 1
    while gap < (end - begin) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(begin + gap, end):
            item = items[i]
            key = keys[item]
            j = i - gap
            while j >= begin and keys[items[j]] > key:
                items[j + gap] = items[j]
                j -= gap
            items[j + gap] = item
        gap //= 3
