"""Bounded thread pools for requests: the lanes.

Certified searches, which take seconds, and short requests run in separate lanes, so a learned search never queues
behind a certified one. A lane has a fixed number of threads and a bounded queue and rejects further requests at once.
Kernels release the GIL, so threads suffice. Work is canceled when its client disconnects or the service shuts down: it
checks :meth:`Stop.requested` between its steps.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from fastapi import Request

from graphmetric._foundation.progress import verbose_progress
from graphmetric.serve.problems import busy

Result = TypeVar("Result")

_SMOOTHING = 0.2
"""The weight of the last request in the mean time of a request."""
_LONGEST_RETRY = 30


class ClientGone(Exception):
    """The client has left before its answer was ready."""


class Stop:
    """Cancellation of one piece of work, which then ends early with its result so far."""

    def __init__(self, closing: threading.Event, seconds: float) -> None:
        self._closing, self._own = closing, threading.Event()
        self._deadline = time.monotonic() + seconds

    def request(self) -> None:
        """Cancel the work."""
        self._own.set()

    def requested(self) -> bool:
        """Return whether the client has disconnected or the service is shutting down."""
        return self._own.is_set() or self._closing.is_set()

    @property
    def seconds(self) -> float:
        """Seconds that remain of the time limit, which includes the time in the queue."""
        return 0.0 if self._closing.is_set() else max(0.0, self._deadline - time.monotonic())


class Lane:
    """A few threads and a bounded queue."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self.name, self.threads, self.waiting = name, threads, waiting
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._lock, self.inside, self._mean = threading.Lock(), 0, 0.1

    def submit(self, work: Callable[[], Result]) -> Future[Result]:
        """Begin the work, or put it into the queue; raises a problem if that is full."""
        with self._lock:
            if self.inside >= self.threads + self.waiting:
                seconds = math.ceil(self._mean * (self.inside - self.threads + 1) / self.threads)
                raise busy(
                    min(_LONGEST_RETRY, max(1, seconds)),
                    f"{self.threads} requests of this kind are being answered and {self.waiting} wait; no more may",
                    limit="waiting",
                )
            self.inside += 1
        future = self._pool.submit(self._timed, work)
        future.add_done_callback(self._leave)
        return future

    def _timed(self, work: Callable[[], Result]) -> Result:
        started = time.monotonic()
        try:
            with verbose_progress(False):  # the log of a service has a line for each request
                return work()
        finally:
            with self._lock:
                self._mean += _SMOOTHING * (time.monotonic() - started - self._mean)

    def _leave(self, _: Future[Any]) -> None:
        with self._lock:
            self.inside -= 1

    def close(self) -> None:
        """Refuse further work, and drop what has not begun."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def run(self, request: Request, stop: Stop, work: Callable[[], Result]) -> Result:
        """Run the work in this lane, and cancel it if the client disconnects."""
        future = self.submit(work)
        answer = asyncio.wrap_future(future)
        leaves = asyncio.ensure_future(wait_until_gone(request))
        try:
            both: list[asyncio.Future[Any]] = [answer, leaves]
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                return answer.result()
            raise ClientGone
        finally:
            leaves.cancel()
            if not answer.done():
                stop.request()
                future.cancel()
                answer.add_done_callback(_forget)


async def wait_until_gone(request: Request) -> None:
    """Return when the client has closed its connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _forget(answer: asyncio.Future[Any]) -> None:
    """Retrieve the error of an abandoned future, so that asyncio does not log it."""
    if not answer.cancelled():
        answer.exception()
