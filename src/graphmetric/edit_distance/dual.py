"""The dual bound: the branch bound with the best division of edge savings; the same after few steps; its limit, the
relaxed edit distance; and the exact search that uses it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from graphmetric.edit_distance._kernels.dual_pair import DualSize
from graphmetric.edit_distance._kernels.dual_search import (
    STEPS_PER_BOUND,
    DualWork,
    allocate_dual_work,
    search_dual,
)
from graphmetric.edit_distance._kernels.exact_search import SearchLimits
from graphmetric.edit_distance._kernels.relaxed import (
    QuickLimits,
    RelaxedLimits,
    RelaxedResults,
    RelaxedWork,
    allocate_relaxed,
    bound_quickly,
    relax_pairs,
)
from graphmetric.edit_distance._kernels.sparse_problem import LARGEST_SPARSE
from graphmetric.edit_distance._kernels.workspace import NO_LIMIT, Results, WorkspaceSize, allocate_workspace
from graphmetric.edit_distance.costs import EditCosts, as_costs
from graphmetric.edit_distance.encoding import encode
from graphmetric.edit_distance.method import (
    SECONDS,
    Answers,
    EditDistanceMethod,
    Guarantee,
    Pairs,
    Solutions,
    TimeLimit,
    as_method,
    describe_need,
    merged,
    one_by_one,
    room_for,
    set_count,
    taken,
)
from graphmetric.edit_distance.scaling import (
    EncodedProblem,
    edge_counts,
    exceeds_memory,
    node_counts,
    workspace_memory,
    workspace_size,
)
from graphmetric.edit_distance.stopping import Watch, in_thread
from graphmetric.errors import InvalidArgument, NotEnoughMemory
from graphmetric.formats.conversion import as_graph
from graphmetric.graphs.collection import GraphCollection

TOLERANCE = 0.05
"""How precise relaxed distances are by default, in costs."""
_QUICK_SIZE = 30
"""The most nodes and edges, together, of graphs that are relaxed in batches: a thousand steps take milliseconds."""
_QUICK_STEPS = 2_000
"""Steps after which a pair of a batch is relaxed on its own, within the time limit."""
_FINEST_UNIT = 100
"""The most units in a cost of 1 to which answers are rounded up."""
_PAIR = np.zeros((1, 2), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class DualBound(EditDistanceMethod):
    """A lower bound close to the linear programme, and the best map found on the way.

    The branch bound gives half of the saving of every matched edge to each of its two ends. Here the division moves,
    by primal-dual steps, towards the one with the largest bound; its limit is the tightest linear relaxation known.
    Every step gives a valid bound. At 25 nodes a hundred steps take one to two milliseconds and close nine tenths of
    the gap between branch bound and limit.
    """

    steps: int = 200
    """The most steps; there are fewer where the bounds meet earlier."""

    name: ClassVar[str] = "dual"
    guarantee: ClassVar[Guarantee] = "lower bound"
    symmetric: ClassVar[bool] = False  # equal up to the rounding of single precision

    def __post_init__(self) -> None:
        set_count(self, "steps")

    def solve_watched(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Solutions:
        results, _ = self.bound(problem, pairs, watch)
        return Solutions.of(results)._replace(expanded=np.zeros(len(pairs), dtype=np.int64))

    def memory(self, problem: EncodedProblem, pairs: Pairs) -> NDArray[np.float64]:
        return dual_memory(problem, pairs)

    def bound(
        self, problem: EncodedProblem, pairs: Pairs, watch: Watch | None = None
    ) -> tuple[Results, NDArray[np.float64]]:
        """The bounds, and the lower bounds before they were rounded up."""
        rounds = -(-self.steps // STEPS_PER_BOUND)
        return _bound_by_steps(problem, pairs, rounds, dual_work(problem, pairs, watch))


def _bound_by_steps(
    problem: EncodedProblem, pairs: Pairs, rounds: int, work: DualWork
) -> tuple[Results, NDArray[np.float64]]:
    """Bounds and maps of the root, after some rounds of steps, and its lower bounds before they were rounded up."""
    results, relaxed = room_for(problem, pairs), np.zeros(len(pairs))
    limits = SearchLimits(np.full(len(pairs), NO_LIMIT), 0, 1 + rounds, 0)
    search_dual(problem.packed, pairs, limits, 1, work, results, relaxed)
    return results, relaxed


@dataclass(frozen=True, slots=True)
class RefinedMap(EditDistanceMethod):
    """Good maps quickly, and the dual bound that comes with them.

    The primal-dual steps of the dual bound say which pairs of nodes belong together. Every 25 steps these masses are
    rounded to a map. Exchanges of images improve it, and then shifts of whole regions: a node takes a new image, the
    nodes around both are unmapped, and all are mapped again. One unit of effort is 25 steps with the shifts after them;
    with effort 0 only the maps of the branch bound and of equal surroundings are improved. More effort never gives a
    worse map. It ends early where the map is proven to be the best.
    """

    effort: int = 10
    """How often masses are rounded; at 25 nodes ten times take about 5 ms, at 100 nodes about 100 ms."""
    random_state: int = 0
    """Seed of the shifts; the answer to a pair does not depend on the other pairs."""

    name: ClassVar[str] = "refine"
    guarantee: ClassVar[Guarantee] = "upper bound"
    symmetric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("effort", "random_state"):
            set_count(self, name)

    def solve_watched(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Solutions:
        results, _ = _bound_by_steps(problem, pairs, self.effort, dual_work(problem, pairs, watch, self.random_state))
        return Solutions.of(results)._replace(expanded=np.zeros(len(pairs), dtype=np.int64))

    def memory(self, problem: EncodedProblem, pairs: Pairs) -> NDArray[np.float64]:
        return dual_memory(problem, pairs)


@dataclass(frozen=True, slots=True)
class QuickInterval(EditDistanceMethod):
    """Bounds from both sides in the time of a few primal-dual steps.

    The prices of the steps slow down towards the end, which settles them, and their masses are rounded to a map.
    Shifts towards pairs of nodes that have some mass improve it. This is done after nearly half of the steps; the
    others are taken only where the bounds do not meet. Fewer than ninety steps are taken in one go.
    """

    steps: int = 130
    """The most steps; at 25 nodes 130 take about a millisecond."""
    shifts: int = 4
    """How many shifts of regions improve the map, for each of its nodes."""

    name: ClassVar[str] = "interval"
    guarantee: ClassVar[Guarantee] = "lower bound"
    symmetric: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in ("steps", "shifts"):
            set_count(self, name)

    def memory(self, problem: EncodedProblem, pairs: Pairs) -> NDArray[np.float64]:
        return dual_memory(problem, pairs)

    def solve_watched(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Solutions:
        results, work = room_for(problem, pairs), dual_work(problem, pairs, watch)
        size = _room_needed(problem, pairs)[1]
        massive = np.zeros((size.rows * size.columns, 2), dtype=np.int64)
        bound_quickly(problem.packed, pairs, QuickLimits(self.steps, self.shifts), work, massive, results)
        return Solutions.of(results)


def search_with_dual_bound(problem: EncodedProblem, pairs: Pairs, limits: SearchLimits, watch: Watch) -> Solutions:
    """Branch and bound with the dual bound; above a dozen nodes far quicker than with the branch bound."""
    results = room_for(problem, pairs)
    search_dual(problem.packed, pairs, limits, 0, dual_work(problem, pairs, watch), results, np.zeros(len(pairs)))
    return Solutions.of(results)


@dataclass(frozen=True, slots=True)
class RelaxedDistance(EditDistanceMethod):
    r"""The relaxed edit distance: the least cost of turning one graph into the other by fractions of nodes and edges.

    A *coupling* says how much of each node becomes each node of the other graph, and how much of each edge becomes each
    edge; an edge can only go where its ends go. What is left is deleted or inserted. Whole couplings are node maps, so
    the relaxed distance is at most the edit distance. For molecules of ten atoms it is mostly the edit distance itself.
    It takes polynomial time.

    *It is a pseudo-metric where the costs are a metric.* Couplings compose: with x from G to H and x' from H to K, the
    product x x' couples nodes, y y' couples edges and still follows their ends, and by the triangle inequality of the
    costs it costs no more than both together. The transposed coupling gives the symmetry, and isomorphic graphs are at
    distance 0; so are a few graphs that are not isomorphic, such as a ring of six nodes and two rings of three.

    *Tolerance.* The relaxed distance is known to lie between two bounds, at most ``tolerance`` apart. The answer is the
    number between them with the least denominator, counted in the unit of the costs. So it is at most ``tolerance``
    away from the relaxed distance, it is never above the edit distance, and it is usually the relaxed distance exactly.
    The triangle inequality holds within three times the tolerance, symmetry within one. Where steps or time run out
    first, the answer is the lower bound, and the result says so. A forbidden edit counts as costing more than all
    allowed ones together, of which a coupling may still use a fraction.

    *Rounded up.* With ``round_up`` the answer is the relaxed distance rounded up to whole edits, which is closer to
    the edit distance and still never above it. The triangle inequality then needs no tolerance, since :math:`\lceil s
    + t \rceil \le \lceil s \rceil + \lceil t \rceil`, with two exceptions. Steps end as soon as both bounds round up
    to the same. An excess of less than a thousandth of an edit over a whole number is ignored: optima have small
    denominators, but if both sides of a detour exceeded one by so little, the triangle inequality could fail by one.
    And where steps or time run out first, the answer is only the lower bound rounded up, and the result says so. Costs
    that are not multiples of one unit are refused; a unit other than 1 takes the place of the whole edit.

    The bounds ``lower`` and ``upper`` of the results are bounds of the edit distance, as for every method.

    Example:
        >>> RelaxedDistance(tolerance=0.01)
        RelaxedDistance(tolerance=0.01, most_steps=100000, time_limit=None, round_up=False)
    """

    tolerance: float = TOLERANCE
    """How far the answer may be from the relaxed distance, in costs; without effect when answers are rounded up."""
    most_steps: int = 100_000
    """The most steps for each pair."""
    time_limit: float | None = None
    """Seconds of wall-clock time for each pair."""
    round_up: bool = False
    """Whether answers are rounded up to whole edits."""

    name: ClassVar[str] = "relaxed"
    guarantee: ClassVar[Guarantee] = "lower bound"
    symmetric: ClassVar[bool] = True  # within the tolerance
    invariant: ClassVar[bool] = True  # likewise
    own_answer: ClassVar[bool] = True
    replaceable: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not _is_number(self.tolerance) or not 0 < self.tolerance < math.inf:
            raise InvalidArgument(f"tolerance is {self.tolerance!r}; it must be a positive number")
        object.__setattr__(self, "tolerance", float(self.tolerance))
        set_count(self, "most_steps", least=1)
        if self.time_limit is not None and (not _is_number(self.time_limit) or not self.time_limit >= 0):
            raise InvalidArgument(
                f"time_limit is {self.time_limit!r}; it must be a number that is not negative, or None"
            )
        if self.time_limit is not None:
            object.__setattr__(self, "time_limit", float(self.time_limit))
        if not isinstance(self.round_up, bool):
            raise InvalidArgument(f"round_up is {self.round_up!r}; it must be True or False")

    def memory(self, problem: EncodedProblem, pairs: Pairs) -> NDArray[np.float64]:
        nodes = np.maximum(*node_counts(problem, pairs)).astype(np.float64)
        edges = np.maximum(*edge_counts(problem, pairs)).astype(np.float64)
        matrices = 56.0 * edges**2 + 120.0 * nodes**2 + 80.0 * nodes * edges
        return np.asarray(workspace_memory(problem, pairs, root_only=True) + matrices)

    def is_quick(self, problem: EncodedProblem, pairs: Pairs) -> NDArray[np.bool_]:
        sizes = [n + m for n, m in zip(node_counts(problem, pairs), edge_counts(problem, pairs), strict=True)]
        return np.asarray(np.maximum(*sizes) <= _QUICK_SIZE)

    def converged(self, expanded: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.asarray(expanded <= self.most_steps)

    def explain(self, problem: EncodedProblem, pair: Pairs, found: Answers, watch: Watch) -> str | None:
        if self.converged(found.expanded)[0]:
            return None
        if watch.stopped:
            reason = "interrupted"
        elif watch.canceled:
            reason = "canceled"
        elif watch.expired:
            reason = f"stopped by the time limit of {self.time_limit:g} s"
        else:
            reason = f"stopped after {self.most_steps} steps"
        aim = (
            "both bounds rounded up to the same"
            if self.round_up
            else f"the tolerance of {self.tolerance:g} was reached"
        )
        return f"{reason} before {aim}: the relaxed distance is at least this"

    def solve_watched(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Solutions:
        large = exceeds_memory(self.memory(problem, pairs))
        if large.any():
            raise NotEnoughMemory(describe_need(self, problem, pairs[large]))
        quick = self.is_quick(problem, pairs)
        if quick.any() and not quick.all():
            parts = (self.solve_watched(problem, pairs[which], watch) for which in (quick, ~quick))
            return merged(quick, *parts)
        if len(pairs) == 0 or (quick.all() and len(pairs) > 1):
            return self._solve_batch(problem, pairs, watch)
        return self._one_by_one(problem, pairs, watch)

    def relax(
        self, problem: EncodedProblem, pairs: Pairs, watch: Watch, most_steps: int | None = None
    ) -> tuple[Results, RelaxedResults]:
        """Bounds of the edit distances, and of the relaxed distances, in units."""
        if self.round_up:
            _check_unit(problem)
        results, work = room_for(problem, pairs), _relaxed_work(problem, pairs, watch)
        lower, upper, value = np.zeros((3, len(pairs)))
        relaxed = RelaxedResults(lower, upper, value, np.zeros(len(pairs), dtype=np.int64))
        limits = RelaxedLimits(
            float(self.tolerance * problem.scale), int(most_steps or self.most_steps), int(self.round_up)
        )
        relax_pairs(problem.packed, pairs, limits, work, results, relaxed)
        return results, relaxed

    def _solve_batch(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Solutions:
        """Solve small pairs together, with few steps; those that need more are solved again within the time limit."""
        few = min(_QUICK_STEPS, self.most_steps)
        found = _solutions(*self.relax(problem, pairs, watch, few))
        again = found.expanded > few
        if not again.any() or few == self.most_steps or watch.is_over:
            return found
        return merged(again, self._one_by_one(problem, pairs[again], watch), taken(found, np.flatnonzero(~again)))

    def _one_by_one(self, problem: EncodedProblem, pairs: Pairs, watch: Watch) -> Solutions:
        return one_by_one(pairs, watch, self.time_limit, lambda pair: _solutions(*self.relax(problem, pair, watch)))


@dataclass(frozen=True, slots=True)
class RelaxedEditDistance:
    """Bounds of the relaxed edit distance, and the answer between them."""

    lower: float
    """The relaxed distance is at least this, and so is the edit distance."""
    upper: float
    """The relaxed distance is at most this."""
    value: float
    """The answer, never above the edit distance: at most the tolerance away from the relaxed distance, or that rounded
    up to whole edits. It is ``lower``, perhaps rounded up, if the distance did not converge."""
    converged: bool
    """Whether the bounds are within the tolerance, or round up to the same."""
    steps: int
    """Number of steps."""

    def __float__(self) -> float:
        return self.value


def relaxed_edit_distance(
    first: Any,
    second: Any,
    *,
    costs: EditCosts | None = None,
    tolerance: float = TOLERANCE,
    round_up: bool = False,
    time_limit: TimeLimit = "auto",
) -> RelaxedEditDistance:
    """The least cost of turning ``first`` into ``second`` by fractions of nodes and edges; a pseudo-metric.

    It is at most the edit distance, and takes polynomial time. See :class:`RelaxedDistance`, the method ``relaxed`` of
    :func:`graph_edit_distance` and :func:`pairwise_edit_distances`.

    Args:
        first: A graph; anything :func:`graphmetric.as_graph` takes.
        second: Another one.
        costs: The price list; by default every edit costs one.
        tolerance: How far the answer may be from the relaxed distance; without effect with ``round_up``.
        round_up: Whether the answer is rounded up to whole edits, which is closer to the edit distance; see
            :class:`RelaxedDistance` for what it guarantees. It needs costs that are multiples of one unit.
        time_limit: Seconds after which the bounds so far are returned. "auto" is 10 seconds, None is no limit.

    Example:
        >>> from graphmetric import Graph
        >>> ring = Graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)])
        >>> two_rings = Graph(6, [(0, 1), (1, 2), (0, 2), (3, 4), (4, 5), (3, 5)])
        >>> relaxed_edit_distance(ring, two_rings).value
        0.0
        >>> chain = Graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)])
        >>> relaxed_edit_distance(ring, chain, round_up=True).value
        1.0
    """
    method = as_method(
        RelaxedDistance(tolerance, round_up=round_up), time_limit=SECONDS if time_limit == "auto" else time_limit
    )
    assert isinstance(method, RelaxedDistance)
    graphs = GraphCollection([as_graph(first)]), GraphCollection([as_graph(second)])
    ((_, problem),) = encode(*graphs, as_costs(costs)).split(_PAIR)
    if exceeds_memory(method.memory(problem, _PAIR))[0]:
        raise NotEnoughMemory(describe_need(method, problem, _PAIR))

    def relax(watch: Watch) -> tuple[Results, RelaxedResults]:
        with watch.limited(method.time_limit):
            return method.relax(problem, _PAIR, watch)

    results, relaxed = in_thread(relax)
    impossible = problem.proves_impossible and relaxed.lower[0] >= problem.ceiling
    lower, upper, value = (math.inf if impossible else float(column[0]) / problem.scale for column in relaxed[:3])
    return RelaxedEditDistance(lower, upper, value, impossible or bool(results.finished[0]), int(relaxed.steps[0]))


def _solutions(results: Results, relaxed: RelaxedResults) -> Solutions:
    return Solutions.of(results)._replace(value=relaxed.value)


def _check_unit(problem: EncodedProblem) -> None:
    """Raise unless all costs are multiples of one unit that steps in single precision can resolve."""
    if problem.costs is not None or problem.scale > _FINEST_UNIT:
        raise InvalidArgument(
            f"round_up needs finite costs that are multiples of one unit, such as 1 or 1/{_FINEST_UNIT}; round the "
            "costs (and the features and weights they come from) to such multiples, or use round_up=False"
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _relaxed_work(problem: EncodedProblem, pairs: Pairs, watch: Watch) -> RelaxedWork:
    base, size = _room_needed(problem, pairs)

    def allocate() -> RelaxedWork:
        return allocate_relaxed(allocate_dual_work(allocate_workspace(base, watch.signals), size, tree_memory=0), size)

    return watch.reuse("relaxed", base[:5], allocate)


def dual_work(problem: EncodedProblem, pairs: Pairs, watch: Watch | None = None, random_state: int = 0) -> DualWork:
    """Working memory for the largest of the pairs, which obeys the signals of the watch."""
    watch = watch or Watch()
    base, size = _room_needed(problem, pairs)

    def allocate() -> DualWork:
        return allocate_dual_work(allocate_workspace(base, watch.signals), size)

    work = watch.reuse("dual", base[:5], allocate)
    work.random[0] = random_state
    return work


def _room_needed(problem: EncodedProblem, pairs: Pairs) -> tuple[WorkspaceSize, DualSize]:
    base = workspace_size(problem, pairs, root_only=True)
    return base, DualSize(base.smaller, base.larger, base.edges, base.edges)


def dual_memory(problem: EncodedProblem, pairs: Pairs) -> NDArray[np.float64]:
    """Bytes that the matrices of the dual bound take for each pair, about: products of nodes, of edges, and of both."""
    smaller, larger = np.sort(node_counts(problem, pairs), axis=0).astype(np.float64)
    edges = np.maximum(*edge_counts(problem, pairs)).astype(np.float64)
    dense = 8 * larger**2 + 56 * smaller * larger + 16 * edges * (smaller + larger) + 48 * edges**2
    sparse = np.minimum(1_700 * smaller * edges**2, LARGEST_SPARSE)
    return np.asarray(dense + sparse + workspace_memory(problem, pairs, root_only=True))
