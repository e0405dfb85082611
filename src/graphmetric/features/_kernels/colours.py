"""Colour refinement with colours that mean the same in every graph, and the table that numbers them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import counted_entry, counted_part
from graphmetric._foundation.mixing import mix, scramble
from graphmetric.features._kernels.neighbours import Arcs

_OWN = 0x5EED


@counted_entry
def refine_colours(
    arcs: Arcs, node_key: NDArray[np.int64], edge_key: NDArray[np.int64], rounds: int
) -> NDArray[np.int64]:
    """(rounds + 1, nodes) colours: row 0 from the keys, each further one from a node's own and its neighbours'."""
    colours = np.empty((rounds + 1, len(node_key)), np.int64)
    for v in range(len(node_key)):
        colours[0, v] = scramble(node_key[v])
    for r in range(rounds):
        for v in range(len(node_key)):
            around = np.int64(0)
            for a in range(arcs.ptr[v], arcs.ptr[v + 1]):
                seen = mix(mix(scramble(arcs.direction[a]), edge_key[arcs.edge[a]]), colours[r, arcs.node[a]])
                around += scramble(seen)  # a sum, so that the order of neighbours does not count
            colours[r + 1, v] = scramble(mix(mix(_OWN, colours[r, v]), around))
    return colours


class CodeTable(NamedTuple):
    """Open addressing: colour -> code. The number of slots is a power of two; code -1 marks a free one."""

    colour: NDArray[np.int64]
    code: NDArray[np.int32]


@counted_entry
def build_table(colours: NDArray[np.int64], codes: NDArray[np.int32], slots: int) -> CodeTable:
    """A table of distinct colours; ``slots`` is a power of two above their number."""
    table = CodeTable(np.zeros(slots, np.int64), np.full(slots, -1, np.int32))
    for i in range(len(colours)):
        slot = _find(table, colours[i])
        table.colour[slot], table.code[slot] = colours[i], codes[i]
    return table


@counted_entry
def read_codes(table: CodeTable, colours: NDArray[np.int64], codes: NDArray[np.int32]) -> None:
    """Overwrite the codes of all known colours."""
    for i in range(len(colours)):
        code = table.code[_find(table, colours[i])]
        if code >= 0:
            codes[i] = code


@counted_part
def _find(table: CodeTable, colour: int) -> int:
    """The slot of the colour, or the free one where it would go."""
    last = len(table.colour) - 1
    slot = colour & last
    while table.code[slot] >= 0 and table.colour[slot] != colour:
        slot = (slot + 1) & last
    return slot
