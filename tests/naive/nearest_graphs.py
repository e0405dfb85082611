"""The nearest of some graphs that stand for several copies each, by sorting all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def nearest_copies(distances: list[float], copies: list[int], wanted: int) -> list[float]:
    """The smallest distances, each as often as its graph has copies."""
    return sorted(d for d, count in zip(distances, copies, strict=True) for _ in range(count))[:wanted]


def limit_after(offers: list[tuple[int, float]], weights: list[float], copies: list[int], wanted: int) -> float:
    """The last of the wanted distances / weights once all offers (graph, distance) are known; inf if they are few."""
    best: dict[int, float] = {}
    for graph, distance in offers:
        best[graph] = min(distance, best.get(graph, float("inf")))
    graphs = list(best)
    nearest = nearest_copies([best[g] / weights[g] for g in graphs], [copies[g] for g in graphs], wanted)
    return nearest[-1] if len(nearest) == wanted else float("inf")


def nearest_by_scan(
    classes: Iterable[int], distances: Mapping[int, float], allowed: Iterable[bool], k: int, distinct: bool = False
) -> list[int]:
    """Positions of the nearest graphs, each of which has the distance of its class; equally near ones by position."""
    seen: set[int] = set()
    found = []
    for position, (number, may) in enumerate(zip(classes, allowed, strict=True)):
        if may and not (distinct and number in seen):
            seen.add(number)
            found.append((distances[number], position))
    return [position for _, position in sorted(found)[:k]]
