"""Edit distances of many pairs: on all cores or by an executor, each question once, and nothing lost when stopped."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric._foundation.limits import check_memory, checked_jobs
from graphmetric._foundation.markup import data_frame, matrix_table, notebook_view
from graphmetric.edit_distance.blocks import PairGrid, PairRuns, Solver, shuffled, solve_blocks
from graphmetric.edit_distance.costs import EditCosts, as_costs
from graphmetric.edit_distance.method import (
    SECONDS,
    EditDistanceMethod,
    Pairs,
    TimeLimit,
    as_method,
)
from graphmetric.edit_distance.schedule import PairQuestions
from graphmetric.edit_distance.store import Block
from graphmetric.errors import InvalidArgument, NotEnoughMemory, WorkBudgetExceeded
from graphmetric.formats.conversion import as_graphs
from graphmetric.graphs.collection import GraphCollection, isomorphism_classes
from graphmetric.graphs.pair_bounds import as_pairs

if TYPE_CHECKING:
    import pandas

_BYTES_PER_PAIR = 100
"""Memory that a pair takes while distances are computed, the result included: an estimate from below."""


@dataclass(frozen=True, slots=True, eq=False)
class PairwiseDistances:
    """Bounds of many distances, in the shape in which they were asked for.

    Chosen pairs give arrays with one entry for each pair; otherwise the arrays are matrices over the graphs.
    """

    lower: NDArray[np.float64]
    """The distance is at least this; 0 where the method gives no lower bound, infinite where the costs allow no edits
    that lead from one graph to the other."""
    upper: NDArray[np.float64]
    """The distance is at most this; infinite where the method gives no upper bound or found no allowed edits."""
    value: NDArray[np.float64]
    """The method's own answer: one of the bounds, or an estimate that is neither."""
    nodes_expanded: int
    """Search-tree nodes of all pairs together."""
    computed: int
    """How many pairs were computed, once copies of the same question were left out."""
    cpu_seconds: float = 0.0
    """CPU time of the searches. Work that a store already held counts with the time that it took then."""
    converged: NDArray[np.bool_] | None = None
    """Where the answer is as precise as asked; None for methods without a tolerance, which are all but ``relaxed``."""

    @property
    def exact(self) -> NDArray[np.bool_]:
        """Where the distance is proven."""
        return np.asarray(self.lower == self.upper)

    @property
    def distances(self) -> NDArray[np.float64]:
        """The proven distances, NaN elsewhere."""
        return np.where(self.exact, self.upper, np.nan)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return self.distances if dtype is None else self.distances.astype(dtype)

    def __repr__(self) -> str:
        shape = " x ".join(str(length) for length in self.value.shape)
        return f"PairwiseDistances({shape}, {self.exact.mean() if self.exact.size else 1:.1%} proven exact)"

    def _repr_html_(self) -> str:
        title = repr(self).removeprefix("PairwiseDistances(").removesuffix(")")
        return notebook_view(title, matrix_table(np.atleast_2d(self.lower), np.atleast_2d(self.upper)))

    def to_pandas(self) -> pandas.DataFrame:
        """A table with one row for each distance: where it stands in the arrays, bounds, and whether it is proven."""
        places = np.indices(self.value.shape).reshape(self.value.ndim, -1)
        names = ("pair",) if self.value.ndim == 1 else ("first", "second")
        bounds = {"lower": self.lower, "upper": self.upper, "value": self.value, "exact": self.exact}
        columns = dict(zip(names, places, strict=True)) | {name: array.ravel() for name, array in bounds.items()}
        return data_frame(columns, "tables of distances")


def pairwise_edit_distances(
    graphs: Any,
    others: Any = None,
    *,
    pairs: ArrayLike | None = None,
    method: str | EditDistanceMethod = "exact",
    costs: EditCosts | None = None,
    n_jobs: int | None = 1,
    time_limit: TimeLimit = "auto",
    store: str | os.PathLike[str] | None = None,
    executor: Any = None,
) -> PairwiseDistances:
    """Edit distances within one collection, between two, or of chosen pairs.

    Args:
        graphs: The graphs; anything :func:`graphmetric.as_graphs` takes.
        others: A second collection; by default the distances are within the first.
        pairs: (n, 2) positions in ``graphs`` and in ``others`` (or ``graphs`` again); by default all pairs.
        method: A method object or its name, such as ``"exact"`` or ``"beam:10"``.
        costs: The price list; by default every edit costs one.
        n_jobs: Threads; -1 is one per core. Not used with an executor.
        time_limit: Seconds for each pair after which ``exact`` and ``relaxed`` return the bounds they have. "auto" is
            10 seconds for a method that is given by its name, while a method object keeps its own limits. None means no
            limit.
        store: Folder in which results are saved about once a second. A job that was stopped, by Ctrl-C or a crash,
            continues from there.
        executor: A :class:`concurrent.futures.Executor`, such as a pool of processes, or a dask ``Client``: work then
            goes to its workers, in blocks. A block whose worker dies is computed again, and a store holds the finished
            ones. For more pairs than fit into memory see :func:`graphmetric.label_graphs`.

    The numbers do not depend on ``n_jobs``, on the executor, on the store or on stops, as long as no pair runs out of
    time.

    Example:
        >>> import graphmetric as gm
        >>> path = gm.Graph(3, [(0, 1), (1, 2)])
        >>> triangle = gm.Graph(3, [(0, 1), (1, 2), (0, 2)])
        >>> pairwise_edit_distances([path, triangle, path]).distances.tolist()
        [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    first = as_graphs(graphs)
    second = first if others is None else as_graphs(others)
    costs = as_costs(costs)
    solver = as_method(method, time_limit=time_limit, auto=SECONDS)
    n_jobs = checked_jobs(n_jobs)
    symmetric = second is first and costs.is_symmetric and solver.symmetric
    shape = (len(first), len(second))
    with _memory_checked(shape, symmetric, pairs):
        if pairs is None and executor is not None:
            return _solve_grid(first, second, symmetric, Solver(solver, costs), executor, store)
        if pairs is None:
            asked = _all_pairs(first, second, symmetric)
        else:
            first, second, asked = _only_used(first, second, checked_pairs(pairs, *shape))
        questions, place = _distinct_questions(first, second, asked, solver, costs)
        if executor is not None:
            return _solve_runs(PairRuns(Solver(solver, costs), first, second, questions), place, executor, store)
        results = PairQuestions(first, second, questions, solver, costs).solve(n_jobs, store)
        columns = [column[place] for column in (results.lower, results.upper, results.value)]
        if pairs is None:
            columns = [_as_matrix(column, asked, shape, symmetric) for column in columns]
        converged = solver.converged(results.expanded)
        if converged is not None:
            _warn_of_imprecise(solver, converged)
            converged = converged[place]
            converged = _as_matrix(converged, asked, shape, symmetric) if pairs is None else converged
    lower, upper, value = columns
    expanded, seconds = int(results.expanded.sum()), float(results.seconds.sum())
    return PairwiseDistances(lower, upper, value, expanded, len(questions), seconds, converged)


class _Gathered:
    """The arrays of blocks, put together."""

    def __init__(self, plan: PairGrid | PairRuns, *shape: int) -> None:
        self.plan, self.expanded, self.seconds = plan, 0, 0.0
        known = plan.solver.method.converged(np.zeros(0, dtype=np.int64)) is not None
        self.arrays: dict[str, NDArray[Any]] = {name: np.zeros(shape) for name in ("lower", "upper", "value")}
        if known:
            self.arrays["converged"] = np.ones(shape, dtype=np.bool_)

    def take(self, name: str, width: int, block: Block) -> None:
        """Put a block to its place, and its mirror image if there is one."""
        plan = self.plan
        self.expanded, self.seconds = self.expanded + block.expanded, self.seconds + block.seconds
        for key, array in self.arrays.items():
            if isinstance(plan, PairRuns):
                array[plan.run(name, width)] = block[key]
                continue
            rows, columns = plan.sides(name, width)
            array[rows, columns] = block[key]
            if plan.symmetric:
                array[columns, rows] = block[key].T

    def result(self, *places: NDArray[np.intp]) -> PairwiseDistances:
        """What was asked, by the places of the questions along each axis."""
        found = {name: array[np.ix_(*places)] for name, array in self.arrays.items()}
        if "converged" in found:
            _warn_of_imprecise(self.plan.solver.method, self.arrays["converged"].ravel())
        lower, upper, value = (found[name] for name in ("lower", "upper", "value"))
        counted = self.expanded, self.plan.count, self.seconds
        return PairwiseDistances(lower, upper, value, *counted, found.get("converged"))


def all_pairs_grid(
    first: GraphCollection, second: GraphCollection, symmetric: bool, solver: Solver
) -> tuple[PairGrid, NDArray[np.intp], NDArray[np.intp]]:
    """The grid of all pairs, and for each graph of both collections its place in the order of the grid."""
    representatives = np.arange(len(first)), np.arange(len(second))
    if solver.method.guarantee == "exact" or solver.method.invariant:
        representatives = _representatives(first, second)
    orders, places = [], []
    for own in representatives:
        orders.append(shuffled(own))
        place = np.empty(len(own), dtype=np.intp)
        place[orders[-1]] = np.arange(len(orders[-1]))
        places.append(place[own])
    return PairGrid(solver, first, second, orders[0], orders[1], symmetric), places[0], places[1]


def _solve_grid(
    first: GraphCollection,
    second: GraphCollection,
    symmetric: bool,
    solver: Solver,
    executor: Any,
    store: str | os.PathLike[str] | None,
) -> PairwiseDistances:
    """All pairs by an executor, as matrices."""
    plan, rows, columns = all_pairs_grid(first, second, symmetric, solver)
    gathered = _Gathered(plan, len(plan.rows), len(plan.columns))
    solve_blocks(plan, executor, store, gathered.take)
    return gathered.result(rows, columns)


def _solve_runs(
    plan: PairRuns, place: NDArray[np.intp], executor: Any, store: str | os.PathLike[str] | None
) -> PairwiseDistances:
    """Chosen pairs by an executor."""
    gathered = _Gathered(plan, plan.count)
    solve_blocks(plan, executor, store, gathered.take)
    return gathered.result(place)


def _warn_of_imprecise(method: EditDistanceMethod, converged: NDArray[np.bool_]) -> None:
    imprecise = np.count_nonzero(~converged)
    if imprecise:
        warnings.warn(
            f"{imprecise:,} of {len(converged):,} answers of {method.name!r} are less precise than asked, because "
            "steps or time ran out; .converged says which",
            stacklevel=3,
        )


@contextmanager
def _memory_checked(shape: tuple[int, int], symmetric: bool, pairs: ArrayLike | None) -> Iterator[None]:
    """Refuse what cannot fit before work starts, and give the same advice if memory runs out anyway."""
    rows, columns = shape
    if pairs is None:
        asked = rows * (rows + 1) // 2 if symmetric else rows * columns
        size = _BYTES_PER_PAIR * asked + 3 * 8 * rows * columns
        purpose = f"a matrix of {rows:,} by {columns:,} distances"
    else:
        asked = len(pairs) if isinstance(pairs, Sized) else 0
        size, purpose = _BYTES_PER_PAIR * asked, f"{asked:,} distances"
    advice = (
        "give the pairs that you need as pairs=, some millions at a time, or look only for the nearest graphs with "
        "GraphIndex.search"
    )
    check_memory(size, purpose, advice)
    try:
        yield
    except NotEnoughMemory:
        raise
    except MemoryError:
        raise NotEnoughMemory(f"there was not enough memory for {purpose}: {advice}") from None


def checked_pairs(pairs: ArrayLike, rows: int, columns: int) -> Pairs:
    """Pairs of positions as an (n, 2) array; raises if a position does not exist."""
    array = as_pairs(pairs)
    for side, count in enumerate((rows, columns)):
        wrong = np.flatnonzero((array[:, side] < 0) | (array[:, side] >= count))
        if len(wrong):
            k = wrong[0]
            raise InvalidArgument(f"pairs[{k}] is {tuple(array[k].tolist())}; graphs are numbered 0..{count - 1}")
    return array


def _only_used(
    first: GraphCollection, second: GraphCollection, pairs: Pairs
) -> tuple[GraphCollection, GraphCollection, Pairs]:
    """The graphs that occur in the pairs, so that a few pairs of a large collection do not encode all of it."""
    if second is first:
        used, place = np.unique(pairs, return_inverse=True)
        chosen = first[used]
        return chosen, chosen, place.reshape(pairs.shape)
    rows, row_place = np.unique(pairs[:, 0], return_inverse=True)
    columns, column_place = np.unique(pairs[:, 1], return_inverse=True)
    return first[rows], second[columns], np.column_stack([row_place, column_place])


def _as_matrix(column: NDArray[Any], pairs: Pairs, shape: tuple[int, int], symmetric: bool) -> NDArray[Any]:
    matrix = np.empty(shape, dtype=column.dtype)
    matrix[pairs[:, 0], pairs[:, 1]] = column
    if symmetric:
        matrix[pairs[:, 1], pairs[:, 0]] = column
    return matrix


def _all_pairs(first: GraphCollection, second: GraphCollection, symmetric: bool) -> Pairs:
    if symmetric:
        return np.column_stack(np.triu_indices(len(first))).astype(np.int64)
    return np.stack(np.meshgrid(np.arange(len(first)), np.arange(len(second)), indexing="ij"), axis=-1).reshape(-1, 2)


def _distinct_questions(
    first: GraphCollection, second: GraphCollection, pairs: Pairs, method: EditDistanceMethod, costs: EditCosts
) -> tuple[Pairs, NDArray[np.intp]]:
    """Different questions among the pairs, and for each pair the place of its question.

    Isomorphic graphs are the same only to some methods: other answers depend on how nodes are numbered.
    """
    if len(pairs) == 0:
        return pairs, np.empty(0, dtype=np.intp)
    rows, columns = np.arange(len(first)), np.arange(len(second))
    if method.guarantee == "exact" or method.invariant:
        rows, columns = _representatives(first, second)
    left, right = rows[pairs[:, 0]], columns[pairs[:, 1]]
    if second is first and costs.is_symmetric and method.symmetric:
        left, right = np.minimum(left, right), np.maximum(left, right)
    distinct, place = np.unique(left * len(second) + right, return_inverse=True)  # one number is quicker to sort
    return np.column_stack(np.divmod(distinct, len(second))), place.ravel()


def _representatives(first: GraphCollection, second: GraphCollection) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each graph the first graph of its collection that is isomorphic to it."""
    own = []
    for collection in (first, second):
        try:
            classes = isomorphism_classes(collection)
        except WorkBudgetExceeded:
            classes = np.arange(len(collection))  # more work: every graph stands for itself
        _, representative, member = np.unique(classes, return_index=True, return_inverse=True)
        own.append(representative[member])
        if second is first:
            return own[0], own[0]
    return own[0], own[1]
