"""Maximum common induced subgraph by partition refinement (McCreesh, Prosser and Trimble 2017, "McSplit").

Unmapped nodes of both graphs are in classes: two nodes are in one class when they have the same code and the same
edges to all mapped nodes, under the map. Only nodes of one class may be mapped to each other, so a map can grow by at
most the sum over classes of the smaller side. Mapping v to w splits every class by the edge codes to v and to w.

For a connected subgraph the next pair must be adjacent to a mapped one; the bound counts all classes even so.
Induced means that edges between mapped nodes agree in both directions, code for code; node codes must be equal.
Sides of a class are sections of two arrays, permuted in place: deeper levels only permute inside.
"""

from typing import NamedTuple

import numpy as np

from graphmetric._foundation.compilation import entry, fragment, part
from graphmetric.edit_distance._kernels.packing import Integers, PackedGraphs, fill_adjacency, integers
from graphmetric.edit_distance._kernels.workspace import N_SIGNALS, STOP

# First index of CommonWork.nodes, .adjacency
LEFT, RIGHT = np.int64(0), np.int64(1)
BEYOND = 1 << 40  # above every node number and every size
# Fields of CommonWork.classes
LEFT_START, LEFT_SIZE, RIGHT_START, RIGHT_SIZE, IS_ADJACENT = range(5)
# Fields of CommonWork.levels
N_CLASSES, CHOSEN, NODE, LAST_IMAGE = range(4)
# First index of CommonWork.maps
CURRENT, BEST = range(2)


class CommonLimits(NamedTuple):
    """What to look for, and for how long."""

    connected: int  # 1: the common subgraph must be connected
    max_expanded: int  # pairs of nodes to try for each pair of graphs


class CommonResults(NamedTuple):
    """One row for each pair; ``node_map`` gives the node of the second graph for every node of the first, or -1."""

    size: Integers
    finished: Integers  # 1: proven to be the largest
    node_map: Integers


class CommonWork(NamedTuple):
    """Working memory for the largest graph; depth is the number of mapped nodes."""

    nodes: Integers  # (left or right, position)
    adjacency: Integers  # (left or right, node, node): edge codes
    classes: Integers  # (depth, class, field)
    levels: Integers  # (depth, field)
    maps: Integers  # (current or best, left node): right node, or -1
    signals: Integers  # as in `TreeProgress`: once STOP is set, the largest map so far is given


def allocate_common(largest: int, signals: Integers | None = None) -> CommonWork:
    """Make room; another thread stops the search by ``signals``."""
    n = largest + 1

    heard = integers(N_SIGNALS) if signals is None else signals
    return CommonWork(
        integers(2, n), integers(2, n, n), integers(n + 1, n, 5), integers(n + 1, 4), integers(2, n), heard
    )


@entry
def find_common_subgraphs(
    first: PackedGraphs,
    second: PackedGraphs,
    edge_reverse: Integers,
    pairs: Integers,
    limits: CommonLimits,
    work: CommonWork,
    results: CommonResults,
) -> None:
    """Largest common induced subgraphs for rows (i, j) of ``pairs``."""
    for p in range(len(pairs)):
        i, j = pairs[p, 0], pairs[p, 1]
        fill_adjacency(first, i, edge_reverse, work.adjacency, LEFT)
        fill_adjacency(second, j, edge_reverse, work.adjacency, RIGHT)
        n_left = first.node_start[i + 1] - first.node_start[i]
        for u in range(n_left):
            work.maps[CURRENT, u] = -1
            work.maps[BEST, u] = -1
        class_by_code(first, second, i, j, work)
        results.size[p] = grow_maps(work, len(edge_reverse), n_left, limits, results.finished, p)
        for u in range(results.node_map.shape[1]):
            results.node_map[p, u] = work.maps[BEST, u] if u < n_left else -1


@part
def class_by_code(first: PackedGraphs, second: PackedGraphs, i: int, j: int, work: CommonWork) -> None:
    """Classes before anything is mapped: nodes of one code that occurs in both graphs."""
    nodes, classes = work.nodes, work.classes
    n_left = order_by_code(first, i, nodes, LEFT)
    n_right = order_by_code(second, j, nodes, RIGHT)
    left_node, right_node = first.node_start[i], second.node_start[j]
    n_classes, left, right = 0, 0, 0
    while left < n_left and right < n_right:
        code, other = first.node_code[left_node + nodes[LEFT, left]], second.node_code[right_node + nodes[RIGHT, right]]
        smaller = min(code, other)
        left_end, right_end = left, right
        while left_end < n_left and first.node_code[left_node + nodes[LEFT, left_end]] == smaller:
            left_end += 1
        while right_end < n_right and second.node_code[second.node_start[j] + nodes[RIGHT, right_end]] == min(
            code, other
        ):
            right_end += 1
        if code == other:
            add_class(classes, 0, n_classes, left, left_end - left, right, right_end - right, 0)
            n_classes += 1
        left, right = left_end, right_end
    work.levels[0, N_CLASSES] = n_classes
    work.levels[0, NODE] = -1


@fragment
def order_by_code(graphs: PackedGraphs, graph: int, nodes: Integers, side: int) -> int:
    """Nodes of a graph by code (insertion sort); returns their number."""
    start = graphs.node_start[graph]
    n_nodes = graphs.node_start[graph + 1] - start
    for u in range(n_nodes):
        place = u
        while place > 0 and graphs.node_code[start + nodes[side, place - 1]] > graphs.node_code[start + u]:
            nodes[side, place] = nodes[side, place - 1]
            place -= 1
        nodes[side, place] = u
    return n_nodes


@fragment
def add_class(
    classes: Integers,
    depth: int,
    index: int,
    left_start: int,
    left_size: int,
    right_start: int,
    right_size: int,
    is_adjacent: int,
) -> None:
    """Write one class."""
    classes[depth, index, LEFT_START] = left_start
    classes[depth, index, LEFT_SIZE] = left_size
    classes[depth, index, RIGHT_START] = right_start
    classes[depth, index, RIGHT_SIZE] = right_size
    classes[depth, index, IS_ADJACENT] = is_adjacent


@part
def grow_maps(work: CommonWork, n_codes: int, n_left: int, limits: CommonLimits, finished: Integers, p: int) -> int:
    """Depth-first search; returns the size of the largest map, which is in ``maps[BEST]``."""
    levels, maps = work.levels, work.maps
    depth, best, expanded = 0, 0, 0
    finished[p] = 1
    while depth >= 0:
        if levels[depth, NODE] < 0 and not choose_node(work, depth, best, limits.connected):
            depth -= 1
            continue
        v = levels[depth, NODE]
        w = take_next_image(work, depth)
        if w < 0:
            leave_unmapped(work, depth)
            continue
        if expanded == limits.max_expanded or work.signals[STOP] > 0:
            finished[p] = 0
            break
        expanded += 1
        maps[CURRENT, v] = w
        split_classes(work, depth, n_codes, v, w)
        depth += 1
        if depth > best:
            best = depth
            for u in range(n_left):
                maps[BEST, u] = maps[CURRENT, u]
    return best


@fragment
def choose_node(work: CommonWork, depth: int, best: int, connected: int) -> bool:
    """Take a node from the class whose larger side is smallest; False if no larger map is left."""
    classes, nodes = work.classes, work.nodes
    bound, chosen, smallest = depth, -1, BEYOND
    for k in range(work.levels[depth, N_CLASSES]):
        left, right = classes[depth, k, LEFT_SIZE], classes[depth, k, RIGHT_SIZE]
        bound += min(left, right)
        if max(left, right) < smallest and (connected == 0 or depth == 0 or classes[depth, k, IS_ADJACENT] == 1):
            smallest, chosen = max(left, right), k
    if bound <= best or chosen < 0:
        return False
    start, last = classes[depth, chosen, LEFT_START], classes[depth, chosen, LEFT_SIZE] - 1
    nodes[LEFT, start], nodes[LEFT, start + last] = nodes[LEFT, start + last], nodes[LEFT, start]
    classes[depth, chosen, LEFT_SIZE] = last
    classes[depth, chosen, RIGHT_SIZE] -= 1  # the image, while the node is being tried
    work.levels[depth, CHOSEN] = chosen
    work.levels[depth, NODE] = nodes[LEFT, start + last]
    work.levels[depth, LAST_IMAGE] = -1
    return True


@fragment
def take_next_image(work: CommonWork, depth: int) -> int:
    """Move the next image of the chosen node, by number, behind the right side of its class; -1 when all were tried."""
    nodes, chosen, last = work.nodes, work.levels[depth, CHOSEN], work.levels[depth, LAST_IMAGE]
    start = work.classes[depth, chosen, RIGHT_START]
    end = start + work.classes[depth, chosen, RIGHT_SIZE]
    place, image = -1, BEYOND
    for k in range(start, end + 1):
        if last < nodes[RIGHT, k] < image:
            place, image = k, nodes[RIGHT, k]
    if place < 0:
        return -1
    nodes[RIGHT, place], nodes[RIGHT, end] = nodes[RIGHT, end], nodes[RIGHT, place]
    work.levels[depth, LAST_IMAGE] = image
    return image


@fragment
def leave_unmapped(work: CommonWork, depth: int) -> None:
    """All images of the chosen node were tried: continue without it."""
    classes, levels, chosen = work.classes, work.levels, work.levels[depth, CHOSEN]
    work.maps[CURRENT, levels[depth, NODE]] = -1
    levels[depth, NODE] = -1
    classes[depth, chosen, RIGHT_SIZE] += 1
    if classes[depth, chosen, LEFT_SIZE] == 0:
        levels[depth, N_CLASSES] -= 1
        for field in range(5):
            classes[depth, chosen, field] = classes[depth, levels[depth, N_CLASSES], field]


@part
def split_classes(work: CommonWork, depth: int, n_codes: int, v: int, w: int) -> None:
    """Classes of the next depth: v is mapped to w."""
    classes = work.classes
    n_classes = 0
    for k in range(work.levels[depth, N_CLASSES]):
        left, right = classes[depth, k, LEFT_START], classes[depth, k, RIGHT_START]
        left_end, right_end = left + classes[depth, k, LEFT_SIZE], right + classes[depth, k, RIGHT_SIZE]
        for code in range(n_codes):
            if left == left_end or right == right_end:
                break
            left_cut = gather_code(work, LEFT, v, code, left, left_end)
            right_cut = gather_code(work, RIGHT, w, code, right, right_end)
            if left_cut > left and right_cut > right:
                adjacent = 1 if code > 0 else classes[depth, k, IS_ADJACENT]
                add_class(classes, depth + 1, n_classes, left, left_cut - left, right, right_cut - right, adjacent)
                n_classes += 1
            left, right = left_cut, right_cut
    work.levels[depth + 1, N_CLASSES] = n_classes
    work.levels[depth + 1, NODE] = -1


@fragment
def gather_code(work: CommonWork, side: int, node: int, code: int, start: int, end: int) -> int:
    """Move the nodes with that edge code to ``node`` to the front of a section; returns where they end."""
    nodes = work.nodes
    cut = start
    for k in range(start, end):
        if work.adjacency[side, node, nodes[side, k]] == code:
            nodes[side, k], nodes[side, cut] = nodes[side, cut], nodes[side, k]
            cut += 1
    return cut
