"""Two edges between the same nodes, which :class:`Graph` refuses, made into one; and arcs paired into edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Literal, NamedTuple, get_args

from graphmetric.errors import InvalidArgument, InvalidGraph

ParallelEdges = Literal["error", "sum", "first"]
"""``"error"`` refuses them, ``"sum"`` adds their weights (1 where there are none), ``"first"`` keeps the first."""


class EdgeRows(NamedTuple):
    """Edges and their columns, before they are part of a graph."""

    pairs: list[tuple[int, int]]
    labels: list[Hashable] | None = None
    weights: list[float] | None = None

    def take(self, rows: list[int]) -> EdgeRows:
        """The chosen edges, in the given order."""
        return EdgeRows(
            [self.pairs[row] for row in rows],
            None if self.labels is None else [self.labels[row] for row in rows],
            None if self.weights is None else [self.weights[row] for row in rows],
        )


def merge_parallel_edges(edges: EdgeRows, directed: bool, how: ParallelEdges) -> EdgeRows:
    """At most one edge per pair of nodes, by the rule ``how``."""
    if how not in get_args(ParallelEdges):
        raise InvalidArgument(f"parallel_edges must be 'error', 'sum' or 'first'; got {how!r}")
    keys = edges.pairs if directed else [(u, v) if u <= v else (v, u) for u, v in edges.pairs]
    first_row: dict[tuple[int, int], int] = {}
    for row, key in enumerate(keys):
        first_row.setdefault(key, row)
    if len(first_row) == len(keys):
        return edges
    if how == "error":
        (u, v), count = Counter(keys).most_common(1)[0]
        raise InvalidGraph(
            f"edge ({u}, {v}) is given {count} times; parallel_edges='sum' adds the weights (1 where there are none), "
            "'first' keeps the first"
        )
    merged = edges.take(list(first_row.values()))
    return merged if how == "first" else merged._replace(weights=_summed_weights(edges, keys, first_row))


def _summed_weights(edges: EdgeRows, keys: list[tuple[int, int]], first_row: dict[tuple[int, int], int]) -> list[float]:
    totals = dict.fromkeys(first_row, 0.0)
    for row, key in enumerate(keys):
        if edges.labels is not None and edges.labels[row] != edges.labels[first_row[key]]:
            raise InvalidGraph(
                f"edge {key} is given with labels {edges.labels[first_row[key]]!r} and {edges.labels[row]!r}; "
                "parallel_edges='sum' cannot merge different labels"
            )
        totals[key] += 1.0 if edges.weights is None else _number(edges.weights[row], key)
    return list(totals.values())


def _number(weight: object, edge: tuple[int, int]) -> float:
    try:
        return float(weight)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InvalidGraph(f"edge {edge} has weight {weight!r}, which is not a number") from None


def pair_opposite_arcs(arcs: EdgeRows, directed: bool | None) -> tuple[EdgeRows, bool]:
    """Arcs as undirected edges where every arc has its equal opposite, and whether the result is directed.

    ``directed=True`` leaves the arcs alone. ``directed=False`` also takes edges that are given in one direction only,
    but refuses opposite arcs that disagree.
    """
    if directed:
        return arcs, True
    rows = {pair: row for row, pair in enumerate(arcs.pairs)}
    for (u, v), row in rows.items():
        opposite = rows.get((v, u))
        agrees = opposite is not None and _same_attributes(arcs, row, opposite)
        if not agrees and directed is None:
            return arcs, True
        if not agrees and opposite is not None:
            raise InvalidGraph(f"arcs ({u}, {v}) and ({v}, {u}) differ in label or weight; directed=True keeps both")
    return arcs.take([row for (u, v), row in rows.items() if u <= v or (v, u) not in rows]), False


def _same_attributes(arcs: EdgeRows, a: int, b: int) -> bool:
    same_label = arcs.labels is None or arcs.labels[a] == arcs.labels[b]
    return same_label and (arcs.weights is None or arcs.weights[a] == arcs.weights[b])
