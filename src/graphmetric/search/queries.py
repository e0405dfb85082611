"""What people ask with: graphs of any form, SMILES, ids of the index; one or several; with conditions on metadata."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
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


def matches(condition: Condition, metadata: list[dict[str, Any]]) -> NDArray[np.bool_]:
    """Which graphs meet the condition."""
    if not callable(condition) and not isinstance(condition, Mapping):
        raise InvalidArgument(f"where takes a mapping of metadata or a function of it; got {condition!r}")
    holds = condition if callable(condition) else _equals(condition)
    return np.fromiter((bool(holds(facts)) for facts in metadata), dtype=bool, count=len(metadata))


def _equals(wanted: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], bool]:
    missing = object()
    return lambda facts: all(facts.get(key, missing) == value for key, value in wanted.items())
