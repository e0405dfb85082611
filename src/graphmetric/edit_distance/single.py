"""The edit distance of two graphs: its bounds, and the edits that attain the upper one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphmetric._foundation.limits import clock
from graphmetric._foundation.progress import progress
from graphmetric.edit_distance.costs import EditCosts, as_costs
from graphmetric.edit_distance.edit_path import Edge, EditPath, NodeMap, edit_path_of
from graphmetric.edit_distance.encoding import encode
from graphmetric.edit_distance.limited import LimitedSearch
from graphmetric.edit_distance.method import SECONDS, EditDistanceMethod, TimeLimit, as_method
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
        if self.node_map is None:
            return None
        return edit_path_of(self.first, self.second, self.node_map, self.costs, self.replaced)

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
            a method that is given by its name, while a method object keeps its own limits. None means no limit.
        should_end: A function that is called many times a second; once it returns True, the bounds so far are returned.

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
    costs = as_costs(costs)
    solver = as_method(method, time_limit=time_limit, auto=SECONDS)
    question = g, h, costs
    if limits is not None:
        return _limited(question, limits, solver, should_end)

    def solve(watch: Watch) -> EditDistance:
        problem = encode(GraphCollection([g]), GraphCollection([h]), costs)
        answer = solver.bounds_watched(problem, _PAIR, watch)
        node_map = None
        if answer.node_map is not None and np.isfinite(answer.upper[0]):
            images = answer.node_map[0, : g.num_nodes].tolist()
            node_map = tuple(None if v < 0 else v for v in images)
        return EditDistance(
            *question,
            method=solver.name,
            lower=float(answer.lower[0]),
            upper=float(answer.upper[0]),
            value=float(answer.value[0]),
            node_map=node_map,
            nodes_expanded=int(answer.expanded[0]),
            seconds=0.0,
            tolerance=TOLERANCE if answer.rounded[0] else 0.0,
            note=solver.explain(problem, _PAIR, answer, watch),
        )

    return _watched(solve, f"edit distance ({solver.name})", should_end, show_bounds=True)


def _limited(
    question: tuple[Graph, Graph, EditCosts],
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

    def solve(watch: Watch) -> EditDistance:
        answer = search.solve_watched(*question, watch)
        lower, upper, node_map, replaced, expanded, rounded = answer
        tolerance, note = TOLERANCE if rounded else 0.0, search.explain(answer, watch)
        known = EditDistance(*question, solver.name, lower, upper, upper, node_map, expanded, seconds=0.0)
        return replace(known, limits=search.limits, replaced=replaced, tolerance=tolerance, note=note)

    return _watched(solve, "edit distance within limits", should_end, show_bounds=False)


def _watched(
    solve: Callable[[Watch], EditDistance], title: str, should_end: Callable[[], bool] | None, *, show_bounds: bool
) -> EditDistance:
    """Solve in a thread that Ctrl-C and ``should_end`` stop, and take the time."""
    found, started = list[EditDistance](), clock()

    def result() -> EditDistance:
        return replace(found[0], seconds=clock() - started)

    try:
        with progress(title, None, "s") as bar:

            def look(watches: Sequence[Watch]) -> None:
                if show_bounds and (bounds := watches[0].bounds()) is not None:
                    bar.advance(0, f"between {bounds[0]:g} and {bounds[1]:g}")
                if should_end is not None and should_end():
                    watches[0].cancel()

            work_in_threads(lambda watch: found.append(solve(watch)), [Watch()], look)
    except KeyboardInterrupt:
        if not found:  # a method that cannot be stopped
            raise
        raise SearchInterrupted(result()) from None
    return result()
