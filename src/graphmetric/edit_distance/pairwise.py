"""Edit distances of many pairs: on all cores, each question solved once, and nothing lost when stopped.

How long a pair takes is not known in advance, and differs by factors of thousands within one collection. So the pairs
that are usually *quick* are handed out in batches, as many as by the measured speed take a tenth of a second, and the
others singly. A batch goes to a method that gives up soon; pairs that it leaves open are solved singly afterwards. So
all threads are busy to the end, and no result waits long to be saved, even when a few pairs take most of the time.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphmetric._foundation.limits import check_memory, checked_jobs, effective_n_jobs
from graphmetric._foundation.progress import progress
from graphmetric.edit_distance.costs import EditCosts
from graphmetric.edit_distance.encoding import EncodedProblem, encode
from graphmetric.edit_distance.method import EditDistanceMethod, Pairs, TimeLimit, as_method, renamed_time_limit
from graphmetric.edit_distance.scaling import node_counts
from graphmetric.edit_distance.stopping import Watch, in_thread, work_in_threads
from graphmetric.edit_distance.store import PairResults, PairStore, Places, open_store
from graphmetric.errors import InvalidArgument, NotEnoughMemory, WorkBudgetExceeded
from graphmetric.formats.conversion import as_graphs
from graphmetric.graphs.collection import GraphCollection, fingerprint, isomorphism_classes

SECONDS = 10.0
"""What a time limit of "auto" means for each pair."""
_SAVE_EVERY = 1.0
"""Seconds between two additions to a store."""
_BYTES_PER_PAIR = 100
"""Memory that a pair takes while distances are computed, the result included: an estimate from below."""
_BATCH_SECONDS = 0.1
"""Time of a batch: short, so that results are saved and threads end together; long enough for the work in between."""
_MOST = 1_000
"""The most pairs of a batch."""
_GROWTH = 4
"""A batch has at most this many times the pairs of the one before, as speed is measured on few pairs at first."""


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
    time_limit_per_pair: TimeLimit = "auto",
) -> PairwiseDistances:
    """Edit distances within one collection, between two, or of chosen pairs.

    Args:
        graphs: The graphs; anything :func:`graphmetric.as_graphs` takes.
        others: A second collection; by default the distances are within the first.
        pairs: (n, 2) positions in ``graphs`` and in ``others`` (or ``graphs`` again); by default all pairs.
        method: A method object or its name, such as ``"exact"`` or ``"beam:10"``.
        costs: The price list; by default every edit costs one.
        n_jobs: Threads, as joblib counts them: -1 is one per core. Inside ``joblib.parallel_config(backend=...)`` the
            work goes to that backend, such as a Dask cluster.
        time_limit: Seconds for each pair after which ``exact`` and ``relaxed`` return the bounds they have. "auto" is
            10 seconds for a method that is given by its name, while a method object keeps its own limits. None is no
            limit.
        store: Folder in which results are saved about once a second. A job that was stopped, by Ctrl-C or a crash,
            continues from there.
        time_limit_per_pair: Deprecated name of ``time_limit``.

    The numbers do not depend on ``n_jobs``, on the store or on stops, as long as no pair runs out of time.

    Example:
        >>> import graphmetric as gm
        >>> path = gm.Graph(3, [(0, 1), (1, 2)])
        >>> triangle = gm.Graph(3, [(0, 1), (1, 2), (0, 2)])
        >>> pairwise_edit_distances([path, triangle, path]).distances.tolist()
        [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    """
    first = as_graphs(graphs)
    second = first if others is None else as_graphs(others)
    costs = costs or EditCosts()
    solver = as_method(method, time_limit=renamed_time_limit(time_limit, time_limit_per_pair), auto=SECONDS)
    n_jobs = checked_jobs(n_jobs)
    symmetric = second is first and costs.is_symmetric and solver.symmetric
    shape = (len(first), len(second))
    with _memory_checked(shape, symmetric, pairs):
        if pairs is None:
            asked = _all_pairs(first, second, symmetric)
        else:
            first, second, asked = _only_used(first, second, checked_pairs(pairs, *shape))
        questions, place = _distinct_questions(first, second, asked, solver, costs)
        results = _Questions(first, second, questions, solver, costs).solve(n_jobs, store)
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
    array = np.asarray(pairs)
    if array.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if array.ndim != 2 or array.shape[1] != 2 or array.dtype.kind not in "iu":
        raise InvalidArgument(f"pairs must be integers of shape (n, 2); got {array.dtype} of shape {array.shape}")
    for side, count in enumerate((rows, columns)):
        wrong = np.flatnonzero((array[:, side] < 0) | (array[:, side] >= count))
        if len(wrong):
            k = wrong[0]
            raise InvalidArgument(f"pairs[{k}] is {tuple(array[k].tolist())}; graphs are numbered 0..{count - 1}")
    return np.ascontiguousarray(array, dtype=np.int64)


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


@dataclass(frozen=True, slots=True, eq=False)
class _Questions:
    """Pairs of graphs, and how they are solved."""

    first: GraphCollection
    second: GraphCollection
    pairs: Pairs
    method: EditDistanceMethod
    costs: EditCosts

    def describe(self) -> dict[str, Any]:
        """What a store must hold to be that of these questions."""
        graphs = [self.first] if self.second is self.first else [self.first, self.second]
        digest = blake2b(np.ascontiguousarray(self.pairs).tobytes(), digest_size=16).hexdigest()
        return {
            "graphs": [fingerprint(collection) for collection in graphs],
            "pairs": {"count": len(self.pairs), "digest": digest},
            "method": repr(self.method),
            "costs": repr(self.costs),
        }

    def solve(self, n_jobs: int | None, store: str | os.PathLike[str] | None) -> PairResults:
        """Results of all pairs: those that the store holds, and the rest computed and added about once a second."""
        results = PairResults.room(len(self.pairs))
        if store is None:
            self._solve_missing(n_jobs, _Job(results, np.zeros(len(self.pairs), np.bool_)))
            return results
        with open_store(store, self.describe()) as kept:
            job = _Job(results, kept.read(results), kept)
            try:
                self._solve_missing(n_jobs, job)
            finally:  # also after Ctrl-C
                job.save()
        return results

    def _solve_missing(self, n_jobs: int | None, job: _Job) -> None:
        todo, pairs, method = np.flatnonzero(~job.done), self.pairs, self.method
        with progress(f"edit distances ({method.name})", len(pairs), "pairs") as bar:
            bar.advance(len(pairs) - len(todo))
            if len(todo) == 0:
                return
            problem = encode(self.first, self.second, self.costs)
            from joblib.parallel import get_active_backend  # takes a fifth of a second, so only for many pairs

            backend, _ = get_active_backend(prefer="threads")
            threads = min(effective_n_jobs(n_jobs), len(todo))
            schedule = Schedule(problem, pairs, todo, method, threads)
            proven = np.count_nonzero(job.results.lower[job.done] == job.results.upper[job.done])

            def take(places: Places, results: PairResults) -> None:
                """Keep finished pairs; also called without any now and then, so that the bar shows before the first."""
                nonlocal proven
                if len(places):
                    job.take(places, results)
                    proven += np.count_nonzero(results.lower == results.upper)
                bar.advance(len(places), f"{proven:,} proven" if method.guarantee == "exact" else "")

            if getattr(backend, "supports_sharedmem", False):
                _solve_in_threads(problem, pairs, schedule, threads, take)
            else:
                _solve_elsewhere(problem, pairs, schedule, n_jobs, take)


@dataclass(eq=False)
class _Job:
    """The results so far, and the store that they go to."""

    results: PairResults
    done: NDArray[np.bool_]
    """Whether each pair is finished."""
    store: PairStore | None = None
    _unsaved: list[Places] = field(default_factory=list)
    _saved: float = field(default_factory=time.monotonic)

    def take(self, places: Places, results: PairResults) -> None:
        """Keep results, and save them if a second has passed."""
        self.results.put(places, results)
        self.done[places] = True
        if self.store is not None:
            self._unsaved.append(places)
            if time.monotonic() - self._saved > _SAVE_EVERY:
                self.save()

    def save(self) -> None:
        """Bring unsaved results to disk."""
        if self.store is not None and self._unsaved:
            places, self._unsaved = np.concatenate(self._unsaved), []
            self.store.add(places, self.results.take(places))
        self._saved = time.monotonic()


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Pairs to solve now, and the method."""

    places: Places
    method: EditDistanceMethod
    start: int | None = None
    """Its place among the quick pairs; None for a slow pair."""


class Schedule:
    """The pairs of a job that are not solved yet. Threads may take and return batches at the same time."""

    def __init__(
        self, problem: EncodedProblem, pairs: Places, todo: Places, method: EditDistanceMethod, threads: int
    ) -> None:
        self._method, self._try, self._threads = method, method.quick_try(), threads
        quick = method.is_quick(problem, pairs[todo])
        self._quick, self._slow = todo[quick], deque(todo[~quick].tolist())
        first, second = node_counts(problem, pairs[self._quick])
        weights = (1.0 + first * second) ** 1.5  # about what an assignment of their nodes takes
        self._weights = np.concatenate([[0.0], np.cumsum(weights)])
        self._next, self._size, self._rate = 0, 1, 0.0
        self._away = 0
        self._changed = threading.Condition()

    def take(self, patience: float = 0.05) -> Batch | None:
        """The next pairs; None if there are none, or if none come back within ``patience`` seconds."""
        with self._changed:
            if self._is_empty and self._away:
                self._changed.wait(patience)
            if self._is_empty:
                return None
            self._away += 1
            if self._next < len(self._quick):
                start, self._next = self._next, self._next + self._batch_size()
                return Batch(self._quick[start : self._next], self._try or self._method, start)
            return Batch(np.array([self._slow.popleft()], dtype=np.intp), self._method)

    @property
    def is_done(self) -> bool:
        """Whether no pair is waiting and none may come back."""
        with self._changed:
            return self._is_empty and not self._away

    def settle(self, batch: Batch, results: PairResults) -> tuple[Places, PairResults]:
        """Take back a batch; returns its finished pairs. The others will be handed out again."""
        is_open = np.zeros(len(batch.places), dtype=np.bool_)
        if batch.method is self._try:
            gave_up = results.expanded >= getattr(batch.method, "node_limit", np.inf)
            is_open = gave_up & (results.lower < results.upper)
        with self._changed:
            self._away -= 1
            if batch.start is not None:
                self._size = len(batch.places)
                self._rate = float(results.seconds.sum()) / self._weight(batch.start, self._size)
            self._slow.extend(batch.places[is_open].tolist())
            self._changed.notify_all()
        return batch.places[~is_open], results.take(np.flatnonzero(~is_open))

    @property
    def _is_empty(self) -> bool:
        return not self._slow and self._next == len(self._quick)

    def _batch_size(self) -> int:
        """As many quick pairs as fill the time of a batch, fewer towards the end so that all threads end together."""
        left = len(self._quick) - self._next
        most = min(_GROWTH * self._size, _MOST, -(-left // (2 * self._threads)))
        while most > 1 and self._rate * self._weight(self._next, most) > _BATCH_SECONDS:
            most = (most + 1) // 2
        return most

    def _weight(self, start: int, count: int) -> float:
        return float(self._weights[start + count] - self._weights[start])


def _solve_in_threads(
    problem: EncodedProblem, pairs: Pairs, schedule: Schedule, threads: int, take: Callable[[Places, PairResults], None]
) -> None:
    """Solve in threads of this process, which Ctrl-C stops immediately."""
    finished: SimpleQueue[tuple[Places, PairResults]] = SimpleQueue()

    def work(watch: Watch) -> None:
        while not (watch.stopped or schedule.is_done):
            batch = schedule.take()
            if batch is None:
                continue
            results = _solve_batch(problem, pairs[batch.places], batch.method, watch)
            if not watch.stopped:
                finished.put(schedule.settle(batch, results))

    def collect(_: Sequence[Watch]) -> None:
        while not finished.empty():
            take(*finished.get())
        take(np.empty(0, dtype=np.intp), PairResults.room(0))

    try:
        work_in_threads(work, [Watch() for _ in range(threads)], collect)
    finally:
        collect(())


def _solve_elsewhere(
    problem: EncodedProblem,
    pairs: Pairs,
    schedule: Schedule,
    n_jobs: int | None,
    take: Callable[[Places, PairResults], None],
) -> None:
    """Solve in the user's joblib backend, such as other processes or a cluster."""
    import joblib

    while not schedule.is_done:
        parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator_unordered")
        batches = iter(schedule.take, None)
        tasks = (joblib.delayed(_solve_alone)(problem, pairs[batch.places], batch) for batch in batches)
        for batch, results in parallel(tasks):
            take(*schedule.settle(batch, results))


def _solve_alone(problem: EncodedProblem, pairs: Pairs, batch: Batch) -> tuple[Batch, PairResults]:
    return batch, in_thread(lambda watch: _solve_batch(problem, pairs, batch.method, watch))


def _solve_batch(problem: EncodedProblem, pairs: Pairs, method: EditDistanceMethod, watch: Watch) -> PairResults:
    started = time.thread_time()
    found = method.bounds_watched(problem, pairs, watch)
    seconds = np.full(len(pairs), (time.thread_time() - started) / len(pairs))
    if watch.stopped:
        return PairResults.room(0)  # pairs may be missing, and bounds may not be final
    return PairResults(found.lower, found.upper, found.value, found.expanded, seconds)
