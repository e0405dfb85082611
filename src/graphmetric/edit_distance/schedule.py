"""Many pairs solved on this machine: on all cores, and nothing lost when stopped.

How long a pair takes is not known in advance, and differs by factors of thousands within one collection. So the pairs
that are usually *quick* are handed out in batches that take about a tenth of a second at the measured speed, and the
others singly. A batch goes to a method that gives up soon; pairs that it leaves open are solved singly afterwards. So
all threads are busy to the end, and no result waits long to be saved, even when a few pairs take most of the time.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphmetric._foundation.limits import effective_n_jobs
from graphmetric._foundation.progress import progress
from graphmetric.edit_distance.costs import EditCosts
from graphmetric.edit_distance.encoding import EncodedProblem, encode
from graphmetric.edit_distance.method import EditDistanceMethod, Pairs
from graphmetric.edit_distance.scaling import node_counts
from graphmetric.edit_distance.stopping import Watch, work_in_threads
from graphmetric.edit_distance.store import PairResults, PairStore, Places, open_store
from graphmetric.graphs.collection import GraphCollection, fingerprint

_SAVE_EVERY = 1.0
"""Seconds between two additions to a store."""
_BATCH_SECONDS = 0.1
"""Time of a batch: short, so that results are saved and threads end together; long enough for the work in between."""
_MOST = 1_000
"""The most pairs of a batch."""
_GROWTH = 4
"""A batch has at most this many times the pairs of the one before, as speed is measured on few pairs at first."""


@dataclass(frozen=True, slots=True, eq=False)
class PairQuestions:
    """Pairs of graphs, and how they are solved."""

    first: GraphCollection
    second: GraphCollection
    pairs: Pairs
    method: EditDistanceMethod
    costs: EditCosts

    def describe(self) -> dict[str, Any]:
        """What a store must say about itself to belong to these questions."""
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

    def solve_alone(self) -> PairResults:
        """Results of all pairs in one thread, without a word about progress: what a worker does with its part."""
        results = PairResults.room(len(self.pairs))
        if len(self.pairs):
            problem = encode(self.first, self.second, self.costs)
            schedule = Schedule(problem, self.pairs, np.arange(len(self.pairs)), self.method, 1)
            _solve_in_threads(problem, self.pairs, schedule, 1, results.put)
        return results

    def _solve_missing(self, n_jobs: int | None, job: _Job) -> None:
        todo, pairs, method = np.flatnonzero(~job.done), self.pairs, self.method
        with progress(f"edit distances ({method.name})", len(pairs), "pairs") as bar:
            bar.advance(len(pairs) - len(todo))
            if len(todo) == 0:
                return
            problem = encode(self.first, self.second, self.costs)
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

            _solve_in_threads(problem, pairs, schedule, threads, take)


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


def _solve_batch(problem: EncodedProblem, pairs: Pairs, method: EditDistanceMethod, watch: Watch) -> PairResults:
    started = time.thread_time()
    found = method.bounds_watched(problem, pairs, watch)
    seconds = np.full(len(pairs), (time.thread_time() - started) / len(pairs))
    if watch.stopped:
        return PairResults.room(0)  # pairs may be missing, and bounds may not be final
    return PairResults(found.lower, found.upper, found.value, found.expanded, seconds)
