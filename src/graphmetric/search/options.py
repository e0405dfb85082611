"""The keywords of searches, in Python and over HTTP: one record that checks them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Self, TypedDict, get_args

import numpy as np

from graphmetric._foundation.options import checked_count, checked_number
from graphmetric.edit_distance import EditCosts
from graphmetric.edit_distance.limited import check_limits
from graphmetric.edit_distance.method import TimeLimit
from graphmetric.edit_distance.normalize import View
from graphmetric.errors import InvalidArgument
from graphmetric.index.graphs import Condition
from graphmetric.search.hits import SearchProgress

EXACT_UP_TO = 100_000
"""The largest index whose learned searches are exact by default."""
CANDIDATES = 300
"""The number of graphs that an approximate search evaluates by default."""
CERTIFIED_SECONDS = 60.0
"""The automatic time limit of each query of a certified search."""


class RemoteKeywords(TypedDict, total=False):
    """The keywords of searches over HTTP, which :class:`RangeOptions` explains."""

    view: View
    certified: bool | None
    where: Condition | None
    distinct: bool
    time_limit: TimeLimit
    limits: Mapping[str, int] | None
    callback: Callable[[SearchProgress], object] | None


class RangeKeywords(RemoteKeywords, total=False):
    """The keywords of :meth:`graphmetric.GraphIndex.range_search`, which :class:`RangeOptions` explains."""

    costs: EditCosts | None
    n_jobs: int | None


class SearchKeywords(RangeKeywords, total=False):
    """The keywords of :meth:`graphmetric.GraphIndex.search`, which :class:`SearchOptions` explains."""

    exhaustive: bool | None
    num_candidates: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RangeOptions:
    """The options of a search for all graphs within a distance."""

    view: View = "raw"
    """The scale of the distances, by which graphs are ranked: "raw", "steinhaus" or "paper"."""
    certified: bool | None = None
    """By edit distance, with proofs, instead of by the learned distance. None: only if the index has no model."""
    where: Condition | None = None
    """Only graphs with this metadata: a mapping of values, or a function of the metadata."""
    distinct: bool = False
    """Only the first of isomorphic graphs."""
    time_limit: TimeLimit = "auto"
    """Seconds for each query of a certified search, which then reports what it has proven. "auto" is 60 seconds, or the
    limit of the service; None is no limit."""
    costs: EditCosts | None = None
    """Edit costs of a certified search; by default those of the index."""
    limits: Mapping[str, int] | None = None
    """The maximum number of edits of each kind that a hit of a certified search may need, such as ``{"ring": 0,
    "element": 2}``, by the kinds of :func:`graphmetric.graph_edit_distance`. Distances are then the least costs of
    edits within these limits. Graphs to which no such edits lead are not listed, so the result may be shorter."""
    n_jobs: int | None = -1
    """Threads for the queries of a certified search; -1 is one per core. A query is searched by one."""
    callback: Callable[[SearchProgress], object] | None = None
    """A function that a certified search calls about ten times a second, from its thread, with a
    :class:`~graphmetric.search.hits.SearchProgress`: the numbers of graphs found, excluded and undecided, and the hits
    so far. The search of that query ends if it returns True."""

    @property
    def seconds(self) -> float:
        """The time limit of each query."""
        if self.time_limit is None:
            return np.inf
        return CERTIFIED_SECONDS if self.time_limit == "auto" else self.time_limit

    def with_costs(self, costs: EditCosts) -> Self:
        """Return the options with these edit costs unless they name others."""
        return replace(self, costs=costs) if self.costs is None else self

    def __post_init__(self) -> None:
        if self.view not in get_args(View):
            raise InvalidArgument(f"no view {self.view!r}; there are: {', '.join(get_args(View))}")
        if self.limits is not None:
            object.__setattr__(self, "limits", check_limits(self.limits) or None)
        if self.costs is not None and not isinstance(self.costs, EditCosts):
            raise InvalidArgument(f"costs must be graphmetric.EditCosts; got {self.costs!r}")
        if self.view == "steinhaus" and self.costs is not None and not self.costs.is_unit:
            raise InvalidArgument("the Steinhaus view of edit distances is for unit costs; use view='raw' with others")
        if self.time_limit not in (None, "auto"):
            checked_number(self.time_limit, "time_limit", "a number of seconds, or None")
        if self.callback is not None and not callable(self.callback):
            raise InvalidArgument(f"callback must be a function of the progress of a search; got {self.callback!r}")


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchOptions(RangeOptions):
    """The options of a search for the nearest graphs."""

    exhaustive: bool | None = None
    """Find what evaluating every graph would find, in a learned search. None: if the index has at most
    :data:`EXACT_UP_TO` graphs and ``num_candidates`` is not given."""
    num_candidates: int | None = None
    """The number of graphs that an approximate search evaluates."""

    def limit_candidates(self, k: int, size: int) -> int | None:
        """Return how many graphs of an index of this size a learned search evaluates; None for an exhaustive one."""
        if self.num_candidates is not None and checked_count(self.num_candidates, "num_candidates") < k:
            raise InvalidArgument(f"num_candidates must be at least k = {k}; got {self.num_candidates}")
        if self.exhaustive and self.num_candidates is not None:
            raise InvalidArgument("an exhaustive search evaluates as many graphs as needed: omit num_candidates")
        if self.exhaustive or (self.exhaustive is None and self.num_candidates is None and size <= EXACT_UP_TO):
            return None
        return max(k, CANDIDATES) if self.num_candidates is None else self.num_candidates
