"""What one query knows of the graphs of an index, and the nearest of them so far.

A graph has a lower bound of its distance, which only rises, and an upper bound once a map to it was found. Graphs are
compared by distance / weight, with which every view of the distance rises. Isomorphic graphs are looked at once and
count as often as they occur. The last of the nearest sets the limit: a graph whose distance is not below it cannot be
one of them any more.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.compilation import entry, part
from graphmetric.edit_distance._kernels.packing import Integers

Floats = NDArray[np.float64]

# Values of Known.stage: what the bounds of a graph rest on
BY_COUNTS, BY_BRANCHES, BY_SEARCH = range(3)
# Fields of Nearest.status
SIZE, WANTED = range(2)


class Known(NamedTuple):
    """One entry for each graph; distances are raw ones."""

    lower: Floats
    upper: Floats  # infinite where no map is known
    weight: Floats
    copies: Integers
    stage: Integers

    @staticmethod
    def begin(lower: Floats, weight: Floats, copies: Integers) -> "Known":
        """Nothing but lower bounds, which are written to, is known."""
        stage = np.full(len(lower), BY_COUNTS, dtype=np.int64)
        return Known(lower, np.full(len(lower), np.inf), weight, copies, stage)


class Nearest(NamedTuple):
    """Graphs by rising distance, no more of them than have together as many copies as are wanted."""

    graphs: Integers  # one more place than graphs are wanted
    maps: Integers  # (place, node of the query): node of the graph, -1 for a deleted one
    limit: Floats  # one entry, distance / weight; infinite while there are too few
    status: Integers


def expect_nearest(wanted: int, nodes: int) -> Nearest:
    """Room for so many graphs, and maps of a query with so many nodes."""
    graphs, maps = np.zeros(wanted + 1, dtype=np.int64), np.full((wanted + 1, nodes), -1, dtype=np.int64)
    return Nearest(graphs, maps, np.array([np.inf]), np.array([0, wanted], dtype=np.int64))


@entry
def admit_maps(known: Known, nearest: Nearest, graphs: Integers, upper: Floats, maps: Integers) -> None:
    """Take over maps that were found elsewhere, with their costs, where they are better than what is known."""
    for k in range(len(graphs)):
        graph = graphs[k]
        if upper[k] < known.upper[graph]:
            known.upper[graph] = upper[k]
            if upper[k] < nearest.limit[0] * known.weight[graph]:
                place = admit(known, nearest, graph)
                for u in range(nearest.maps.shape[1]):
                    nearest.maps[place, u] = maps[k, u]


@part
def admit(known: Known, nearest: Nearest, graph: int) -> int:
    """Make a graph whose upper bound is below the limit one of the nearest; returns its place, for its map."""
    withdraw(nearest, graph)
    place = nearest.status[SIZE]
    while place > 0 and rate(known, graph) < rate(known, nearest.graphs[place - 1]):
        move(nearest, place - 1, place)
        place -= 1
    nearest.graphs[place] = graph
    nearest.status[SIZE] += 1
    drop_last(known, nearest)
    return place


@part
def rate(known: Known, graph: int) -> float:
    """What graphs are ordered by."""
    return known.upper[graph] / known.weight[graph]


@part
def withdraw(nearest: Nearest, graph: int) -> None:
    """Take a graph out, if it is one of the nearest."""
    kept = 0
    for place in range(nearest.status[SIZE]):
        if nearest.graphs[place] != graph:
            if kept < place:
                move(nearest, place, kept)
            kept += 1
    nearest.status[SIZE] = kept


@part
def move(nearest: Nearest, source: int, place: int) -> None:
    """Copy a graph with its map to another place."""
    nearest.graphs[place] = nearest.graphs[source]
    for u in range(nearest.maps.shape[1]):
        nearest.maps[place, u] = nearest.maps[source, u]


@part
def drop_last(known: Known, nearest: Nearest) -> None:
    """Drop what is behind as many copies as are wanted; the limit is that of the last one kept."""
    copies = 0
    for place in range(nearest.status[SIZE]):
        copies += known.copies[nearest.graphs[place]]
        if copies >= nearest.status[WANTED]:
            nearest.status[SIZE] = place + 1
            nearest.limit[0] = rate(known, nearest.graphs[place])
            return
