"""Colour refinement of an ordered partition, with a trace of what happened and a way back.

Everything here depends on the numbering of nodes only through the order inside a cell, so that the partitions and
traces of isomorphic graphs agree.

A partition is one array with the rows below (a tuple of a dozen arrays takes numba ten times as long to compile). A
cell is a run of the row AT and is named by the position where it starts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import counted_part
from graphmetric.graphs._kernels.adjacency import Rows
from graphmetric.graphs._kernels.mixing import add_product, mix, scramble, sort_by_key

AT = 0
"""position -> node"""
PLACE = 1
"""node -> position"""
CELL = 2
"""node -> start of its cell"""
LENGTH = 3
"""start of a cell -> its length"""
SEEN = 4
"""node -> sum of weights towards the cell in hand; 0 between steps"""
HITS = 5
"""start of a cell -> how many of its last nodes touch the cell in hand; 0 between steps"""
QUEUE = 6
"""ring of cells that have yet to split others"""
QUEUED = 7
"""start of a cell -> whether it is in the queue"""
CUT, CUT_FROM = 8, 9
"""undo stack: start of a new cell, and of the cell it was cut from"""
MEMBERS, TOUCHED = 10, 11
"""the nodes of the cell in hand; the cells they touch"""
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
