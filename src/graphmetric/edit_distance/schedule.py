"""Which pairs to solve next: handed out to threads a tenth of a second at a time, slow pairs one by one.

What a pair takes is not known before, and differs by factors of thousands within one collection. So the pairs that are
*quick* by all experience are handed out in batches, as many as by the measured speed take a tenth of a second, and the
others singly. A batch goes to a method that gives up soon; pairs that it leaves open are solved singly afterwards. So
all threads are busy to the end, and no result waits long to be saved, also when a few pairs take most of the time.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass

import numpy as np

from graphmetric.edit_distance.encoding import EncodedProblem
from graphmetric.edit_distance.method import EditDistanceMethod, node_counts
from graphmetric.edit_distance.store import PairResults, Places

_SECONDS = 0.1
"""Of a batch. Short, so that results are saved and threads end together; long enough for the work between batches."""
_MOST = 1_000
"""Pairs of a batch."""
_GROWTH = 4
"""A batch has at most so many times the pairs of the one before, as speed is measured on few pairs at first."""


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Pairs to solve now, and by what."""

    places: Places
    method: EditDistanceMethod
    start: int | None = None
    """Where among the quick pairs; None of a slow one."""


class Schedule:
    """Pairs of a job that are not solved yet. Threads may take batches and give them back at the same time."""

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
        """The next pairs; None if there are none, or none yet after a time because others may still come back."""
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
        """Take back what was solved; returns the pairs of it that are finished. The others will be handed out again."""
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
        """As many quick pairs as take the time of a batch, fewer towards the end so that all threads end together."""
        left = len(self._quick) - self._next
        most = min(_GROWTH * self._size, _MOST, -(-left // (2 * self._threads)))
        while most > 1 and self._rate * self._weight(self._next, most) > _SECONDS:
            most = (most + 1) // 2
        return most

    def _weight(self, start: int, count: int) -> float:
        return float(self._weights[start + count] - self._weights[start])
