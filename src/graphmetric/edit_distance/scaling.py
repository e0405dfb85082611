r"""Costs as whole numbers, and bounds in costs that hold whatever was rounded.

The compiled searches count in whole units. Let c be the costs and s a scale, units per cost. The searches read tables
of whole numbers t that are nowhere above s c. Every map then costs at least as much by s c as by t, so a lower bound
found with t, divided by s, is a **lower bound** of the distance. The **upper bound** is what the map that was found
costs by c itself. Both hold for any such t. The choice of t decides how close they are:

* *One unit.* If all costs are multiples of a unit u (one, a half, 1e-9) and totals stay within what the searches can
  count, then s = 1/u and t = s c. Totals by t and by c are the same thing, and nothing below is needed.
* *A ceiling for expensive edits.* Let T be the cost of some map of the pair: to begin with, the map that deletes and
  inserts everything. An edit that costs more than T is in no best map, and this remains so when it costs anything else
  above T. All such edits therefore cost the same B > T, and one edit of 1e12 no longer decides how finely the others
  are counted. Once a better map is known, T is the cost of that one, B falls, s may rise, and the pair is searched
  again.
* *Forbidden edits*, of infinite cost. If deleting and inserting everything is forbidden, let F be at least as large as
  the cost of any map without forbidden edits, and B > F. By t every allowed map costs at most s F, so a lower bound of
  s B or more proves that there is no allowed map: the distance is infinite.
* *Rounding.* Costs without a common unit are multiplied by a power of two, which is exact, and rounded down. A total is
  then less than one unit per edit below s times the true one. Where the two bounds are within :data:`TOLERANCE` of each
  other, the upper one is given for both.

All of this is done for each pair separately, so the costs of one pair do not affect the precision of the others.

At the end of the file are the sizes of encoded pairs, and the memory that their matrices take.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.limits import available_memory
from graphmetric.edit_distance._kernels.node_maps import TrueCosts, price_maps
from graphmetric.edit_distance._kernels.packing import (
    LARGEST_TOTAL,
    EditCostTables,
    PackedGraphs,
    PackedProblem,
    tabulate_costs,
)
from graphmetric.edit_distance._kernels.workspace import WorkspaceSize, count_bytes
from graphmetric.edit_distance.costs import LARGEST_COST, SMALLEST_COST
from graphmetric.errors import InvalidArgument

MEMORY_LIMIT = 2 << 30
"""Bytes that the matrices of one computation may take."""
TOLERANCE = 1e-9
"""Bounds that differ by no more than this share of the upper one count as equal where costs had to be rounded."""
NO_CEILING = 1 << 62
_EASY_TOTAL = 1 << 44
"""Totals up to this survive a division by the scale and a multiplication with it to within a hundredth."""
_MOST_FRACTIONS = 1_000
_SMALL = 1 << 10
"""The largest product of nodes and kinds of edges for which memory is not checked."""
_KEPT_ENTRIES = 1 << 20
"""Tables with more entries are computed again for each call instead of being kept."""

Floats = NDArray[np.float64]
Pairs = NDArray[np.int64]


@dataclass(frozen=True)
class EncodedProblem:
    """Two collections, encoded with common cost tables."""

    first: PackedGraphs
    second: PackedGraphs
    tables: EditCostTables
    scale: float
    """Units per cost."""
    costs: TrueCosts | None = None
    """The true costs; None where the tables hold them exactly, up to the scale."""
    rounded: bool = False
    """Whether some cost below the ceiling is not a whole number of units, so that the tables are below it."""
    ceiling: int = NO_CEILING
    """Units that expensive and forbidden edits cost; a total of as much or more may contain some."""
    proves_impossible: bool = False
    """Whether a lower bound of ``ceiling`` proves that every map contains a forbidden edit."""
    _kept: dict[tuple[int, int, bool], EncodedProblem] = field(default_factory=dict, repr=False, compare=False)

    def split(self, pairs: Pairs, known: Floats | None = None) -> Iterator[tuple[NDArray[np.intp], EncodedProblem]]:
        """Places in ``pairs``, and a problem with tables that suit those pairs; ``known`` are upper bounds of them."""
        if self.costs is None or len(pairs) == 0:
            yield np.arange(len(pairs)), self
            return
        exponents = np.column_stack(self._magnitudes.of(pairs, known))
        distinct, place = np.unique(exponents, axis=0, return_inverse=True)
        for k, (ceiling, total, impossible) in enumerate(distinct.tolist()):
            yield np.flatnonzero(place.ravel() == k), self._at(ceiling, total, bool(impossible))

    def finest_scale(self, pairs: Pairs, known: Floats) -> Floats:
        """The scale of each pair, where costs must be rounded, once upper bounds are known."""
        return _binary_scale(self._magnitudes.of(pairs, known)[1])

    def in_costs(
        self, pairs: Pairs, lower: Pairs, upper: Pairs, node_map: NDArray[np.int64] | None
    ) -> tuple[Floats, Floats, NDArray[np.bool_]]:
        """Bounds in costs from what a method found in units; the upper bound is the cost of the map.

        The upper bound is infinite where no map without forbidden edits was found. The third array says where equal
        bounds are equal only within :data:`TOLERANCE`.
        """
        low = lower / self.scale  # never -0.0, since units are integers
        high = np.full(len(pairs), np.inf) if node_map is None else upper / self.scale
        if self.costs is None:
            return low, high, np.zeros(len(pairs), dtype=bool)
        if self.proves_impossible:
            low[lower >= self.ceiling] = np.inf
        if node_map is not None:
            doubtful = np.full(len(pairs), True) if self.rounded else upper >= self.ceiling
            high[doubtful] = self._price(self.costs, pairs[doubtful], node_map[doubtful])
        low = np.minimum(low, high)
        if self.rounded:
            low = np.where(low >= (1 - TOLERANCE) * high, high, low)
        return low, high, np.full(len(pairs), self.rounded)

    def price_in_units(self, pairs: Pairs, node_map: NDArray[np.int64]) -> Pairs:
        """The costs of maps by the tables."""
        tables = self.tables
        whole = tables.node_substitute, tables.node_delete, tables.node_insert, tables.edge_cost[0]
        substitute, delete, insert, edges = (table.astype(np.float64) for table in whole)
        costs = TrueCosts(substitute, delete, insert, edges, tables.edge_reverse)
        return self._price(costs, pairs, node_map).astype(np.int64)

    def _price(self, costs: TrueCosts, pairs: Pairs, node_map: NDArray[np.int64]) -> Floats:
        totals = np.zeros(len(pairs))
        largest = int(np.diff(self.second.node_start).max(initial=0))
        most_edges = int(np.diff(self.second.edge_start).max(initial=0))
        preimage, is_image = np.zeros(largest + 1, dtype=np.int64), np.zeros(most_edges + 1, dtype=np.int64)
        price_maps(self.first, self.second, costs, pairs, node_map, (preimage, is_image), totals)
        return totals

    @property
    def packed(self) -> PackedProblem:
        """The arrays that kernels take."""
        return PackedProblem(self.first, self.second, self.tables)

    @cached_property
    def is_small(self) -> bool:
        """Whether every pair certainly fits into memory."""
        sizes = (np.diff(graphs.node_start).max(initial=0) for graphs in (self.first, self.second))
        return bool(max(sizes) * len(self.tables.edge_reverse) <= _SMALL)

    @cached_property
    def needs_null_nodes(self) -> bool:
        """Whether some node substitution costs more than deletion and insertion."""
        indirect = self.tables.node_delete[:, None] + self.tables.node_insert[None, :]
        return bool((self.tables.node_substitute > indirect).any())

    @cached_property
    def _magnitudes(self) -> Magnitudes:
        assert self.costs is not None
        return Magnitudes.of_graphs(self.first, self.second, self.costs)

    def _at(self, ceiling: int, total: int, impossible: bool) -> EncodedProblem:
        """The problem with a ceiling of 2**ceiling, for pairs whose maps cost at most 2**total with it."""
        key = ceiling, total, impossible
        kept = self._kept.get(key)
        if kept is None:
            assert self.costs is not None
            kept = _scaled((self.first, self.second), self.costs, self._magnitudes.distinct, key)
            if self.costs.node_substitute.size + self.costs.edge_cost.size <= _KEPT_ENTRIES:
                self._kept[key] = kept
        return kept


def scale_costs(first: PackedGraphs, second: PackedGraphs, costs: TrueCosts) -> EncodedProblem:
    """Tables for all pairs of two collections: in one unit where possible, else as this module says."""
    distinct = _distinct(costs)
    _check_magnitudes(distinct)
    edits = sum(int((np.diff(g.node_start) + np.diff(g.edge_start)).max(initial=0)) for g in (first, second))
    largest = float(distinct.max(initial=0.0))
    if np.isfinite(largest):
        scale = _units_per_cost(distinct, edits * largest, _EASY_TOTAL)
        if scale is not None:
            return EncodedProblem(first, second, _whole_tables(costs, float(scale)), float(scale))
    whole = Magnitudes.of_graphs(first, second, costs).of_all()
    return _scaled((first, second), costs, distinct, whole)


def round_down(costs: Floats, largest: int) -> tuple[NDArray[np.int64], float]:
    """Whole numbers up to ``largest`` that are nowhere above scale * cost, and the scale."""
    finite = costs[np.isfinite(costs)]
    top = float(finite.max(initial=0.0))
    units = _units_per_cost(np.unique(finite), top, largest)
    scale = float(np.ldexp(1.0, largest.bit_length() - 1 - np.frexp(top)[1])) if units is None else float(units)
    whole = np.rint(costs * scale) if units is not None else np.floor(costs * scale)
    return np.minimum(whole, largest).astype(np.int64), scale


def common_unit(costs: Floats) -> Fraction | None:
    """The largest 1/q of which these finite costs are multiples; None if none is found.

    A cost counts as the simple fraction it is next to (0.1 + 0.2 as 3/10), else as the decimal number it prints as.
    """
    broken = costs[costs != np.rint(costs)]
    if len(broken) > _MOST_FRACTIONS:
        return None
    return Fraction(1, lcm(*(_as_written(cost).denominator for cost in broken.tolist())))


def _as_written(cost: float) -> Fraction:
    simple = Fraction(cost).limit_denominator(10_000)
    return simple if abs(float(simple) - cost) <= 2.0**-48 * cost else Fraction(repr(cost))


def _units_per_cost(distinct: Floats, total: float, most: int) -> int | None:
    """The number of units in a cost of one, if all costs are whole units and totals at most ``most``."""
    if total > most:
        return None
    unit = common_unit(distinct)
    if unit is None or unit.denominator.bit_length() > 1_000 or total * float(unit.denominator) > most:
        return None
    return unit.denominator


def _check_magnitudes(distinct: Floats) -> None:
    finite = distinct[np.isfinite(distinct)]
    if len(finite) and finite[-1] > LARGEST_COST:
        raise InvalidArgument(
            f"an edit between these graphs costs {finite[-1]:g}; a cost is at most {LARGEST_COST:g}, or inf to forbid "
            "the edit: rescale costs, or the features and weights they come from"
        )
    positive = finite[finite > 0]
    if len(positive) and positive[0] <= SMALLEST_COST:
        raise InvalidArgument(
            f"an edit between these graphs costs {positive[0]:g}; a cost is 0 or above {SMALLEST_COST:g}: rescale "
            "costs, or the features and weights they come from"
        )


def _scaled(
    graphs: tuple[PackedGraphs, PackedGraphs], costs: TrueCosts, distinct: Floats, key: tuple[int, int, bool]
) -> EncodedProblem:
    ceiling, total, impossible = key
    highest = float(np.ldexp(1.0, ceiling))
    below = distinct[distinct < highest]
    units = _units_per_cost(below, float(np.ldexp(1.0, total)), LARGEST_TOTAL // 2)
    scale = float(_binary_scale(total)) if units is None else float(units)
    top = NO_CEILING if len(below) == len(distinct) else int(highest * scale) + (units is not None)
    return EncodedProblem(
        *graphs,
        _whole_tables(costs, scale, rounded=units is None, ceiling=top),
        scale,
        costs,
        rounded=units is None,
        ceiling=top,
        proves_impossible=impossible,
    )


def _binary_scale(total: NDArray[np.int64] | int) -> Floats:
    """The power of two that scales 2**total to the largest allowed total."""
    return np.asarray(np.ldexp(1.0, np.minimum(LARGEST_TOTAL.bit_length() - 1 - total, 1_000)))


def _whole_tables(
    costs: TrueCosts, scale: float, *, rounded: bool = False, ceiling: int = NO_CEILING
) -> EditCostTables:
    to_whole = np.floor if rounded else np.rint

    def whole(table: Floats) -> NDArray[np.int64]:
        return np.minimum(to_whole(table * scale), ceiling).astype(np.int64)

    nodes = whole(costs.node_substitute), whole(costs.node_delete), whole(costs.node_insert)
    return tabulate_costs(*nodes, whole(costs.edge_cost), costs.edge_reverse)


@dataclass(frozen=True, slots=True)
class Magnitudes:
    """How much maps can cost, from one entry for each first graph and one for each second graph."""

    removal: tuple[Floats, Floats]
    """Deleting or inserting the whole graph."""
    allowed: tuple[Floats, Floats]
    """Together at least as much as any map without forbidden edits costs."""
    nodes: tuple[NDArray[np.int64], NDArray[np.int64]]
    edits: tuple[NDArray[np.int64], NDArray[np.int64]]
    """Nodes and edges."""
    dearest_substitution: float
    distinct: Floats
    """All costs, rising."""

    @classmethod
    def of_graphs(cls, first: PackedGraphs, second: PackedGraphs, costs: TrueCosts) -> Magnitudes:
        """Sums over the nodes and edges of every graph."""
        edges, nodes = costs.edge_cost, costs.node_substitute
        allowed = (
            (_largest_finite(np.column_stack([nodes, costs.node_delete])), _largest_finite(edges)),
            (_largest_finite(costs.node_insert[:, None]), _largest_finite(edges[0, :, None])),
        )
        return cls(
            removal=(_sums(first, costs.node_delete, edges[:, 0]), _sums(second, costs.node_insert, edges[0, :])),
            allowed=(_sums(first, *allowed[0]), _sums(second, *allowed[1])),
            nodes=(np.diff(first.node_start), np.diff(second.node_start)),
            edits=tuple(np.diff(g.node_start) + np.diff(g.edge_start) for g in (first, second)),  # type: ignore[arg-type]
            dearest_substitution=float(nodes.max(initial=0.0)),
            distinct=_distinct(costs),
        )

    def of(
        self, pairs: Pairs, known: Floats | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """For each pair the binary logarithms of the ceiling and of the largest total, and whether a bound of the
        ceiling would prove that no map is allowed; ``known`` are costs of maps."""
        i, j = pairs.T
        everything = self.removal[0][i] + self.removal[1][j]
        reached = everything if known is None else np.minimum(everything, known)
        impossible = ~np.isfinite(reached)
        reached = np.where(impossible, self.allowed[0][i] + self.allowed[1][j], reached)
        ceiling = np.frexp(reached)[1]
        top = np.ldexp(1.0, ceiling)
        by_number = (self.edits[0][i] + self.edits[1][j]) * top
        substituted = np.minimum(self.nodes[0][i], self.nodes[1][j])
        by_sum = everything + substituted * np.minimum(top, self.dearest_substitution)
        total = np.frexp(np.minimum(by_number, by_sum))[1]
        return ceiling.astype(np.int64), total.astype(np.int64), impossible.astype(np.int64)

    def of_all(self) -> tuple[int, int, bool]:
        """The same for all pairs together."""
        if 0 in (len(self.nodes[0]), len(self.nodes[1])):
            return 0, 0, False

        sides: Any = {
            name: tuple(column.max(keepdims=True) for column in getattr(self, name))
            for name in ("removal", "allowed", "nodes", "edits")
        }
        largest = replace(self, **sides)
        ceiling, total, impossible = largest.of(np.zeros((1, 2), dtype=np.int64))
        return int(ceiling[0]), int(total[0]), bool(impossible[0])


def _distinct(costs: TrueCosts) -> Floats:
    """All different costs, rising."""
    tables = costs.node_substitute, costs.node_delete, costs.node_insert, costs.edge_cost
    return np.unique(np.concatenate([table.ravel() for table in tables]))


def _largest_finite(rows: Floats) -> Floats:
    return np.asarray(np.where(np.isfinite(rows), rows, 0.0).max(axis=1, initial=0.0))


def _sums(graphs: PackedGraphs, by_node: Floats, by_edge: Floats) -> Floats:
    """Sums of what nodes and edges cost by their codes, for each graph."""
    totals = np.zeros(len(graphs.node_start) - 1)
    for start, code, price in (
        (graphs.node_start, graphs.node_code, by_node),
        (graphs.edge_start, graphs.edge_code, by_edge),
    ):
        owner = np.repeat(np.arange(len(totals)), np.diff(start))
        totals += np.bincount(owner, price[code], minlength=len(totals))
    return totals


def node_counts(problem: EncodedProblem, pairs: Pairs) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Nodes of the first and of the second graph of each pair."""
    return np.diff(problem.first.node_start)[pairs[:, 0]], np.diff(problem.second.node_start)[pairs[:, 1]]


def edge_counts(problem: EncodedProblem, pairs: Pairs) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Edges of the first and of the second graph of each pair."""
    return np.diff(problem.first.edge_start)[pairs[:, 0]], np.diff(problem.second.edge_start)[pairs[:, 1]]


def smaller_sizes(problem: EncodedProblem, pairs: Pairs) -> NDArray[np.int64]:
    """Nodes of the smaller graph of each pair."""
    return np.minimum(*node_counts(problem, pairs))


def workspace_size(problem: EncodedProblem, pairs: Pairs, root_only: bool = False) -> WorkspaceSize:
    """Room for the largest of the pairs; ``root_only`` for kernels that do not search."""
    smaller, larger, edges = (int(sizes.max(initial=0)) for sizes in _sizes(problem, pairs))
    codes = problem.tables.edge_cost.shape[1] - 1
    return WorkspaceSize(smaller, larger, edges, codes, problem.needs_null_nodes, root_only)


def workspace_memory(problem: EncodedProblem, pairs: Pairs, root_only: bool) -> NDArray[np.float64]:
    """Bytes of the workspace of each pair; where the largest takes little, that for all."""
    together = workspace_size(problem, pairs, root_only)
    enough = count_bytes(together)
    if enough <= MEMORY_LIMIT / 16:
        return np.full(len(pairs), float(enough))
    each: Any = dict(zip(("smaller", "larger", "edges"), _sizes(problem, pairs), strict=True))
    return np.asarray(count_bytes(together._replace(**each)), dtype=np.float64)


def _sizes(problem: EncodedProblem, pairs: Pairs) -> tuple[NDArray[np.int64], ...]:
    """For each pair: nodes of the smaller and of the larger graph, edges of the graph that has more."""
    first, second = node_counts(problem, pairs)
    return np.minimum(first, second), np.maximum(first, second), np.maximum(*edge_counts(problem, pairs))


def exceeds_memory(needed: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which of these numbers of bytes are more than one computation may take, or than are available."""
    limit = float(MEMORY_LIMIT)
    if len(needed) and needed.max() > MEMORY_LIMIT / 16:
        limit = min(limit, available_memory() or limit)
    return needed > limit
