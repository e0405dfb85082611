"""The nearest of some graphs that stand for several copies each, by sorting all of them."""

from __future__ import annotations


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
