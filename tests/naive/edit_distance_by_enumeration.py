"""Graph edit distance by trying every node map. Shares nothing with the package; for graphs of up to five nodes."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class PlainGraph:
    labels: list[int]
    edges: dict[tuple[int, int], int]  # (tail, head) -> label; loops allowed; undirected graphs hold tail <= head
    directed: bool

    def edge(self, u: int, v: int) -> int | None:
        key = (u, v) if self.directed else (min(u, v), max(u, v))
        return self.edges.get(key)


@dataclass(frozen=True)
class PlainCosts:
    node_substitute: list[list[int]]
    node_delete: list[int]
    node_insert: list[int]
    edge_substitute: list[list[int]]
    edge_delete: list[int]
    edge_insert: list[int]

    def edge(self, before: int | None, after: int | None) -> int:
        if before is None:
            return 0 if after is None else self.edge_insert[after]
        if after is None:
            return self.edge_delete[before]
        return min(self.edge_substitute[before][after], self.edge_delete[before] + self.edge_insert[after])


def enumerate_maps(n_first: int, n_second: int) -> Iterator[list[int | None]]:
    """All ways to give each first node a different second node or none."""

    def extend(chosen: list[int | None]) -> Iterator[list[int | None]]:
        if len(chosen) == n_first:
            yield chosen
            return
        yield from extend([*chosen, None])
        for v in range(n_second):
            if v not in chosen:
                yield from extend([*chosen, v])

    return extend([])


def cost_of_map(first: PlainGraph, second: PlainGraph, costs: PlainCosts, node_map: list[int | None]) -> int:
    """Cost of the edit path that a node map stands for."""
    total = 0
    for u, v in enumerate(node_map):
        label = first.labels[u]
        total += costs.node_delete[label] if v is None else costs.node_substitute[label][second.labels[v]]
    for v, label in enumerate(second.labels):
        if v not in node_map:
            total += costs.node_insert[label]
    image = {u: v for u, v in enumerate(node_map) if v is not None}
    covered = set()
    for (u, w), label in first.edges.items():
        after = second.edge(image[u], image[w]) if u in image and w in image else None
        if after is not None:
            covered.add((image[u], image[w]) if second.directed else tuple(sorted((image[u], image[w]))))
        total += costs.edge(label, after)
    return total + sum(costs.edge(None, label) for key, label in second.edges.items() if key not in covered)


def edit_distance(first: PlainGraph, second: PlainGraph, costs: PlainCosts) -> int:
    maps = enumerate_maps(len(first.labels), len(second.labels))
    return min(cost_of_map(first, second, costs, node_map) for node_map in maps)
