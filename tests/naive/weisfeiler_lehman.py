"""Weisfeiler-Lehman colours as strings that spell out the whole surrounding of a node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

Edge = tuple[int, int, Any]
"""From, to, what the edge carries."""


def colour_strings(tags: Sequence[Any], edges: Sequence[Edge], directed: bool, rounds: int) -> list[list[str]]:
    """One list per round, 0 first; equal strings mean equal colours, in whichever graphs."""
    colours = [[repr(tag) for tag in tags]]
    for _ in range(rounds):
        last = colours[-1]
        around: list[list[str]] = [[] for _ in tags]
        for u, v, carried in edges:
            around[u].append(f"<{'out' if directed else 'und'} {carried!r} {last[v]}>")
            if directed or u != v:
                around[v].append(f"<{'in' if directed else 'und'} {carried!r} {last[u]}>")
        colours.append([f"({own}|{''.join(sorted(seen))})" for own, seen in zip(last, around, strict=True)])
    return colours
