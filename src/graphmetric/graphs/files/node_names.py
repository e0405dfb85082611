"""The names by which files refer to nodes: kept in the metadata where they say more than a number."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from graphmetric.graphs.conversion.attributes import NODE_NAMES
from graphmetric.graphs.graph import Graph


def only_number(names: Sequence[Hashable]) -> bool:
    """Whether names just count the nodes, like 0, 1, 2 or n0, n1, n2 or _1, _2, _3."""
    if names == list(range(len(names))) and {int}.issuperset(map(type, names)):
        return True
    first = re.fullmatch("([^0-9]{0,8})([01])", str(names[0])) if names else None
    if first is None:
        return not names
    prefix, start = first[1], int(first[2])
    return all(str(name) == f"{prefix}{number}" for number, name in enumerate(names, start))


def with_names(metadata: Mapping[str, Any] | None, names: Sequence[Hashable]) -> dict[str, Any]:
    """Metadata with the names of the nodes, if these are worth keeping."""
    return dict(metadata or {}) | ({} if only_number(names) else {NODE_NAMES: tuple(names)})


def names_to_write(graph: Graph, kinds: tuple[type, ...]) -> list[Any] | None:
    """Names that can stand in a file for the nodes: distinct, of these types, and found again when read."""
    names = graph.metadata.get(NODE_NAMES)
    if not isinstance(names, list | tuple) or len(names) != graph.num_nodes or only_number(names):
        return None
    fits = all(type(name) in kinds for name in names) and len(set(names)) == len(names)
    return list(names) if fits else None


def without_names(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata without the names of the nodes."""
    return {key: value for key, value in metadata.items() if key != NODE_NAMES}
