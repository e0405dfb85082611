"""Limited edit distance by trying every node map, and for every unequal edge both ways to change it."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product

from tests.naive.edit_distance_by_enumeration import PlainCosts, PlainGraph, enumerate_maps

PLACES = ("ring", "linker", "terminal")
Priced = tuple[str, int]
"""The kind of an edit, and what it costs."""


def place_of(graph: PlainGraph, edge: tuple[int, int]) -> str:
    """Where an edge lies: a ring edge can be taken out without separating its ends."""
    u, v = edge
    links = {frozenset(other) for other in graph.edges if len(set(other)) == 2}
    if u == v:
        return "ring"
    reached, waiting = {u}, [u]
    while waiting:
        here = waiting.pop()
        for link in links - {frozenset(edge)}:
            new = link - reached if here in link else frozenset[int]()
            reached |= new
            waiting += new
    if v in reached:
        return "ring"
    return "terminal" if any(sum(end in link for link in links) == 1 for end in edge) else "linker"


def ways_to_edit(
    first: PlainGraph, second: PlainGraph, costs: PlainCosts, node_map: list[int | None]
) -> Iterator[tuple[Priced, ...]]:
    """All lists of edits that a node map allows."""
    always = list[Priced]()
    for u, v in enumerate(node_map):
        if v is None:
            always.append(("nodes_deleted", costs.node_delete[first.labels[u]]))
        elif first.labels[u] != second.labels[v]:
            always.append(("nodes_relabeled", costs.node_substitute[first.labels[u]][second.labels[v]]))
    always += [
        ("nodes_inserted", costs.node_insert[label]) for v, label in enumerate(second.labels) if v not in node_map
    ]
    choices, met = list[list[tuple[Priced, ...]]](), set[tuple[int, int]]()
    for edge, label in first.edges.items():
        deletion = (f"{place_of(first, edge)}_edges_deleted", costs.edge_delete[label])
        image = tuple(node_map[end] for end in edge)
        if not first.directed and None not in image:
            image = tuple(sorted(image))
        if image not in second.edges:
            always.append(deletion)
            continue
        met.add(image)
        other = second.edges[image]
        insertion = (f"{place_of(second, image)}_edges_inserted", costs.edge_insert[other])
        if label != other:
            relabeling = ("edges_relabeled", costs.edge_substitute[label][other])
            choices.append([(relabeling,), (deletion, insertion)])
    for edge, label in second.edges.items():
        if edge not in met:
            always.append((f"{place_of(second, edge)}_edges_inserted", costs.edge_insert[label]))
    for chosen in product(*choices):
        yield (*always, *(edit for edits in chosen for edit in edits))


def count(edits: tuple[Priced, ...], kind: str) -> int:
    """How many edits are of a kind that can be limited."""
    counts = Counter(name for name, _ in edits)
    if kind == "total":
        return len(edits)
    if kind in ("element", "bond"):
        return counts["nodes_relabeled" if kind == "element" else "edges_relabeled"]
    if kind in PLACES:
        return counts[f"{kind}_edges_deleted"] + counts[f"{kind}_edges_inserted"]
    if kind in ("edges_deleted", "edges_inserted"):
        return sum(counts[f"{place}_{kind}"] for place in PLACES)
    return counts[kind]


def limited_edit_distance(first: PlainGraph, second: PlainGraph, costs: PlainCosts, limits: dict[str, int]) -> float:
    """The least cost of edits that keep the limits, infinite if there are none."""
    best = math.inf
    for node_map in enumerate_maps(len(first.labels), len(second.labels)):
        for edits in ways_to_edit(first, second, costs, node_map):
            if all(count(edits, kind) <= most for kind, most in limits.items()):
                best = min(best, sum(cost for _, cost in edits))
    return best


def keeps_limits(counts: object, limits: Mapping[str, int]) -> bool:
    """Whether there are no more edits of any kind than allowed."""
    return all(getattr(counts, kind) <= most for kind, most in limits.items())
