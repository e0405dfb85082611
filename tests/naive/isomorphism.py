"""Canonical form by trying every numbering; imports nothing from the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any


def smallest_numbering(
    node_keys: Sequence[Any], edge_keys: Mapping[tuple[int, int], Any], directed: bool
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The smallest (node keys, sorted edges with their keys) over all numberings of the nodes.

    Two graphs are isomorphic exactly when these are equal. Keys must be sortable.
    """
    return min(
        _renumbered(node_keys, edge_keys, directed, numbering) for numbering in permutations(range(len(node_keys)))
    )


def _renumbered(
    node_keys: Sequence[Any], edge_keys: Mapping[tuple[int, int], Any], directed: bool, numbering: Sequence[int]
) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    nodes = [None] * len(numbering)
    for old, new in enumerate(numbering):
        nodes[new] = node_keys[old]
    edges = []
    for (u, v), key in edge_keys.items():
        ends = (numbering[u], numbering[v])
        edges.append((ends if directed else tuple(sorted(ends)), key))
    return tuple(nodes), tuple(sorted(edges))
