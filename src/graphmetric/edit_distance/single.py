"""The edit distance of two graphs: its bounds, and the edits that attain the upper one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from graphmetric._foundation.limits import clock
from graphmetric._foundation.progress import progress
from graphmetric.edit_distance.costs import EditCosts
from graphmetric.edit_distance.edit_path import Edge, EditPath, NodeMap, edit_path_of
from graphmetric.edit_distance.encoding import encode
from graphmetric.edit_distance.limited import LimitedAnswer, LimitedSearch
from graphmetric.edit_distance.method import SECONDS, Answers, EditDistanceMethod, TimeLimit, as_method
from graphmetric.edit_distance.methods import ExactSearch
from graphmetric.edit_distance.scaling import TOLERANCE
from graphmetric.edit_distance.stopping import Watch, work_in_threads
from graphmetric.errors import InvalidArgument, SearchInterrupted
from graphmetric.formats.conversion import as_graph
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph

_PAIR = np.zeros((1, 2), dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class EditDistance:
    """Bounds of the edit distance from ``first`` to ``second``, and a node map that attains the upper one."""

    first: Graph
    second: Graph
    costs: EditCosts
    method: str
    """The name of the method that computed it."""
    lower: float
    """The distance is at least this; 0 where the method gives no lower bound, infinite where no edits that the costs
    allow lead from one graph to the other."""
    upper: float
    """The distance is at most this; infinite where the method gives no upper bound or found no allowed edits."""
    value: float
    """The method's own answer: one of the bounds, or an estimate that is neither."""
    node_map: NodeMap | None
    """For each node of ``first`` the node of ``second`` it becomes, None if it is deleted; None if no map is known."""
    nodes_expanded: int
    """Nodes of the search tree, or steps of an iteration; 0 for methods that do neither."""
    seconds: float
    """Wall-clock time, compilation not counted."""
    limits: Mapping[str, int] | None = None
    """The most edits of each kind, if they were limited. The distance is then that of edits that keep the limits."""
    replaced: frozenset[Edge] | None = None
    """Edges of ``first`` that are deleted and inserted anew though the map has another edge for them, because limits
    ask for it; None without limits."""
    tolerance: float = 0.0
    """The share of ``upper`` by which the distance may be smaller though it is ``exact``: 0 where all costs are
    multiples of one unit, 1e-9 where they had to be rounded."""
    note: str | None = None
    """Why the method could not do what it is meant to do, such as a time limit; None if it did."""

    @property
    def exact(self) -> bool:
        """Whether the distance is proven."""
        return self.lower == self.upper

    @property
    def impossible(self) -> bool:
        """Whether it is proven that no edits of finite cost lead from one graph to the other."""
        return self.lower == float("inf")

    @property
    def edit_path(self) -> EditPath | None:
        """The edits of the node map, which cost ``upper``; None for methods that give no map."""
        return (
            None
            if self.node_map is None
            else edit_path_of(self.first, self.second, self.node_map, self.costs, self.replaced)
        )

    def __repr__(self) -> str:
        if self.impossible:
            known = "inf: no allowed edits lead there, exact"
        elif self.exact:
            known = f"{self.upper:g}, exact"
        elif self.node_map is None and self.lower != self.value:
            known = f"about {self.value:g}"
        elif self.value not in (self.lower, self.upper):
            known = f"{self.value:g}; between {self.lower:g} and {self.upper:g}"
        else:
            known = f"between {self.lower:g} and {self.upper:g}"
        return f"EditDistance({known}, by {self.method}{f': {self.note}' if self.note else ''})"

    def _repr_svg_(self) -> str | None:
        from graphmetric.drawing.alignment import draw_alignment  # only notebooks need it

        return None if self.node_map is None else draw_alignment(self)


def graph_edit_distance(
    first: Any,
    second: Any,
    *,
    method: str | EditDistanceMethod = "exact",
    costs: EditCosts | None = None,
    limits: Mapping[str, int] | None = None,
    time_limit: TimeLimit = "auto",
    should_end: Callable[[], bool] | None = None,
) -> EditDistance:
    """The least cost of edits that turn ``first`` into ``second``, or bounds on it.

    Args:
        first: A graph; anything :func:`graphmetric.as_graph` takes.
        second: Another one.
        method: A method object or its name, such as ``"exact"`` or ``"beam:10"``.
        costs: The price list; by default every edit costs one.
        limits: The most edits of each kind, such as ``{"ring": 0, "element": 2}``. The distance is then the least cost
            of edits that keep these limits, infinite if none do. Kinds are the counts of ``edit_path.counts``, such as
            ``nodes_deleted``, their sums ``ring``, ``linker``, ``terminal``, ``edges_deleted``, ``edges_inserted`` and
            ``total``, and ``element`` and ``bond`` for relabeled nodes and edges. Limits go with ``exact`` only.
        time_limit: Seconds after which ``exact`` and ``relaxed`` return the bounds they have. "auto" is 10 seconds for
            a method that is given by its name, while a method object keeps its own limits. None is no limit.
        should_end: A function that is asked many times a second; if it returns True, the bounds so far are returned.

    Raises:
        SearchInterrupted: Ctrl-C was pressed. It is a ``KeyboardInterrupt``; its ``known`` is the result so far.

    Example:
        >>> from graphmetric import Graph
        >>> ring = Graph(4, [(0, 1), (1, 2), (2, 3), (0, 3)], node_labels="CCCO")
        >>> chain = Graph(4, [(0, 1), (1, 2), (2, 3)], node_labels="CCCN")
        >>> result = graph_edit_distance(ring, chain)
        >>> result
        EditDistance(2, exact, by exact)
        >>> print(result.edit_path)
        relabel node 3 'O' to 'N'
        delete edge (0, 3)
        >>> graph_edit_distance(ring, chain, limits={"ring": 0})
        EditDistance(inf: no allowed edits lead there, exact, by exact)
        >>> graph_edit_distance(ring, chain, limits={"element": 0})
        EditDistance(5, exact, by exact)
    """
    g, h = as_graph(first), as_graph(second)
    costs = costs or EditCosts()
    solver = as_method(method, time_limit=time_limit, auto=SECONDS)
    if limits is not None:
        return _limited(g, h, costs, limits, solver, should_end)
    started = clock()
    problem = encode(GraphCollection([g]), GraphCollection([h]), costs)
    found = list[tuple[Answers, str | None]]()

    def solve(watch: Watch) -> None:
        answer = solver.bounds_watched(problem, _PAIR, watch)
        found.append((answer, solver.explain(problem, _PAIR, answer, watch)))

    def result() -> EditDistance:
        return _result(g, h, costs, solver, *found[0], clock() - started)

    try:
        with progress(f"edit distance ({solver.name})", None, "s") as bar:

            def show(watches: Sequence[Watch]) -> None:
                bounds = watches[0].bounds()
                if bounds is not None:
                    bar.advance(0, f"between {bounds[0]:g} and {bounds[1]:g}")
                _end_if_asked(should_end, watches)

            work_in_threads(solve, [Watch()], show)
    except KeyboardInterrupt:
        if not found:  # a method that cannot be stopped
            raise
        raise SearchInterrupted(result()) from None
    return result()


def _limited(
    first: Graph,
    second: Graph,
    costs: EditCosts,
    limits: Mapping[str, int],
    solver: EditDistanceMethod,
    should_end: Callable[[], bool] | None,
) -> EditDistance:
    """The limited edit distance, with the limits of the method on time and cost."""
    if not isinstance(solver, ExactSearch) or solver.node_limit is not None or solver.decide:
        raise InvalidArgument(
            f"limits go with method 'exact', with a time_limit or an upper_bound of it at most; the method is {solver}"
        )
    search = LimitedSearch(limits, solver.time_limit, solver.upper_bound)
    found, started = list[tuple[LimitedAnswer, str | None]](), clock()

    def solve(watch: Watch) -> None:
        answer = search.solve_watched(first, second, costs, watch)
        found.append((answer, search.explain(answer, watch)))

    def result() -> EditDistance:
        (lower, upper, node_map, replaced, expanded, rounded), note = found[0]
        return EditDistance(
            first=first,
            second=second,
            costs=costs,
            method=solver.name,
            lower=lower,
            upper=upper,
            value=upper,
            node_map=node_map,
            nodes_expanded=expanded,
            seconds=clock() - started,
            limits=search.limits,
            replaced=replaced,
            tolerance=TOLERANCE if rounded else 0.0,
            note=note,
        )

    try:
        with progress("edit distance within limits", None, "s"):
            work_in_threads(solve, [Watch()], partial(_end_if_asked, should_end))
    except KeyboardInterrupt:
        if not found:
            raise
        raise SearchInterrupted(result()) from None
    return result()


def _end_if_asked(should_end: Callable[[], bool] | None, watches: Sequence[Watch]) -> None:
    if should_end is not None and should_end():
        for watch in watches:
            watch.end()


def _result(
    first: Graph,
    second: Graph,
    costs: EditCosts,
    solver: EditDistanceMethod,
    found: Answers,
    note: str | None,
    seconds: float,
) -> EditDistance:
    node_map = None
    if found.node_map is not None and np.isfinite(found.upper[0]):
        images = found.node_map[0, : first.num_nodes].tolist()
        node_map = tuple(None if v < 0 else v for v in images)
    return EditDistance(
        first=first,
        second=second,
        costs=costs,
        method=solver.name,
        lower=float(found.lower[0]),
        upper=float(found.upper[0]),
        value=float(found.value[0]),
        node_map=node_map,
        nodes_expanded=int(found.expanded[0]),
        seconds=seconds,
        tolerance=TOLERANCE if found.rounded[0] else 0.0,
        note=note,
    )
