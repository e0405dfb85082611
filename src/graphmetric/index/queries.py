"""What people ask with: graphs of any form, SMILES, ids of the index; one or several; with conditions on metadata."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from graphmetric.distance import View
from graphmetric.edit_distance import EditCosts
from graphmetric.edit_distance.registry import TimeLimit
from graphmetric.errors import InvalidArgument
from graphmetric.graphs.collection import GraphCollection

Condition = Mapping[str, Any] | Callable[[Mapping[str, Any]], bool]
"""Values that the metadata must have, or a function of the metadata."""


class SearchOptions(TypedDict, total=False):
    """Keywords of :meth:`graphmetric.GraphIndex.search`, which says what they are."""

    view: View
    certified: bool
    exact: bool | None
    candidates: int | None
    where: Condition | None
    distinct: bool
    time_limit: TimeLimit
    costs: EditCosts | None


def is_several(query: Any) -> bool:
    """Whether this is a list of queries; a tuple (edges, labels) or a matrix is one graph."""
    return isinstance(query, list | GraphCollection | Iterator)


def is_id(query: Any) -> bool:
    """Whether this may be an id; a string that is none is a SMILES."""
    return isinstance(query, str | int | np.integer) and not isinstance(query, bool)


def check_condition(condition: Condition, metadata: Iterable[Mapping[str, Any]]) -> None:
    """Raise where a condition is none, or names a key that no graph has."""
    if callable(condition):
        return
    if not isinstance(condition, Mapping):
        raise InvalidArgument(f"where takes a mapping of metadata or a function of it; got {condition!r}")
    known = dict.fromkeys(key for facts in metadata for key in facts)
    if unknown := [key for key in condition if key not in known]:
        there = f"the keys are: {_some(known)}" if known else "its graphs have no metadata"
        raise InvalidArgument(f"no graph of the index has metadata {', '.join(map(repr, unknown))}; {there}")


def refuse_unknown(query: Any, ids: Iterable[Hashable], reason: str = "") -> InvalidArgument:
    """The error for a query that is neither the id of a graph nor anything else that is known."""
    example = next(iter(ids), None)
    such = "the index is empty" if example is None else f"its first id is {example!r}"
    return InvalidArgument(f"the index has no graph {query!r} ({such}){reason}")


def _some(names: Iterable[object], most: int = 8) -> str:
    shown = [repr(name) for name in islice(names, most + 1)]
    return ", ".join([*shown[:most], "..."] if len(shown) > most else shown)


def matches(condition: Condition, metadata: list[dict[str, Any]]) -> NDArray[np.bool_]:
    """Which graphs meet the condition."""
    holds = condition if callable(condition) else _equals(condition)
    return np.fromiter((bool(holds(facts)) for facts in metadata), dtype=bool, count=len(metadata))


def _equals(wanted: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], bool]:
    missing = object()
    return lambda facts: all(facts.get(key, missing) == value for key, value in wanted.items())
