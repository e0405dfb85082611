"""Searches in threads of their own, so that Ctrl-C and time limits can stop them.

Python handles Ctrl-C only between two steps of its main thread, and a compiled search is one step however long it
takes. So searches run in other threads. The waiting thread sleeps, and looks at the clocks fifty times a second. To
stop a search it sets a word that the compiled loops look at. They then end within milliseconds, with valid bounds.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from graphmetric._foundation.limits import clock
from graphmetric.edit_distance._kernels.packing import Integers
from graphmetric.edit_distance._kernels.workspace import (
    LOWER_SO_FAR,
    N_SIGNALS,
    STOP,
    UPPER_SO_FAR,
    Workspace,
    WorkspaceSize,
    allocate_workspace,
)

_LOOK_EVERY = 0.02
"""Seconds between two looks at the clocks of the searches."""
_LOOK_SOON = 0.001
"""The same where a time limit is about to pass."""
_PATIENCE = 0.5
"""Seconds to wait for threads that are told to end. Methods that cannot be stopped are then left to run out."""
_UNKNOWN = -1
_NOTHING_YET = np.full(N_SIGNALS, _UNKNOWN)
_NOTHING_YET[STOP] = 0

Result = TypeVar("Result")
Room = TypeVar("Room")


@dataclass(eq=False)
class Watch:
    """Signals between a thread that works and the thread that waits for it."""

    signals: Integers = field(default_factory=lambda: np.array(_NOTHING_YET))
    """Shared with the compiled searches."""
    stopped: bool = False
    """Whether all work must end, such as after Ctrl-C. A batch of several pairs is dropped then."""
    expired: bool = False
    """Whether the last limited block was ended by its time limit."""
    canceled: bool = False
    """Whether the caller ended the search; see :meth:`cancel`."""
    scale: float = 1.0
    """Units per cost of the current pair."""
    ceiling: float = math.inf
    """A total of this many units or more may contain forbidden edits."""
    _deadlines: list[float] = field(default_factory=list)
    """Those of the limited blocks that are open; none is later than the one before."""
    _best: tuple[float, float] | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _rooms: dict[str, tuple[tuple[int, ...], Any]] = field(default_factory=dict)
    """The last working memory of each kind, with its size."""

    @contextmanager
    def limited(self, seconds: float | None) -> Iterator[None]:
        """Searches within the block end after ``seconds``, with the bounds they have.

        A block within another one also ends with the outer one.
        """
        with self._lock:
            if not self._deadlines:
                self._best, self.signals[:] = None, _NOTHING_YET
            moment = math.inf if seconds is None else clock() + seconds
            self._restore_stop()
            self.expired = self._is_past
            self._deadlines.append(min(moment, self._deadline))
        try:
            yield
        finally:
            with self._lock:
                self._deadlines.pop()
                self._restore_stop()

    @property
    def _deadline(self) -> float:
        return self._deadlines[-1] if self._deadlines else math.inf

    @property
    def _is_past(self) -> bool:
        return self._deadline < math.inf and clock() > self._deadline

    def _restore_stop(self) -> None:
        """Set the stop signal if all work is stopped, the search is canceled, or the enclosing deadline has passed."""
        self.signals[STOP] = int(self.stopped or self.canceled or self._is_past)

    @property
    def is_over(self) -> bool:
        """Whether the searches of this thread have been told to end."""
        return bool(self.signals[STOP])

    def check(self) -> None:
        """Raise if all work must end; for loops between searches."""
        if self.stopped:
            raise KeyboardInterrupt

    def stop(self) -> None:
        """Tell the thread to end its work as soon as it can."""
        with self._lock:
            self.stopped = True
            self.signals[STOP] = 1

    def cancel(self) -> None:
        """End the search with the bounds it has."""
        with self._lock:
            self.canceled = True
            self.signals[STOP] = 1

    def look_at_clock(self) -> None:
        """End the limited block if its time has passed."""
        with self._lock:
            if self._is_past:
                self.expired = True
                self.signals[STOP] = 1

    def bounds(self) -> tuple[float, float] | None:
        """The best bounds of the current pair so far, in costs, for display only."""
        units = int(self.signals[LOWER_SO_FAR]), int(self.signals[UPPER_SO_FAR])
        if _UNKNOWN not in units:
            lower, upper = units[0] / self.scale, units[1] / self.scale if units[1] < self.ceiling else math.inf
            seen = (lower, upper) if self._best is None else self._best
            upper = min(upper, seen[1])
            self._best = min(max(lower, seen[0]), upper), upper
        return self._best

    def workspace(self, size: WorkspaceSize) -> Workspace:
        """A workspace for pairs of this size that obeys the signals; the last one if it is large enough."""
        extent = *size[:5], not size.root_only
        return self.reuse("workspace", extent, lambda: allocate_workspace(size, self.signals))

    def reuse(self, kind: str, size: tuple[int, ...], allocate: Callable[[], Room]) -> Room:
        """Working memory of a kind; the last one of it if no number of ``size`` has grown since."""
        kept = self._rooms.get(kind)
        if kept is None or any(wanted > there for wanted, there in zip(size, kept[0], strict=True)):
            self._rooms[kind] = kept = size, allocate()
        room: Room = kept[1]
        return room

    def until_deadline(self) -> float:
        """Seconds that the limited block has left, infinite if there is none."""
        with self._lock:
            return self._deadline - clock()


def in_thread(work: Callable[[Watch], Result]) -> Result:
    """Do ``work`` in a thread of its own, so that Ctrl-C works, and return its result."""
    found = list[Result]()
    work_in_threads(lambda watch: found.append(work(watch)), [Watch()])
    return found[0]


def work_in_threads(
    worker: Callable[[Watch], None], watches: Sequence[Watch], look: Callable[[Sequence[Watch]], None] | None = None
) -> None:
    """Run ``worker`` in threads, one for each watch, and wait until all have returned.

    The waiting thread calls ``look`` now and then. When it is interrupted, or a worker fails, all workers are told to
    stop; the exception is raised when they have, or after half a second.
    """
    returned, failures = threading.Semaphore(0), list[BaseException]()

    def run(watch: Watch) -> None:
        try:
            worker(watch)
        except BaseException as error:  # noqa: BLE001 - the waiting thread raises it
            failures.append(error)
        finally:
            returned.release()

    crew = [threading.Thread(target=run, args=(watch,), daemon=True) for watch in watches]
    at_work = len(crew)
    try:
        for thread in crew:
            thread.start()
        while at_work and not failures:
            soonest = min((watch.until_deadline() for watch in watches), default=math.inf)
            at_work -= returned.acquire(timeout=min(_LOOK_EVERY, max(_LOOK_SOON, soonest)))
            for watch in watches:
                watch.look_at_clock()
            if look is not None:
                look(watches)
    finally:
        for watch in watches:
            watch.stop()
        end = time.monotonic() + _PATIENCE
        for thread in crew:
            if thread.ident is not None:
                thread.join(max(0.0, end - time.monotonic()))
    if failures:
        raise failures[0]
