"""The edit distance of two graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphmetric._foundation.limits import clock
from graphmetric._foundation.progress import progress
from graphmetric.edit_distance.costs import EditCosts
from graphmetric.edit_distance.encoding import encode
from graphmetric.edit_distance.method import EditDistanceMethod, PairBounds
from graphmetric.edit_distance.registry import TimeLimit, as_method
from graphmetric.edit_distance.result import EditDistance
from graphmetric.edit_distance.scaling import TOLERANCE
from graphmetric.edit_distance.stopping import Watch, work_in_threads
from graphmetric.errors import SearchInterrupted
from graphmetric.formats.conversion import as_graph
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.graph import Graph

SECONDS = 10.0
"""The automatic time limit of one pair."""
_PAIR = np.zeros((1, 2), dtype=np.int64)


def graph_edit_distance(
    first: Any,
    second: Any,
    *,
    method: str | EditDistanceMethod = "exact",
    costs: EditCosts | None = None,
    time_limit: TimeLimit = "auto",
) -> EditDistance:
    """The least cost of edits that turn ``first`` into ``second``, or bounds of it.

    Args:
        first: A graph; anything :func:`graphmetric.as_graph` takes.
        second: Another one.
        method: A method object or its name, such as ``"exact"`` or ``"beam:10"``.
        costs: The price list; by default every edit costs one.
        time_limit: Seconds after which the exact search returns the bounds it has. "auto" is 10 seconds for
            ``method="exact"``, while a method object keeps its own limits. None is no limit.

    Raises:
        SearchInterrupted: Ctrl-C was pressed. It is a ``KeyboardInterrupt``, and ``known`` is the result by then.

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
    """
    g, h = as_graph(first), as_graph(second)
    costs = costs or EditCosts()
    solver = as_method(method, time_limit=time_limit, auto=SECONDS)
    started = clock()
    problem = encode(GraphCollection([g]), GraphCollection([h]), costs)
    found = list[tuple[PairBounds, str | None]]()

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

            work_in_threads(solve, [Watch()], show)
    except KeyboardInterrupt:
        if not found:  # a method that cannot be stopped
            raise
        raise SearchInterrupted(result()) from None
    return result()


def _result(
    first: Graph,
    second: Graph,
    costs: EditCosts,
    solver: EditDistanceMethod,
    found: PairBounds,
    note: str | None,
    seconds: float,
) -> EditDistance:
    node_map = None
    if found.node_map is not None and np.isfinite(found.upper[0]):
        node_map = found.node_map[0, : first.num_nodes].tolist()
    return EditDistance(
        first=first,
        second=second,
        costs=costs,
        method=solver.name,
        lower=float(found.lower[0]),
        upper=float(found.upper[0]),
        value=float(found.value[0]),
        node_map=None if node_map is None else tuple(None if v < 0 else v for v in node_map),
        nodes_expanded=int(found.expanded[0]),
        seconds=seconds,
        tolerance=TOLERANCE if found.rounded[0] else 0.0,
        note=note,
    )
