"""The edit distance of two graphs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from graphmetric.edit_distance.costs import EditCosts
from graphmetric.edit_distance.encoding import encode
from graphmetric.edit_distance.method import EditDistanceMethod
from graphmetric.edit_distance.registry import as_method
from graphmetric.edit_distance.result import EditDistance
from graphmetric.edit_distance.scaling import TOLERANCE
from graphmetric.graphs.collection import GraphCollection
from graphmetric.graphs.conversion import as_graph


def graph_edit_distance(
    first: Any,
    second: Any,
    *,
    method: str | EditDistanceMethod = "exact",
    costs: EditCosts | None = None,
    time_limit: float | None = None,
) -> EditDistance:
    """The least cost of edits that turn ``first`` into ``second``, or bounds of it.

    Args:
        first: A graph; anything :func:`graphmetric.as_graph` takes.
        second: Another one.
        method: A method object or its name, such as ``"exact"`` or ``"beam:10"``.
        costs: The price list; by default every edit costs one.
        time_limit: Seconds after which the exact search returns the bounds it has.

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
    solver = as_method(method, time_limit=time_limit)
    started = time.perf_counter()
    problem = encode(GraphCollection([g]), GraphCollection([h]), costs)
    found = solver.bounds(problem, np.zeros((1, 2), dtype=np.int64))
    node_map = None
    if found.node_map is not None and np.isfinite(found.upper[0]):
        node_map = found.node_map[0, : g.num_nodes].tolist()
    return EditDistance(
        first=g,
        second=h,
        costs=costs,
        method=solver.name,
        lower=float(found.lower[0]),
        upper=float(found.upper[0]),
        value=float(found.value[0]),
        node_map=None if node_map is None else tuple(None if v < 0 else v for v in node_map),
        nodes_expanded=int(found.expanded[0]),
        seconds=time.perf_counter() - started,
        tolerance=TOLERANCE if found.rounded[0] else 0.0,
    )
