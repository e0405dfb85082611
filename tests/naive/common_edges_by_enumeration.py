"""The largest common edge subgraph by trying every node map. Shares nothing with the package; for up to five nodes."""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class PlainGraph:
    labels: list[Hashable]
    edges: dict[tuple[int, int], Hashable]  # (tail, head) -> label; loops allowed; undirected edges in one direction
    directed: bool

    def edge(self, u: int, v: int) -> tuple[int, int] | None:
        """The edge from u to v as the graph holds it."""
        if (u, v) in self.edges:
            return u, v
        return (v, u) if (v, u) in self.edges and not self.directed else None


def equal_label_maps(first: list[Hashable], second: list[Hashable]) -> Iterator[dict[int, int]]:
    """All ways to give some nodes a node of the same label, each a different one."""

    def extend(u: int, chosen: dict[int, int]) -> Iterator[dict[int, int]]:
        if u == len(first):
            yield chosen
            return
        yield from extend(u + 1, chosen)
        for v, label in enumerate(second):
            if label == first[u] and v not in chosen.values():
                yield from extend(u + 1, {**chosen, u: v})

    return extend(0, {})


def largest_shared_weight(
    first: PlainGraph, second: PlainGraph, shared: Callable[[Hashable, Hashable], float]
) -> float:
    """The most that edges have in common under one map, where ``shared`` says what two edges have in common."""
    best = 0.0
    for chosen in equal_label_maps(first.labels, second.labels):
        total = 0.0
        for (u, v), label in first.edges.items():
            image = second.edge(chosen[u], chosen[v]) if u in chosen and v in chosen else None
            if image is not None:
                total += shared(label, second.edges[image])
        best = max(best, total)
    return best
